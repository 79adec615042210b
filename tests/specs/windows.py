"""Rows of reductions over windows, against loops over the windows."""

import itertools

import numpy as np

from evertrace._src.control.reduction import reduce_window_p, select_and_scatter_p
from evertrace._src.core.jaxpr import literal
from evertrace._src.lax import elementwise
from evertrace._src.lax import reduce as lax
from evertrace._src.ops import windows as ops
from evertrace._src.ops.compare import ge_p, le_p
from evertrace._src.transforms.staging import close_jaxpr, stage
from tests.specs.opspec import NUMERIC, REAL, WIDE_FLOATING, OpSpec, case


def window_case(*shapes, window, strides=None, padding=None, base=None, hole=None):
    """Return a call with all params of a window given."""
    ones = (1,) * len(window)
    return case(
        *shapes,
        window_dimensions=window,
        window_strides=strides or ones,
        padding=padding or ((0, 0),) * len(window),
        base_dilation=base or ones,
        window_dilation=hole or ones,
    )


PLAIN = [
    window_case((6,), window=(3,), strides=(2,), padding=((1, 1),)),
    window_case((2, 5, 6), window=(1, 2, 3), strides=(1, 2, 1), padding=((0, 0), (1, 0), (1, 2))),
    window_case((4, 5), window=(2, 3), strides=(3, 1), padding=((-1, 0), (0, -1))),
    window_case((2, 3), window=(2, 4)),
]
DILATED = [
    window_case((3, 4), window=(2, 2), padding=((0, 1), (1, 0)), base=(1, 2), hole=(2, 1)),
]


def padded(x, fill, padding, base):
    """Return `x` with holes and padding of `fill`, element by element."""
    sizes = [
        lo + hi + (n - 1) * d + 1 for n, (lo, hi), d in zip(x.shape, padding, base, strict=True)
    ]
    out = np.full(sizes, fill, x.dtype)
    for index in np.ndindex(x.shape):
        place = tuple(i * d + lo for i, d, (lo, _) in zip(index, base, padding, strict=True))
        if all(0 <= p < n for p, n in zip(place, sizes, strict=True)):
            out[place] = x[index]
    return out


