"""Taylor mode: derivatives of any order along a curve."""

from evertrace._src import lazy
from evertrace._src.experimental.jet import jet as jet

lazy.refuse_others(__name__)

__all__ = ["jet"]
