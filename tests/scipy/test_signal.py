"""Convolutions and spectra, compared with SciPy; their derivatives, with differences."""

import itertools

import numpy as np
import pytest
import scipy.signal

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.scipy import signal
from tests.support.gradcheck import check_grads

RNG = np.random.default_rng(0)
MODES = ("full", "same", "valid")
PAIR = ("convolve", "correlate")
PAIR_2D = ("convolve2d", "correlate2d")


def numbers(*shape, kind="float64"):
    """Draw an array."""
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if kind == "complex128" else x


def agrees(found, want):
    """Compare relative to the largest element, in single precision."""
    want = np.asarray(want)
    assert np.shape(found) == want.shape
    assert np.iscomplexobj(found) == np.iscomplexobj(want)
    scale = max(np.abs(want).max(initial=0), 1e-3)
    np.testing.assert_allclose(found, want, rtol=0, atol=3e-5 * scale)


def narrow(x):
    """Return an array of ours in single precision."""
    return jnp.asarray(np.asarray(x).astype("complex64" if np.iscomplexobj(x) else "float32"))


def check(name, args, kwargs):
    """Compare a function with SciPy's, result by result."""
    want = getattr(scipy.signal, name)(*args, **kwargs)
    found = getattr(signal, name)(*map(narrow, args), **kwargs)
    for x, y in zip(found, want, strict=True) if isinstance(want, tuple) else [(found, want)]:
        agrees(x, y)


# ---------------------------------------------------------------- convolution

SHAPES = [((7,), (3,)), ((3,), (7,)), ((6,), (4,)), ((4, 5), (2, 3)), ((2, 3), (4, 6))]
CROSSED = [((5, 2), (2, 4)), ((3, 4, 2), (2, 2, 3))]


@pytest.mark.parametrize("name", PAIR)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("method", ["direct", "fft", "auto"])
def test_convolutions_agree(name, mode, shapes, method):
    check(name, [numbers(*s) for s in shapes], {"mode": mode, "method": method})
    check(name, [numbers(*s, kind="complex128") for s in shapes], {"mode": mode, "method": method})


@pytest.mark.parametrize("name", PAIR)
@pytest.mark.parametrize("mode", ["full", "same"])
@pytest.mark.parametrize("shapes", CROSSED)
def test_neither_array_need_contain_the_other(name, mode, shapes):
    check(name, [numbers(*s) for s in shapes], {"mode": mode, "method": "direct"})
    check("fftconvolve", [numbers(*s) for s in shapes], {"mode": mode})


@pytest.mark.parametrize("name", PAIR_2D)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "kwargs", [{}, {"boundary": "wrap"}, {"boundary": "symm"}, {"fillvalue": 2.5}]
)
@pytest.mark.parametrize("shapes", [((5, 6), (3, 3)), ((5, 6), (2, 4))])
def test_convolutions_of_matrices_agree(name, mode, kwargs, shapes):
    check(name, [numbers(*s) for s in shapes], {"mode": mode, **kwargs})


@pytest.mark.parametrize(
    ("shapes", "kwargs"),
    [
        (((4, 5), (2, 5)), {"axes": 0}),
        (((4, 5), (2, 1)), {"axes": 0, "mode": "same"}),
        (((4, 5), (4, 2)), {"axes": (-1,), "mode": "valid"}),
        (((4, 5, 3), (2, 5, 2)), {"axes": (2, 0)}),
        (((40,), (33,)), {}),
    ],
)
def test_convolutions_along_axes_agree(shapes, kwargs):
    check("fftconvolve", [numbers(*s) for s in shapes], kwargs)


@pytest.mark.engine
def test_compiled_and_mapped_convolutions_agree(rules):
    x, y = narrow(numbers(3, 9)), narrow(numbers(3, 4))
    for name, mode in itertools.product((*PAIR, "fftconvolve"), MODES):
        fun = getattr(signal, name)
        found = ev.jit(ev.vmap(lambda x, y, f=fun, m=mode: f(x, y, mode=m)))(x, y)
        agrees(
            found, [getattr(scipy.signal, name)(a, b, mode=mode) for a, b in zip(x, y, strict=True)]
        )


@pytest.mark.parametrize("method", ["direct", "fft"])
@pytest.mark.parametrize("mode", MODES)
def test_derivatives_of_convolutions_are_numerical_ones(method, mode):
    check_grads(lambda x, y: signal.correlate(x, y, mode, method), [numbers(5), numbers(3)])
    z = [numbers(2, 3, kind="complex128"), numbers(2, 2, kind="complex128")]
    check_grads(lambda x, y: signal.convolve(x, y, mode, method), z)


