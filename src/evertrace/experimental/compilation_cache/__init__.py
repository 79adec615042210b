"""The cache of compiled programs on disk."""

from evertrace._src import lazy
from evertrace.experimental.compilation_cache import compilation_cache as compilation_cache

lazy.refuse_others(__name__)

__all__ = ["compilation_cache"]
