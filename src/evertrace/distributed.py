"""Several processes that work together: one, for now."""

from evertrace._src import lazy
from evertrace._src.sharding.distributed import initialize as initialize
from evertrace._src.sharding.distributed import is_initialized as is_initialized
from evertrace._src.sharding.distributed import shutdown as shutdown

lazy.refuse_others(__name__)

__all__ = ["initialize", "is_initialized", "shutdown"]