def window_counts(sizes, window, strides, hole):
    """Return how many windows there are per dimension."""
    return [
        max((n - (k - 1) * d - 1) // s + 1, 0)
        for n, k, s, d in zip(sizes, window, strides, hole, strict=True)
    ]


def places(sizes, window, strides, hole):
    """Yield, per window, its index and the indices of its elements, first to last."""
    for index in np.ndindex(*window_counts(sizes, window, strides, hole)):
        inside = itertools.product(
            *[
                [i * s + j * d for j in range(k)]
                for i, k, s, d in zip(index, window, strides, hole, strict=True)
            ]
        )
        yield index, list(inside)


def windowed(reduction, fill):
    """Return the oracle that applies `reduction` to the elements of each window."""

    def oracle(x, *, window_dimensions, window_strides, padding, base_dilation, window_dilation):
        y = padded(x, fill(x.dtype), padding, base_dilation)
        windows = window_dimensions, window_strides, window_dilation
        out = np.zeros(window_counts(y.shape, *windows), x.dtype)
        for index, inside in places(y.shape, *windows):
            out[index] = reduction([y[i] for i in inside])
        return out

    return oracle


def lowest(dtype):
    """Return the least value."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def highest(dtype):
    """Return the greatest value."""
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


def reduce_by_function(x, **window):
    """Reduce windows by (a, b) -> a + b + a b."""
    return lax.reduce_window(
        x,
        0,
        lambda a, b: elementwise.add(elementwise.add(a, b), elementwise.mul(a, b)),
        **window,
    )


def scatter_by_function(source, x, **window):
    """Send values to the largest elements, to be combined by (a, b) -> a + b + a b."""
    scalars = [x.aval.update(shape=(), weak_type=False)] * 2
    select = stage(lambda a, b: [ge_p.bind(a, b)], scalars)
    scatter = stage(
        lambda a, b: [elementwise.add(elementwise.add(a, b), elementwise.mul(a, b))], scalars
    )
    (out,) = select_and_scatter_p.bind(
        x,
        source,
        literal(0, x.dtype),
        select_jaxpr=close_jaxpr(select.jaxpr),
        select_consts=(),
        scatter_jaxpr=close_jaxpr(scatter.jaxpr),
        scatter_consts=(),
        **window,
    )
    return out


def product_of_sums(values):
    """Return the product of 1 + x, less 1."""
    return np.prod([v + 1 for v in values]) - 1


def bind(prim, **params):
    """Return the function that binds a primitive with extra params."""
    return lambda *args, **kwargs: prim.bind(*args, **params, **kwargs)


def gather_oracle(better):
    """Return the oracle of `select_and_gather_add`."""

    def oracle(t, x, *, window_dimensions, window_strides, padding, base_dilation, window_dilation):
        fill = -np.inf if better is np.greater else np.inf
        y, s = padded(x, fill, padding, base_dilation), padded(t, 0, padding, base_dilation)
        windows = window_dimensions, window_strides, window_dilation
        out = np.zeros(window_counts(y.shape, *windows), x.dtype)
        for index, inside in places(y.shape, *windows):
            best = inside[0]
            for i in inside:
                best = i if better(y[i], y[best]) else best
            out[index] = s[best]
        return out

    return oracle


def scatter_oracle(better, combine=np.add):
    """Return the oracle of `select_and_scatter_add`, or of what combines otherwise."""

    def oracle(source, x, *, window_dimensions, window_strides, padding):
        fill, ones = (-np.inf if better is np.greater else np.inf), (1,) * x.ndim
        y = padded(x, fill, padding, ones)
        out = np.zeros(y.shape, x.dtype)
        for index, inside in places(y.shape, window_dimensions, window_strides, ones):
            best = inside[0]
            for i in inside:
                best = i if better(y[i], y[best]) else best
            out[best] = combine(out[best], source[index])
        box = tuple(slice(lo, lo + n) for n, (lo, _) in zip(x.shape, padding, strict=True))
        return out[box]

    return oracle


SCATTER = [
    case(
        (2, 3, 6),
        (2, 5, 6),
        window_dimensions=(1, 2, 3),
        window_strides=(1, 2, 1),
        padding=((0, 0), (1, 0), (1, 1)),
    ),
    case((2,), (6,), window_dimensions=(3,), window_strides=(3,), padding=((0, 0),)),
]
GATHER = [
    window_case((6,), (6,), window=(3,), strides=(2,), padding=((1, 1),)),
    window_case((3, 4), (3, 4), window=(2, 2), padding=((0, 1), (1, 0))),
]

SPECS = [
    OpSpec(
        "reduce_window_sum", [ops.reduce_window_sum_p], bind(ops.reduce_window_sum_p),
        windowed(np.sum, lambda dtype: 0), PLAIN + DILATED, NUMERIC, linear=[(0,)], ulps=8,
        ulps_of="array",
    ),
    OpSpec(
        "reduce_window_max", [ops.reduce_window_max_p], bind(ops.reduce_window_max_p),
        windowed(np.max, lowest), PLAIN + DILATED, REAL, ulps=0, grad_cases=PLAIN[:2], wide=False,
    ),
    OpSpec(
        "reduce_window_min", [ops.reduce_window_min_p], bind(ops.reduce_window_min_p),
        windowed(np.min, highest), PLAIN + DILATED, REAL, ulps=0, grad_cases=PLAIN[:2], wide=False,
    ),
    OpSpec(
        "reduce_window", [reduce_window_p], reduce_by_function,
        windowed(product_of_sums, lambda dtype: 0), PLAIN + DILATED, WIDE_FLOATING, domain=(-1, 1),
        ulps=64, ulps_of="array",
    ),
    *[
        OpSpec(
            f"select_and_gather_add_{name}", [ops.select_and_gather_add_p],
            bind(ops.select_and_gather_add_p, select_prim=prim), gather_oracle(better), GATHER,
            WIDE_FLOATING, linear=[(0,)], grads=(0,), ulps=0,
        )
        for name, prim, better in (("max", ge_p, np.greater), ("min", le_p, np.less))
    ],
    *[
        OpSpec(
            f"select_and_scatter_add_{name}", [ops.select_and_scatter_add_p],
            bind(ops.select_and_scatter_add_p, select_prim=prim), scatter_oracle(better), SCATTER,
            WIDE_FLOATING, linear=[(0,)], grads=(0,), ulps=8, ulps_of="array",
        )
        for name, prim, better in (("max", ge_p, np.greater), ("min", le_p, np.less))
    ],
    OpSpec(
        "select_and_scatter", [select_and_scatter_p], scatter_by_function,
        scatter_oracle(np.greater, lambda a, b: a + b + a * b), SCATTER, WIDE_FLOATING,
        domain=(-1, 1), ulps=64, ulps_of="array",
    ),
]  # fmt: skip
