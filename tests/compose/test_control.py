"""Branches, loops, custom rules and checkpoints under every transformation, against plain Python.

Each program is written twice: with the constructs, and with Python's own control flow, which works
on values. A law compares the two under one transformation.
"""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from evertrace._src.control.checkpoint import checkpoint
from evertrace._src.control.custom_jvp import custom_jvp
from evertrace._src.control.custom_vjp import custom_vjp
from evertrace._src.control.policies import everything_saveable

ROWS = np.array([0.5, -0.3, 1.2, 0.8, 0.1], np.float32)


@custom_jvp
def jvp_sin(x):
    return lax.sin(x)


@jvp_sin.defjvp
def _jvp_sin_rule(primals, tangents):
    (x,), (dx,) = primals, tangents
    return jvp_sin(x), lax.mul(dx, lax.cos(x))


@custom_vjp
def vjp_product(x, y):
    return lax.mul(lax.sin(x), y)


def _forward(x, y):
    return vjp_product(x, y), (x, y)


def _backward(residuals, ct):
    x, y = residuals
    return lax.mul(ct, lax.mul(lax.cos(x), y)), lax.mul(ct, lax.sin(x))


vjp_product.defvjp(_forward, _backward)


def product(x, y):
    return lax.mul(lax.sin(x), y)


def value(x):
    return float(np.asarray(x._contents() if hasattr(x, "_contents") else x))


# Each program: with the constructs, in plain Python.


def cond(x):
    return lax.cond(lax.gt(x, 1.0), lambda a: lax.sin(lax.mul(a, x)), lambda a: lax.mul(a, a), x)


def cond_plain(x, is_large):
    return lax.sin(lax.mul(x, x)) if is_large else lax.mul(x, x)


def switch(x):
    index = lax.convert_element_type(lax.floor(x), "int32")
    branches = [lax.sin, lambda a: lax.mul(a, lax.mul(a, x)), lambda a: lax.mul(3.0, a)]
    return lax.switch(index, branches, x)


def switch_plain(x, whole):
    if whole <= 0:
        return lax.sin(x)
    return lax.mul(x, lax.mul(x, x)) if whole == 1 else lax.mul(3.0, x)


def scan(x, **options):
    """Consts, two carries of which one is not differentiated, xs, and ys that are used."""

    def body(carry, row):
        c, count = carry["c"], carry["count"]
        new = lax.add(lax.sin(lax.mul(c, x)), row)
        return {"c": new, "count": lax.add(count, 1)}, lax.mul(new, lax.cos(x))

    last, ys = lax.scan(body, {"c": x, "count": 0}, ROWS, **options)
    return lax.add(last["c"], lax.reduce_sum(lax.mul(ys, ROWS), (0,)))


def scan_plain(x, reverse=False):
    c, total = x, 0.0
    for row in ROWS[::-1] if reverse else ROWS:
        c = lax.add(lax.sin(lax.mul(c, x)), row)
        total = lax.add(total, lax.mul(lax.mul(c, lax.cos(x)), row))
    return lax.add(c, total)


def fori(x):
    return lax.fori_loop(1, 5, lambda i, c: lax.mul(lax.sin(c), lax.mul(x, float_of(i))), x)


def float_of(i):
    return lax.convert_element_type(i, "float32")


def fori_plain(x):
    c = x
    for i in range(1, 5):
        c = lax.mul(lax.sin(c), lax.mul(x, np.float32(i)))
    return c


def nested(x):
    def outer(c, row):
        inner, _ = lax.scan(lambda d, r: (lax.sin(lax.mul(d, lax.add(r, x))), None), c, ROWS[:3])
        return lax.add(inner, row), None

    return lax.scan(outer, x, ROWS[:2])[0]


def nested_plain(x):
    c = x
    for row in ROWS[:2]:
        for r in ROWS[:3]:
            c = lax.sin(lax.mul(c, lax.add(r, x)))
        c = lax.add(c, row)
    return c


