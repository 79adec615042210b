"""The cache of compiled programs on disk, by JAX's older functions."""

from __future__ import annotations

import os
from typing import Any

from evertrace._src import config
from evertrace._src.engines import cache
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.compilation_cache.compilation_cache")


@public
def set_cache_dir(path: Any) -> None:
    """Keep compiled programs in a folder: the option ``compilation_cache_dir``.

    Args:
      path: of the folder, which is made if need be. Its files are code that is run, so one that
        others can write to is not used.

    Example:
      >>> from evertrace.experimental.compilation_cache import compilation_cache
      >>> before = ev.config.compilation_cache_dir
      >>> compilation_cache.set_cache_dir("~/.cache/programs")
      >>> ev.config.compilation_cache_dir
      '~/.cache/programs'
      >>> ev.config.update("compilation_cache_dir", before)
    """
    config.update("compilation_cache_dir", os.fspath(path))


@public
def reset_cache() -> None:
    """Forget what is known of folders and count from zero; files and options stay.

    A folder that was found unusable is tried again, and warned of again.
    """
    cache.reset()
