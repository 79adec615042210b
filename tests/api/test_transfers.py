"""Transfer guards: which transfers are implicit, and what each level does about them."""

import logging

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

X = np.ones(3, np.float32)


@pytest.fixture(scope="module")
def double():
    return ev.jit(lambda x: 2 * x)


IMPLICIT = {
    "argument of a program": lambda double, _: double(X),
    "operand": lambda _, array: array + X,
    "numpy function": lambda _, array: jnp.sin(X),
    "asarray": lambda _, array: jnp.asarray(X),
}
EXPLICIT = {"device_put": lambda _, array: ev.device_put(X)}
NONE = {
    "array": lambda double, array: double(array),
    "to numpy": lambda _, array: np.asarray(array),
    "device_get": lambda _, array: ev.device_get(array),
    "number": lambda _, array: array + 1,
}


def refusal():
    return pytest.raises(
        ev.errors.JaxRuntimeError, match=r"Disallowed host-to-device transfer of f32\[3\]"
    )


@pytest.mark.parametrize("name", IMPLICIT | EXPLICIT | NONE)
def test_levels(double, caplog, name):
    call, array = (IMPLICIT | EXPLICIT | NONE)[name], jnp.zeros(3)
    with ev.transfer_guard("allow"):
        call(double, array)
    refused = {"disallow": IMPLICIT, "disallow_explicit": IMPLICIT | EXPLICIT}
    for level, names in refused.items():
        with ev.transfer_guard(level):
            if name in names:
                with refusal():
                    call(double, array)
            else:
                call(double, array)
    for level, names in {"log": IMPLICIT, "log_explicit": IMPLICIT | EXPLICIT}.items():
        caplog.clear()
        with caplog.at_level(logging.WARNING, "evertrace"), ev.transfer_guard(level):
            call(double, array)
        logged = [r.getMessage() for r in caplog.records]
        assert logged == (["host-to-device transfer of f32[3]"] if name in names else [])


def test_other_directions_do_not_matter_on_the_cpu():
    for guard in (ev.transfer_guard_device_to_host, ev.transfer_guard_device_to_device):
        with guard("disallow"):
            IMPLICIT["asarray"](None, None)
    with ev.transfer_guard_host_to_device("disallow"), refusal():
        IMPLICIT["asarray"](None, None)
