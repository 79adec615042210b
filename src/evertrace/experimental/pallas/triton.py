"""What kernels that were written for GPUs call."""

from typing import Any

from evertrace._src import lazy as _lazy
from evertrace._src.pallas.atomics import atomic_add as atomic_add
from evertrace._src.pallas.atomics import atomic_and as atomic_and
from evertrace._src.pallas.atomics import atomic_cas as atomic_cas
from evertrace._src.pallas.atomics import atomic_max as atomic_max
from evertrace._src.pallas.atomics import atomic_min as atomic_min
from evertrace._src.pallas.atomics import atomic_or as atomic_or
from evertrace._src.pallas.atomics import atomic_xchg as atomic_xchg
from evertrace._src.pallas.atomics import atomic_xor as atomic_xor
from evertrace._src.pallas.triton import CompilerParams as CompilerParams
from evertrace._src.pallas.triton import approx_tanh as approx_tanh
from evertrace._src.pallas.triton import debug_barrier as debug_barrier
from evertrace._src.pallas.triton import dot as dot
from evertrace._src.pallas.triton import load as load
from evertrace._src.pallas.triton import max_contiguous as max_contiguous
from evertrace._src.pallas.triton import store as store

__all__ = [
    "CompilerParams", "approx_tanh", "atomic_add", "atomic_and", "atomic_cas", "atomic_max",
    "atomic_min", "atomic_or", "atomic_xchg", "atomic_xor", "debug_barrier", "dot", "load",
    "max_contiguous", "store",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise _lazy.Absent(__name__, name)
