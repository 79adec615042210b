"""Kernels in C++, called on NumPy arrays; see `src/native/kernels`.

They are in the extension module, which may be missing: each caller has another way, in NumPy or in
XLA, and asks `use`, `reduces` or `extension.is_built` which to take.
"""

import functools
import importlib
import math
from typing import Any

import numpy as np

from evertrace._src import config, extension, native

_native: Any = extension.native

CODES = extension.codes("DTYPES")
"""The dtypes that kernels take, by the numbers that C++ has for them."""

NAMES = tuple(CODES)
"""Of these, by number."""

DTYPES = frozenset(NAMES)

REALS = DTYPES - {"complex64", "complex128"}
"""Those of which an element is one number; `scan` knows fewer."""

_MISSED_FROM = 1 << 18  # elements: from here on the kernels save milliseconds
_REDUCE_FROM = 512  # elements: for fewer, NumPy's functions are called faster
ROW_LIMIT = 1 << 31  # positions in a row are 32-bit integers


def is_kernel_dtype(aval: Any) -> bool:
    """Whether kernels know the dtype of an aval."""
    return _name(aval.dtype) in DTYPES


def use(shape: tuple[int, ...], *dtypes: np.dtype, known: frozenset[str] = DTYPES) -> bool:
    """Whether to call a kernel on arrays of such a shape and dtypes.

    Where many elements would be worked on, `warn_missing` says that the kernels are not there.

    Args:
      shape: of the arrays; the last dimension is the one that is worked along.
      *dtypes: of all arrays.
      known: names of the dtypes that the kernel takes.
    """
    if not config.current().native_kernels or not shape or shape[-1] >= ROW_LIMIT:
        return False
    if not extension.is_built():
        if np.prod(shape) >= _MISSED_FROM:
            native.warn_missing()
        return False
    return all([_name(dtype) in known for dtype in dtypes])


def xla_handlers() -> dict[str, Any]:
    """Return the handlers of XLA custom calls, capsules by the name of their target."""
    return _native.xla_handlers()


@extension.twin
def release_memory() -> None:
    """Give working memory that kernels keep for their next call back to the system."""


def loop(primitive: str, operands: list[np.ndarray], out: np.ndarray, param: int) -> bool:
    """Run an elementwise operation, by its primitive's name; whether there is a loop for it.

    Args:
      primitive: the name.
      operands: arrays of the result's shape, or of one element, in C order.
      out: the result, dense.
      param: what the operation has besides operands, an exponent for example.
    """
    return _native.loop(primitive, tuple([_dense(np.asarray(x)) for x in operands]), out, param)


def run(
    name: str,
    operands: list[np.ndarray],
    outs: list[tuple[tuple[int, ...], Any]],
    *options: int,
) -> list[np.ndarray]:
    """Run a kernel of `src/native/kernels/named.cc`.

    Args:
      name: its name.
      operands: the arrays it takes.
      outs: (shape, dtype) of each result.
      *options: numbers that say what it does.

    Returns:
      The results.
    """
    results = [np.empty(shape, dtype) for shape, dtype in outs]
    _native.kernel(name, tuple(map(_dense, operands)), tuple(results), options)
    return results


def sort(xs: list[np.ndarray], num_keys: int) -> list[np.ndarray]:
    """Sort arrays of one shape along the last dimension by the first `num_keys`, stably."""
    return run("sort", xs, [(x.shape, x.dtype) for x in xs], num_keys)


def top_k(x: np.ndarray, k: int) -> list[np.ndarray]:
    """Return the largest elements along the last dimension, and their positions (int32)."""
    shape = (*x.shape[:-1], k)
    return run("top_k", [x], [(shape, x.dtype), (shape, np.int32)])


def search(ordered: np.ndarray, values: np.ndarray, *, right: bool, dtype: np.dtype) -> np.ndarray:
    """Return the places, of a dtype, of values in sorted rows; see `ops.search`."""
    return run("search", [ordered, values], [(values.shape, dtype)], right)[0]


def threefry(keys: np.ndarray, x0: np.ndarray, x1: np.ndarray) -> list[np.ndarray]:
    """Return counters encrypted under each key: ``[n, 2]``, ``[1 or n, m]`` to two ``[n, m]``."""
    return run("threefry", [keys, x0, x1], [((len(keys), x0.shape[1]), np.uint32)] * 2)