def cond_in_scan(x):
    def body(c, row):
        turned = lax.cond(lax.gt(row, 0.4), lambda a: lax.sin(lax.mul(a, x)), lambda a: a, c)
        return lax.add(turned, lax.mul(row, x)), None

    return lax.scan(body, x, ROWS)[0]


def cond_in_scan_plain(x):
    c = x
    for row in ROWS:
        c = lax.add(lax.sin(lax.mul(c, x)) if row > 0.4 else c, lax.mul(row, x))
    return c


def scan_in_cond(x):
    return lax.cond(lax.gt(x, 1.0), scan, lambda a: lax.mul(a, 2.0), x)


def scan_in_cond_plain(x, is_large):
    return scan_plain(x) if is_large else lax.mul(x, 2.0)


def turns(f, x):
    """Apply f to x five times, each time scaled."""
    c = x
    for row in ROWS:
        c = lax.add(f(lax.mul(c, x)), row)
    return c


def turns_by_scan(f, x):
    return lax.scan(lambda c, row: (lax.add(f(lax.mul(c, x)), row), None), x, ROWS)[0]


def sin_of_sin(x):
    return lax.sin(lax.sin(x))


def while_loop(x):
    done, c = lax.while_loop(
        lambda s: lax.lt(s[0], 4), lambda s: (lax.add(s[0], 1), lax.sin(lax.mul(s[1], x))), (0, x)
    )
    return lax.mul(c, float_of(done))


def while_plain(x):
    c = x
    for _ in range(4):
        c = lax.sin(lax.mul(c, x))
    return lax.mul(c, 4.0)


def while_on_value(x):
    """Examples stop after different numbers of turns."""
    return lax.while_loop(lambda c: lax.lt(c, 20.0), lambda c: lax.mul(c, lax.add(x, 1.0)), x)


def while_on_value_plain(x, count):
    c = x
    for _ in range(count):
        c = lax.mul(c, lax.add(x, 1.0))
    return c


def _count(x):
    count, c = 0, x
    while c < 20:
        c, count = c * (x + 1), count + 1
    return count


# name: (with constructs, plain function of x, modes without which it is not tried)
ALL = {"forward", "reverse"}
PROGRAMS = {
    "cond": (cond, lambda v: lambda x: cond_plain(x, v > 1), ALL),
    "switch": (switch, lambda v: lambda x: switch_plain(x, int(np.floor(v))), ALL),
    "scan": (scan, lambda v: scan_plain, ALL),
    "scan_reverse": (
        lambda x: scan(x, reverse=True),
        lambda v: lambda x: scan_plain(x, reverse=True),
        ALL,
    ),
    "scan_unrolled": (lambda x: scan(x, unroll=2), lambda v: scan_plain, ALL),
    "fori": (fori, lambda v: fori_plain, ALL),
    "scan_in_scan": (nested, lambda v: nested_plain, ALL),
    "cond_in_scan": (cond_in_scan, lambda v: cond_in_scan_plain, ALL),
    "scan_in_cond": (scan_in_cond, lambda v: lambda x: scan_in_cond_plain(x, v > 1), ALL),
    "custom_jvp": (jvp_sin, lambda v: lax.sin, ALL),
    "custom_vjp": (lambda x: vjp_product(x, x), lambda v: lambda x: product(x, x), {"reverse"}),
    "custom_jvp_in_scan": (
        lambda x: turns_by_scan(jvp_sin, x), lambda v: lambda x: turns(lax.sin, x), ALL,
    ),
    "custom_vjp_in_scan": (
        lambda x: turns_by_scan(lambda a: vjp_product(a, x), x),
        lambda v: lambda x: turns(lambda a: product(a, x), x),
        {"reverse"},
    ),
    "custom_vjp_in_cond": (
        lambda x: lax.cond(lax.gt(x, 1.0), lambda a: vjp_product(a, x), lax.neg, x),
        lambda v: lambda x: product(x, x) if v > 1 else lax.neg(x),
        {"reverse"},
    ),
    "checkpoint": (checkpoint(sin_of_sin), lambda v: sin_of_sin, ALL),
    "checkpoint_keeping": (
        checkpoint(sin_of_sin, policy=everything_saveable), lambda v: sin_of_sin, ALL,
    ),
    "checkpoint_of_scan": (checkpoint(scan), lambda v: scan_plain, ALL),
    "checkpoint_in_scan": (
        lambda x: turns_by_scan(checkpoint(sin_of_sin), x),
        lambda v: lambda x: turns(sin_of_sin, x),
        ALL,
    ),
    "custom_jvp_in_checkpoint": (
        checkpoint(lambda x: turns(jvp_sin, x)), lambda v: lambda x: turns(lax.sin, x), ALL,
    ),
    "custom_vjp_in_checkpoint": (
        checkpoint(lambda x: vjp_product(x, lax.cos(x))),
        lambda v: lambda x: product(x, lax.cos(x)),
        {"reverse"},
    ),
    "jit_in_scan": (
        lambda x: turns_by_scan(ev.jit(sin_of_sin), x),
        lambda v: lambda x: turns(sin_of_sin, x),
        ALL,
    ),
    "while": (while_loop, lambda v: while_plain, {"forward"}),
    "while_on_value": (
        while_on_value, lambda v: lambda x: while_on_value_plain(x, _count(v)), {"forward"},
    ),
}  # fmt: skip

