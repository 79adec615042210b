"""What kernels that were written for GPUs call."""

from typing import Any

from evertrace._src import lazy as _lazy
from evertrace._src.pallas.triton import CompilerParams as CompilerParams
from evertrace._src.pallas.triton import approx_tanh as approx_tanh
from evertrace._src.pallas.triton import debug_barrier as debug_barrier
from evertrace._src.pallas.triton import dot as dot
from evertrace._src.pallas.triton import load as load
from evertrace._src.pallas.triton import max_contiguous as max_contiguous
from evertrace._src.pallas.triton import store as store

__all__ = [
    "CompilerParams", "approx_tanh", "debug_barrier", "dot", "load", "max_contiguous", "store",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise _lazy.Absent(__name__, name)
