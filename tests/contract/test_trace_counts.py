"""How often is traced: what is not read, or only changes its value, costs nothing."""

import functools
import warnings
from collections import deque

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case, module

pytestmark = pytest.mark.engine

MANY = 12  # more than the eight variants after which a RetraceWarning comes


@case(traces=1)
def test_learning_rate_that_changes_each_call(jit):
    s = Record(rate=0.1)
    step = jit(lambda w, g: w - s.rate * g)
    for k in range(MANY):
        s.rate = 0.1 / (k + 1)
        yield step(X, X)


@case(traces=1)
def test_step_counter(jit):
    s = Record(step=0)

    def f(x):
        s.step += 1
        return x * s.step

    f = jit(f)
    for _ in range(MANY):
        yield f(X), s


@case(traces=1)
def test_growing_history_that_is_not_read(jit):
    s = Record(history=[], w=jnp.ones(3))

    def step(g):
        s.w = s.w - g
        return s.w.sum()

    step = jit(step)
    for _ in range(MANY):
        s.history.append(step(X))
    yield s


@case(traces=1)
def test_history_that_the_call_appends_to(jit):
    class Trainer:
        def __init__(self):
            self.history, self.seen, self.window = [], set(), deque(maxlen=3)

        def step(self, x):
            self.history.append(x.sum())
            self.seen.add("step")
            self.window.append(x)
            return x

    t = Trainer()
    step = jit(t.step)
    for _ in range(MANY):
        step(X)
    yield t


@case(traces=1)
def test_renamed_object(jit):
    s = Record(name="", w=X)
    f = jit(lambda x: x + s.w)
    for k in range(MANY):
        s.name = f"run {k}"
        yield f(X)


@case(traces=1)
def test_new_bound_method_each_call(jit):
    class Model:
        def __init__(self, k):
            self.k = k

        def f(self, x):
            return x * self.k

    for k in range(MANY):
        yield jit(Model(float(k)).f)(X)


@case(traces=1)
def test_new_lambda_each_call(jit):
    for k in range(MANY):
        yield jit(lambda x: x * k)(X)  # noqa: B023


@case(traces=1)
def test_new_object_each_call(jit):
    f = jit(lambda cfg, x: x * cfg.k)
    for k in range(MANY):
        yield f(Record(k=k, unread=[k] * k), X)


@case(traces=1)
def test_new_lambda_as_an_argument_each_call(jit):
    f = jit(lambda g, x: g(x))
    for k in range(MANY):
        yield f(lambda x: x + k, X)  # noqa: B023


@case(traces=1)
def test_unread_global_and_unread_key(jit):
    m = module("cfg = {'k': 2.0, 'other': 0}\nunread = 0\ndef f(x): return x * cfg['k']")
    f = jit(m.f)
    for k in range(MANY):
        m.unread, m.cfg["other"] = k, k
        yield f(X)


@case(traces=1)
def test_unread_class_attribute(jit):
    class Model:
        k, unread = 2.0, 0

        def f(self, x):
            return x * self.k

    f = jit(Model().f)
    for k in range(MANY):
        Model.unread = k
        Model.another = k
        yield f(X)


@case(traces=1)
def test_loop_that_passes_its_index(jit):
    f = jit(lambda x, i: x * i)
    for i in range(MANY):
        yield f(X, i)


@case(traces=2)
def test_periodic_branch(jit):
    s = Record(t=0, saved=None)

    def step(x):
        s.t += 1
        if s.t % 5 == 0:
            s.saved = x * s.t
        return x

    step = jit(step)
    for _ in range(MANY):
        yield step(X), s


@case(traces=2)
def test_alternating_variants_are_kept(jit):
    s = Record(on=True)
    f = jit(lambda x: x + 1 if s.on else x - 1)
    for k in range(MANY):
        s.on = k % 2 == 0
        yield f(X)


