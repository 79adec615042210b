"""`evertrace.scipy.special`: values are SciPy's, compiled, batched and differentiated ones too."""

import numpy as np
import pytest
import scipy.special

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.scipy import special
from tests.support.closeness import assert_same
from tests.support.gradcheck import check_grads

N = 50
EDGES = np.array([0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 2.5, -2.5, 30.0, -30.0, 1e-5, 4.0])

# name, ranges that arguments are drawn from ("log": of their decimal logarithm), ulps in float64
# and float32. Where a function crosses zero, its ranges leave the neighbourhood out.
REAL = [
    ("beta", [(0.1, 9), (0.1, 9)], 256),
    ("betainc", [(0.1, 9), (0.1, 9), (0, 1)], 256),
    ("betaln", [(2, 30), (2, 30)], 64),
    ("boxcox", [(0.01, 3), (-2, 2)], 16),
    ("boxcox1p", [(-0.9, 3), (-2, 2)], 16),
    ("comb", [(20, 30), (0, 20)], 256),
    ("dawsn", [(-9, 9)], 64),
    ("digamma", [(2, 9)], 64),
    ("entr", [(0, 0.9)], 8),
    ("erf", [(-3, 3)], 8),
    ("erfc", [(-3, 5)], 64),
    ("erfcx", [(-3, 50)], 8),
    ("erfcx", [("log", -5, 8)], 8),
    ("erfinv", [(-0.99, 0.99)], 32),
    ("exp1", [("log", -5, 1.3)], 64),
    ("expi", [(0.6, 60)], 256),
    ("expi", [(-9, 0)], 64),
    ("expit", [(-9, 9)], 4),
    ("factorial", [(0, 30)], 64),
    ("gamma", [(0.1, 30)], 16),
    ("gamma", [(-9.9, -0.1)], 64),
    ("gammainc", [(0.1, 9), (0.1, 9)], 256),
    ("gammaincc", [(0.1, 9), (0.1, 9)], 256),
    ("gammaln", [(3, 50)], 16),
    ("gammasgn", [(-20, 10)], 0),
    ("hyp1f1", [(0.1, 5), (0.1, 5), (-3, 80)], 512),
    ("hyp1f1", [(0.1, 2), (2.5, 5), (-200, 0)], 2048),
    ("hyp2f1", [(0.1, 3), (0.1, 3), (0.5, 3), (0, 0.9)], 64),
    ("hyp2f1", [(0.1, 0.9), (0.1, 0.9), (2.1, 2.4), (0.9, 1)], 512),
    ("hyp2f1", [(0.1, 0.9), (0.1, 0.9), (1, 3), (-30, 0)], 512),
    ("i0", [(-30, 30)], 64),
    ("i0e", [(-30, 30)], 64),
    ("i1", [(-30, 30)], 32),
    ("i1e", [(-30, 30)], 32),
    ("kl_div", [(0, 1), (2, 3)], 16),
    ("log_ndtr", [(-9, 0)], 16),
    ("log_ndtr", [(-1e4, -9)], 16),
    ("loggamma", [(3, 50)], 16),
    ("logit", [(0, 1)], 8),
    ("ndtr", [(-3, 9)], 64),
    ("ndtri", [(0, 1)], 64),
    ("ndtri", [("log", -36, -1)], 8),
    ("owens_t", [(0, 3), ("log", -3, 3)], 64),
    ("poch", [(0.1, 9), (0.1, 3)], 256),
    ("rel_entr", [(0, 1), (2, 3)], 8),
    ("spence", [("log", -5, -0.1)], 32),
    ("spence", [("log", 0.1, 8)], 32),
    ("xlog1py", [(-3, 3), (-0.9, 3)], 8),
    ("xlogy", [(-3, 3), (0.01, 3)], 8),
    ("zeta", [(1.1, 9), (0.1, 9)], 16),
]
COMPLEX = [("erfcx", 64), ("gamma", 512), ("loggamma", 1024), ("wofz", 128)]
PAIRS = [("fresnel", (0.1, 9)), ("fresnel", (-2, -0.1)), ("sici", (1, 3)), ("sici", (3.6, 6))]


