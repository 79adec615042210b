"""State that differentiated and mapped functions change: it holds what plain Python would leave."""

import collections
import functools
import types

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.api.checkpoint import checkpoint
from evertrace._src.core.tracer import Tracer
from evertrace._src.jit import observe

X = jnp.asarray([1.0, 2.0, 3.0])


def sum_of(x):
    return x.sum()


def vjp(f, x):
    value, pull_back = ev.vjp(f, x)
    pull_back(jnp.ones_like(value))


TRANSFORMS = {
    "grad": lambda f, x: ev.grad(f)(x),
    "value_and_grad": lambda f, x: ev.value_and_grad(f)(x),
    "vjp": vjp,
    "jvp": lambda f, x: ev.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: ev.linearize(f, x)[1](x),
    "jacfwd": lambda f, x: ev.jacfwd(f)(x),
    "jacrev": lambda f, x: ev.jacrev(f)(x),
    "hessian": lambda f, x: ev.hessian(f)(x),
    "grad of grad": lambda f, x: ev.grad(lambda x: ev.grad(f)(x).sum())(x),
    "jvp of grad": lambda f, x: ev.jvp(ev.grad(f), (x,), (x,)),
    "vmap of grad": lambda f, x: ev.vmap(lambda t: ev.grad(lambda x: f(x) * t.sum())(x))(x),
    "grad of jit": lambda f, x: ev.grad(ev.jit(f))(x),
}


@pytest.fixture(params=["eager", "jit"])
def called(request):
    """Call a function of one argument: as it is, or jitted."""
    return (lambda f, x: f(x)) if request.param == "eager" else (lambda f, x: ev.jit(f)(x))


@pytest.fixture(params=TRANSFORMS)
def transformed(request, called):
    """Run a function under a transformation, as it is or inside of `jit`."""
    transform = TRANSFORMS[request.param]
    return lambda f, x: called(lambda x: transform(f, x), x)


def holds(value, want):
    """Whether a value is an array that belongs to no trace, and has these elements."""
    return type(value) is ev.Array and np.allclose(value, want, rtol=1e-6)


# ------------------------------------------------------------------ wherever it is

shared = {"count": 0, "last": None}
last_seen = None


class Meter:
    """Counts its calls and keeps a running mean."""

    created = None

    def __init__(self):
        self.n, self.mean, self.log, self.parts = 0, jnp.zeros(3), [], {"a": (0.0, 1)}

    def loss(self, x):
        self.n += 1
        self.mean = 0.5 * self.mean + 0.5 * x
        self.log.append(x * 2)
        self.parts["a"] = (x * 3, 1)
        return (x * x).sum()


def test_attributes_and_containers(transformed):
    m = Meter()
    transformed(m.loss, X)
    assert (m.n, type(m.n)) == (1, int)
    assert holds(m.mean, X / 2)
    assert len(m.log) == 1
    assert holds(m.log[0], X * 2)
    assert holds(m.parts["a"][0], X * 3)
    assert m.parts["a"][1] == 1


def test_globals(transformed):
    def loss(x):
        global last_seen
        shared["count"] += 1
        shared["last"] = last_seen = x + 1
        return (x * x).sum()

    shared["count"] = 0
    transformed(loss, X)
    assert shared["count"] == 1
    assert holds(shared["last"], X + 1)
    assert shared["last"] is last_seen


def test_variables_of_an_enclosing_function(transformed):
    best, seen = None, []

    def loss(x):
        nonlocal best
        best = x - 1
        seen.append(best)
        return (x * x).sum()

    transformed(loss, X)
    assert holds(best, X - 1)
    assert len(seen) == 1
    assert seen[0] is best


def test_new_objects_and_closures(transformed):
    m = types.SimpleNamespace(made=None, later=None, tail=collections.deque(maxlen=2))

    class Made:
        def __init__(self, x):
            self.x, self.pair = x, (x, [x])

    def loss(x):
        m.made = Made(x * 2)
        y = x * 3
        m.later = lambda: y
        m.tail.append({"y": y})
        return (x * x).sum()

    transformed(loss, X)
    assert holds(m.made.x, X * 2)
    assert holds(m.made.pair[0], X * 2)
    assert m.made.pair[1][0] is m.made.x
    assert holds(m.later(), X * 3)
    assert holds(m.tail[0]["y"], X * 3)


