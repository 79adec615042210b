"""How dtypes promote: the lattice, and the dtype that an operation on several values has.

Promotion is a join in a lattice, which is JAX's: its nodes are the dtypes and three weak types,
those of Python scalars, for which we write the Python types ``int``, ``float``, ``complex``::

    bool -> int -> u8 -> u16 -> u32 -> u64 --> float -> bf16 -> f32 -> f64 -> c128
             |  `-> i8 -> i16 -> i32 -> i64 -^   |  `-> f16 -^   |           ^
             |      (u8 -> i16, u16 -> i32, ...) |               v           |
             `-> u1 u2 u4 i1 i2 i4               |-> complex -> c64 ---------'
                                                 `-> f4*, f6*, f8*

The common dtype of some operands is the least node above all of theirs. The types of fewer than
8 bits and the 8-bit floats lead nowhere, so they only meet weak types: nothing is converted from
or to them unasked. ``numpy_dtype_promotion="strict"`` keeps only the arrows that leave weak types.
"""

import functools
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from evertrace._src import config
from evertrace._src.doors import door
from evertrace._src.dtypes.extension import ExtendedDType
from evertrace._src.dtypes.kinds import (
    COMPLEX,
    FLOATS,
    NAMES,
    NARROW_FLOATS,
    NARROW_INTS,
    SIGNED,
    UNSIGNED,
    DTypeLike,
    as_dtype,
    default_dtype,
    dtype_and_weak,
    in_current_mode,
    issubdtype,
    named,
    python_scalar_dtypes,
    scalar_type_of,
    short_name,
)
from evertrace._src.errors import DTypeError, TypePromotionError, user_error

Node: TypeAlias = np.dtype | type
"""A node of the lattice: a dtype, or ``int``, ``float``, ``complex`` for the weak types."""

_WEAK_TYPES: dict[str, type] = {"int": int, "float": float, "complex": complex}

