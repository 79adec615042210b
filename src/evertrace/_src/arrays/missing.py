"""Methods of other libraries' arrays: asking an array of ours for one says what it is here.

Each is a descriptor that raises, since a `__getattr__` of the class would make every attribute
slower. To `hasattr` and `dir` they are not there.
"""

from typing import Any, NoReturn

from evertrace._src.lazy import LazyModule

absent: Any = LazyModule("evertrace._src.absent")

OTHERS = frozenset({
    "append", "backward", "contiguous", "cpu", "cuda", "detach", "dim", "double", "extend", "float",
    "insert", "int", "long", "numel", "numpy", "permute", "to", "to_numpy", "type", "unsqueeze",
})  # fmt: skip
"""Methods that `absent.OF_ARRAYS` has the repairs of."""

FUNCTIONS = frozenset({
    "abs", "absolute", "acos", "acosh", "add", "arccos", "arcsin", "arctan", "arctan2", "asin",
    "asinh", "atan", "atan2", "atanh", "bincount", "ceil", "concatenate", "cos", "cosh",
    "count_nonzero", "cross", "cumulative_sum", "deg2rad", "diag", "diff", "divide", "einsum",
    "elu", "equal", "exp", "exp2", "expand_dims", "expm1", "flip", "fliplr", "flipud", "floor",
    "gelu", "gradient", "histogram", "inner", "interp", "isfinite", "isinf", "isnan", "kron",
    "leaky_relu", "log", "log10", "log1p", "log2", "log_softmax", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logsumexp", "matmul", "maximum", "median", "minimum", "moveaxis",
    "multiply", "nan_to_num", "nanmean", "nansum", "negative", "one_hot", "outer", "pad",
    "percentile", "power", "quantile", "relu", "roll", "rot90", "sigmoid", "sign", "silu", "sin",
    "sinh", "softmax", "softplus", "split", "sqrt", "square", "stack", "subtract", "tan", "tanh",
    "tensordot", "tile", "tril", "triu", "unique", "vdot", "where",
})  # fmt: skip
"""Methods that are functions of `evertrace.numpy` or `evertrace.nn`."""


class Missing:
    """What stands in the class for a method that arrays do not have."""

    __slots__ = ("error", "name")

    def __init__(self, name: str, error: Any):
        """Make it of the name, and of what makes the error of the object and the name."""
        self.name, self.error = name, error

    def __get__(self, x: Any, owner: Any = None) -> NoReturn:
        error = self.error(x, self.name)
        try:
            raise error
        except AttributeError:
            error.__traceback__ = None  # so that it ends at the user's line
            raise


class MissingMethod(AttributeError):
    """An attribute that arrays do not have; what it is here is looked for when it is shown."""

    def __init__(self, x: Any, name: str):
        """Make the error of a name."""
        super().__init__(name, name=name)  # without the array, or Python would guess, too

    def __str__(self) -> str:
        what = f"'Array' object has no attribute {self.args[0]!r}"
        try:
            return f"{what}\n  Fix: {absent.of_array(self.args[0])}"
        except Exception:  # an explanation may never make a call fail
            return what

    def __reduce__(self) -> Any:
        return AttributeError, (str(self),)  # to where evertrace may not be loaded


class MissingIndex(AttributeError):
    """A method of ``x.at[index]`` that was asked of ``x.at``."""

    def __init__(self, x: Any, name: str):
        """Make the error of a name."""
        super().__init__(
            f"x.at has no {name!r}: it has to be indexed first.\n"
            f"  Fix: say where, `x.at[index].{name}(...)`; `x.at[...].{name}(...)` is everywhere.",
            name=name,
        )


for _cls in (MissingMethod, MissingIndex):
    _cls.__name__ = _cls.__qualname__ = "AttributeError"
    _cls.__module__ = "builtins"


def install(cls: type) -> None:
    """Set the descriptors in a class of arrays."""
    for name in OTHERS | FUNCTIONS:
        setattr(cls, name, Missing(name, MissingMethod))


def without(names: Any) -> list[str]:
    """Return the names that are there, of those in a class or an object."""
    return [name for name in names if name not in OTHERS and name not in FUNCTIONS]
