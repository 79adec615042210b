"""Help for those who write function transformations."""

from evertrace._src import lazy
from evertrace._src.api.linear_util import debug_info as debug_info
from evertrace._src.api.linear_util import flatten_fun as flatten_fun
from evertrace._src.api.linear_util import flatten_fun_nokwargs as flatten_fun_nokwargs
from evertrace._src.api.linear_util import safe_map as safe_map
from evertrace._src.arrays.interop import aval_of as shaped_abstractify

lazy.refuse_others(__name__)

__all__ = [
    "debug_info", "flatten_fun", "flatten_fun_nokwargs", "safe_map", "shaped_abstractify",
]  # fmt: skip
