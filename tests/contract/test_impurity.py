"""What cannot be lifted: repeated at each call where that is right, else refused in plain words."""

import array
import contextlib
import datetime
import io
import itertools
import logging
import os
import pathlib
import random
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import warnings
import weakref

import numpy as np
import pytest

import evertrace as ev
from evertrace.errors import ConcretizationTypeError, ImpurityError, OpaqueStateError
from tests.contract.compare import Record, X, case, raised, refused

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def _generators_are_as_before():
    state, legacy = random.getstate(), np.random.get_state()
    yield
    random.setstate(state)
    np.random.set_state(legacy)


# ------------------------------------------------------------------- redone at each call


@case(traces=1)
def test_draw_that_nothing_demands_is_redone(jit):
    random.seed(7)
    f = jit(lambda x: x * random.random() + random.gauss(0.0, 1.0))
    for _ in range(3):
        yield f(X)
    yield random.random()  # the generator is where plain Python would have left it


@case(traces=2)
def test_warning_that_is_an_error_is_raised_where_it_can_be_caught(jit):
    def step(x):
        try:
            warnings.warn("careful", UserWarning, stacklevel=1)
        except UserWarning as warning:
            return x * 5, warning.args
        return x, ()

    f = jit(step)
    with warnings.catch_warnings():
        for action in ("ignore", "error", "ignore", "error"):
            warnings.simplefilter(action)
            yield f(X)


def long_step(x, training=False):
    if training:  # the trace's code for this is far away, behind the end of the function
        x = x * 0.5 + x * 0.25 + x * 0.125 + x * 0.0625 + x * 0.5 + x * 0.25 + x * 0.125 + x * 0.5
        x = x * 0.5 + x * 0.25 + x * 0.125 + x * 0.0625 + x * 0.5 + x * 0.25 + x * 0.125 + x * 0.5
        x = x * 0.5 + x * 0.25 + x * 0.125 + x * 0.0625 + x * 0.5 + x * 0.25 + x * 0.125 + x * 0.5
        x = x * 0.5 + x * 0.25 + x * 0.125 + x * 0.0625 + x * 0.5 + x * 0.25 + x * 0.125 + x * 0.5
        x = x * 0.5 + x * 0.25 + x * 0.125 + x * 0.0625 + x * 0.5 + x * 0.25 + x * 0.125 + x * 0.5
        x = x * 0.5 + x * 0.25 + x * 0.125 + x * 0.0625 + x * 0.5 + x * 0.25 + x * 0.125 + x * 0.5
        x = x * 0.5 + x * 0.25 + x * 0.125 + x * 0.0625 + x * 0.5 + x * 0.25 + x * 0.125 + x * 0.5
        x = x * 0.5 + x * 0.25 + x * 0.125 + x * 0.0625 + x * 0.5 + x * 0.25 + x * 0.125 + x * 0.5
    return x * random.random()


@case(traces=2)
def test_draw_in_a_long_function_that_begins_with_a_condition(jit):
    random.seed(7)
    f = jit(long_step)
    for _ in range(3):
        yield f(X)
        yield f(X, True)


@case(traces=1)
def test_numpy_draw_that_nothing_demands_is_redone(jit):
    np.random.seed(7)
    f = jit(lambda x: x * np.random.uniform() + np.random.normal(size=3))
    for _ in range(3):
        yield f(X)
    yield np.random.uniform()


@case(traces=1)
def test_draw_is_left_in_state(jit):
    random.seed(3)
    s = Record(last=None)

    def step(x):
        s.last = random.uniform(1.0, 2.0)
        return x * s.last

    step = jit(step)
    for _ in range(3):
        yield step(X), s, type(s.last)


def test_clock_is_read_at_each_call():
    s = Record(at=0.0)

    def step(x):
        s.at = time.perf_counter()
        return x

    jitted = ev.jit(step)
    seen = []
    for _ in range(3):
        before = time.perf_counter()
        jitted(X)
        assert before <= s.at <= time.perf_counter()
        assert type(s.at) is float
        seen.append(s.at)
    assert seen == sorted(set(seen))
    assert jitted.cache_info().misses == 1


def test_elapsed_time_is_measured_at_each_call():
    f = ev.jit(lambda x, start: x * 0 + (time.monotonic() - start))
    assert float(f(X, time.monotonic() - 100.0)[0]) == pytest.approx(100.0, abs=50)
    assert float(f(X, time.monotonic() - 900.0)[0]) == pytest.approx(900.0, abs=50)


