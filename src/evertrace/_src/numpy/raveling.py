"""A tree of arrays as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.numpy.joining import concatenate
from evertrace._src.numpy.promotion import promote_dtypes
from evertrace._src.numpy.shape import ravel, reshape
from evertrace._src.ops.convert import convert
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened
from evertrace._src.tree import Partial


@set_module("evertrace.flatten_util")
def ravel_pytree(pytree: Any) -> tuple[Array, Callable[[Array], Any]]:
    """Return the leaves of a tree as one vector, and the function that makes a tree of it again.

    Args:
      pytree: tree of arrays and scalars of any shapes; their dtypes are promoted to one.

    Returns:
      ``(flat, unravel)``: a vector ``[n]`` of all elements, and a function from such a vector to
      a tree of the structure, shapes and dtypes of `pytree`.

    Example:
      >>> from evertrace.flatten_util import ravel_pytree
      >>> flat, unravel = ravel_pytree({"b": jnp.zeros(2), "w": jnp.ones((1, 2))})
      >>> flat
      Array([0., 0., 1., 1.], dtype=float32)
      >>> unravel(2 * flat)["w"]
      Array([[2., 2.]], dtype=float32)
    """
    leaves, treedef = tree.flatten(pytree)
    if not leaves:
        return as_array(np.zeros(0, dtypes.default_dtype(float))), Partial(_empty_tree, treedef)
    arrays = [as_array(x, "ravel_pytree") for x in leaves]
    flat = concatenate(promote_dtypes("ravel_pytree", *map(ravel, arrays)))
    flat = convert(flat, flat.dtype)  # strongly typed
    shapes = tuple(x.shape for x in arrays)
    kinds = tuple(x.dtype for x in arrays)

    @shortened
    def unravel(vector):
        vector = as_array(vector, "ravel_pytree")
        _check_vector(vector, flat)
        parts, offset = [], 0
        for shape, dtype in zip(shapes, kinds, strict=True):
            size = math.prod(shape)
            part = reshape(vector[offset : offset + size], shape)
            parts.append(convert(part, dtype))
            offset += size
        return tree.unflatten(treedef, parts)

    return flat, unravel


def _empty_tree(treedef, vector):
    del vector
    return tree.unflatten(treedef, [])


def _check_vector(vector, flat):
    if vector.aval.shape != flat.aval.shape:
        raise errors.user_error(
            errors.ShapeError,
            f"unravel: expected a vector of shape {flat.shape}, got {vector.shape}.",
            fix="pass a vector of the length that `ravel_pytree` returned.",
            anchor="shape-reshape",
        )
