"""`evertrace.scipy.stats`: values are SciPy's, compiled, batched and differentiated ones too."""

import importlib
import inspect

import numpy as np
import pytest
import scipy.stats

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import random
from evertrace.scipy import stats
from tests.support.gradcheck import check_grads

LINE = np.array([-6.0, -1.3, -0.4, 0.0, 0.2, 1.7, 9.0])
HALF = np.array([-2.0, 0.1, 0.8, 1.9, 7.3])
COUNTS = np.array([-1.0, 0.0, 1.0, 2.0, 5.0, 6.0, 9.0])
CHANCES = np.array([-0.1, 0.0, 1e-9, 0.2, 0.4, 0.7, 1.0, 1.2])

# distribution, shape parameters, points; some are outside of the support.
DISTRIBUTIONS = [
    ("bernoulli", (0.3,), COUNTS),
    ("beta", (2.0, 3.5), np.array([-0.2, 0.1, 0.5, 0.9, 1.1])),
    ("beta", (0.5, 0.7), np.array([-0.2, 0.1, 0.5, 0.9, 1.1])),
    ("betabinom", (6, 2.0, 3.0), COUNTS),
    ("binom", (6, 0.3), COUNTS),
    ("cauchy", (), LINE),
    ("chi2", (3.0,), HALF),
    ("expon", (), HALF),
    ("gamma", (2.5,), HALF),
    ("gamma", (0.4,), HALF),
    ("gennorm", (1.5,), LINE),
    ("gennorm", (2.0,), LINE),
    ("geom", (0.3,), COUNTS),
    ("gumbel_l", (), LINE),
    ("gumbel_r", (), LINE),
    ("laplace", (), LINE),
    ("logistic", (), LINE),
    ("nbinom", (5, 0.3), COUNTS),
    ("norm", (), np.append(LINE, [-38.0, 38.0])),
    ("pareto", (2.5,), np.array([-1.0, 0.5, 1.0, 1.2, 7.0])),
    ("poisson", (2.5,), COUNTS),
    ("poisson", (2.5,), COUNTS + 0.5),
    ("t", (3.5,), LINE),
    ("truncnorm", (-1.0, 2.0), LINE),
    ("truncnorm", (-1.0, np.inf), LINE),
    ("truncnorm", (-np.inf, 2.0), LINE),
    ("truncnorm", (6.0, 9.0), np.array([5.0, 6.0, 6.1, 8.0, 9.0, 10.0])),
    ("truncnorm", (-9.0, -6.0), -np.array([5.0, 6.1, 8.0, 10.0])),
    ("uniform", (), np.array([-0.5, 0.0, 0.3, 1.0, 1.5])),
    ("vonmises", (2.5,), np.array([-3.0, 0.0, 0.3, 2.0])),
    ("vonmises", (0.0,), np.array([-3.0, 0.0])),
    ("wrapcauchy", (0.3,), np.array([-0.1, 0.0, 0.3, 2.0, 6.2, 6.4])),
]


def members(distribution):
    """Return the public functions of a distribution by name."""
    module = importlib.import_module(f"evertrace.scipy.stats.{distribution}")
    found = {n: f for n, f in vars(module).items() if not n.startswith("_")}
    return {n: f for n, f in found.items() if inspect.isfunction(f) and n != "entropy"}


# name of a function, itself, its arguments, with and without shift and stretch.
CALLS = []
for distribution, shape, points in DISTRIBUTIONS:
    for name, function in members(distribution).items():
        at = CHANCES if name in ("ppf", "isf") else points
        if name == "ppf" and distribution == "bernoulli":
            at = CHANCES[CHANCES != 0]  # SciPy has -1 for 0
        accepted = inspect.signature(function).parameters
        CALLS.append((distribution, name, function, (at, *shape)))
        if "scale" in accepted:
            moved = at if at is CHANCES else 2 * at + 0.5
            CALLS.append((distribution, name, function, (moved, *shape, 0.5, 2.0)))
        elif "loc" in accepted:
            CALLS.append((distribution, name, function, (at + 1, *shape, 1.0)))
LABELS = [f"{d}.{n}{args[1:]}" for d, n, _, args in CALLS]
over_calls = pytest.mark.parametrize("call", CALLS, ids=LABELS)


@pytest.fixture(autouse=True)
def _doubles():
    with ev.enable_x64(True):
        yield


def want_of(distribution, name, args):
    with np.errstate(all="ignore"):
        return getattr(getattr(scipy.stats, distribution), name)(*args)