def draw(rng, limits):
    if limits[0] == "log":
        return 10.0 ** rng.uniform(*limits[1:], N)
    return rng.uniform(*limits, N)


def arguments(limits, dtype="float64"):
    rng = np.random.default_rng(len(limits))
    return [draw(rng, one).astype(dtype) for one in limits]


def identified(rows):
    return [f"{row[0]}{i}" for i, row in enumerate(rows)]


over_real = pytest.mark.parametrize(("name", "limits", "ulps"), REAL, ids=identified(REAL))


@pytest.fixture(autouse=True)
def _doubles():
    with ev.enable_x64(True):
        yield


@over_real
def test_values_are_scipys(name, limits, ulps):
    args = arguments(limits)
    want = getattr(scipy.special, name)(*args)
    assert_same(getattr(special, name)(*map(jnp.asarray, args)), want, ulps, label=name)


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_values_are_scipys(dtype):
    args = [arguments(limits, dtype) for _, limits, _ in REAL]

    @ev.jit
    def program(args):
        return [getattr(special, row[0])(*xs) for row, xs in zip(REAL, args, strict=True)]

    found = program([[jnp.asarray(x) for x in xs] for xs in args])
    for (name, _, ulps), xs, got in zip(REAL, args, found, strict=True):
        want = getattr(scipy.special, name)(*[x.astype("float64") for x in xs]).astype(dtype)
        assert_same(got, want, max(ulps, 4), label=name)


@pytest.mark.parametrize(("name", "ulps"), COMPLEX)
def test_complex_values_are_scipys(name, ulps):
    rng = np.random.default_rng(0)
    z = rng.uniform(-4, 4, N) + 1j * rng.uniform(0.5, 4, N) * rng.choice([-1, 1], N)
    assert_same(getattr(special, name)(jnp.asarray(z)), getattr(scipy.special, name)(z), ulps)


@pytest.mark.parametrize(("name", "limits"), PAIRS)
def test_pairs_are_scipys(name, limits):
    (x,) = arguments([limits])
    for got, want in zip(
        getattr(special, name)(jnp.asarray(x)), getattr(scipy.special, name)(x), strict=True
    ):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-13, atol=1e-14)


# ---------------------------------------------------------------- edges

UNARY = sorted({name for name, limits, _ in REAL if len(limits) == 1})
SAYS_OTHERWISE = {
    "digamma": "NaN at 0, as in JAX",
    "gammaln": "inf at -inf, as C's function",
    "i0": "SciPy has NaN at infinity, instead of the limit",
    "i1": "the same",
    "loggamma": "NaN at 0, as in JAX",
    "spence": "SciPy has NaN at infinity, instead of the limit",
}


@pytest.mark.parametrize("name", UNARY)
def test_edges_are_scipys(name):
    got = np.asarray(getattr(special, name)(jnp.asarray(EDGES)))
    want = getattr(scipy.special, name)(EDGES)
    same = (got == want) | (np.isnan(got) & np.isnan(want)) | np.isclose(got, want, 1e-12, 0)
    assert np.all(same) == (name not in SAYS_OTHERWISE), (EDGES[~same], got[~same], want[~same])


@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "kl_div", "rel_entr"])
def test_edges_of_two_arguments_are_scipys(name):
    x, y = np.meshgrid(EDGES, EDGES)
    got = getattr(special, name)(jnp.asarray(x), jnp.asarray(y))
    want = getattr(scipy.special, name)(x, y)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12)


