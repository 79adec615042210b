"""Arrays placed alike."""

from evertrace._src import lazy
from evertrace._src.experimental.annotations import shard_alike as shard_alike

lazy.refuse_others(__name__)

__all__ = ["shard_alike"]
