"""Jacobians and Hessians: derivatives along, or pulled back from, all unit tangents at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, overload

import numpy as np

from evertrace._src import dtypes, errors, native, tree
from evertrace._src.api.arguments import (
    SEVERAL,
    check_callable,
    check_differentiable,
    check_output_dtype,
    chosen_arguments,
    positions,
)
from evertrace._src.api.autodiff import jvp, vjp, with_chosen
from evertrace._src.api.objects import flatten_arguments, place, restore
from evertrace._src.api.vectorize import vmap
from evertrace._src.arrays.array import Array, from_host
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import literal
from evertrace._src.jit.observe import runs_at_once
from evertrace._src.jit.opened import opened
from evertrace._src.lax.slicing import slice_in_dim
from evertrace._src.ops.compare import eq_p
from evertrace._src.ops.convert import convert
from evertrace._src.ops.creation import iota
from evertrace._src.ops.elementwise import add_p
from evertrace._src.ops.structural import full, reshape, zeros
from evertrace._src.signatures import function_name, wraps
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened

if TYPE_CHECKING:
    from evertrace._src.api.typed import Gradient

P = ParamSpec("P")
T = TypeVar("T", bound=Any)  # so that lambdas may do anything with their arguments

public = set_module("evertrace")


def _basis(leaves):
    """Return, per leaf, the stacked unit tangents of all leaves together: ``[n, *shape]``."""
    total = sum(x.size for x in leaves)
    basis, offset = [], 0
    for x in leaves:
        rows = _unit_rows(total, x.size, offset, x.dtype, x.weak_type)
        basis.append(reshape(rows, (total, *x.shape)))
        offset += x.size
    return basis


def _is_single(leaves):
    """Whether there is one unit tangent: a batch of one would go through the whole program."""
    return len(leaves) == 1 and leaves[0].size == 1


def _one(x):
    """Return the unit tangent of an array of one element."""
    return as_array(full(x.aval, 1))


def _unit_rows(total, size, offset, dtype, weak_type):
    """Return ``[total, size]`` zeros with ones on the diagonal that begins in row `offset`.

    A program computes them, so that XLA knows where the zeros are; at once, they are written.
    """
    shape = (total, size)
    if runs_at_once():
        try:
            rows = np.zeros(shape, dtype)
        except MemoryError:
            raise errors.out_of_memory(total * size * np.dtype(dtype).itemsize) from None
        rows[np.arange(offset, offset + size), np.arange(size)] = 1
        return from_host(rows, ShapedArray(shape, dtype, weak_type))
    columns = add_p.bind(iota(np.int32, shape, 1), literal(offset, np.dtype(np.int32)))
    return convert(eq_p.bind(iota(np.int32, shape, 0), columns), dtype, weak_type)


def _check_jacobian_input(where, leaves, holomorphic, allow_int=False):
    check_differentiable(where, leaves, holomorphic, allow_int)
    for x in leaves:
        if not holomorphic and dtypes.issubdtype(x.aval.dtype, np.complexfloating):
            raise errors.user_error(
                TypeError,
                f"{where}: complex inputs require holomorphic=True.",
                fix="say so, if the function is holomorphic.",
                anchor="grad-dtype",
            )


def _flat(fun, structure):
    """Return the function of flat leaves of the arguments that `structure` describes."""

    def flat(*leaves):
        try:
            return fun(*place(structure, leaves))
        finally:
            restore(structure)

    return flat


@overload
def jacfwd(
    fun: Callable[Concatenate[T, P], Array],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> Gradient[T, Any, P]: ...


@overload
def jacfwd(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]: ...


@public
def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives the Jacobian of `fun`, column by column (forward mode).

    Args are those of `grad`; the output may have any shape.

    Returns:
      A function that returns, for each output leaf, a tree of the argument's structure with
      leaves ``[*output shape, *input shape]``. Cheaper than `jacrev` when the function has fewer
      inputs than outputs.

    Example:
      >>> ev.jacfwd(lambda x: jnp.array([x[0] * x[1], x[1] ** 2]))(jnp.array([2.0, 3.0]))
      Array([[3., 2.],
             [0., 6.]], dtype=float32)
    """
    where = f"jacfwd({function_name(check_callable('jacfwd', fun))})"
    if type(argnums) is not int:
        positions(where, "argnums", argnums)

    @shortened
    @wraps(fun)
    def jacobian_fun(*args, **kwargs):
        nums = chosen_arguments(where, argnums, args)
        chosen = tuple([args[n] for n in nums])
        leaves, treedef = flatten_arguments(where, chosen)
        _check_jacobian_input(where, leaves, holomorphic)
        flat = _flat(with_chosen(fun, nums, args, kwargs), treedef)

        def push(*tangents):
            result: Any = jvp(flat, tuple(leaves), tangents, has_aux)
            return (result[0], result[1], result[2] if has_aux else None)

        if _is_single(leaves):
            _, column, aux = push(_one(leaves[0]))
            columns = tree.map(lambda c: reshape(c, (*c.shape, 1)), opened(column))
        else:
            _, columns, aux = vmap(push, out_axes=(None, -1, None))(*_basis(leaves))
        jac = tree.map(lambda c: _columns(c, leaves, treedef, argnums), opened(columns))
        return (jac, aux) if has_aux else jac

    return jacobian_fun


