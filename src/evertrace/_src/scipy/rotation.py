"""Rotations in space, as unit quaternions ``(x, y, z, w)``, and interpolation between them.

Rotations have any number of axes in front, over which all functions work at once. Formulas:
J. Diebel, "Representing attitude: Euler angles, unit quaternions, and rotation vectors", Stanford
University 2006, unless said otherwise.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, tree
from evertrace._src.doors import door
from evertrace._src.numpy import (
    calculus,
    creation,
    elementary,
    joining,
    products,
    reductions,
    ufuncs,
)
from evertrace._src.numpy.arguments import static_int
from evertrace._src.numpy.creation import asarray
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.indexing import take_along_axis
from evertrace._src.numpy.promotion import aligned, promote_dtypes_inexact
from evertrace._src.numpy.search import searchsorted
from evertrace._src.numpy.shape import swapaxes
from evertrace._src.numpy.spectra import eigh
from evertrace._src.ops.convert import convert
from evertrace._src.random.continuous import normal
from evertrace._src.support import set_module

public = set_module("evertrace.scipy.spatial.transform")


@public
@tree.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Rotation:
    """A rotation in space, or an array of rotations; a tree with the one leaf `quat`.

    Args:
      quat: ``[..., 4]`` unit quaternions ``(x, y, z, w)``; `from_quat` normalises others.

    Rotations are immutable; ``p * q`` is first q, then p. Where SciPy knows one rotation or a
    vector of them, here there may be any axes, and all of it can be part of `jit`, `vmap` and
    `grad`.

    Example:
      >>> from evertrace.scipy.spatial.transform import Rotation
      >>> quarter = Rotation.from_euler("z", 90, degrees=True)
      >>> (quarter * quarter).apply(jnp.array([1.0, 0.0, 0.0])).round(3) + 0.0
      Array([-1.,  0.,  0.], dtype=float32)
    """

    quat: Any

    # ------------------------------------------------------------ from other forms

    @classmethod
    def concatenate(cls, rotations: Any) -> Any:
        """Return the rotations of a sequence of `Rotation` as one vector of them."""
        return cls(joining.concatenate([r.quat.reshape(-1, 4) for r in rotations]))

    @classmethod
    def from_euler(cls, seq: Any, angles: Any, degrees: bool = False) -> Any:
        """Return rotations about up to three axes, one after the other.

        Args:
          seq: axes, such as "z" or "xyz". Lower case: fixed axes ("extrinsic"); upper case: axes
            that turn along ("intrinsic").
          angles: ``[..., n]`` for n axes; for one axis also a scalar.
          degrees: whether angles are in degrees.
        """
        axes, is_intrinsic = _axes("from_euler", seq, range(1, 4))
        angles = _floating("from_euler", angles, degrees)
        if not angles.ndim:
            angles = angles[None]
        _check_last("from_euler", angles, len(axes))
        turns = [_about(axis, angles[..., i]) for i, axis in enumerate(axes)]
        total = turns[0]
        for turn in turns[1:]:
            total = _product(total, turn) if is_intrinsic else _product(turn, total)
        return cls(total)

    @classmethod
    def from_matrix(cls, matrix: Any) -> Any:
        """Return rotations of matrices ``[..., 3, 3]``, nearly orthogonal, with determinant 1."""
        m = _floating("from_matrix", matrix)
        if m.shape[-2:] != (3, 3):
            raise _shape_error("from_matrix", m.shape, "(..., 3, 3)")
        x, y, z = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
        xy, xz, yz = (m[..., i, j] + m[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
        xw, yw, zw = (m[..., i, j] - m[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
        # Row i is the quaternion times four times its element i; the longest row is the most exact.
        rows = [
            [1 + x - y - z, xy, xz, xw],
            [xy, 1 - x + y - z, yz, yw],
            [xz, yz, 1 - x - y + z, zw],
            [xw, yw, zw, 1 + x + y + z],
        ]
        table = joining.stack([joining.stack(row, -1) for row in rows], -2)
        best = reductions.argmax(joining.stack([rows[i][i] for i in range(4)], -1), -1)
        return cls(_unit(take_along_axis(table, best[..., None, None], -2)[..., 0, :]))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Any:
        """Return rotations of modified Rodrigues parameters ``[..., 3]``: axis * tan(angle / 4)."""
        mrp = _floating("from_mrp", mrp)
        _check_last("from_mrp", mrp, 3)
        square = reductions.sum(mrp * mrp, -1, keepdims=True)
        return cls(joining.concatenate([2 * mrp, 1 - square], -1) / (1 + square))

    @classmethod
    def from_quat(cls, quat: Any) -> Any:
        """Return rotations of quaternions ``[..., 4]`` ``(x, y, z, w)`` of any length but 0."""
        quat = _floating("from_quat", quat)
        _check_last("from_quat", quat, 4)
        return cls(_unit(quat))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Any:
        """Return rotations of vectors ``[..., 3]`` along the axes, of the angles' lengths."""
        rotvec = _floating("from_rotvec", rotvec, degrees)
        _check_last("from_rotvec", rotvec, 3)
        square = reductions.sum(rotvec * rotvec, -1, keepdims=True)
        angle = _root(square)
        is_small = angle < 1e-3
        scale = where(
            is_small,
            0.5 - square / 48 + square * square / 3840,  # the Taylor series of the other
            ufuncs.sin(angle / 2) / where(is_small, 1, angle),
        )
        return cls(joining.concatenate([scale * rotvec, ufuncs.cos(angle / 2)], -1))

    @classmethod
    def identity(cls, num: Any = None, dtype: Any = float) -> Any:
        """Return the rotation by no angle, or a vector of `num` of them."""
        shape = () if num is None else (static_int("Rotation.identity", "num", num),)
        return cls(creation.zeros((*shape, 4), dtype).at[..., 3].set(1))

    @classmethod
    def random(cls, random_key: Any, num: Any = None) -> Any:
        """Return a uniformly distributed rotation, or a vector of `num` of them."""
        shape = () if num is None else (static_int("Rotation.random", "num", num),)
        return cls(_unit(normal(random_key, (*shape, 4))))

    # ------------------------------------------------------------ as a sequence

    def __len__(self) -> int:
        """Return the number of rotations; TypeError for a single one."""
        self._check_is_many("has no length")
        return self.quat.shape[0]

    def __getitem__(self, indexer: Any) -> Any:
        """Return some of the rotations; TypeError for a single one."""
        self._check_is_many("cannot be indexed")
        return Rotation(self.quat[indexer])

    def _check_is_many(self, what):
        if self.single:
            raise errors.user_error(
                TypeError,
                f"Rotation: a single rotation {what}.",
                fix="use it as it is.",
                anchor="shape",
            )

    @property
    def single(self) -> Any:
        """Whether this is one rotation and no array of them."""
        return self.quat.ndim == 1

    # ------------------------------------------------------------ operations

    def __mul__(self, other: Any) -> Any:
        """Return the rotation by `other` and then by `self`."""
        return (
            Rotation(_product(self.quat, other.quat)) if type(other) is Rotation else NotImplemented
        )

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Return vectors ``[..., 3]`` rotated, or rotated back; other axes broadcast."""
        vectors = _floating("apply", vectors)
        _check_last("apply", vectors, 3)
        matrix = self.as_matrix()
        matrix = swapaxes(matrix, -1, -2) if inverse else matrix
        return products.matmul(matrix, vectors[..., None])[..., 0]

    def inv(self) -> Any:
        """Return the inverse."""
        signs = np.array([-1, -1, -1, 1], self.quat.dtype)
        return Rotation(ufuncs.multiply(*aligned(self.quat, signs)))

    def magnitude(self) -> Any:
        """Return the angles ``[...]``, from 0 to pi."""
        return 2 * ufuncs.arctan2(_length(self.quat[..., :3]), ufuncs.absolute(self.quat[..., 3]))

    def mean(self, weights: Any = None) -> Any:
        """Return the mean of a vector of rotations, with weights ``[n]``.

        It is the one with the least weighted sum of squared distances between matrices:
        F. L. Markley et al., "Averaging quaternions", Journal of Guidance, Control, and Dynamics 30
        (2007).
        """
        n = len(self)
        weights = creation.ones(n) if weights is None else asarray(weights)
        if weights.shape != (n,):
            raise _shape_error("mean", weights.shape, f"({n},), one weight per rotation")
        _, vectors = eigh(self.quat.T @ (weights[:, None] * self.quat))
        return Rotation(vectors[:, -1])

    # ------------------------------------------------------------ to other forms

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """Return unit quaternions ``[..., 4]``: ``(x, y, z, w)``, or w first.

        Args:
          canonical: whether to choose the one of the two whose last element is not negative.
          scalar_first: whether w comes first.
        """
        quat = _with_positive_scalar(self.quat) if canonical else self.quat
        return quat[..., np.array([3, 0, 1, 2])] if scalar_first else quat

    def as_matrix(self) -> Any:
        """Return matrices ``[..., 3, 3]`` that rotate vectors ``[3]``."""
        x, y, z, w = (self.quat[..., i] for i in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w],
        ]
        return joining.stack([joining.stack(row, -1) for row in rows], -2)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Return vectors ``[..., 3]`` along the axes, of the angles' lengths, at most pi."""
        quat = _with_positive_scalar(self.quat)
        vector, w = quat[..., :3], quat[..., 3:]
        square = reductions.sum(vector * vector, -1, keepdims=True)
        sine = _root(square)
        is_small = sine < 1e-3
        scale = where(
            is_small,
            2 + square / 3 + 3 * square * square / 20,  # the Taylor series of the other
            2 * ufuncs.arctan2(sine, w) / where(is_small, 1, sine),
        )
        return elementary.rad2deg(scale * vector) if degrees else scale * vector

    def as_mrp(self) -> Any:
        """Return modified Rodrigues parameters ``[..., 3]``: the axes times tan(angle / 4)."""
        quat = _with_positive_scalar(self.quat)
        return quat[..., :3] / (1 + quat[..., 3:])

    def as_euler(self, seq: Any, degrees: bool = False) -> Any:
        """Return angles ``[..., 3]`` of rotations about three axes, see `from_euler`.

        The first and third lie from -pi to pi, the second from 0 to pi if the first axis is the
        third, else from -pi / 2 to pi / 2. Where only the sum of the first and third is determined
        ("gimbal lock"), the third is 0.

        Source: E. Bernardes and S. Viollet, "Quaternion to Euler angles conversion: a direct,
        general and computationally efficient method", PLOS ONE 17 (2022).
        """
        axes, is_intrinsic = _axes("as_euler", seq, (3,))
        i, j, k = axes[::-1] if is_intrinsic else axes
        is_symmetric = i == k
        k = 3 - i - j if is_symmetric else k
        sign = (i - j) * (j - k) * (k - i) // 2
        a, b, c, d = (self.quat[..., n] for n in (3, i, j, k))
        d = d * sign
        if not is_symmetric:
            a, b, c, d = a - c, b + d, c + a, d - b
        middle = 2 * ufuncs.arctan2(elementary.hypot(c, d), elementary.hypot(a, b))
        half_sum, half_difference = ufuncs.arctan2(b, a), ufuncs.arctan2(d, c)
        near = max(1e-7, 4 * float(dtypes.finfo(middle.dtype).eps))
        is_zero, is_pi = middle <= near, middle >= np.pi - near
        low, high = half_sum - half_difference, half_sum + half_difference
        outer = [high, low] if is_intrinsic else [low, high]
        if not is_symmetric:
            outer[0 if is_intrinsic else 1] = outer[0 if is_intrinsic else 1] * sign
            middle = middle - np.pi / 2
        alone = where(is_zero, 2 * half_sum, (2 if is_intrinsic else -2) * half_difference)
        if not is_symmetric and is_intrinsic:
            alone = alone * sign
        is_locked = is_zero | is_pi
        first, third = where(is_locked, alone, outer[0]), where(is_locked, 0, outer[1])
        angles = joining.stack([_wrapped(first), middle, _wrapped(third)], -1)
        return elementary.rad2deg(angles) if degrees else angles


