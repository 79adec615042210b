"""`shard_map`, now `evertrace.shard_map`."""

from evertrace._src.experimental.devices import shard_map as shard_map

__all__ = ["shard_map"]
