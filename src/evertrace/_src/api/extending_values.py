"""Types and values as interpreters of jaxprs and rules of primitives ask about them."""

import numpy as np

from evertrace._src import errors
from evertrace._src.api.extending import Primitive
from evertrace._src.arrays.interop import aval_of, foreign
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Var
from evertrace._src.support import set_module

public = set_module("evertrace.extend.core")


@public
def mapped_aval(size, axis, aval):
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
def unmapped_aval(size, axis, aval, *unused):
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
def valid_jaxtype(x):
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


def never_staged(name):
    """Return a primitive of JAX's that no jaxpr of ours holds; to bind it is an error."""

    def abstract(*avals, **params):
        raise errors.user_error(
            NotImplementedError,
            f"{name}: the primitive has no meaning here, and is only there to be compared with.",
            fix="call the function of that name in `lax`, or `jit`.",
            anchor="extend",
        )

    return Primitive(name, abstract=abstract, multiple_results=True)


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

    def __instancecheck__(cls, x):
        is_ours = cls is AbstractValue and isinstance(x, ShapedArray)
        return is_ours or super().__instancecheck__(x)


class AbstractValue(metaclass=_AnyAval):
    """What a type of values is an instance of.

    Example:
      >>> isinstance(ev.typeof(jnp.ones(2)), ev.core.AbstractValue)
      True
    """


foreign[np.ndarray] = np.asarray

canonicalize_dtype_handlers = pytype_aval_mappings = foreign
"""Types that stand for arrays -> function that returns what NumPy takes; others may be added."""
