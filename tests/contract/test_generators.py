"""Random generators that are kept: what they draw is drawn anew at each call, from themselves."""

import copy
import datetime
import random
import re
import secrets

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.errors import ImpurityError, OpaqueStateError
from evertrace.experimental import io_callback
from tests.contract.compare import Record, X, case, refused

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def _generator_is_as_before():
    state = random.getstate()
    yield
    random.setstate(state)


def _state(rng):
    """Return the state of a generator as a text."""
    if isinstance(rng, np.random.Generator):
        return str(rng.bit_generator.state)
    return str(rng.getstate() if isinstance(rng, random.Random) else rng.get_state())


GENERATORS = {
    "random.Random": (
        lambda: random.Random(3),
        lambda rng, x: x * rng.random() + rng.gauss(0.0, 1.0) * rng.randint(1, 5),
    ),
    "a choice of numbers": (lambda: random.Random(3), lambda rng, x: x * rng.choice([1.0, 2.5])),
    "np.random.Generator": (
        lambda: np.random.default_rng(3),
        lambda rng, x: x * rng.normal() + rng.normal(size=3) * rng.integers(10),
    ),
    "another bit generator": (
        lambda: np.random.Generator(np.random.MT19937(3)),
        lambda rng, x: x * rng.uniform(1.0, 2.0) + rng.permutation(3),
    ),
    "np.random.RandomState": (
        lambda: np.random.RandomState(3),
        lambda rng, x: x * rng.normal() + rng.rand(3) * rng.randint(10),
    ),
    "only isinstance": (
        lambda: np.random.default_rng(3),
        lambda rng, x: x * rng.random() if isinstance(rng, np.random.Generator) else x,
    ),
}


@pytest.mark.parametrize("kind", GENERATORS)
def test_generator_draws_anew_at_each_call(kind):
    make, use = GENERATORS[kind]

    @case(traces=1)
    def program(jit):
        s = Record(rng=make())
        f = jit(lambda x: use(s.rng, x))
        for _ in range(3):
            yield f(X), _state(s.rng)
        s.rng = make()
        yield f(X), _state(s.rng)

    program()


@case(traces=2)
def test_generator_by_two_paths_is_one(jit):
    s = Record(rng=np.random.default_rng(5), other=np.random.default_rng(6))

    def step(x):
        s.last = s.rng.uniform()
        return x * s.other.uniform() + s.rng.normal()

    step = jit(step)
    yield step(X), s.last, _state(s.rng), _state(s.other)
    s.other = s.rng
    for _ in range(2):
        yield step(X), s.last, _state(s.rng)


@case(traces=1)
def test_bound_draws_and_arguments(jit):
    rng = np.random.default_rng(5)
    s = Record(draw=rng.normal, uniform=random.Random(2).uniform)
    f = jit(lambda rng, x: x * s.draw() + s.uniform(1.0, 2.0) * rng.normal(size=3))
    for _ in range(3):
        yield f(rng, X), _state(rng)


@case(traces=1)
def test_generator_that_is_kept_or_returned_is_that_one(jit):
    rng = random.Random(1)
    s = Record(rng=rng, other=None)

    def step(x):
        s.other = s.rng
        return x * s.rng.random(), s.rng

    step = jit(step)
    yield step(X)[1] is rng, s.other is rng, _state(rng)


def test_trace_that_fails_draws_nothing():
    rng = np.random.default_rng(0)
    before = _state(rng)

    def f(x):
        raise ValueError(str(rng.normal is None))

    with pytest.raises(ValueError, match="False"):
        ev.jit(f)(X)
    assert _state(rng) == before


STATE_OF_GENERATORS = {
    "bit_generator": lambda: np.random.default_rng(0),
    "spawn": lambda: np.random.default_rng(0),
    "shuffle": lambda: np.random.default_rng(0),
    "getstate": lambda: random.Random(0),
    "seed": lambda: np.random.RandomState(0),
    "__deepcopy__": lambda: random.Random(0),
}


@pytest.mark.parametrize("name", STATE_OF_GENERATORS)
def test_state_of_a_generator_is_refused(name):
    s = Record(rng=STATE_OF_GENERATORS[name]())
    use = copy.deepcopy if name == "__deepcopy__" else lambda rng: getattr(rng, name)

    def f(x):
        use(s.rng)
        return x

    with pytest.raises(OpaqueStateError, match=rf"s\.rng\.{name} shows or changes the state"):
        ev.jit(f)(X)


@refused(OpaqueStateError, r"normal\(out=...\)|standard_normal\(out=...\) shows or changes")
def test_draw_into_an_array_is_refused(jit):
    rng, out = np.random.default_rng(0), np.zeros(3)
    jit(lambda x: (rng.standard_normal(out=out), x)[1])(X)


@refused(ImpurityError, r"rng\.normal at .*: what the function does depends on the result")
def test_kept_draw_that_decides_a_branch(jit):
    rng = np.random.default_rng(0)
    jit(lambda x: x if rng.normal() > 0 else -x)(X)


