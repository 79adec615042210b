"""The errors of evertrace, and the one helper that words them.

Every message says what went wrong (the operation and the actual shapes, dtypes or paths), where
(the line of the user's program and the transformations around it), how to fix it, and where to
read more. `user_error` puts the four together so that no message can forget one. Every class
derives from the built-in error a Python programmer would catch; its docstring is its page in the
manual, with a failing and a fixed program.
"""

# EvertraceError < Exception
#   JAXTypeError < TypeError               a traced value was used as what it is not
#     ConcretizationTypeError              a value was needed where only its type is known
#       TracerBoolConversionError          ... as the condition of an if, while or assert
#     TracerArrayConversionError           ... as a NumPy array
#     TracerIntegerConversionError         ... as a Python integer
#     UnexpectedTracerError                a tracer was used after its trace had ended
#       LeakedTracerError                  ... found by the leak checker
#     KeyReuseError                        a random key was consumed twice
#   JAXIndexError < IndexError             a traced value was used in an index
#     NonConcreteBooleanIndexError         ... as a mask whose values are not known
#   ShapeError < TypeError, ValueError     shapes do not fit
#     InconclusiveDimensionOperation       ... or it cannot be decided for symbolic sizes
#   AxisError < ValueError, IndexError     an axis is out of range or given twice
#   DTypeError < TypeError                 an operation does not take this dtype
#   NotLinearError < TypeError             a function to be transposed is not linear
#   TypePromotionError < ValueError        dtypes have no common dtype
#   JaxprTypeError < TypeError             a jaxpr is ill-formed
#   DeletedArrayError < RuntimeError       an array was used after its memory was given away
#   RetraceError < RuntimeError            a function was traced more often than allowed
#   ImpurityError < RuntimeError           a traced function did what cannot be repeated
#   OpaqueStateError < TypeError           a traced function reads state that cannot be seen
#   JaxRuntimeError < RuntimeError         an engine failed while compiling or running
# EvertraceWarning < UserWarning
#   RetraceWarning                         the same function is traced again and again
#   PerformanceWarning                     the program works, but slower than it needs to
#   CacheWarning                           the cache of programs on disk cannot be used

import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from evertrace._src import source
from evertrace._src.support import set_module

ErrorT = TypeVar("ErrorT", bound=Exception)

MANUAL = "https://evertrace.dev/errors"

transform_stack: Callable[[], tuple[str, ...]] = tuple
"""Names of the transformations being traced, innermost first; the core puts its own here."""

inherited_source: Callable[[], source.Source | None] = source.no_source
"""Place of the equation that is evaluated or differentiated now; likewise the core's."""

_warned: dict[Any, Any] = {}  # the registry in which `warnings` notes what it has shown


def user_error(
    cls: type[ErrorT],
    what: str,
    *,
    fix: str | None = None,
    anchor: str | None = None,
    src: source.Source | None = None,
    stack: Iterable[str] | None = None,
) -> ErrorT:
    """Build, for the caller to raise, an error that says what, where and how to fix it.

    Args:
      cls: class of the error, one of this module or a built-in one.
      what: what went wrong, beginning with the operation: ``"add: shapes (3,) and (4,) do not
        broadcast."``
      fix: one concrete action that helps.
      anchor: section of the error manual. By default the one named after `cls`, if there is one.
      src: place in the user's program. By default the user's innermost frame.
      stack: names of the transformations around the operation. By default those being traced.

    Returns:
      An instance of `cls` whose message has these parts, each on its own line.
    """
    lines = [what]
    inherited = None if src is not None else inherited_source()
    src = src or source.user_source()
    if src is not None:
        lines.append("  at " + _place(src, transform_stack() if stack is None else stack))
    if inherited is not None and (src is None or inherited[:2] != src[:2]):
        lines.append(f"  {source.pass_of(inherited)} of {source.format(inherited)}")
    if fix is not None:
        lines.append(f"  Fix: {fix}")
    if anchor is None and issubclass(cls, EvertraceError | EvertraceWarning):
        anchor = cls.__name__
    if anchor is not None:
        lines.append(f"  See {MANUAL}#{anchor}")
    return cls("\n".join(lines))


_num_warnings = 0


def num_warnings() -> int:
    """Return how many warnings were given so far, shown or not."""
    return _num_warnings