@case(traces=1)
def test_print_is_repeated(jit):
    s = Record(n=0)

    def step(x):
        s.n += 1
        print("step", s.n, x * 2, sep="|", end=";\n")
        print(f"constant {x.shape}")
        return x

    step = jit(step)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for _ in range(3):
            step(X)
    yield out.getvalue()


@case(traces=1)
def test_print_to_a_file_is_repeated(jit):
    f = jit(lambda x: print("seen", x.sum(), file=sys.stderr))
    with contextlib.redirect_stderr(io.StringIO()) as out:
        f(X)
        f(X + 1)
    yield out.getvalue()


@case(traces=1)
def test_logging_is_repeated(jit):
    records = []
    logger = logging.getLogger("tests.contract.program")
    logger.propagate = False
    handler = logging.Handler()
    handler.emit = lambda record: records.append((record.levelname, record.getMessage()))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    s = Record(n=0)

    def step(x):
        s.n += 1
        logger.info("step %d of %s", s.n, "run")
        logger.debug("not shown")
        return x

    step = jit(step)
    try:
        for _ in range(3):
            step(X)
    finally:
        logger.removeHandler(handler)
    yield records


def test_a_call_that_raises_prints_nothing():
    def step(x):
        print("before")
        raise ValueError("no")

    with contextlib.redirect_stdout(io.StringIO()) as out, pytest.raises(ValueError, match="no"):
        ev.jit(step)(X)
    assert out.getvalue() == ""


@case(at_most=2)
def test_environment_is_guarded(jit):
    f = jit(lambda x: x * float(os.environ.get("EVERTRACE_TEST_SCALE", "1")))
    yield f(X)
    os.environ["EVERTRACE_TEST_SCALE"] = "3"
    try:
        yield f(X)
    finally:
        del os.environ["EVERTRACE_TEST_SCALE"]
    yield f(X)


@case(at_most=2)
def test_getenv_is_guarded(jit):
    f = jit(lambda x: x * float(os.getenv("EVERTRACE_TEST_SCALE", "1")))
    yield f(X)
    os.environ["EVERTRACE_TEST_SCALE"] = "3"
    try:
        yield f(X)
    finally:
        del os.environ["EVERTRACE_TEST_SCALE"]


@case(at_most=2)
def test_sys_argv_is_guarded(jit):
    f = jit(lambda x: x * (2.0 if "--double" in sys.argv else 1.0))
    yield f(X)
    sys.argv.append("--double")
    try:
        yield f(X)
    finally:
        sys.argv.remove("--double")


# ------------------------------------------------------------------- refused: impure calls


@refused(ImpurityError, "random")
def test_draw_that_decides_a_branch(jit):
    jit(lambda x: x if random.random() < 0.5 else -x)(X)


@refused(ImpurityError, r"random\.shuffle: .*happens once(.|\n)*shuffle indices outside")
def test_shuffle_of_arrays(jit):
    def f(x):
        items = [x, x + 1]
        random.shuffle(items)
        return items[0]

    jit(f)(X)


@refused(ImpurityError, r"random\.shuffle at .*: what the function does depends on the result")
def test_shuffle_that_decides_a_branch(jit):
    def f(x):
        items = [1.0, 2.0]
        random.shuffle(items)
        return x if items[0] > 1 else -x

    jit(f)(X)


@refused(ImpurityError, r"random\._urandom: .*happens once(.|\n)*pass in a seed or the bits")
def test_bytes_of_the_system(jit):
    jit(lambda x: x * len(random._urandom(2)))(X)


@refused(ImpurityError, "random|choice")
def test_choice_of_a_string(jit):
    jit(lambda x: x * len(random.choice(["a", "bc"])))(X)


@refused((ImpurityError, ConcretizationTypeError), "permutation")
def test_numpy_permutation_that_is_demanded(jit):
    jit(lambda x: x * int(np.random.permutation(3)[0]))(X)


@refused(ImpurityError, "time")
def test_clock_that_decides_a_branch(jit):
    jit(lambda x: x if time.time() > 0 else -x)(X)


@refused(ImpurityError, "now|today|datetime")
def test_date_and_time(jit):
    jit(lambda x: x * datetime.datetime.now().year)(X)


@refused(ImpurityError, "open")
def test_open(jit):
    def f(x):
        with open(os.devnull) as file:
            return x * len(file.read())

    jit(f)(X)


