"""The estimates by which a program gets its engine: choices that were measured to be right."""

from typing import Any

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, nn, random
from evertrace._src.core.primitive import Primitive
from evertrace._src.engines.native import costs, emit, engine
from evertrace._src.transforms.staging import hoist_consts

pytestmark = pytest.mark.usefixtures("needs_native")

MANY, SOME, FEW = 1_000_000, 300_000, 10_000


def spec(*shape, dtype: Any = np.float32):
    return ev.ShapeDtypeStruct(shape, dtype)


def made_of(fun, *specs):
    with ev.enable_x64():
        closed: Any = ev.make_jaxpr(fun)(*specs)
    return engine.compile_jaxpr(hoist_consts(closed.jaxpr))


def polynomial(x):
    return ((x * x + 1) * x - 2) * x + 3 * x * x


def stencil(x):
    inner = x[1:-1, 1:-1]
    return inner * 4 - x[2:, 1:-1] - x[:-2, 1:-1] - x[1:-1, 2:] - x[1:-1, :-2]


def normalized(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def multiplied(x):
    return lax.dot(x, x.T, preferred_element_type=np.int32)


def step(params, x):
    def loss(params):
        hidden = x
        for w in params:
            hidden = jnp.tanh(hidden @ w)
        return jnp.mean(hidden**2)

    return ev.tree.map(lambda p, g: p - 0.1 * g, params, ev.grad(loss)(params))


WEIGHTS = [spec(64, 128), spec(128, 128), spec(128, 10)]


def convolved(x, w):
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=numbers)


def pooled(x):
    window = (1, 2, 2, 1)
    return lax.reduce_window(x, -np.inf, lax.max, window, window, "VALID")


def pooled_slope(x):
    return ev.grad(lambda x: (pooled(x) ** 2).sum())(x)


