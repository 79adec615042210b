"""Plans of what has no step of its own, such as a sort, against the Python path."""

import threading

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import errors, extension, native
from evertrace._src.engines.eager import planner
from evertrace._src.numpy import ufuncs

pytestmark = pytest.mark.usefixtures("needs_native")

module = extension.native
rng = np.random.default_rng(0)

NUMBERS = np.array([[3, -1, 7, 0, 5], [2, 2, -8, 4, 1], [0, 9, 6, -3, 2]])
EDGES = np.array([np.nan, -0.0, 0.0, np.inf, 1.5, -np.inf, np.nan, -2.5], np.float32)
PLACES = np.array([[0, -1, 3], [100, -100, 2]])

SORTS = [
    (jnp.sort, {}), (jnp.sort, {"axis": 0}), (jnp.sort, {"axis": None}),
    (jnp.sort, {"descending": True}), (jnp.argsort, {}),
    (jnp.argsort, {"axis": 0, "descending": True}), (jnp.partition, {"kth": 0}),
    (jnp.argpartition, {"kth": 0}), (jnp.median, {}), (jnp.median, {"axis": 0}),
    (jnp.nanmedian, {"axis": -1}), (jnp.quantile, {"q": 0.3, "axis": -1}),
    (jnp.percentile, {"q": 20, "keepdims": True}), (jnp.nanquantile, {"q": 0.5}),
    (jnp.nanpercentile, {"q": 99}),
]  # fmt: skip
TAKES = [
    (jnp.take, {}),
    (jnp.take, {"axis": 0}),
    (jnp.take, {"axis": 0, "mode": "wrap"}),
    (jnp.take, {"axis": -1, "mode": "clip"}),
    (jnp.take, {"axis": 0, "fill_value": 7}),
]
SUMS = [
    (jnp.cumsum, {"axis": 0}),
    (jnp.cumprod, {"axis": -1}),
    (jnp.cumulative_sum, {"axis": 0, "include_initial": True}),
    (jnp.cumulative_prod, {"axis": -1}),
]


def check(function, *args, **kwargs):
    """Assert that a plan is made, and gives the bits that the Python path gives."""
    function._forget_plans()
    before = module.set_recording(True)
    try:
        want = function(*args, **kwargs)
    finally:
        module.set_recording(before)
    for _ in range(2):
        got = function(*args, **kwargs)
        assert got.aval is want.aval
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes()
    assert function._num_plans() == 1


@pytest.mark.parametrize("numbers", [NUMBERS, NUMBERS.astype(np.uint8), NUMBERS > 2, EDGES])
@pytest.mark.parametrize(("function", "options"), SORTS)
def test_sorts(function, options, numbers):
    check(function, jnp.asarray(numbers), **options)


@pytest.mark.parametrize("numbers", [NUMBERS, NUMBERS > 2, NUMBERS * 1j, EDGES])
@pytest.mark.parametrize(("function", "options"), TAKES)
def test_takes(function, options, numbers):
    check(function, jnp.asarray(numbers), jnp.asarray(PLACES), **options)


@pytest.mark.parametrize("numbers", [NUMBERS, NUMBERS.astype(np.int8)])
@pytest.mark.parametrize(("function", "options"), SUMS)
def test_running_sums(function, options, numbers):
    check(function, jnp.asarray(numbers), **options)


def test_searches():
    x, y = jnp.sort(jnp.asarray(EDGES)), jnp.asarray(EDGES)
    check(jnp.searchsorted, x, y)
    check(jnp.searchsorted, x, y.reshape(2, 4), side="right")
    check(jnp.digitize, y, jnp.array([-1.0, 0.0, 1.0]))
    check(jnp.take_along_axis, jnp.asarray(NUMBERS), jnp.argsort(jnp.asarray(NUMBERS)), axis=-1)


@pytest.mark.parametrize(
    "function", [jnp.sort, jnp.argsort, jnp.median, jnp.nanmedian, jnp.cumsum, jnp.cumprod]
)
def test_contents_are_no_part_of_a_plan(function):
    """Those that a plan is first made with are like those that it is tried with."""
    function._forget_plans()
    function(jnp.ones(8))
    numbers = jnp.asarray(NUMBERS.ravel()[:8].astype(np.float32))
    np.testing.assert_array_equal(function(numbers), getattr(np, function.__name__)(numbers))


def test_places_are_no_part_of_a_plan():
    jnp.take._forget_plans()
    jnp.take_along_axis._forget_plans()
    x, ones = jnp.arange(5.0), jnp.ones(3, int)
    for places in (ones, jnp.array([4, -1, 0]), -ones, ones * 9):
        want = np.asarray([x[i] if -5 <= i < 5 else np.nan for i in np.asarray(places)])
        np.testing.assert_array_equal(jnp.take(x, places), want)
        np.testing.assert_array_equal(jnp.take_along_axis(x, places), want)
        np.testing.assert_array_equal(jnp.take(x, places[0]), want[0])