def test_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("5\n"))
    with pytest.raises(ImpurityError, match="input"):
        ev.jit(lambda x: x * float(input()))(X)


@refused(ImpurityError, "exists|stat")
def test_existence_of_a_file(jit):
    jit(lambda x: x if os.path.exists(os.devnull) else -x)(X)


@refused(ImpurityError, "listdir|scandir|iterdir")
def test_contents_of_a_folder(jit):
    with tempfile.TemporaryDirectory() as folder:
        jit(lambda x: x * len(list(pathlib.Path(folder).iterdir())))(X)


@refused(ImpurityError, "urandom|token|secrets|getrandbits")
def test_secrets(jit):
    jit(lambda x: x * len(secrets.token_bytes(4)))(X)


@refused(ImpurityError, "uuid|urandom")
def test_uuid(jit):
    jit(lambda x: x * len(str(uuid.uuid4())))(X)


@refused(ImpurityError, "run|Popen|subprocess|fork")
def test_subprocess(jit):
    jit(lambda x: x * len(subprocess.run(["true"], check=True).args))(X)


@pytest.mark.quotes_lines
def test_the_error_names_the_call_and_the_line():
    with pytest.raises(ImpurityError) as caught:
        ev.jit(lambda x: x * len(os.listdir("/")))(X)  # this very line
    assert re.search(r"listdir", str(caught.value))
    assert re.search(r"test_impurity\.py:\d+", str(caught.value))


def test_impurity_may_be_ignored():
    with ev.impurity("ignore"):
        f = ev.jit(lambda x: x * len(os.listdir(os.curdir)))
        assert f(X).shape == (3,)


def test_impurity_may_be_a_warning():
    with ev.impurity("warn"), pytest.warns(ev.errors.EvertraceWarning, match="listdir"):
        ev.jit(lambda x: x * len(os.listdir(os.curdir)))(X)


# ------------------------------------------------------------------- refused: opaque state


@refused(OpaqueStateError, "batches")
def test_iterator_in_an_attribute(jit):
    s = Record(batches=iter([1.0, 2.0]))
    jit(lambda x: x * next(s.batches))(X)


@refused(OpaqueStateError, "batches")
def test_generator_in_a_closure(jit):
    batches = (k for k in (1.0, 2.0))
    jit(lambda x: x * next(batches))(X)


@refused(OpaqueStateError, "counter")
def test_count_in_an_attribute(jit):
    s = Record(counter=itertools.count())
    jit(lambda x: x * next(s.counter))(X)


@refused(OpaqueStateError, "proxy")
def test_weak_proxy(jit):
    target = Record(k=2.0)
    s = Record(proxy=weakref.proxy(target))
    jit(lambda x: x * s.proxy.k)(X)


@refused(OpaqueStateError, "items")
def test_map_and_zip_objects(jit):
    s = Record(items=zip([1.0], [2.0], strict=True))
    jit(lambda x: x * next(s.items)[0])(X)


@refused(OpaqueStateError, "stream")
def test_stream_that_is_read(jit):
    s = Record(stream=io.BytesIO(b"abc"))
    jit(lambda x: x * len(s.stream.read(1)))(X)


# ------------------------------------------------------------------- state that is seen


@case(at_most=2)
def test_bytearray_is_guarded_by_its_contents(jit):
    s = Record(raw=bytearray(b"ab"))
    f = jit(lambda x: x * s.raw[0])
    yield f(X)
    s.raw[0] = 100
    yield f(X)


@case(at_most=2)
def test_array_array_is_guarded_by_its_contents(jit):
    s = Record(raw=array.array("d", [1.0, 2.0]))
    f = jit(lambda x: x * s.raw[0])
    yield f(X)
    s.raw[0] = 5.0
    yield f(X)


@case(at_most=2)
def test_memoryview_is_guarded_by_its_contents(jit):
    raw = bytearray(b"ab")
    s = Record(view=memoryview(raw))
    f = jit(lambda x: x * s.view[0])
    yield f(X)
    raw[0] = 100
    yield f(X)


@case(at_most=2)
def test_dict_view_in_an_attribute_is_followed_or_refused(jit):
    cfg = {"a": 1.0}
    s = Record(cfg=cfg)
    f = jit(lambda x: x * sum(s.cfg.values()))
    yield f(X)
    cfg["b"] = 2.0
    yield f(X)


