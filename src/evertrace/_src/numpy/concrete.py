"""From arrays to Python and NumPy values: asked, numbers, memory, text.

All of these need the contents. Where tracing knows only a type, the error names what was asked
for, the arguments that the value depends on, and the way to say the same thing to a compiler.
"""

import math
import sys
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, source
from evertrace._src.arrays.array import refuse_keys
from evertrace._src.core.jaxpr import Var
from evertrace._src.core.tracer import (
    Tracer,
    concrete_value,
    differentiating,
    escaped_tracer_error,
    state,
)
from evertrace._src.lazy import LazyModule
from evertrace._src.transforms.staging import provenance

asked: Any = LazyModule("evertrace._src.numpy.asked")  # for messages


def host_value(x):
    """Return the contents of an array or tracer as NumPy memory, or None if not known."""
    found = concrete_value(x)
    return None if found is None else np.asarray(found._contents())


def _known_value(x, cls, what, fix):
    """Return the contents of an array, or raise where there are none.

    Args:
      x: an array or tracer.
      cls: class of the error.
      what: what asks for the contents.
      fix: function that returns the cure.
    """
    value = host_value(x)
    if value is None:
        raise traced_value_error(cls, x, what, fix())
    return value


def _read_value(x, cls, what, fix):
    """Return the contents of an array for Python or NumPy to compute with, or raise.

    Of what a derivative is taken by, too: none flows through what is computed elsewhere, so the
    result would lack it without a word.
    """
    if (trace := differentiating(x)) is not None and not _is_compared():
        error = errors.user_error(
            cls,
            f"{what}: {trace.name or 'a derivative'} differentiates by this {x.aval.str_short()}, "
            "and no derivative flows through what is read of it.",
            fix=f"{fix().rstrip('.')}; or read `lax.stop_gradient(x)`, a constant for derivatives.",
            anchor=cls.__name__,
        )
        error._in_plain = True  # with `jit` or without
        raise error
    return _known_value(x, cls, what, fix)


_COMPARING = frozenset({"array_equal", "array_equiv", "allclose", "isclose"})
"""Functions of NumPy that say yes or no, which has no derivative; the first two do so to errors."""


def _is_compared():
    """Whether NumPy, called by the user, reads an array only to compare it."""
    frame = sys._getframe(2)
    while frame is not None and not source.is_users_frame(frame):
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module.startswith("numpy.testing") or (module[:6] == "numpy." and name in _COMPARING):
            return True
        frame = frame.f_back
    return False


def traced_value_error(cls, x, what, fix):
    """Build the error for a traced value that was used as a concrete one.

    Args:
      cls: class of the error.
      x: the tracer.
      what: what happened, without the description of `x` and its origin.
      fix: the cure.
    """
    inner = _innermost(x)
    if isinstance(inner, Var) and inner._trace.closed:
        return escaped_tracer_error(inner, what)
    error = errors.user_error(cls, f"{what}: {_describe(inner)}", fix=fix, anchor=cls.__name__)
    if state.recorder is not None:
        state.recorder.refuse(error, inner)
    return error


def _innermost(x):
    while isinstance(x, Tracer) and (below := x.concrete()) is not None:
        x = below
    return x


def _describe(x):
    text = f"a traced array {x.aval.str_short()} has no value while tracing"
    if not isinstance(x, Var):
        kind = x._trace.name or type(x).__name__
        return f"{text}; it belongs to {kind}."
    names = provenance(x)
    if not names:
        return f"{text}."
    return f"{text}; it depends on {', '.join(names)}."


def _or_static(x):
    """Return the advice to make arguments static, where that helps: arrays cannot be."""
    inner = _innermost(x)
    found = provenance(inner).values() if isinstance(inner, Var) else ()
    are_numbers = found and all(v.aval.weak_type and not v.aval.shape for v in found)
    return ", or make the argument static with `static_argnames`" if are_numbers else ""


_NAMES = {"fabs": "abs", "pow": "power", "gcd": "gcd", "fsum": "sum", "dist": "linalg.norm"}
_NAMES.update({f"a{x}{h}": f"arc{x}{h}" for x in ("sin", "cos", "tan") for h in ("", "h")})
_NAMES.update({"atan2": "arctan2", "lgamma": "scipy.special.gammaln"})
"""Functions of `math` that have another name in NumPy or SciPy."""


