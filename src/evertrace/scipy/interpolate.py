"""Interpolation of functions known on a grid."""

from evertrace._src.scipy.interpolate import RegularGridInterpolator as RegularGridInterpolator

__all__ = ["RegularGridInterpolator"]
