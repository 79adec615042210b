"""Reductions by a function of the user's: `reduce`, `reduce_window` and `select_and_scatter`.

Their params hold the function as a jaxpr of scalars, so their rules need transformations. All come
from one expansion into simpler operations, a tree: lay the elements to combine along the first
axis, combine the first half with the second by the vectorised jaxpr, and so on; last, combine with
the initial values. Eager calls run the expansion; derivatives are those of the expansion.

`select_and_scatter` goes through the places of the window: which of them each window selects, then
what arrives there.
"""

import itertools

import numpy as np

from evertrace._src import errors
from evertrace._src.control.call import jit_p
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import eval_jaxpr, literal
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.ops.bits import and_p, not_p, or_p
from evertrace._src.ops.compare import eq_p
from evertrace._src.ops.elementwise import const
from evertrace._src.ops.select import select_n_p
from evertrace._src.ops.slicing import concatenate_p, pad_p, slice_p
from evertrace._src.ops.structural import move_batch_dim, permute, reduced_aval, reshape, spread
from evertrace._src.ops.windows import batch_window, window_shape
from evertrace._src.transforms.batching import Axis, batch_jaxpr
from evertrace._src.transforms.staging import close_jaxpr, stage

# ---------------------------------------------------------------- the tree


def _combine(jaxpr, xs, ys):
    """Apply the jaxpr of scalars to lists of arrays of one shape, elementwise."""
    shape, size = xs[0].aval.shape, xs[0].aval.size
    flat = [reshape(x, (size,)) for x in (*xs, *ys)]
    vectorised, _ = batch_jaxpr(jaxpr, Axis(size), [True] * len(flat), [True] * len(xs))
    return [reshape(z, shape) for z in eval_jaxpr(vectorised, (), *flat)]


def _part(x, start, limit):
    """Slice the first axis."""
    shape = x.aval.shape
    return slice_p.bind(
        x,
        start_indices=(start,) + (0,) * (len(shape) - 1),
        limit_indices=(limit, *shape[1:]),
        strides=None,
    )


def _tree(jaxpr, xs, inits):
    """Combine what lies along the first axis of each of `xs`, and the initial values."""
    count, *shape = xs[0].aval.shape
    inits = [spread(i, tuple(shape)) for i in inits]
    if count == 0:
        return inits
    while count > 1:
        half = count // 2
        joined = _combine(
            jaxpr, [_part(x, 0, half) for x in xs], [_part(x, half, 2 * half) for x in xs]
        )
        if count % 2:
            rest = [_part(x, count - 1, count) for x in xs]
            joined = [
                concatenate_p.bind(x, r, dimension=0) for x, r in zip(joined, rest, strict=True)
            ]
        xs, count = joined, half + count % 2
    return _combine(jaxpr, inits, [reshape(x, tuple(shape)) for x in xs])


def _expandable(name, expand, abstract, batch, show=None):
    """Make the primitive that means ``expand(*operands, **params)``, a list of arrays."""

    def eager(*args, **params):
        abstract(*[x.aval for x in args], **params)  # raises on bad operands
        return expand(*args, **params)

    def as_call(args, params):
        key = ("expanded", name, *[x.aval for x in args], *_static(params))
        caches = [v.jaxpr.cache for k, v in params.items() if k.endswith("jaxpr")]
        cache = caches[0] if caches else {}  # without params the expansion says what is missing
        if key not in cache:
            staged = stage(lambda *xs: expand(*xs, **params), [x.aval for x in args])
            cache[key] = close_jaxpr(staged.jaxpr)
        return {"jaxpr": cache[key], "name": name}

    return Primitive(
        name,
        multiple_results=True,
        cache_types=False,
        abstract=abstract,
        eager=eager,
        batch=batch,
        show=show,
        jvp_call=lambda primals, tangents, **params: jit_p.jvp_call(
            primals, tangents, **as_call(primals, params)
        ),
        linearize=lambda primals, tangents, **params: jit_p.linearize(
            primals, tangents, **as_call(primals, params)
        ),
        transpose=undefined("linear only if the function is; its expansion is transposed instead"),
    )


def _static(params):
    """Return what stands for params in a key that hangs on the first jaxpr of them."""
    return [v for k, v in params.items() if k not in ("jaxpr", "computation", "select_jaxpr")]


def _halves(args):
    """Return the operands and as many initial values."""
    n = len(args) // 2
    return list(args[:n]), list(args[n:])


