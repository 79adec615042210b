"""Krylov methods, compared with direct solutions; their derivatives, with differences."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.scipy.sparse import linalg
from tests.support.gradcheck import check_grads

RNG = np.random.default_rng(0)
N = 6
GENERAL = RNG.standard_normal((N, N)) + 4 * np.eye(N)
POSITIVE = GENERAL @ GENERAL.T
SIDE = RNG.standard_normal(N)
SOLVERS = {
    "cg": (linalg.cg, {}, POSITIVE),
    "bicgstab": (linalg.bicgstab, {}, GENERAL),
    "gmres": (linalg.gmres, {}, GENERAL),
    "gmres, incremental": (linalg.gmres, {"solve_method": "incremental"}, GENERAL),
    "gmres, restarted": (linalg.gmres, {"restart": 3}, GENERAL),
}
EACH = pytest.mark.parametrize("solver", SOLVERS)


@EACH
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("is_preconditioned", [False, True])
def test_solutions(solver, is_complex, is_preconditioned):
    solve, options, a = SOLVERS[solver]
    if is_complex:
        turn = np.diag(np.exp(1j * np.arange(N)))
        a = turn @ a @ turn.conj().T
    m = np.diag(1 / np.diag(a)) if is_preconditioned else None
    with ev.enable_x64():
        x, _ = solve(jnp.asarray(a), jnp.asarray(SIDE), tol=1e-10, M=m, **options)
    np.testing.assert_allclose(a @ np.asarray(x), SIDE, atol=1e-8)


@EACH
def test_derivatives(solver):
    solve, options, a = SOLVERS[solver]

    def solution(a, b):
        a = (a + a.T) / 2 if solver == "cg" else a
        m = jnp.diag(1 / jnp.diag(a))
        return solve(lambda v: a @ v, b, tol=1e-13, M=m, **options)[0]

    check_grads(solution, [a, SIDE], order=1)


def test_gradients_of_a_complex_hermitian_system():
    turn = np.diag(np.exp(1j * np.arange(N)))
    a = turn @ POSITIVE @ turn.conj().T
    with ev.enable_x64():
        matrix = jnp.asarray(a)
        check_grads(lambda b: linalg.cg(matrix, b, tol=1e-13)[0], [SIDE + 1j], order=1)


@EACH
def test_trees_are_vectors(solver):
    solve, options, _ = SOLVERS[solver]
    b = {"u": jnp.ones((2, 2)), "v": 3.0}
    x, _ = solve(lambda t: {"u": 2 * t["u"], "v": 4 * t["v"]}, b, **options)
    assert ev.tree.structure(x) == ev.tree.structure(b)
    np.testing.assert_allclose(x["u"], np.full((2, 2), 0.5), rtol=1e-5)
    np.testing.assert_allclose(x["v"], 0.75, rtol=1e-5)


def test_solutions_under_jit_and_vmap():
    sides = jnp.asarray(RNG.standard_normal((3, N)), "float32")
    matrix = jnp.asarray(POSITIVE, "float32")
    found = ev.jit(ev.vmap(lambda b: linalg.cg(matrix, b, tol=1e-6)[0]))(sides)
    np.testing.assert_allclose(found @ POSITIVE, sides, atol=1e-4)


@EACH
def test_a_zero_side_has_the_solution_zero(solver):
    solve, options, a = SOLVERS[solver]
    assert not solve(jnp.asarray(a, "float32"), jnp.zeros(N), **options)[0].any()


@pytest.mark.parametrize("method", ["batched", "incremental"])
def test_gmres_ends_in_an_invariant_space(method):
    with ev.enable_x64():
        x, info = linalg.gmres(2 * jnp.eye(N), jnp.asarray(SIDE), solve_method=method, tol=1e-12)
    np.testing.assert_allclose(x, SIDE / 2, rtol=1e-12)
    assert info == 0


B = jnp.ones(2)
ERRORS = [
    (("x", B), {}, TypeError, "A must be a matrix or a function, got str"),
    ((jnp.ones((2, 3)), B), {}, ValueError, r"A must be a square matrix, got shape \(2, 3\)"),
    ((jnp.eye(2), B), {"M": B}, ValueError, r"M must be a square matrix, got shape \(2,\)"),
    ((jnp.eye(2), B, jnp.ones(3)), {}, ValueError, "x0 must be a tree like b"),
    ((jnp.eye(2), B), {"solve_method": "x"}, ValueError, "there is no solve_method 'x'"),
    ((jnp.eye(2), B), {"restart": 0}, ValueError, "restart must be 1 or more, got 0"),
]


@pytest.mark.parametrize(("args", "kwargs", "kind", "text"), ERRORS)
def test_errors(args, kwargs, kind, text):
    with pytest.raises(kind, match=text):
        linalg.gmres(*args, **kwargs)
