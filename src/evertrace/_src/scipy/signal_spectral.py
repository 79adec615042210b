"""Spectra of segments of signals.

A signal is cut into overlapping segments; each of them is freed from its trend, tapered by a window
and transformed. `stft` returns these spectra, `csd` and `welch` averages of products. Sources: P.
Welch, "The use of the fast Fourier transform for the estimation of power spectra", IEEE
Transactions on Audio and Electroacoustics 15 (1967), for the averages; D. Griffin and J. Lim,
"Signal estimation from modified short-time Fourier transform", IEEE Transactions on Acoustics,
Speech, and Signal Processing 32 (1984), for the inverse by overlapping and adding.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dtypes, errors
from evertrace._src.arrays.array import Array, from_host
from evertrace._src.arrays.interop import as_array
from evertrace._src.arrays.types import ArrayLike
from evertrace._src.numpy import creation, elementary, fft, quantiles, reductions, shape, ufuncs
from evertrace._src.numpy.arguments import canonical_axis, operand, static_int
from evertrace._src.numpy.frequencies import fftfreq, rfftfreq
from evertrace._src.numpy.padding import pad
from evertrace._src.numpy.promotion import aligned, promote_dtypes_inexact
from evertrace._src.ops.convert import convert
from evertrace._src.ops.elementwise import complex_p, is_complex
from evertrace._src.ops.slicing import slice_in_dim
from evertrace._src.scipy import signal_trend
from evertrace._src.support import set_module

public = set_module("evertrace.scipy.signal")

# ---------------------------------------------------------------- public functions


@public
def stft(
    x: ArrayLike,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: bool = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """Return the short-time Fourier transform: the spectra of overlapping segments.

    Args:
      x: array of numbers.
      fs: samples per unit of time, a number.
      window: name (or tuple of a name and parameters) that `scipy.signal.get_window` knows, or an
        array of `nperseg` weights, which may be traced.
      nperseg: elements of a segment; no more than there are (a warning says so), and by default 256
        or the size of a window that is an array.
      noverlap: elements that neighbours share; default ``nperseg // 2``.
      nfft: length of the transforms, to which segments are filled up with zeros; default `nperseg`.
      detrend: what is subtracted from each segment: "linear" or "constant" (see
        `evertrace.scipy.signal.detrend`), a function of segments ``[..., nperseg]``, or False.
      return_onesided: whether to leave out the redundant half of the spectra of real numbers.
      boundary: how the signal is continued at both ends by ``nperseg // 2`` elements: "zeros",
        "even" (mirrored), "odd" (turned around its end), "constant" (by its end), or None.
      padded: whether the end is filled up with zeros to a whole segment rather than left out.
      axis: the axis along which time runs.

    Returns:
      Frequencies ``[f]``, times ``[t]`` of the middles of segments, and the complex spectra: the
      shape of `x` with f in place of the axis, and t behind. They are scaled so that a sine of
      amplitude a gives a / 2.

    Raises:
      ValueError: where sizes do not fit each other, or an option is unknown.

    Example:
      >>> from evertrace.scipy import signal
      >>> f, t, z = signal.stft(jnp.cos(jnp.pi / 2 * jnp.arange(16)), nperseg=8)
      >>> f.tolist(), t.tolist(), z.shape
      ([0.0, 0.125, 0.25, 0.375, 0.5], [0.0, 4.0, 8.0, 12.0, 16.0], (5, 5))
      >>> abs(z[:, 2]).round(3).tolist()
      [0.0, 0.25, 0.5, 0.25, 0.0]
    """
    (x,) = promote_dtypes_inexact("stft", operand("stft", x))
    axis = canonical_axis("stft", axis, x.aval.ndim)
    x = shape.moveaxis(x, axis, -1)
    framing = _framing("stft", x, window, nperseg, noverlap, nfft, detrend, return_onesided)
    if boundary is not None:
        x = _continued(x, framing.size // 2, boundary)
    if padded:
        fill = -(x.aval.shape[-1] - framing.size) % framing.step % framing.size
        x = pad(x, [(0, 0)] * (x.aval.ndim - 1) + [(0, fill)])
    spectra = _spectra(x, framing)
    spectra = spectra / convert(abs(reductions.sum(framing.window)), spectra.aval.dtype)
    first = 0.0 if boundary is not None else framing.size / 2
    times = (first + framing.step * creation.arange(spectra.aval.shape[-2], dtype=float)) / fs
    out = shape.moveaxis(shape.swapaxes(spectra, -1, -2), -2, axis)
    return _frequencies(framing, fs), times, out


@public
def csd(
    x: ArrayLike,
    y: ArrayLike,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Return the cross power spectral density of two signals, by Welch's method.

    It is the average over segments of the conjugate spectrum of `x` times the spectrum of `y`.

    Args:
      x: array of numbers.
      y: array of numbers whose shape broadcasts with that of `x` except along the axis, where the
        shorter one is filled up with zeros; or None for `x`.
      fs: see `stft`.
      window: see `stft`.
      nperseg: see `stft`. (The default is 256 as in SciPy, and in what JAX documents; JAX takes the
        whole signal then.)
      noverlap: see `stft`.
      nfft: see `stft`.
      detrend: see `stft`.
      return_onesided: see `stft`; the powers left out are added to those that stay.
      scaling: "density" (power per frequency) or "spectrum" (power).
      axis: the axis along which time runs.
      average: "mean" or "median" over the segments, the latter without its bias.

    Returns:
      Frequencies ``[f]``, and complex densities (real ones if `y` is None) with f in place of the
      axis.

    Raises:
      ValueError: where sizes do not fit each other, or an option is unknown.

    Example:
      >>> from evertrace.scipy import signal
      >>> x = jnp.cos(jnp.pi / 2 * jnp.arange(64))
      >>> f, p = signal.csd(x, 2 * x, nperseg=8, scaling="spectrum")
      >>> p.real.round(3).tolist()
      [0.0, 0.25, 1.0, 0.25, 0.0]
    """
    options = window, nperseg, noverlap, nfft, detrend, return_onesided
    return _averaged("csd", x, y, fs, options, scaling, axis, average)


