"""Rotations in space."""

from evertrace._src.scipy.rotation import Rotation as Rotation
from evertrace._src.scipy.rotation import Slerp as Slerp

__all__ = ["Rotation", "Slerp"]
