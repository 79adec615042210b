"""Numerical checks of derivatives, in float64.

Tangents and cotangents pair as Re(sum(ct * t)), which for complex numbers is the pairing under
which transposition does not conjugate.
"""

import numpy as np

from evertrace._src import config
from evertrace._src.core.aval import is_inexact
from evertrace._src.transforms.jvp import jvp_flat
from evertrace._src.transforms.linearize import tape_flat
from evertrace._src.transforms.transpose import pull
from tests.support.runtime import array, flat, to_numpy

STEP = 1e-5  # balances the error of central differences, h ** 2, with rounding, 1e-16 / h
TOLERANCE = 1e-6


def check_grads(fun, args, order=2, modes=("fwd", "rev"), seed=0):
    """Compare derivatives of `fun` with central differences, up to `order`.

    Args:
      fun: function of arrays that returns an array or a sequence of them.
      args: float64 or complex128 ndarrays.
      order: how often to differentiate.
      modes: "fwd", "rev"; for higher orders in every combination.
      seed: for the random directions.
    """
    with config.override(enable_x64=True):
        _check(flat(fun), list(args), order, modes, np.random.default_rng(seed), "")


def _check(fun, args, order, modes, rng, path):
    tangents = [_random_like(x, rng) for x in args]
    numerical = numerical_jvp(fun, args, tangents)
    cts = [None if dy is None else _random_like(dy, rng) for dy in numerical]
    derived = {"fwd": _pushed(fun, tangents), "rev": _pulled(fun, cts)}
    for mode in modes:
        label = f"{path}{mode}"
        results = [to_numpy(x) for x in derived[mode](*map(array, args))]
        if mode == "fwd":
            _compare_all(results, [dy for dy in numerical if dy is not None], label)
        else:
            left = sum(
                pairing(c, dy) for c, dy in zip(cts, numerical, strict=True) if c is not None
            )
            right = sum(pairing(g, t) for g, t in zip(results, tangents, strict=True))
            scale = sum(np.sum(np.abs(g * t)) for g, t in zip(results, tangents, strict=True))
            _compare(right, left, label, scale)
        if order > 1:
            _check(derived[mode], args, order - 1, modes, rng, f"{label} of ")


def numerical_jvp(fun, args, tangents):
    """Return the derivative in a direction by central differences; None for integer outputs."""

    def at(step):
        moved = [x + step * t for x, t in zip(args, tangents, strict=True)]
        return fun(*map(array, moved))

    outs = zip(at(STEP), at(-STEP), strict=True)
    return [
        (to_numpy(up) - to_numpy(down)) / (2 * STEP) if is_inexact(up.aval) else None
        for up, down in outs
    ]


def _pushed(fun, tangents):
    """Return the function that gives the output tangents of `fun` for fixed input tangents."""

    def pushed(*args):
        outs, out_tangents = jvp_flat(fun, args, list(map(array, tangents)))
        return [
            array(np.zeros(x.shape, x.dtype)) if t is None else t
            for x, t in zip(outs, out_tangents, strict=True)
            if is_inexact(x.aval)
        ]

    return pushed


def _pulled(fun, cts):
    """Return the function that gives the gradients of `fun` for fixed cotangents."""

    def pulled(*args):
        tape, nodes, pairs = tape_flat(fun, args, [True] * len(args))
        given = [None if ct is None else array(ct) for ct in cts]
        found = pull(tape.entries, [node for _, node in pairs], given, nodes)
        return [
            array(np.zeros(x.shape, x.dtype)) if g is None else g
            for x, g in zip(args, found, strict=True)
        ]

    return pulled


def pairing(ct, t):
    """Return Re(sum(ct * t))."""
    return np.sum(ct * t).real


def _random_like(x, rng):
    values = rng.uniform(-1, 1, np.shape(x))
    if np.asarray(x).dtype.kind == "c":
        values = values + 1j * rng.uniform(-1, 1, np.shape(x))
    return np.asarray(values, np.asarray(x).dtype)


def _compare_all(got, want, label):
    for x, y in zip(got, want, strict=True):
        _compare(x, y, label, np.max(np.abs(y), initial=0.0))


def _compare(got, want, label, scale):
    off = np.max(np.abs(got - want), initial=0.0)
    assert off <= TOLERANCE * max(scale, 1.0), f"{label}: got {got}, numerically {want}"
