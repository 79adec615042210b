"""Types and values as interpreters of jaxprs and rules of primitives ask about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.api.arguments import tangent_dtype
from evertrace._src.api.extending import Primitive
from evertrace._src.arrays.interop import aval_of, foreign
from evertrace._src.control.bodies import unused
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Eqn, Var
from evertrace._src.core.tracer import concrete_value, state
from evertrace._src.support import set_module
from evertrace._src.transforms.batching import BatchTrace
from evertrace._src.transforms.staging import Stage

public = set_module("evertrace.extend.core")


@public
def mapped_aval(size: Any, axis: Any, aval: Any) -> Any:
    """Return the type of one example of a batch.

    Args:
      size: of the batch.
      axis: the batch dimension, or None for what has none.
      aval: the type of the batch.

    Raises:
      ShapeError: the dimension has another size.

    Example:
      >>> from evertrace.extend import core
      >>> core.mapped_aval(3, 0, ev.typeof(jnp.ones((3, 2))))
      ShapedArray(float32[2])
    """
    if axis is None:
        return aval
    if aval.shape[axis] != size:
        raise errors.user_error(
            errors.ShapeError,
            f"mapped_aval: dimension {axis} of {aval.str_short()} has not the size {size}.",
            fix="give the size that the batch has.",
            anchor="shape",
        )
    return aval.update(shape=(*aval.shape[:axis], *aval.shape[axis:][1:]))


@public
def unmapped_aval(size: Any, axis: Any, aval: Any, *unused: Any) -> Any:
    """Return the type of a batch of values of a type.

    Args:
      size: of the batch.
      axis: the batch dimension, or None for what has none.
      aval: the type of one example.
      *unused: accepted for compatibility.

    Example:
      >>> from evertrace.extend import core
      >>> core.unmapped_aval(3, 1, ev.typeof(jnp.ones(2)))
      ShapedArray(float32[2,3])
    """
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


@public
def valid_jaxtype(x: Any) -> bool:
    """Return whether a value can be an operand: an array, a number, or what becomes an array.

    Example:
      >>> from evertrace.extend import core
      >>> core.valid_jaxtype(1.0), core.valid_jaxtype("one")
      (True, False)
    """
    try:
        aval_of(x)
    except TypeError:
        return False
    return True


def never_staged(name: str) -> Primitive:
    """Return a primitive of JAX's that no jaxpr of ours holds; to bind it is an error."""

    def abstract(*avals: Any, **params: Any) -> Any:
        raise errors.user_error(
            NotImplementedError,
            f"{name}: the primitive has no meaning here, and is only there to be compared with.",
            fix="call the function of that name in `lax`, or `jit`.",
            anchor="extend",
        )

    return Primitive(name, abstract=abstract, multiple_results=True)


@public
def new_jaxpr_eqn(
    invars: Any,
    outvars: Any,
    primitive: Any,
    params: Any,
    effects: Any,
    source_info: Any = None,
    ctx: Any = None,
) -> Eqn:
    """Return an equation.

    Args:
      invars: variables and literals.
      outvars: variables.
      primitive: the operation.
      params: its params.
      effects: what it does besides.
      source_info: where it comes from, as another equation says, or None.
      ctx: accepted for compatibility.

    Example:
      >>> from evertrace.extend import core
      >>> jaxpr = ev.make_jaxpr(jnp.sin)(1.0).jaxpr
      >>> (eqn,) = jaxpr.eqns
      >>> cos_p, info = core.primitives.cos_p, eqn.source_info
      >>> other = core.new_jaxpr_eqn(eqn.invars, eqn.outvars, cos_p, {}, eqn.effects, info)
      >>> jaxpr.replace(eqns=[other])
      { lambda ; a:f32[]. let b:f32[] = cos a in (b,) }
    """
    del ctx
    src = None if source_info is None else source_info.traceback
    return Eqn(primitive, list(invars), list(outvars), params, frozenset(effects), src)


@public
def gensym() -> Callable[..., Any]:
    """Return a function of a type that makes a new variable of a jaxpr.

    Example:
      >>> from evertrace.extend import core
      >>> core.gensym()(ev.typeof(jnp.ones(3)))
      Var<f32[3]>
    """
    return unused


@public
def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """Return the dtype of the tangents of values of a dtype: its own, or `float0`.

    Example:
      >>> from evertrace.extend import core
      >>> core.primal_dtype_to_tangent_dtype(np.dtype("int32")) == ev.dtypes.float0
      True
    """
    return tangent_dtype(ShapedArray((), primal_dtype))


