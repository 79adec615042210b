"""Callbacks: whatever runs them and however they are vectorised, they return NumPy's results."""

import numpy as np

from evertrace._src.api.callback import pure_callback
from evertrace._src.ops.callback import pure_callback_p
from tests.specs.opspec import ALL, OpSpec, case


def doubled(x, y):
    """A function that takes leading dimensions."""
    return np.add(x, x), np.array(y, order="F")


def called_back(vmap_method):
    """Return `doubled` as an operation."""

    def fun(x, y):
        return pure_callback(doubled, (x, y), x, y, vmap_method=vmap_method)

    return fun


SPECS = [
    OpSpec(
        f"pure_callback-{vmap_method}",
        [pure_callback_p],
        called_back(vmap_method),
        oracle=doubled,
        cases=[case((2, 3), (4,)), case((), (0, 2))],
        dtypes=ALL,
        wide=False,
        ulps=0,
        grads=(),
    )
    for vmap_method in ("sequential", "broadcast_all")
]
