"""Classes from which libraries derive types and primitives of their own above arrays.

JAX calls such types "hi": their values are put together of arrays, and operations on them are
lowered to operations on those. Here they are trees, whose structure is their type; values that can
be written to are objects, as any that have arrays in their attributes. For their primitives see
`hiprimitives`.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from evertrace._src import errors, tree
from evertrace._src.api.extending_values import AbstractValue, types_above
from evertrace._src.arrays.interop import can_be_written
from evertrace._src.core.aval import ShapedArray, is_inexact
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.hijax")


@public
class HiType(AbstractValue):
    """Base of the types of a library's own values, which are put together of arrays.

    A class defines `lo_ty`, which returns the types of the arrays, ``lower_val(value)``, which
    returns these, and ``raise_val(*arrays)``, which makes a value of them. Where such values are
    differentiated, `to_tangent_aval` returns the type of their tangents, which is that of an array.

    Example:
      >>> from evertrace.experimental import hijax
      >>> issubclass(hijax.MutableHiType, hijax.HiType)
      True
    """

    def lo_ty(self) -> Any:
        """Return the types of the arrays, a list."""
        raise NotImplementedError

    def lower_val(self, value: Any) -> Any:
        """Return the arrays that a value is put together of, a list."""
        raise NotImplementedError

    def raise_val(self, *arrays: Any) -> Any:
        """Return the value that is put together of arrays."""
        raise NotImplementedError

    def to_tangent_aval(self) -> Any:
        """Return the type of tangents; by default values have none."""
        return None


class Lowered:
    """A value of a type above arrays as a node, whose leaves are its arrays."""

    __slots__ = ("arrays", "type")

    def __init__(self, kind, arrays):
        self.type, self.arrays = kind, list(arrays)


tree.register_pytree_node(
    Lowered, lambda x: (x.arrays, x.type), lambda kind, arrays: kind.raise_val(*arrays)
)


@public
class MappingSpec:
    """Base of what says how `vmap` maps values of a type above arrays, for `in_axes`.

    Differs from JAX: each of a value's arrays is mapped along its first axis, whatever `dec_rank`
    and `inc_rank` of the type say.

    Example:
      >>> from evertrace.experimental import hijax
      >>> ev.vmap(lambda x: 2 * x, in_axes=hijax.MappingSpec())(jnp.arange(2))
      Array([0, 2], dtype=int32)
    """

    def __index__(self) -> int:
        return 0


@public
class HiPspec:
    """Base of the specs by which `shard_map` divides values of a type above arrays.

    A class defines ``to_lo()``, which returns the spec of each of a value's arrays.

    Example:
      >>> from evertrace.experimental import hijax
      >>> class Rows(hijax.HiPspec):
      ...     def to_lo(self):
      ...         return (ev.P("x"), ev.P("x"))
      >>> Rows().to_lo()
      (P('x',), P('x',))
    """

    def to_lo(self) -> Any:
        """Return a tuple with the spec of each array."""
        raise NotImplementedError


@public
class MutableHiType(HiType):
    """Base of the types of values that can be written to.

    The class of such values has a method ``cur_qdd()``, see there. They are no trees but objects:
    a jitted function reads and writes their attributes, and the caller's are changed by it.

    Example:
      >>> from evertrace.experimental import hijax
      >>> isinstance(hijax.MutableHiType(), hijax.AbstractValue)
      True
    """


@public
class QDD:
    """Base of what a library notes of the contents of a value that can be written to.

    Example:
      >>> from evertrace.experimental import hijax
      >>> class Held(hijax.QDD):
      ...     types = ()
      >>> hijax.AvalQDD(hijax.HiType(), Held()).qdd.types
      ()
    """


@public
class AvalQDD:
    """The type of a value, with what is noted of its contents.

    Args:
      aval: the type.
      qdd: what is noted.

    Example:
      >>> from evertrace.experimental import hijax
      >>> hijax.AvalQDD(hijax.HiType(), None).qdd is None
      True
    """

    aval: Any
    qdd: Any

    def __init__(self, aval: Any, qdd: Any) -> None:
        self.aval, self.qdd = aval, qdd


@public
class AvalMutableQDD(AvalQDD):
    """The type of a value, with what is noted now.

    Example:
      >>> from evertrace.experimental import hijax
      >>> isinstance(hijax.AvalMutableQDD(hijax.HiType(), None), hijax.AvalQDD)
      True
    """


T_co = TypeVar("T_co", covariant=True)


class _Noted(Protocol[T_co]):
    def cur_qdd(self) -> T_co: ...


@set_module("evertrace.experimental")
def cur_qdd(x: _Noted[T_co]) -> T_co:
    """Return what is noted now of the contents of a value that can be written to.

    Args:
      x: of a class with a method ``cur_qdd()``, which returns it.

    Raises:
      TypeError: the class has none.

    Example:
      >>> class Cell:
      ...     def __init__(self, x):
      ...         self.x = x
      ...
      ...     def cur_qdd(self):
      ...         return ev.typeof(self.x)
      >>> ev.experimental.cur_qdd(Cell(1.0))
      ShapedArray(float32[], weak_type=True)
    """
    if not can_be_written(type(x)):
        raise errors.user_error(
            TypeError,
            f"cur_qdd: nothing is noted of a value of class {type(x).__name__}.",
            fix="define a method `cur_qdd` of its class.",
            anchor="extend",
        )
    return x.cur_qdd()


@public
class aval_method:
    """Decorate a function in a type as a method of its values.

    Example:
      >>> from evertrace.experimental import hijax
      >>> hijax.aval_method(len).fun([1, 2])
      2
    """

    def __init__(self, fun: Any) -> None:
        self.fun = fun


@public
class aval_property:
    """Decorate a function in a type as a property of its values.

    Example:
      >>> from evertrace.experimental import hijax
      >>> hijax.aval_property(fget=len).fget([1, 2])
      2
    """

    def __init__(self, fget: Any) -> None:
        self.fget = fget


@public
def register_hitype(cls: Any, typeof: Any) -> None:
    """Make a class one of values above arrays.

    Such values are trees whose leaves are the arrays that `lower_val` of their type returns, and
    whose structure is the type: so they are arguments and results of jitted functions, carries and
    items of loops, and `typeof` returns their types. A `VJPHiPrimitive` takes and returns them.
    Those that can be written to are objects instead, see `MutableHiType`.

    Args:
      cls: the class of the values.
      typeof: function that returns the `HiType` of one.

    Derivatives in reverse mode go through such values by the rules `vjp_fwd` and `vjp_bwd` of the
    primitives that make and take them. Their tangents may be of another type, such as the dense
    arrays of quantized ones: so is the gradient with respect to a value.

    Differs from JAX: in a jitted function a value is what it is outside, with its attributes.
    Where derivatives do not go through such values, NotImplementedError is raised: in forward mode,
    into a function that is itself jitted, mapped or looped over, where tangents are no arrays.

    Example:
      >>> from evertrace.experimental import hijax
      >>> class Pair:
      ...     def __init__(self, a, b):
      ...         self.a, self.b = a, b
      >>> class PairType(hijax.HiType):
      ...     def lo_ty(self):
      ...         return [ev.core.ShapedArray((), jnp.float32)] * 2
      ...
      ...     def lower_val(self, pair):
      ...         return [pair.a, pair.b]
      ...
      ...     def raise_val(self, a, b):
      ...         return Pair(a, b)
      >>> kind = PairType()
      >>> hijax.register_hitype(Pair, lambda pair: kind)
      >>> swapped = ev.jit(lambda pair: Pair(pair.b, pair.a))(Pair(1.0, 2.0))
      >>> float(swapped.a), ev.typeof(swapped) is kind
      (2.0, True)
    """
    types_above[cls] = typeof
    if can_be_written(cls):
        return

    def flatten(value):
        kind = typeof(value)
        return kind.lower_val(value), kind

    tree.register_pytree_node(cls, flatten, lambda kind, arrays: kind.raise_val(*arrays))


# ------------------------------------------------------------------------ values as nodes


def is_above(x):
    """Whether a value is of a registered class."""
    return type(x) in types_above


def lowered(values):
    """Return a tree with the values of types above arrays as nodes of their arrays."""

    def one(x):
        if not is_above(x):
            return x
        kind = types_above[type(x)](x)
        return Lowered(kind, kind.lower_val(x))

    return tree.map(one, values, is_leaf=is_above)


def lowered_types(types):
    """Return a tree of types with those above arrays as nodes of the types of their arrays."""

    def one(x):
        return Lowered(x, x.lo_ty()) if isinstance(x, HiType) else x

    return tree.map(one, types, is_leaf=is_type)


def is_type(x):
    """Whether a type is one above arrays."""
    return isinstance(x, HiType)


def places_above(types):
    """Return the positions of the leaves that are arrays of values above arrays."""
    found, at = set(), 0
    for x in tree.leaves(types, is_type):
        count = len(x.lo_ty()) if is_type(x) else 1
        found.update(range(at, at + count) if is_type(x) else ())
        at += count
    return found


def tangent_types(types):
    """Return what tangent each leaf has; the first array of a value above arrays has the value's.

    None stands for its other ones, and for all of them where its tangents are no arrays of numbers.
    """
    found = []
    for x in tree.leaves(types, is_type):
        of_value = x.to_tangent_aval()
        if is_type(x):
            is_array = isinstance(of_value, ShapedArray) and is_inexact(of_value)
            rest = [None] * (len(x.lo_ty()) - 1)
            found += [of_value if is_array else None, *rest]
        else:
            found.append(of_value)
    return found


def has_tangents(types):
    """Whether all values above arrays of such types have tangents, which are arrays of numbers."""
    return all(tangent_types(x)[0] is not None for x in tree.leaves(types, is_type) if is_type(x))


def by_values(types, leaves):
    """Return the tree of `types` with what belongs to each: of an array, or a value's first one."""
    rest = iter(leaves)

    def one(kind):
        if not is_type(kind):
            return next(rest)
        first, *_ = [next(rest) for _ in kind.lo_ty()]
        return first

    return tree.map(one, types, is_leaf=is_type)


def lowered_like(types, values):
    """Return what a rule returns for values of `types`, those above arrays as nodes of arrays.

    A declared type says how a value is lowered. What stands for a derivative of one is its first.
    """
    if not places_above(types):
        return values

    def one(kind, x):
        if not is_type(kind):
            return x
        if is_above(x):
            return Lowered(kind, kind.lower_val(x))
        return Lowered(kind, [x] + [None] * (len(kind.lo_ty()) - 1))

    return tree.map(one, types, values, is_leaf=is_type)


class _EffectTypes:
    """Types of effects that loops and branches may have."""

    def add_type(self, kind: Any) -> Any:
        """Allow effects of a type: of types above arrays, which there are none of."""


control_flow_allowed_effects: _EffectTypes = _EffectTypes()
