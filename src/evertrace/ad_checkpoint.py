"""Trading computation for memory in reverse mode."""

from evertrace._src.api.checkpoint import checkpoint as checkpoint
from evertrace._src.control.checkpoint import checkpoint_name as checkpoint_name
from evertrace._src.control.checkpoint import checkpoint_policies as checkpoint_policies

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies"]