def test_state_of_classes_functions_and_partials(transformed):
    class Model:
        last = None

        @classmethod
        def note(cls, x):
            cls.last = x

    def helper(store, x):
        store["x"] = x * 2
        helper.last = x * 3
        Model.note(x * 4)

    store = {}
    helper.last = None
    bound = functools.partial(helper, store)

    def loss(x):
        bound(x)
        return (x * x).sum()

    transformed(loss, X)
    assert holds(store["x"], X * 2)
    assert holds(helper.last, X * 3)
    assert holds(Model.last, X * 4)


def test_objects_made_by_the_caller(called):
    def step(x):
        m = Meter()
        grads = ev.grad(m.loss)(x)
        return grads, m.mean, m.log[0]

    grads, mean, first = called(step, X)
    assert holds(grads, X * 2)
    assert holds(mean, X / 2)
    assert holds(first, X * 2)


def test_auxiliary_output_that_is_state_too(called):
    kept = {}

    def loss(x):
        kept["aux"] = {"x": x}
        return x.sum(), kept["aux"]

    _, aux = called(lambda x: ev.grad(loss, has_aux=True)(x), X)
    assert holds(aux["x"], X)
    assert holds(kept["aux"]["x"], X)


def test_numpy_array_written_to_in_a_jitted_gradient():
    table = np.zeros(3, np.float32)

    def loss(x):
        table[:] = x * 2
        return (x * x).sum()

    ev.jit(lambda x: ev.grad(loss)(x))(X)
    np.testing.assert_array_equal(table, X * 2)


def test_printed_values_are_those_of_the_program(capsys):
    def loss(x):
        print(x.sum())
        return (x * x).sum()

    f = ev.jit(lambda x: ev.grad(loss)(x))
    f(X)
    f(X * 2)
    assert capsys.readouterr().out.split() == ["6.0", "12.0"]


def test_state_is_read_back_within_the_function(called):
    m = Meter()

    def loss(x):
        m.mean = m.mean + x
        m.mean = m.mean * m.mean
        return m.mean.sum()

    grads = called(lambda x: ev.grad(loss)(x), X)
    assert holds(grads, X * 2)
    assert holds(m.mean, X * X)


def test_state_after_an_error_in_eager_code():
    m = Meter()

    def loss(x):
        m.loss(x)
        raise KeyError("no")

    for transform in (ev.grad(loss), lambda x: ev.jvp(loss, (x,), (x,))):
        with pytest.raises(KeyError):
            transform(X)
    assert m.n == 2
    assert holds(m.mean, X * 0.75)


@pytest.mark.usefixtures("strict_rules")
def test_strict_rules_leave_tracers():
    m = Meter()
    ev.grad(m.loss)(X)
    assert isinstance(m.mean, Tracer)


# ------------------------------------------------------------------ whole programs


class BatchNorm:
    def __init__(self):
        self.mean, self.var = jnp.zeros(2), jnp.ones(2)

    def __call__(self, x):
        mean, var = x.mean(0), x.var(0)
        self.mean = 0.9 * self.mean + 0.1 * mean
        self.var = 0.9 * self.var + 0.1 * var
        return (x - mean) / (1 + jnp.sqrt(var))  # the scale of x matters


class Model:
    def __init__(self):
        self.w, self.norm, self.calls = jnp.asarray([0.5, -1.5]), BatchNorm(), 0

    def loss(self, x):
        self.calls += 1
        return (jnp.tanh(self.norm(x * self.w)) * jnp.arange(1.0, 9.0).reshape(4, 2)).sum()


class Adam:
    def __init__(self, like):
        self.m, self.v, self.t = jnp.zeros_like(like), jnp.zeros_like(like), 0

    def update(self, p, g):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.99 * self.v + 0.01 * g * g
        return p - 0.1 * (self.m / (1 - 0.9**self.t)) / (
            jnp.sqrt(self.v / (1 - 0.99**self.t)) + 1e-8
        )


def explicit_step(w, mean, var, m, v, t, x):
    """One step of a `Trainer` with its state as arguments and results."""

    def loss(w):
        y = x * w
        a, s = y.mean(0), y.var(0)
        normed = (y - a) / (1 + jnp.sqrt(s))
        out = (jnp.tanh(normed) * jnp.arange(1.0, 9.0).reshape(4, 2)).sum()
        return out, (0.9 * mean + 0.1 * a, 0.9 * var + 0.1 * s)

    (value, (mean, var)), g = ev.value_and_grad(loss, has_aux=True)(w)
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    w = w - 0.1 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.99**t)) + 1e-8)
    return value, (w, mean, var, m, v)


class Trainer:
    def __init__(self):
        self.model = Model()
        self.opt = Adam(self.model.w)

    def step(self, x):
        value, grads = ev.value_and_grad(Model.loss)(self.model, x)
        self.model.w = self.opt.update(self.model.w, grads.w)
        return value


