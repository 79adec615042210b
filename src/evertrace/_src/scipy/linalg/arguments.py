"""Arguments of SciPy's linear algebra: matrices of inexact dtypes, and values out of a few."""

from __future__ import annotations

from typing import Any

from evertrace._src import errors, native
from evertrace._src.numpy.spectra import adjoint as adjoint
from evertrace._src.numpy.spectra import as_matrices as as_matrices
from evertrace._src.numpy.spectra import as_square as as_square

public = native.planned_in("evertrace.scipy.linalg")


def choice(name: str, argument: str, value: Any, choices: Any) -> None:
    """Raise unless an argument is one of the values that it may have."""
    if value not in choices:
        raise errors.user_error(
            ValueError,
            f"{name}: {argument} must be one of {', '.join(map(repr, choices))}; got {value!r}.",
            fix="use one of these.",
            anchor="choice",
        )
