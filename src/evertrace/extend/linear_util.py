"""Functions wrapped by transformations of their flat arguments."""

from evertrace._src import lazy
from evertrace._src.api.linear_util import StoreException as StoreException
from evertrace._src.api.linear_util import WrappedFun as WrappedFun
from evertrace._src.api.linear_util import cache as cache
from evertrace._src.api.linear_util import merge_linear_aux as merge_linear_aux
from evertrace._src.api.linear_util import transformation as transformation
from evertrace._src.api.linear_util import transformation2 as transformation2
from evertrace._src.api.linear_util import transformation_with_aux as transformation_with_aux
from evertrace._src.api.linear_util import transformation_with_aux2 as transformation_with_aux2
from evertrace._src.api.linear_util import wrap_init as wrap_init

lazy.refuse_others(__name__)

__all__ = [
    "StoreException", "WrappedFun", "cache", "merge_linear_aux", "transformation",
    "transformation2", "transformation_with_aux", "transformation_with_aux2", "wrap_init",
]  # fmt: skip