@public
@tree.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Slerp:
    """Interpolation between rotations at constant angular velocities; made by `Slerp.init`.

    Args:
      times: ``[n]`` increasing times.
      timedelta: ``[n - 1]`` their differences.
      rotations: the n rotations at the times.
      rotvecs: ``[n - 1, 3]`` rotation vectors from each rotation to the next.

    Outside of the times the first and the last rotation go on (SciPy raises).

    Source: K. Shoemake, "Animating rotation with quaternion curves", SIGGRAPH 1985.

    Example:
      >>> from evertrace.scipy.spatial.transform import Rotation, Slerp
      >>> ends = Rotation.from_euler("x", jnp.array([[0.0], [90.0]]), degrees=True)
      >>> Slerp.init(jnp.array([0.0, 1.0]), ends)(0.5).magnitude().round(3)
      Array(0.785, dtype=float32)
    """

    times: Any
    timedelta: Any
    rotations: Any
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Any) -> Any:
        """Return the interpolation between two rotations or more, at increasing times ``[n]``."""
        times = _floating("Slerp", times)
        count = 1 if rotations.single else len(rotations)
        if count < 2 or times.shape != (count,):
            raise _shape_error("Slerp", times.shape, f"(n,) for n >= 2 rotations, not {count}")
        rotvecs = (rotations[:-1].inv() * rotations[1:]).as_rotvec()
        return cls(times, calculus.diff(times), rotations, rotvecs)

    @door
    def __call__(self, times: Any) -> Any:
        """Return the rotations at some times, a scalar or a vector."""
        times = _floating("Slerp", times)
        if times.ndim > 1:
            raise _shape_error("Slerp", times.shape, "() or (n,)")
        last = self.timedelta.shape[0] - 1
        index = elementary.clip(searchsorted(self.times, times, side="right") - 1, 0, last)
        share = (times - self.times[index]) / self.timedelta[index]
        return self.rotations[index] * Rotation.from_rotvec(self.rotvecs[index] * share[..., None])