@over_calls
def test_values_are_scipys(call):
    distribution, name, function, args = call
    got = function(*map(jnp.asarray, args))
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, want_of(distribution, name, args), rtol=2e-11, atol=1e-300)


@pytest.mark.engine
@pytest.mark.slow
def test_compiled_values_are_scipys():
    once = {(distribution, name): (f, args) for distribution, name, f, args in CALLS}
    all_args = [args for _, args in once.values()]

    @ev.jit
    def program(all_args):
        return [f(*args) for (f, _), args in zip(once.values(), all_args, strict=True)]

    found = program([[jnp.asarray(x) for x in args] for args in all_args])
    for called, args, got in zip(once, all_args, found, strict=True):
        want = want_of(*called, args)
        np.testing.assert_allclose(got, want, rtol=2e-11, atol=1e-300, err_msg=str(called))


@over_calls
def test_derivatives_are_numbers_inside_and_outside(call):
    _, name, function, args = call
    if name in ("ppf", "isf"):
        args = (args[0][(args[0] > 0) & (args[0] < 1)], *args[1:])
    # The incomplete beta function is differentiable by its last argument only.
    through_betainc = function.__module__.endswith(".beta") and name not in ("pdf", "logpdf")
    count = 1 if through_betainc else len(args)
    by = [i for i in range(count) if np.asarray(args[i]).dtype == float and is_finite(args[i])]
    grads = ev.grad(lambda *xs: _finite_sum(function(*xs)), by)(*map(jnp.asarray, args))
    for grad in grads:
        assert np.all(np.isfinite(grad))


def is_finite(x):
    """Whether an argument is not an end of the support at infinity."""
    return np.ndim(x) or np.isfinite(x)


def _finite_sum(x):
    return jnp.where(jnp.isfinite(x), x, 0).sum()


# Points at which everything is differentiable, by all arguments.
SMOOTH = [
    ("bernoulli", "logpmf", (0.4, 0.3)), ("beta", "logpdf", (0.4, 2.0, 3.0, 0.1, 1.5)),
    ("binom", "logpmf", (2.3, 5.0, 0.3)), ("cauchy", "cdf", (0.4, 0.1, 1.5)),
    ("cauchy", "ppf", (0.3, 0.1, 1.5)), ("cauchy", "logpdf", (0.4, 0.1, 1.5)),
    ("chi2", "logpdf", (2.4, 3.0, 0.1, 1.5)), ("expon", "logcdf", (2.4, 0.1, 1.5)),
    ("expon", "logcdf", (0.4, 0.1, 1.5)), ("expon", "ppf", (0.4, 0.1, 1.5)),
    ("gamma", "logpdf", (2.4, 1.3, 0.1, 1.5)), ("gamma", "cdf", (2.4, 1.3, 0.1, 1.5)),
    ("gennorm", "logpdf", (-0.7, 1.5)), ("gennorm", "cdf", (-0.7, 1.5)),
    ("geom", "logpmf", (2.4, 0.3)), ("gumbel_l", "logcdf", (0.4, 0.1, 1.5)),
    ("gumbel_r", "logsf", (0.4, 0.1, 1.5)), ("gumbel_r", "ppf", (0.4, 0.1, 1.5)),
    ("laplace", "cdf", (-0.4, 0.1, 1.5)), ("logistic", "logpdf", (0.1, 0.1, 1.5)),
    ("logistic", "ppf", (0.3, 0.1, 1.5)), ("nbinom", "logpmf", (2.4, 5.0, 0.3)),
    ("norm", "logcdf", (-9.0, 0.1, 1.5)), ("norm", "logpdf", (0.4, 0.1, 1.5)),
    ("norm", "ppf", (0.3, 0.1, 1.5)), ("pareto", "logcdf", (2.4, 1.3, 0.1, 1.5)),
    ("poisson", "entropy", (2.4,)), ("poisson", "entropy", (140.0,)),
    ("t", "logpdf", (0.4, 3.0, 0.1, 1.5)), ("truncnorm", "logpdf", (0.4, -1.0, 2.0, 0.1, 1.5)),
    ("truncnorm", "logcdf", (0.4, -1.0, 2.0, 0.1, 1.5)),
    ("truncnorm", "logsf", (11.4, 6.0, 9.0, 0.1, 1.5)), ("uniform", "logpdf", (0.4, 0.1, 1.5)),
    ("uniform", "cdf", (0.4, 0.1, 1.5)), ("vonmises", "logpdf", (0.4, 1.5)),
    ("wrapcauchy", "logpdf", (0.4, 0.3)),
]  # fmt: skip


