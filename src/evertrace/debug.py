"""Looking into functions while they run, also when they are transformed and compiled."""

from evertrace._src import lazy
from evertrace._src.debug.breakpoint import breakpoint as breakpoint
from evertrace._src.debug.callback import callback as callback
from evertrace._src.debug.callback import log as log
from evertrace._src.debug.callback import print as print
from evertrace._src.debug.inspect import inspect as inspect
from evertrace._src.debug.sharding import inspect_array_sharding as inspect_array_sharding
from evertrace._src.debug.sharding import visualize_array_sharding as visualize_array_sharding
from evertrace._src.debug.sharding import visualize_sharding as visualize_sharding
from evertrace._src.ops.callback import DebugEffect as DebugEffect
from evertrace._src.ops.callback import OrderedDebugEffect as OrderedDebugEffect

lazy.refuse_others(__name__)

__all__ = [
    "DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "inspect",
    "inspect_array_sharding", "log", "print", "visualize_array_sharding", "visualize_sharding",
]  # fmt: skip
