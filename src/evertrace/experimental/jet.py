"""Taylor mode: derivatives of any order along a curve."""

from evertrace._src.experimental.jet import jet as jet

__all__ = ["jet"]
