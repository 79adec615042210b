"""Looking into functions while they run, also when they are transformed and compiled."""

from evertrace._src.debug.callback import callback as callback
from evertrace._src.debug.callback import print as print

__all__ = ["callback", "print"]