def _same_function():
    """Return the advice to call NumPy's function where one of `math` was called, else ""."""
    called = source.called_at(source.user_source())
    if called in ("int", "float", "complex", "bool") or not hasattr(math, called):
        return ""
    name = _NAMES.get(called, called)
    owner = "" if "." in name else "jnp."
    return f"functions of `math` take numbers: call `{owner}{name}`"


def to_bool(x):
    """Return the truth of an array of one element."""
    refuse_keys(x, "bool()")
    value = host_value(x)
    if value is None:
        raise traced_value_error(
            errors.TracerBoolConversionError,
            x,
            "bool (an array as the condition of if, while, and, or, not)",
            f"{_instead_of_truth()}{_or_static(x)}.",
        )
    if value.size != 1:
        what = "an empty array" if value.size == 0 else "an array with more than one element"
        fix = "test `x.size > 0`." if value.size == 0 else _truth_of_many()
        raise errors.user_error(
            ValueError,
            f"The truth value of {what} is ambiguous (shape {value.shape}).",
            fix=fix,
            anchor="python-scalar",
        )
    return bool(value.reshape(()))


def _instead_of_number(name):
    """Return the advice where a traced array is asked for the number that it holds."""
    if fix := asked.assigned_here() or _same_function():
        return fix.rstrip(".")
    return f"convert the dtype with `x.astype({name})`"


def _instead_of_numpy(x):
    """Return the advice where NumPy is given a traced array."""
    fix = "use the function of the same name in `evertrace.numpy`"
    callback = "" if differentiating(x) else ", or call NumPy through `pure_callback`"
    return f"{fix}{callback}."


def _instead_of_truth():
    """Return the advice where the truth of a traced array is asked for."""
    if assigned := asked.assigned_here():  # to a NumPy array of booleans
        return assigned.rstrip(".")
    fix, is_condition = asked.asked_here()
    choose = "choose with `jnp.where` or `lax.cond`, loop with `lax.while_loop`"
    return f"{fix}, and {choose}" if fix and is_condition else fix or choose


def _truth_of_many():
    """Return the advice where the truth of an array of many elements is asked for."""
    fix, is_condition = asked.asked_here()
    if not fix:
        return "use `x.any()` or `x.all()`."
    return f"{fix}, and take `.any()` or `.all()` of it." if is_condition else f"{fix}."


def _scalar_contents(x, name):
    """Return the contents of an array of rank 0 for the conversion `name`."""
    refuse_keys(x, f"{name}()")
    # an integer is piecewise constant: no derivative is lost
    read = _known_value if name == "int" else _read_value
    value = read(
        x,
        errors.ConcretizationTypeError,
        f"{name}() of an array",
        lambda: f"{_instead_of_number(name)}{_or_static(x)}.",
    )
    if value.ndim:
        raise errors.user_error(
            TypeError,
            f"Only scalar arrays can be converted to Python scalars; got arr.ndim={value.ndim}.",
            fix="take one element, or use `x.item()` for an array with one element.",
            anchor="python-scalar",
        )
    return value


def _real_contents(x, name):
    """Return the contents of an array of rank 0 as a Python number that is not complex."""
    value = _scalar_contents(x, name)
    if np.iscomplexobj(value):
        raise errors.user_error(
            TypeError,
            f"{name}: a complex array is no {name}.",
            fix=f"say which part is meant: `{name}(x.real)`.",
            anchor="dtype",
        )
    return value


def to_int(x):
    """Return an array of rank 0 as an int."""
    return int(_real_contents(x, "int"))


def to_float(x):
    """Return an array of rank 0 as a float."""
    return float(_real_contents(x, "float"))


def to_complex(x):
    """Return an array of rank 0 as a complex number."""
    return complex(_scalar_contents(x, "complex"))