def test_orders_of_expn():
    x = np.array([0.0, 1e-5, 0.3, 1.0, 1.1, 7.0, np.inf])
    for n in range(25):
        got = special.expn(n, jnp.asarray(x))
        np.testing.assert_allclose(np.asarray(got), scipy.special.expn(n, x), rtol=1e-14)


# With y = 1 - x: c - a - b is 0, 1, -1 and 1/2, then negative x.
HYPERGEOMETRIC = [
    ((1, 1, 2), lambda x, y: -np.log(y) / x),
    ((0.5, 0.5, 1), lambda x, y: 2 / np.pi * scipy.special.ellipkm1(y)),
    ((-0.5, 0.5, 1), lambda x, y: 2 / np.pi * scipy.special.ellipe(x)),
    ((1.5, 0.5, 1), lambda x, y: 2 / np.pi * scipy.special.ellipe(x) / y),
    ((0.5, 0.5, 1.5), lambda x, y: np.arccos(np.sqrt(y)) / np.sqrt(x)),
    ((0.5, -2, 3), lambda x, y: 1 - x / 3 + x * x / 16),
]


@pytest.mark.parametrize(
    ("parameters", "closed"), HYPERGEOMETRIC, ids=[str(p) for p, _ in HYPERGEOMETRIC]
)
def test_hypergeometric_functions_next_to_one(parameters, closed):
    y = 10.0 ** -np.arange(1, 12)
    x = 1 - y
    got = special.hyp2f1(*map(float, parameters), jnp.asarray(x))
    np.testing.assert_allclose(np.asarray(got), closed(x, 1 - x), rtol=1e-14)


def test_hypergeometric_functions_of_large_negative_numbers():
    x = -(10.0 ** np.arange(1, 18))
    for parameters, closed in (
        ((1.0, 1.0, 2.0), np.log1p(-x) / -x),
        ((0.5, 1.0, 1.5), np.arctan(np.sqrt(-x)) / np.sqrt(-x)),
        ((1.0, 1.0, 1.0), 1 / (1 - x)),
    ):
        got = special.hyp2f1(*parameters, jnp.asarray(x))
        np.testing.assert_allclose(np.asarray(got), closed, rtol=1e-14)


def test_poch_of_two_poles():
    z, m = np.array([-3.0, -3.0, -3.0, -2.5]), np.array([2.0, 3.0, 4.0, 2.0])
    got = special.poch(jnp.asarray(z), jnp.asarray(m))
    np.testing.assert_allclose(np.asarray(got), scipy.special.poch(z, m), rtol=1e-13)


@pytest.mark.parametrize(
    ("z", "m", "expected"),
    [
        (1e30, 1.0, 1e30), (-1e20, 1.0, -1e20), (1e300, -1.0, 1e-300), (0.5, -2.5, np.inf),
        (-2.0, 0.5, 0.0), (np.inf, 0.5, np.inf), (np.inf, -0.5, 0.0), (3.0, np.nan, np.nan),
    ],
)  # fmt: skip
def test_poch_of_what_is_large_or_special(z, m, expected):
    np.testing.assert_allclose(special.poch(z, m), expected, rtol=1e-13)


def test_choices_with_repetition_of_few_things():
    n, k = np.meshgrid([0.0, 0.5, 1.0, 2.0, np.nan], [0.0, 0.5, 1.0, 2.0, np.nan])
    got = special.comb(jnp.asarray(n), jnp.asarray(k), repetition=True)
    expected = scipy.special.comb(n, k, repetition=True)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-10, atol=1e-12)
    by_n = ev.grad(lambda n: special.comb(n, 0.0, repetition=True))(0.0)
    assert by_n == 0


# ---------------------------------------------------------------- other arguments


def test_bernoulli_numbers():
    np.testing.assert_allclose(special.bernoulli(30), scipy.special.bernoulli(30), rtol=1e-11)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_multigammaln(d):
    a = np.array([3.5, 7.0, 30.0])
    got = special.multigammaln(jnp.asarray(a), d)
    np.testing.assert_allclose(got, scipy.special.multigammaln(a, d), rtol=1e-13)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_polygamma(n):
    x = np.array([0.3, 1.0, 7.0])
    got = special.polygamma(n, jnp.asarray(x))
    np.testing.assert_allclose(got, scipy.special.polygamma(n, x), rtol=1e-13)


