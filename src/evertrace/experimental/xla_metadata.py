"""What is attached to the operations of a program."""

from evertrace._src import lazy
from evertrace._src.experimental.hints import set_xla_metadata as set_xla_metadata

lazy.refuse_others(__name__)

__all__ = ["set_xla_metadata"]
