"""What the laws do not say of reductions: ties, zeros and NaN, recognised functions, errors."""

import numpy as np
import pytest

from evertrace._src.core.jaxpr import literal
from evertrace._src.errors import AxisError, DTypeError, ShapeError
from evertrace._src.lax import cumulative, elementwise, reduce
from evertrace._src.ops.reduce import argmax_p
from evertrace._src.transforms.jvp import jvp_flat
from tests.support.runtime import array, flat, jaxpr_of, run_compiled, to_numpy

INT32 = np.dtype(np.int32)


def run_eagerly(fun, *args):
    """Run `fun` on the host; returns a list of ndarrays."""
    return [to_numpy(x) for x in flat(fun)(*args)]


on_both_engines = pytest.mark.parametrize("run", [run_eagerly, run_compiled])


def tangent(fun, x, dx):
    """Return the derivative of `fun` at `x` in the direction `dx`."""
    return to_numpy(jvp_flat(flat(fun), [array(x)], [array(dx)])[1][0])


def floats(*values):
    return np.array(values, np.float32)


# ---------------------------------------------------------------- edges


@on_both_engines
@pytest.mark.parametrize(
    ("fun", "expected"),
    [
        (lambda x: reduce.reduce_max(x, (0,)), np.nan),
        (lambda x: reduce.reduce_min(x, (0,)), np.nan),
        (lambda x: reduce.argmax(x, 0, INT32), 2),
        (lambda x: reduce.argmin(x, 0, INT32), 2),
    ],
)
def test_nan_wins_and_the_first_of_them_is_found(run, fun, expected):
    x = array(floats(1, 5, np.nan, -7, np.nan, 5))
    np.testing.assert_equal(run(fun, x)[0], expected)


@on_both_engines
@pytest.mark.parametrize(
    ("fun", "dtype", "expected"),
    [
        (reduce.reduce_max, np.float32, -np.inf),
        (reduce.reduce_max, np.int8, -128),
        (reduce.reduce_max, np.bool_, False),
        (reduce.reduce_min, np.float32, np.inf),
        (reduce.reduce_min, np.uint8, 255),
        (reduce.reduce_prod, np.float32, 1),
        (reduce.reduce_and, np.int8, -1),
        (reduce.reduce_and, np.uint8, 255),
        (reduce.reduce_or, np.bool_, False),
    ],
)
def test_of_nothing_is_the_identity(run, fun, dtype, expected):
    (out,) = run(lambda x: fun(x, (0,)), array(np.zeros((0, 2), dtype)))
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, np.full(2, expected, dtype))


def test_equal_extremes_share_the_derivative():
    x, dx = floats(3, 1, 3), floats(1, 10, 2)
    assert tangent(lambda x: reduce.reduce_max(x, (0,)), x, dx) == 1.5


def test_running_extreme_halves_ties():
    x, dx = floats(2, 1, 2, 3, 3), floats(1, 2, 3, 4, 5)
    out = tangent(lambda x: cumulative.cummax(x, 0), x, dx)
    np.testing.assert_array_equal(out, floats(1, 1, 2, 4, 4.5))


@pytest.mark.parametrize(
    ("x", "expected"),
    [((0, 2, 3), 6.0), ((2, 0, 0), 0.0), ((0, 0, 0), 0.0), ((1, 2, 3), 11.0)],
)
def test_product_differentiates_at_zeros(x, expected):
    ones = floats(1, 1, 1)
    assert tangent(lambda x: reduce.reduce_prod(x, (0,)), floats(*x), ones) == expected
    assert tangent(lambda x: cumulative.cumprod(x, 0), floats(*x), ones)[-1] == expected


def test_running_log_sum_exp_differentiates_at_minus_infinity():
    x = floats(-np.inf, -np.inf, 0)
    out = tangent(lambda x: cumulative.cumlogsumexp(x, 0), x, floats(1, 2, 3))
    np.testing.assert_array_equal(out, floats(0, 0, 3))


def test_narrow_floats_accumulate_in_float32():
    x = array(np.ones(5000, np.float16))
    assert to_numpy(cumulative.cumsum(x, 0))[-1] == 5000


# ---------------------------------------------------------------- functions of the user's


def primitives(fun, *args):
    return [eqn.primitive.name for eqn in jaxpr_of(fun, *args).jaxpr.eqns]