@pytest.mark.parametrize(("distribution", "name", "point"), SMOOTH)
def test_derivatives_are_numerical_ones(distribution, name, point):
    check_grads(getattr(getattr(stats, distribution), name), [np.asarray(x) for x in point], 1)


def test_derivatives_where_a_formula_has_a_seam():
    for name, fun, x in [
        ("laplace", stats.laplace, 0.0),
        ("gennorm", _gennorm(1.5), 0.0),
        ("gennorm", _gennorm(2.0), 0.0),
        ("gennorm", _gennorm(1.0), 0.0),
    ]:
        assert float(ev.grad(fun.cdf)(x)) == pytest.approx(float(fun.pdf(x))), name
    curvature = ev.grad(ev.grad(stats.logistic.logpdf))(0.0)
    assert float(curvature) == pytest.approx(-0.5)


def _gennorm(beta):
    class Bound:
        cdf = staticmethod(lambda x: stats.gennorm.cdf(x, beta))
        pdf = staticmethod(lambda x: stats.gennorm.pdf(x, beta))

    return Bound


@pytest.mark.parametrize("name", ["gumbel_l", "gumbel_r"])
@pytest.mark.parametrize("scale", [0.0, -1.0])
@pytest.mark.parametrize("engine", [None, "xla"])
def test_of_no_scale_there_is_no_density(name, scale, engine):
    """XLA takes ``z - exp(z)`` at infinity for infinite: it rounds the product in `exp` no more."""
    x = jnp.array([-1.0, 0.0, 7.5])
    for function in (getattr(stats, name).logpdf, getattr(stats, name).pdf):
        run = function if engine is None else ev.jit(function, engine=engine)
        assert np.all(np.isnan(run(x, 0.0, scale)))


@over_calls
def test_nan_stays_nan(call):
    _, _, function, args = call
    got = function(jnp.full(2, jnp.nan), *args[1:])
    assert np.all(np.isnan(got))


@pytest.mark.parametrize("distribution", ["norm", "gamma", "truncnorm", "poisson"])
def test_batches_are_examples(distribution):
    for d, _, function, args in CALLS:
        if d == distribution:
            got = ev.vmap(function, (0, *[None] * (len(args) - 1)))(*map(jnp.asarray, args))
            want = function(*map(jnp.asarray, args))
            # Few elements and many are computed by different kernels.
            np.testing.assert_allclose(got, want, rtol=4 * float(jnp.finfo(got.dtype).eps))


def test_tails_keep_their_digits():
    assert float(stats.norm.isf(1e-20)) == pytest.approx(scipy.stats.norm.isf(1e-20))
    assert float(stats.norm.logsf(40.0)) == pytest.approx(scipy.stats.norm.logsf(40.0))
    assert float(stats.cauchy.ppf(1e-20)) == pytest.approx(-1 / (np.pi * 1e-20))
    assert float(stats.cauchy.cdf(-1e20)) == pytest.approx(1e-20 / np.pi)
    assert float(stats.beta.sf(1 - 1e-9, 2.0, 3.0)) == pytest.approx(4e-27, rel=1e-6)
    assert float(stats.expon.logcdf(50.0)) == pytest.approx(-np.exp(-50.0))
    want = scipy.stats.vonmises.logpdf(0.1, 1e3)
    assert float(stats.vonmises.logpdf(0.1, 1e3)) == pytest.approx(want)


def test_ends_of_the_support():
    x = np.array([0.0, 1.0])
    for shapes in [(1.0, 1.0), (2.0, 1.0), (0.5, 0.5)]:
        want = scipy.stats.beta.pdf(x, *shapes)
        np.testing.assert_allclose(stats.beta.pdf(jnp.asarray(x), *shapes), want, rtol=1e-13)
    assert float(stats.chi2.pdf(0.0, 2.0)) == 0.5
    assert float(stats.gamma.logpdf(jnp.inf, 2.0)) == -np.inf
    counts = jnp.array([0, 1, 6])
    np.testing.assert_allclose(stats.binom.pmf(counts, 6, 0.0), [1, 0, 0], rtol=1e-15)
    np.testing.assert_allclose(stats.binom.pmf(counts, 6, 1.0), [0, 0, 1], rtol=1e-15)
    assert stats.bernoulli.ppf(jnp.array([0.0, 1.0]), 0.3).tolist() == [0, 1]
    assert stats.gumbel_r.ppf(jnp.array([0.0, 1.0])).tolist() == [-np.inf, np.inf]
    assert stats.cauchy.ppf(jnp.array([0.0, 1.0])).tolist() == [-np.inf, np.inf]


