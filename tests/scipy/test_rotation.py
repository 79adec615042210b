"""Rotations, compared with SciPy's."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.spatial import transform as scipy_transform

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.scipy.spatial.transform import Rotation, Slerp
from tests.support.gradcheck import check_grads

RNG = np.random.default_rng(0)
QUATERNIONS = np.concatenate([RNG.standard_normal((5, 4)), np.eye(4), 1 - np.eye(4)])
PAIR = (
    lambda: Rotation.from_quat(jnp.asarray(QUATERNIONS)),
    lambda: scipy_transform.Rotation.from_quat(QUATERNIONS),
)
SEQUENCES = [
    "".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] and s[1] != s[2]
]

FORMS = {
    "matrices": lambda r: r.as_matrix(),
    "vectors": lambda r: r.as_rotvec(),
    "vectors in degrees": lambda r: r.as_rotvec(degrees=True),
    "parameters": lambda r: r.as_mrp(),
    "quaternions": lambda r: r.as_quat(),
    "angles": lambda r: r.magnitude(),
    "inverses": lambda r: r.inv().as_matrix(),
    "products": lambda r: (r * r[3]).as_matrix(),
    "rotated": lambda r: r.apply(np.arange(3.0)),
    "rotated back": lambda r: r[0].apply(np.eye(3), inverse=True),
    "means": lambda r: r[:5].mean(np.arange(1.0, 6.0)).as_matrix(),
    "from matrices": lambda r: type(r).from_matrix(r.as_matrix()).as_matrix(),
    "from vectors": lambda r: type(r).from_rotvec(r.as_rotvec()).as_matrix(),
    "from parameters": lambda r: type(r).from_mrp(r.as_mrp()).as_matrix(),
    "identities": lambda r: type(r).identity(2).as_quat(),
    "joined": lambda r: type(r).concatenate([r, r[0]]).as_quat(),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_agree_with_scipy(form):
    with ev.enable_x64():
        found = FORMS[form](PAIR[0]())
    np.testing.assert_allclose(found, FORMS[form](PAIR[1]()), atol=1e-12)


@pytest.mark.parametrize("seq", SEQUENCES + [s.upper() for s in SEQUENCES])
def test_euler_angles_agree_with_scipy(seq):
    locked = [0.3, 0.0 if seq[0] == seq[2] else np.pi / 2, 0.2]
    angles = np.array([[0.1, 0.2, 0.3], [-2.0, 0.7, 3.0], locked])
    want = scipy_transform.Rotation.from_euler(seq, angles)
    with ev.enable_x64():
        found = Rotation.from_euler(seq, jnp.asarray(angles))
        matrices, again = found.as_matrix(), found.as_euler(seq)
    with warnings.catch_warnings(action="ignore"):
        wanted_angles = want.as_euler(seq)
    np.testing.assert_allclose(matrices, want.as_matrix(), atol=1e-12)
    np.testing.assert_allclose(again, wanted_angles, atol=1e-7)


def test_interpolation_agrees_with_scipy():
    times, at = np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.4, 1.0, 2.9, 3.0])
    want = scipy_transform.Slerp(times, PAIR[1]()[:3])(at).as_matrix()
    with ev.enable_x64():
        slerp = Slerp.init(jnp.asarray(times), PAIR[0]()[:3])
        np.testing.assert_allclose(slerp(at).as_matrix(), want, atol=1e-12)
        np.testing.assert_allclose(slerp(0.4).as_matrix(), want[1], atol=1e-12)


def test_rotations_are_trees():
    rotations = Rotation.from_quat(jnp.asarray(QUATERNIONS, "float32"))
    assert isinstance(ev.jit(lambda r: r.inv())(rotations), Rotation)
    assert ev.vmap(lambda r: r.as_rotvec())(rotations).shape == (13, 3)
    assert len(ev.tree.leaves(rotations)) == 1


@pytest.mark.parametrize("v", [np.zeros(3), np.array([1e-5, 0, 0]), np.array([0.3, -0.7, 1.1])])
def test_vectors_have_derivatives_at_the_identity_too(v):
    check_grads(lambda v: Rotation.from_rotvec(v).as_matrix(), [v], order=1)
    check_grads(lambda v: Rotation.from_rotvec(v).as_rotvec(), [v], order=1)


def test_random_rotations_are_uniform():
    matrices = Rotation.random(ev.random.key(0), 2000).as_matrix()
    np.testing.assert_allclose(matrices.mean(0), np.zeros((3, 3)), atol=0.05)
    np.testing.assert_allclose((matrices**2).mean(0), np.full((3, 3), 1 / 3), atol=0.03)


ONE = Rotation.identity()
ERRORS = [
    (lambda: len(ONE), TypeError, "a single rotation has no length"),
    (lambda: ONE[0], TypeError, "a single rotation cannot be indexed"),
    (lambda: ONE * 2, TypeError, "unsupported operand"),
    (lambda: Rotation.from_quat(jnp.ones(3)), ValueError, r"shape \(3,\).*needed is \(..., 4\)"),
    (lambda: Rotation.from_matrix(jnp.ones((3, 2))), ValueError, r"needed is \(..., 3, 3\)"),
    (lambda: Rotation.from_euler("xX", jnp.ones(2)), ValueError, "'xX' does not name 1 or 2 or 3"),
    (lambda: Rotation.from_euler("xyz", jnp.ones(2)), ValueError, r"needed is \(..., 3\)"),
    (lambda: ONE.as_euler("xx"), ValueError, "'xx' does not name 3 axes"),
    (lambda: Slerp.init(jnp.ones(1), ONE), ValueError, "n >= 2 rotations, not 1"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