def test_dict_view_that_is_kept_is_never_stale():
    cfg = {"a": 1.0}
    s = Record(view=cfg.values())
    f = ev.jit(lambda x: x * sum(s.view))
    try:
        first = f(X)
    except OpaqueStateError:
        return
    assert first.tolist() == X.tolist()
    cfg["a"] = 5.0
    assert f(X).tolist() == (X * 5).tolist()


@case(traces=1)
def test_lock_is_used(jit):
    s = Record(lock=threading.Lock(), n=0)

    def step(x):
        with s.lock:
            s.n += 1
        return x * s.n

    step = jit(step)
    for _ in range(2):
        yield step(X), s.n, s.lock.locked()


@case(traces=1)
def test_pattern_and_logger_are_used(jit):
    s = Record(pattern=re.compile("a+"), logger=logging.getLogger("tests.contract.unused"), n=1)
    f = jit(lambda x: x * len(s.pattern.match("aab").group()) * s.n)
    for s.n in (1, 2):
        yield f(X)


@case(traces=2)
def test_value_types_are_guarded_by_value(jit):
    s = Record()
    f = jit(lambda x: x * s.delta.total_seconds() + s.path.name.count("a"))
    for s.delta, s.path in (
        (datetime.timedelta(seconds=2), pathlib.PurePosixPath("/a")),
        (datetime.timedelta(seconds=3), pathlib.PurePosixPath("/a")),
        (datetime.timedelta(seconds=2), pathlib.PurePosixPath("/a")),
    ):
        yield f(X)


@case(traces=1)
def test_iterator_made_inside_is_fine(jit):
    f = jit(lambda x: sum(x * k for k, _ in zip(itertools.count(1), range(3), strict=False)))
    yield f(X), f(X + 1)


@case(traces=1)
def test_random_generator_made_inside_is_fine(jit):
    f = jit(lambda x: x * random.Random(3).random() + np.random.default_rng(3).uniform())
    yield f(X), f(X + 1)


@case(traces=1)
def test_opaque_state_that_is_not_read(jit):
    s = Record(batches=iter([1.0]), rng=np.random.default_rng(0), w=2.0)
    f = jit(lambda x: x * s.w)
    for s.w in (2.0, 3.0):
        yield f(X)


def test_generator_function_is_refused_when_it_is_decorated():
    with pytest.raises(TypeError, match="generator"):

        @ev.jit
        def f(x):
            yield x


def test_suspended_coroutine_is_refused():
    class Suspend:
        def __await__(self):
            yield

    async def f(x):
        await Suspend()
        return x

    with pytest.raises(Exception, match=r"await|suspend|coroutine"):
        ev.jit(f)(X)


@case(traces=1)
def test_jitted_coroutine_that_never_suspends(jit):
    s = Record(n=0)

    async def helper(x):
        s.n += 1
        return x * s.n

    async def f(x):
        return await helper(x) + 1

    f = jit(f)
    for _ in range(2):
        got = f(X)
        yield _finish(got), s.n


def _finish(got):
    """Return what a coroutine returns that never suspends; jit may have run it already."""
    if not hasattr(got, "send"):
        return got
    with pytest.raises(StopIteration) as done:
        got.send(None)
    return done.value.value


@case()
def test_users_error_in_a_library_callback_leaves(jit):
    s = Record(items=[3, 1, 2])

    def key(k):
        raise KeyError("no order")

    f = jit(lambda x: x * sorted(s.items, key=key)[0])
    yield raised(f, X), s


@case(traces=3)
def test_only_the_variables_that_were_asked_for_count(jit):
    name, other = "EVERTRACE_TEST_SCALE", "EVERTRACE_TEST_OTHER"
    f = jit(lambda x: x * 2 if name in os.environ else x * 3)
    try:
        yield f(X)
        os.environ[other] = "1"
        yield f(X)
        os.environ[name] = "1"
        yield f(X)
        os.environ[other] = os.environ[name] = "2"
        yield f(X)
        del os.environ[name]
        yield f(X)
    finally:
        os.environ.pop(name, None)
        del os.environ[other]


@case(traces=2)
def test_what_iterates_over_the_environment_depends_on_all_of_it(jit):
    f = jit(lambda x: x * len([k for k in os.environ if k.startswith("EVERTRACE_TEST_")]))
    yield f(X)
    os.environ["EVERTRACE_TEST_OTHER"] = "1"
    try:
        yield f(X)
    finally:
        del os.environ["EVERTRACE_TEST_OTHER"]
    yield f(X)
