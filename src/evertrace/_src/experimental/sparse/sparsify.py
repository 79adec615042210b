"""`sparsify`: functions of dense arrays, applied to sparse ones.

Another trace: its tracers stand for sparse arrays, and an operation on them means what the table
`rules` says. Operations on dense arrays go to the parent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.api.arguments import check_callable
from evertrace._src.api.formula import formula
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.control.call import jit_p
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.rules import RuleTable
from evertrace._src.core.tracer import Trace, Tracer, set_trace, state
from evertrace._src.experimental.sparse import products, shapes
from evertrace._src.experimental.sparse.arrays import BCOO, JAXSparse, bcoo_todense, public
from evertrace._src.experimental.sparse.coordinates import read
from evertrace._src.numpy.shape import broadcast_to
from evertrace._src.ops import convert, dot, dynamic, elementwise, slicing, structural
from evertrace._src.signatures import wraps
from evertrace._src.transforms.staging import inline


@public
class SparseTracer(Tracer):
    """What `sparsify` traces with: stands for a sparse array, `value`, a `BCOO`.

    Example:
      >>> from evertrace.experimental import sparse
      >>> def f(x):
      ...     print(isinstance(x, sparse.SparseTracer), x.shape)
      ...     return 2 * x
      >>> double = sparse.sparsify(f, use_tracer=True)(sparse.BCOO.fromdense(jnp.eye(2)))
      True (2, 2)
    """

    value: Any

    __slots__ = ("value",)

    def __init__(self, trace: Any, value: Any) -> None:
        super().__init__(ShapedArray(value.shape, value.dtype), trace)
        self.value = value

    def describe_contents(self) -> tuple[tuple[str, Any], ...]:
        """Show the sparse array."""
        return ("", self.aval), ("value", self.value)


class SparseTrace(Trace):
    """Applies operations to sparse arrays, in the parent."""

    __slots__ = ()

    def process(self, prim, args, params):
        """Apply the rule of `prim` for sparse operands, or `prim` itself."""
        values = [self.value_of(x) for x in args]
        previous, state.trace = state.trace, self.parent
        try:
            if not any(isinstance(x, BCOO) for x in values):
                return self.parent.process(prim, values, params)
            if prim is jit_p:
                with set_trace(self):
                    return inline(params["jaxpr"].jaxpr, *args)
            if prim not in rules:
                raise errors.user_error(
                    NotImplementedError,
                    f"sparsify: {prim.name} has no meaning for sparse arrays here.",
                    fix="make the operand dense before, with `sparse.todense`.",
                    anchor="sparse",
                )
            return self.tracer(rules[prim](*values, **params))
        finally:
            state.trace = previous

    def tracer(self, value):
        """Return the tracer of a sparse array, or a dense one itself."""
        return SparseTracer(self, value.to_bcoo()) if isinstance(value, JAXSparse) else value

    def value_of(self, x):
        """Return the sparse array that a tracer stands for, or what is no such tracer itself."""
        return x.value if type(x) is SparseTracer and x._trace is self else x


def _is_sparse(x):
    return isinstance(x, JAXSparse)


@public
def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Return a function of sparse and dense arrays that does what `f` does for dense ones.

    Args:
      f: function of trees of arrays that is made of: sums, products, quotients by dense arrays,
        matrix products, transposition, reshaping, slices, joins, and functions of one argument
        with f(0) = 0.
      use_tracer: accepted; there is one way.

    Returns:
      A function of trees in which sparse arrays may stand for arrays. Those in the result are
      `BCOO`s, whatever the format was.

    Raises:
      NotImplementedError: (when called) an operation has no meaning for sparse arrays.

    Example:
      >>> from evertrace.experimental import sparse
      >>> f = sparse.sparsify(lambda m, x: (2 * m.T) @ x)
      >>> f(sparse.eye(2, 3), jnp.ones(2))
      Array([2., 2., 0.], dtype=float32)
    """
    del use_tracer
    check_callable("sparsify", f)

    @wraps(f)
    def sparse_fun(*args, **kwargs):
        trace = SparseTrace(state.trace, "sparsify")
        args, kwargs = tree.map(trace.tracer, (args, kwargs), is_leaf=_is_sparse)
        with set_trace(trace):
            result = f(*args, **kwargs)
        return tree.map(trace.value_of, result)

    return sparse_fun


@public
def todense(arr: Any) -> Array:
    """Return a sparse array as a dense one, also inside of `sparsify`; a dense one as it is.

    Args:
      arr: a sparse array of any format, or an array.

    Example:
      >>> from evertrace.experimental import sparse
      >>> sparse.sparsify(lambda m: jnp.exp(sparse.todense(m)).sum())(sparse.eye(2)).round(2)
      Array(7.44, dtype=float32)
    """
    if type(arr) is SparseTracer:
        with set_trace(arr._trace.parent):
            return bcoo_todense(arr.value)
    if not isinstance(arr, JAXSparse):
        return as_array(arr)
    arrays, structure = tree.flatten(arr)
    return todense_p.bind(*arrays, tree=structure)


@formula("todense", linear=(0,))
def todense_p(*arrays, tree):
    return tree.unflatten(arrays).todense()


