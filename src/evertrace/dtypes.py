"""Dtypes beyond NumPy's, and how they are named, sorted into kinds and promoted."""

from typing import TYPE_CHECKING

from evertrace._src import dtypes as _dtypes
from evertrace._src import lazy
from evertrace._src.doors import door as _door
from evertrace._src.dtypes import bfloat16 as bfloat16
from evertrace._src.dtypes import extended as extended
from evertrace._src.dtypes import finfo as finfo
from evertrace._src.dtypes import float0 as float0
from evertrace._src.dtypes import iinfo as iinfo
from evertrace._src.dtypes import prng_key as prng_key
from evertrace._src.dtypes import result_type as result_type
from evertrace._src.errors import TypePromotionError as TypePromotionError

if TYPE_CHECKING:  # the types of a door are those of the function behind it
    from evertrace._src.dtypes import canonicalize_dtype as canonicalize_dtype
    from evertrace._src.dtypes import issubdtype as issubdtype
    from evertrace._src.dtypes import itemsize_bits as itemsize_bits
    from evertrace._src.dtypes import scalar_type_of as scalar_type_of
else:  # rules of types ask these for every operand, so only who comes from outside meets doors
    canonicalize_dtype = _door(_dtypes.canonicalize_dtype)
    issubdtype = _door(_dtypes.issubdtype.__wrapped__)  # which is cached inside
    itemsize_bits = _door(_dtypes.itemsize_bits)
    scalar_type_of = _door(_dtypes.scalar_type_of)

lazy.refuse_others(__name__)

__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]
