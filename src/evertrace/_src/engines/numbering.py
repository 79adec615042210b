"""What tells what an equation computes, so that it need not be computed twice.

Values are numbered by what they are computed from, as in J. Cocke and J. T. Schwartz, Programming
Languages and Their Compilers (1970).
"""

import numpy as np

from evertrace._src.core.jaxpr import Literal


def key_of(eqn, ins):
    """Return what equations have alike that compute the same of the same; None if none does.

    Args:
      eqn: the equation.
      ins: for each operand a literal, or the first value that is the same.
    """
    if eqn.effects:
        return None
    try:
        key = (eqn.primitive, tuple(map(_same, ins)), tuple(sorted(eqn.params.items())))
        hash(key)
    except TypeError:
        return None
    return key


def _same(x):
    if type(x) is Literal and isinstance(x.val, np.generic | np.ndarray):  # no size left open
        return x.val.tobytes(), x.aval
    return x