def _check_initial(name, xs, inits):
    for x, init in zip(xs, inits, strict=True):
        if init.shape != () or init.dtype != x.dtype:
            raise errors.user_error(
                errors.DTypeError,
                f"{name}: the initial value of an operand of type {x.str_short()} must be a "
                f"scalar of its dtype, got {init.str_short()}.",
                fix="convert the initial value to the operand's dtype.",
                anchor="dtype",
            )
        if x.shape != xs[0].shape:
            raise errors.user_error(
                errors.ShapeError,
                f"{name}: operands must have one shape, got {xs[0].shape} and {x.shape}.",
                fix="broadcast the operands first.",
                anchor="shape",
            )


def _check_unbatched(name, dims):
    if any(d is not None for d in dims):
        raise errors.user_error(
            NotImplementedError,
            f"{name}: vmap over the initial value is not implemented.",
            fix="reduce with an identity as initial value, then combine the batched one by hand.",
        )


# ---------------------------------------------------------------- reduce


def _reduce_abstract(*avals, computation, jaxpr, dimensions, out_sharding):
    n = len(avals) // 2
    _check_initial("reduce", avals[:n], avals[n:])
    return [ShapedArray(reduced_aval("reduce", x, dimensions).shape, x.dtype) for x in avals[:n]]


def _reduce_expand(*args, computation, jaxpr, dimensions, out_sharding):
    xs, inits = _halves(args)
    rank, shape = xs[0].aval.ndim, xs[0].aval.shape
    kept = [d for d in range(rank) if d not in dimensions]
    count = 1
    for d in dimensions:
        count *= shape[d]
    rows = (count, *[shape[d] for d in kept])
    xs = [reshape(permute(x, (*dimensions, *kept)), rows) for x in xs]
    return _tree(jaxpr.jaxpr, xs, inits)


def _reduce_batch(size, args, dims, *, dimensions, **params):
    n = len(args) // 2
    _check_unbatched("reduce", dims[n:])
    xs = [move_batch_dim(x, d, 0, size) for x, d in zip(args[:n], dims[:n], strict=True)]
    shifted = tuple(d + 1 for d in dimensions)
    return reduce_p.bind(*xs, *args[n:], dimensions=shifted, **params), [0] * n


reduce_p: Primitive = _expandable(
    "reduce",
    _reduce_expand,
    _reduce_abstract,
    _reduce_batch,
    show=("computation", "dimensions", "jaxpr"),
)

# ---------------------------------------------------------------- reduce_window


def _window_abstract(*avals, jaxpr, consts, **window):
    n = len(avals) // 2
    _check_initial("reduce_window", avals[:n], avals[n:])
    shape = window_shape("reduce_window", avals[0].shape, **window)
    return [ShapedArray(shape, x.dtype) for x in avals[:n]]


def _window_expand(
    *args,
    jaxpr,
    consts,
    window_dimensions,
    window_strides,
    padding,
    base_dilation,
    window_dilation,
):
    """Stack, for each place in the window, the slice that holds it in every window."""
    xs, inits = _halves(args)
    shape = window_shape(
        "reduce_window",
        xs[0].aval.shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    config = tuple((lo, hi, d - 1) for (lo, hi), d in zip(padding, base_dilation, strict=True))
    xs = [pad_p.bind(x, i, padding_config=config) for x, i in zip(xs, inits, strict=True)]
    if 0 in shape:
        return [spread(i, shape) for i in inits]
    places = [
        [p * hole for p, hole in zip(place, window_dilation, strict=True)]
        for place in itertools.product(*map(range, window_dimensions))
    ]
    rows = [
        concatenate_p.bind(
            *[
                reshape(_window_slice(x, start, shape, window_strides), (1, *shape))
                for start in places
            ],
            dimension=0,
        )
        for x in xs
    ]
    return _tree(jaxpr.jaxpr, rows, inits)


def _window_slice(x, start, shape, strides):
    """Return what each window has at the place `start`."""
    limits = tuple(
        s + (n - 1) * stride + 1 for s, n, stride in zip(start, shape, strides, strict=True)
    )
    return slice_p.bind(x, start_indices=tuple(start), limit_indices=limits, strides=strides)


def _window_batch(size, args, dims, *, jaxpr, consts, **window):
    n = len(args) // 2
    _check_unbatched("reduce_window", dims[n:])
    xs = [move_batch_dim(x, d, 0, size) for x, d in zip(args[:n], dims[:n], strict=True)]
    window = batch_window(0, window)
    return reduce_window_p.bind(*xs, *args[n:], jaxpr=jaxpr, consts=consts, **window), [0] * n


reduce_window_p: Primitive = _expandable(
    "reduce_window", _window_expand, _window_abstract, _window_batch
)

# ---------------------------------------------------------------- select and scatter


def _select_abstract(operand, source, init, *, padding, window_dimensions, window_strides, **_):
    name = "select_and_scatter"
    _check_initial(name, [operand], [init])
    shape = _windows_of(operand, window_dimensions, window_strides, padding)
    if source.shape != shape or source.dtype != operand.dtype:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: the source is {source.str_short()}, but an operand {operand.str_short()} has "
            f"windows of shape {shape}.",
            fix="give one value of the operand's dtype per window.",
            anchor="shape",
        )
    return [ShapedArray(operand.shape, operand.dtype)]