def test_entropy_of_the_poisson_distribution():
    means = np.array([0.0, 0.1, 1.0, 9.0, 50.0, 99.9, 100.1])
    got = stats.poisson.entropy(jnp.asarray(means))
    np.testing.assert_allclose(got, scipy.stats.poisson.entropy(means), rtol=1e-9)
    assert stats.poisson.entropy(jnp.ones(3), jnp.zeros((2, 1))).shape == (2, 3)
    assert np.isnan(stats.poisson.entropy(-1.0))
    normal = scipy.stats.norm(0, 1e4).entropy()
    assert float(stats.poisson.entropy(1e8)) == pytest.approx(normal, rel=1e-9)


@pytest.mark.engine
def test_jit_sees_python_numbers_as_arguments():
    for function in (stats.norm.logpdf, stats.expon.cdf, stats.gamma.logpdf):
        got = ev.jit(function)(0.7, 1.5, scale=2.0)
        assert float(got) == pytest.approx(float(function(0.7, 1.5, scale=2.0)))


# ---------------------------------------------------------------- several variables


def test_multinomial():
    x, p = np.array([[1, 2, 0], [1, 1, 1], [0, 0, 4], [-1, 2, 2]]), np.array([0.2, 0.3, 0.5])
    got = stats.multinomial.pmf(jnp.asarray(x), 3, jnp.asarray(p))
    np.testing.assert_allclose(got, scipy.stats.multinomial.pmf(x, 3, p), rtol=1e-12)
    certain = stats.multinomial.logpmf(jnp.array([3, 0]), 3, jnp.array([1.0, 0.0]))
    assert float(certain) == pytest.approx(0)
    check_grads(lambda p: stats.multinomial.logpmf(jnp.array([1, 2, 0]), 3, p), [p], 1)


def test_dirichlet():
    x, alpha = np.array([[0.2, 0.1], [0.3, 0.3], [0.5, 0.6]]), np.array([1.0, 2.0, 3.0])
    want = scipy.stats.dirichlet.logpdf(x, alpha)
    for given in (x, x[:-1]):
        got = stats.dirichlet.logpdf(jnp.asarray(given), jnp.asarray(alpha))
        np.testing.assert_allclose(got, want, rtol=1e-12)
    outside = jnp.array([[-0.2, 0.3], [0.7, 0.3], [0.5, 0.3]])
    assert stats.dirichlet.pdf(outside, jnp.asarray(alpha)).tolist() == [0, 0]
    check_grads(stats.dirichlet.logpdf, [x[:-1], alpha], 1)


def test_multivariate_normal():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    x, mean, cov = rng.normal(size=(5, 3)), rng.normal(size=3), root @ root.T + np.eye(3)
    logpdf = stats.multivariate_normal.logpdf
    want = scipy.stats.multivariate_normal.logpdf(x, mean, cov)
    np.testing.assert_allclose(logpdf(*map(jnp.asarray, (x, mean, cov))), want, rtol=1e-12)
    want = scipy.stats.multivariate_normal.logpdf(x, mean, 2.5)
    np.testing.assert_allclose(logpdf(jnp.asarray(x), jnp.asarray(mean), 2.5), want, rtol=1e-12)
    many = logpdf(jnp.asarray(x), jnp.asarray(mean), jnp.asarray(np.stack([cov] * 5)))
    np.testing.assert_allclose(many, logpdf(*map(jnp.asarray, (x, mean, cov))), rtol=1e-12)
    assert np.isnan(logpdf(jnp.ones(2), jnp.zeros(2), jnp.ones((2, 2))))
    symmetric = np.asarray(cov)
    check_grads(lambda x, m, c: logpdf(x, m, c + c.T), [x, mean, symmetric], 1)


# ---------------------------------------------------------------- samples

SAMPLES = [
    np.array([3.0, 1.0, 3.0, 2.0, 1.0]),
    np.array([[3, 1, 1, 3], [2, 2, 5, 1], [3, 1, 5, 3]]),
    np.array([[True, False, True]]),
    np.arange(6.0).reshape(2, 3),
]
AXES = [0, -1, None]