# ---------------------------------------------------------------- helpers


def _floating(name, x, degrees=False):
    """Return an argument as a strongly typed floating array, in radians."""
    (x,) = promote_dtypes_inexact(name, asarray(x))
    x = convert(x, x.aval.dtype)
    return elementary.deg2rad(x) if degrees else x


def _shape_error(name, shape, wanted):
    return errors.user_error(
        errors.ShapeError,
        f"{name}: an array of shape {shape} was given, needed is {wanted}.",
        fix="reshape it.",
        anchor="shape",
    )


def _check_last(name, x, size):
    if x.shape[-1:] != (size,):
        raise _shape_error(name, x.shape, f"(..., {size})")


def _axes(name, seq, counts):
    """Return the axes that letters name as ints, and whether they turn along."""
    is_intrinsic = seq.isupper()
    letters = "XYZ" if is_intrinsic else "xyz"
    axes = [letters.find(c) for c in seq]
    repeats = any(a == b for a, b in itertools.pairwise(axes))
    if len(axes) not in counts or -1 in axes or repeats:
        raise errors.user_error(
            ValueError,
            f"{name}: {seq!r} does not name {' or '.join(map(str, counts))} axes.",
            fix='use letters of one case, neighbours different, such as "zyx" or "ZXZ".',
        )
    return axes, is_intrinsic


