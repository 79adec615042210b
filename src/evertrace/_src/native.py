"""What is in C++: kernels, called on NumPy arrays, and the bases of classes; see `src/native`.

They are in an extension module that an installation without a compiler does not have, and that
``EVERTRACE_NATIVE=0`` in the environment leaves alone. Everything works without it: each caller has
another way, in NumPy, in XLA or in Python, and asks `use` or `is_built` which to take.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from evertrace._src import config, errors, extension

_native: Any = extension.native

NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
"""Of the dtypes that kernels take, in the order of `DType` in `src/native/kernels/dtypes.h`."""

DTYPES = frozenset(NAMES)

REALS = DTYPES - {"complex64", "complex128"}
"""Those of which an element is one number; `scan` knows fewer."""

F = TypeVar("F", bound=Callable[..., Any])

_planned: list[Any] = []

_is_missing_said = False

_MISSED_FROM = 1 << 18  # elements: from here on the kernels save milliseconds
_REDUCE_FROM = 512  # elements: for fewer, NumPy's functions are called faster
_ROW_LIMIT = 1 << 31  # positions in a row are 32-bit integers


def is_built() -> bool:
    """Whether the extension module is there."""
    return _native is not None


class _AvalFields:
    """The fields of an aval, see `python/array.h`."""

    __slots__ = ("__weakref__", "cache", "dtype", "ndim", "shape", "size", "weak_type")


class _ArrayFields:
    """The fields of an array, see `python/array.h`."""

    # `_sharding` is set only where the array is laid out over a mesh.
    __slots__ = ("__weakref__", "_buffer", "_committed", "_device", "_host", "_sharding", "aval")

    def __init__(self, aval, host=None, buffer=None, device=None, committed=False):
        self.aval, self._host, self._buffer = aval, host, buffer
        self._device, self._committed = device, committed

    _on_host = property(lambda self: self._host is not None)
    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)
    weak_type = property(lambda self: self.aval.weak_type)


class _Indexed:
    """``x.at``: see `numpy.updates`."""

    __slots__ = ("array",)

    place_class: Any = None

    def __init__(self, array):
        self.array = array

    def __getitem__(self, index):
        return _Indexed.place_class(self.array, index)


class _Place:
    """``x.at[index]``."""

    __slots__ = ("array", "index")

    def __init__(self, array, index):
        self.array, self.index = array, index


AvalBase: Any = _AvalFields if _native is None else _native.AvalBase
"""Base of `ShapedArray`."""

ArrayBase: Any = _ArrayFields if _native is None else _native.ArrayBase
"""Base of `Array`."""

IndexHelperBase: Any = _Indexed if _native is None else _native.IndexHelperBase
"""Base of the class of ``x.at``."""

IndexRefBase: Any = _Place if _native is None else _native.IndexRefBase
"""Base of the class of ``x.at[index]``."""


def set_aval_class(cls: type) -> None:
    """Say that `cls`, made over `AvalBase`, returns the one aval of three facts."""
    if _native is not None:
        _native.set_aval_class(cls)


def set_array_class(cls: type, operators: type) -> None:
    """Say that `cls` is the class of arrays.

    Args:
      cls: a class over `ArrayBase` that adds no fields.
      operators: the class whose methods are its operators where they are not done in C++.
    """
    if _native is not None:
        _native.set_array_class(cls, operators)


def waiting(leaves: list[Any]) -> list[Any]:
    """Return the arrays among leaves whose contents are not here: they may still be computed."""
    if _native is not None:
        return _native.waiting(leaves)
    return [x for x in leaves if isinstance(x, _ArrayFields) and not x._on_host]


def set_at_classes(helper: type, place: type) -> None:
    """Say which classes ``x.at`` and ``x.at[index]`` are of."""
    _Indexed.place_class = place
    if _native is not None:
        _native.set_at_classes(helper, place)


def planned(*, by_type: bool) -> Callable[[F], F]:
    """Decorate an eager function: what it does for arrays of some types is repeated in C++.

    It gets a plan (`engines.host.plans`) where it is called with arrays, also in lists and tuples,
    with Python scalars and what else has a value that does not change, and where all it does are
    operations that have kernels; it is called itself in all other cases, of which tracing is one.

    Args:
      by_type: whether Python numbers are operands, of which only the types matter; such a function
        must not look at contents. Else they are part of what it does, as an axis is.
    """

    def decorate(function: Any) -> Any:
        if _native is None:
            return function
        made = functools.update_wrapper(_native.Function(function, by_type), function)
        _planned.append(made)
        return made

    return decorate


def forget_plans() -> None:
    """Drop all plans; they are made anew."""
    for function in _planned:
        function._forget_plans()


def updating(operation: str) -> Callable[[F], F]:
    """Decorate a method of ``x.at[index]``: at static indices, it is done in C++.

    Args:
      operation: the primitive that combines old and new elements, "" for none.
    """

    def decorate(function: Any) -> Any:
        if _native is None:
            return function
        made = _native.Function(function, update=operation)
        return functools.update_wrapper(made, function)

    return decorate


def set_operators(functions: dict[str, Any]) -> None:
    """Name the functions that operators call, by the names of their methods."""
    if _native is not None:
        _native.set_operators(functions)


def set_planner(planner: Callable[..., Any]) -> None:
    """Name what describes the functions of `planned`."""
    if _native is not None:
        _native.set_planner(planner)


def set_recording(flag: bool) -> bool:
    """Say whether functions of `planned` are done in Python in this thread; returns what it was."""
    return False if _native is None else _native.set_recording(flag)


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
    if not shape or shape[-1] >= _ROW_LIMIT or not config.current().native_kernels:
        return False
    if any([_name(dtype) not in known for dtype in dtypes]):
        return False
    if _native is None and np.prod(shape) >= _MISSED_FROM:
        warn_missing()
    return _native is not None


def warn_missing() -> None:
    """Say once per process that the extension module is not there, unless that was asked for."""
    global _is_missing_said
    if _is_missing_said or not extension.is_wanted or not config.current().native_kernels:
        return
    _is_missing_said = True
    errors.user_warning(
        errors.PerformanceWarning,
        "evertrace was installed without its C++ extension module. Everything works, but each "
        "jitted program waits for XLA, small calls take tens of times as long, and sorting, "
        "searching and running sums of large arrays are up to a hundred times slower.",
        fix="install a C++ compiler, then `pip install --force-reinstall --no-cache-dir evertrace` "
        "(pip keeps what it has built), or set EVERTRACE_NATIVE=0 in the environment to accept it.",
        anchor="native-kernels",
    )


def xla_handlers() -> dict[str, Any]:
    """Return the handlers of XLA custom calls, capsules by the name of their target."""
    return _native.xla_handlers()


def release_memory() -> None:
    """Give working memory that kernels keep for their next call back to the system."""
    if _native is not None:
        _native.release_memory()


def loop(primitive: str, operands: list[np.ndarray], out: np.ndarray, param: int) -> bool:
    """Run an elementwise operation, by its primitive's name; whether there is a loop for it.

    Args:
      primitive: the name.
      operands: arrays of the result's shape, or of one element, in C order.
      out: the result.
      param: what the operation has besides operands, an exponent for example.
    """
    return _native.loop(primitive, [_dense(np.asarray(x)) for x in operands], _dense(out), param)


def sort(xs: list[np.ndarray], num_keys: int) -> list[np.ndarray]:
    """Sort arrays of one shape along the last dimension by the first `num_keys`, stably."""
    outs = [np.empty(x.shape, x.dtype) for x in xs]
    _native.sort([_dense(x) for x in xs], [_dense(x) for x in outs], num_keys)
    return outs


def top_k(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest elements along the last dimension, and their positions (int32)."""
    shape = (*x.shape[:-1], k)
    outs = np.empty(shape, x.dtype), np.empty(shape, np.int32)
    _native.top_k([_dense(x)], [_dense(y) for y in outs])
    return outs