LARGE = [
    (jnp.hypot, 2, {}), (jnp.copysign, 2, {}), (jnp.remainder, 2, {}), (jnp.floor_divide, 2, {}),
    (jnp.heaviside, 2, {}), (jnp.fmax, 2, {}), (jnp.trunc, 1, {}), (jnp.nan_to_num, 1, {}),
    (jnp.spacing, 1, {}), (jnp.var, 1, {}), (jnp.std, 1, {"axis": 0}), (jnp.nanmean, 1, {}),
    (jnp.nansum, 1, {"axis": -1, "keepdims": True}), (jnp.nanmax, 1, {"axis": 0}),
    (jnp.nanmin, 1, {}), (jnp.nanstd, 1, {"ddof": 1}),
]  # fmt: skip


@pytest.mark.parametrize("rows", [100, 1500])  # some work is for one thread, some for more
@pytest.mark.parametrize(("function", "count", "options"), LARGE)
def test_several_passes_over_large_arrays_are_one_tape(function, count, options, rows):
    x = rng.normal(size=(2, rows, 100)).astype(np.float32) * 100
    x[:, ::7, ::3], x[:, ::5, 1], x[:, 3, ::2] = np.nan, np.inf, 0
    check(function, *map(jnp.asarray, x[:count]), **options)


def test_rows_and_columns_are_read_in_place():
    x, y = rng.normal(size=(300, 1)), rng.normal(size=(1, 200))
    check(ufuncs.add, jnp.asarray(x), jnp.asarray(y))
    check(ufuncs.remainder, jnp.asarray(x), jnp.asarray(y))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("width", [2, 3, 4, 7, 16, 31, 255])
def test_blocks_hold_several_short_rows(dtype, width):
    x = (np.arange(700 * width) % 7).reshape(700, width).astype(dtype)
    column, row = (np.arange(700) % 5)[:, None].astype(dtype), (np.arange(width) % 3).astype(dtype)
    combine = (lambda x, c, r: (x | c) & r) if dtype == "bool" else (lambda x, c, r: x * c + r)
    got = ev.jit(combine, engine="native")(*map(jnp.asarray, (x, column, row)))
    np.testing.assert_array_equal(got, combine(x, column, row).astype(got.dtype))


def test_operands_of_long_plans_are_held():
    """Other threads run Python meanwhile, and may delete them."""
    host = rng.normal(size=1 << 19)
    want = np.asarray(jnp.hypot(jnp.asarray(host), jnp.asarray(-host)))
    for _ in range(10):
        arrays = [jnp.asarray(x.copy()) for x in (host, -host)]
        thread = threading.Thread(target=lambda xs=arrays: [x.delete() for x in xs])
        thread.start()
        try:
            got = jnp.hypot(*arrays)
        except errors.DeletedArrayError:
            continue  # the other thread was first
        finally:
            thread.join()
        np.testing.assert_array_equal(got, want)


def test_what_looks_at_contents_or_numbers_is_no_tape_of_its_own():
    x = jnp.asarray(rng.normal(size=20000))
    for function, args in ((jnp.hypot, (x, 3.0)), (jnp.where, (x > 0,)), (jnp.positive, (x,))):
        function._forget_plans()
        made = []
        native.set_planner(lambda *args, made=made: made.append(planner(*args)) or made[-1])
        try:
            function(*args)
        finally:
            native.set_planner(planner)
        _, plan = made[-1]  # after those of functions that it calls
        assert plan is None or all(step[0] != "tape" for step in plan[1])


def test_empty_arrays_and_usual_mistakes():
    for _ in range(2):
        assert jnp.sort(jnp.zeros((0,))).shape == jnp.argsort(jnp.zeros((2, 0))).shape[1:]
        with pytest.raises(errors.AxisError, match="axis 2 is out of bounds"):
            jnp.sort(jnp.zeros(3), axis=2)
        with pytest.raises(TypeError, match="must have integer or boolean type"):
            jnp.take(jnp.zeros(3), jnp.zeros(2))


def test_steps_of_tapes_are_checked():
    """Of a tape that does not fit no plan is made: the function's own result is returned."""
    three, four = jnp.zeros(3).aval, jnp.zeros(4).aval
    made = []
    jnp.sort._forget_plans()
    native.set_planner(lambda *args: made.append(planner(*args)) or made[-1])
    try:
        jnp.sort(jnp.zeros(3))
        ((_, ((_, outs, operands, tape),), results, tree),) = [x[1] for x in made]
        slots = ("array", 0, three), ("step", None, three), ("step", None, four)
        right = ("tape", outs, operands, tape)
        wrong = [
            ("tape", (2,), operands, tape),
            ("tape", (1, 2), operands, tape),
            ("tape", (), operands, tape),
            ("tape", (9,), operands, tape),
            ("tape", outs, (), tape),
            ("tape", outs, (0, 0), tape),
            ("tape", outs, (-1,), tape),
        ]
        for step in (right, *wrong):
            native.set_planner(lambda *_, step=step: ("called", (slots, (step,), results, tree)))
            called = module.Function(lambda x: None)
            assert (type(called(jnp.zeros(3))) is ev.Array) == (step is right)
    finally:
        native.set_planner(planner)