@refused(OpaqueStateError, "random.SystemRandom")
def test_entropy_of_the_system(jit):
    rng = random.SystemRandom()
    jit(lambda x: x * rng.random())(X)


@refused(ImpurityError, r"random\.SystemRandom\.random")
def test_entropy_of_a_new_generator(jit):
    jit(lambda x: x * secrets.SystemRandom().random())(X)


def test_time_as_an_object_is_stored_and_returned_anew():
    s = Record(at=None)

    def step(x):
        s.at = datetime.datetime.now()
        return x, {"day": datetime.date.today()}

    step, seen = ev.jit(step), []
    for _ in range(3):
        before = datetime.datetime.now()
        day = step(X)[1]["day"]
        assert before <= s.at <= datetime.datetime.now()
        assert type(day) is datetime.date
        seen.append(s.at)
    assert len({*seen}) == 3
    assert step.cache_info().misses == 1


@case(traces=1)
def test_drawn_text_is_stored(jit):
    random.seed(4)
    s = Record(name=None)

    def step(x):
        s.name = random.choice(["a", "b", "c", "d"])
        return x

    step = jit(step)
    for _ in range(4):
        yield step(X), s


KEPT = {
    "random": (random, random.getstate),
    "random.Random": (own := random.Random(1), own.getstate),
}


OF_SEVERAL_TYPES = {
    "a choice": (lambda rng, s: rng.choice([1, 2.5]), 2),
    "a choice of a list": (lambda rng, s: rng.choice(s.options), 2),
    "of three": (lambda rng, s: rng.choice([1, 2.5, "text"]), 3),
    "computed with": (lambda rng, s: rng.choice([1, 2.5]) * 2 + 1, 2),
    "a power": (lambda rng, s: 2 ** rng.choice([-1, 1]), 2),
    "an item": (lambda rng, s: s.options[rng.randrange(2)], 2),
    "two of them": (lambda rng, s: [rng.choice([1, 2.5]), rng.choice([1j, 2])], 4),
}


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize(("draw", "traces"), OF_SEVERAL_TYPES.values(), ids=OF_SEVERAL_TYPES)
def test_draw_of_another_type_is_traced_anew(draw, traces, name):
    """Draws of the variants that did not fit are put back: all see the numbers of plain Python."""

    def program(jit):
        rng = KEPT[name][0]
        rng.seed(3)
        s = Record(options=[1, 2.5], kept=None)

        def step(x):
            s.first, s.kept, s.last = rng.random(), draw(rng, s), rng.random()
            return x

        step = jit(step)
        for _ in range(30):
            yield step(X), s, rng.random()

    case(traces=traces)(program)()


def test_the_reason_of_such_a_trace_is_said():
    rng = random.Random(0)
    s = Record(kept=None)

    @ev.jit
    def step(x):
        s.kept = rng.choice([1, 2.5])
        return x

    for _ in range(9):
        step(X)
    text = str(step.explain())
    assert re.search(r"variant 2 .*rng\.choice at .*: (int -> float|float -> int)", text)


def fails(s, x, drawn):
    return x * (1 / drawn)


def calls_back(s, x, drawn):
    io_callback(lambda: s.log.append(1), None, ordered=True)
    return x * len(s.log)


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize(
    ("then", "error"),
    [(fails, (ZeroDivisionError, ImpurityError)), (calls_back, ImpurityError)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_call_that_is_refused_has_drawn_nothing(then, error, name):
    rng, state = KEPT[name]
    rng.seed(1)
    s = Record(log=[1])

    @ev.jit
    def step(x):
        s.kept = rng.choice([0, 1])
        return then(s, x, s.kept)

    refused = 0
    for _ in range(20):
        before = state()
        try:
            step(X)
        except error:
            assert state() == before
            refused += 1
            rng.random()
    assert refused


DRAWN = {
    "an integer": lambda rng: rng.integers(2**40),
    "integers": lambda rng: rng.integers(2**40, size=3),
    "floats": lambda rng: rng.normal(size=2),
    "a scaled view": lambda rng: (rng.normal(size=(2, 2)) * 1e30)[:, 0],
    "a written array": lambda rng: _written(rng.normal(size=3)),
    "of its functions": lambda rng: np.mean(rng.normal(size=3), axis=0) + np.float64(1e-9),
    "one beside a captured array that is written": lambda rng: _both_written(rng.normal(size=3)),
    "a permutation": lambda rng: rng.permutation(5) // 2,
}


BUFFER = np.zeros(3)


def _both_written(a):
    BUFFER[:] = 2
    return a + BUFFER


def _written(a):
    a[0] = 1e30
    return a


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_drawn_arrays_are_numpys(draw):
    """What a generator of NumPy's draws has 64 bits, and stays NumPy's until it meets ours."""
    results = []
    for jit in (lambda f: f, ev.jit):
        rng, s = np.random.default_rng(7), Record(kept=None)

        def step(x, rng=rng, s=s):
            s.kept = made = draw(rng)
            return made, x * jnp.asarray(made).sum()

        step = jit(step)
        found = [(*step(jnp.float32(2)), s.kept) for _ in range(3)]
        assert all(made is kept for made, _, kept in found)
        results.append(found)
    for (plain, y, _), (ours, z, _) in zip(*results, strict=True):
        assert type(ours) is type(plain)
        assert ours.dtype == plain.dtype
        np.testing.assert_allclose(ours, plain, rtol=1e-15)
        assert type(z) is type(y) is ev.Array


# ------------------------------------------------------------------------------- lists of draws


def _shuffled(rng, s):
    rng.shuffle(s.data)
    return s.data


def _shuffled_anew(rng, s):
    order = [*range(4)]
    rng.shuffle(order)
    s.first = order[0]
    return [s.data[-1], *order]


LISTS = {
    "sample": lambda rng, s: rng.sample(s.data, 2),
    "sample of a range": lambda rng, s: rng.sample(range(100), s.k),
    "choices": lambda rng, s: rng.choices(s.data, k=s.k),
    "weighted": lambda rng, s: rng.choices(s.data, weights=[s.p, 1 - s.p, 1, 2], k=3),
    "shuffle": _shuffled,
    "shuffle of a new list": _shuffled_anew,
}


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "global"])
@pytest.mark.parametrize("what", LISTS)
def test_a_list_of_draws_is_drawn_anew_at_each_call(what, kept):
    @case(traces=2 if "range" in what or what == "choices" else 1)
    def compared(jit):
        random.seed(3)
        s = Record(rng=random.Random(0), data=[1.0, 2.5, 4.0, 8.0], k=2, p=0.5, last=None)

        def f(x):
            s.last = [*LISTS[what](s.rng if kept else random, s)]
            return x * s.last[0]

        f = jit(f)
        for i, k in enumerate((2, 2, 3, 2)):
            s.k, s.p, s.data[0] = k, 0.2 * k, 0.5 + i
            yield f(X), s.last, s.data, s.k
        yield s.rng.random() if kept else random.random()

    compared()


