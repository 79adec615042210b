"""Examples of libraries: optimizers, and layers of neural networks, as pure functions."""

import importlib
from typing import TYPE_CHECKING, Any

from evertrace._src import lazy as _lazy

if TYPE_CHECKING:
    from . import optimizers as optimizers
    from . import stax as stax

__all__ = ["optimizers", "stax"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise _lazy.Absent(__name__, name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
