"""Compiled loops and branches over state: it is carried along, and comes out once."""

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.contract.compare import Record, X, case

pytestmark = pytest.mark.engine
BATCH = jnp.asarray([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [2.0, 0.0, 1.0], [-1.0, 1.0, 0.5]])


class Cell:
    """A recurrent cell whose state is its own."""

    def __init__(self):
        self.h, self.w = jnp.zeros(3), 0.5

    def step(self, carry, x):
        self.h = jnp.tanh(self.w * self.h + x)
        return carry + self.h, self.h * 2


class Rng:
    """A random generator that splits its own key."""

    def __init__(self, seed):
        self.key = ev.random.key(seed)

    def normal(self, shape):
        self.key, key = ev.random.split(self.key)
        return ev.random.normal(key, shape)


@case(traces=1)
def test_scan_steps_a_cell(jit):
    cell, scan = Cell(), jit.scan
    run = jit(lambda xs: scan(cell.step, jnp.zeros(3), xs))
    for _ in range(2):
        yield run(BATCH), cell
    cell.h = jnp.ones(3)
    yield run(BATCH), cell


@case(traces=1)
def test_scan_whose_body_closes_over_state(jit):
    s, scan = Record(total=jnp.zeros(3), scale=2.0), jit.scan

    def run(xs):
        def body(carry, x):
            s.total = s.total + x * s.scale
            return carry * 0.5 + s.total, s.total.sum()

        return scan(body, jnp.zeros(3), xs)

    run = jit(run)
    yield run(BATCH), s
    s.scale = 3.0
    yield run(BATCH), s


@case(traces=1)
def test_scan_only_reads_state(jit):
    s, scan = Record(w=jnp.ones(3), k=2.0), jit.scan

    def run(xs):
        return scan(lambda carry, x: (carry + x * s.w * s.k, carry), jnp.zeros(3), xs)

    run = jit(run)
    yield run(BATCH), s
    s.w, s.k = jnp.arange(3.0), 5.0
    yield run(BATCH), s


@case(traces=1)
def test_scan_over_a_generator_object(jit):
    rng, scan = Rng(0), jit.scan

    def body(carry, _):
        return carry + rng.normal((3,)), None

    run = jit(lambda: scan(body, jnp.zeros(3), length=3)[0])
    for _ in range(2):
        yield run(), rng


@case(traces=1)
def test_scan_changes_two_objects_that_are_one(jit):
    shared = Record(h=jnp.zeros(3))
    s, scan = Record(a=shared, b=shared), jit.scan

    def run(xs):
        def body(carry, x):
            s.a.h = s.a.h + x
            return carry + s.b.h, None

        return scan(body, jnp.zeros(3), xs)[0]

    run = jit(run)
    for _ in range(2):
        yield run(BATCH), s


@case(traces=1)
def test_nested_scans(jit):
    s, scan = Record(h=jnp.zeros(3)), jit.scan

    def run(xs):
        def inner(c, x):
            s.h = 0.5 * s.h + x
            return c + s.h, None

        def outer(c, x):
            c, _ = scan(inner, c, jnp.stack([x, 2 * x]))
            s.h = s.h * 0.5
            return c, s.h

        return scan(outer, jnp.zeros(3), xs)

    run = jit(run)
    for _ in range(2):
        yield run(BATCH), s


@case(traces=1)
def test_fori_loop(jit):
    s, fori_loop = Record(h=jnp.zeros(3), k=2.0), jit.fori_loop

    def run(x):
        def body(i, c):
            s.h = s.h + c * s.k
            return c + i

        return fori_loop(0, 3, body, x)

    run = jit(run)
    for _ in range(2):
        yield run(X), s


@case(traces=1)
def test_while_loop(jit):
    s, while_loop = Record(h=jnp.zeros(3), limit=20.0), jit.while_loop

    def run(x):
        def body(c):
            s.h = s.h + c
            return c * 2

        return while_loop(lambda c: c.sum() < s.limit, body, x)

    run = jit(run)
    yield run(X), s
    s.limit = 100.0
    yield run(X), s


@case(traces=1)
def test_cond_changes_in_one_branch(jit):
    s, cond = Record(a=jnp.zeros(3), b=jnp.zeros(3)), jit.cond

    def run(x):
        def add(x):
            s.a = s.a + x
            return x

        def keep(x):
            s.b = s.b - x
            return -x

        return cond(x.sum() > 0, add, keep, x)

    run = jit(run)
    for x in (X, -X, X):
        yield run(x), s


@case(traces=1)
def test_cond_with_a_number_changes_in_one_branch(jit):
    s, cond = Record(a=jnp.zeros(3), k=2.0), jit.cond

    def run(x):
        def add(x):
            s.a = s.a + x * s.k
            return s.a * 1  # which of two arrays it is cannot depend on the branch

        return cond(x[0] > 0, add, lambda x: s.a * 1, x)

    run = jit(run)
    yield run(X), s
    s.k = 3.0
    yield run(X), s, run(-X), s


@case(traces=1)
def test_switch(jit):
    s, switch = Record(a=jnp.zeros(3), b=jnp.zeros(3)), jit.switch

    def first(x):
        s.a = s.a + x
        return s.b * 1

    def second(x):
        s.b = s.b + s.a
        return x * 1

    run = jit(lambda i, x: switch(i, [first, second, lambda x: x * 2], x))
    for i in (0, 1, 2, 1, 0):
        yield run(jnp.asarray(i), X), s


@case(traces=1)
def test_cond_inside_scan(jit):
    s, scan, cond = Record(kept=jnp.zeros(3)), jit.scan, jit.cond

    def run(xs):
        def keep(x):
            s.kept = s.kept + x
            return x

        def body(c, x):
            return c + cond(x.sum() > 1.0, keep, lambda x: -x, x), None

        return scan(body, jnp.zeros(3), xs)[0]

    run = jit(run)
    for _ in range(2):
        yield run(BATCH), s


def test_number_changed_in_a_scan_becomes_an_array_and_stays_one():
    s = Record(n=0)

    def body(carry, x):
        s.n += 1
        return carry + x * s.n, None

    run = ev.jit(lambda xs: lax.scan(body, jnp.zeros(3), xs)[0])
    for calls in (1, 2, 3):
        run(BATCH)
        assert type(s.n) is ev.Array
        assert int(s.n) == 4 * calls
    assert run.cache_info().misses == 2


def test_container_that_grows_in_a_scan_is_an_error_with_its_name():
    s = Record(history=[])

    def body(carry, x):
        s.history.append(x)
        return carry, None

    with pytest.raises(Exception, match="history"):
        ev.jit(lambda xs: lax.scan(body, jnp.zeros(3), xs)[0])(BATCH)
    assert s.history == []


@pytest.mark.parametrize("jit", [lambda f: f, ev.jit])
@pytest.mark.parametrize(
    "loop",
    [
        lambda body, x: lax.fori_loop(0, 3, lambda i, x: body(x), x),
        lambda body, x: lax.cond(False, lambda x: x, body, x),
    ],
)
@pytest.mark.parametrize("reads", [False, True])
def test_number_set_again_by_a_body_stays_a_number(jit, loop, reads):
    s = Record(n=1)

    def body(x):
        s.n = s.n + 0 if reads else 1
        return x * 2

    run = jit(lambda x: loop(body, x))
    for _ in range(2):
        run(X)
        assert type(s.n) is int
    s.n = 2
    run(X)
    assert type(s.n) is (int if reads else ev.Array)
    assert s.n == (2 if reads else 1)