def random_words(keys: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Fill `out` with what the counters 0, 1, ... are under keys ``[n, 2]``; returns it.

    That are bits ``[n, m]`` of an unsigned dtype, or new keys ``[n, m, 2]``; see `ops.threefry`.
    """
    _native.kernel("random_words", (_dense(keys),), (out,), ())
    return out


def are_small(sizes: list[int]) -> bool:
    """Whether kernels factor matrices of such rows and columns without LAPACK."""
    return max(sizes) <= _native.SMALL_MATRIX


@functools.cache
def has_lapack() -> bool:
    """Whether kernels can call LAPACK; loads SciPy, whose routines they are."""
    names = "cython_lapack", "cython_blas"
    modules = [importlib.import_module(f"scipy.linalg.{name}") for name in names]
    return bool(extension.call("load_lapack", *[m.__pyx_capi__ for m in modules]))


_FFT_STEPS = {
    "fft": ("Ff->F", "Dd->D"),
    "ifft": ("Ff->F", "Dd->D"),
    "rfft_n_even": ("ff->F", "dd->D"),
    "rfft_n_odd": ("ff->F", "dd->D"),
    "irfft": ("Ff->f", "Dd->d"),
}
"""Universal functions that NumPy transforms with, and the loops of each for 32 and 64 bits."""


@functools.cache
def has_fft() -> bool:
    """Whether there are Fourier transforms; they are NumPy's, which it does not promise to keep."""
    try:
        module = importlib.import_module("numpy.fft._pocketfft_umath")
        functions = [(getattr(module, name), types) for name, types in _FFT_STEPS.items()]
        steps = [(f, *map(f.types.index, types)) for f, types in functions]
    except (ImportError, AttributeError, ValueError):
        return False
    signatures = {"(n),()->(m)", "(m),()->(n)"}
    if not all(isinstance(f, np.ufunc) and f.signature in signatures for f, *_ in steps):
        return False
    return bool(extension.call("load_fft", *steps))


def is_long_fft(n: int) -> bool:
    """Whether a row of so many complex numbers is transformed by loops that threads share."""
    if n < _native.LONG_FFT:
        return False
    for prime in 2, 3, 5:
        while n % prime == 0:
            n //= prime
    return n == 1


def copy(x: np.ndarray, out: np.ndarray) -> None:
    """Copy items into an array of the same shape and item size; any strides on both sides."""
    _native.copy(x, out)


def reduce(primitive: str, x: np.ndarray, axes: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Reduce dimensions of an array by a primitive (``"reduce_sum"``, ``"argmax"``, ...)."""
    if not x.flags.c_contiguous and x.flags.f_contiguous:
        return reduce(primitive, x.T, tuple([x.ndim - 1 - a for a in axes]), dtype).T
    first, last = (min(axes), max(axes) + 1) if axes else (0, 0)
    if last - first != len(axes):
        x = x.transpose(*[d for d in range(x.ndim) if d not in axes], *axes)
        first, last = x.ndim - len(axes), x.ndim
    out = np.empty(x.shape[:first] + x.shape[last:], dtype)
    _native.reduce(primitive, _dense(x), (first, last), out)
    return out


def reduces(x: np.ndarray) -> bool:
    """Whether to reduce an array by a kernel: if it is large enough, dense, of a known dtype."""
    if x.size < _REDUCE_FROM or not extension.is_built() or not config.current().native_kernels:
        return False
    return x.flags.forc and _name(x.dtype) in DTYPES


def matmul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the products of two stacks of matrices, of one dtype and number of dimensions."""
    if x.ndim > 3:  # dimensions of a stack may lie so that no one stride goes through it
        rows = [a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:]) for a in (x, y)]
        return matmul(*rows).reshape(*x.shape[:-1], y.shape[-1])
    out = np.empty((*x.shape[:-1], y.shape[-1]), x.dtype)
    _native.matmul(x, y, out)
    return out


def multiplies(dtype: np.dtype) -> bool:
    """Whether to multiply matrices of floats by the kernel, which adds as tapes and plans do."""
    if dtype.kind not in "fc" or not extension.is_built() or not config.current().native_kernels:
        return False
    return _name(dtype) in DTYPES


def _dense(x: np.ndarray) -> np.ndarray:
    """Return an array itself if it is dense and aligned, and a copy else."""
    if x.flags.c_contiguous and x.flags.aligned:
        return x
    out = np.empty(x.shape, x.dtype)
    _native.copy(x, out)
    return out


@functools.cache
def _name(dtype: np.dtype) -> str:
    """Return the name of a dtype, which takes NumPy microseconds; "" for another byte order."""
    return dtype.name if getattr(dtype, "isnative", True) else ""  # keys' dtypes have none


# ---------------------------------------------------------------- tapes


def has_kernel(kind: str, name: str, operands: tuple[int, ...], result: int) -> bool:
    """Return whether tapes have a kernel: a "loop", a "reduce" or a "matmul" of such dtypes."""
    return _native.has_kernel(kind, name, operands, result)


def loop_cost(name: str) -> float:
    """Return what an elementwise operation costs per element, in additions."""
    return _native.loop_cost(name)


def tape(*parts: Any) -> Any:
    """Return a tape; see `engines.native.emit.Emitter.tape` and `src/native/python/tape.cc`."""
    return _native.Tape(*parts)


def tape_template(*parts: Any) -> Any:
    """Return a program of a tape with holes, tuples of one number; see `native.template`."""
    return _native.TapeTemplate(*parts)


# ---------------------------------------------------------------- called by tests and benchmarks
# What runs them in programs are tapes, and plans of eager functions, in C++.


def gather(
    x: np.ndarray,
    indices: np.ndarray,
    dims: tuple[tuple[int, ...], ...],
    sizes: tuple[int, ...],
    shape: tuple[int, ...],
    filler: np.ndarray | None,
) -> np.ndarray:
    """Return windows of an array, of this shape; see `ops.indexing`.

    Args:
      x: the array.
      indices: where windows start.
      dims: dimension numbers, five tuples.
      sizes: of a window, in each dimension of `x`.
      shape: of the result.
      filler: the item that is in windows that are not inside; if None, they are moved there.
    """
    out = np.empty(shape, x.dtype)
    _native.gather(_dense(x), _dense(indices), tuple(dims), sizes, out, filler)
    return out


def scatter(
    loop: str | None,
    x: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray,
    dims: tuple[tuple[int, ...], ...],
    sizes: tuple[int, ...],
    *,
    drops: bool,
) -> np.ndarray:
    """Return an array with windows joined to it by a loop (``"add"``), or put into it if None.

    Args:
      loop: the name of the operation.
      x: the array.
      indices: where windows start.
      updates: the windows.
      dims: dimension numbers, five tuples.
      sizes: of a window, in each dimension of `x`.
      drops: whether windows that are not inside are dropped; else they are moved there.
    """
    out = np.array(x, order="C")
    _native.scatter(out, _dense(indices), tuple(dims), sizes, _dense(updates), loop, drops)
    return out
