"""The version, as JAX has it: `jax.version` under `as_jax` says JAX's."""

from evertrace._src.api.alias import VERSION as __version__

__version_info__: tuple[int, ...] = tuple([int(part) for part in __version__.split(".")])

__all__ = ["__version__", "__version_info__"]
