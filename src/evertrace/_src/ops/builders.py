"""Builders of elementwise primitives: type rule and batching rule come from here.

Elementwise operands have one shape, except that operands of rank 0 may stand beside it; they are
spread when the operation runs. Dtypes are equal: promotion happens in the layers above.
"""

import functools
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.ops.structural import broadcast_in_dim_p, move_batch_dim
from evertrace._src.support import set_module

# What an operand's dtype may be: scalar types, tested with `dtypes.issubdtype`.
BOOL = (np.bool_,)
INTEGER = (np.integer,)
SIGNED = (np.signedinteger,)
FLOATING = (np.floating,)
COMPLEX = (np.complexfloating,)
INEXACT = FLOATING + COMPLEX
NUMERIC = INTEGER + INEXACT
REAL = INTEGER + FLOATING
BITS = BOOL + INTEGER
ORDERED = BOOL + REAL
ANY = BOOL + NUMERIC

NO_TANGENTS = undefined("its operands are integers or booleans, which carry no tangents")


@set_module("evertrace.extend")
def elementwise(
    name: str, accepts: Any, *, result: Any = None, host: Any, **rules: Any
) -> Primitive:
    """Make an elementwise primitive.

    Args:
      name: as printed.
      accepts: tuple of scalar types allowed for all operands, or a list of one such tuple per
        operand (dtypes then need not be equal).
      result: function ``(*dtypes, **params) -> dtype`` of the output; default the operands'.
      host: NumPy function of the operands and params.
      **rules: see `Primitive`.

    Example:
      >>> from evertrace import extend
      >>> square = extend.elementwise(
      ...     "square", (np.floating,), host=np.square, deriv=(lambda out, x: lax.mul(x, 2.0),)
      ... )
      >>> x = jnp.array([1.0, 2.0])
      >>> square.bind(x), ev.grad(lambda x: jnp.sum(square.bind(x)))(x)
      (Array([1., 4.], dtype=float32), Array([2., 4.], dtype=float32))
    """

    def abstract(*avals, **params):
        if isinstance(accepts, list):
            for aval, allowed in zip(avals, accepts, strict=True):
                check_dtype(name, aval, allowed)
        else:
            for aval in avals:
                check_dtype(name, aval, accepts)
            check_same_dtype(name, avals)
        shape = common_shape(name, avals)
        dtype = avals[0].dtype if result is None else result(*[a.dtype for a in avals], **params)
        weak = dtype != np.bool_ and all(a.weak_type for a in avals)
        return ShapedArray(shape, dtype, weak)

    prim = Primitive(name, elementwise=True, abstract=abstract, host=host, **rules)
    prim.define("batch")(batching_of(prim))
    return prim


def batching_of(prim):
    """Return the batching rule of an elementwise primitive."""
    return lambda size, args, dims, **params: batch_elementwise(prim, size, args, dims, params)


def no_tangent(tangents: Any, primals: Any, out: Any, **params: Any) -> None:
    """Serve as the jvp rule of what is constant wherever it has a derivative, or has no tangent."""


def integer_operation(name, accepts, **rules):
    """Make an elementwise primitive of integers or booleans."""
    return elementwise(name, accepts, deriv=NO_TANGENTS, **rules)


def predicate(name, accepts, **rules):
    """Make an elementwise primitive whose values are booleans."""
    return elementwise(name, accepts, result=_boolean, jvp=no_tangent, **rules)


def _boolean(*dtypes, **params):
    return np.dtype(np.bool_)


def computed_in_float32(fun):
    """Return the host rule `fun` so that narrower floats are rounded once, at its end."""

    @functools.wraps(fun)  # for the signature
    def rule(*operands, **params):
        dtype = operands[0].dtype
        if dtype.itemsize > 2 or dtype.kind in "biu":
            return fun(*operands, **params)
        return fun(*[np.asarray(x, np.float32) for x in operands], **params).astype(dtype)

    return rule


