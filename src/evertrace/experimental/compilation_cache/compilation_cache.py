"""Where compiled programs are kept on disk."""

from evertrace._src import lazy
from evertrace._src.experimental.compilation_cache import reset_cache as reset_cache
from evertrace._src.experimental.compilation_cache import set_cache_dir as set_cache_dir

lazy.refuse_others(__name__)

__all__ = ["reset_cache", "set_cache_dir"]