def _windows_of(aval, window_dimensions, window_strides, padding):
    ones = (1,) * aval.ndim
    window = window_dimensions, window_strides, padding, ones, ones
    return window_shape("select_and_scatter", aval.shape, *window)


def _select_expand(
    operand,
    source,
    init,
    *,
    select_jaxpr,
    select_consts,
    scatter_jaxpr,
    scatter_consts,
    window_dimensions,
    window_strides,
    padding,
):
    """Find the place that each window selects, then scatter to each place what selected it."""
    shape = source.aval.shape
    x = _pad(operand, const(operand, 0), padding)
    out = spread(init, x.aval.shape)
    yes, no = literal(True, np.dtype(bool)), literal(False, np.dtype(bool))
    inside = _pad(spread(yes, operand.aval.shape), no, padding)
    places = list(itertools.product(*map(range, window_dimensions)))
    views = [_window_slice(x, place, shape, window_strides) for place in places]
    seen = [_window_slice(inside, place, shape, window_strides) for place in places]
    numbers = [literal(i, np.dtype("int32")) for i in range(len(places))]
    best, found, chosen = views[0], seen[0], spread(numbers[0], shape)
    for number, view, there in zip(numbers[1:], views[1:], seen[1:], strict=True):
        (stays,) = _combine(select_jaxpr.jaxpr, [best], [view])
        better = and_p.bind(there, or_p.bind(not_p.bind(found), not_p.bind(stays)))
        best = select_n_p.bind(better, best, view)
        chosen = select_n_p.bind(better, chosen, spread(number, shape))
        found = or_p.bind(found, there)
    for number, place in zip(numbers, places, strict=True):
        hit = and_p.bind(found, eq_p.bind(chosen, number))
        hit, arriving = (_placed(v, place, out.aval.shape, window_strides) for v in (hit, source))
        (joined,) = _combine(scatter_jaxpr.jaxpr, [out], [arriving])
        out = select_n_p.bind(hit, out, joined)
    return [_pad(out, const(out, 0), [(-low, -high) for low, high in padding])]


def _pad(x, value, padding):
    return pad_p.bind(x, value, padding_config=tuple((low, high, 0) for low, high in padding))


def _placed(x, place, shape, strides):
    """Put what belongs to each window at a place of it, in an array of zeros."""
    config = []
    for size, first, count, stride in zip(shape, place, x.aval.shape, strides, strict=True):
        covered = (count - 1) * stride + 1 if count else 0
        config.append((first, size - first - covered, stride - 1))
    return pad_p.bind(x, const(x, 0), padding_config=tuple(config))


def _select_batch(size, args, dims, *, window_dimensions, window_strides, padding, **functions):
    _check_unbatched("select_and_scatter", dims[2:])
    operand, source = (
        move_batch_dim(x, d, 0, size) for x, d in zip(args[:2], dims[:2], strict=True)
    )
    window = batch_window(
        0,
        {
            "window_dimensions": window_dimensions,
            "window_strides": window_strides,
            "padding": padding,
        },
    )
    return select_and_scatter_p.bind(operand, source, args[2], **functions, **window), [0]


select_and_scatter_p: Primitive = _expandable(
    "select_and_scatter", _select_expand, _select_abstract, _select_batch
)
"""Operands: an array, a value per window, an initial value; see `lax.reduce_window` for windows.

Each window selects the place whose element ``select_jaxpr`` prefers to the later ones; the value is
combined by ``scatter_jaxpr`` with what is there, at first the initial value.
"""
