"""A result that a program could not compute is an error wherever it is read, never a number.

XLA allocates while a program runs, after the call has returned. NumPy drops the error that such a
buffer raises and takes the Python object for the number: sums came out as addresses. A whole array
that was never allocated ends the process when its memory is asked for.
"""

import copy
import pickle

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.errors import JaxRuntimeError

N = 2**47  # elements: more bytes than a machine of today has addresses

READS = {
    "array": np.asarray,
    "repr": repr,
    "number": lambda x: x.item(0),
    "list": lambda x: x.tolist(),
    "operation": lambda x: x + 1,
    "program": lambda x: ev.jit(lambda y: jnp.max(y) + 1, engine="xla")(x).block_until_ready(),
    "wait": lambda x: x.block_until_ready(),
    "wait for all": lambda x: ev.block_until_ready([x]),
    "copy": copy.deepcopy,
    "pickle": pickle.dumps,
    "dlpack": np.from_dlpack,
    "pointer": lambda x: x.unsafe_buffer_pointer(),
}


def lost_results():
    """Return an array and a number of a program that cannot have its memory."""

    def fun(x):
        long = lax.cumsum(lax.broadcast(x, (N,)))
        return long.reshape(4, -1).max(1), long[-1] + 1

    return ev.jit(fun, engine="xla")(jnp.float32(2))


@pytest.fixture(params=["array", "number"])
def lost(request):
    """Return one of them."""
    return lost_results()[request.param == "number"]


@pytest.mark.engine
@pytest.mark.parametrize("read", READS)
def test_reading_says_what_went_wrong(lost, read):
    with pytest.raises(JaxRuntimeError, match="Out of memory"):
        READS[read](lost)


@pytest.mark.engine
@pytest.mark.usefixtures("needs_native")
def test_a_tape_that_is_given_it_says_so_too():
    with pytest.raises(JaxRuntimeError, match="Out of memory"):
        ev.jit(lambda x: x + 1, engine="native")(lost_results()[1])


@pytest.mark.engine
def test_sums_that_need_no_memory_are_right():
    total = ev.jit(lambda x: lax.broadcast(x, (N,)).sum(), engine="xla")(jnp.float32(2))
    assert total == 2.0**48
    count = ev.jit(lambda: jnp.ones((2**33,), np.int32).max(), engine="xla")()
    assert count == 1
    last = ev.jit(lambda: lax.iota(np.int32, 2**33)[2**32 + 7], engine="xla")()
    assert last == 7  # as int32 counts