@public
def concrete_or_error(force: Any, val: Any, context: str = "") -> Any:
    """Return a value as a Python number, or as it is, where it is known while tracing.

    Args:
      force: `int`, `float`, another function of the value, or None.
      val: the value.
      context: what the error says besides.

    Raises:
      evertrace.errors.ConcretizationTypeError: the value is traced.

    Example:
      >>> from evertrace.extend import core
      >>> core.concrete_or_error(int, jnp.array(3.0))
      3
    """
    known = concrete_value(val)
    if known is None:
        raise errors.user_error(
            errors.ConcretizationTypeError,
            f"a value is needed that is known while tracing, got {val}. {context}".rstrip(),
            fix="pass a constant, or mark the argument as static.",
            anchor="ConcretizationTypeError",
        )
    return known if force is None else force(known)


@public
def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Return whether a program is being written down.

    Example:
      >>> from evertrace.extend import core
      >>> asked = []
      >>> _ = ev.jit(lambda x: asked.append(core.unsafe_am_i_under_a_jit_DO_NOT_USE()) or x)(1.0)
      >>> asked, core.unsafe_am_i_under_a_jit_DO_NOT_USE()
      ([True], False)
    """
    return any(isinstance(t, Stage) for t in _traces())


@public
def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Return whether a batch is being traced.

    Example:
      >>> from evertrace.extend import core
      >>> core.unsafe_am_i_under_a_vmap_DO_NOT_USE()
      False
    """
    return any(isinstance(t, BatchTrace) for t in _traces())


@public
def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """Return a list of the names of the axes in scope.

    Example:
      >>> from evertrace.extend import core
      >>> names = []
      >>> note = lambda x: names.extend(core.unsafe_get_axis_names_DO_NOT_USE()) or x
      >>> _ = ev.vmap(note, axis_name="batch")(jnp.ones(2))
      >>> names
      ['batch']
    """
    return [name for name, _ in state.trace.axes]


@public
def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Return whether any named axis is in scope.

    Example:
      >>> from evertrace.extend import core
      >>> core.nonempty_axis_env_DO_NOT_USE()
      False
    """
    return bool(state.trace.axes)


def _traces():
    trace = state.trace
    while trace is not None:
        yield trace
        trace = trace.parent


@public
class DropVar(Var):
    """The class of results that nobody reads, in JAX's jaxprs; ours have a variable for each.

    Example:
      >>> from evertrace.extend import core
      >>> isinstance(ev.make_jaxpr(jnp.sin)(1.0).jaxpr.eqns[0].outvars[0], core.DropVar)
      False
    """


class _AnyAval(type):
    """Makes `isinstance` say that types of ours are each an `AbstractValue`, of no derived kind."""

    def __instancecheck__(cls, x: Any) -> Any:
        is_ours = cls is AbstractValue and isinstance(x, ShapedArray)
        return is_ours or super().__instancecheck__(x)


class AbstractValue(metaclass=_AnyAval):
    """What a type of values is an instance of.

    Example:
      >>> isinstance(ev.typeof(jnp.ones(2)), ev.core.AbstractValue)
      True
    """


types_above: dict[type, Any] = {}
"""Classes of values above arrays -> function that returns the type of one."""

displacements: list[Callable[[Any], Any]] = []
"""What returns for a value above arrays a tangent of zeros and a function of it, or None."""


def of_tangents(fun: Callable[..., Any], args: Any) -> tuple[Callable[..., Any], Any]:
    """Return a function and its arguments with tangents of zeros for values above arrays.

    So derivatives with respect to such a value are those with respect to what is added to it.
    """
    if not types_above:
        return fun, args

    def is_above(x):
        return type(x) in types_above

    leaves, treedef = tree.flatten(args, is_leaf=is_above)
    found = [displacements[0](x) if is_above(x) else None for x in leaves]
    if not any(found):
        return fun, args
    given = [x if made is None else made[0] for x, made in zip(leaves, found, strict=True)]

    def displaced(*args):
        values = treedef.flatten_up_to(args)
        pairs = zip(values, found, strict=True)
        return fun(*treedef.unflatten([x if made is None else made[1](x) for x, made in pairs]))

    return displaced, treedef.unflatten(given)


foreign[np.ndarray] = np.asarray

canonicalize_dtype_handlers = foreign
pytype_aval_mappings: dict[type, Any] = foreign
"""Types that stand for arrays -> function that returns what NumPy takes; others may be added."""
