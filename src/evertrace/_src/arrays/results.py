"""What a user's function returns, as flat operands and their treedef."""

import numpy as np

from evertrace._src import dtypes, errors, tree
from evertrace._src.arrays.interop import as_operand, can_be_written, repair_of


@tree.register_pytree_node_class
class _NoTangents:
    """A tangent of integers, an array of float0, as part of a structure: it has no contents."""

    def __init__(self, shape):
        self.shape = shape

    def tree_flatten(self):
        return (), self.shape

    @staticmethod
    def tree_unflatten(shape, _):
        return np.zeros(shape, dtypes.float0)


def is_float0(x):
    """Whether a leaf is an array of float0."""
    return type(x) is np.ndarray and x.dtype == dtypes.float0


def flatten_result(result, name):
    """Return a function's result as flat operands and their treedef.

    Arrays of float0 are not among the operands: the treedef makes them again.
    """
    leaves, treedef = tree.flatten(result)
    if any(map(is_float0, leaves)):
        shown = [_NoTangents(x.shape) if is_float0(x) else x for x in leaves]
        leaves, treedef = tree.flatten(tree.unflatten(treedef, shown))
    try:
        return [_operand(x) for x in leaves], treedef
    except TypeError:
        raise _bad_result(result, name) from None


def _operand(x):
    if can_be_written(type(x)):  # and be an array as well: it would be another object
        raise TypeError
    made = as_operand(x)
    if not hasattr(made.aval, "str_short"):  # what was made by hand, of what is no type
        raise TypeError
    return made


def _bad_result(result, name):
    for path, leaf in tree.flatten_with_path(result)[0]:
        try:
            _operand(leaf)
        except TypeError:
            return errors.user_error(
                TypeError,
                f"{name}: the function returned a {type(leaf).__name__} at result"
                f"{tree.keystr(path)}, which is not an array.",
                fix=repair_of(leaf, "return arrays, scalars, or trees of them."),
                anchor="not-an-array",
            )
    return TypeError(f"{name}: the result holds a value that is not an array")
