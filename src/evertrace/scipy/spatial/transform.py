"""Rotations in space."""

from evertrace._src import lazy
from evertrace._src.scipy.rotation import Rotation as Rotation
from evertrace._src.scipy.rotation import Slerp as Slerp

lazy.refuse_others(__name__)

__all__ = ["Rotation", "Slerp"]
