"""What `estimate_cost` counts: what each primitive says of itself, times the turns of loops."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import pallas as pl

X = ev.ShapeDtypeStruct((4, 6), np.float32)

COUNTED = [  # function, operations of arithmetic, transcendental ones
    ("arithmetic", lambda x: x * x - 1, 48, 0),
    ("transcendental", lambda x: jnp.exp(x), 0, 24),
    ("special", lambda x: lax.digamma(x), 0, 24),
    ("a reduction", lambda x: lax.reduce_max(x, (1,)), 24, 0),
    ("a cumulative sum", lambda x: lax.cumsum(x, 1), 24, 0),
    ("a product", lambda x: lax.dot_general(x, x, (((1,), (1,)), ((), ()))), 2 * 16 * 6, 0),
    ("a scan", lambda x: lax.scan(lambda c, r: (c + jnp.sin(r), None), x[0], x)[0], 24, 24),
    ("what moves elements", lambda x: x.T[1:], 0, 0),
    ("rounding", lambda x: lax.reduce_precision(x, 5, 10), 0, 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fun", "flops", "transcendentals"), [row[1:] for row in COUNTED], ids=[x[0] for x in COUNTED]
)
def test_each_operation_is_counted_by_its_kind(fun, flops, transcendentals):
    cost = pl.estimate_cost(fun, X)
    assert (cost.flops, cost.transcendentals) == (flops, transcendentals)


def test_a_kernel_counts_once_for_each_step():
    def double(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    row = pl.BlockSpec((1, 6), lambda i: (i, 0))
    call = pl.pallas_call(double, out_shape=X, grid=4, in_specs=[row], out_specs=row)
    assert pl.estimate_cost(call, X) == (24, 0, 2 * 24 * 4, 0)


def test_what_a_user_defines_says_what_it_counts():
    p = ev.core.Primitive("halve", host=lambda x: x / 2, abstract=lambda x: x, counts="arithmetic")
    assert pl.estimate_cost(p.bind, X).flops == 24
