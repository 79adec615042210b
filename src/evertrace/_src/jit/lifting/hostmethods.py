"""Methods and operators of what stands for a NumPy array while a function is traced.

They are NumPy's, and each goes one of three ways: to the array's contents, which are then a guard;
to a view; or to the traced array, where the result stands for what NumPy would have made.
"""

import operator

import numpy as np

from evertrace._src.arrays.interop import type_of_number
from evertrace._src.jit.lifting import arraywrites, numpymeaning
from evertrace._src.jit.lifting.host import is_operand, op, ufunc_op, with_keywords
from evertrace._src.jit.lifting.numpykind import (
    is_host_array,
    is_numpy_kind,
    is_stand_in_of_integer,
    operation,
    replaced,
)

_VIEWS = frozenset({
    "T", "astype", "conj", "conjugate", "diagonal", "imag", "mT", "ravel", "real", "reshape",
    "squeeze", "swapaxes", "transpose", "view",
})  # fmt: skip
"""Methods and properties whose result shares memory with a NumPy array, where it can."""

_CONTENTS = frozenset({
    "__bool__", "__complex__", "__contains__", "__float__", "__format__", "__index__", "__int__",
    "__round__", "item", "nonzero", "tolist",
})  # fmt: skip
"""Methods whose result is a plain value, or has a shape that depends on values."""

_OF_SCALARS = frozenset({"conj", "conjugate", "imag", "item", "real", "tolist", "__round__"})
"""What beside operators makes a number or a scalar of a scalar."""

_OF_ARRAYS = frozenset({
    *[f"__{r}{name}__" for r in ("", "r") for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "and", "or", "xor",
        "lshift", "rshift", "matmul",
    )],
    *[f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")],
    *[f"__{name}__" for name in ("neg", "pos", "abs", "invert")],
    "item", "tolist",
})  # fmt: skip
"""What makes new arrays, or numbers, of an array that the host computes."""

_ARGUMENT_CONTENTS = frozenset({"compress", "repeat"})
"""Methods whose result has a shape that depends on the values of arguments."""

_TAKE_LISTS = frozenset({"choose", "compress", "dot", "repeat", "searchsorted", "take"})
"""Methods whose arguments may be lists for arrays."""


SAME_AS_METHOD = {
    getattr(np, name): name
    for name in (
        "all", "any", "argmax", "argmin", "argsort", "clip", "cumprod", "cumsum", "diagonal",
        "dot", "max", "mean", "min", "prod", "ravel", "reshape", "round", "squeeze", "std", "sum",
        "swapaxes", "take", "trace", "transpose", "var",
    )
}  # fmt: skip
"""Functions of NumPy -> the method that does the same, of arrays whose contents are not known."""

_POWERS = {"__pow__": 1, "__rpow__": -1}
"""Which way round the operands of powers are."""


def _contents(x):
    return x.contents()


def forwarded(name, is_property):
    """Return the method or property of the original array, of its contents or of the traced one."""
    fn = operator.attrgetter(name) if is_property else operation(name)
    meant = numpymeaning.meaning(name)
    is_operator = name.startswith("__") and name not in _CONTENTS
    recorded = is_operator or name in _OF_SCALARS

    def get(x, args, kwargs):
        return fn(x) if is_property else getattr(x, name)(*args, **kwargs)

    def method(self, /, *args, **kwargs):
        if not self.is_tracing():
            return get(self.original, args, kwargs)
        is_recorded = self.slot is not None and recorded and (self.is_scalar or name in _OF_ARRAYS)
        if is_recorded and all(map(is_operand, (*args, *kwargs.values()))):
            made, args = with_keywords(fn, args, kwargs)
            return op(made, self, *args)
        if is_host_array(kwargs.get("out")):
            out = kwargs.pop("out")
            out.write_result(name, method(self, *args, **kwargs))
            return out
        if self.is_known and (name in _CONTENTS or _is_sequence_operand(name, args)):
            return fn(self.contents(), *args, **kwargs)
        if name in _VIEWS:
            args = replaced(args, is_stand_in_of_integer, operator.index)
            with np.errstate(all="ignore"):
                found = get(self.original, args, kwargs)
            if isinstance(found, np.ndarray) and np.may_share_memory(found, self.original):
                return self.view_of(lambda x: get(x, args, kwargs), found)
        args = _prepared(self, name, args, kwargs)
        if not is_numpy_kind([args, kwargs]):
            return get(self.__jax_array__(), args, kwargs)
        if name in _POWERS and len(args) == 1:
            numpymeaning.check_power(*(self, args[0])[:: _POWERS[name]])
        of_numpy = meant or (lambda x, *args, **kwargs: get(x, args, kwargs))
        return self.result_of(fn, of_numpy, args, kwargs)

    method.__name__ = name
    return fixed(name, method) if is_property else method


def fixed(name, get):
    """Return a property that cannot be set while a function is traced."""

    def refuse(self, value):
        if not self.is_tracing():
            setattr(self.original, name, value)
            return
        raise arraywrites.refused(
            AttributeError,
            f"{name}: attributes of a NumPy array cannot be set while a function is traced",
            "use a method that makes a new array, such as `reshape`, `view` or `astype`, or write "
            "by item assignment, `a[...] = v`.",
        )

    return property(get, refuse)


