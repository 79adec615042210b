"""A pure callback is called as often as plain Python calls it, in that order, whoever needs it."""

import collections

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import io_callback

pytestmark = pytest.mark.engine

X = jnp.arange(3.0)
F32 = ev.ShapeDtypeStruct((3,), jnp.float32)
NUMBER = ev.ShapeDtypeStruct((), jnp.float32)


class Notes:
    """What callbacks note, and give the length of."""

    def __init__(self):
        self.log = []

    def call(self, name, x, like=F32):
        """Call back with a name."""

        def note(v):
            self.log.append((name, float(np.asarray(v).sum())))
            return np.asarray(v) + np.float32(len(self.log))

        return ev.pure_callback(note, like, x, vmap_method="sequential")


def unused(s, x):
    s.call("a", x)
    return x


def in_order(s, x):
    a, b = s.call("a", x), s.call("b", x)
    return 2 * b + a


def first_unused(s, x):
    s.call("a", x)
    return s.call("b", x + 1)


def beside_effects(s, x):
    a = s.call("a", x)
    io_callback(lambda v: s.log.append(0), None, x)
    s.call("b", x)
    return a


def what_turns_share(s, x):
    return lax.scan(lambda c, _: (c + 1, s.call("a", x)), x, length=3)


def unused_in_scan(s, x):
    def body(c, _):
        s.call("a", c)
        return c + 1, s.call("b", c)

    return lax.scan(body, x, length=3)[0]


def unused_in_fori(s, x):
    def body(i, c):
        s.call("a", x)
        return c + i

    return lax.fori_loop(0, 3, body, x)


def unused_in_while(s, x):
    def body(c):
        s.call("a", x)
        return c + 1

    return lax.while_loop(lambda c: c[0] < 3, body, x)


def unused_in_map(s, x):
    def body(v):
        s.call("a", v, NUMBER)
        return v

    return lax.map(body, x)


def unused_in_a_branch(s, x):
    def branch(c):
        s.call("a", c)
        return c

    return lax.cond(x[0] < 1, branch, lambda c: c + 1, x)


def an_unused_branch(s, x):
    lax.switch(1, [lambda c: s.call("a", c), lambda c: s.call("b", c)], x)
    return x


def in_a_jitted_function(s, x):
    inner = ev.jit(lambda c: (s.call("a", c), c)[1])
    return inner(x) + inner(x + 1)


def unused_in_grad(s, x):
    def loss(x):
        s.call("a", lax.stop_gradient(x))
        return (x * x).sum()

    return ev.grad(loss)(x)


def in_grad_of_scan(s, x):
    def body(c, _):
        return c * s.call("a", lax.stop_gradient(x)), None

    return ev.grad(lambda x: lax.scan(body, x, length=2)[0].sum())(x)


def in_checkpoint(s, x):
    @ev.checkpoint
    def loss(x):
        return (jnp.sin(x) * x * s.call("a", lax.stop_gradient(x))).sum()

    return loss(x), ev.grad(loss)(x)


def unused_in_checkpoint(s, x):
    @ev.checkpoint
    def loss(x):
        s.call("a", lax.stop_gradient(x))
        return (jnp.sin(x) * x).sum()

    return loss(x), ev.grad(loss)(x)


def unused_in_linearize(s, x):
    def f(x):
        s.call("a", lax.stop_gradient(x))
        return jnp.sin(x)

    return ev.linearize(f, x)[1](x)


def unused_in_vmap(s, x):
    def f(v):
        s.call("a", v, NUMBER)
        s.call("b", x)
        return 2 * v

    return ev.vmap(f)(x)


def in_custom_vjp(s, x):
    f = ev.custom_vjp(lambda x: s.call("f", x))
    f.defvjp(lambda x: (s.call("forward", x), x), lambda x, g: (s.call("back", g),))
    return f(x), ev.grad(lambda x: f(x).sum())(x)


def unused_in_custom_jvp(s, x):
    @ev.custom_jvp
    def f(x):
        s.call("f", x)
        return 2 * x

    f.defjvp(lambda p, t: (s.call("rule", p[0]), 2 * t[0]))
    return f(x), ev.jvp(f, (x,), (x,)), ev.grad(lambda x: f(x).sum())(x)


FORMS = (
    unused, in_order, first_unused, beside_effects, what_turns_share, unused_in_scan,
    unused_in_fori, unused_in_while, unused_in_map, unused_in_a_branch, an_unused_branch,
    in_a_jitted_function, unused_in_grad, in_grad_of_scan, in_checkpoint, unused_in_checkpoint,
    unused_in_linearize, unused_in_vmap, in_custom_vjp, unused_in_custom_jvp,
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_it_is_called_as_plain_python_calls_it(form):
    def run(jit):
        s, f = Notes(), jit(form)
        results = [f(s, X) for _ in range(2)]
        assert s.log
        return ev.tree.map(lambda x: np.asarray(x).tolist(), results), s.log

    (got, got_log), (want, want_log) = run(ev.jit), run(lambda f: f)
    ev.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), got, want)
    assert got_log == want_log


def test_what_is_printed_before_it_is_printed_before(capsys):
    def f(x):
        print("before")
        ev.pure_callback(lambda v: (print("called"), v)[1], F32, x)
        return x

    compiled = ev.jit(f)
    for _ in range(2):
        compiled(X)
    assert capsys.readouterr().out == "before\ncalled\n" * 2


def test_a_key_that_a_callback_adds_by_reading_is_there():
    class Model:
        def __init__(self):
            self.found = collections.defaultdict(lambda: 2)

        @ev.jit
        def step(self, x):
            ev.pure_callback(lambda v: np.asarray(v) * self.found["b"], F32, x)

    m = Model()
    m.step(X)
    assert m.found == {"b": 2}


def ruled(s, call):
    @ev.custom_jvp
    def f(x):
        y = call(lambda v: np.asarray(v) + np.float32(1), F32, x)
        s.last = y if s.keeps else 3 * x
        return 2 * y

    f.defjvp(lambda p, t: (2 * p[0], 2 * t[0]))
    return f


@pytest.mark.parametrize("call", [ev.pure_callback, io_callback])
def test_a_function_with_a_rule_may_call_back_and_change_state_by_other_means(call):
    class State:
        keeps, last = False, None

    s = State()
    np.testing.assert_array_equal(ev.jit(lambda x: ruled(s, call)(x))(X), 2 * (X + 1))
    np.testing.assert_array_equal(s.last, 3 * X)
    s.keeps = True
    with pytest.raises(NotImplementedError, match="changes state to what a callback returns"):
        ev.jit(lambda x: ruled(s, call)(x))(X)