@case(traces=1)
def test_two_instances_in_turn(jit):
    class Model:
        def __init__(self):
            self.n, self.w = 0, jnp.ones(3)

        @jit
        def step(self, x):
            self.n += 1
            self.w = self.w + x * self.n
            return self.w

    a, b = Model(), Model()
    for _ in range(MANY // 2):
        yield a.step(X), b.step(X)
    yield a, b


@case(traces=1)
def test_state_keeps_the_type_it_entered_with(jit):
    s = Record(w=jnp.asarray(1.0), v=jnp.float32(1))

    def step():
        s.w = s.w * 2
        s.v = s.v * 0.5

    step = jit(step)
    for _ in range(3):
        yield step(), s


@case(traces=1)
def test_cached_helper_that_cannot_hash_its_argument(jit):
    @functools.lru_cache
    def helper(sizes):
        return len(sizes)

    s = Record(n=0)

    def step(x):
        s.n += 1
        try:
            return x * helper([s.n])
        except TypeError as error:
            return x * helper((s.n,)), str(error)

    step = jit(step)
    for _ in range(MANY):
        yield step(X)


def test_hits_are_counted():
    s = Record(k=2.0)
    f = ev.jit(lambda x: x * s.k)
    for s.k in (1.0, 2.0, 3.0):
        f(X)
    info = f.cache_info()
    assert (info.hits, info.misses, info.currsize) == (2, 1, 1)


def test_retrace_warning_names_the_guard_and_its_values():
    s = Record(width=0)
    f = ev.jit(lambda x: x[: s.width])

    def widen():
        for s.width in range(MANY):
            f(np.ones(MANY, np.float32))

    with pytest.warns(ev.errors.RetraceWarning, match="width") as caught:
        widen()
    assert len(caught) == 1
    assert "8" in str(caught[0].message)


def test_eight_variants_are_no_reason_to_warn():
    f = ev.jit(lambda x, n: x[:n])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(8):
            f(np.ones(8, np.float32), n)
    assert f.cache_info().misses == 8


def test_max_traces_is_an_error():
    f = ev.jit(lambda x, n: x[:n], max_traces=2)
    f(X, 1)
    f(X, 2)
    with pytest.raises(ev.errors.RetraceError, match="n"):
        f(X, 3)
    assert f(X, 1).shape == (1,)


def test_no_retrace_is_an_error():
    f = ev.jit(lambda x, n: x[:n])
    f(X, 1)
    with ev.no_retrace():
        f(X, 1)
        with pytest.raises(ev.errors.RetraceError, match="n"):
            f(X, 2)


def test_explain_names_what_changed():
    class Model:
        mul = True

        def calc(self, x):
            return x * 2 if self.mul else x

    m = Model()
    m.mul = True
    f = ev.jit(m.calc)
    f(X)
    m.mul = False
    f(X)
    text = str(f.explain())
    assert "self.mul" in text
    assert "True" in text
    assert "False" in text


def test_clear_cache_forgets():
    s = Record(k=2.0)
    f = ev.jit(lambda x: x * s.k)
    f(X)
    f.clear_cache()
    f(X)
    assert f.cache_info().misses == 1


def index_of_arrays(s, x):
    return x * s.arrays[s.n % 3]


def index_of_objects(s, x):
    return x * s.objects[s.n % 3].w


def index_of_numpy_arrays(s, x):
    return x * s.numpy[s.n % 3]


def index_of_an_array(s, x):
    return x * jnp.stack(s.arrays)[s.n % 3]


def type_by_another_name(s, x):
    kind = np.float32
    return x * kind(s.n)


def type_by_its_name(s, x):
    return x * np.float32(s.n)


def written_into_a_new_array(s, x):
    z = np.zeros(4)
    z[1] = s.n
    return x + z[:3]


def set_in_a_new_array(s, x):
    z = jnp.zeros(4).at[1].set(s.n)
    return x + z[:3]


@pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning")
@pytest.mark.parametrize(
    ("step", "count"),
    [
        (index_of_arrays, 1), (index_of_an_array, 1), (index_of_objects, 3),
        (index_of_numpy_arrays, 3), (type_by_another_name, 1),
        (type_by_its_name, 1), (written_into_a_new_array, MANY), (set_in_a_new_array, 1),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_what_the_tutorial_says_of_values_that_cost_a_program_each(step, count):
    def program(jit):
        arrays = [X + 1, X * 2, X * 3]
        objects, of_numpy = [Record(w=a) for a in arrays], [np.asarray(a) for a in arrays]
        s, run = Record(n=0, arrays=arrays, objects=objects, numpy=of_numpy), jit(step)
        for _ in range(MANY):
            yield run(s, X)
            s.n += 1

    case(traces=count)(program)()


@case(traces=1)
def test_a_counter_that_says_where_a_numpy_array_is_written(jit):
    class Model:
        def __init__(self):
            self.step, self.history = 0, np.zeros(8)

        def run(self, x):
            self.history[self.step] = x.sum()
            self.step += 1
            return x * self.history[self.step - 1]

    m = Model()
    run = jit(m.run)
    for _ in range(6):
        yield run(X), m.history, m.step


@case(traces=1)
def test_a_lambda_and_a_method_that_are_jitted_anew_at_each_call(jit):
    s = Record(k=1.0)
    for i in range(5):
        s.k = i * 0.5
        yield jit(lambda x, s=s: x * s.k)(X)
