"""What the functions of `lax.linalg` have in common: operands, empty matrices, refusals."""

from __future__ import annotations

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.ops.linalg import matrices
from evertrace._src.ops.structural import zeros
from evertrace._src.support import set_module

public = set_module("evertrace.lax.linalg")


def as_matrices(name, x) -> Array:
    """Return an argument as matrices of a dtype that LAPACK knows."""
    x = as_array(x, name)
    matrices.check_matrices(name, x.aval)
    return x


def as_square(name, x) -> Array:
    """Return an argument as square matrices."""
    x = as_array(x, name)
    matrices.check_square(name, x.aval)
    return x


def is_empty(x):
    """Whether matrices have no elements each."""
    return 0 in x.aval.shape[-2:]


def zeros_beside(x, *sizes, dtype=None):
    """Return zeros with the leading dimensions of matrices."""
    return zeros(matrices.shaped(x.aval, *sizes, dtype=dtype))


def complex_dtype(dtype):
    """Return the complex dtype of the same precision."""
    return np.result_type(dtype, np.complex64)


def shape_error(what, fix):
    """Build the error for operands whose shapes do not fit."""
    return errors.user_error(errors.ShapeError, what, fix=fix, anchor="shape-linalg")
