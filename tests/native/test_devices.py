"""Calls of jitted functions under a device, given or named by the option, are made in C++."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

pytestmark = pytest.mark.usefixtures("needs_native")

X = np.float32([1, 2, 3])


def double(x):
    return x * 2 + 1


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("kind", ["numpy", "array", "committed"])
def test_the_first_device_is_where_calls_run_anyway(engine, kind, called_in_python):
    device = ev.devices()[0]
    x = {"numpy": X, "array": jnp.asarray(X), "committed": ev.device_put(X, device)}[kind]
    f = ev.jit(double, device=device, engine=engine)
    for _ in range(6):
        found = f(x)
        assert (found.device, found.committed) == (device, False)
        np.testing.assert_array_equal(found, X * 2 + 1)
    assert 1 <= len(called_in_python) <= 3
    assert f.explain().variants[0].engine.startswith(engine)


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("rules", ["contract", "jax"])
def test_the_option_that_names_the_first_device(engine, rules, called_in_python):
    f = ev.jit(double, strict=rules == "jax", engine=engine)
    x = jnp.asarray(X)
    for _ in range(6):
        with ev.default_device(ev.devices()[0]):
            np.testing.assert_array_equal(f(x), X * 2 + 1)
    assert 1 <= len(called_in_python) <= 3


OTHERS = """
    import numpy as np, evertrace as ev, evertrace.numpy as jnp
    from evertrace._src.jit import dispatch
    from evertrace._src.extension import native

    calls, plain = [], dispatch.JitFunction.__call__
    def call(self, *args):
        calls.append(1)
        return plain(self, *args)
    dispatch.JitFunction.__call__ = call
    native.set_jit_class(dispatch.JitFunction, dispatch._entry, dispatch.shorten)

    first, second = ev.devices()
    X = np.float32([1, 2, 3])
    on_first, on_second = ev.device_put(X, first), ev.device_put(X, second)

    def check(f, x, device, most, context=None):
        calls.clear()
        for _ in range(6):
            found = f(x)
            assert found.device is device and found.committed is (device is not first), found.device
            np.testing.assert_array_equal(found, X * 2 + 1)
        assert len(calls) <= most, (len(calls), most)

    def make(**options):
        return ev.jit(lambda x: x * 2 + 1, **options)

    # What is elsewhere is moved by Python, at every call.
    for x in (X, jnp.asarray(X), on_second):
        check(make(device=second), x, second, 3)
        check(make(device=first), on_second, first, 6)
    check(make(device=second), on_first, second, 6)
    check(make(device=first), on_first, first, 3)
    check(make(), on_second, second, 6)
    f, g = make(), make(device=first)
    for _ in range(2):
        check(f, X, first, 3)
        with ev.default_device(second):
            check(f, X, second, 3)
            check(f, on_first, first, 6)
            check(f, jnp.asarray(X), second, 3)
            check(g, X, first, 3)
    with ev.default_device(second):
        try:
            make(engine="native")(X)
        except ValueError as error:
            assert "runs on the first CPU device" in str(error)
        else:
            raise AssertionError
"""


def test_other_devices():
    environment = {**os.environ, "EVERTRACE_NUM_CPU_DEVICES": "2"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", textwrap.dedent(OTHERS)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