def item_of(fn, i):
    """Return a function whose result is one item of another's."""
    return lambda *args, **kwargs: fn(*args, **kwargs)[i]


def _prepared(x, name, args, kwargs):
    """Return the arguments of a method as the traced array takes them."""
    if name in _ARGUMENT_CONTENTS:
        args = replaced(args, is_host_array, _contents)
    if name in _TAKE_LISTS:
        args = tuple([np.asarray(y) if _is_list(y) else y for y in args])
    if name == "take":
        _check_taken(x, args, kwargs)
    return (_within(args[0], x.aval),) if name in _COMPARISON_NAMES else args


def _within(number, aval):
    """Return what an integer array is compared with: infinity for what it cannot hold."""
    if type_of_number(number) is not int or aval.dtype.kind not in "iu":
        return number
    limits = np.iinfo(aval.dtype)
    if limits.min <= number <= limits.max:
        return number
    return np.float64(np.inf if number > 0 else -np.inf)


def _is_list(x):
    return type(x) in (list, tuple) and arraywrites.is_plain(x)


def _is_sequence_operand(name, args):
    """Whether NumPy's operator has to make an array of the other operand, or to repeat it."""
    return name.startswith("__") and len(args) == 1 and type(args[0]) in (list, tuple, str, bytes)


def _check_taken(x, args, kwargs):
    """Raise IndexError where NumPy's `take` would, if the indices are known."""
    if arraywrites.is_plain([args, list(kwargs.values())]):
        try:
            np.broadcast_to(np.empty((), bool), x.shape).take(*args, **kwargs)
        except IndexError as error:
            raise arraywrites.refused(IndexError, f"take: {error}") from None


# ------------------------------------------------------------------------ operators, ufuncs

_IN_PLACE = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "remainder", "pow": "power", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
    "matmul": "matmul",
}  # fmt: skip
"""Operators that can be made in place -> NumPy's name of them."""

_COMPARISONS = {
    "equal": ("__eq__", "__eq__"), "not_equal": ("__ne__", "__ne__"), "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"), "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
}  # fmt: skip

_COMPARISON_NAMES = {name for names in _COMPARISONS.values() for name in names}

_OPERATORS = _COMPARISONS | {
    ufunc: (f"__{name}__", f"__r{name}__") for name, ufunc in _IN_PLACE.items()
}
"""Functions of NumPy -> the operator that does the same, and the reflected one."""


def _in_place(compute, compute_in_place, ufunc):
    """Return the method of an augmented assignment."""

    def method(self, other):
        if not self.is_tracing():
            return compute_in_place(self.original, other)
        if self.is_scalar or not is_numpy_kind(other):
            return NotImplemented  # scalars have no such methods, and arrays give way to ours
        self.check_writable()
        self.write_result(ufunc, compute(self, other))
        return self

    return method


AUGMENTED = {
    f"__i{name}__": _in_place(vars(operator)[f"__{name}__"], vars(operator)[f"__i{name}__"], ufunc)
    for name, ufunc in _IN_PLACE.items()
}
"""The methods of augmented assignments."""


def call_ufunc(ufunc, method, inputs, kwargs):
    """Do what a call of a function of NumPy does whose arguments hold stand-ins of arrays.

    Args:
      ufunc: the function.
      method: its method that is called: "__call__", "reduce", "at", ...
      inputs: the arguments.
      kwargs: those by name; `out` is a tuple.
    """
    made = ufunc_op(ufunc, method, inputs, kwargs)
    if made is not NotImplemented:
        return made
    outs = kwargs.pop("out", ())
    written = [x for x in outs if is_host_array(x) and x.is_tracing()]
    if method == "at" and is_host_array(inputs[0]) and inputs[0].is_tracing():
        raise arraywrites.not_writable(inputs[0], f"numpy.{ufunc.__name__}.at")
    if not written:
        return _result(ufunc, method, inputs, kwargs | ({"out": outs} if outs else {}))
    if len(outs) > 1 or kwargs.get("where", True) is not True:
        raise arraywrites.not_writable(written[0], f"numpy.{ufunc.__name__}")
    casting = kwargs.pop("casting", "same_kind")
    written[0].write_result(ufunc.__name__, _result(ufunc, method, inputs, kwargs), casting)
    return written[0]


def _result(ufunc, method, inputs, kwargs):
    """Return the result of a function: that of an operator where it is one, else NumPy's."""
    names = _OPERATORS.get(ufunc.__name__)
    if method == "__call__" and names and len(inputs) == 2 and not kwargs and _all_kind(inputs):
        x, y = inputs
        made = getattr(x, names[0])(y) if is_host_array(x) else getattr(y, names[1])(x)
        if made is not NotImplemented:
            return made
    plain = replaced(inputs, is_host_array, np.asarray)
    return getattr(ufunc, method)(*plain, **replaced(kwargs, is_host_array, np.asarray))


def _all_kind(inputs):
    return all(map(is_numpy_kind, inputs)) and all(
        x.is_tracing() for x in inputs if is_host_array(x)
    )
