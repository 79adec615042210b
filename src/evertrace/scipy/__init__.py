"""Functions with the names and meaning of SciPy's."""

import importlib
from typing import TYPE_CHECKING, Any

from evertrace._src import lazy as _lazy

if TYPE_CHECKING:
    from . import cluster as cluster
    from . import fft as fft
    from . import integrate as integrate
    from . import interpolate as interpolate
    from . import linalg as linalg
    from . import ndimage as ndimage
    from . import optimize as optimize
    from . import signal as signal
    from . import sparse as sparse
    from . import spatial as spatial
    from . import special as special
    from . import stats as stats

_LAZY = frozenset({
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize",
    "signal", "sparse", "spatial", "special", "stats",
})  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise _lazy.Absent(__name__, name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | _LAZY)
