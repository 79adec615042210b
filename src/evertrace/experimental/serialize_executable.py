"""Compiled functions as bytes."""

from evertrace._src import lazy
from evertrace._src.experimental.executables import deserialize_and_load as deserialize_and_load
from evertrace._src.experimental.executables import serialize as serialize

lazy.refuse_others(__name__)

__all__ = ["deserialize_and_load", "serialize"]