def user_warning(
    cls: type[Warning],
    what: str,
    *,
    fix: str | None = None,
    anchor: str | None = None,
    src: source.Source | None = None,
) -> None:
    """Issue a warning worded like `user_error`, attributed to the user's line."""
    global _num_warnings
    _num_warnings += 1
    src = src or source.user_source()
    message = user_error(cls, what, fix=fix, anchor=anchor, src=src)
    if src is None:
        warnings.warn(message, stacklevel=2)
        return
    code, line = src[0], source.describe(src).line
    warnings.warn_explicit(message, cls, code.co_filename, line, registry=_warned)


def _place(src: source.Source, stack: Iterable[str]) -> str:
    """Return ``file:line in function, called from transforms:  source line``."""
    file, line, function, text = source.describe(src)
    place = f"{file}:{line} in {function}"
    if callers := ", ".join(stack):
        place += f", called from {callers}"
    return f"{place}:  {text}" if text else place


public = set_module("evertrace.errors")


@public
class EvertraceError(Exception):
    """Any error that evertrace raises on purpose."""


@public
class EvertraceWarning(UserWarning):
    """Any warning that evertrace issues."""


@public
class JAXTypeError(EvertraceError, TypeError):
    """A traced value was used as something it is not; the subclasses say which."""


@public
class JAXIndexError(EvertraceError, IndexError):
    """A traced value was used in an index that cannot take it; the subclasses say which."""


@public
class ConcretizationTypeError(JAXTypeError):
    """A concrete value was needed where tracing knows only a shape and a dtype.

    While a function is traced its array arguments stand for every array of their type, so nothing
    in the function can depend on the numbers in them. Shapes are the usual case, since a compiled
    program has fixed ones::

        @ev.jit
        def ramp(n):
            return enp.arange(n) / n  # ConcretizationTypeError: n decides the shape


        ramp(enp.asarray(3))

    Say that `n` is a value to compile for, with one program for each::

        ramp = ev.jit(ramp, static_argnames="n")
        ramp(n=3)

    Or take a shape that is large enough, and mask what is not wanted::

        @ev.jit
        def ramp(n):
            i = enp.arange(100)
            return enp.where(i < n, i / n, 0)
    """


@public
class TracerBoolConversionError(ConcretizationTypeError):
    """A traced array was used as a condition: ``if``, ``while``, ``assert``, ``and``, ``not``.

    Python has to know now which branch to take, but the array has its value only when the
    compiled program runs::

        @ev.jit
        def relu(x):
            return x if x > 0 else 0.0  # TracerBoolConversionError

    Choose between values with `where`, between computations with `cond`, and loop with
    `while_loop`; all three decide when the program runs::

        @ev.jit
        def relu(x):
            return enp.where(x > 0, x, 0.0)

    A condition on something static (a shape, a dtype, a Python value) is fine as it is.
    """


@public
class TracerArrayConversionError(JAXTypeError):
    """A traced array was handed to code that wants a NumPy array.

    NumPy computes at once, on numbers that a traced array does not have yet::

        @ev.jit
        def norm(x):
            return np.sqrt(np.dot(x, x))  # TracerArrayConversionError

    Use the function of the same name in `evertrace.numpy`, which can be traced::

        @ev.jit
        def norm(x):
            return enp.sqrt(enp.dot(x, x))

    Where a library really must see numbers, call it through `ev.pure_callback`. Indexing a NumPy
    array with a traced index fails in the same way: convert the array with `enp.asarray` first.
    """


@public
class TracerIntegerConversionError(JAXTypeError):
    """A traced integer was used as a Python integer, e.g. to index a list or to call `range`.

    The program is compiled before the integer is known::

        @ev.jit
        def pick(layers, i, x):
            return layers[i] @ x  # TracerIntegerConversionError: layers is a list

    Index an array instead of a list, or make the integer static::

        @ev.jit
        def pick(layers, i, x):
            return enp.stack(layers)[i] @ x


        pick = ev.jit(pick, static_argnames="i")
    """


