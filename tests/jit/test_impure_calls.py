"""Impure calls that a compiled program makes again: clocks, draws and effects."""

import contextlib
import datetime
import io
import logging
import os
import pathlib
import pickle
import random
import sys
import threading
import time
import uuid
import warnings
from time import perf_counter

import numpy as np
import pytest

import evertrace as ev
from evertrace._src import config
from evertrace._src.errors import ImpurityError
from evertrace._src.jit.lifting import impure
from evertrace._src.jit.lifting.host import Host
from evertrace._src.jit.lifting.impure import Patches, stand_in_of
from tests.jit.impure_trace import FakeRecorder, Traced, library_code


@pytest.fixture(autouse=True)
def _generators_stay():
    python, numpy = random.getstate(), np.random.get_state()
    yield
    random.setstate(python)
    np.random.set_state(numpy)


# ------------------------------------------------------------------------ clocks


def test_a_clock_is_read_anew_at_each_call():
    traced = Traced(lambda: time.perf_counter() + 1)
    before = time.perf_counter()
    first, second = traced.again(), traced.again()
    assert before + 1 <= first[0] < second[0] <= time.perf_counter() + 1


def test_integer_clocks_stay_integers():
    traced = Traced(lambda: time.time_ns() // 10)
    assert type(traced.again()[0]) is int


def test_a_function_imported_by_name_has_a_stand_in():
    with Patches(FakeRecorder()):
        assert stand_in_of(perf_counter) is time.perf_counter
        assert type(stand_in_of(perf_counter)()) is Host
    assert stand_in_of(len) is None
    assert stand_in_of([].append) is None
    assert stand_in_of(3) is None


CLOCKS_OF_OBJECTS = {
    r"datetime\.now": lambda: datetime.datetime.now(),
    r"date\.today": lambda: datetime.date.today(),
    r"time\.ctime": lambda: time.ctime(),
}


@pytest.mark.parametrize("name", CLOCKS_OF_OBJECTS)
def test_the_time_of_day_as_an_object_can_be_stored_only(name):
    late = Traced(CLOCKS_OF_OBJECTS[name]).result
    for use in (str, lambda x: x.year, lambda x: x + x, lambda x: x == x, bool, hash):
        with pytest.raises(ImpurityError, match=rf"{name} at .*test_impure_calls\.py:\d+ in"):
            use(late)


def test_the_time_of_day_as_an_object_is_used_where_that_is_not_an_error():
    with config.override(impurity="ignore"):
        assert Traced(lambda: datetime.datetime.now().year).result >= 2020


def test_the_time_in_parts_is_refused():
    with pytest.raises(ImpurityError, match=r"time\.localtime: .*\n.*test_impure_calls\.py:\d+"):
        Traced(lambda: time.localtime())


def test_a_class_method_that_was_bound_before_has_a_stand_in():
    now = datetime.datetime.now
    with Patches(FakeRecorder()):
        late = stand_in_of(now)()
    with pytest.raises(ImpurityError, match=r"datetime\.now"):
        str(late)


def test_a_given_time_is_only_converted():
    assert Traced(lambda: time.gmtime(0).tm_year).result == 1970
    assert Traced(lambda: time.strftime("%Y", time.gmtime(0))).result == "1970"
    assert Traced(lambda: datetime.datetime(2020, 1, 2).year).result == 2020
    assert Traced(lambda: datetime.datetime.fromtimestamp(0, datetime.UTC).year).result == 1970


def test_sleeping_is_repeated():
    traced = Traced(lambda: time.sleep(0))
    assert traced.recorder.effects == [(impure.real_of(time.sleep), (0,), {})]


# ------------------------------------------------------------------------ draws

DRAWS = {
    "random": lambda: random.random(),
    "uniform": lambda: random.uniform(-1.0, 1.0),
    "gauss": lambda: random.gauss(mu=1.0, sigma=2.0),
    "randint": lambda: random.randint(0, 1000),
    "randrange": lambda: random.randrange(1000),
    "getrandbits": lambda: random.getrandbits(40),
    "choice": lambda: random.choice([3, 5, 7, 11]),
    "numpy rand": lambda: np.random.rand(),
    "numpy randint": lambda: np.random.randint(0, 1000),
    "numpy normal": lambda: np.random.normal(loc=1.0, scale=2.0),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_give_the_calls_the_numbers_of_plain_python(name):
    draw = DRAWS[name]

    def function():
        return draw(), draw()

    def seed():
        random.seed(5)
        np.random.seed(5)

    seed()
    plain = [function() for _ in range(3)]
    seed()
    traced = Traced(function)
    again = [tuple(traced.again()) for _ in range(3)]
    assert again == plain
    assert [*map(type, again[0])] == [*map(type, plain[0])]


def test_a_traced_draw_sees_different_numbers():
    Traced(lambda: 1 / (random.random() - random.random()))


def test_a_draw_uses_the_arguments_of_each_call():
    traced = Traced(lambda low, high: random.uniform(low, high), 0.0, 1.0)
    low, high = 5.0, 6.0
    assert 5.0 <= traced.again(low, high)[0] <= 6.0


def test_numbers_in_containers_are_arguments_of_a_draw():
    traced = Traced(lambda a, b: random.choice([a, b]), 1, 2)
    assert traced.again(7, 7) == [7]


def test_an_error_of_a_draw_is_good_for_its_arguments_only():
    def function(n):
        try:
            return random.randrange(n)
        except ValueError:
            return None

    traced = Traced(function, 0)
    assert traced.again(0) == []
    assert traced.again(4) is None


def test_an_array_is_drawn_through_the_recorder():
    np.random.seed(3)
    expected = np.random.normal(size=4)
    np.random.seed(3)
    traced = Traced(lambda: np.random.normal(size=4))
    np.testing.assert_array_equal(traced.result, expected)
    [(fn, args, what)] = traced.recorder.arrays
    np.testing.assert_array_equal(fn(*args), expected)
    assert what.startswith("numpy.random.normal at ")


def test_the_size_of_an_array_is_demanded_and_its_scale_is_not():
    traced = Traced(lambda n, scale: np.random.normal(0.0, scale, n), 3, 1.0)
    assert traced.again(3, 2.0) == []
    assert traced.again(4, 1.0) is None


def test_an_array_argument_of_a_draw_is_kept_as_it_is():
    weights = np.array([0.0, 1.0, 0.0])
    traced = Traced(lambda: np.random.choice(3, size=2, p=weights))
    weights[:] = [1.0, 0.0, 0.0]
    [(fn, args, _)] = traced.recorder.arrays
    np.testing.assert_array_equal(fn(*args), [1, 1])


@pytest.mark.parametrize(
    "draw",
    [
        lambda: random.shuffle(["a", "b"]),
        lambda: random.sample(["a", "b", "c"], 2),
        lambda: random.choice(["a", "b"]),
        lambda: random.seed(0),
        lambda: random.getstate(),
        lambda: np.random.seed(0),
        lambda: np.random.shuffle(np.arange(3)),
        lambda: np.random.bytes(2),
        lambda: np.random.choice(["a", "b"]),
        lambda: random.choice(random.Random(0)),
    ],
)
def test_draws_that_are_no_numbers_cannot_be_used_and_leave_no_trace(draw):
    states = random.getstate(), pickle.dumps(np.random.get_state())
    with pytest.raises(ImpurityError, match=r"random\."):
        str(Traced(draw).result)  # a text or bytes could be stored
    assert states == (random.getstate(), pickle.dumps(np.random.get_state()))


@pytest.mark.parametrize(
    "make",
    [
        lambda: random.Random(),
        lambda: np.random.default_rng(),
        lambda: np.random.RandomState(),
        lambda: np.random.SeedSequence(),
        lambda: os.urandom(4),
        lambda: uuid.uuid4(),
    ],
)
def test_entropy_is_refused(make):
    with pytest.raises(ImpurityError, match="pass in a seed"):
        Traced(make)


def test_a_seeded_generator_of_the_functions_own_is_pure():
    assert Traced(lambda: random.Random(0).random()).result == random.Random(0).random()
    expected = np.random.default_rng(0).random()
    assert Traced(lambda: np.random.default_rng(0).random()).result == expected


def test_a_failed_trace_takes_back_its_draws():
    state = random.getstate()

    def function():
        random.random()
        raise KeyError

    with pytest.raises(KeyError):
        Traced(function)
    assert random.getstate() == state


def test_draws_of_library_code_are_noticed(monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # pytest-xdist has threads
    with pytest.raises(ImpurityError, match=r"random: library code"):
        Traced(lambda: library_code("import random", "random.random()"))


# ------------------------------------------------------------------------ effects


def test_print_is_repeated_and_not_run(capsys):
    xs = [1, 2]

    def function():
        print("x", xs, sep="=", end="!")
        xs.append(3)
        print("error", file=sys.stderr)
        sys.stdout.write("written")
        sys.stdout.flush()

    traced = Traced(function)
    assert capsys.readouterr() == ("", "")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        traced.recorder.repeat_effects()
    assert out.getvalue() == "x=[1, 2]!written"
    assert capsys.readouterr() == ("", "error\n")


def test_print_to_an_open_file_is_repeated(tmp_path):
    with (tmp_path / "log").open("w") as file:

        def function():
            print("a", file=file)
            return file.write("bc")

        traced = Traced(function)
        assert traced.result == 2
        traced.recorder.repeat_effects()
    assert (tmp_path / "log").read_text() == "a\nbc"


def test_output_that_the_function_captures_is_its_own():
    def function():
        with contextlib.redirect_stdout(io.StringIO()) as out:
            print("caught")
        return out.getvalue()

    traced = Traced(function)
    assert traced.result == "caught\n"
    assert not traced.recorder.effects


def test_print_to_an_object_of_the_users_runs():
    class Lines(list):
        def write(self, text):
            self.append(text)

    lines = Lines()
    Traced(lambda: print("a", file=lines))
    assert lines == ["a", "\n"]


def test_logging_is_repeated_from_the_users_line(caplog):
    logger = logging.getLogger("evertrace.test")
    logger.setLevel(logging.INFO)

    def function(n):
        logger.debug("not enabled")
        logger.info("n is %s", n)
        logging.LoggerAdapter(logger, {"k": 1}).warning("adapted")
        try:
            raise ValueError("here")
        except ValueError:
            logger.exception("failed")
        return n

    traced = Traced(function, 3)
    assert not caplog.records
    again, (level, message, n), kwargs = traced.recorder.effects[0]
    assert type(n) is Host
    again(level, message, 7, **kwargs)
    [record] = caplog.records
    assert record.getMessage() == "n is 7"
    assert (record.funcName, record.pathname) == ("function", __file__)
    assert record.lineno == function.__code__.co_firstlineno + 2
    caplog.clear()
    traced.recorder.effects.pop(0)
    traced.recorder.repeat_effects()
    assert [r.getMessage() for r in caplog.records] == ["adapted", "failed"]
    assert caplog.records[0].k == 1
    assert caplog.text.rstrip().endswith("ValueError: here")
    assert traced.again(4) == [4]
    logger.setLevel(logging.ERROR)
    try:
        assert traced.again(4) is None
    finally:
        logger.setLevel(logging.NOTSET)


def test_warnings_are_repeated_from_the_users_line():
    def function():
        warnings.warn("careful", RuntimeWarning, stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("always")  # as errors they would be raised at once
        traced = Traced(function)
    with pytest.warns(RuntimeWarning, match="careful") as caught:
        traced.recorder.repeat_effects()
    assert caught[0].filename == __file__
    assert caught[0].lineno == function.__code__.co_firstlineno + 1


def test_warnings_of_packages_are_repeated():
    file = pathlib.Path(pytest.__file__).with_name("x.py")
    namespace = {"__name__": "x", "warnings": warnings}
    exec(compile("def check(x):\n    if x > 2: warnings.warn('large')\n", file, "exec"), namespace)
    f = ev.jit(lambda x: namespace["check"](x.item()) or x + 1)
    for x, want in ((3.0, 1), (3.0, 1), (1.0, 0), (3.0, 1)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            f(np.float32(x))
        assert [(w.filename, w.lineno) for w in caught] == [(str(file), 2)] * want


def test_warnings_that_the_function_catches_are_its_own():
    def function():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("inside", stacklevel=1)
        return len(caught)

    traced = Traced(function)
    assert traced.result == 1
    assert not traced.recorder.effects
