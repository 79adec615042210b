"""Trees of arrays on disk, written and read by any number of processes on any mesh."""

from evertrace._src import lazy
from evertrace._src.experimental.checkpoints import load as load
from evertrace._src.experimental.checkpoints import load_pytreedef as load_pytreedef
from evertrace._src.experimental.checkpoints import save as save

lazy.refuse_others(__name__)

__all__ = ["load", "load_pytreedef", "save"]