def search(ordered: np.ndarray, values: np.ndarray, *, right: bool, dtype: np.dtype) -> np.ndarray:
    """Return the places, of a dtype, of values in sorted rows; see `ops.search`."""
    out = np.empty(values.shape, dtype)
    _native.search([_dense(ordered), _dense(values)], [_dense(out)], right)
    return out


def threefry(keys: np.ndarray, x0: np.ndarray, x1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return counters encrypted under each key: ``[n, 2]``, ``[1 or n, m]`` to two ``[n, m]``."""
    shape = len(keys), x0.shape[1]
    y0, y1 = np.empty(shape, np.uint32), np.empty(shape, np.uint32)
    words = [("uint32", np.ascontiguousarray(x)) for x in (keys, x0, x1)]
    _native.threefry(words, [("uint32", y0), ("uint32", y1)])
    return y0, y1


def random_words(keys: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Fill `out` with what the counters 0, 1, ... are under keys ``[n, 2]``; returns it.

    That are bits ``[n, m]`` of an unsigned dtype, or new keys ``[n, m, 2]``; see `ops.threefry`.
    """
    words = [("uint32", np.ascontiguousarray(keys))]
    _native.random_words(words, [(_name(out.dtype), out)])
    return out


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
    code = _code(x.dtype)
    _native.reduce(primitive, _in_order(x), code, (first, last), out, _code(dtype))
    return out


def reduces(x: np.ndarray) -> bool:
    """Whether to reduce an array by a kernel: if it is large enough, dense, of a known dtype."""
    if x.size < _REDUCE_FROM or _native is None or not config.current().native_kernels:
        return False
    return x.flags.forc and _code(x.dtype) >= 0


def matmul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the products of two stacks of matrices, of one dtype and number of dimensions."""
    out = np.empty((*x.shape[:-1], y.shape[-1]), x.dtype)
    _native.matmul(x, y, out, _code(x.dtype))
    return out


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
    code = _code(indices.dtype)
    _native.gather(_in_order(x), _in_order(indices), code, tuple(dims), sizes, out, filler)
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
    code, index_code = _code(x.dtype), _code(indices.dtype)
    indices, updates = _in_order(indices), _in_order(updates)
    _native.scatter(out, indices, index_code, tuple(dims), sizes, updates, loop, code, drops)
    return out


def _in_order(x: np.ndarray) -> np.ndarray:
    """Return an array itself if it is dense, and a dense copy else."""
    if x.flags.c_contiguous:
        return x
    out = np.empty(x.shape, x.dtype)
    _native.copy(x, out)
    return out


_codes: dict[np.dtype, int] = {}


@functools.cache
def _name(dtype: np.dtype) -> str:
    """Return the name of a dtype, which takes NumPy microseconds."""
    return dtype.name


def _code(dtype: np.dtype) -> int:
    """Return the number that C++ has for a dtype; -1 if it does not know it."""
    code = _codes.get(dtype)
    if code is None:
        known = dtype.isnative and dtype.name in DTYPES
        code = _codes[dtype] = NAMES.index(dtype.name) if known else -1
    return code


def _dense(x: np.ndarray) -> tuple[str, np.ndarray]:
    """Return a dtype's name, and the array in a dtype that has a buffer format."""
    name = _name(x.dtype)
    x = np.ascontiguousarray(x)
    return name, x if x.dtype.kind == "c" else x.view(f"u{x.dtype.itemsize}")


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