@public
class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean array was used as an index that selects elements.

    The result would have as many elements as the mask has true entries, and a compiled program
    must know its shapes::

        @ev.jit
        def positive_sum(x):
            return x[x > 0].sum()  # NonConcreteBooleanIndexError

    Keep the shape and neutralise what the mask excludes, or bound the size yourself::

        @ev.jit
        def positive_sum(x):
            return enp.where(x > 0, x, 0).sum()


        rows = enp.nonzero(x > 0, size=10, fill_value=0)

    Assigning through a mask, ``x.at[x < 0].set(0)`` with a scalar, keeps the shape and is allowed.
    """


@public
class UnexpectedTracerError(JAXTypeError):
    """A tracer was used outside the transformation that made it.

    A tracer stands for a value only while its function is traced. It escapes when the function
    stores it somewhere that lives longer::

        seen = []


        @ev.jit
        def step(x):
            seen.append(x * 2)
            return x + 1


        step(1.0)
        seen[0] + 1  # UnexpectedTracerError

    Return what is needed later; values leave a transformation only as its results::

        @ev.jit
        def step(x):
            return x + 1, x * 2
    """


@public
class LeakedTracerError(UnexpectedTracerError):
    """The leak checker found a tracer that was still referenced when its trace ended.

    With ``ev.checking_leaks()`` the error comes where the tracer escapes, not where it is used::

        cache = {}


        @ev.jit
        def step(x):
            cache["x"] = x  # still referenced after the trace
            return x + 1


        with ev.checking_leaks():
            step(1.0)  # LeakedTracerError

    Return the value instead of storing it::

        @ev.jit
        def step(x):
            return x + 1, x
    """


@public
class KeyReuseError(JAXTypeError):
    """A random key was consumed twice while ``debug_key_reuse`` was on.

    The same key always gives the same numbers, so two draws from one key are not independent::

        key = ev.random.key(0)
        x = ev.random.normal(key)
        y = ev.random.normal(key)  # KeyReuseError: y would equal x

    Split the key once for every draw::

        x_key, y_key = ev.random.split(ev.random.key(0))
        x = ev.random.normal(x_key)
        y = ev.random.normal(y_key)
    """


@public
class ShapeError(EvertraceError, TypeError, ValueError):
    """The shapes of the operands do not fit the operation.

    It is both a TypeError and a ValueError, because NumPy and JAX raise one or the other::

        bias = enp.zeros(3)
        enp.zeros((3, 4)) + bias  # ShapeError: (3, 4) and (3,) do not broadcast

    Shapes are aligned at their last axis, where sizes must be equal or 1::

        enp.zeros((3, 4)) + bias[:, None]
    """


@public
class InconclusiveDimensionOperation(ShapeError):
    """A question about a symbolic size has no answer that holds for all its values.

    A function exported for a symbolic size must be right for each value of it::

        (n,) = ev.export.symbolic_shape("n")
        shape = ev.ShapeDtypeStruct((n,), "float32")
        ev.export.export(ev.jit(lambda x: x[:3]))(shape)  # is n >= 3? Inconclusive.

    State what is known of the size::

        (n,) = ev.export.symbolic_shape("n", constraints=["n >= 3"])
    """


@public
class AxisError(EvertraceError, TypeError, ValueError, IndexError):
    """An axis does not exist in the array, or is given twice.

    An array of rank n has the axes ``-n, ..., n - 1``::

        enp.sum(enp.zeros((3, 4)), axis=2)  # AxisError: 2 is out of range for rank 2

    Use one of the axes that exist, or count from the end::

        enp.sum(enp.zeros((3, 4)), axis=-1)
    """


@public
class DTypeError(EvertraceError, TypeError, ValueError):
    """The operation is not defined for this dtype, or its operands' dtypes differ.

    Functions of `evertrace.lax` do not promote, and some operations are only for some dtypes::

        ev.lax.add(enp.int32(1), enp.float32(2))  # DTypeError: int32 and float32
        enp.bitwise_and(1.5, 2)  # DTypeError: floats have no bits to and

    Convert explicitly, or use the promoting function of `evertrace.numpy`::

        ev.lax.add(enp.float32(1), enp.float32(2))
        enp.add(enp.int32(1), enp.float32(2))
    """


@public
class NotLinearError(EvertraceError, TypeError):
    """A function was transposed with respect to an argument in which it is not linear.

    Only linear functions have a transpose::

        ev.linear_transpose(enp.sin, x)(ct)  # NotLinearError

    The derivative of a function at a point is linear, and `vjp` gives its transpose::

        _, pull_back = ev.vjp(enp.sin, x)
        pull_back(ct)
    """


@set_module("evertrace.dtypes")
class TypePromotionError(EvertraceError, ValueError):
    """Two dtypes have no common dtype to which they convert by themselves.

    That is so for 8-bit floats and narrower types, where a silent conversion is rarely meant, and
    for most pairs under ``numpy_dtype_promotion("strict")``::

        x = enp.ones(3, "float8_e4m3fn")
        x + enp.ones(3, "float32")  # TypePromotionError

    Say which type to compute in::

        x.astype("float32") + enp.ones(3, "float32")
    """


@public
class JaxprTypeError(EvertraceError, TypeError):
    """A jaxpr is ill-formed: an operand is undefined, or a type differs from what a rule says.

    Jaxprs made by tracing are well-formed; those changed by hand may not be::

        jaxpr = ev.make_jaxpr(lambda x: x + 1)(1.0).jaxpr
        bad = jaxpr.replace(eqns=[])
        ev.core.check_jaxpr(bad)  # JaxprTypeError: the result is never defined

    Make programs by tracing a function that does what is wanted::

        good = ev.make_jaxpr(lambda x: x)(1.0).jaxpr
    """


@public
class DeletedArrayError(EvertraceError, RuntimeError):
    """An array was used after its memory had been given away.

    A donated argument lends its memory to the results, and ``x.delete()`` frees it::

        step = ev.jit(lambda x: x + 1, donate_argnums=0)
        y = step(x)
        x.sum()  # DeletedArrayError: x was donated to step

    Go on with the result, or do not donate what is needed again::

        x = step(x)
        x.sum()
    """


@public
class RetraceError(EvertraceError, RuntimeError):
    """A function was traced again although that was forbidden.

    ``jit(..., max_traces=n)`` and ``with ev.no_retrace():`` turn a new trace into an error; the
    message says which input differed from what the traced programs expect::

        step = ev.jit(lambda x: x * 2, max_traces=1)
        step(enp.zeros(3))
        step(enp.zeros(4))  # RetraceError: x has shape (4,), was (3,)

    Bring the inputs to one shape and dtype, or allow as many programs as there are shapes::

        step(enp.pad(x, (0, 4 - x.size)))
    """


@public
class ImpurityError(EvertraceError, RuntimeError):
    """A traced function did something that its compiled program could not do again.

    A compiled call does not run the Python code, so what a function decides by something outside of
    it would be decided once, at the trace, and never again::

        @ev.jit
        def step(x):
            return x if time.time() < end else -x  # ImpurityError

    Pass in what changes from call to call, and return what is to be stored::

        @ev.jit
        def step(x, now):
            return enp.where(now < end, x, -x)

    ``ev.impurity("warn")`` and ``ev.impurity("ignore")`` accept the single execution, e.g. of
    ``os.listdir``, but not decisions by the time or by random numbers.
    """


@public
class OpaqueStateError(EvertraceError, TypeError):
    """A traced function reads an object whose state cannot be seen, so cannot be watched.

    A compiled program is used again only while everything it read is unchanged. Iterators,
    proxies and most objects of C extensions do not show whether they changed::

        batches = iter(data)


        @ev.jit
        def step(w):
            return w + next(batches)  # OpaqueStateError: batches

    Read the object outside and pass in the value::

        @ev.jit
        def step(w, batch):
            return w + batch


        step(w, next(batches))
    """


@public
class JaxRuntimeError(EvertraceError, RuntimeError):
    """An engine failed to compile or to run a program: out of memory, a lost device, a callback.

    ::

        enp.zeros((1 << 40,))  # JaxRuntimeError: RESOURCE_EXHAUSTED

    The message begins with the engine's status code. Here, compute in pieces::

        ev.lax.map(f, chunks)  # one chunk in memory at a time
    """


@public
class RetraceWarning(EvertraceWarning):
    """A function keeps being traced, each time because the same input has a new value.

    Every trace costs a compilation, and the message names the input and its last values::

        for n in range(1000):
            step(x[:n])  # RetraceWarning: x.shape 7, 8, 9, ...

    Make the changing thing a traced value, or reduce it to few cases::

        for n in range(1000):
            step(x, enp.asarray(n))  # masks the rest inside
    """


@public
class PerformanceWarning(EvertraceWarning):
    """The program is right but does something slow that a small change avoids.

    ::

        config = {name: 0.0 for name in names}  # 100,000 numbers


        @ev.jit
        def total(x):
            return x * sum(config.values())  # PerformanceWarning: config has 100,000 elements

    Each of them is checked at each call. The message names the container and the cure; here, one
    array, whose numbers may change freely::

        config = enp.asarray(list(config.values()))
    """


@public
class CacheWarning(EvertraceWarning):
    """The folder of compiled programs cannot be used, so programs are compiled again.

    ::

        ev.config.update("compilation_cache_dir", "/read-only")  # CacheWarning at first use

    Choose a folder that only you can write to, or switch the cache off::

        ev.config.update("compilation_cache_dir", "~/.cache/evertrace")
        ev.config.update("enable_compilation_cache", False)
    """