def _columns(c, leaves, treedef, argnums):
    """Return the blocks of one output's ``[*output shape, n]`` as a tree like the arguments."""
    blocks, offset = [], 0
    for x in leaves:
        block = c if len(leaves) == 1 else slice_in_dim(c, offset, offset + x.size, axis=-1)
        blocks.append(reshape(block, (*c.shape[:-1], *x.shape)))
        offset += x.size
    jac = tree.unflatten(treedef, blocks)
    return jac if isinstance(argnums, SEVERAL) else jac[0]


@overload
def jacrev(
    fun: Callable[Concatenate[T, P], Array],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Gradient[T, Any, P]: ...


@overload
def jacrev(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]: ...


@public
def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives the Jacobian of `fun`, row by row (reverse mode).

    Args are those of `grad`; the output may have any shape.

    Returns:
      As `jacfwd`. Cheaper when the function has fewer outputs than inputs.

    Example:
      >>> ev.jacrev(lambda x: jnp.array([x[0] * x[1], x[1] ** 2]))(jnp.array([2.0, 3.0]))
      Array([[3., 2.],
             [0., 6.]], dtype=float32)
    """
    where = f"jacrev({function_name(check_callable('jacrev', fun))})"
    if type(argnums) is not int:
        positions(where, "argnums", argnums)

    @shortened
    @wraps(fun)
    def jacobian_fun(*args, **kwargs):
        nums = chosen_arguments(where, argnums, args)
        chosen = tuple([args[n] for n in nums])
        leaves, treedef = flatten_arguments(where, chosen)
        _check_jacobian_input(where, leaves, holomorphic, allow_int)
        flat = _flat(with_chosen(fun, nums, args, kwargs), treedef)
        result: Any = vjp(flat, *leaves, has_aux=has_aux)
        out, pull_back = result[:2]
        out_leaves, out_tree = tree.flatten(opened(out))
        for x in out_leaves:
            check_output_dtype(where, x.aval, holomorphic)
        rows = _rows(pull_back, leaves, out_leaves, out_tree)
        per_out = [
            treedef.unflatten([_row_block(r, out_leaves, i) for r in rows])
            for i in range(len(out_leaves))
        ]
        if not isinstance(argnums, SEVERAL):
            per_out = [block[0] for block in per_out]
        jac = tree.unflatten(out_tree, per_out)
        return (jac, result[2]) if has_aux else jac

    return jacobian_fun


def _rows(pull_back, leaves, out_leaves, out_tree):
    """Return the rows of the Jacobian, ``[n, *shape]`` per leaf of the arguments."""
    if _is_single(out_leaves):
        row = pull_back(tree.unflatten(out_tree, [_one(out_leaves[0])]))
        rows = [r if r.dtype == dtypes.float0 else reshape(r, (1, *r.shape)) for r in row]
    else:
        rows = vmap(pull_back)(tree.unflatten(out_tree, _basis(out_leaves)))
    total = sum(x.size for x in out_leaves)
    return [
        zeros(x.aval.update(shape=(total, *x.shape))) if r.dtype == dtypes.float0 else r
        for x, r in zip(leaves, rows, strict=True)
    ]


def _row_block(rows, out_leaves, i):
    start = sum(x.size for x in out_leaves[:i])
    block = rows
    if len(out_leaves) > 1:
        block = slice_in_dim(rows, start, start + out_leaves[i].size)
    return reshape(block, (*out_leaves[i].shape, *rows.shape[1:]))


@overload
def hessian(
    fun: Callable[Concatenate[T, P], Array],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> Gradient[T, Any, P]: ...


@overload
def hessian(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]: ...


@public
def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives the Hessian of `fun`: `jacfwd` of `jacrev`.

    Args and the nesting of the result are those of `jacfwd` applied to `jacrev`.

    Example:
      >>> ev.hessian(lambda x: x[0] ** 2 * x[1])(jnp.array([1.0, 2.0]))
      Array([[4., 2.],
             [2., 0.]], dtype=float32)
    """
    if type(argnums) is not int:
        positions(f"hessian({function_name(check_callable('hessian', fun))})", "argnums", argnums)
    both = jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)

    @shortened
    @wraps(fun)
    def hessian_fun(*args, **kwargs):  # errors name it
        return both(*args, **kwargs)

    return hessian_fun


jacobian = jacrev
native.rename(globals(), "jacobian")