@pytest.mark.engine
@pytest.mark.parametrize("n", [0, 1, 2])
def test_zero_is_a_pole_like_the_others(n):
    x = np.array([0.0, -0.0, -1.0, -2.0])
    want = np.inf if n % 2 else np.nan
    for fun in [lambda x: special.polygamma(n, x), *([special.digamma] if n == 0 else [])]:
        for got in (fun(jnp.asarray(x)), ev.jit(fun, engine="xla")(x)):
            np.testing.assert_array_equal(got, np.full(4, want))


def test_bessel_functions_of_all_orders():
    z = np.array([0.0, 1e-3, 1.0, -2.5, 10.0, 25.0])
    got = special.bessel_jn(jnp.asarray(z), v=4, n_iter=60)
    want = [scipy.special.jv(n, z) for n in range(5)]
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)


def test_spherical_harmonics_of_all_orders():
    pairs = [(n, m) for n in range(6) for m in range(-n, n + 1)]
    n, m = (np.array(x)[:, None] for x in zip(*pairs, strict=True))
    theta, phi = np.array([0.0, 0.4, 1.7, np.pi]), np.array([0.0, 1.0, 2.0, 6.0])
    got = special.sph_harm_y(*map(jnp.asarray, (n, m, theta, phi)))
    want = scipy.special.sph_harm_y(n, m, theta, phi)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-14)


