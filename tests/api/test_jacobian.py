"""jacfwd, jacrev and hessian: blocks, trees, and agreement of the two modes."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

X = np.float32([1, 2, 3])
MODES = [ev.jacfwd, ev.jacrev]


def test_jacobian_is_reverse_mode():
    jaxpr = str(ev.make_jaxpr(ev.jacobian(jnp.sin))(X))
    assert jaxpr == str(ev.make_jaxpr(ev.jacrev(jnp.sin))(X))
    assert jaxpr != str(ev.make_jaxpr(ev.jacfwd(jnp.sin))(X))
    assert (ev.jacobian.__name__, ev.jacrev.__name__) == ("jacobian", "jacrev")  # as in JAX


@pytest.mark.parametrize("jacobian", MODES)
def test_a_matrix(jacobian):
    a = np.float32([[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(jacobian(lambda x: a @ x)(X), a)
    np.testing.assert_array_equal(ev.jit(jacobian(lambda x: a @ x))(X), a)


@pytest.mark.parametrize("jacobian", MODES)
def test_shapes_are_output_then_input(jacobian):
    f = lambda x: jnp.outer(x.sum(0), jnp.ones(4))  # noqa: E731
    assert jacobian(f)(np.ones((2, 3), np.float32)).shape == (3, 4, 2, 3)
    assert jacobian(lambda x: x * 2)(1.0).shape == ()
    assert jacobian(lambda x: x.sum())(X).shape == (3,)


@pytest.mark.parametrize("jacobian", MODES)
def test_trees_nest_output_outside_input(jacobian):
    def f(d):
        return {"p": d["a"] * d["a"], "q": d["b"].sum() * 2}

    x = {"a": X, "b": np.ones(2, np.float32)}
    jac = jacobian(f)(x)
    np.testing.assert_array_equal(jac["p"]["a"], np.diag(2 * X))
    np.testing.assert_array_equal(jac["p"]["b"], np.zeros((3, 2)))
    np.testing.assert_array_equal(jac["q"]["a"], np.zeros(3))
    np.testing.assert_array_equal(jac["q"]["b"], [2, 2])


@pytest.mark.parametrize("jacobian", MODES)
def test_argnums(jacobian):
    def f(x, y):
        return x * y

    assert float(jacobian(f)(2.0, 3.0)) == 3
    assert float(jacobian(f, 1)(2.0, 3.0)) == 2
    assert [float(j) for j in jacobian(f, (0, 1))(2.0, 3.0)] == [3, 2]
    assert [float(j) for j in jacobian(f, range(2))(2.0, 3.0)] == [3, 2]
    assert float(jacobian(f)(2.0, y=3.0)) == 3
    with pytest.raises(TypeError, match="argnums names argument 2"):
        jacobian(f, 2)(2.0, 3.0)


@pytest.mark.parametrize("jacobian", MODES)
def test_aux(jacobian):
    jac, aux = jacobian(lambda x: (x * x, {"x": x}), has_aux=True)(X)
    np.testing.assert_array_equal(jac, np.diag(2 * X))
    np.testing.assert_array_equal(aux["x"], X)


@pytest.mark.parametrize("jacobian", MODES)
def test_holomorphic(jacobian):
    z = np.complex64([1 + 2j, 3 - 1j])
    jac = jacobian(lambda z: z * z, holomorphic=True)(z)
    np.testing.assert_allclose(jac, np.diag(2 * z), rtol=1e-6)
    with pytest.raises(TypeError, match="holomorphic=True"):
        jacobian(lambda z: z * z)(z)
    with pytest.raises(TypeError, match="inputs must be complex, got float32"):
        jacobian(lambda z: z * z, holomorphic=True)(X)


def test_complex_outputs_of_real_inputs():
    found = ev.jacfwd(lambda x: x * (1 + 1j))(X)
    np.testing.assert_allclose(found, np.diag([1 + 1j] * 3))
    with pytest.raises(TypeError, match=r"jacrev.*must be real-valued, it is c64\[3\]"):
        ev.jacrev(lambda x: x * (1 + 1j))(X)


def test_integers():
    with pytest.raises(TypeError, match=r"jacfwd.*inputs, got int32"):
        ev.jacfwd(lambda x: x)(1)
    with pytest.raises(TypeError, match=r"jacrev.*inputs, got int32"):
        ev.jacrev(lambda x: x)(1)
    with pytest.raises(TypeError, match=r"jacrev.*must be real-valued, it is i32\[3\]"):
        ev.jacrev(lambda x: x.astype(int))(X)


def test_hessian():
    a = np.float32([[2, 1, 0], [1, 3, 1], [0, 1, 4]])
    h = ev.hessian(lambda x: x @ (a @ x) / 2)
    np.testing.assert_allclose(h(X), a, rtol=1e-6)
    np.testing.assert_allclose(ev.jit(h)(X), a, rtol=1e-6)
    np.testing.assert_allclose(ev.vmap(h)(np.stack([X, X])), [a, a], rtol=1e-6)


def test_hessian_of_trees():
    h = ev.hessian(lambda d: d["a"] * d["b"] * d["a"])({"a": 2.0, "b": 3.0})
    assert ev.tree.map(float, h) == {"a": {"a": 6.0, "b": 4.0}, "b": {"a": 4.0, "b": 0.0}}


def test_hessian_argnums_and_aux():
    h = ev.hessian(lambda x, y: x * y * y, (0, 1))(2.0, 3.0)
    assert ev.tree.map(float, h) == ((0.0, 6.0), (6.0, 4.0))
    h, aux = ev.hessian(lambda x: (x * x, x), has_aux=True)(3.0)
    assert (float(h), float(aux)) == (2, 3)


@pytest.mark.parametrize(
    "outer_inner", [(a, b) for a in MODES for b in MODES], ids=lambda pair: str(len(pair))
)
def test_second_order_in_every_order_of_modes(outer_inner):
    outer, inner = outer_inner
    f = lambda x: jnp.sin(x[0]) * x[1] * x[2]  # noqa: E731
    s, c = np.sin(1), np.cos(1)
    want = [[-s * 6, c * 3, c * 2], [c * 3, 0, s], [c * 2, s, 0]]
    np.testing.assert_allclose(outer(inner(f))(X), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("jacobian", [*MODES, ev.hessian])
def test_the_function_must_be_callable(jacobian):
    with pytest.raises(TypeError, match="expected a function"):
        jacobian(X)


@pytest.mark.parametrize(("jacobian", "number"), [*[(mode, 1) for mode in MODES], (ev.hessian, 3)])
def test_one_unit_tangent_is_no_batch(jacobian, number):
    """Derivatives of and by single numbers have a dimension of size 1 at their end only."""
    text = str(ev.make_jaxpr(jacobian(lambda x: jnp.sin(x) * jnp.exp(x)))(1.0))
    assert text.count("f32[1]") == number
    np.testing.assert_allclose(jacobian(jnp.exp)(np.float32([2])).ravel(), [np.exp(2)], rtol=1e-6)


@pytest.mark.parametrize("ones", [1, np.ones(3, np.float32)])
def test_rows_of_integers_are_zeros_of_their_type(ones):
    jac = ev.jacrev(lambda d: d["x"] * d["n"] * ones, allow_int=True)(
        {"x": 2.0, "n": np.array([3])}
    )
    rows = np.size(ones)
    np.testing.assert_array_equal(jac["x"], np.full(rows, 3.0))
    np.testing.assert_array_equal(jac["n"], np.zeros((rows, 1), jac["n"].dtype))
    assert jac["n"].dtype == np.int32
