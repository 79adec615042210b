"""Transformations as layers that can be stacked in any order, each with the law it must obey.

A layer takes a flat function (arrays -> tuple of arrays) with example arguments and gives a new one
with its arguments, and a check of the new function's results against the old function. The old
function is itself a stack that was checked before, so no numerical derivative is ever nested.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import extension
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.jaxpr import subjaxprs
from evertrace._src.engines.native.engine import compile_jaxpr
from evertrace._src.transforms.staging import hoist_consts
from evertrace.core import check_jaxpr, eval_jaxpr
from tests.compose.steps import random_array

STEPS = (1e-5, 1e-6)  # of central differences, in float64
NUMERICAL = 2e-5  # relative error allowed to them


@dataclasses.dataclass
class Layer:
    """A transformed function.

    Attributes:
      name: of the transformation.
      fun: the new function.
      args: its example arguments.
      check: function of its results that raises if they break the law.
    """

    name: str
    fun: Callable
    args: list
    check: Callable


# ------------------------------------------------------------------ comparing


def is_float(x):
    return jnp.issubdtype(jnp.result_type(x), np.floating)


def value_of(x):
    """Return an ndarray of floats in float64, or of integers as they are."""
    x = np.asarray(x)
    return x.astype(np.float64) if is_float(x) else x


def has_float32(fun, args):
    """Whether a function computes anything in float32, bodies of calls and loops included."""
    pending = [ev.make_jaxpr(fun)(*args).jaxpr]
    while pending:
        jaxpr = pending.pop()
        for eqn in jaxpr.eqns:
            pending += subjaxprs(eqn.params)
            if any(v.aval.dtype == np.float32 for v in eqn.outvars):
                return True
    return False


def assert_close(got, want, tolerance, label, types=True):
    assert len(got) == len(want), f"{label}: {len(got)} outputs, want {len(want)}"
    for i, (x, y) in enumerate(zip(got, want, strict=True)):
        if types:
            assert type_of(x) == type_of(y), f"{label}: output {i}: {type_of(x)}, want {type_of(y)}"
        x, y = value_of(x), value_of(y)
        assert x.shape == y.shape, f"{label}: output {i}: shape {x.shape}, want {y.shape}"
        scale = max(1.0, np.max(np.abs(y[np.isfinite(y)]), initial=0.0)) if is_float(y) else 0
        np.testing.assert_allclose(
            x, y, rtol=0, atol=tolerance * scale, err_msg=f"{label}: output {i}"
        )


def type_of(x):
    """Return shape, dtype and weak type of a value."""
    aval = jnp.asarray(x).aval
    return aval.str_short() + (" weak" if aval.weak_type else "")


def same(fun, args, tolerance, label):
    """Return the check that results are those of `fun`."""
    return lambda got: assert_close(got, fun(*args), tolerance, label)


# ------------------------------------------------------------------ layers that change nothing


def jit(fun, args, rng, tolerance):
    return Layer("jit", ev.jit(fun, engine="xla"), args, same(fun, args, tolerance, "jit"))


def tape_agrees(fun, args, want, tolerance):
    """Run a function as a tape of native kernels, if it can be one; returns whether it can."""
    closed = ev.make_jaxpr(lambda *xs: tuple(fun(*xs)))(*args)
    made = (
        compile_jaxpr(hoist_consts(closed.jaxpr), is_wanted=True) if extension.is_built() else None
    )
    if made is None or made.tape is None:
        return False
    inputs = [*closed.consts, *[as_array(x) for x in args]]
    for turn in ("first", "second"):  # the second finds what the first left in the arena
        assert_close(made.tape.run(inputs), want, tolerance, f"tape, {turn} run")
    return True


def checkpoint(fun, args, rng, tolerance):
    return Layer("checkpoint", ev.checkpoint(fun), args, same(fun, args, tolerance, "checkpoint"))


def staged(fun, args, rng, tolerance):
    """Make a jaxpr, check it, and evaluate it."""

    def evaluated(*xs):
        jaxpr = ev.make_jaxpr(fun)(*xs)
        check_jaxpr(jaxpr.jaxpr)
        return tuple(eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *xs))

    return Layer("staged", evaluated, args, same(fun, args, tolerance, "staged"))


def closed_over(fun, args, rng, tolerance):
    """Close over some arguments in a jitted function of the others."""
    held = (rng.random(len(args)) < 0.5).tolist()

    def outer(*xs):
        def inner(*given):
            given = iter(given)
            return fun(*[x if h else next(given) for x, h in zip(xs, held, strict=True)])

        return ev.jit(inner)(*[x for x, h in zip(xs, held, strict=True) if not h])

    return Layer("closed over", outer, args, same(fun, args, tolerance, "closed over"))


def cond(fun, args, rng, tolerance):
    """Put the function into one of two branches."""
    flag = bool(rng.random() < 0.5)

    def branch(*xs):
        size = jnp.sum(jnp.abs(xs[0])).astype("float32")
        pred = size >= 0 if flag else size < -1
        same_types = [lambda *ys: fun(*ys), lambda *ys: tuple(jnp.flip(x) for x in fun(*ys))]
        return lax.cond(pred, *(same_types if flag else same_types[::-1]), *xs)

    def check(got):
        assert_close(got, fun(*args), tolerance, "cond")

    return Layer("cond", branch, args, check)


# ------------------------------------------------------------------ vectorisation


def vmap(fun, args, rng, tolerance):
    size = int(rng.integers(1, 4))
    mapped = [bool(rng.random() < 0.7) and hasattr(x, "aval") for x in args]
    if not any(mapped):
        mapped[0] = True
    in_axes = [
        int(rng.integers(-1, np.ndim(x) + 1)) if m else None
        for x, m in zip(args, mapped, strict=True)
    ]
    rows = [
        [_vary(x, rng) if m and i else x for x, m in zip(args, mapped, strict=True)]
        for i in range(size)
    ]
    batches = [
        x if a is None else jnp.stack([jnp.asarray(row[j]) for row in rows], a)
        for j, (x, a) in enumerate(zip(args, in_axes, strict=True))
    ]
    outs = [fun(*row) for row in rows]
    out_axes = tuple(int(rng.integers(-1, np.ndim(x) + 1)) for x in outs[0])
    batched = ev.vmap(fun, in_axes=tuple(in_axes), out_axes=out_axes)

    def check(got):
        got = [jnp.moveaxis(x, a, 0) for x, a in zip(got, out_axes, strict=True)]
        for i, want in enumerate(outs):
            assert_close([x[i] for x in got], want, tolerance, f"vmap, row {i}")

    return Layer(f"vmap in_axes={in_axes} out_axes={out_axes} of {size}", batched, batches, check)


def _vary(x, rng):
    x = jnp.asarray(x)
    if not is_float(x):
        return random_array(rng, x.shape, x.dtype)
    return x + 0.3 * random_array(rng, x.shape, x.dtype)


def mapped(fun, args, rng, tolerance):
    """Map over rows one after the other, by a scan."""
    rows = [args, [_vary(x, rng) for x in args]]
    batches = [jnp.stack([jnp.asarray(row[j]) for row in rows]) for j in range(len(args))]

    def check(got):
        for i, row in enumerate(rows):
            want = fun(*map(jnp.asarray, row))
            assert_close([x[i] for x in got], want, tolerance, f"map, row {i}", types=False)

    return Layer("map", lambda *xs: lax.map(lambda row: fun(*row), xs), batches, check)


# ------------------------------------------------------------------ derivatives


def _floats(args):
    return [i for i, x in enumerate(args) if is_float(x)]


def _with(args, positions, values):
    args = list(args)
    for i, x in zip(positions, values, strict=True):
        args[i] = x
    return args


def _directions(xs, rng):
    return [random_array(rng, np.shape(x), jnp.result_type(x)) for x in xs]


def _float_part(fun, args):
    """Return the function from the float arguments to the float outputs."""
    positions = _floats(args)

    def part(*xs):
        return tuple(y for y in fun(*_with(args, positions, xs)) if is_float(y))

    return part


def _numerical(fun, args, tangents, step):
    """Return the derivative of the float outputs in a direction."""
    positions = _floats(args)

    def at(h):
        pairs = zip(positions, tangents, strict=True)
        moved = [np.asarray(args[i]) + h * np.asarray(t) for i, t in pairs]
        return [value_of(y) for y in _float_part(fun, args)(*map(jnp.asarray, moved))]

    return [(up - down) / (2 * step) for up, down in zip(at(step), at(-step), strict=True)]


def check_derivative(fun, args, tangents, got, tolerance, label):
    """Compare with a central difference; a kink within its reach excuses a mismatch."""
    if any(np.asarray(x).dtype != np.float64 for x in [*tangents, *got]):
        want = ev.jvp(_float_part(fun, args), tuple(_float_args(args)), tuple(tangents))[1]
        return assert_close(got, want, tolerance, label, types=False)
    wide = _numerical(fun, args, tangents, STEPS[0])
    try:
        assert_close(got, wide, NUMERICAL, label, types=False)
    except AssertionError:
        narrow = _numerical(fun, args, tangents, STEPS[1])
        try:
            assert_close(narrow, wide, NUMERICAL, label, types=False)
        except AssertionError:
            return None
        raise
    return None


def _float_args(args):
    return [jnp.asarray(args[i]) for i in _floats(args)]


def jvp(fun, args, rng, tolerance, by=ev.jvp, name="jvp"):
    positions = _floats(args)
    count = len(args)
    tangents = _directions([args[i] for i in positions], rng)

    def pushed(*xs):
        args, given = xs[:count], tuple(xs[count:])
        part = _float_part(fun, args)
        at = tuple(jnp.asarray(args[i]) for i in positions)
        if by is ev.jvp:
            outs, tangents = ev.jvp(part, at, given)
        else:
            outs, push = ev.linearize(part, *at)
            tangents = push(*given)
        return (*outs, *tangents)

    def check(got):
        outs = _float_part(fun, args)(*_float_args(args))
        n = len(outs)
        assert_close(got[:n], outs, tolerance, f"{name}, outputs")
        check_derivative(fun, args, tangents, got[n:], tolerance, f"{name}, tangents")

    return Layer(name, pushed, [*args, *tangents], check)


def linearize(fun, args, rng, tolerance):
    return jvp(fun, args, rng, tolerance, ev.linearize, "linearize")


def vjp(fun, args, rng, tolerance):
    positions, count = _floats(args), len(args)
    outs = _float_part(fun, args)(*_float_args(args))
    cts = _directions(outs, rng)

    def pulled(*xs):
        args = xs[:count]
        at = [jnp.asarray(args[i]) for i in positions]
        outs, pull = ev.vjp(_float_part(fun, args), *at)
        return (*outs, *pull(tuple(xs[count:])))

    def check(got):
        assert_close(got[: len(outs)], outs, tolerance, "vjp, outputs")
        _check_pulled(fun, args, cts, got[len(outs) :], rng, tolerance, "vjp")

    return Layer("vjp", pulled, [*args, *cts], check)


def _check_pulled(fun, args, cts, gradients, rng, tolerance, label):
    """Compare <gradient, t> with the derivative of <ct, fun> in the direction t."""
    for x, g in zip(_float_args(args), gradients, strict=True):
        assert (x.shape, x.dtype) == (g.shape, g.dtype), f"{label}: {type_of(g)} for {type_of(x)}"
    tangents = _directions(_float_args(args), rng)

    def paired(*xs):
        outs = [y for y in fun(*xs) if is_float(y)]
        return (sum([jnp.sum(y * c) for y, c in zip(outs, cts, strict=True)], jnp.zeros(())),)

    got = sum([np.sum(value_of(g) * value_of(t)) for g, t in zip(gradients, tangents, strict=True)])
    dtype = np.result_type(np.float32, *[np.asarray(g).dtype for g in gradients])
    got = jnp.asarray(np.asarray(got, dtype))
    check_derivative(paired, args, tangents, [got], 10 * tolerance, label)


def grad(fun, args, rng, tolerance):
    positions = tuple(_floats(args))

    def total(*xs):
        return sum([jnp.sum(jnp.sin(y)) for y in fun(*xs) if is_float(y)], 0.0)

    def check(got):
        cts = [jnp.ones(())]
        wrapped = lambda *xs: (jnp.asarray(total(*xs)),)  # noqa: E731
        _check_pulled(wrapped, args, cts, got, rng, tolerance, "grad")

    derived = ev.grad(lambda *xs: 1.0 * total(*xs), argnums=positions)
    return Layer("grad", derived, args, check)


def jacobian(fun, args, rng, tolerance, by=ev.jacfwd, name="jacfwd"):
    """Differentiate the first float output by the first float argument."""
    i = _floats(args)[0]

    def first(*xs):
        return next((y for y in fun(*xs) if is_float(y)), jnp.asarray(xs[i]) * 2.0)

    def derived(*xs):
        return (by(first, argnums=i)(*_with(xs, [i], [jnp.asarray(xs[i])])),)

    def check(got):
        out, x = first(*args), jnp.asarray(args[i])
        (matrix,) = got
        assert matrix.shape == out.shape + x.shape, f"{name}: {matrix.shape}"
        (t,) = _directions([x], rng)
        along = jnp.tensordot(matrix, t, axes=x.ndim)
        part = lambda x: (first(*_with(args, [i], [x])),)  # noqa: E731
        check_derivative(part, [x], [t], [along], tolerance, name)

    return Layer(name, derived, args, check)


def jacrev(fun, args, rng, tolerance):
    return jacobian(fun, args, rng, tolerance, ev.jacrev, "jacrev")


NEUTRAL = (jit, checkpoint, staged, closed_over, cond)
BATCHING = (vmap, vmap, vmap, mapped)
FORWARD = (jvp, jvp, jacobian)
REVERSE = (vjp, vjp, grad)
EITHER = (linearize, jacrev)
