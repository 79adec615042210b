"""Programs of which kernels are made, with their operands."""

import numpy as np

import evertrace.numpy as jnp
from evertrace import lax, nn


def accelerations(p, m):
    d = p[None, :, :] - p[:, None, :]
    r2 = jnp.sum(d * d, -1) + 1e-3
    w = m[None, :] / (r2 * jnp.sqrt(r2))
    return jnp.sum(w[:, :, None] * d, 1)


def layer_norm(x, g, b):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(var + 1e-5) * g + b


def log_sum_exp(x):
    most = jnp.max(x, 1, keepdims=True)
    return jnp.log(jnp.sum(jnp.exp(x - most), 1)) + most[:, 0]


def nearest(x, c):
    return jnp.argmin(jnp.sum((x[:, None] - c[None]) ** 2, -1), 1)


def column_norms(x):
    return jnp.sqrt(jnp.sum(x * x, 0))


def standardised(x):
    return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1.0)


def reversed_differences(x):
    return jnp.tanh(x[::-1, 1:] - x[:, :-1]).T * 2.0


def total(x):
    return jnp.sum(jnp.exp(-jnp.abs(x)))


def rows_and_columns(x):
    y = x * 2.0 + 1.0
    return y.sum(1), y.max(0), jnp.where(y > 0, y, 0.0)


def escapes(c):
    """Count the turns after which points escape; only the count is returned."""

    def turn(_, state):
        x, y, n = state
        live = x * x + y * y <= 4.0
        moved = x * x - y * y + c, 2.0 * x * y + 0.3
        return jnp.where(live, moved[0], x), jnp.where(live, moved[1], y), n + live

    return lax.fori_loop(0, 30, turn, (c, 0 * c, jnp.zeros(c.shape, int)))[2]


SIZES = [(1, 1), (2, 3), (5, 15), (3, 16), (17, 17), (4, 33), (40, 64), (7, 65), (70, 130)]
"""Rows and columns: short ones, whole vectors, remainders, loops."""


def drawn(shape, dtype=np.float32, seed=0):
    """Return random numbers of a shape."""
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


ON_MATRICES = {
    "softmax": nn.softmax,
    "log_sum_exp": log_sum_exp,
    "column_norms": column_norms,
    "standardised": standardised,
    "total": total,
    "rows_and_columns": rows_and_columns,
    "layer_norm": lambda x: layer_norm(x, x[0], x[-1]),
    "accelerations": lambda x: accelerations(x[:, :1] * jnp.ones(3), x[:, 0]),
    "nearest": lambda x: nearest(x, x[:2] * 0.5),
}


def assert_close(got, want):
    """Check NaNs and infinities, and other floats against the largest of them."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    finite = np.isfinite(want)
    np.testing.assert_array_equal(np.where(finite, 0, got), np.where(finite, 0, want))
    scale = np.max(np.abs(want[finite]), initial=0.0)
    bound = 40 * np.finfo(want.dtype).eps * scale
    np.testing.assert_allclose(got[finite], want[finite], rtol=0, atol=bound)
