"""`shard_map`, now `evertrace.shard_map`."""

from evertrace._src import lazy
from evertrace._src.experimental.devices import shard_map as shard_map

lazy.refuse_others(__name__)

__all__ = ["shard_map"]
