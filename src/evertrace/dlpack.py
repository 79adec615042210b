"""Sharing arrays with other libraries."""

from evertrace._src import lazy
from evertrace._src.numpy.dlpack import from_dlpack as from_dlpack
from evertrace._src.numpy.dlpack import is_supported_dtype as is_supported_dtype

lazy.refuse_others(__name__)

__all__ = ["from_dlpack", "is_supported_dtype"]
