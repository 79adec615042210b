"""JAX's older functions for the cache on disk."""

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import config
from evertrace._src.engines import cache
from evertrace.experimental.compilation_cache import compilation_cache


def test_programs_are_kept_in_the_folder(tmp_path):
    before = ev.config.compilation_cache_dir
    try:
        compilation_cache.set_cache_dir(tmp_path / "programs")
        with config.override(enable_compilation_cache=True):
            compilation_cache.reset_cache()
            assert cache.cache_stats().writes == 0
            ev.jit(lambda x: x * 3.25 - 1.5, engine="xla")(jnp.ones(7))
        assert cache.cache_stats().writes == 1
        assert len(list((tmp_path / "programs").iterdir())) == 1
    finally:
        ev.config.update("compilation_cache_dir", before)
        compilation_cache.reset_cache()
