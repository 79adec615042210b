"""The host engine takes loops in C++ for large arrays, and gets what the host rules give."""

import numpy as np
import pytest

import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import config, kernels
from evertrace._src.engines.host import loops
from tests.support.closeness import assert_same

pytestmark = pytest.mark.usefixtures("needs_native")

SIZE = (3, 1 << 15)

CASES = [
    (lambda x: jnp.exp(x) + 1, 2),
    (lambda x: jnp.sin(x) * 2, 2),
    (lambda x: jnp.where(x > 0, x, -x), 0),
    (lambda x: lax.clamp(np.float32(-1), x, np.float32(1)), 0),
    (lambda x: lax.integer_pow(x, 3), 0),
    (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), 0),
    (lambda x: lax.round(x), 0),
    (lambda x: (x * 1e3).astype(jnp.int8), 0),
    (lambda x: x.astype(jnp.bfloat16) + jnp.bfloat16(1), 0),
    (lambda x: x.astype(jnp.float16) * 3, 0),
    (lambda x: lax.div((x * 9).astype(int), (x * 2).astype(int)), 0),
    (lambda x: x.T + 1, 0),  # not dense: NumPy's
    (lambda x: x.astype(jnp.int4) + jnp.int4(1), 0),
]


@pytest.mark.parametrize(("fun", "ulps"), CASES)
def test_loops_give_what_host_rules_give(fun, ulps):
    x = jnp.array(np.random.default_rng(0).normal(size=SIZE).astype(np.float32))
    got = np.asarray(fun(x))
    with off():
        want = np.asarray(fun(x))
    assert_same(got, want, ulps)


def off():
    return config.override(native_kernels=False)


def test_loops_are_taken_from_where_they_pay(monkeypatch):
    taken = []
    loop = kernels.loop
    monkeypatch.setattr(kernels, "loop", lambda *args: taken.append(args[0]) or loop(*args))
    small, large = jnp.array(np.ones(8)), jnp.array(np.ones(loops._MANY))
    jnp.exp(small), jnp.exp(large), lax.logistic(large[: loops.FEW])
    assert set(taken) == {"exp", "logistic"}
    count = len(taken)  # a plan is made of more runs than one
    with off():
        jnp.exp(large)
    assert len(taken) == count