@pytest.mark.parametrize("jit", [ev.jit, lambda f: f], ids=["jit", "eager"])
def test_training_step_of_plain_objects(jit):
    t = Trainer()
    step = jit(t.step)
    states = (t.model.w, jnp.zeros(2), jnp.ones(2), jnp.zeros(2), jnp.zeros(2))
    for k in range(4):
        x = jnp.asarray([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0], [-1.0, 1.0]]) + k
        value = step(x)
        want, states = explicit_step(*states, k + 1, x)
        np.testing.assert_allclose(value, want, rtol=1e-4, atol=1e-5)
        found = (t.model.w, t.model.norm.mean, t.model.norm.var, t.opt.m, t.opt.v)
        for a, b in zip(found, states, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        assert (t.model.calls, t.opt.t) == (k + 1, k + 1)
    if jit is ev.jit:
        assert step.cache_info().misses == 1


@pytest.mark.parametrize("jit", [ev.jit, lambda f: f], ids=["jit", "eager"])
def test_training_steps_in_a_scan(jit):
    batch = jnp.asarray([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0], [-1.0, 1.0]])
    xs = jnp.stack([batch, batch + 1, batch * 2])
    t, plain = Trainer(), Trainer()
    run = jit(lambda xs: lax.scan(lambda carry, x: (carry, t.step(x)), 0, xs)[1])
    for _ in range(2):
        np.testing.assert_allclose(run(xs), [plain.step(x) for x in xs], rtol=1e-4)
    for a, b in zip(vars(t.model.norm).values(), vars(plain.model.norm).values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)
    assert (int(t.opt.t), int(t.model.calls)) == (6, 6)


# ------------------------------------------------------------------ vmap


def test_vmap_leaves_what_is_not_mapped(called):
    m = types.SimpleNamespace(n=0, w=jnp.ones(2), last=None)

    def f(x):
        m.n += 1
        m.last = m.w * 2
        return x * m.last

    assert holds(called(lambda xs: ev.vmap(f)(xs), jnp.ones((3, 2))), 2 * np.ones((3, 2)))
    assert m.n == 1
    assert holds(m.last, [2, 2])


@pytest.mark.parametrize(
    ("store", "name"),
    [
        (lambda m, x: setattr(m, "last", x), r"(self|model)\.m\.last"),
        (lambda m, x: m.log.append(x), r"(self|model)\.m\.log\[0\]"),
        (lambda m, x: m.table.update(k=(1, x)), r"(self|model)\.m\.table\['k'\]\[1\]"),
    ],
)
def test_vmap_refuses_a_change_that_depends_on_the_mapped_axis(called, store, name):
    class Model:
        def __init__(self):
            self.m = types.SimpleNamespace(last=0.0, log=[], table={"k": None})

        def f(self, x):
            store(self.m, x)
            return x

    model = Model()
    pattern = rf"vmap\(f\): the function has changed {name} to a value f32\[\] that depends on the"
    with pytest.raises(ev.errors.UnexpectedTracerError, match=pattern):
        called(lambda xs: ev.vmap(model.f)(xs), X)


def test_vmap_that_is_refused_inside_jit_has_changed_nothing():
    m = types.SimpleNamespace(last=X)
    with pytest.raises(ev.errors.UnexpectedTracerError, match=r"last"):
        ev.jit(lambda xs: ev.vmap(lambda x: setattr(m, "last", x))(xs))(X)
    assert m.last is X


@pytest.mark.usefixtures("strict_rules")
def test_vmap_by_strict_rules_does_not_look():
    seen = []
    ev.vmap(lambda x: seen.append(x) or x)(X)
    assert isinstance(seen[0], Tracer)


# ------------------------------------------------------------------ loops and branches at top level


class Cell:
    def __init__(self):
        self.h, self.n = jnp.zeros(3), 0

    def step(self, carry, x):
        self.n += 1
        self.h = jnp.tanh(0.5 * self.h + x)
        return carry + self.h, self.h * 2


XS = jnp.asarray([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])


def python_scan(f, carry, xs):
    ys = []
    for x in xs:
        carry, y = f(carry, x)
        ys.append(y)
    return carry, jnp.stack(ys)


