"""Derivatives by sparse arrays: those by all elements of the array, at its coordinates only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evertrace._src import tree
from evertrace._src.api import autodiff, jacobians
from evertrace._src.api.arguments import check_callable
from evertrace._src.experimental.sparse.arrays import BCOO, JAXSparse, public
from evertrace._src.experimental.sparse.formats import BCSR
from evertrace._src.numpy.shape import broadcast_to, reshape


def _is_sparse(x):
    return isinstance(x, JAXSparse)


def _of_data(fun, argnums, args, kwargs):
    """Return `fun` as a function of data, these data, and the arguments that they stand in.

    The data of an argument is a tree of arrays, with the data of sparse ones.
    """
    nums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    nums = [n % len(args) for n in nums]
    given = [args[n] for n in nums]

    def of_data(*data):
        full = list(args)
        for n, x, d in zip(nums, given, data, strict=True):
            full[n] = tree.map(_put_data, x, d, is_leaf=_is_sparse)
        return fun(*full, **kwargs)

    data = tree.map(lambda x: x.data if _is_sparse(x) else x, given, is_leaf=_is_sparse)
    return of_data, data, given


def _put_data(x, data):
    return x.with_data(data) if _is_sparse(x) else data


@public
def value_and_grad(
    fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **kwargs: Any
) -> Any:
    """Return a function that gives value and gradient; that by a sparse array is sparse.

    Args:
      fun: function that returns a scalar (or, with `has_aux`, a pair of it and anything).
      argnums: positions of the arguments to differentiate with respect to; trees of arrays and
        sparse arrays.
      has_aux: whether `fun` returns ``(value, aux)``.
      **kwargs: further arguments of `evertrace.value_and_grad`.

    Returns:
      A function like ``evertrace.value_and_grad(fun)``. The gradient by a sparse array is one
      of the same coordinates: of the derivatives by all elements of the array those at these.

    Example:
      >>> from evertrace.experimental import sparse
      >>> f = lambda m, x: ((m @ x) ** 2).sum()
      >>> value, g = sparse.value_and_grad(f)(sparse.eye(2), jnp.array([1.0, 3.0]))
      >>> value, g.data
      (Array(10., dtype=float32), Array([ 2., 18.], dtype=float32))
    """
    check_callable("value_and_grad", fun)

    def value_and_grad_fun(*args, **kw):
        of_data, data, given = _of_data(fun, argnums, args, kw)
        every: Any = tuple(range(len(data)))
        derived = autodiff.value_and_grad(of_data, argnums=every, has_aux=has_aux, **kwargs)
        value, grads = derived(*data)
        grads = tuple(
            tree.map(_put_data, x, g, is_leaf=_is_sparse) for x, g in zip(given, grads, strict=True)
        )
        return value, grads[0] if isinstance(argnums, int) else grads

    return value_and_grad_fun


@public
def grad(fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **kwargs: Any) -> Any:
    """Return a function that gives the gradient; that by a sparse array is sparse.

    Args:
      fun: function that returns a scalar (or, with `has_aux`, a pair of it and anything).
      argnums: positions of the arguments to differentiate with respect to.
      has_aux: whether `fun` returns ``(value, aux)``; then ``(gradient, aux)`` is returned.
      **kwargs: further arguments of `evertrace.grad`.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.grad(lambda m: (m.todense() ** 2).sum())(sparse.eye(2))
      BCOO(f32[2, 2], nse=2)
    """
    both = value_and_grad(fun, argnums=argnums, has_aux=has_aux, **kwargs)

    def grad_fun(*args, **kw):
        value, gradient = both(*args, **kw)
        return (gradient, value[1]) if has_aux else gradient

    return grad_fun


# ---------------------------------------------------------------- Jacobians


def _jacobian(transform, fun, argnums, has_aux, kwargs):
    def jacobian_fun(*args, **kw):
        of_data, data, given = _of_data(fun, argnums, args, kw)
        leaves, structure = tree.flatten(data)
        sparse_leaves = tree.leaves(given, is_leaf=_is_sparse)
        seen = []

        def of_leaves(*leaves):
            out = of_data(*tree.unflatten(structure, leaves))
            seen.append(tree.structure(out[0] if has_aux else out))
            return out

        every: Any = tuple(range(len(leaves)))
        result = transform(of_leaves, argnums=every, has_aux=has_aux, **kwargs)(*leaves)
        found, aux = result if has_aux else (result, None)
        found, count = tree.leaves(found), len(leaves)
        rows = []
        for i in range(0, len(found), count):
            row = map(_put_derivatives, sparse_leaves, found[i : i + count])
            row = tree.unflatten(tree.structure(given, is_leaf=_is_sparse), list(row))
            rows.append(row[0] if isinstance(argnums, int) else tuple(row))
        out = tree.unflatten(seen[-1], rows)
        return (out, aux) if has_aux else out

    return jacobian_fun


def _put_derivatives(x, data):
    """Return derivatives by the data of `x` as an array with batch dimensions for the output's."""
    if not _is_sparse(x):
        return data
    batch = data.shape[: data.ndim - x.data.ndim]
    if isinstance(x, BCSR):
        where = (broadcast_to(part, (*batch, *part.shape)) for part in (x.indices, x.indptr))
        return BCSR((data, *where), shape=(*batch, *x.shape))
    indices = x.to_bcoo().indices
    indices = reshape(indices, (*(1,) * len(batch), *indices.shape))
    return BCOO((data, indices), shape=(*batch, *x.shape))


@public
def jacfwd(fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **kwargs: Any) -> Any:
    """Return a function that gives the Jacobian by forward mode; that by a sparse array is sparse.

    Args:
      fun: function that returns a tree of arrays (or, with `has_aux`, a pair of it and anything).
      argnums: positions of the arguments to differentiate with respect to; trees of arrays and
        sparse arrays.
      has_aux: whether `fun` returns ``(value, aux)``; then ``(jacobian, aux)`` is returned.
      **kwargs: further arguments of `evertrace.jacfwd`.

    Returns:
      A function like ``evertrace.jacfwd(fun)``. The Jacobian by a `BCSR` is a `BCSR`, that by
      another sparse array a `BCOO`, with the same coordinates and batch dimensions for those of the
      output.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.jacfwd(lambda m: m @ jnp.ones(2))(sparse.eye(2))
      BCOO(f32[2, 2, 2], nse=2, n_batch=1)
    """
    check_callable("jacfwd", fun)
    return _jacobian(jacobians.jacfwd, fun, argnums, has_aux, kwargs)


@public
def jacrev(fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **kwargs: Any) -> Any:
    """Return a function that gives the Jacobian by reverse mode; that by a sparse array is sparse.

    Args:
      fun: function that returns a tree of arrays (or, with `has_aux`, a pair of it and anything).
      argnums: as of `jacfwd`.
      has_aux: whether `fun` returns ``(value, aux)``; then ``(jacobian, aux)`` is returned.
      **kwargs: further arguments of `evertrace.jacrev`.

    Returns:
      A function like `jacfwd`'s.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.jacrev(lambda m: m @ jnp.ones(2))(sparse.eye(2)).data.tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    check_callable("jacrev", fun)
    return _jacobian(jacobians.jacrev, fun, argnums, has_aux, kwargs)


jacobian = jacrev