# ---------------------------------------------------------------- rules

rules = RuleTable("sparse arrays")

_LINEAR = (elementwise.neg_p, convert.copy_p, convert.convert_element_type_p)
_ZERO_AT_ZERO = tuple(
    getattr(elementwise, f"{name}_p")
    for name in (
        "abs", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "conj", "expm1", "floor", "imag",
        "integer_pow", "log1p", "real", "round", "sign", "sin", "sinh", "sqrt", "square", "tan",
        "tanh",
    )
)  # fmt: skip


def _linear(prim, mat, **params):
    return mat.with_data(prim.bind(mat.data, **params))


def _function(prim, mat, **params):
    """Apply a function with f(0) = 0: coordinates must not repeat."""
    if prim is elementwise.integer_pow_p and params["y"] <= 0:
        raise errors.user_error(
            NotImplementedError,
            "sparsify: a power that is 1 or infinite at zero.",
            fix="make the operand dense before, with `sparse.todense`.",
            anchor="sparse",
        )
    mat = mat if mat.unique_indices else mat.sum_duplicates(nse=mat.nse)
    return mat.with_data(prim.bind(mat.data, **params))


for _prim in _LINEAR:
    rules.define(_prim)(functools.partial(_linear, _prim))
for _prim in _ZERO_AT_ZERO:
    rules.define(_prim)(functools.partial(_function, _prim))


@rules.define(elementwise.mul_p)
def _mul(x, y):
    if _is_sparse(x) and _is_sparse(y):
        return products.bcoo_multiply_sparse(x, y)
    return (
        products.bcoo_multiply_dense(x, y) if _is_sparse(x) else products.bcoo_multiply_dense(y, x)
    )


@rules.define(elementwise.div_p)
def _div(x, y):
    if _is_sparse(y):
        raise errors.user_error(
            NotImplementedError,
            "sparsify: a division by a sparse array is one by zeros.",
            fix="make the denominator dense, with `sparse.todense`.",
            anchor="sparse",
        )
    y = as_array(y)
    if y.ndim == 0:
        return x.with_data(elementwise.div_p.bind(x.data, y))
    return x.with_data(
        x.mapped(
            lambda data, indices, v: elementwise.div_p.bind(data, read(v, indices, fill_value=1)),
            broadcast_to(y, x.shape),
        )
    )


@rules.define(elementwise.add_p)
def _add(x, y):
    if not (_is_sparse(x) and _is_sparse(y)):
        dense = [bcoo_todense(v) if _is_sparse(v) else as_array(v) for v in (x, y)]
        return elementwise.add_p.bind(*dense)
    dense = min(x.n_dense, y.n_dense)
    x, y = (shapes.merged(m.update_layout(n_dense=dense)) for m in (x, y))
    data = slicing.concatenate_p.bind(x.data, y.data, dimension=0)
    kind = x.indices if x.indices.dtype == y.indices.dtype else x.indices.astype(np.int32)
    rows = slicing.concatenate_p.bind(kind, y.indices.astype(kind.dtype), dimension=0)
    return BCOO((data, rows), shape=x.shape)


@rules.define(elementwise.sub_p)
def _sub(x, y):
    if not _is_sparse(y):
        y = elementwise.neg_p.bind(as_array(y))
        return _add(x, y)
    return _add(x, y.with_data(elementwise.neg_p.bind(y.data)))


@rules.define(dot.dot_general_p)
def _dot(x, y, *, dimension_numbers, precision, preferred_element_type, **_):
    return products.bcoo_dot_general(
        x,
        y,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@rules.define(structural.reduce_sum_p)
def _reduce_sum(mat, *, axes, **_):
    out = shapes.bcoo_reduce_sum(mat, axes=axes)
    return out if out.shape else bcoo_todense(out)


@rules.define(structural.rev_p)
def _rev(mat, *, dimensions):
    return shapes.bcoo_rev(mat, dimensions)


@rules.define(slicing.concatenate_p)
def _concatenate(*mats, dimension):
    mats = [m if _is_sparse(m) else BCOO.fromdense(m, nse=m.size) for m in mats]
    return shapes.bcoo_concatenate(mats, dimension=dimension)


@rules.define(dynamic.dynamic_slice_p)
def _dynamic_slice(mat, *starts, slice_sizes):
    if any(map(_is_sparse, starts)):
        raise errors.user_error(
            TypeError,
            "sparsify: a sparse array as an index.",
            fix="make the index dense, `index.todense()`.",
            anchor="sparse",
        )
    return shapes.bcoo_dynamic_slice(mat, starts, slice_sizes)


def _by_params(function):
    """Return the rule of an operation whose params are the function's."""
    return lambda mat, **params: function(mat, **params)


for _prim, _fun in (
    (structural.transpose_p, shapes.bcoo_transpose),
    (structural.reshape_p, shapes.bcoo_reshape),
    (structural.squeeze_p, shapes.bcoo_squeeze),
    (slicing.slice_p, shapes.bcoo_slice),
    (structural.broadcast_in_dim_p, shapes.bcoo_broadcast_in_dim),
):
    rules.define(_prim)(_by_params(_fun))
