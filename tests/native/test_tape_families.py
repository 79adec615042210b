"""What tapes compute with more than loops: random numbers, places, windows, factors of matrices."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random
from evertrace._src.engines.native.engine import compile_jaxpr
from evertrace._src.engines.native.rules.control import body as tape_of_body
from tests.support.tapes import check, jaxpr_of, tape_of

pytestmark = pytest.mark.usefixtures("needs_native")

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(64, 64)).astype(np.float32)

RANDOM = {
    "bits": lambda k: random.bits(k, (5, 3)),
    "bits of 64": lambda k: random.bits(k, (5,), "uint32"),
    "bits of 8": lambda k: random.bits(k, (5,), "uint8"),
    "uniform": lambda k: random.uniform(k, (7,)),
    "normal": lambda k: random.normal(k, (33,)),
    "split": lambda k: [random.key_data(x) for x in random.split(k, 3)],
    "split of a split": lambda k: random.bits(random.split(random.split(k)[1])[0]),
    "fold_in": lambda k: random.key_data(random.fold_in(k, 7)),
    "many keys": lambda k: ev.vmap(lambda k: random.uniform(k, (4,)))(random.split(k, 6)),
    "a loop": lambda k: lax.fori_loop(
        0, 5, lambda i, s: s + random.uniform(random.fold_in(k, i)), 0.0
    ),
    "a seed": lambda k: random.key_data(random.key(k[0])),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random(name):
    def fun(words):
        keys = words if name == "a seed" else random.wrap_key_data(words)
        return RANDOM[name](keys)

    check(fun, np.array([3, 5], np.uint32))


def images(x, kernel):
    """Return what a small net of images is made of: a convolution, a maximum of windows.

    The sine's angles are small: it would magnify how sums round, which differs between processors.
    """
    x = lax.conv_general_dilated(
        x.reshape(2, 16, 16, 8),
        kernel.reshape(2, 2, 8, 16),
        (2, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return lax.reduce_window(jnp.sin(x / 16), -jnp.inf, lax.max, (1, 2, 3, 1), (1, 2, 2, 1), "SAME")


WINDOWS = {
    "images": images,
    "gradient": ev.grad(lambda x, k: jnp.sum(images(x, k) ** 2), (0, 1)),
    "each example": ev.vmap(lambda x, k: images(jnp.stack([x] * 64), k), (0, None)),
    "sums of windows": lambda x, _: lax.reduce_window(x, 0.0, lax.add, (3, 5), (1, 2), "SAME"),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name):
    check(WINDOWS[name], MATRIX, MATRIX.reshape(-1)[:512])


PLACES = np.array([3, 1, 70, -5, 3], np.int32)

INDEXING = {
    "rows": lambda x, i: x[i],
    "rows that are there": lambda x, i: x.at[i].get(mode="clip"),
    "rows or a number": lambda x, i: x.at[i].get(mode="fill", fill_value=7),
    "elements": lambda x, i: x[i, i],
    "columns": lambda x, i: jnp.take(x, i, axis=1),
    "along an axis": lambda x, i: jnp.take_along_axis(x[:5], i[:, None], axis=1),
    "an example each": lambda x, i: ev.vmap(lambda r, k: r[k])(x[:5], i),
    "set": lambda x, i: x.at[i[:4]].set(2.0),
    "add": lambda x, i: x.at[i].add(x[:5]),
    "sub": lambda x, i: x.at[:, i].add(-x[:, :5]),
    "max": lambda x, i: x.at[i, i].max(0.5),
    "mul in a loop": lambda x, i: lax.fori_loop(0, 5, lambda k, y: y.at[i[k]].mul(2.0), x),
    "nothing": lambda x, i: (x[i[:0]], x.at[i[:0]].set(1.0)),
    "derivative": lambda x, i: ev.grad(lambda x: jnp.sum(jnp.sin(x[i]) * x[0]))(x),
}


@pytest.mark.parametrize("name", INDEXING)
def test_indexing(name):
    check(INDEXING[name], MATRIX, PLACES)


def test_a_scatter_in_a_loop_copies_nothing():
    jaxpr, _ = jaxpr_of(lambda x, i: x.at[i].set(1.0), MATRIX, np.int32(3))
    tape, *_ = tape_of_body(jaxpr, [0, 1], [0], [(0, 0)])
    assert tape.donors() == (0,)


# ---------------------------------------------------------------- factors of matrices

POSITIVE = (MATRIX @ MATRIX.T / 64 + 2 * np.eye(64)).astype(np.float32)


def likelihood(a, b):
    """Return the log density of a normal distribution by the factor of its covariance."""
    factor = jnp.linalg.cholesky(a)
    y = lax.linalg.triangular_solve(factor, b, left_side=True, lower=True)
    return -jnp.sum(y * y) / 2 - jnp.sum(jnp.log(jnp.diagonal(factor)))


LINALG = {
    "solution": jnp.linalg.solve,
    "inverse": lambda a, _: jnp.linalg.inv(a),
    "determinant": lambda a, _: jnp.linalg.slogdet(a),
    "likelihood": likelihood,
    "gradient of the likelihood": ev.grad(likelihood, (0, 1)),
    "gradient of a solution": ev.grad(lambda a, b: jnp.sum(jnp.linalg.solve(a, b) ** 2), (0, 1)),
    "many systems": ev.vmap(jnp.linalg.solve, (None, 0)),
    "Newton's method": lambda a, b: lax.fori_loop(
        0, 4, lambda _, x: x - jnp.linalg.solve(a + jnp.diag(x * x), a @ x + x**3 / 3 - b[0]), b[1]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LINALG)
def test_linalg(name):
    check(LINALG[name], POSITIVE, MATRIX, ulps=256)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_small_factors(n):
    check(lambda a: (lax.linalg.cholesky(a), *lax.linalg.lu(a)), POSITIVE[:n, :n])


def test_what_is_not_positive_definite_has_no_factor():
    bad = np.array([[[1, 9], [2, 1]], [[4, 9], [2, 3]], [[np.nan, 0], [0, 1]]], np.float32)
    tape, inputs = tape_of(lambda a: lax.linalg.cholesky(a, symmetrize_input=False), bad)
    nan, root = np.nan, np.sqrt(2)
    want = [[[nan, 0], [nan, nan]], [[2, 0], [1, root]], [[nan, 0], [nan, nan]]]
    np.testing.assert_allclose(tape.run(inputs)[0], want, 1e-6)


def test_a_singular_matrix_has_a_zero_on_the_diagonal():
    check(lambda a: lax.linalg.lu(a), np.ones((3, 3), np.float32))
    check(lambda a: lax.linalg.lu(a), np.zeros((2, 3), np.float32))


@pytest.mark.parametrize("pivots", [[0, 7], [-2, -1], [-9, 2]])
def test_pivots_beyond_the_rows_are_the_nearest_ones(pivots):
    """As on XLA, where nothing can be refused."""

    def order(p):
        return lax.linalg.lu_pivots_to_permutation(p, 3)

    tape, _ = tape_of(order, np.zeros(2, np.int32))
    pivots = np.array(pivots, np.int32)
    (found,) = tape.run([pivots])
    assert sorted(found.tolist()) == [0, 1, 2]
    assert found.tolist() == order(pivots).tolist() == ev.jit(order, engine="xla")(pivots).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fuses", [0, 1])
@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.5, -1.5])
def test_powers_that_are_roots(exponent, fuses, dtype):
    """They are computed otherwise than powers, and are what those are, to an ulp or two."""
    tiny, huge = np.finfo(dtype).tiny, np.finfo(dtype).max
    regular = np.array([tiny / 4, tiny, 1e-9, 0.3, 2, 4, 5e8, huge], dtype)
    special = np.array([-np.inf, -0.0, 0, np.inf, -2, np.nan], dtype)
    zero, inf = (0, np.inf) if exponent > 0 else (np.inf, 0)
    powers = np.power(regular.astype(np.longdouble), np.longdouble(exponent))
    with np.errstate(over="ignore"):
        want = np.array([*powers, inf, zero, zero, inf, np.nan, np.nan]).astype(dtype)
    with ev.enable_x64():
        jaxpr = ev.make_jaxpr(lambda x: x**exponent)(np.zeros(len(want), dtype)).jaxpr
        made = compile_jaxpr(jaxpr, is_wanted=True, fuses=fuses)
        (found,) = made.tape.run([np.concatenate([regular, special])])
    assert made.tape.counts()["functions"] == fuses
    assert found.dtype == dtype
    np.testing.assert_array_max_ulp(np.asarray(found), want, 1 if abs(exponent) < 1 else 2)
    assert not np.signbit(found[:-2]).any()
