"""Running primitives on the host: NumPy's warnings stay off, and only there."""

import threading
import warnings

import numpy as np
import pytest

import evertrace.numpy as jnp


def test_no_warning_and_no_error_whatever_numpy_is_told():
    zero = jnp.zeros(2)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        out = jnp.ones(2) / zero
        with pytest.raises(FloatingPointError):
            np.ones(2) / np.zeros(2)
    np.testing.assert_array_equal(np.asarray(out), [np.inf, np.inf])


def test_quiet_in_other_threads():
    outs = []

    def work():
        with np.errstate(all="raise"):
            outs.append(np.asarray(jnp.log(jnp.zeros(3))))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outs) == 4
    assert all(np.isneginf(out).all() for out in outs)