@pytest.mark.parametrize(
    ("init", "computation", "names"),
    [
        (0, elementwise.add, ["reduce_sum"]),
        (1.0, elementwise.add, ["reduce_sum", "add"]),
        (0, lambda a, b: elementwise.add(b, a), ["reduce_sum"]),
        (1, elementwise.mul, ["reduce_prod"]),
        (-np.inf, elementwise.max, ["reduce_max"]),
        (2.0, elementwise.max, ["reduce_max", "max"]),
        (0, lambda a, b: elementwise.add(a, a), ["reduce"]),
        (0, lambda a, b: a, ["reduce"]),
    ],
)
def test_reduce_recognises_operations(init, computation, names):
    x = array(np.ones((2, 3), np.float32))
    assert primitives(lambda x: reduce.reduce(x, init, computation, (0,)), x) == names


@pytest.mark.parametrize(
    ("init", "computation", "name"),
    [
        (0, elementwise.add, "reduce_window_sum"),
        (-np.inf, elementwise.max, "reduce_window_max"),
        (0.0, elementwise.max, "reduce_window"),
        (1, elementwise.mul, "reduce_window"),
    ],
)
def test_reduce_window_recognises_operations(init, computation, name):
    x = array(np.ones((4,), np.float32))
    assert primitives(lambda x: reduce.reduce_window(x, init, computation, (2,)), x) == [name]


@on_both_engines
def test_reduce_trees(run):
    """The maximum together with the sum."""

    def larger(a, b):
        first = elementwise.max(a["x"], b["x"])
        return {"x": first, "total": elementwise.add(a["total"], b["total"])}

    def fun(x):
        init = {"x": -np.inf, "total": 0}
        out = reduce.reduce({"x": x, "total": x}, init, larger, (1,))
        return out["x"], out["total"]

    x = np.random.default_rng(0).normal(size=(3, 7)).astype(np.float32)
    most, total = run(fun, array(x))
    np.testing.assert_array_equal(most, x.max(1))
    np.testing.assert_allclose(total, x.sum(1), rtol=1e-5)


def test_padding_by_name_is_that_of_the_window():
    x = array(np.arange(5, dtype=np.float32))
    out = reduce.reduce_window(x, 0, elementwise.add, (3,), (2,), "SAME")
    np.testing.assert_array_equal(to_numpy(out), [1, 6, 7])


# ---------------------------------------------------------------- errors

X = array(np.ones((2, 3), np.float32))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: reduce.reduce_max(X, (2,)), AxisError, "reduce_max: dimension 2 is out of range"),
        (lambda: reduce.reduce_max(X, (0, 0)), AxisError, "are not all different"),
        (lambda: reduce.reduce_and(X, (0,)), DTypeError, "reduce_and: does not accept"),
        (lambda: reduce.argmax(X, 0, np.float32), DTypeError, "index_dtype must be an integer"),
        (
            lambda: argmax_p.bind(X, axes=(0, 1), index_dtype=INT32),
            AxisError,
            r"argmax: finds an index along one axis, got axes \(0, 1\)",
        ),
        (lambda: cumulative.cumsum(X, -1), AxisError, "cumsum: axis -1 is out of range"),
        (
            lambda: reduce.argmin(array(np.ones((0, 3), np.float32)), 0, INT32),
            ShapeError, "is empty and has no extremum",
        ),
        (
            lambda: reduce.reduce(X, literal(0, INT32), lambda a, b: a, (0,)),
            DTypeError, "initial value of an operand of type f32",
        ),
        (lambda: reduce.reduce(X, 0, lambda a, b: X, (0,)), ValueError, "from outside of it"),
        (
            lambda: reduce.reduce_window(X, 0, elementwise.add, (2,)),
            ShapeError, "must have an entry per dimension",
        ),
        (
            lambda: reduce.reduce_window(X, 0, elementwise.add, (2, 2), padding="REFLECT"),
            ValueError, "is not a name of a padding",
        ),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(("init", "computation"), [(-np.inf, "max"), (np.inf, "min")])
def test_an_infinity_beside_integers_is_their_last_one(init, computation):
    x, combine = np.int32([[3, 1], [2, 5]]), getattr(elementwise, computation)
    last = getattr(np.iinfo(np.int32), {"max": "min", "min": "max"}[computation])
    found = reduce.reduce_window(x, init, combine, (1, 2), (1, 1), ((1, 0), (0, 0)))
    assert to_numpy(found).tolist() == [[last], *getattr(x, computation)(1)[:, None].tolist()]


def test_shapes_of_windows_are_of_integers_and_said_in_few_words():
    shape = reduce.reduce_window_shape_tuple
    with pytest.raises(ShapeError, match=r"padding of 1048576 entries, base_dilation \(1,\)"):
        shape((3,), (1,), (1, 3), np.broadcast_to(1, (2**20, 2)))
    with pytest.raises(TypeError, match="integer"):
        shape((3,), (1.5,), (1,), ((0, 0),))