# ---------------------------------------------------------------- trends

TRENDS = [
    {"type": "constant"}, {"type": "linear"}, {"axis": 0}, {"bp": 4}, {"bp": [2, 7, 4]},
    {"bp": [0, 3, 10]}, {"axis": 0, "bp": 1}, {"axis": 0, "type": "constant"},
]  # fmt: skip


@pytest.mark.parametrize("kwargs", TRENDS)
def test_trends_agree(kwargs):
    check("detrend", [numbers(5, 10)], kwargs)
    check_grads(lambda x: signal.detrend(x, **kwargs), [numbers(3, 10)], order=1)


def test_one_element_is_its_own_trend():
    np.testing.assert_array_equal(signal.detrend(jnp.asarray([3.0])), [0.0])


# ---------------------------------------------------------------- spectra

SEGMENTS = [
    {}, {"fs": 4.0}, {"window": "hamming"}, {"window": ("kaiser", 4.0)}, {"window": np.ones(16)},
    {"noverlap": 4}, {"noverlap": 0}, {"nfft": 20}, {"nfft": 21}, {"nperseg": 15},
    {"detrend": "linear"}, {"detrend": "constant"}, {"detrend": False}, {"return_onesided": False},
    {"axis": 0, "nperseg": 8}, {"axis": -2, "nperseg": 5},
]  # fmt: skip
STFT = [
    {"boundary": None}, {"boundary": "even"}, {"boundary": "odd"}, {"boundary": "constant"},
    {"padded": False}, {"padded": False, "boundary": None, "nperseg": 15},
]  # fmt: skip
WELCH = [{"scaling": "spectrum"}, {"average": "median"}, {"average": "median", "nperseg": 15}]


@pytest.mark.parametrize("kwargs", [*SEGMENTS, *STFT])
def test_short_time_transforms_agree_and_are_inverted(kwargs):
    x = numbers(20, 50)
    kwargs = {"nperseg": 16, **kwargs}
    check("stft", [x], kwargs)
    if kwargs.get("detrend") or kwargs.get("boundary", "zeros") is None:
        return
    axis = kwargs.get("axis", -1) % 2
    shared = ("fs", "window", "nperseg", "noverlap", "nfft")
    options = {k: v for k, v in kwargs.items() if k in shared}
    options |= {"input_onesided": kwargs.get("return_onesided", True), "freq_axis": axis}
    z = scipy.signal.stft(x, **kwargs)[2]
    times, back = signal.istft(narrow(z), **options)
    np.testing.assert_allclose(times, np.arange(back.shape[-1]) / kwargs.get("fs", 1.0))
    if kwargs.get("noverlap") == 0:  # the window is 0 at the ends of segments: something is lost
        return
    agrees(back, scipy.signal.istft(z, **options)[1])
    if kwargs.get("padded", True):
        original = tuple(map(slice, x.shape))
        np.testing.assert_allclose(np.moveaxis(back, -1, axis)[original].real, x, atol=1e-4)


@pytest.mark.parametrize("kwargs", [*SEGMENTS, *WELCH])
def test_densities_agree(kwargs):
    kwargs = {"nperseg": 16, **kwargs}
    check("welch", [numbers(20, 50)], kwargs)
    check("csd", [numbers(20, 50), numbers(20, 50)], kwargs)


def test_default_sizes_are_scipys():
    check("welch", [numbers(600)], {})
    check("csd", [numbers(2, 600), numbers(2, 600)], {})
    check("stft", [numbers(600)], {})
    check("welch", [numbers(100)], {"window": np.hanning(30)})


def test_signals_broadcast_and_are_filled_up():
    check("csd", [numbers(3, 40), numbers(1, 40)], {"nperseg": 10})
    check("csd", [numbers(3, 40), numbers(3, 30)], {"nperseg": 10})
    check("csd", [numbers(30), numbers(40)], {"nperseg": 10})


def test_complex_signals_have_twosided_spectra():
    x = numbers(40, kind="complex128")
    check("welch", [x], {"nperseg": 10, "return_onesided": False})
    check("stft", [x], {"nperseg": 10, "return_onesided": False})
    with pytest.warns(UserWarning, match="stft: the spectrum of complex numbers has no redundant"):
        f, _, z = signal.stft(narrow(x), nperseg=10)
    assert z.shape[0] == len(f) == 10
    z = scipy.signal.stft(x, nperseg=10, return_onesided=False)[2]
    check("istft", [z], {"input_onesided": False})


