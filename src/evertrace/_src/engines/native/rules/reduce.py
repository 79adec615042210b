"""Reductions, running ones, sorts: kernels that work along one dimension of dense arrays."""

from evertrace._src import kernels
from evertrace._src.engines.native import costs
from evertrace._src.engines.native.emit import (
    CODES,
    KERNEL,
    NotNative,
    emission,
    item_size,
    kind_of,
)
from evertrace._src.engines.native.rules.structural import permuted
from evertrace._src.engines.native.sizes import for_sizes
from evertrace._src.ops import cumulative, search, sort
from evertrace._src.ops import reduce as ops
from evertrace._src.ops.identities import accumulation_dtype
from evertrace._src.ops.structural import inverse_permutation, reduce_sum_p


@for_sizes
def reduction_sizes(shape, axes):
    """Return a permutation (or None) and the sizes ``[outer, reduced, inner]`` after it."""
    kept = [d for d in range(len(shape)) if d not in axes]
    long_kept = [d for d in kept if shape[d] != 1]
    long_axes = [d for d in axes if shape[d] != 1]
    first = min(long_axes, default=0)
    last = max(long_axes, default=-1)
    if any(first < d < last for d in long_kept):
        outer = _product(shape, kept)
        return (*kept, *sorted(axes)), (outer, _product(shape, axes), 1)
    outer = [d for d in long_kept if d < first]
    inner = [d for d in long_kept if d > last] if long_axes else []
    if not long_axes:
        outer = long_kept
    return None, (_product(shape, outer), _product(shape, axes), _product(shape, inner))


def _product(shape, dims):
    total = 1
    for d in dims:
        total *= shape[d]
    return total


def _reduction(prim, estimate=costs.reduction_costs):
    name = prim.name

    def rule(e, eqn, xs):
        x, shape = xs[0], eqn.invars[0].aval.shape
        permutation, sizes = reduction_sizes(shape, tuple(eqn.params["axes"]))
        if permutation is not None:
            x = permuted(e, x, shape, permutation)
        return e.reduce(name, x, kind_of(eqn.outvars[0].aval)[0], sizes, estimate)

    emission.define(prim)(rule)


_reduction(reduce_sum_p)
_reduction(ops.reduce_max_p, costs.extreme_costs)
_reduction(ops.reduce_min_p, costs.extreme_costs)
_reduction(ops.reduce_prod_p)
_reduction(ops.reduce_and_p)
_reduction(ops.reduce_or_p)
_reduction(ops.reduce_xor_p)
_reduction(ops.argmax_p, costs.place_costs)
_reduction(ops.argmin_p, costs.place_costs)


# ---------------------------------------------------------------- kernels on rows


def kernel(e, name, arrays, outs, options=(), ns=None, compilation=0.0):
    """Call a kernel of `named.cc` on (value, shape) pairs; `outs` are (dtype, shape).

    XLA calls the same kernels, so it is taken to need as long: `ns`, or so much for each byte;
    `compilation` is what it needs to compile what it writes around them.
    """
    made = [e.new((code, _product(shape, range(len(shape))))) for code, shape in outs]
    numbers = [len(options), *options]
    for _, shape in [*arrays, *outs]:
        numbers += [len(shape), *shape]
    e.add(KERNEL, tuple(made), tuple(x for x, _ in arrays), name, tuple(numbers))
    if ns is None:
        sizes = [size * item_size(code) for code, size in map(e.values.__getitem__, made)]
        ns = costs.NS_PER_BYTE_OF_KERNEL * sum(sizes)
    e.spend(ns, ns, compilation)
    return made


def _check(aval, known, name):
    if aval.dtype.name not in known:
        raise NotNative(f"there is no kernel for {name} of {aval.dtype.name}")
    if max(aval.shape, default=0) >= 1 << 31:
        raise NotNative("a dimension is longer than 31 bits can say")


_FLOATS = frozenset(["float16", "bfloat16", "float32", "float64"])


def _cumulative(prim, name, known, ns=costs.NS_PER_ELEMENT_CUMULATED):
    def rule(e, eqn, xs):
        aval = eqn.invars[0].aval
        _check(aval, known, prim.name)
        code, shape = kind_of(aval)[0], aval.shape
        wide = CODES[accumulation_dtype(aval.dtype).name]
        x = e.convert(xs[0], wide)
        options = (eqn.params["axis"], int(eqn.params["reverse"]))
        (y,) = kernel(e, name, [(x, shape)], [(wide, shape)], options, ns * aval.size)
        return e.convert(y, code)

    emission.define(prim)(rule)


_cumulative(cumulative.cumsum_p, "sum", kernels.REALS | {"complex64", "complex128"})
_cumulative(cumulative.cumprod_p, "prod", kernels.REALS)
_cumulative(cumulative.cummax_p, "max", kernels.REALS)
_cumulative(cumulative.cummin_p, "min", kernels.REALS)
_cumulative(cumulative.cumlogsumexp_p, "logsumexp", _FLOATS, 10.0)


def _to_last(rank, axis):
    return (*[d for d in range(rank) if d != axis], axis)


@emission.define(sort.sort_p)
def _sort(e, eqn, xs):
    aval, axis = eqn.invars[0].aval, eqn.params["dimension"]
    for v in eqn.invars:
        _check(v.aval, kernels.DTYPES, "sort")
    order = _to_last(aval.ndim, axis)
    shape = [aval.shape[d] for d in order]
    arrays = [(permuted(e, x, aval.shape, order), shape) for x in xs]
    outs = [(e.values[x][0], shape) for x in xs]
    ns = costs.sort_cost(shape[-1], aval.size, len(xs))
    ys = kernel(e, "sort", arrays, outs, (eqn.params["num_keys"],), ns)
    return [permuted(e, y, shape, inverse_permutation(order)) for y in ys]


@emission.define(sort.top_k_p)
def _top_k(e, eqn, xs):
    aval, k = eqn.invars[0].aval, eqn.params["k"]
    _check(aval, kernels.REALS, "top_k")
    order = _to_last(aval.ndim, eqn.params["axis"])
    shape = [aval.shape[d] for d in order]
    taken = [*shape[:-1], k]
    x = permuted(e, xs[0], aval.shape, order)
    outs = [(e.values[x][0], taken), (CODES["int32"], taken)]
    ys = kernel(e, "top_k", [(x, shape)], outs, (), costs.NS_PER_ELEMENT_RANKED * aval.size)
    return [permuted(e, y, taken, inverse_permutation(order)) for y in ys]


@emission.define(search.searchsorted_p)
def _search(e, eqn, xs):
    avals = [v.aval for v in eqn.invars]
    _check(avals[0], kernels.REALS, "searchsorted")
    _check(avals[1], kernels.REALS, "searchsorted")
    arrays = [(x, aval.shape) for x, aval in zip(xs, avals, strict=True)]
    out = kind_of(eqn.outvars[0].aval)[0], avals[1].shape
    ns = costs.sort_cost(avals[0].size, avals[1].size, 1)
    return kernel(e, "search", arrays, [out], (int(eqn.params["right"]),), ns)[0]