@public
def welch(
    x: ArrayLike,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Return the power spectral density of a signal, by Welch's method.

    Args:
      x: array of numbers.
      fs: see `stft`.
      window: see `stft`.
      nperseg: see `csd`.
      noverlap: see `stft`.
      nfft: see `stft`.
      detrend: see `stft`.
      return_onesided: see `csd`.
      scaling: see `csd`.
      axis: the axis along which time runs.
      average: see `csd`.

    Returns:
      Frequencies ``[f]``, and floating densities with f in place of the axis.

    Raises:
      ValueError: where sizes do not fit each other, or an option is unknown.

    Example:
      >>> from evertrace.scipy import signal
      >>> x = jnp.cos(jnp.pi / 2 * jnp.arange(64))
      >>> f, p = signal.welch(x, nperseg=8, scaling="spectrum")
      >>> p.round(3).tolist()
      [0.0, 0.125, 0.5, 0.125, 0.0]
    """
    options = window, nperseg, noverlap, nfft, detrend, return_onesided
    return _averaged("welch", x, None, fs, options, scaling, axis, average)


@public
def istft(
    Zxx: ArrayLike,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool | None = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """Return the signal of which `stft` made spectra.

    Where spectra were changed in between, it is the signal whose spectra are nearest to them.

    Args:
      Zxx: array of numbers of rank 2 or more.
      fs: see `stft`.
      window: that of `stft`.
      nperseg: that of `stft`. Default: ``2 * (f - 1)`` for f frequencies, f if they are not
        onesided; give it for odd sizes.
      noverlap: that of `stft`.
      nfft: that of `stft`.
      input_onesided: whether the redundant half of the frequencies was left out.
      boundary: whether the signal was continued at its ends, which are cut off then.
      time_axis: the axis of segments.
      freq_axis: the axis of frequencies.

    Returns:
      Times ``[t]``, and the signal: the shape of `Zxx` without `freq_axis`, and t in place of
      `time_axis`. (Of signals of rank 2 and more, SciPy and JAX return as many times as the first
      axis has elements.) Elements that no window reaches are zero.

    Raises:
      ValueError: where sizes do not fit each other.

    Example:
      >>> from evertrace.scipy import signal
      >>> x = jnp.array([1.0, 2.0, 3.0, 2.0, 1.0, 0.0, 1.0, 2.0])
      >>> f, t, z = signal.stft(x, nperseg=4)
      >>> signal.istft(z, nperseg=4)[1].round(4).tolist()
      [1.0, 2.0, 3.0, 2.0, 1.0, 0.0, 1.0, 2.0]
    """
    z = operand("istft", Zxx)
    z, axis = _segments_last(z, time_axis, freq_axis)
    bins = z.aval.shape[-1]
    implied = 2 * (bins - 1) if input_onesided else bins
    size = implied if nperseg is None else static_int("istft", "nperseg", nperseg)
    if nfft is None:
        nfft = size if input_onesided and size == implied + 1 else implied
    nfft, step = _checked_sizes("istft", size, noverlap, nfft)
    weights = _window("istft", window, size, z.aval.dtype)
    segments = fft.irfft(z, nfft) if input_onesided else fft.ifft(z, nfft)
    weights = convert(weights, segments.aval.dtype)
    segments = ufuncs.multiply(*aligned(segments[..., :size], weights * reductions.sum(weights)))
    count = z.aval.shape[-2]
    norm = _overlapped(shape.broadcast_to(weights * weights, (count, size)), step)
    x = ufuncs.divide(
        *aligned(_overlapped(segments, step), elementary.where(norm > 1e-10, norm, 1))
    )
    if boundary:
        x = slice_in_dim(x, size // 2, x.aval.shape[-1] - size // 2, x.aval.ndim - 1)
    times = creation.arange(x.aval.shape[-1], dtype=float) / fs
    return times, shape.moveaxis(x, -1, axis)


# ---------------------------------------------------------------- arguments


class _Framing(NamedTuple):
    """How a signal is cut into segments, and these are transformed.

    Attributes:
      size: elements of a segment.
      step: elements from one to the next.
      nfft: length of the transforms.
      window: weights ``[size]``.
      detrend: function of segments ``[..., size]``, or None.
      is_onesided: whether half of the spectrum is left out.
    """

    size: int
    step: int
    nfft: int
    window: Any
    detrend: Any
    is_onesided: bool


def _framing(name, x, window, nperseg, noverlap, nfft, detrend, return_onesided):
    """Check the arguments that say how to transform signals of the type of `x`."""
    size = _segment_size(name, x.aval.shape[-1], window, nperseg)
    nfft, step = _checked_sizes(name, size, noverlap, nfft)
    weights = _window(name, window, size, x.aval.dtype)
    if return_onesided and is_complex(x):
        errors.user_warning(
            UserWarning,
            f"{name}: the spectrum of complex numbers has no redundant half, so it is twosided.",
            fix="pass `return_onesided=False`, or the real part.",
        )
        return_onesided = False
    return _Framing(size, step, nfft, weights, _detrending(name, detrend), bool(return_onesided))


def _segment_size(name, available, window, nperseg):
    if available == 0:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: the signal has no elements along the axis.",
            fix="check the shape and the axis.",
            anchor="shape",
        )
    is_named = isinstance(window, str | tuple | int | float)
    if nperseg is None:
        return min(256, available) if is_named else len(window)
    size = static_int(name, "nperseg", nperseg)
    if is_named and size > available:
        errors.user_warning(
            UserWarning,
            f"{name}: nperseg={size} is greater than the size {available} of the signal, which is "
            "taken instead.",
            fix=f"pass an nperseg of at most {available}.",
        )
        return available
    return size


def _checked_sizes(name, size, noverlap, nfft):
    """Return the length of the transforms, and the step from segment to segment."""
    noverlap = size // 2 if noverlap is None else static_int(name, "noverlap", noverlap)
    nfft = size if nfft is None else static_int(name, "nfft", nfft)
    problem = None
    if size < 1:
        problem = "nperseg must be positive"
    elif noverlap >= size:
        problem = "noverlap must be less than nperseg"
    elif nfft < size:
        problem = "nfft must not be less than nperseg"
    if problem is not None:
        raise errors.user_error(
            ValueError,
            f"{name}: {problem}, got nperseg={size}, noverlap={noverlap}, nfft={nfft}.",
            fix="leave noverlap and nfft out for nperseg // 2 and nperseg.",
        )
    return nfft, size - noverlap


def _window(name, window, size, dtype):
    """Return the weights of a segment, in the real dtype that belongs to `dtype`."""
    real = np.finfo(dtype).dtype if dtypes.issubdtype(dtype, np.complexfloating) else dtype
    if isinstance(window, str | tuple | int | float):
        try:
            return as_array(_get_window()(window, size).astype(real))
        except ValueError as error:
            raise errors.user_error(
                ValueError,
                f"{name}: window {window!r}: {error}",
                fix="see `scipy.signal.get_window` for the names, or pass an array of weights.",
            ) from None
    weights = creation.asarray(window)
    if weights.aval.shape != (size,):
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: the window has shape {weights.aval.shape}, segments have nperseg={size} "
            "elements.",
            fix="pass as many weights, or the name of a window.",
            anchor="shape",
        )
    return weights if is_complex(weights) else convert(weights, real)


@functools.cache
def _get_window():
    """Return SciPy's function; SciPy is loaded when a window is first named."""
    return importlib.import_module("scipy.signal").get_window


def _detrending(name, kind):
    if callable(kind):
        return kind
    if isinstance(kind, str):
        return functools.partial(signal_trend.detrend, type=kind)
    if kind is not False and kind is not None:
        raise errors.user_error(
            ValueError,
            f"{name}: there is no detrend {kind!r}.",
            fix='use "linear", "constant", a function, or False.',
            anchor="choice",
        )
    return None


def _segments_last(z, time_axis, freq_axis):
    """Return spectra as ``[..., t, f]``, and the axis of time when frequencies are gone."""
    if z.aval.ndim < 2 or not z.aval.size:
        raise errors.user_error(
            errors.ShapeError,
            f"istft: takes spectra of segments, of rank 2 or more; got shape {z.aval.shape}.",
            fix="pass what `stft` returns as its third result.",
            anchor="shape",
        )
    time = canonical_axis("istft", time_axis, z.aval.ndim)
    freq = canonical_axis("istft", freq_axis, z.aval.ndim)
    if time == freq:
        raise errors.user_error(
            ValueError,
            f"istft: time_axis and freq_axis are both {time}.",
            fix="name two axes.",
            anchor="axis",
        )
    (z,) = promote_dtypes_inexact("istft", z)
    return shape.moveaxis(z, (time, freq), (-2, -1)), time - (freq < time)


# ---------------------------------------------------------------- segments

_CONTINUATIONS = {
    "zeros": {"mode": "constant"},
    "constant": {"mode": "edge"},
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
}


def _continued(x, width, boundary):
    if boundary not in _CONTINUATIONS:
        raise errors.user_error(
            ValueError,
            f"stft: there is no boundary {boundary!r}.",
            fix=f"use one of {', '.join(map(repr, _CONTINUATIONS))}, or None.",
            anchor="choice",
        )
    widths = [(0, 0)] * (x.aval.ndim - 1) + [(width, width)]
    return pad(x, widths, **_CONTINUATIONS[boundary])


def _spectra(x, framing):
    """Return the spectra ``[..., t, f]`` of the segments of a signal ``[..., n]``."""
    count = (x.aval.shape[-1] - framing.size) // framing.step + 1
    segments = x[..., np.arange(count)[:, None] * framing.step + np.arange(framing.size)]
    if framing.detrend is not None:
        segments = framing.detrend(segments)
    window = convert(framing.window, segments.aval.dtype)
    transform = fft.rfft if framing.is_onesided else fft.fft
    return transform(ufuncs.multiply(*aligned(segments, window)), framing.nfft)


def _frequencies(framing, fs):
    return (rfftfreq if framing.is_onesided else fftfreq)(framing.nfft, 1 / fs)


def _overlapped(segments, step):
    """Add up segments ``[..., t, size]`` that begin `step` elements after each other.

    Segments are cut into blocks of `step`. Block p of segment t is added to block t + p of the
    signal: rows of blocks, p being the row, are made one place longer than the signal has blocks,
    and read again with the length of the signal, which moves each row on by one more place.
    """
    *batch, count, size = segments.aval.shape
    parts = -(-size // step)
    no_batch = [(0, 0)] * len(batch)
    blocks = pad(segments, [*no_batch, (0, 0), (0, parts * step - size)])
    rows = shape.moveaxis(shape.reshape(blocks, (*batch, count, parts, step)), -2, -3)
    rows = pad(rows, [*no_batch, (0, 0), (0, parts), (0, 0)])
    total = count + parts - 1
    flat = shape.reshape(rows, (*batch, parts * (total + 1), step))[..., : parts * total, :]
    out = reductions.sum(shape.reshape(flat, (*batch, parts, total, step)), -3)
    return shape.reshape(out, (*batch, total * step))[..., : (count - 1) * step + size]


# ---------------------------------------------------------------- averages of products


def _averaged(name, x, y, fs, options, scaling, axis, average):
    x, y, axis = _signals(name, x, y, axis)
    framing = _framing(name, x, *options)
    if scaling not in ("density", "spectrum") or average not in ("mean", "median"):
        raise errors.user_error(
            ValueError,
            f"{name}: there is no scaling {scaling!r} with average {average!r}.",
            fix='use "density" or "spectrum", and "mean" or "median".',
            anchor="choice",
        )
    of_x = _spectra(x, framing)
    if y is None:
        power = elementary.real(of_x) ** 2 + elementary.imag(of_x) ** 2
    else:
        power = elementary.conj(of_x) * _spectra(y, framing)
    if scaling == "density":
        norm = fs * reductions.sum(framing.window * framing.window)
    else:
        norm = reductions.sum(framing.window) ** 2
    power = power / convert(norm, power.aval.dtype)
    if framing.is_onesided:  # what stands for two frequencies has the power of both
        doubled = np.full(power.aval.shape[-1], 2.0)
        doubled[[0, -1] if framing.nfft % 2 == 0 else 0] = 1.0
        power = ufuncs.multiply(*aligned(power, from_host(doubled.astype(power.aval.dtype))))
    power = reductions.mean(power, -2) if average == "mean" else _median(power)
    return _frequencies(framing, fs), shape.moveaxis(power, -1, axis)


def _signals(name, x, y, axis):
    """Return one or two signals with time last and of one length, and the axis where it was."""
    x = operand(name, x)
    if y is None:
        (x,) = promote_dtypes_inexact(name, x)
        axis = canonical_axis(name, axis, x.aval.ndim)
        return shape.moveaxis(x, axis, -1), None, axis
    x, y = promote_dtypes_inexact(name, x, operand(name, y))
    if x.aval.ndim != y.aval.ndim:
        raise errors.user_error(
            errors.ShapeError,
            f"{name}: takes two signals of one rank, got shapes {x.aval.shape} and {y.aval.shape}.",
            fix="add axes of size 1, e.g. with `y[None]`.",
            anchor="shape",
        )
    axis = canonical_axis(name, axis, x.aval.ndim)
    pair = [shape.moveaxis(z, axis, -1) for z in (x, y)]
    length = max(z.aval.shape[-1] for z in pair)
    no_batch = [(0, 0)] * (x.aval.ndim - 1)
    return *[pad(z, [*no_batch, (0, length - z.aval.shape[-1])]) for z in pair], axis


def _median(power):
    """Return the median over segments, divided by its ratio to the mean of noise."""
    twice = 2 * np.arange(1, (power.aval.shape[-2] - 1) // 2 + 1)
    bias = 1 + np.sum(1 / (twice + 1) - 1 / twice)
    if is_complex(power):
        parts = elementary.real(power), elementary.imag(power)
        return complex_p.bind(*[quantiles.median(part, -2) / float(bias) for part in parts])
    return quantiles.median(power, -2) / float(bias)
