"""SciPy's special functions as host rules, loaded when one is first called.

`import evertrace` must not load SciPy, so this is the one module of `ops` that imports lazily.
"""

import functools
import importlib

import numpy as np


@functools.cache
def _special():
    return importlib.import_module("scipy.special")


def host(name, narrowest: type = np.float32):
    """Return the function ``scipy.special.<name>`` as a host rule for any floating dtype.

    SciPy has loops for float32 and float64 only; `narrowest` is float64 where the first is inexact.
    """

    def rule(*operands):
        function = getattr(_special(), name)
        dtype = operands[0].dtype
        kind = np.float64 if dtype == np.float64 else narrowest
        return function(*[np.asarray(x, kind) for x in operands]).astype(dtype)

    return rule
