"""Foreign functions in programs: XLA's foreign function interface."""

from evertrace._src import lazy
from evertrace._src.api.ffi import ffi_call as ffi_call
from evertrace._src.api.ffi import ffi_lowering as ffi_lowering
from evertrace._src.api.ffi import include_dir as include_dir
from evertrace._src.api.ffi import pycapsule as pycapsule
from evertrace._src.api.ffi import register_ffi_target as register_ffi_target
from evertrace._src.api.ffi import (
    register_ffi_target_as_batch_partitionable as register_ffi_target_as_batch_partitionable,
)
from evertrace._src.api.ffi import register_ffi_type as register_ffi_type
from evertrace._src.api.ffi import register_ffi_type_id as register_ffi_type_id

lazy.refuse_others(__name__)

__all__ = [
    "ffi_call", "ffi_lowering", "include_dir", "pycapsule", "register_ffi_target",
    "register_ffi_target_as_batch_partitionable", "register_ffi_type", "register_ffi_type_id",
]  # fmt: skip