def _about(axis, angle):
    """Return the quaternion of a rotation about a coordinate axis."""
    zero = creation.zeros_like(angle)
    parts = [zero, zero, zero, ufuncs.cos(angle / 2)]
    parts[axis] = ufuncs.sin(angle / 2)
    return joining.stack(parts, -1)


def _product(p, q):
    """Return the Hamilton product."""
    (p, q) = promote_dtypes_inexact("Rotation", p, q)
    px, py, pz, pw = (p[..., i] for i in range(4))
    qx, qy, qz, qw = (q[..., i] for i in range(4))
    return joining.stack(
        [
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
            pw * qw - px * qx - py * qy - pz * qz,
        ],
        -1,
    )


def _root(square):
    """Return the square root, with derivative 0 at 0."""
    is_zero = square == 0
    return where(is_zero, 0, ufuncs.sqrt(where(is_zero, 1, square)))


def _length(x):
    return _root(reductions.sum(x * x, -1))


def _unit(quat):
    return quat / ufuncs.sqrt(reductions.sum(quat * quat, -1, keepdims=True))


def _with_positive_scalar(quat):
    return where(quat[..., 3:] < 0, -quat, quat)


def _wrapped(angle):
    """Return an angle in the turn around 0."""
    return where(angle < -np.pi, angle + 2 * np.pi, where(angle > np.pi, angle - 2 * np.pi, angle))