def test_scan_at_top_level_steps_a_cell():
    cell, plain = Cell(), Cell()
    for turns in (2, 4):
        found = lax.scan(cell.step, jnp.zeros(3), XS)
        want = python_scan(plain.step, jnp.zeros(3), XS)
        for a, b in zip(found, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        np.testing.assert_allclose(cell.h, plain.h, rtol=1e-6)
        assert type(cell.h) is ev.Array
        assert int(cell.n) == turns


def test_scan_with_state_in_an_eager_gradient():
    cell, plain = Cell(), Cell()

    def loss(scan, cell):
        return lambda w: scan(cell.step, jnp.zeros(3), XS * w)[0].sum()

    found = ev.value_and_grad(loss(lax.scan, cell))(2.0)
    want = ev.value_and_grad(loss(python_scan, plain))(2.0)
    np.testing.assert_allclose(found, want, rtol=1e-4)
    np.testing.assert_allclose(cell.h, plain.h, rtol=1e-6)
    assert type(cell.h) is ev.Array


def test_loops_and_branches_at_top_level():
    s = types.SimpleNamespace(total=jnp.asarray(0.0), n=0)
    count = 0

    def add(x):
        nonlocal count
        count += 1
        s.total = s.total + x
        return x

    lax.fori_loop(0, 3, lambda i, c: add(c) + 1, 1.0)
    assert (float(s.total), int(count)) == (6.0, 3)
    lax.while_loop(lambda c: c + 0 * s.total < 20, lambda c: add(c) * 2, 1.0)
    assert (float(s.total), int(count)) == (37.0, 8)
    lax.map(add, jnp.arange(3.0))
    assert (float(s.total), int(count)) == (40.0, 11)
    lax.cond(s.total > 0, add, lambda x: x, 1.0)
    lax.cond(s.total < 0, add, lambda x: x, 1.0)
    lax.switch(1, [lambda x: x, add], 2.0)
    assert (float(s.total), int(count)) == (43.0, 13)


def test_globals_changed_by_nested_loops_at_top_level():
    global last_seen
    shared["total"] = last_seen = jnp.asarray(0.0)

    def inner(carry, x):
        global last_seen
        last_seen = last_seen + x
        shared["total"] = shared["total"] + last_seen
        return carry, None

    def outer(carry, x):
        return lax.scan(inner, carry, jnp.stack([x, x]))

    lax.scan(outer, 0, X)
    assert (float(last_seen), float(shared["total"])) == (12.0, 1 + 2 + 4 + 6 + 9 + 12)


def test_reading_state_changes_nothing_for_eager_loops():
    """Python numbers stay Python numbers, and custom rules may use what is read."""
    s = types.SimpleNamespace(k=3, w=X)

    @ev.custom_jvp
    def scale(x):
        return x * s.w

    scale.defjvp(lambda p, t: (scale(*p), t[0] * s.w * 10))

    def loss(x):
        return lax.fori_loop(0, s.k, lambda i, c: c + scale(x)[: s.k], jnp.zeros(3)).sum()

    np.testing.assert_allclose(ev.grad(loss)(X), 30 * X)
    s.w = X + 1
    np.testing.assert_allclose(ev.grad(loss)(X), 30 * (X + 1))
    assert type(s.k) is int


def test_an_error_in_a_loop_at_top_level_changes_nothing():
    cell = Cell()
    h = cell.h

    def body(carry, x):
        cell.step(carry, x)
        raise KeyError("no")

    with pytest.raises(KeyError):
        lax.scan(body, jnp.zeros(3), XS)
    assert cell.h is h
    assert cell.n == 0


def test_checkpoint_at_top_level_applies_a_change_once():
    class Block:
        def __init__(self):
            self.n, self.h = 0, jnp.zeros(3)

        def __call__(self, x):
            self.n += 1
            self.h = self.h + x
            return jnp.sin(x * self.n)

    block = Block()
    for n in (1, 2):
        grads = ev.grad(lambda x: checkpoint(block)(x).sum())(X)
        np.testing.assert_allclose(grads, n * np.cos(X * n), rtol=1e-5)
        assert (block.n, type(block.n)) == (n, int)
        assert holds(block.h, X * n)


def test_a_list_that_grows_in_a_loop_at_top_level_is_an_error():
    seen = []
    with pytest.raises(TypeError, match="adds to or removes from seen"):
        lax.scan(lambda c, x: (seen.append(x) or c, None), 0.0, X)
    assert seen == []


def test_bodies_without_state_are_not_watched(monkeypatch):
    watched = []
    monkeypatch.setattr(observe, "Observer", lambda *args: watched.append(args) or 1 / 0)

    def double(x):
        y = [x * SCALE]  # what a body makes is its own
        return helper(y[0])

    np.testing.assert_array_equal(lax.map(double, X), 4 * X)
    assert not watched
    with pytest.raises(ZeroDivisionError):
        lax.map(lambda x: x * shared["count"], X)


SCALE = 2.0


def helper(x):
    return x * jnp.asarray(SCALE)
