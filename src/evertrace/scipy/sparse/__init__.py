"""Linear systems known by products with vectors."""

from . import linalg as linalg

__all__ = ["linalg"]
