"""Several processes that work together: one, for now."""

from evertrace._src.sharding.distributed import initialize as initialize
from evertrace._src.sharding.distributed import is_initialized as is_initialized
from evertrace._src.sharding.distributed import shutdown as shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
