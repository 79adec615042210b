"""Functions of which users say how devices share them."""

from evertrace._src import lazy
from evertrace._src.experimental.partitioning import custom_partitioning as custom_partitioning
from evertrace._src.experimental.sharding_rules import BATCHING as BATCHING
from evertrace._src.experimental.sharding_rules import ArrayMapping as ArrayMapping
from evertrace._src.experimental.sharding_rules import CompoundFactor as CompoundFactor
from evertrace._src.experimental.sharding_rules import SdyShardingRule as SdyShardingRule

lazy.refuse_others(__name__)

__all__ = ["BATCHING", "ArrayMapping", "CompoundFactor", "SdyShardingRule", "custom_partitioning"]
