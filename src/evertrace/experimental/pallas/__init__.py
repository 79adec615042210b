"""Kernels: functions of blocks of arrays, by the names of Pallas."""

import importlib
from typing import Any

from evertrace._src import lazy as _lazy
from evertrace._src.numpy.dslice import Slice as Slice
from evertrace._src.numpy.dslice import ds as ds
from evertrace._src.pallas.call import pallas_call as pallas_call
from evertrace._src.pallas.call import pallas_call_p as pallas_call_p
from evertrace._src.pallas.costs import estimate_cost as estimate_cost
from evertrace._src.pallas.functions import align_to as align_to
from evertrace._src.pallas.functions import broadcast_to as broadcast_to
from evertrace._src.pallas.functions import cdiv as cdiv
from evertrace._src.pallas.functions import debug_check as debug_check
from evertrace._src.pallas.functions import debug_print as debug_print
from evertrace._src.pallas.functions import empty as empty
from evertrace._src.pallas.functions import empty_like as empty_like
from evertrace._src.pallas.functions import empty_ref_like as empty_ref_like
from evertrace._src.pallas.functions import enable_debug_checks as enable_debug_checks
from evertrace._src.pallas.functions import loop as loop
from evertrace._src.pallas.functions import multiple_of as multiple_of
from evertrace._src.pallas.functions import next_power_of_2 as next_power_of_2
from evertrace._src.pallas.functions import num_programs as num_programs
from evertrace._src.pallas.functions import program_id as program_id
from evertrace._src.pallas.functions import reciprocal as reciprocal
from evertrace._src.pallas.functions import run_scoped as run_scoped
from evertrace._src.pallas.functions import run_state as run_state
from evertrace._src.pallas.functions import strides_from_shape as strides_from_shape
from evertrace._src.pallas.functions import when as when
from evertrace._src.pallas.functions import with_scoped as with_scoped
from evertrace._src.pallas.specs import Blocked as Blocked
from evertrace._src.pallas.specs import BlockSpec as BlockSpec
from evertrace._src.pallas.specs import Buffered as Buffered
from evertrace._src.pallas.specs import CostEstimate as CostEstimate
from evertrace._src.pallas.specs import Element as Element
from evertrace._src.pallas.specs import GridSpec as GridSpec
from evertrace._src.pallas.specs import MemoryRef as MemoryRef
from evertrace._src.pallas.specs import MemorySpace as MemorySpace
from evertrace._src.pallas.specs import RevisitMode as RevisitMode
from evertrace._src.pallas.specs import Squeezed as Squeezed
from evertrace._src.pallas.specs import no_block_spec as no_block_spec
from evertrace._src.pallas.specs import squeezed as squeezed

ANY = MemorySpace.ANY
HOST = MemorySpace.HOST
BlockDim = int | Blocked | Element | Squeezed | None
"""What the shape of a block says of a dimension: its size, or how it is indexed."""
dslice = ds

__all__ = [
    "ANY",
    "HOST",
    "BlockDim",
    "BlockSpec",
    "Blocked",
    "Buffered",
    "CostEstimate",
    "Element",
    "GridSpec",
    "MemoryRef",
    "MemorySpace",
    "RevisitMode",
    "Slice",
    "Squeezed",
    "align_to",
    "broadcast_to",
    "cdiv",
    "debug_check",
    "debug_print",
    "ds",
    "dslice",
    "empty",
    "empty_like",
    "empty_ref_like",
    "enable_debug_checks",
    "estimate_cost",
    "loop",
    "multiple_of",
    "next_power_of_2",
    "no_block_spec",
    "num_programs",
    "pallas_call",
    "pallas_call_p",
    "program_id",
    "reciprocal",
    "run_scoped",
    "run_state",
    "squeezed",
    "strides_from_shape",
    "when",
    "with_scoped",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "triton":
        return importlib.import_module(f"{__name__}.triton")
    raise _lazy.Absent(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), "triton"})
