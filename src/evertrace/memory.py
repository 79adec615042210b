"""Kinds of memory, for `device_put`."""

from evertrace._src import lazy
from evertrace._src.core.formats import Space as Space

lazy.refuse_others(__name__)
