"""Tables of expressions that must mean the same with NumPy's functions and with ours."""

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp


def _arrays():
    rng = np.random.default_rng(0)
    x, y, sq = (rng.standard_normal(s).astype(np.float32) for s in ((3, 4), (3, 4), (4, 4)))
    ints = rng.integers(-5, 6, (3, 4)).astype(np.int32)
    nans = x.copy()
    nans[0, 1] = np.nan
    return {
        "x": x,
        "y": y,
        "sq": sq,
        "v": rng.standard_normal(4).astype(np.float32),
        "c": rng.standard_normal((2, 3, 4)).astype(np.float32),
        "i": ints,
        "i8": ints.astype(np.int8),
        "b": x > 0,
        "n": nans,
        "z": (x + 1j * y).astype(np.complex64),
        "u": np.array([3, 1, 2, 3, 1], np.int32),
        "e": np.array([-1.0, 0.0, 1.0], np.float32),
    }


ARRAYS = _arrays()
"""What the names in expressions stand for; `np` stands for NumPy or for our namespace."""


def evaluate(expression, namespace, arrays):
    """Return the value of an expression as a flat list of arrays."""
    found = eval(expression, {**arrays, "np": namespace})
    return list(_leaves(found))


def _leaves(value):
    if isinstance(value, tuple | list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def check_agreement(expression):
    """Compare the value of an expression with NumPy's: shapes, kinds of dtypes, elements."""
    wanted = evaluate(expression, np, ARRAYS)
    ours = {name: jnp.asarray(x) for name, x in ARRAYS.items()}
    found = evaluate(expression, jnp, ours)
    assert len(found) == len(wanted)
    for ours, theirs in zip(map(np.asarray, found), map(np.asarray, wanted), strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype.kind == theirs.dtype.kind
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-5)


def check_compiled(expressions):
    """Compare the values of expressions, all in one compiled program, with the eager ones."""
    ours = {name: jnp.asarray(x) for name, x in ARRAYS.items()}

    def program(arrays):
        return [evaluate(expression, jnp, arrays) for expression in expressions]

    for expression, compiled, eager in zip(
        expressions, ev.jit(program)(ours), program(ours), strict=True
    ):
        for a, b in zip(compiled, eager, strict=True):
            assert a.aval is b.aval, expression
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5, err_msg=expression)
