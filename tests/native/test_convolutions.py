"""Convolutions of tapes: products of windows that are laid out block by block, never as a whole."""

import os
import subprocess
import sys

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import dtypes
from tests.support.tapes import check, tape_of

pytestmark = pytest.mark.usefixtures("needs_native")


def random_convolution(rng, large):
    """Return a convolution of any layout, strides, dilations and paddings, and operands."""
    rank = int(rng.integers(1, 4))
    sides = "HWD"[:rank]
    n, c, o = (int(rng.choice(sizes)) for sizes in ([1, 2, 5], [1, 2, 3, 8, 17], [1, 7, 8, 33]))
    low, high = (24, 40) if large else (5, 9)
    if large:  # several blocks of places, and of what is in a window; runs that are read in place
        sides, n, c, o = "HW", 2, int(rng.choice([8, 70])), 33
    sizes = {side: int(rng.integers(low, high)) for side in sides}
    window = {side: int(rng.integers(1, 4)) for side in sides}
    names = ["".join(rng.permutation(list(k + sides))) for k in ("NC", "OI", "NC")]
    operands = [
        rng.standard_normal([{**sizes, "N": n, "C": c}[d] for d in names[0]]),
        rng.standard_normal([{**window, "O": o, "I": c}[d] for d in names[1]]),
    ]
    numbers = {
        "window_strides": [int(k) for k in rng.integers(1, 3, len(sides))],
        "padding": [tuple(int(k) for k in rng.integers(0, 3, 2)) for _ in sides],
        "lhs_dilation": [int(k) for k in rng.integers(1, 3, len(sides))],
        "rhs_dilation": [int(k) for k in rng.integers(1, 3, len(sides))],
        "dimension_numbers": tuple(names),
    }
    return lambda x, k: lax.conv_general_dilated(x, k, **numbers), operands


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_any_convolution_and_its_derivatives_are_the_hosts(seed, large):
    fun, operands = random_convolution(np.random.default_rng(seed), large)

    def derived(x, k):
        y = fun(x, k)
        return y, *ev.grad(lambda x, k: jnp.vdot(fun(x, k), jnp.cos(y)), (0, 1))(x, k)

    with ev.enable_x64():
        operands = [jnp.asarray(x) for x in operands]
        wants = derived(*operands)
        tape, inputs = tape_of(derived, *operands)
        for got, want in zip(tape.run(inputs), wants, strict=True):
            scale = max(1.0, float(jnp.abs(want).max()))
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-13 * scale)


IMAGES = np.random.default_rng(0).standard_normal((8, 32, 32, 16), np.float32)
KERNEL = np.random.default_rng(1).standard_normal((3, 3, 16, 32), np.float32)


def convolved(x, k, **params):
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=numbers, **params)


def test_windows_are_never_in_memory_as_a_whole():
    tape, _ = tape_of(convolved, IMAGES, KERNEL)
    assert (
        tape.counts()["arena_bytes"] < 1.5 * IMAGES.nbytes
    )  # as it is padded; windows are 9 of it


def test_derivatives_read_cotangents_where_they_lie():
    def derived(x, dy):
        return ev.linear_transpose(lambda k: convolved(x, k), KERNEL)(dy)

    tape, _ = tape_of(derived, IMAGES, np.ones((8, 32, 32, 32), np.float32))
    assert tape.counts()["arena_bytes"] < 1.5 * IMAGES.nbytes  # nothing is transposed


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "complex64"])
def test_other_dtypes_lay_windows_out(dtype):
    x, k = np.round(IMAGES[:1, :6, :6] * 4), np.round(KERNEL * 4)
    dtype = dtypes.bfloat16 if dtype == "bfloat16" else dtype
    check(convolved, x.astype(dtype), k.astype(dtype))


def test_groups_lay_windows_out():
    kernel = KERNEL[:, :, :4, :8]
    check(lambda x, k: convolved(x[:1], k, feature_group_count=4), IMAGES, kernel, ulps=64)


DIGEST = """
import hashlib, os, sys
if sys.argv[1] == "one":
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
from tests.native.test_convolutions import IMAGES, KERNEL, convolved, tape_of
import evertrace as ev
import evertrace.numpy as jnp
def both(x, k):
    y = convolved(x, k)
    return y, ev.grad(lambda k: jnp.vdot(convolved(x, k), y))(k)
tape, inputs = tape_of(both, IMAGES, KERNEL)
print([hashlib.sha256(bytes(memoryview(x.__array__()).cast("B"))).hexdigest()
       for x in tape.run(inputs)])
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads are chosen by it")
def test_sums_are_the_same_for_any_number_of_threads():
    one, all_ = (
        subprocess.run([sys.executable, "-c", DIGEST, threads], check=True, capture_output=True)
        for threads in ("one", "all")
    )
    assert len(one.stdout) > 64
    assert one.stdout == all_.stdout
