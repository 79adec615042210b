"""Compiled functions as bytes."""

from evertrace._src.experimental.executables import deserialize_and_load as deserialize_and_load
from evertrace._src.experimental.executables import serialize as serialize

__all__ = ["deserialize_and_load", "serialize"]