POINTS = np.array([0.7, 1.3, 2.1], np.float32)


def tangent(f):
    return lambda x: ev.jvp(f, (x,), (np.float32(1.0),))[1]


def total(f):
    return lambda xs: lax.reduce_sum(ev.vmap(f)(xs), (0,))


def identity(f):
    return f


def grad2(f):
    return ev.grad(ev.grad(f))


def tangent2(f):
    return tangent(tangent(f))


# name: (transformation of the construct, of the plain function, whether over a batch, modes)
LAWS = {
    "value": (identity, identity, False, set()),
    "jit": (ev.jit, identity, False, set()),
    "jvp": (tangent, tangent, False, {"forward"}),
    "jvp_of_jvp": (tangent2, tangent2, False, {"forward"}),
    "grad": (ev.grad, ev.grad, False, {"reverse"}),
    "grad_of_grad": (grad2, grad2, False, {"reverse"}),
    "jvp_of_grad": (lambda f: tangent(ev.grad(f)), grad2, False, ALL),
    "grad_of_jvp": (lambda f: ev.grad(tangent(f)), grad2, False, ALL),
    "jit_of_grad": (lambda f: ev.jit(ev.grad(f)), ev.grad, False, {"reverse"}),
    "vmap": (ev.vmap, identity, True, set()),
    "vmap_of_grad": (lambda f: ev.vmap(ev.grad(f)), ev.grad, True, {"reverse"}),
    "vmap_of_jvp": (lambda f: ev.vmap(tangent(f)), tangent, True, {"forward"}),
    "grad_of_vmap": (lambda f: ev.grad(total(f)), ev.grad, True, {"reverse"}),
    "vmap_of_grad_of_grad": (
        lambda f: ev.vmap(grad2(f)), grad2, True, {"reverse"},
    ),
}  # fmt: skip

CASES = [
    pytest.param(program, law, id=f"{law}-{program}")
    for law, (*_, wanted) in LAWS.items()
    for program, (*_, modes) in PROGRAMS.items()
    if wanted <= modes
]


@pytest.mark.parametrize(("program", "law"), CASES)
def test_agrees_with_plain_python(program, law):
    construct, plain, _ = PROGRAMS[program]
    transform, transform_plain, over_batch, _ = LAWS[law]
    expected = np.array([value(transform_plain(plain(v))(v)) for v in POINTS])
    if over_batch:
        found = np.asarray(transform(construct)(POINTS))
    else:
        found = np.array([value(transform(construct)(v)) for v in POINTS])
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
