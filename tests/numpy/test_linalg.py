"""Linear algebra, compared with NumPy; its derivatives, with differences."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import check_agreement, check_compiled
from tests.support.gradcheck import check_grads

EXPRESSIONS = [
    "np.linalg.norm(x)",
    "np.linalg.norm(x, axis=1)",
    "np.linalg.norm(x, 1)",
    "np.linalg.norm(x, np.inf)",
    "np.linalg.norm(v, 3)",
    "np.linalg.norm(v, 0)",
    "np.linalg.norm(v, -np.inf)",
    "np.linalg.norm(c, -1, axis=(1, 2), keepdims=True)",
    "np.linalg.vector_norm(c, axis=(0, 1))",
    "np.linalg.matrix_norm(c)",
    "np.linalg.matrix_power(sq, 3)",
    "np.linalg.matrix_power(c[:, :, :3], 0)",
    "np.linalg.multi_dot([x, sq, sq, v])",
    "np.linalg.cross(x[:, :3], y[:, :3])",
    "np.linalg.outer(v, v)",
    "np.linalg.diagonal(c)",
    "np.linalg.trace(c, offset=1)",
    "np.linalg.norm(x, 2)",
    "np.linalg.norm(c, 'nuc', axis=(2, 0), keepdims=True)",
    "np.linalg.norm(x, -2)",
    "np.linalg.cond(sq)",
    "np.linalg.cond(x, -2)",
    "np.linalg.cond(sq, 1)",
    "np.linalg.matrix_power(sq, -2)",
    "np.linalg.cholesky(sq @ sq.T)",
    "np.linalg.cholesky(sq @ sq.T, upper=True)",
    "np.linalg.solve(sq, v)",
    "np.linalg.solve(sq, x.T)",
    "np.linalg.solve(sq, c.swapaxes(1, 2))",
    "np.linalg.solve(c[:, :, :3], np.ones((3, 2)))",
    "np.linalg.inv(sq)",
    "np.linalg.inv(c[:, :, :3])",
    "np.linalg.det(sq)",
    "np.linalg.det(c[:, :, :3])",
    "np.linalg.det(c[:, :2, :2])",
    "np.linalg.det(c[:, :1, :1])",
    "np.linalg.det(sq + 1j * sq.T)",
    "np.linalg.slogdet(sq)",
    "np.linalg.slogdet(sq + 1j * sq.T)",
    "np.linalg.slogdet(c[:, :, :3])",
    "np.linalg.lstsq(x.T, v)",
    "np.linalg.lstsq(x.T, sq, rcond=0.5)[0]",
    "np.linalg.lstsq(x, x, rcond=None)[0]",
    "np.linalg.pinv(x)",
    "np.linalg.pinv(c)",
    "np.linalg.pinv(sq @ sq.T, hermitian=True)",
    "np.linalg.matrix_rank(x)",
    "np.linalg.matrix_rank(c * 0)",
    "np.linalg.matrix_rank(v)",
    "np.linalg.qr(x)",
    "np.linalg.qr(x.T, mode='complete').R",
    "np.linalg.qr(z.T, mode='r')",
    "np.linalg.qr(x, mode='raw')",
    "np.linalg.eigvalsh(sq + sq.T)",
    "np.linalg.eigvalsh(sq @ sq.T, 'U')",
    "np.sort(np.linalg.eigvals(sq).real)",
    "np.abs(np.linalg.eigh(sq + sq.T).eigenvectors)",
    "np.linalg.svdvals(c)",
    "np.linalg.svd(z, compute_uv=False)",
    "np.linalg.svd(sq + sq.T, compute_uv=False, hermitian=True)",
    "np.abs(np.linalg.svd(x).U)",
    "np.abs(np.linalg.svd(sq + sq.T, hermitian=True).Vh)",
    "np.linalg.tensorsolve(np.reshape(sq, (2, 2, 4)), sq[:2, :2])",
    "np.linalg.tensorinv(np.reshape(sq, (2, 2, 4)))",
    "np.linalg.inv(i[:3, :3] * 3 + 20 * np.eye(3))",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)


def test_norms_that_do_not_exist():
    with pytest.raises(ValueError, match="norm"):
        jnp.linalg.norm(jnp.ones((2, 2)), ord=7)
    with pytest.raises(ValueError, match="norm"):
        jnp.linalg.norm(jnp.ones((2, 2, 2)), ord=1)


def test_chains_of_matrices_that_do_not_exist():
    with pytest.raises(ev.errors.ShapeError, match="multi_dot"):
        jnp.linalg.multi_dot([jnp.ones((2, 2))])


def test_cheapest_order_of_a_chain():
    x = [jnp.ones(s) for s in ((2, 50), (50, 50), (50, 50), (50, 1))]
    jaxpr = ev.make_jaxpr(jnp.linalg.multi_dot)(x)
    assert all(min(e.outvars[0].aval.shape) == 1 for e in jaxpr.eqns)


# ---------------------------------------------------------------- decompositions


def matrix(n=4, m=None, seed=0):
    """Return a well conditioned float64 matrix."""
    m = n if m is None else m
    return np.random.default_rng(seed).standard_normal((n, m)) / 4 + np.eye(n, m) * (
        1 + np.arange(m)
    )


DIFFERENTIABLE = {
    "solve": lambda a: jnp.linalg.solve(a, a[0]),
    "inv": jnp.linalg.inv,
    "det": jnp.linalg.det,
    "det of 3": lambda a: jnp.linalg.det(a[:3, :3]),
    "slogdet": lambda a: jnp.linalg.slogdet(a)[1],
    "pinv": lambda a: jnp.linalg.pinv(a[:, :3]),
    "lstsq": lambda a: jnp.linalg.lstsq(a[:, :3], a[:, 3])[0],
    "norm 2": lambda a: jnp.linalg.norm(a, 2),
    "nuclear norm": lambda a: jnp.linalg.norm(a[:3], "nuc"),
    "cond": jnp.linalg.cond,
    "eigvals": lambda a: jnp.abs(jnp.linalg.eigvals(a)),
    "svd, hermitian": lambda a: jnp.linalg.svd(a, compute_uv=False, hermitian=True),
    "tensorinv": lambda a: jnp.linalg.tensorinv(a.reshape(2, 2, 4)),
}


@pytest.mark.parametrize("fun", DIFFERENTIABLE.values(), ids=DIFFERENTIABLE)
def test_derivatives(fun):
    check_grads(fun, [matrix()])


def test_pseudo_inverse_with_equal_singular_values_has_a_derivative():
    check_grads(jnp.linalg.pinv, [np.eye(4, 3)])
    check_grads(lambda a: jnp.linalg.lstsq(a, a[:, 0] + 1)[0], [np.eye(4, 3)])


def test_small_determinant_of_singular_matrix_has_a_derivative():
    found = ev.grad(jnp.linalg.det)(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
    np.testing.assert_array_equal(found, [[4.0, -2.0], [-2.0, 1.0]])


def test_a_second_derivative_of_a_solution_factors_the_matrix_once():
    def loss(a):
        return jnp.sum(jnp.linalg.solve(a, jnp.ones(4)) ** 2)

    jaxpr = str(ev.make_jaxpr(ev.grad(lambda a: jnp.sum(ev.grad(loss)(a) ** 2)))(jnp.eye(4)))
    assert jaxpr.count("= lu ") == 1


def test_one_matrix_is_factored_once_for_a_batch_of_sides():
    a, b = jnp.asarray(matrix()), jnp.ones((5, 4))
    jaxpr = ev.make_jaxpr(ev.vmap(jnp.linalg.solve, (None, 0)))(a, b)
    (solution,) = [e for e in jaxpr.eqns if e.primitive.name == "lu_solve"]
    assert solution.outvars[0].aval.shape == (4, 5)


def test_singular_matrices_give_infinities_or_nan():
    singular = jnp.array([[1.0, 2.0], [2.0, 4.0]])
    assert not jnp.isfinite(jnp.linalg.inv(singular)).any()
    sign, logdet = jnp.linalg.slogdet(singular)
    assert (sign, logdet) == (0, -np.inf)
    assert jnp.linalg.cond(jnp.diag(jnp.array([1.0, 0.0]))) == np.inf
    assert jnp.isnan(jnp.linalg.cholesky(-jnp.eye(2))[1, 0])


def test_failure_of_one_matrix_of_a_stack_does_not_spread():
    found = jnp.linalg.cholesky(jnp.stack([jnp.eye(2), -jnp.eye(2)]))
    np.testing.assert_array_equal(found[0], np.eye(2))
    assert jnp.isnan(found[1, 0, 0])


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
@pytest.mark.parametrize("name", ["det", "slogdet", "inv", "cholesky"])
def test_square_matrices_of_no_rows_compiled(name, shape):
    x = np.zeros(shape, np.float32)
    found = ev.jit(getattr(jnp.linalg, name), engine="xla")(x)
    wanted = getattr(np.linalg, name)(x)
    for ours, theirs in zip(ev.tree.leaves(found), ev.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    factors = ev.jit(ev.scipy.linalg.lu, engine="xla")(np.zeros((3, 0), np.float32))
    assert [x.shape for x in factors] == [(3, 3), (3, 0), (0, 0)]


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3), (2, 0, 3)])
def test_empty_matrices(shape):
    a = np.zeros(shape, np.float32)
    for mode in ("reduced", "complete"):
        for ours, theirs in zip(jnp.linalg.qr(a, mode), np.linalg.qr(a, mode), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert [x.shape for x in jnp.linalg.svd(a)] == [x.shape for x in np.linalg.svd(a)]
    assert jnp.linalg.pinv(a).shape == np.linalg.pinv(a).shape
    if shape[-1] == shape[-2]:
        assert jnp.linalg.det(a) == 1
        assert jnp.linalg.eigh(a).eigenvectors.shape == shape
        assert jnp.linalg.solve(a, jnp.ones((0, 2))).shape == (0, 2)


def test_bad_operands_are_named():
    with pytest.raises(ev.errors.ShapeError, match=r"inv: .*\(3, 4\)"):
        jnp.linalg.inv(jnp.ones((3, 4)))
    with pytest.raises(ev.errors.ShapeError, match="vector of 3"):
        jnp.linalg.solve(jnp.eye(3), jnp.ones(4))
    with pytest.raises(ev.errors.DTypeError, match=r"svd: .*f16"):
        jnp.linalg.svd(jnp.ones((3, 4), jnp.float16))
    with pytest.raises(ValueError, match="mode"):
        jnp.linalg.qr(jnp.eye(3), "economic")
    with pytest.raises(NotImplementedError, match="no derivative"):
        ev.jacobian(lambda a: jnp.linalg.svd(a)[0])(jnp.ones((4, 3)))
