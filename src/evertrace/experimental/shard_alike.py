"""Arrays placed alike."""

from evertrace._src.experimental.annotations import shard_alike as shard_alike

__all__ = ["shard_alike"]
