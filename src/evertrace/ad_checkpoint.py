"""Trading computation for memory in reverse mode."""

from evertrace._src import lazy
from evertrace._src.api.checkpoint import checkpoint as checkpoint
from evertrace._src.api.checkpoint import print_saved_residuals as print_saved_residuals
from evertrace._src.control.checkpoint import checkpoint_name as checkpoint_name
from evertrace._src.control.policies import Offloadable as Offloadable
from evertrace._src.control.policies import Recompute as Recompute
from evertrace._src.control.policies import Saveable as Saveable
from evertrace._src.control.policies import checkpoint_policies as checkpoint_policies

lazy.refuse_others(__name__)

__all__ = [
    "Offloadable", "Recompute", "Saveable", "checkpoint", "checkpoint_name", "checkpoint_policies",
    "print_saved_residuals",
]  # fmt: skip