def test_associated_legendre_functions_are_derivatives_of_polynomials():
    """``P(l, m) = (-1)**m * (1 - z**2) ** (m / 2)`` times the m-th derivative of ``P(l)``."""
    z, size = np.linspace(-0.95, 0.95, 7), 9
    sines = np.sqrt(1 - z * z)
    want, slopes = np.zeros((2, size, size, 7))
    for n in range(size):
        polynomial = np.polynomial.legendre.Legendre.basis(n)
        for m in range(n + 1):
            of, after = polynomial.deriv(m)(z) if m else polynomial(z), polynomial.deriv(m + 1)(z)
            want[m, n] = (-sines) ** m * of
            slopes[m, n] = (-sines) ** m * (after - m * z / sines**2 * of)
    with ev.enable_x64():
        got = special.lpmn(8, 8, jnp.asarray(z))
        values = special.lpmn_values(8, 8, jnp.asarray(z), False)
        normalised = special.lpmn_values(8, 8, jnp.asarray(z), True)
    np.testing.assert_allclose(got[0], want, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(got[1], slopes, rtol=1e-11, atol=1e-10)
    np.testing.assert_array_equal(values, got[0])
    for n, m in [(0, 0), (1, 1), (5, 2), (8, 7)]:
        harmonic = scipy.special.sph_harm_y(n, m, np.arccos(z), 0.0).real
        np.testing.assert_allclose(normalised[m, n], harmonic, rtol=1e-11, atol=1e-13)


def test_associated_legendre_functions_at_the_poles():
    values, slopes = special.lpmn(2, 2, jnp.array([1.0, -1.0]))
    np.testing.assert_array_equal(values[:, 2], [[1, 1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(slopes[:, 1], [[1, 1], [np.inf, -np.inf], [0, 0]])
    np.testing.assert_array_equal(slopes[:, 2], [[3, -3], [np.inf, np.inf], [-6, 6]])


def test_softmax_is_over_all_axes():
    x = np.arange(6.0).reshape(2, 3)
    for name in ("softmax", "log_softmax", "logsumexp"):
        got = getattr(special, name)(jnp.asarray(x))
        np.testing.assert_allclose(got, getattr(scipy.special, name)(x), rtol=1e-14)


def test_integers_and_narrow_floats_are_promoted():
    assert special.gamma(jnp.array([1, 5])).tolist() == pytest.approx([1, 24])
    half = special.dawsn(jnp.array([0.5], "float16"))
    assert half.dtype == "float16"
    assert float(half[0]) == pytest.approx(scipy.special.dawsn(0.5), rel=1e-3)


# ---------------------------------------------------------------- derivatives

# name, point, how often it is differentiated.
SMOOTH = [
    ("beta", (1.5, 2.5), 2), ("betaln", (1.5, 12.5), 2), ("boxcox", (1.5, 0.3), 1),
    ("boxcox", (1.5, 0.0), 1), ("boxcox1p", (0.5, 2.0), 1), ("comb", (5.5, 2.2), 2),
    ("dawsn", (0.7,), 2), ("entr", (0.7,), 2), ("erfcx", (0.7,), 2), ("exp1", (0.7,), 2),
    ("expi", (0.7,), 2), ("expi", (-0.7,), 2), ("factorial", (2.3,), 2),
    ("fresnel", (0.7,), 2), ("fresnel", (2.7,), 2), ("gamma", (2.3,), 2), ("gamma", (-1.3,), 2),
    ("gammainc", (1.3, 2.1), 1), ("gammainc", (2.0, 3.0), 1),
    ("gammaincc", (30.3, 31.0), 1), ("hyp1f1", (1.3, 2.1, 0.7), 1),
    ("hyp2f1", (0.3, 1.1, 2.2, 0.4), 1), ("hyp2f1", (0.3, 1.1, 2.4, 0.98), 1),
    ("i0", (0.7,), 2), ("i1", (-0.7,), 2),
    ("kl_div", (0.7, 0.4), 2), ("log_ndtr", (-3.0,), 2), ("log_ndtr", (1.0,), 2),
    ("loggamma", (2.3,), 2), ("logit", (0.7,), 2), ("ndtr", (0.7,), 2), ("ndtri", (0.03,), 2),
    ("ndtri", (0.7,), 2), ("owens_t", (0.7, 0.4), 2), ("owens_t", (0.7, 1.4), 2),
    ("poch", (1.5, 2.5), 2), ("rel_entr", (0.7, 0.4), 2), ("sici", (0.7,), 2), ("sici", (7.0,), 2),
    ("softmax", (np.array([0.3, 0.7]),), 2), ("spence", (0.3,), 2), ("spence", (3.0,), 2),
    ("xlog1py", (0.7, 0.4), 2), ("xlogy", (0.7, 0.4), 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "point", "order"), SMOOTH, ids=identified(SMOOTH))
def test_derivatives_are_numerical_ones(name, point, order):
    check_grads(getattr(special, name), [np.asarray(x) for x in point], order)


@pytest.mark.parametrize("name", ["gamma", "loggamma", "wofz", "erfcx"])
@pytest.mark.parametrize("z", [0.7 + 0.4j, -1.3 - 0.6j, -0.4 + 0.9j])
def test_complex_derivatives_are_numerical_ones(name, z):
    check_grads(getattr(special, name), [np.asarray(z)], 1)


def test_derivatives_by_one_argument():
    check_grads(lambda x: special.expn(3, x), [np.array([0.3, 1.7])], 2)
    check_grads(lambda x: special.hyp1f1(1.3, 2.1, x), [np.array([0.3, -70.0])], 2)
    check_grads(lambda x: special.bessel_jn(x, v=3), [np.array([0.0, 0.3, 7.0])], 2)
    check_grads(lambda x: special.polygamma(1, x), [np.array([0.3, 1.7])], 2)
    check_grads(lambda t, p: special.sph_harm_y(3, -2, t, p), [np.array(0.3), np.array(1.7)], 2)


def test_derivatives_of_limits():
    assert float(ev.grad(special.boxcox, 1)(2.0, 0.0)) == pytest.approx(np.log(2) ** 2 / 2)
    assert float(ev.grad(special.i1)(0.0)) == 0.5
    assert float(ev.grad(special.spence)(1.0)) == -1
    assert float(ev.grad(lambda x: special.xlogy(x, 2.0))(0.0)) == pytest.approx(np.log(2))


@pytest.mark.parametrize("name", ["gammainc", "expn", "owens_t", "hyp1f1", "xlogy"])
def test_batches_are_examples(name):
    args = [jnp.array([0.5, 1.0, 2.0]), jnp.array([0.3, 1.7, 4.0])]
    if name == "hyp1f1":
        args.append(jnp.array([-1.0, 0.5, 70.0]))
    fun = getattr(special, name)
    got, want = ev.vmap(fun)(*args), [fun(*xs) for xs in zip(*args, strict=True)]
    np.testing.assert_allclose(got, np.stack(want), rtol=1e-13)


# ---------------------------------------------------------------- mistakes

MISTAKES = [
    (lambda: special.zeta(2.0), NotImplementedError, "pass q"),
    (lambda: special.factorial(5, exact=True), NotImplementedError, "math.factorial"),
    (lambda: special.bernoulli(-1), ValueError, "must not be negative"),
    (lambda: special.bernoulli(2.5), TypeError, "integer"),
    (lambda: special.polygamma(1.0, 2.0), TypeError, "n must be of an integer dtype"),
    (lambda: special.log_ndtr(1.0, series_order=31), ValueError, "from 0 to 30"),
    (lambda: special.log_ndtr(1.0, series_order=1.5), TypeError, "must be an integer"),
    (lambda: special.bessel_jn(1.0, v=-1), ValueError, "v must not be negative"),
    (lambda: special.bessel_jn(1.0, v=2**64), ValueError, "v and n_iter are numbers of steps"),
    (lambda: special.bessel_jn(1.0, v=1.5), TypeError, "v must be an integer"),
    (lambda: special.multigammaln(3.0, 2.5), TypeError, "d must be an integer"),
    (lambda: special.sph_harm_y(2, 1, 0.1, 0.2, diff_n=1), NotImplementedError, "diff_n"),
    (lambda: special.sph_harm_y(2, 1, 0.1, 0.2, n_max=2**70), ValueError, "4096 at most"),
    (lambda: special.sph_harm_y(2.0, 1, 0.1, 0.2), TypeError, "n must be of an integer dtype"),
    (lambda: ev.jit(special.sph_harm_y)(2, 1, 0.1, 0.2), TypeError, "n_max must be known"),
    (lambda: special.lpmn(2, 1, jnp.ones(2)), NotImplementedError, "order 2 is not the largest de"),
    (lambda: special.lpmn(-1, -1, jnp.ones(2)), ValueError, "n must be from 0 to 4096, got -1"),
    (lambda: special.lpmn(1, 1, jnp.arange(2)), TypeError, "z must be float32 or float64"),
    (lambda: special.lpmn_values(1, 1, 0.5, True), ValueError, r"one dimension, got shape \(\)"),
    (
        lambda: ev.jit(lambda n: special.lpmn(n, n, jnp.ones(2)))(jnp.int32(1)),
        TypeError,
        "m must be known",
    ),
    (lambda: special.dawsn(1j), TypeError, "not defined for complex"),
    (lambda: special.gamma([1.0]), TypeError, "requires ndarray or scalar"),
    (lambda: special.xlogy(jnp.ones(2), jnp.ones(3)), ValueError, "do not broadcast"),
    (lambda: ev.grad(special.betainc)(1.0, 2.0, 0.3), NotImplementedError, "argument a"),
]


@pytest.mark.parametrize(("call", "error", "text"), MISTAKES)
def test_mistakes_are_explained(call, error, text):
    with pytest.raises(error, match=text):
        call()