def test_long_segments_are_shortened_with_a_warning():
    x = numbers(30)
    with pytest.warns(UserWarning, match="nperseg=64 is greater than the size 30"):
        found = signal.welch(narrow(x), nperseg=64)
    for a, b in zip(found, scipy.signal.welch(x, nperseg=30), strict=True):
        agrees(a, b)


@pytest.mark.engine
def test_compiled_and_mapped_spectra_agree(rules):
    x = narrow(numbers(3, 40))

    def spectra(x, window, fs):
        z = signal.stft(x, fs, window, 8)[2]
        return z, signal.welch(x, fs, nperseg=8)[1], signal.istft(z, fs, window)[1]

    window = narrow(np.hanning(8))
    compiled = ev.jit(ev.vmap(spectra, in_axes=(0, None, None)))(x, window, 2.0)
    for found, want in zip(compiled, spectra(x, window, 2.0), strict=True):
        agrees(found, want)


def test_derivatives_of_spectra_are_numerical_ones():
    x, window = numbers(12), np.hanning(6)[:5] + 0.1
    options = {"nperseg": 5, "noverlap": 3}
    check_grads(lambda x, w: signal.stft(x, window=w, **options)[2], [x, window])
    check_grads(lambda x, w: signal.welch(x, window=w, **options)[1], [x, window], order=1)
    check_grads(lambda x: signal.welch(x, average="median", **options)[1], [x], order=1)
    z = numbers(3, 4, kind="complex128")
    check_grads(lambda z, w: signal.istft(z, window=w, nperseg=5)[1], [z, window], order=1)


# ---------------------------------------------------------------- mistakes

ONES = jnp.ones(20)
MISTAKES = [
    (lambda: signal.convolve(ONES, jnp.ones((2, 2))), "convolve: takes two arrays of one rank"),
    (lambda: signal.correlate(ONES, jnp.ones(0)), "correlate: takes arrays with elements"),
    (lambda: signal.convolve(ONES, ONES, "middle"), "convolve: no mode 'middle'"),
    (lambda: signal.convolve(ONES, ONES, method="best"), "convolve: no method 'best'"),
    (lambda: signal.convolve2d(ONES, ONES), r"(?s)takes matrices.*use `convolve`"),
    (lambda: signal.correlate2d(ONES[None], ONES[None], boundary="x"), "no boundary 'x'"),
    (
        lambda: signal.convolve2d(jnp.ones((5, 2)), jnp.ones((2, 5)), "valid"),
        r"no array contains the other, with sizes \(5, 2\) and \(2, 5\)",
    ),
    (
        lambda: signal.fftconvolve(jnp.ones((5, 2)), jnp.ones((2, 5)), axes=0),
        r"do not broadcast along the axes other than \(0,\)",
    ),
    (lambda: signal.detrend(ONES, type="square"), "detrend: there is no type 'square'"),
    (lambda: signal.detrend(ONES, bp=21), r"no break points \[21\] in 20 elements"),
    (lambda: signal.detrend(ONES, overwrite_data=True), "cannot be changed"),
    (lambda: signal.stft(ONES, window="nope", nperseg=4), r"(?s)window 'nope'.*get_window"),
    (lambda: signal.stft(ONES, window=ONES, nperseg=4), r"window has shape \(20,\)"),
    (lambda: signal.stft(ONES, nperseg=0), "stft: nperseg must be positive"),
    (lambda: signal.stft(ONES, nperseg=4, noverlap=4), "noverlap must be less than nperseg"),
    (lambda: signal.csd(ONES, ONES, nperseg=4, nfft=3), "csd: nfft must not be less than nperseg"),
    (lambda: signal.stft(ONES, nperseg=4, boundary="x"), "stft: there is no boundary 'x'"),
    (lambda: signal.stft(ONES, nperseg=4, detrend=True), "stft: there is no detrend True"),
    (lambda: signal.welch(ONES, nperseg=4, scaling="x"), "welch: there is no scaling 'x'"),
    (lambda: signal.welch(jnp.ones((3, 0)), nperseg=4), "no elements along the axis"),
    (lambda: signal.csd(ONES, ONES[None], nperseg=4), "csd: takes two signals of one rank"),
    (lambda: signal.istft(ONES), "istft: takes spectra of segments"),
    (lambda: signal.istft(jnp.ones((3, 4)), time_axis=0), "time_axis and freq_axis are both 0"),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes_are_explained(number):
    call, message = MISTAKES[number]
    with pytest.raises((NotImplementedError, ValueError), match=message):
        call()
