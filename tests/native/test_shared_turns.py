"""Loops that carry nothing: threads share their turns, and get what one gets."""

import os
import subprocess
import sys

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import kernels as ek
from tests.support.tapes import check

pytestmark = pytest.mark.usefixtures("needs_native")

SQUARES = np.random.default_rng(0).normal(size=(64, 40, 40)).astype(np.float32) / 8


def formula(x):
    """A turn of some ten microseconds, of which no part is shared by itself."""
    return jnp.sin(x @ x.T @ x)


def in_order(x):
    """The same turns in a loop that counts them."""
    return lax.scan(lambda i, x: (i + 1, formula(x)), 0, x)


def backwards(x):
    return lax.scan(lambda _, x: (None, formula(x)), None, x, reverse=True)[1]


def nested(x):
    return lax.map(lambda y: lax.map(formula, y), x.reshape(4, 16, 40, 40))


LOOPS = {"map": lambda x: lax.map(formula, x), "backwards": backwards, "nested": nested}


@pytest.mark.parametrize("name", LOOPS)
def test_turns_that_are_shared_are_those_in_order(name):
    check(LOOPS[name], SQUARES)
    found = ev.jit(LOOPS[name], engine="native")(SQUARES).reshape(SQUARES.shape)
    np.testing.assert_array_equal(found, ev.jit(in_order, engine="native")(SQUARES)[1])


THREADS = """
import hashlib, os, sys
if sys.argv[1] == "one":
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
from tests.native.test_shared_turns import LOOPS, SQUARES, in_order
from tests.support.tapes import tape_of
def threads_after(fun):
    tape, inputs = tape_of(fun, SQUARES)
    outs = [tape.run(inputs)[-1] for _ in range(2)]
    digests.append(hashlib.sha256(bytes(memoryview(outs[1].__array__()).cast("B"))).hexdigest())
    return len(os.listdir("/proc/self/task"))
digests = []
before = threads_after(in_order)
print([threads_after(fun) - before for fun in LOOPS.values()])
print(digests)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted there")
def test_as_many_threads_as_processors_share_them():
    one, shared = (
        subprocess.run([sys.executable, "-c", THREADS, which], check=True, capture_output=True)
        for which in ("one", "all")
    )
    (counts, digests), (shared_counts, shared_digests) = (
        run.stdout.decode().splitlines() for run in (one, shared)
    )
    others = len(os.sched_getaffinity(0)) - 1
    assert counts == "[0, 0, 0]"
    assert shared_counts == str([others] * 3)
    assert digests == shared_digests
    assert len(set(eval(digests))) == 1


def test_turns_that_call_back_keep_their_order():
    seen = []

    def turn(x):
        ev.debug.callback(lambda x: seen.append(float(x)), x[0, 0], ordered=True)
        return formula(x)

    ev.block_until_ready(ev.jit(lambda x: lax.map(turn, x))(SQUARES))
    ev.effects_barrier()
    assert seen == SQUARES[:, 0, 0].tolist()


def test_what_a_kernel_writes_in_blocks_of_their_own_is_shared():
    """Each head and block of queries of attention is a turn."""
    q, k, v = np.random.default_rng(1).normal(size=(3, 4, 256, 32)).astype(np.float32)
    found = ev.jit(ek.flash_attention)(q, k, v)
    want = ev.nn.softmax(q @ k.transpose(0, 2, 1) / 32**0.5) @ v
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)