@pytest.mark.parametrize("sample", SAMPLES, ids=["floats", "integers", "booleans", "distinct"])
@pytest.mark.parametrize("axis", AXES)
def test_statistics_of_samples_are_scipys(sample, axis):
    x = jnp.asarray(sample)
    for keepdims in (False, True):
        got = stats.mode(x, axis, keepdims=keepdims)
        want = scipy.stats.mode(sample.astype(float), axis, keepdims=keepdims)
        np.testing.assert_array_equal(got.mode, want.mode)
        np.testing.assert_array_equal(got.count, want.count)
    for method in ("average", "min", "max", "dense", "ordinal"):
        want = scipy.stats.rankdata(sample, method, axis=axis)
        np.testing.assert_array_equal(stats.rankdata(x, method, axis=axis), want)
    with np.errstate(all="ignore"):
        want = np.std(sample, axis, ddof=0) / np.sqrt(
            sample.size if axis is None else sample.shape[axis]
        )
    np.testing.assert_allclose(stats.sem(x.astype(float), axis, ddof=0), want, rtol=1e-14)


def test_samples_with_nan():
    x = jnp.array([[1.0, jnp.nan, 2.0, jnp.nan], [1.0, 1.0, 2.0, 5.0]])
    found = stats.mode(x, axis=1)
    assert np.isnan(found.mode[0])
    assert found.mode[1] == 1
    assert found.count.tolist() == [2, 2]
    assert np.isnan(stats.rankdata(x, axis=1)[0]).all()
    assert stats.rankdata(x, axis=1)[1].tolist() == [1.5, 1.5, 3, 4]
    omitted = stats.sem(x, axis=1, nan_policy="omit")
    np.testing.assert_allclose(omitted, scipy.stats.sem(np.asarray(x), 1, nan_policy="omit"))
    assert np.isnan(stats.sem(x, axis=1)[0])


def test_samples_of_nothing():
    found = stats.mode(jnp.zeros((0, 2)))
    assert np.isnan(found.mode).all()
    assert found.count.tolist() == [0, 0]
    assert stats.rankdata(jnp.zeros((2, 0)), axis=1).shape == (2, 0)


@pytest.mark.engine
def test_samples_compile():
    x = jnp.asarray(SAMPLES[1])
    jitted = ev.jit(lambda x: (stats.mode(x, 1), stats.rankdata(x, axis=0), stats.sem(x)))
    mode, ranks, error = jitted(x)
    assert mode.mode.tolist() == stats.mode(x, 1).mode.tolist()
    np.testing.assert_array_equal(ranks, stats.rankdata(x, axis=0))
    np.testing.assert_allclose(error, stats.sem(x), rtol=1e-14)


# ---------------------------------------------------------------- density estimates

ONE = np.array([0.0, 1.0, 2.5, 4.0])
TWO = np.array([[0.0, 1.0, 2.5, 4.0], [1.0, 0.0, 2.0, 2.0]])
WEIGHTS = np.array([1.0, 2.0, 1.0, 1.0])
ESTIMATES = [(ONE, None, None), (TWO, "silverman", None), (ONE, 0.5, WEIGHTS), (TWO, None, WEIGHTS)]


@pytest.mark.parametrize(("data", "method", "weights"), ESTIMATES)
def test_density_estimates_are_scipys(data, method, weights):
    given = None if weights is None else jnp.asarray(weights)
    ours = stats.gaussian_kde(jnp.asarray(data), method, given)
    theirs = scipy.stats.gaussian_kde(data, method, weights)
    assert (ours.d, ours.n) == (theirs.d, theirs.n)
    for name in ("neff", "dataset", "weights", "covariance", "inv_cov"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)
    points = data + 0.3
    for name in ("pdf", "logpdf", "evaluate"):
        want = getattr(theirs, name)(points)
        np.testing.assert_allclose(getattr(ours, name)(jnp.asarray(points)), want, rtol=1e-12)
    mean, cov = np.full(ours.d, 0.4), np.eye(ours.d) * 1.5
    got = ours.integrate_gaussian(jnp.asarray(mean), jnp.asarray(cov))
    assert float(got) == pytest.approx(theirs.integrate_gaussian(mean, cov))
    other = stats.gaussian_kde(jnp.asarray(points))
    want = theirs.integrate_kde(scipy.stats.gaussian_kde(points))
    assert float(ours.integrate_kde(other)) == pytest.approx(want)
    if ours.d == 1:
        want = theirs.integrate_box_1d(-0.5, 2.0)
        assert float(ours.integrate_box_1d(-0.5, 2.0)) == pytest.approx(want)