def test_a_call_that_raises_has_shuffled_nothing():
    s = Record(rng=random.Random(0), data=[1.0, 2.0, 3.0])
    before = s.rng.getstate()

    def f(x):
        s.rng.shuffle(s.data)
        raise KeyError(1)

    with pytest.raises(KeyError):
        ev.jit(f)(X)
    assert s.data == [1.0, 2.0, 3.0]
    assert s.rng.getstate() == before


DRAWS = {
    "random.Random": lambda s: s.python.random(),
    "a method": lambda s: s.draw(),
    "np.random.Generator": lambda s: s.numpy.normal(),
    "an array": lambda s: s.numpy.normal(size=2).sum(),
    "np.random.RandomState": lambda s: s.legacy.rand(),
    "random": lambda s: random.random(),
    "np.random": lambda s: np.random.rand(),
}


def _of_generators():
    random.seed(3)
    np.random.seed(4)
    python = random.Random(3)
    return Record(
        python=python,
        draw=python.random,
        numpy=np.random.default_rng(1),
        legacy=np.random.RandomState(3),
        seen=[],
    )


@pytest.mark.parametrize("kind", DRAWS)
def test_callback_draws_from_what_the_function_has_drawn_from_before(kind):
    @case(traces=1)
    def program(jit):
        s, draw = _of_generators(), DRAWS[kind]

        def f(x):
            drawn = draw(s)
            io_callback(lambda: s.seen.append(float(draw(s))), None, ordered=True)
            return x * drawn

        f = jit(f)
        for _ in range(3):
            yield f(X), s.seen

    program()


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("kind", DRAWS)
def test_callback_may_not_draw_from_what_the_function_draws_from_after_it(kind, before):
    s, draw = _of_generators(), DRAWS[kind]
    states = random.getstate(), _state(s.python), _state(s.numpy), _state(s.legacy)

    def f(x):
        drawn = draw(s) if before else 1.0
        io_callback(lambda: s.seen.append(float(draw(s))), None, ordered=True)
        return x * drawn * draw(s)

    message = r"io_callback: <lambda> draws from a random generator that the jitted function draws"
    with pytest.raises(ImpurityError, match=message):
        ev.jit(f)(X)
    assert states == (random.getstate(), _state(s.python), _state(s.numpy), _state(s.legacy))


class _Derived(random.Random):
    """Has another type than the one that is seeded in C."""


SEEDS = [0, 3, -1, -7, 2**61 - 1, 2**61, 2**64 + 5, -(2**63), True, 2.5, -0.5, 1e300, "a", b"x"]


@pytest.mark.parametrize("make", [random.Random, lambda seed: random.Random(x=seed), _Derived])
@pytest.mark.parametrize("seed", SEEDS)
def test_generators_that_a_call_makes_are_seeded_by_the_number(seed, make):
    def draw(seed):
        return make(seed).getrandbits(20)

    s = Record(seed=seed)
    for jitted, given in ((ev.jit(lambda: draw(s.seed)), ()), (ev.jit(draw), (seed,))):
        for _ in range(2):
            assert int(jitted(*given)) == draw(seed)
