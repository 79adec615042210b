"""Fourier transforms by kernels, beside NumPy's functions, whose loops they call."""

import os
import subprocess
import sys

import numpy as np
import pytest

import evertrace.numpy as jnp
from evertrace._src import extension, kernels
from evertrace._src.ops import fft as ops
from tests.support.tapes import tape_of

pytestmark = pytest.mark.usefixtures("needs_native")

SHAPES = [(1,), (2,), (5,), (97,), (128,), (3, 8), (4, 1, 7), (2, 3, 5, 6), (60, 16)]
KINDS = {
    "FFT": ("complex", np.fft.fftn),
    "IFFT": ("complex", np.fft.ifftn),
    "RFFT": ("float", np.fft.rfftn),
    "IRFFT": ("complex", np.fft.irfftn),
}


@pytest.mark.parametrize("is_double", [False, True], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize("kind", KINDS)
def test_transform_is_that_of_numpy(kind, is_double):
    (name, oracle), rng = KINDS[kind], np.random.default_rng(0)
    dtype = f"{name}{(1 + is_double) * (64 if name == 'complex' else 32)}"
    for shape in SHAPES:
        for count in range(1, min(len(shape), 3) + 1):
            lengths, axes = shape[-count:], range(len(shape) - count, len(shape))
            taken = (*shape[:-1], ops.half(shape[-1])) if kind == "IRFFT" else shape
            x = (rng.normal(size=taken) + 1j * rng.normal(size=taken)).astype(
                dtype, casting="unsafe"
            ) if name == "complex" else rng.normal(size=taken).astype(dtype)  # fmt: skip
            got = ops.fft_p.host(x, fft_type=ops.FftType[kind], fft_lengths=lengths)
            want = oracle(x, lengths, axes)
            assert got.dtype == want.dtype
            size = np.abs(want).max()
            atol = 8 * np.finfo(want.dtype).eps * size
            np.testing.assert_allclose(got, want, rtol=0, atol=atol)


PROGRAMS = {
    "fft": jnp.fft.fft,
    "power": lambda x: jnp.abs(jnp.fft.rfft(x)) ** 2,
    "there and back": lambda x: jnp.fft.irfft(jnp.fft.rfft(x), x.shape[-1]),
    "two dimensions": jnp.fft.fft2,
    "along the first": lambda x: jnp.fft.ifft(x, axis=0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_tapes_give_the_bits_of_eager_calls(name):
    x = np.random.default_rng(1).normal(size=(6, 9)).astype(np.float32)
    tape, inputs = tape_of(PROGRAMS[name], x)
    for _ in range(2):
        (got,) = tape.run(inputs)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(PROGRAMS[name](jnp.asarray(x))))


def has_kernel(n, kind="FFT", rows=1):
    return ops.has_kernel(rows * n, ops.FftType[kind], (n,))


def test_large_arrays_of_short_rows_are_left_to_scipys_threads():
    assert has_kernel(1000)
    assert has_kernel(1000, rows=65)
    assert not has_kernel(1000, rows=66)
    assert not has_kernel(0)
    assert not ops.has_kernel(1 << 16, ops.FftType.FFT, (1 << 8, 1 << 8))


def test_long_rows_have_no_prime_factor_above_five():
    assert all(has_kernel(n, rows=1000) for n in (2048, 2187, 3125, 10**6))
    assert not any(has_kernel(n, rows=1000) for n in (2047, 7 * 1024, 4099))
    assert all(has_kernel(2 * n, "RFFT", 1000) for n in (2048, 3125))
    assert not any(has_kernel(n, "IRFFT", 1000) for n in (2048, 4098, 3**9))


# Of each radix alone, of all, and rows and columns that do not fill eight lanes.
LONG = [2048, 2187, 2500, 3125, 3600, 4050, 8192, 15000, 2**16, 3**10]


@pytest.mark.parametrize("is_double", [False, True], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize("n", LONG)
def test_long_rows_are_transformed(n, is_double):
    rng = np.random.default_rng(n)
    real, whole = ("float64", "complex128") if is_double else ("float32", "complex64")
    for shape in [(n,), (5, n)]:
        z = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(whole)
        z[..., n // 3] += 30  # in any other place it would show
        for kind, x in {"FFT": z, "IFFT": z, "RFFT": z.real.astype(real), "IRFFT": z}.items():
            even = n - n % 2
            if kind == "IRFFT":
                x = np.ascontiguousarray(x[..., : ops.half(even)])
            length = even if kind == "IRFFT" else n
            got = ops.fft_p.host(x, fft_type=ops.FftType[kind], fft_lengths=(length,))
            want = KINDS[kind][1](x.astype(np.result_type(x, float)), (length,), (-1,))
            assert got.shape == want.shape
            rms = np.sqrt(np.mean(np.abs(want) ** 2))
            assert np.abs(got - want).max() < 3 * np.log2(n) * np.finfo(got.dtype).eps * rms


DIGEST = """
import hashlib, os, sys
import numpy as np
if sys.argv[1] == "one":
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
import evertrace.numpy as jnp
def digest(x):
    return hashlib.sha256(bytes(memoryview(np.asarray(x)).cast("B"))).hexdigest()
z = np.random.default_rng(0).normal(size=(2, 3, 1 << 16)).astype("f4").view("c8")
back = jnp.fft.irfft(jnp.fft.rfft(z.real))
print(digest(jnp.fft.fft(z)), digest(back), digest(jnp.fft.ifft(z[0, 0])))
rows = jnp.fft.fft(z)[0]
print(all(digest(jnp.fft.fft(row)) == digest(rows[i]) for i, row in enumerate(z[0])))
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads are chosen by it")
def test_long_rows_are_the_same_for_any_number_of_threads():
    one, all_ = (
        subprocess.run([sys.executable, "-c", DIGEST, threads], check=True, capture_output=True)
        for threads in ("one", "all")
    )
    assert one.stdout.endswith(b"\nTrue\n")
    assert one.stdout == all_.stdout


def test_many_lengths_in_turn():
    """Only the last few are remembered."""
    for n in [2048 * k for k in (1, 2, 3, 4, 5, 6, 8, 9, 10, 12)] * 2:
        x = np.zeros(n, np.complex64)
        x[1] = 1
        want = np.exp(-2j * np.pi * np.arange(n) / n)
        np.testing.assert_allclose(np.asarray(jnp.fft.fft(x)), want, rtol=0, atol=1e-6)


def test_without_numpys_loops_there_is_no_kernel(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy.fft._pocketfft_umath", None)
    assert not kernels.has_fft.__wrapped__()
    monkeypatch.setitem(sys.modules, "numpy.fft._pocketfft_umath", np)  # has no such functions
    assert not kernels.has_fft.__wrapped__()


def test_only_universal_functions_are_taken():
    assert not extension.native.load_fft(*[(len, 0, 0)] * 5)
    assert not extension.native.load_fft(*[(np.add, 0, 1 << 20)] * 5)
    with pytest.raises(TypeError, match="five triples"):
        extension.native.load_fft()


Z, F = np.zeros((2, 3), "c8"), np.zeros((2, 3), "f4")


@pytest.mark.parametrize(
    ("x", "out", "options"),
    [
        (Z, Z, (4, 1)), (Z, Z, (-1, 1)), (Z, Z, (0, 0)), (Z, Z, (0, 3)), (Z, Z, (0, -1)),
        (F, F, (0, 1)), (Z, Z[:, :2], (0, 1)), (Z, Z[:1], (0, 1)), (Z, Z[0], (0, 1)),
        (F, Z, (2, 1)), (F, Z[:, :2].astype("c16"), (2, 1)), (Z, F, (3, 1)),
        (Z[:0], Z[:0], (0, 1)), (F.astype("i4"), Z[:, :2], (2, 1)),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(x, out, options):
    assert kernels.has_fft()
    x, out = map(np.ascontiguousarray, (x, out))
    with pytest.raises(ValueError, match="fft: operands"):
        extension.native.kernel("fft", (x,), (out,), options)
