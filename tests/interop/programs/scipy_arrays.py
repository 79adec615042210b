"""SciPy in its array API mode takes arrays and returns arrays: ``scipy_arrays.py [as_jax]``.

Under `as_jax` SciPy finds that arrays cannot be written to, and writes with ``x.at[]``.
"""

import sys

import numpy as np
import scipy.constants
import scipy.differentiate
import scipy.fft
import scipy.integrate
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats

import evertrace as ev
import evertrace.numpy as jnp

CALLS = {
    "erf": scipy.special.erf,
    "gammaln": scipy.special.gammaln,
    "softmax": scipy.special.softmax,
    "fft": scipy.fft.fft,
    "skew": scipy.stats.skew,
    "gmean": scipy.stats.gmean,
    "entropy": scipy.stats.entropy,
    "trapezoid": scipy.integrate.trapezoid,
    "detrend": scipy.signal.detrend,
    "celsius": lambda x: scipy.constants.convert_temperature(x, "C", "K"),
    "gaussian_filter": lambda x: scipy.ndimage.gaussian_filter(x, 1.0),
}
WRITING = {
    "logsumexp": scipy.special.logsumexp,
    "zscore": scipy.stats.zscore,
    "derivative": lambda x: scipy.differentiate.derivative(_square, x).df,
}


def _square(x):
    return x * x


if sys.argv[1:] == ["as_jax"]:
    ev.as_jax()
    import jax  # noqa: F401

    CALLS |= WRITING

x = np.array([1.0, 2.0, 4.0, 3.0], np.float32)
for name, function in CALLS.items():
    found = function(jnp.asarray(x))
    assert isinstance(found, jnp.ndarray), (name, type(found))
    np.testing.assert_allclose(found, function(x), rtol=1e-4, atol=1e-5, err_msg=name)

softmax = np.asarray(scipy.special.softmax(x))
np.testing.assert_allclose(ev.jit(scipy.special.softmax)(jnp.asarray(x)), softmax, rtol=1e-5)
slope = ev.grad(lambda v: scipy.special.softmax(v)[0])(jnp.asarray(x))
np.testing.assert_allclose(slope, softmax[0] * (np.eye(4)[0] - softmax), atol=1e-6)