MANY_64 = spec(MANY, dtype=np.float64)
INDICES = spec(FEW * 2, dtype=np.int32)
TAPES = {
    "small and fused": (polynomial, spec(FEW)),
    "memory alone": (lambda x: x + 1, spec(MANY)),
    "exp": (jnp.exp, spec(MANY)),
    "sines": (jnp.sin, spec(MANY)),
    "sines of float64": (jnp.sin, MANY_64),
    "logarithms of float64": (jnp.log, MANY_64),
    "cube roots": (jnp.cbrt, spec(MANY)),
    "powers": (lambda x: x**x, spec(MANY)),
    "the place of the largest": (lambda x: x.argmax(), spec(MANY)),
    "the places of the largest": (lambda x: x.argmax(1), spec(1000, 1000)),
    "short rows": (lambda x: x.sum(1), spec(SOME, 3)),
    "a tall product": (lambda x: x.T @ x, spec(100_000, 10)),
    "a long product": (lambda x: x @ x, spec(1000, 1000)),
    "small matrices": (lambda x: x @ x, spec(FEW, 4, 4)),
    "matrices of few numbers": (lambda x, y: x @ y, spec(FEW, 4, 4), spec(FEW, 4, 2)),
    "a transposition": (lambda x: x.T, spec(1000, 1000)),
    "padding": (lambda x: jnp.pad(x, 1), spec(1000, 1000)),
    "a roll": (lambda x: jnp.roll(x, 3, 1), spec(1000, 1000)),
    "few gathered": (lambda x, i: x[i], spec(FEW), spec(FEW // 10, dtype=np.int32)),
    "an error function": (lambda x: nn.gelu(x, approximate=False), spec(SOME)),
    "sines in a loop": (lambda x: lax.fori_loop(0, 9, lambda _, x: jnp.sin(x), x), MANY_64),
}  # fmt: skip
PROGRAMS_FOR_XLA = {
    "fused": (polynomial, spec(SOME)),
    "hard_swish": (nn.hard_swish, spec(SOME)),
    "softmax": (nn.softmax, spec(3000, 100)),
    "its gradient": (ev.grad(lambda x: jnp.sum(nn.softmax(x) ** 2)), spec(10_000, 100)),
    "layer norm": (normalized, spec(3000, 100)),
    "slices that are added": (stencil, spec(550, 550)),
    "many gathered": (lambda x, i: x[i], spec(FEW), INDICES),
    "many scattered": (lambda x, i: x.at[i].add(1), spec(FEW), INDICES),
    "half precision": (lambda x: x * 2 + 1, spec(MANY, dtype=np.float16)),
    "largest of rows": (lambda x: x.max(1), spec(100_000, 10)),
    "the least of short rows": (lambda x: x.argmin(1), spec(100_000, 32)),
    "largest of many windows": (pooled, spec(16, 64, 64, 64)),
    "a loop of integers": (
        lambda x: lax.fori_loop(0, 20, lambda _, x: jnp.where(x % 2 == 1, 3 * x + 1, x // 2), x),
        spec(100_000, dtype=np.int32),
    ),
    "tiny matrices": (lambda x: x @ x, spec(2 * FEW, 3, 3)),
    "few rows that are added up": (lambda x: x.sum(1), spec(SOME, 3, 10)),
    "bytes that are multiplied": (multiplied, spec(128, 256, dtype=np.int8)),
    "magnitudes": (jnp.abs, spec(2 * FEW, dtype=np.complex64)),
}


def oscillate(y, _):
    def slope(y):
        return jnp.stack([y[1], (1 - y[0] ** 2) * y[1] - y[0]])

    first = slope(y)
    second = slope(y + 0.005 * first)
    third = slope(y + 0.005 * second)
    y = y + 0.01 / 6 * (first + 2 * second + 2 * third + slope(y + 0.01 * third))
    return y, y


def oscillation(y):
    return lax.scan(oscillate, y, None, length=1000)[1]


TAPES |= {
    "a short loop of numbers": (lambda x: lax.fori_loop(0, 1000, lambda i, x: 2 * x * (1 - x), x),
                                spec()),
    "many windows": (convolved, spec(16, 64, 64, 32), spec(3, 3, 32, 64)),
    "few windows": (convolved, spec(16, 28, 28, 1), spec(3, 3, 1, 8)),
    "slopes of largest of windows": (pooled_slope, spec(16, 28, 28, 8)),
    "a step of training": (step, WEIGHTS, spec(50, 64)),
    "many arrays": (lambda xs: [x * 0.9 + 1 for x in xs], [spec(100, 100)] * 10),
    "draws that are gone through": (lambda k: random.gamma(k, 2.5, (1000,)), random.key(0)),
    "many draws": (lambda k: [random.normal(random.fold_in(k, i), (4,)) for i in range(30)],
                   random.key(0)),
    "a loop of products": (lambda x: lax.fori_loop(0, 1000, lambda i, x: jnp.tanh(x @ x), x),
                           spec(4, 4)),
}  # fmt: skip
PROGRAMS_FOR_XLA |= {
    "a long loop of few numbers": (oscillation, spec(2)),
    "a loop of largest of rows": (
        lambda a, x: lax.scan(lambda x, _: ((a + x).max(1), None), x, None, length=2000)[0],
        spec(32, 32),
        spec(32),
    ),
    "shortest paths": (
        lambda d: lax.fori_loop(0, 128, lambda k, d: jnp.minimum(d, d[:, k, None] + d[k]), d),
        spec(128, 128),
    ),
    "a stencil in a loop": (
        lambda u: lax.fori_loop(0, 50, lambda _, u: u.at[1:-1, 1:-1].set(stencil(u)), u),
        spec(256, 256),
    ),
    "a loop of scattered": (
        lambda x, i: lax.fori_loop(0, 50, lambda _, x: x.at[i].add(x[i]), x),
        spec(200),
        spec(2000, dtype=np.int32),
    ),
    "the gradient of a long loop": (ev.grad(lambda y: jnp.sum(oscillation(y))), spec(2)),
}


@pytest.mark.parametrize("name", TAPES)
def test_tapes(name):
    made = made_of(*TAPES[name])
    assert made.tape is not None, made.why


@pytest.mark.parametrize("name", PROGRAMS_FOR_XLA)
def test_programs_for_xla(name):
    made = made_of(*PROGRAMS_FOR_XLA[name])
    assert made.tape is None, made.why


@pytest.mark.parametrize(
    ("tape", "xla", "compilation", "is_tape"),
    [
        (1e6, 1e6, 0, True),
        (1e6, 1e6 / costs.CLOSE, 0, True),
        (1e6 + 1, 1e6 / costs.CLOSE, 0, False),
        (2e6, 0, 2e6 * costs.CALLS, True),
        (2e6 + 1, 0, 2e6 * costs.CALLS, False),
        (3e6, 1e6, 1e9, False),
        (3e6, 1e6, 2e9, True),
    ],
)
def test_the_choice(tape, xla, compilation, is_tape):
    assert costs.prefers_tape(tape, xla, compilation) is is_tape


def test_long_programs_of_small_operations_are_not_worth_compiling():
    def chain(x):
        for _ in range(1000):
            x = jnp.sin(x) * x
        return x

    assert made_of(ev.grad(chain), spec()).tape is not None


def test_what_both_are_estimated_at_is_said():
    assert made_of(polynomial, spec(SOME)).why == (
        "a call is estimated at 130 us of work, 68 us with XLA, which compiles for 36 ms"
    )


def test_a_loop_counts_as_often_as_it_turns():
    def body(_, x):
        return jnp.sin(x) * 2

    def costs_of(turns):
        e = emit.Emitter()
        closed: Any = ev.make_jaxpr(lambda x: lax.fori_loop(0, turns, body, x))(spec(FEW))
        e.inline(hoist_consts(closed.jaxpr), [e.new((emit.CODES["float32"], FEW))])
        return np.array([e.cost, e.xla_cost])

    (tape, xla), (more, more_xla) = costs_of(10), costs_of(20)
    np.testing.assert_allclose([more, more_xla], [2 * tape, 2 * xla], rtol=1e-3)
    assert xla > tape


def test_tables_hold_primitives_that_have_loops():
    for prim in (*costs._XLA_FLOATS, *costs._XLA_INTEGERS):
        arity = 2 if prim.name in ("div", "rem", "pow", "atan2") else 1
        code = emit.CODES["float32"]
        assert isinstance(prim, Primitive)
        assert emit.has_kernel(("loop", prim.name, (code,) * arity, code)), prim
