"""Shared by the transformations: choosing differentiated arguments, checking what came and went."""

import operator

import numpy as np

from evertrace._src import doors, dtypes, errors, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, as_operand, aval_of, kind_in_words, repair_of
from evertrace._src.core.aval import is_inexact

SEVERAL = (tuple, list, range)
"""What an option that names arguments may be, besides the position of one."""


def positions(where, option, value):
    """Return the positions of arguments that an option names, as a tuple.

    Checked where `where`, such as ``grad(f)``, is made: what is no position may be what the
    function is to be called with.
    """
    try:
        return tuple(map(operator.index, value if isinstance(value, SEVERAL) else (value,)))
    except TypeError:
        raise errors.user_error(
            TypeError,
            f"{where}: {option} must be an int or a tuple of ints, got {doors.shown(value)}.",
            fix=call_after(where, value) or "count the arguments from 0.",
            anchor="argnums",
        ) from None


def call_after(where, value):
    """Return the repair of an option that is data: ``grad(f, x)`` instead of ``grad(f)(x)``."""
    is_data = isinstance(value, (float, complex, np.ndarray)) or hasattr(value, "aval")
    return f"call what it returns: `{where}(x)`." if is_data else None


def chosen_arguments(where, argnums, args):
    """Return the positions that `argnums` names, checked against the arguments of a call."""
    nums = positions(where, "argnums", argnums)
    for n in nums:
        if not -len(args) <= n < len(args):
            raise errors.user_error(
                TypeError,
                f"{where}: argnums names argument {n}, but the call has {len(args)} positional "
                f"arguments.",
                fix="differentiate with respect to an argument that is passed by position.",
                anchor="argnums",
            )
    return tuple(n % len(args) for n in nums)


def positional_name(path):
    """Return the name of a leaf in a tuple of arguments: ``0['w']``."""
    return f"{path[0].idx}{tree.keystr(path[1:])}"


def flatten_arrays(where, value, name_of=positional_name):
    """Flatten a tree of arrays into arrays and tracers; an error says ``name_of(path)``."""
    leaves, treedef = tree.flatten(value)
    try:
        return [as_array(x, where) for x in leaves], treedef
    except TypeError:
        for path, leaf in tree.flatten_with_path(value)[0]:
            try:
                as_operand(leaf, where)
            except TypeError:
                raise errors.user_error(
                    TypeError,
                    f"{where}: argument {name_of(path)} of type {kind_in_words(leaf)} "
                    f"is not an array.",
                    fix=repair_of(leaf, "pass arrays or trees of them."),
                    anchor="not-an-array",
                ) from None
        raise


def check_differentiable(where, leaves, holomorphic, allow_int, value=None, name_of=None):
    """Raise unless gradients with respect to these leaves make sense.

    Args:
      where: whose arguments they are.
      leaves: arrays.
      holomorphic: whether they have to be complex.
      allow_int: whether they may be integers.
      value: the tree of the leaves, for the error.
      name_of: makes the name of a leaf of its path; None for no names.
    """
    for i, x in enumerate(leaves):
        dtype = x.aval.dtype
        if holomorphic and not dtypes.issubdtype(dtype, np.complexfloating):
            raise errors.user_error(
                TypeError,
                f"{where}: with holomorphic=True inputs must be complex, got {dtype}.",
                fix="convert the input to a complex dtype, or leave holomorphic out.",
                anchor="grad-dtype",
            )
        if not is_inexact(x.aval) and not allow_int:
            place = ""
            if name_of is not None and len(leaves) > 1:
                place = f" in argument {name_of(tree.flatten_with_path(value)[0][i][0])}"
            raise errors.user_error(
                TypeError,
                f"{where}: requires real- or complex-valued inputs, got {dtype}{place}.",
                fix="pass floating-point numbers (`1.0` instead of `1`), or choose other argnums; "
                "`allow_int=True` gives float0 gradients for integers.",
                anchor="grad-dtype",
            )


