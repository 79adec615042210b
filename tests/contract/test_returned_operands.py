"""Whether a result is the operand itself does not depend on what a number is, nor on jit.

A shift by 0 or one repetition changes nothing: eagerly, the operand itself could be the result. A
compiled program, which is the same for all numbers, makes a new array.
"""

import types

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

CALLS = {
    "roll": (lambda x, n: jnp.roll(x, n), 0),
    "roll all around": (lambda x, n: jnp.roll(x, n), 3),
    "roll along an axis": (lambda x, n: jnp.roll(x, (n,), axis=(0,)), 0),
    "repeat": (lambda x, n: jnp.repeat(x, n), 1),
    "repeat along an axis": (lambda x, n: jnp.repeat(x, n, axis=0), 1),
    "repeat by a literal": (lambda x, n: jnp.repeat(x, 1), 1),
    "tile": (lambda x, n: jnp.tile(x, n), 1),
    "resize": (lambda x, n: jnp.resize(x, n), 3),
    "meshgrid": (lambda x, n: jnp.meshgrid(x)[0], 0),
    "slice": (lambda x, n: x[n:], 0),
    "strided slice": (lambda x, n: x[::n], 1),
    "reshape": (lambda x, n: x.reshape(n), 3),
    "broadcast_to": (lambda x, n: jnp.broadcast_to(x, (n,)), 3),
    "pad": (lambda x, n: jnp.pad(x, n), 0),
    "power": (lambda x, n: x**n, 1),
    "integer_pow": (lambda x, n: lax.integer_pow(x, n), 1),
    "sum": (lambda x, n: x + n, 0),
    "product": (lambda x, n: x * n, 1.0),
    "clip": (lambda x, n: jnp.clip(x, -n, n), 9),
    "diff": (lambda x, n: jnp.diff(x, n), 0),
    "dynamic_slice": (lambda x, n: lax.dynamic_slice(x, (n,), (3,)), 0),
    "dynamic_update_slice": (lambda x, n: lax.dynamic_update_slice(x, x, (n,)), 0),
    "where": (lambda x, n: jnp.where(n > 0, x, x * 2), 1),
    "cond": (lambda x, n: lax.cond(n > 0, lambda x: x, lambda x: x + 1, x), 1),
    "switch": (lambda x, n: lax.switch(n, [lambda x: x, lambda x: x + 1], x), 0),
    "fori_loop": (lambda x, n: lax.fori_loop(0, n, lambda i, x: x + 1, x), 0),
    "while_loop": (lambda x, n: lax.while_loop(lambda c: False, lambda c: c, (n, x))[1], 0),
    "scan": (lambda x, n: lax.scan(lambda c, _: (c, n), x, None, length=2)[0], 0),
    "matrix_power": (lambda x, n: jnp.linalg.matrix_power(x[None] * x[:, None], n), 1),
    "rot90": (lambda x, n: jnp.rot90(x[None], n), 0),
    "astype": (lambda x, n: x.astype("float32"), 0),
    "asarray": (lambda x, n: jnp.asarray(x), 0),
    "copy": (lambda x, n: x.copy(), 0),
    "device_put": (lambda x, n: ev.device_put(x), 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_result_is_the_operand_as_without_jit(name):
    call, n = CALLS[name]

    def step(o):
        o.results.append(call(o.x, o.n))

    jitted, answers = ev.jit(step), []
    for run in (step, jitted):
        o = types.SimpleNamespace(x=jnp.array([0.5, -1.0, 2.0]), n=n, results=[])
        for _ in range(2):
            run(o)
        answers.append([x is o.x for x in o.results])
    assert answers[0] == answers[1]