def test_density_estimates_far_away():
    kde = stats.gaussian_kde(jnp.asarray(ONE))
    want = scipy.stats.gaussian_kde(ONE).logpdf(1e3)
    np.testing.assert_allclose(kde.logpdf(1e3), want, rtol=1e-12)
    check_grads(lambda x: stats.gaussian_kde(x).logpdf(jnp.array([0.3])), [ONE], 1)


@pytest.mark.engine
def test_density_estimates_are_pytrees():
    kde = stats.gaussian_kde(jnp.asarray(TWO), lambda kde: kde.n**-0.25)
    assert len(ev.tree.leaves(kde)) == 5
    points = jnp.asarray(TWO)
    np.testing.assert_allclose(ev.jit(lambda k, x: k(x))(kde, points), kde(points), rtol=1e-13)
    rows = ev.vmap(lambda row: stats.gaussian_kde(row)(row))(points)
    np.testing.assert_allclose(rows[1], stats.gaussian_kde(points[1])(points[1]), rtol=1e-13)


def test_draws_from_density_estimates():
    kde = stats.gaussian_kde(jnp.asarray(TWO))
    assert kde.resample(random.key(0)).shape == (2,)
    assert kde.resample(random.key(0), (2, 3)).shape == (2, 2, 3)
    draws = np.asarray(kde.resample(random.key(1), (20_000,)))
    spread = np.cov(TWO, bias=True) + np.asarray(kde.covariance)
    np.testing.assert_allclose(draws.mean(1), TWO.mean(1), atol=0.05)
    np.testing.assert_allclose(np.cov(draws), spread, atol=0.15)


# ---------------------------------------------------------------- mistakes

X = jnp.ones(3)
KDE = stats.gaussian_kde(jnp.arange(4.0))
MISTAKES = [
    (lambda: stats.norm.pdf([1.0]), TypeError, "norm.pdf requires ndarray or scalar"),
    (lambda: stats.norm.cdf(1j), TypeError, "norm.cdf: is not defined for complex"),
    (lambda: stats.gamma.pdf(X, jnp.ones(2)), ValueError, "gamma.pdf: shapes .* do not broadcast"),
    (lambda: stats.gamma.pdf(X), TypeError, "missing a required argument: 'a'"),
    (lambda: stats.multinomial.pmf(X, 3, X), ValueError, "x and n must be integers"),
    (lambda: stats.multinomial.pmf(3, 3, 1.0), ValueError, "axis -1 is out of bounds"),
    (lambda: stats.dirichlet.pdf(X, jnp.ones((3, 2))), ValueError, "alpha must have one dim"),
    (lambda: stats.dirichlet.pdf(X, jnp.ones(5)), ValueError, "x must have 5 or 4 rows"),
    (lambda: stats.multivariate_normal.pdf(X, X, X), ValueError, "cov must be a 3 by 3 matrix"),
    (lambda: stats.multivariate_normal.logpdf(X, X, 1.0, True), NotImplementedError, "singular"),
    (lambda: stats.mode(X, nan_policy="omit"), NotImplementedError, "'omit' is not supported"),
    (lambda: stats.mode(X, nan_policy="skip"), ValueError, "no nan_policy 'skip'"),
    (lambda: stats.mode(X, 1), ValueError, "axis 1 is out of bounds"),
    (lambda: stats.rankdata(X, "best"), ValueError, "no method 'best'"),
    (lambda: stats.sem(X, nan_policy="raise"), ValueError, "'propagate' or 'omit'"),
    (lambda: stats.gaussian_kde(jnp.ones(1)), ValueError, "more than one element"),
    (lambda: stats.gaussian_kde(X, "widest"), ValueError, "bw_method is 'widest'"),
    (
        lambda: stats.gaussian_kde(X, weights=jnp.ones(2)),
        ValueError,
        r"weights must have shape \(3",
    ),
    (lambda: stats.gaussian_kde(X * 1j), NotImplementedError, "complex samples"),
    (lambda: KDE(jnp.ones((2, 3))), ValueError, r"points must have shape \(1, 3\)"),
    (lambda: KDE.integrate_box(0, 1), NotImplementedError, "integrate_box_1d"),
    (lambda: KDE.integrate_box_1d(X, 1.0), ValueError, "limits must be scalars"),
    (lambda: KDE.set_bandwidth(), NotImplementedError, "another `bw_method`"),
]


@pytest.mark.parametrize(("call", "error", "text"), MISTAKES)
def test_mistakes_are_explained(call, error, text):
    with pytest.raises(error, match=text):
        call()
