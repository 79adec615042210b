"""Reductions by a function of the user's: `reduce` and `reduce_window`.

Their params hold the function as a jaxpr of scalars, so their rules need transformations. All come
from one expansion into simpler operations, a tree: lay the elements to combine along the first
axis, combine the first half with the second by the vectorised jaxpr, and so on; last, combine with
the initial values. Eager calls run the expansion; derivatives are those of the expansion.
"""

import itertools

from evertrace._src import errors
from evertrace._src.control.call import jit_p
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.core.primitive import Primitive, undefined
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
        x, start_indices=(start,) + (0,) * (len(shape) - 1), limit_indices=(limit, *shape[1:]),
        strides=None,
    )  # fmt: skip


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
    """Make the primitive that means ``expand(operands, inits, **params)``.

    Its equations have the operands first, then as many initial values.
    """

    def run(*args, **params):
        n = len(args) // 2
        return expand(list(args[:n]), list(args[n:]), **params)

    def eager(*args, **params):
        abstract(*[x.aval for x in args], **params)  # raises on bad operands
        return run(*args, **params)

    def as_call(args, params):
        key = ("expanded", name, *[x.aval for x in args], *_static(params))
        cache = params["jaxpr"].jaxpr.cache
        if key not in cache:
            staged = stage(lambda *xs: run(*xs, **params), [x.aval for x in args])
            cache[key] = close_jaxpr(staged.jaxpr)
        return {"jaxpr": cache[key], "name": name}

    return Primitive(
        name, multiple_results=True, cache_types=False, abstract=abstract, eager=eager, batch=batch,
        show=show,
        jvp_call=lambda primals, tangents, **params: jit_p.jvp_call(
            primals, tangents, **as_call(primals, params)
        ),
        linearize=lambda primals, tangents, **params: jit_p.linearize(
            primals, tangents, **as_call(primals, params)
        ),
        transpose=undefined("linear only if the function is; its expansion is transposed instead"),
    )  # fmt: skip


def _static(params):
    return [v for k, v in params.items() if k not in ("jaxpr", "computation")]


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


def _reduce_expand(xs, inits, *, computation, jaxpr, dimensions, out_sharding):
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


reduce_p = _expandable(
    "reduce", _reduce_expand, _reduce_abstract, _reduce_batch,
    show=("computation", "dimensions", "jaxpr"),
)  # fmt: skip

# ---------------------------------------------------------------- reduce_window


def _window_abstract(*avals, jaxpr, consts, **window):
    n = len(avals) // 2
    _check_initial("reduce_window", avals[:n], avals[n:])
    shape = window_shape("reduce_window", avals[0].shape, **window)
    return [ShapedArray(shape, x.dtype) for x in avals[:n]]


def _window_expand(
    xs, inits, *, jaxpr, consts, window_dimensions, window_strides, padding, base_dilation,
    window_dilation,
):  # fmt: skip
    """Stack, for each place in the window, the slice that holds it in every window."""
    shape = window_shape(
        "reduce_window", xs[0].aval.shape, window_dimensions, window_strides, padding,
        base_dilation, window_dilation,
    )  # fmt: skip
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
            *[_window_slice(x, start, shape, window_strides) for start in places], dimension=0
        )
        for x in xs
    ]
    return _tree(jaxpr.jaxpr, rows, inits)


def _window_slice(x, start, shape, strides):
    limits = tuple(
        s + (n - 1) * stride + 1 for s, n, stride in zip(start, shape, strides, strict=True)
    )
    view = slice_p.bind(x, start_indices=tuple(start), limit_indices=limits, strides=strides)
    return reshape(view, (1, *shape))


def _window_batch(size, args, dims, *, jaxpr, consts, **window):
    n = len(args) // 2
    _check_unbatched("reduce_window", dims[n:])
    xs = [move_batch_dim(x, d, 0, size) for x, d in zip(args[:n], dims[:n], strict=True)]
    window = batch_window(0, window)
    return reduce_window_p.bind(*xs, *args[n:], jaxpr=jaxpr, consts=consts, **window), [0] * n


reduce_window_p = _expandable(
    "reduce_window", _window_expand, _window_abstract, _window_batch
)  # fmt: skip
