"""SciPy's special functions as host rules, loaded when one is first called.

`import evertrace` must not load SciPy, so this is the one module of `ops` that imports lazily.
"""

import functools
import importlib

import numpy as np


@functools.cache
def _special():
    return importlib.import_module("scipy.special")


def host(name):
    """Return the function ``scipy.special.<name>`` as a host rule for any floating dtype."""

    def rule(*operands):
        function = getattr(_special(), name)
        dtype = operands[0].dtype
        # SciPy has loops for float32 and float64 only.
        kind = np.float64 if dtype == np.float64 else np.float32
        return function(*[np.asarray(x, kind) for x in operands]).astype(dtype)

    return rule
