"""Products, compared with NumPy."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.numpy.tables import ARRAYS, check_agreement, check_compiled

EXPRESSIONS = [
    "np.dot(x, v)",
    "np.dot(v, v)",
    "np.dot(c, sq)",
    "np.dot(x, 2.0)",
    "np.matmul(x, v)",
    "np.matmul(v, sq)",
    "np.matmul(c, sq)",
    "np.matmul(c, c.swapaxes(1, 2))",
    'np.matmul(c[:, None], np.ones((5, 4, 2), "float32"))',
    "np.matmul(i, i.T)",
    "np.matmul(x, i.T)",
    "np.vdot(x, y)",
    "np.vdot(z, z)",
    "np.vecdot(x, y)",
    "np.vecdot(z, z, axis=0)",
    "np.matvec(c, v)",
    'np.matvec(c, np.ones((2, 4), "float32"))',
    "np.vecmat(v, sq)",
    "np.vecmat(z, sq)",
    "np.inner(x, y)",
    "np.inner(x, 2.0)",
    "np.outer(x, v)",
    "np.tensordot(c, sq, 1)",
    "np.tensordot(x, y, 2)",
    "np.tensordot(c, c, ((0, 2), (0, 2)))",
    "np.tensordot(c, sq, (2, 0))",
    "np.kron(x, sq)",
    "np.kron(v, x)",
    "np.cross(c[..., :3], c[..., 1:])",
    "np.cross(c[..., :3], c[..., 1:], axisc=0)",
    "np.trace(sq)",
    "np.trace(c, 1, 1, 2)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_numpy(expression):
    check_agreement(expression)


@pytest.mark.engine
def test_compiled_agrees_with_eager():
    check_compiled(EXPRESSIONS)


def test_matrix_times_vector_is_one_equation():
    jaxpr = ev.make_jaxpr(jnp.matmul)(jnp.ones((3, 4)), jnp.ones(4))
    assert [e.primitive.name for e in jaxpr.eqns] == ["dot_general"]
    assert "preferred_element_type=float32" in str(jaxpr)


@pytest.mark.parametrize(
    "shapes", [((3, 4), (3, 4)), ((2, 3, 4), (3, 4, 5)), ((3,), ()), ((), (3,))]
)
def test_shapes_that_do_not_match(shapes):
    with pytest.raises(ev.errors.ShapeError, match="matmul"):
        jnp.matmul(*map(jnp.ones, shapes))


def test_dtypes_of_products():
    i8 = jnp.ones((2, 2), jnp.int8)
    assert jnp.matmul(i8, i8).dtype == jnp.int8
    assert jnp.matmul(i8, i8, preferred_element_type=jnp.int32).dtype == jnp.int32
    assert jnp.dot(i8, jnp.ones((2, 2), jnp.bfloat16)).dtype == jnp.bfloat16


def test_gradient_of_a_batched_product():
    x, y = jnp.asarray(ARRAYS["c"]), jnp.asarray(ARRAYS["sq"])
    grad = ev.grad(lambda y: jnp.matmul(x, y).sum())(y)
    wanted = np.einsum("bij,bik->jk", ARRAYS["c"], np.ones((2, 3, 4), np.float32))
    np.testing.assert_allclose(grad, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("x", "y", "repair"),
    [
        ((2, 3), (2, 3), "x @ y.T"),
        ((3,), (2, 3), "x @ y.T"),
        ((2, 3), (2,), "x.T @ y"),
        ((3, 2), (3, 4), "x.T @ y"),
        ((5, 2, 3), (5, 4, 3), "x @ y.mT"),
        ((5, 3, 2), (3, 4), "x.mT @ y"),
        ((2, 3), (4,), "has to be the only size of the second"),
        ((2, 3), (4, 5), "has to be the last size but one of the second"),
    ],
)
def test_sizes_that_do_not_meet_are_told_what_does(x, y, repair):
    x, y = jnp.ones(x), jnp.ones(y)
    with pytest.raises(ev.errors.ShapeError) as caught:
        x @ y
    fix = str(caught.value).partition("Fix: ")[2]
    assert repair in fix
    if "@" in repair:
        assert f"`{repair}`" in fix
        eval(repair, {"x": x, "y": y})
