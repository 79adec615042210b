"""Functions beside the devices of other hosts: names that libraries read when imported."""

from evertrace._src import lazy
from evertrace._src.experimental.left_out import left_out as _left_out

_HERE = "evertrace.experimental.colocated_python"

_make_prng_wrapped_fun = _left_out(
    _HERE,
    "func._make_prng_wrapped_fun",
    "programs of Python beside the devices of other hosts are not built",
)

__all__: list[str] = []

lazy.refuse_others(__name__)
