"""Interpolation of functions known on a grid."""

from evertrace._src import lazy
from evertrace._src.scipy.interpolate import RegularGridInterpolator as RegularGridInterpolator

lazy.refuse_others(__name__)

__all__ = ["RegularGridInterpolator"]
