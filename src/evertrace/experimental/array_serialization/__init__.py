"""Trees of arrays on disk: `pytree_serialization`."""

from . import pytree_serialization as pytree_serialization
from . import serialization as serialization

__all__: list[str] = []
