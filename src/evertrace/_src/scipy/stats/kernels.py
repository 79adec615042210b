"""Densities estimated from samples, by a normal distribution around each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from evertrace._src import errors
from evertrace._src.doors import door
from evertrace._src.lax.linalg.systems import cholesky, triangular_solve
from evertrace._src.numpy.arguments import operand
from evertrace._src.numpy.creation import full, zeros
from evertrace._src.numpy.decompositions import inv
from evertrace._src.numpy.elementary import isfinite, where
from evertrace._src.numpy.promotion import is_arraylike, promote_dtypes_inexact
from evertrace._src.numpy.reductions import max, sum
from evertrace._src.numpy.shape import atleast_2d, moveaxis
from evertrace._src.numpy.statistics import cov
from evertrace._src.numpy.ufuncs import exp, log, sqrt
from evertrace._src.ops.elementwise import is_complex
from evertrace._src.random.keys import split
from evertrace._src.random.multivariate import multivariate_normal
from evertrace._src.random.sampling import choice
from evertrace._src.scipy.special.error import ndtr
from evertrace._src.support import set_module
from evertrace._src.tree.registry import register_pytree_node_class

_NAME = "gaussian_kde"

# How the bandwidth is found from the dimension and the effective number of samples.
_FACTORS = {
    "scott": lambda d, n: n ** (-1 / (d + 4)),
    "silverman": lambda d, n: (n * (d + 2) / 4) ** (-1 / (d + 4)),
}


@set_module("evertrace.scipy.stats")
@register_pytree_node_class
@dataclass(frozen=True, init=False, eq=False)
class gaussian_kde:
    """A density estimated from samples: the mean of normal densities around them.

    Args:
      dataset: ``[d, n]`` or ``[n]`` floating, n samples of d numbers; integers become floats.
      bw_method: how wide the kernels are, as a factor of the samples' standard deviations:
        ``"scott"`` (the default), ``neff**(-1 / (d + 4))``; ``"silverman"``,
        ``(neff * (d + 2) / 4)**(-1 / (d + 4))``; a number; or a function of this object.
      weights: ``[n]`` numbers, how much each sample counts; by default all count the same.

    Attributes:
      dataset: ``[d, n]`` array of the samples.
      weights: ``[n]`` array of weights, which add up to 1.
      neff: scalar, the effective number of samples ``1 / sum(weights**2)``.
      covariance: ``[d, d]`` array, that of each kernel.
      inv_cov: its inverse.

    A frozen object and a pytree of its attributes, to pass through `jit`, `vmap` and `grad`.

    Raises:
      ValueError: less than two samples, or weights or a bandwidth that do not fit.
      NotImplementedError: complex samples.

    Source: D. W. Scott, "Multivariate Density Estimation", Wiley 1992, chapter 6.

    Example:
      >>> from evertrace.scipy import stats
      >>> kde = stats.gaussian_kde(jnp.array([0.0, 1.0, 2.5, 4.0]))
      >>> kde(jnp.array([0.0, 1.0])).round(4).tolist()
      [0.1453, 0.1773]
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        samples = _real(operand(_NAME, dataset), "samples")
        if samples.ndim > 2 or samples.size < 2:
            raise _unfit(
                f"dataset must have shape [d, n] or [n] and more than one element, got shape "
                f"{samples.shape}."
            )
        samples = atleast_2d(samples)
        n = samples.shape[1]
        if weights is None:
            (samples,) = promote_dtypes_inexact(_NAME, samples)
            shares = full((n,), 1 / n, samples.dtype)
        else:
            samples, shares = promote_dtypes_inexact(_NAME, samples, operand(_NAME, weights))
            if shares.shape != (n,):
                raise _unfit(f"weights must have shape ({n},), got {shares.shape}.")
            shares = shares / sum(shares)
        self._set(dataset=samples, weights=shares, neff=1 / sum(shares * shares))
        spread = atleast_2d(cov(samples, rowvar=True, bias=False, aweights=shares))
        factor = self._factor(bw_method)
        inverse = inv(spread)
        self._set(covariance=spread * factor**2, inv_cov=inverse / factor**2)

    def _set(self, **attributes):
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def _factor(self, bw_method) -> Any:
        method = "scott" if bw_method is None else bw_method
        if isinstance(method, str) and method in _FACTORS:
            return _FACTORS[method](self.d, self.neff)
        if callable(method):
            return method(self)
        if is_arraylike(method) and not operand(_NAME, method).shape:
            return method
        raise errors.user_error(
            ValueError,
            f"{_NAME}: bw_method is {method!r}.",
            fix="pass 'scott', 'silverman', a number, or a function of the object.",
            anchor="choice",
        )

    def tree_flatten(self) -> Any:
        """Return the attributes as children."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, _: Any, children: Any) -> Any:
        """Return an object with these attributes, whatever they are."""
        made = object.__new__(cls)
        names = ("neff", "dataset", "weights", "covariance", "inv_cov")
        made._set(**dict(zip(names, children, strict=True)))
        return made

    @property
    def d(self) -> Any:
        """The dimension of the samples."""
        return self.dataset.shape[0]

    @property
    def n(self) -> Any:
        """The number of samples."""
        return self.dataset.shape[1]

    def logpdf(self, x: Any) -> Any:
        """Return the logarithm of the density at points ``[d, m]`` or ``[m]``: an array ``[m]``."""
        points = atleast_2d(_real(operand(_NAME, x), "points"))
        points, samples = promote_dtypes_inexact(_NAME, points, self.dataset)
        if points.shape == (1, self.d):
            points = points.reshape(self.d, 1)
        self._check("points", points.shape, (self.d, points.shape[-1]))
        return self._log_mixture(points, samples, self.covariance)

    def pdf(self, x: Any) -> Any:
        """Return the density at points ``[d, m]`` or ``[m]``: an array ``[m]``."""
        return exp(self.logpdf(x))

    def evaluate(self, points: Any) -> Any:
        """Return the density at points ``[d, m]`` or ``[m]``: an array ``[m]``."""
        return self.pdf(points)

    @door
    def __call__(self, points: Any) -> Any:
        """Return the density at points ``[d, m]`` or ``[m]``: an array ``[m]``."""
        return self.pdf(points)

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """Return the integral of the density times a normal one: a scalar.

        Args:
          mean: ``[d]`` array, or a number.
          cov: ``[d, d]`` array, or a number.
        """
        mean, cov = operand(_NAME, mean), operand(_NAME, cov)
        mean = mean.reshape(1) if not mean.ndim else mean
        cov = atleast_2d(cov)
        self._check("the mean", mean.shape, (self.d,))
        self._check("the covariance", cov.shape, (self.d, self.d))
        mean, cov, samples = promote_dtypes_inexact(_NAME, mean, cov, self.dataset)
        return exp(self._log_mixture(mean[:, None], samples, self.covariance + cov))[0]

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """Return the integral of the density of one number between two limits: a scalar."""
        if self.d != 1:
            raise _unfit(f"integrate_box_1d: is for one dimension, not {self.d}.")
        low, high = operand(_NAME, low), operand(_NAME, high)
        if low.ndim or high.ndim:
            raise _unfit(
                f"integrate_box_1d: limits must be scalars, got shapes {low.shape}, {high.shape}."
            )
        low, high, samples = promote_dtypes_inexact(_NAME, low, high, self.dataset[0])
        sigma = sqrt(self.covariance[0, 0])
        mass = ndtr((high - samples) / sigma) - ndtr((low - samples) / sigma)
        return sum(self.weights * mass)

    def integrate_kde(self, other: Any) -> Any:
        """Return the integral of the product with another estimated density: a scalar."""
        if other.d != self.d:
            raise _unfit(f"integrate_kde: dimensions {self.d} and {other.d} differ.")
        points, samples = promote_dtypes_inexact(_NAME, other.dataset, self.dataset)
        logs = self._log_mixture(points, samples, self.covariance + other.covariance)
        return sum(exp(logs) * other.weights)

    def resample(self, key: Any, shape: Any = ()) -> Any:
        """Draw from the density.

        Args:
          key: a random key.
          shape: of the draws.

        Returns:
          a floating array of shape ``[d, *shape]``.
        """
        key_of_places, key_of_noise = split(key)
        places = choice(key_of_places, self.n, shape, p=self.weights)
        noise = multivariate_normal(
            key_of_noise,
            zeros(self.d, self.covariance.dtype),
            self.covariance,
            shape,
            self.dataset.dtype,
        )
        return self.dataset[:, places] + moveaxis(noise, -1, 0)

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Not supported."""
        raise errors.user_error(
            NotImplementedError,
            f"{_NAME}: integrals over boxes are supported in one dimension only.",
            fix="use `integrate_box_1d`, or the mean over draws of `resample`.",
            anchor="unsupported",
        )

    def set_bandwidth(self, bw_method: Any = None) -> Any:
        """Not supported, since the object is frozen."""
        raise errors.user_error(
            NotImplementedError,
            f"{_NAME}: the bandwidth cannot be changed later.",
            fix="make a new object with another `bw_method`.",
            anchor="immutable",
        )

    def _check(self, what, shape, wanted):
        if shape != wanted:
            raise _unfit(
                f"{what} must have shape {wanted} for a dataset of {self.d} x {self.n}, "
                f"got {shape}."
            )

    def _log_mixture(self, points, samples, covariance):
        """Return the logarithm of the weighted sum of normal densities, a number per point."""
        d = self.d
        factor = cholesky(covariance)
        points, samples = (
            triangular_solve(factor, x, left_side=True, lower=True) for x in (points, samples)
        )
        away = points[:, None, :] - samples[:, :, None]
        size = sum(log(factor.diagonal())) + 0.5 * d * math.log(2 * math.pi)
        logs = log(self.weights)[:, None] - 0.5 * sum(away * away, 0)
        # The logarithm of the sum of exponentials, without underflow.
        top = max(logs, 0, keepdims=True)
        top = where(isfinite(top), top, 0)
        return (log(sum(exp(logs - top), 0, keepdims=True)) + top - size)[0]


def _real(x, what):
    if is_complex(x):
        raise errors.user_error(
            NotImplementedError,
            f"{_NAME}: complex {what} are not supported.",
            fix="pass the real and imaginary parts as two rows.",
            anchor="dtype",
        )
    return x


def _unfit(what):
    return errors.user_error(
        errors.ShapeError,
        f"{_NAME}: {what}",
        fix="let samples and points run along the last axis.",
        anchor="shape",
    )
