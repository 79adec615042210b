"""Fourier transforms, compared with NumPy; their derivatives, with differences."""

import numpy as np
import pytest
import scipy.fft

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement, check_compiled
from tests.support.gradcheck import check_grads

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
TWO = ("fft2", "ifft2", "rfft2", "irfft2")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")
OF_COMPLEX = ("fft", "ifft", "irfft", "hfft")

EXPRESSIONS = [
    *(f"np.fft.{f}(x)" for f in (*ONE, *TWO)),
    *(f"np.fft.{f}(z, 7)" for f in OF_COMPLEX),
    *(f"np.fft.{f}(c, 3, 1, 'ortho')" for f in ONE),
    *(f"np.fft.{f}(i, n=5, norm='forward')" for f in ONE),
    *(f"np.fft.{f}(c, axes=(2, 0))" for f in TWO),
    *(f"np.fft.{f}(c)" for f in SEVERAL),
    *(f"np.fft.{f}(c, (2, 5), (0, 1), 'ortho')" for f in SEVERAL),
    *(f"np.fft.{f}(c, axes=(1,), norm='forward')" for f in SEVERAL),
    *(f"np.fft.{f}(c[None] + v[:2, None, None, None])" for f in SEVERAL),
    "np.fft.irfftn(z[:, None, None] + c[0, 0], s=(3, 2, 2, 5), axes=(0, 1, 2, 3))",
    "np.fft.rfft(b), np.fft.fft(i8, 3)",
    "np.fft.fftshift(c), np.fft.ifftshift(c), np.fft.fftshift(x, 1), np.fft.ifftshift(c, (0, 1))",
    "np.fft.fftfreq(5), np.fft.fftfreq(6, 0.25), np.fft.rfftfreq(5, 2), np.fft.rfftfreq(6)",
]

TRANSFORMS = [
    lambda x: jnp.fft.fft(x, norm="ortho"),
    lambda x: jnp.fft.ifftn(x, (4, 5)),
    lambda x: jnp.fft.fftn(x[None, None]),
    lambda x: jnp.fft.irfft(x),
    lambda x: jnp.fft.irfft(x, 5, axis=0),
    lambda x: jnp.fft.irfft2(x, (3, 4), norm="forward"),
    lambda x: jnp.fft.hfft(x, 7),
    lambda x: jnp.fft.rfft(jnp.real(x)),
    lambda x: jnp.fft.rfft(jnp.real(x), 3, axis=0, norm="ortho"),
    lambda x: jnp.fft.rfftn(jnp.real(x), (2, 5)),
    lambda x: jnp.fft.ihfft(jnp.imag(x)),
    lambda x: jnp.fft.fftshift(x, 1),
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)


@pytest.mark.parametrize("number", range(len(TRANSFORMS)))
def test_derivatives_are_numerical_ones(number):
    rng = np.random.default_rng(number)
    x = rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4))
    check_grads(TRANSFORMS[number], [x], order=2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_precision_is_that_of_the_operand(dtype):
    x = np.random.default_rng(0).standard_normal(1000).astype(dtype)
    with ev.enable_x64(True):
        found = jnp.fft.fft(x)
    assert found.dtype == np.result_type(dtype, np.complex64)
    want = np.fft.fft(x.astype("float64"))
    np.testing.assert_allclose(found, want, rtol=0, atol=np.finfo(dtype).eps * 1000)


@pytest.mark.engine
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 30, 1009])
def test_inverses_undo_in_both_engines(size, rules):
    x = np.random.default_rng(size).standard_normal(size).astype("float32")

    def there_and_back(x):
        yield jnp.fft.ifft(jnp.fft.fft(x)).real
        yield jnp.fft.irfft(jnp.fft.rfft(x), size)
        yield jnp.fft.hfft(jnp.fft.ihfft(x), size)

    compiled = ev.jit(lambda x: list(there_and_back(x)))(x)
    for found in [*compiled, *there_and_back(x)]:
        np.testing.assert_allclose(found, x, rtol=0, atol=1e-5)


def test_large_arrays_are_transformed_by_threads_to_the_same_bits():
    x = np.random.default_rng(0).normal(size=(260, 256)).astype(np.complex64)
    assert np.array_equal(jnp.fft.fft(x), scipy.fft.fft(x))
    assert np.array_equal(jnp.fft.ifft2(x), scipy.fft.ifft2(x))
    assert np.array_equal(jnp.fft.fft(x.ravel()), scipy.fft.fft(x.ravel()))


def test_gradient_of_the_energy_is_by_parseval():
    x = jnp.asarray([1.0, -2.0, 3.0, 0.5, 4.0])
    energy = ev.grad(lambda x: (jnp.abs(jnp.fft.fft(x, norm="ortho")) ** 2).sum())
    np.testing.assert_allclose(energy(x), 2 * x, rtol=1e-5)


def test_frequencies_have_a_derivative_by_the_distance():
    found = ev.grad(lambda d: jnp.fft.rfftfreq(4, d).sum())(2.0)
    np.testing.assert_allclose(found, -(0 + 1 + 2) / (4 * 2.0**2))


def test_transforms_over_nothing_are_zeros():
    np.testing.assert_array_equal(jnp.fft.rfft(jnp.ones((2, 0))), np.zeros((2, 1)))
    assert jnp.fft.irfft(jnp.ones((2, 0))).shape == (2, 0)
    assert jnp.fft.fft(jnp.ones((0, 4)), 6).shape == (0, 6)


MISTAKES = [
    (lambda: jnp.fft.rfft(jnp.ones(4) + 1j), "fft: RFFT takes real numbers, got dtype c64"),
    (lambda: jnp.fft.fft(jnp.ones(4), 0), "fft: the number of elements must be positive, got 0"),
    (lambda: jnp.fft.hfft(jnp.ones(4), norm="unit"), "hfft: there is no norm 'unit'"),
    (lambda: jnp.fft.ihfft(jnp.ones(4), axis=1), "ihfft: axis 1 is out of bounds"),
    (lambda: jnp.fft.fft(jnp.ones((4, 4)), axis=(0, 1)), r"(?s)one axis.*Fix: use `fftn`"),
    (lambda: jnp.fft.fftn(jnp.ones((4, 4)), s=4), "fftn: s must be a sequence of sizes, got 4"),
    (lambda: jnp.fft.fftn(jnp.ones((4, 4)), axes=1), r"(?s)axes must be a seq.*write `\(1,\)`"),
    (lambda: jnp.fft.rfftn(jnp.ones(4), (2, 2), (0,)), r"rfftn: 2 sizes \(2, 2\) for 1 axes"),
    (lambda: jnp.fft.fft2(jnp.ones((4, 4)), axes=(0,)), r"(?s)two axes.*or use `fftn`"),
    (lambda: jnp.fft.ifft2(jnp.ones((4, 4)), axes=(0, 0)), "ifft2: duplicate value in axes"),
    (lambda: jnp.fft.fftfreq(-1), "fftfreq: the number of samples n must not be negative"),
    (lambda: jnp.fft.fftfreq(4, dtype=int), "frequencies are no integers"),
    (lambda: jnp.fft.fftfreq(4, jnp.ones(2)), r"one real number, got f32\[2\]"),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes_are_explained(number):
    call, message = MISTAKES[number]
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_traced_sizes_are_explained():
    with pytest.raises(ev.errors.ConcretizationTypeError, match="must be known while tracing"):
        ev.jit(lambda n: jnp.fft.fft(jnp.ones(4), n))(jnp.int32(3))
