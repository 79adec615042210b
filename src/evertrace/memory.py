"""Kinds of memory, for `device_put`."""

from evertrace._src.core.formats import Space as Space