def check_scalar_output(where, outs, out_tree, holomorphic):
    """Raise unless a function returned one real scalar; returns it."""
    if len(outs) != 1 or (out_tree is not tree.LEAF and out_tree != tree.LEAF):
        raise errors.user_error(
            TypeError,
            f"{where}: the function must return one scalar, it returned a tree of "
            f"{len(outs)} arrays: {out_tree}.",
            fix="return the loss alone, or (loss, aux) with has_aux=True.",
            anchor="grad-scalar",
        )
    aval = outs[0].aval
    if aval.shape != ():
        raise errors.user_error(
            TypeError,
            f"{where}: the function must return a scalar, it returned an array of shape "
            f"{aval.shape}.",
            fix="reduce it, e.g. with `.sum()` or `.mean()`, or use `jacrev`/`vjp`.",
            anchor="grad-scalar",
        )
    check_output_dtype(where, aval, holomorphic)
    return outs[0]


def check_output_dtype(where, aval, holomorphic):
    """Raise unless rows of a Jacobian can be made for an output of this aval."""
    is_complex = dtypes.issubdtype(aval.dtype, np.complexfloating)
    if is_complex == holomorphic and is_inexact(aval):
        return
    wanted = "complex with holomorphic=True" if holomorphic else "real-valued"
    raise errors.user_error(
        TypeError,
        f"{where}: the output of the function must be {wanted}, it is {aval.str_short()}.",
        fix="return floating-point numbers; for holomorphic functions of complex numbers pass "
        "holomorphic=True.",
        anchor="grad-dtype",
    )


def check_callable(name, fun):
    """Raise unless `fun` can be called; returns it."""
    if not callable(fun):
        raise errors.user_error(
            TypeError,
            f"{name}: expected a function, got a value of type {type(fun).__name__}.",
            fix=f"pass the function itself: `{name}(f)(x)`, not `{name}(f(x))`.",
            anchor="not-callable",
        )
    return fun


def split_aux(where, result):
    """Take apart the result of a function called with has_aux=True."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise errors.user_error(
            TypeError,
            f"{where}: with has_aux=True the function must return a pair (output, aux), it "
            f"returned {_kind(result)}.",
            fix="return a pair, or leave has_aux out.",
            anchor="has-aux",
        )
    return result


def _kind(result):
    """Return what a function returned, in words."""
    if isinstance(result, (tuple, list)):
        return f"a {type(result).__name__} of {len(result)}"
    if isinstance(result, Array):
        return f"an array {result.aval.str_short()}"
    return f"a value of type {type(result).__name__}"


def float0_zeros(aval):
    """Return the tangent or cotangent of an integer or boolean value."""
    return np.zeros(aval.shape, dtypes.float0)


def tangent_dtype(aval):
    """Return the dtype that tangents of values of this aval have."""
    return aval.dtype if is_inexact(aval) else dtypes.float0


def check_tangent(where, name, primal, tangent):
    """Return a tangent or cotangent as an operand (None for float0), checked against its primal."""
    want = primal.aval
    if getattr(tangent, "dtype", None) == dtypes.float0:
        given, dtype = None, dtypes.float0
        shape = tangent.shape
    else:
        given = as_operand(tangent, where)
        dtype, shape = given.aval.dtype, given.aval.shape
        is_number = not hasattr(tangent, "dtype")  # of Python's: an array has a dtype, even if weak
        if is_number and given.aval.weak_type and dtype != want.dtype and is_inexact(want):
            given = Array(want, np.asarray(tangent, want.dtype)) if not shape else given
            dtype = given.aval.dtype
    if shape != want.shape or dtype != tangent_dtype(want):
        raise errors.user_error(
            errors.DTypeError if dtype != tangent_dtype(want) else ValueError,
            f"{where}: {name} must be of type {tangent_dtype(want)}{list(want.shape)}, as its "
            f"primal requires, got {dtype}{list(shape)}.",
            fix="give it the shape and dtype of the primal (float0 for integers).",
            anchor="tangent-type",
        )
    return given


def describe(x):
    """Return the short type of anything array-like."""
    return aval_of(x).str_short()