def in_bytes(fun):
    """Return the host rule `fun` so that it computes integers of fewer than 8 bits in bytes.

    The result wraps around. NumPy leaves numbers in such arrays that they cannot hold, or has no
    loop for them.
    """

    @functools.wraps(fun)  # for the signature
    def rule(*operands, **params):
        dtype = operands[0].dtype
        if dtype.kind != "V" or not dtypes.issubdtype(dtype, np.integer):
            return fun(*operands, **params)
        byte = np.int8 if dtypes.issubdtype(dtype, np.signedinteger) else np.uint8
        return fun(*[np.asarray(x).astype(byte) for x in operands], **params).astype(dtype)

    return rule


def check_dtype(name, aval, allowed):
    """Raise unless the aval's dtype is of one of the allowed scalar types."""
    if (aval.dtype, allowed) in _allowed:
        return
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: random keys are no numbers, got {aval.str_short()}.",
            fix="draw numbers with the key, e.g. `random.normal(key)`; `random.key_data(key)` "
            "returns its words.",
            anchor="random-key",
        )
    if not any(dtypes.issubdtype(aval.dtype, kind) for kind in allowed):
        kinds = ", ".join(kind.__name__.rstrip("_") for kind in allowed)
        raise errors.user_error(
            errors.DTypeError,
            f"{name}: does not accept dtype {aval.dtype}; accepted are {kinds}.",
            fix=(aval.dtype == bool and _OF_BOOLEANS.get(name))
            or f"convert the operand first, e.g. `x.astype({_example(allowed)})`.",
            anchor="dtype",
        )
    _allowed.add((aval.dtype, allowed))


_allowed = set()


_OF_BOOLEANS = {
    "neg": "use `~x`, which says of each whether it is False.",
    "sub": "use `x ^ y`, which says where the two differ, or count in integers, `x.astype(int)`.",
}
"""What NumPy has for arithmetic of booleans that means nothing."""


def _example(allowed):
    names = {np.floating: "float", np.integer: "int", np.complexfloating: "complex"}
    return next((text for kind, text in names.items() if kind in allowed), "bool")


def check_same_dtype(name, avals):
    """Raise unless all operands have one dtype."""
    first = avals[0].dtype
    for aval in avals:
        if aval.dtype != first:
            names = ", ".join(str(a.dtype) for a in avals)
            raise errors.user_error(
                errors.DTypeError,
                f"{name}: operands must have the same dtype, got {names}.",
                fix=f"convert one of them, or use `numpy.{name}`, which promotes.",
                anchor="dtype",
            )


def common_shape(name, avals):
    """Return the one shape of the operands that are not of rank 0."""
    shape = ()
    for aval in avals:
        if aval.shape:
            if shape and shape != aval.shape:
                raise broadcast_error(name, [a.shape for a in avals])
            shape = aval.shape
    return shape


def broadcast_error(name, shapes):
    """Build the error for shapes that do not broadcast."""
    text = " and ".join(str(tuple(s)) for s in shapes)
    return errors.user_error(
        errors.ShapeError,
        f"{name}: shapes {text} do not broadcast.",
        fix="make trailing sizes equal or 1, e.g. with `x[:, None]` or `reshape`.",
        anchor="shape-broadcast",
    )


def batch_elementwise(prim, size, args, dims, params):
    """Batch an elementwise operation: all operands of full rank get the same batch dim."""
    ranks = [x.aval.ndim - (d is not None) for x, d in zip(args, dims, strict=True)]
    rank = max(ranks)
    full = [d for r, d in zip(ranks, dims, strict=True) if r == rank and d is not None]
    dim = full[0] if full else 0
    shape = next(
        x.aval.shape
        for x, r, d in zip(args, ranks, dims, strict=True)
        if r == rank and (d is not None or not full)
    )
    if not full:
        shape = (size, *shape)
    operands = [
        _align(x, d, r, rank, dim, shape) for x, d, r in zip(args, dims, ranks, strict=True)
    ]
    return prim.bind(*operands, **params), dim


def _align(x, d, x_rank, rank, dim, shape):
    """Bring one operand to the batched shape, or leave it at rank 0."""
    if x_rank == rank and d is not None:
        return x if d == dim else move_batch_dim(x, d, dim, shape[dim])
    if x.aval.ndim == 0:
        return x
    # Of rank 0 and batched, or of full rank and not batched.
    kept = (dim,) if d is not None else tuple(i for i in range(len(shape)) if i != dim)
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=kept, sharding=None)