def to_index(x):
    """Return an integer array of rank 0 as an int, for indices and sizes."""
    value = host_value(x)
    if value is None:
        raise traced_value_error(
            errors.TracerIntegerConversionError,
            x,
            "__index__ (an array as a Python integer: a list index, a size, a range)",
            "index an array instead of a list (`jnp.stack` one), use `lax.fori_loop` for a range"
            f"{_or_static(x)}.",
        )
    if value.ndim or not dtypes.issubdtype(value.dtype, np.integer):
        raise errors.user_error(
            TypeError,
            f"Only integer scalar arrays can be converted to a scalar index; got "
            f"{x.aval.str_short()}.",
            fix=_integer_of(x, value.ndim),
            anchor="python-scalar",
        )
    return int(value)


def _integer_of(x, ndim):
    """Return the advice where Python asks for an integer, and gets another array."""
    if ndim:
        return "take one element, e.g. `x[0]`, or index an array: `jnp.asarray(values)[x]`."
    if isinstance(x, Tracer):  # of a derivative, which no integer has
        return (
            "pass it as an integer argument of its own, which `grad` leaves alone: `argnums` says "
            "of which arguments derivatives are taken."
        )
    return "convert it, e.g. `int(x)`."


def to_numpy(x, dtype=None, copy=None):
    """Return the contents as a NumPy array: a read-only view where that is possible.

    Args:
      x: an array.
      dtype: dtype to convert to.
      copy: True for an array of one's own, False to raise where a copy would be needed.
    """
    refuse_keys(x, "__array__ (an array handed to NumPy)")
    value = _read_value(
        x,
        errors.TracerArrayConversionError,
        "__array__ (an array handed to NumPy)",
        lambda: asked.assigned_here() or _instead_of_numpy(x),
    )
    if copy or (dtype is not None and np.dtype(dtype) != value.dtype):
        if copy is False:
            raise ValueError(f"converting {value.dtype} to {np.dtype(dtype)} needs a copy")
        try:
            return np.array(value, dtype)
        except (TypeError, ValueError) as error:
            raise errors.user_error(
                type(error),
                f"__array__: {value.dtype.name} cannot be converted to {np.dtype(dtype)}: {error}",
                fix="convert it without a dtype, then with NumPy, `np.asarray(x).astype(...)`.",
                anchor="arguments",
            ) from None
    view = value.view()
    view.flags.writeable = False
    return view


def to_buffer(x, flags):
    """Lend the contents, read-only, to what takes buffers (before Python 3.12 by C++).

    Args:
      x: an array.
      flags: what the buffer has to be, in Python's terms; the `memoryview` says whether it is.
    """
    refuse_keys(x, "__buffer__ (an array handed to what takes buffers)")
    try:
        value: Any = _read_value(
            x,
            errors.TracerArrayConversionError,
            "__buffer__ (an array handed to what reads its bytes)",
            lambda: "do it outside, with what the call returns, or in a `pure_callback`.",
        )
    except errors.TracerArrayConversionError as error:
        error._lent = id(_innermost(x))
        raise
    return memoryview(value).toreadonly()


def item(x, *args):
    """Return one element as a Python scalar: the only one, or that at a flat or full index."""
    fix = "keep the array of rank 0 (`x[0]`, `x.reshape(())`): it works like a number."
    value = _read_value(x, errors.ConcretizationTypeError, "item()", lambda: fix)
    return value.item(*args)


def tolist(x):
    """Return the contents as nested lists of Python scalars."""
    fix = "return the array, and convert it then."
    return _read_value(x, errors.ConcretizationTypeError, "tolist()", lambda: fix).tolist()


def format_array(x, spec):
    """Return the text of ``f"{x:spec}"``."""
    if not spec:
        return str(x)
    value = host_value(x)
    if value is None:
        raise traced_value_error(
            errors.ConcretizationTypeError,
            x,
            f"format with {spec!r}",
            "print it with `debug.print`, or return it and format it then.",
        )
    if value.ndim == 0:
        return format(value[()], spec)
    raise errors.user_error(
        TypeError,
        f"format: {spec!r} is for a number, not for an array of shape {value.shape}.",
        fix=f'format its elements, `[f"{{v:{spec}}}" for v in x.ravel().tolist()]`, or print it '
        "within `jnp.printoptions(...)`.",
        anchor="python-scalar",
    )