_STANDARD_ARROWS: dict[str, tuple[str, ...]] = {
    "bool": ("int",),
    "int": ("uint8", "int8", *NARROW_INTS),
    "uint8": ("int16", "uint16"),
    "uint16": ("int32", "uint32"),
    "uint32": ("int64", "uint64"),
    "uint64": ("float",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float",),
    "float": (*NARROW_FLOATS, "bfloat16", "float16", "complex"),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "complex": ("complex64",),
    "complex64": ("complex128",),
}

_STRICT_ARROWS: dict[str, tuple[str, ...]] = {
    "int": (*NARROW_INTS, *UNSIGNED, *SIGNED, "float"),
    "float": (*NARROW_FLOATS, *FLOATS, "complex"),
    "complex": COMPLEX,
}


def _upper_bounds(arrows: dict[str, tuple[str, ...]]) -> dict[Node, frozenset[Node]]:
    """Return, for each node, the nodes that can be reached from it, itself included."""

    def node(name: str) -> Node:
        return _WEAK_TYPES.get(name) or named(name)

    @functools.cache
    def above(name: str) -> frozenset[Node]:
        return frozenset({node(name)}).union(*map(above, arrows.get(name, ())))

    return {node(name): above(name) for name in (*NAMES, *_WEAK_TYPES)}


_UPPER_BOUNDS = {False: _upper_bounds(_STANDARD_ARROWS), True: _upper_bounds(_STRICT_ARROWS)}


@functools.lru_cache(maxsize=4096)
def _join(nodes: frozenset[Node], strict: bool) -> Node:
    """Return the least node above all `nodes`; TypePromotionError if there is none."""
    bounds = _UPPER_BOUNDS[strict]
    common = frozenset(bounds).intersection(*(bounds[node] for node in nodes))
    for node in common:
        if bounds[node] >= common:
            return node
    raise _promotion_error(nodes, strict)


def _promotion_error(nodes: Iterable[Node], strict: bool) -> Exception:
    """Word the error for dtypes that have no common dtype."""
    names = sorted(node.__name__ if isinstance(node, type) else node.name for node in nodes)
    fix = f"convert explicitly, e.g. `x.astype({names[-1]!r})`"
    if strict:
        fix += ', or set `numpy_dtype_promotion` to "standard"'
        reason = " in strict promotion mode"
    elif set(names) & set(NARROW_FLOATS):
        reason = ": floats of 8 bits and fewer are not promoted implicitly"
    else:
        reason = ": integers of 4 bits and fewer are not promoted implicitly"
    what = f"promotion: {' and '.join(names)} have no common dtype{reason}."
    return user_error(TypePromotionError, what, fix=fix + ".")


def _node(dtype: Any, weak: bool) -> Node:
    """Return the lattice's node of a dtype; ValueError for those that do not promote."""
    if dtype not in _UPPER_BOUNDS[False]:
        raise user_error(
            ValueError,
            f"promotion: dtype {short_name(dtype)} does not promote to any other.",
            fix="convert its array first, e.g. with `x.astype(jnp.float32)`.",
            anchor="dtype-promotion",
        )
    scalar_type = scalar_type_of(dtype) if weak else bool
    return dtype if scalar_type is bool else scalar_type


def _is_strict() -> bool:
    """Whether promotion is strict in the current mode."""
    return config.current().numpy_dtype_promotion == "strict"


def promote_types(a: DTypeLike, b: DTypeLike) -> np.dtype[Any]:
    """Return the common dtype of two dtypes.

    Args:
      a: a dtype; ``int``, ``float`` and ``complex`` stand for weak types.
      b: another.

    Returns:
      The least dtype above both in the lattice, whether or not it is available without
      ``enable_x64``.

    Raises:
      TypePromotionError: there is none.

    Differs from NumPy as `the lattice <evertrace._src.dtypes>` does, e.g. int64 and float32 give
    float32.

    Example:
      >>> jnp.promote_types(jnp.int32, jnp.uint32)
      dtype('int64')
      >>> jnp.promote_types(jnp.int32, jnp.float16)
      dtype('float16')
    """
    nodes = frozenset(
        x if isinstance(x, type) and x in _WEAK_TYPES.values() else _node(as_dtype(x), False)
        for x in (a, b)
    )
    return _dtype_of_node(_join(nodes, _is_strict()))


def wider(a: np.dtype, b: np.dtype) -> Any:
    """Return the common dtype of two dtypes, also where `numpy_dtype_promotion` is "strict".

    For the dtypes in which this library computes: that option is about operands of a user.
    """
    return _dtype_of_node(_join(frozenset((_node(a, False), _node(b, False))), False))


def _dtype_of_node(node: Node) -> np.dtype:
    """Return the dtype of a node, for weak types that of their Python scalars."""
    return python_scalar_dtypes[node] if isinstance(node, type) else node


def lattice_result_type(*args: Any) -> tuple[Any, bool]:
    """Return the common dtype of values and dtypes, and whether it is weak.

    Raises:
      TypePromotionError: there is no common dtype.
      TypeError: an argument has no dtype.
    """
    if not args:
        raise user_error(
            ValueError,
            "result_type: at least one array or dtype is required.",
            fix="pass the arrays or dtypes that are to meet.",
            anchor="dtype-promotion",
        )
    found, weak = _lattice_result(tuple(map(dtype_and_weak, args)), _is_strict())
    return in_current_mode(found), weak


@functools.lru_cache(maxsize=4096)
def _lattice_result(operands: tuple[tuple[Any, bool], ...], strict: bool) -> tuple[Any, bool]:
    """Return the common dtype of (dtype, weak) pairs, not canonical, and whether it is weak."""
    dtypes = {dtype for dtype, _ in operands}
    all_weak = all(weak for _, weak in operands)
    if len(operands) == 1 or (len(dtypes) == 1 and not all_weak):
        dtype = dtypes.pop()
        return dtype, all_weak and dtype != np.bool_
    if any(isinstance(dtype, ExtendedDType) for dtype in dtypes):
        names = " and ".join(sorted(map(short_name, dtypes)))
        raise user_error(
            DTypeError,
            f"promotion: {names} have no common dtype.",
            fix="take the numbers of a key with `random.key_data`.",
            anchor="extended-dtype",
        )
    if all_weak and not strict:
        dtype = _dtype_of_node(_join(frozenset(_node(dtype, False) for dtype in dtypes), strict))
        return dtype, dtype != np.bool_
    node = _join(frozenset(_node(dtype, weak) for dtype, weak in operands), strict)
    return _dtype_of_node(node), isinstance(node, type)


def _widest_like(dtype: Any) -> np.dtype:
    """Return the dtype that weak values of the kind of `dtype` are computed in."""
    if issubdtype(dtype, np.unsignedinteger):
        return in_current_mode(named("uint64"))
    return default_dtype(scalar_type_of(dtype))


@door
def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """Return the dtype that an operation on the arguments computes in.

    Args:
      *args: arrays, scalars or dtypes.
      return_weak_type_flag: whether to return also if the result is weakly typed.

    Returns:
      A canonical dtype, or ``(dtype, weak_type)``.

    Raises:
      TypePromotionError: the arguments have no common dtype.
      TypeError: an argument has no dtype.

    Example:
      >>> ev.dtypes.result_type(np.int8(1), 2.0), ev.dtypes.result_type(np.float16(1), 2.0)
      (dtype('float32'), dtype('float16'))
      >>> ev.dtypes.result_type("int32", "bfloat16")
      dtype(bfloat16)
    """
    if len(args) == 1 and args[0] is None:  # NumPy's default
        args = (np.float64,)
    found, weak = lattice_result_type(*args)
    if weak:
        found = _widest_like(found)
    return (found, weak) if return_weak_type_flag else found
