"""Functions of space."""

from . import transform as transform

__all__ = ["transform"]
