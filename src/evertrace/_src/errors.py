"""How errors and warnings are worded, by one helper.

Every message says what went wrong (the operation and the actual shapes, dtypes or paths), where
(the line of the user's program and the transformations around it), how to fix it, and, where there
is more to say, where to read it. `user_error` puts the four together so that no message can forget
one. The classes are in `error_classes`, and reached from here; the manual is docs/errors.md.
"""

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from evertrace._src import source
from evertrace._src.error_classes import AxisError as AxisError
from evertrace._src.error_classes import CacheWarning as CacheWarning
from evertrace._src.error_classes import ConcretizationTypeError as ConcretizationTypeError
from evertrace._src.error_classes import DeletedArrayError as DeletedArrayError
from evertrace._src.error_classes import DTypeError as DTypeError
from evertrace._src.error_classes import EvertraceError as EvertraceError
from evertrace._src.error_classes import EvertraceWarning as EvertraceWarning
from evertrace._src.error_classes import ImpurityError as ImpurityError
from evertrace._src.error_classes import (
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
)
from evertrace._src.error_classes import JAXIndexError as JAXIndexError
from evertrace._src.error_classes import JaxprTypeError as JaxprTypeError
from evertrace._src.error_classes import JaxRuntimeError as JaxRuntimeError
from evertrace._src.error_classes import JAXTypeError as JAXTypeError
from evertrace._src.error_classes import KeyReuseError as KeyReuseError
from evertrace._src.error_classes import LeakedTracerError as LeakedTracerError
from evertrace._src.error_classes import (
    NonConcreteBooleanIndexError as NonConcreteBooleanIndexError,
)
from evertrace._src.error_classes import NotLinearError as NotLinearError
from evertrace._src.error_classes import OpaqueStateError as OpaqueStateError
from evertrace._src.error_classes import PeerLostError as PeerLostError
from evertrace._src.error_classes import PeerMismatchError as PeerMismatchError
from evertrace._src.error_classes import PerformanceWarning as PerformanceWarning
from evertrace._src.error_classes import RetraceError as RetraceError
from evertrace._src.error_classes import RetraceWarning as RetraceWarning
from evertrace._src.error_classes import ShapeError as ShapeError
from evertrace._src.error_classes import ShardingTypeError as ShardingTypeError
from evertrace._src.error_classes import TracerArrayConversionError as TracerArrayConversionError
from evertrace._src.error_classes import TracerBoolConversionError as TracerBoolConversionError
from evertrace._src.error_classes import (
    TracerIntegerConversionError as TracerIntegerConversionError,
)
from evertrace._src.error_classes import TypePromotionError as TypePromotionError
from evertrace._src.error_classes import UnexpectedTracerError as UnexpectedTracerError
from evertrace._src.support import close_matches, machine_memory

ErrorT = TypeVar("ErrorT", bound=Exception)

MANUAL = "python -m evertrace docs"
"""Command that prints a section of the guide to errors, which the package has with it."""

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
    of_trace: bool = False,
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
      of_trace: whether the plain function, without `jit`, would not meet it (see `_in_plain`).

    Returns:
      An instance of `cls` whose message has these parts, each on its own line.
    """
    lines = [bounded(what)]
    inherited = None if src is not None else inherited_source()
    src = src or source.user_source()
    if src is not None:
        lines.append("  at " + _place(src, transform_stack() if stack is None else stack))
    if inherited is not None and (src is None or inherited[:2] != src[:2]):
        lines.append(f"  {source.pass_of(inherited)} of {source.format(inherited)}")
    if fix is not None:
        lines.append(f"  Fix: {bounded(fix)}")
    if anchor is None and issubclass(cls, EvertraceError | EvertraceWarning):
        anchor = cls.__name__
    if anchor is not None:
        lines.append(f"  See `{MANUAL} {anchor}`")
    error = cls("\n".join(lines))
    if of_trace:
        error._in_plain = False  # pyright: ignore[reportAttributeAccessIssue]
    return error


def bounded(text: str) -> str:
    """Return a text, of a long one its ends: it may tell of a name of millions of letters."""
    if len(text) <= _MOST_TEXT:
        return text
    return f"{text[: 2 * _MOST_TEXT // 3]} [...] {text[-_MOST_TEXT // 3 :]}"


_MOST_TEXT = 6000


def suggestion(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return the repair of a word that nobody knows.

    Args:
      word: what the user wrote.
      known: what could have been meant.
      otherwise: the repair where nothing resembles it.
    """
    known = list(known)
    meant = _ELSEWHERE.get(word)
    close = [f"`{found}`" for found in ([meant] if meant in known else close_matches(word, known))]
    return f"did you mean {' or '.join(close)}?" if close else otherwise


_ELSEWHERE = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "size": "shape"}
"""What parameters of other libraries are called here, where nothing has the same name."""


def unsupported(
    name: str, parameter: str, value: object, fix: str = "leave it out."
) -> NotImplementedError:
    """Build the error of a parameter of JAX's, or a value of one, that is not taken here."""
    return user_error(
        NotImplementedError,
        f"{name}: {parameter}={value!r} is not supported.",
        fix=fix,
        anchor="unsupported",
    )


def out_of_memory(size: int = -1, src: source.Source | None = None) -> "JaxRuntimeError":
    """Build the error of a call whose memory the machine does not have; C++ calls it as well.

    Args:
      size: bytes of the array that there is no room for; -1 where it is what a program works with.
      src: place of the call in the user's program. By default the user's innermost frame.
    """
    what = "in a compiled program" if size < 0 else f"for an array of {_amount(size)}"
    return user_error(
        JaxRuntimeError,
        f"RESOURCE_EXHAUSTED: Out of memory {what}{what_there_is(size)}.",
        fix="use smaller arrays, compute in pieces, or donate inputs that are not needed again.",
        src=src,
    )


def numpys_out_of_memory(error: MemoryError, *avals: Any) -> "JaxRuntimeError":
    """Build the error for what NumPy had no memory for.

    Args:
      error: NumPy's, which has the shape and the dtype of its own array.
      *avals: types of what was to be made: NumPy may count it in a wider dtype.
    """
    if len(error.args) != 2:
        return out_of_memory(max((_size(x) for x in avals), default=-1))
    shape, dtype = error.args
    count = math.prod(shape)
    sizes = [_size(x) for x in avals if math.prod(x.shape) == count]
    return out_of_memory(max(sizes, default=count * dtype.itemsize))


def _size(aval: Any) -> int:
    return math.prod(aval.shape) * int(getattr(aval.dtype, "itemsize", 1))


def what_there_is(size: int) -> str:
    """Return what to say of the machine's memory after what was asked of it, in bytes."""
    there = machine_memory()
    return f"; this machine has {_amount(there)}" if size > there else ""


def queued_out_of_memory(src: source.Source | None, _: str) -> "JaxRuntimeError":
    """Build the error of reading what a call was to compute later, for which memory was short."""
    return out_of_memory(-1, src)


def queued_failed(src: source.Source | None, what: str) -> "JaxRuntimeError":
    """Build the error of reading what a call was to compute later, which has failed."""
    return user_error(
        JaxRuntimeError,
        f"INTERNAL: a compiled program failed after its call had returned: {what}.",
        fix='`config.update("cpu_enable_async_dispatch", False)` has the call itself raise it.',
        src=src,
    )


def queued_lost(src: source.Source | None, _: str) -> "JaxRuntimeError":
    """Build the error of reading in a forked child what the parent had not computed by then."""
    return user_error(
        JaxRuntimeError,
        "Array: its program was still running when this process was forked, and runs in the parent "
        "only.",
        fix="fork by `os.fork`, which waits for programs, or call `block_until_ready()` before it.",
        anchor="fork",
        src=src,
    )


def check_memory(size: int) -> None:
    """Raise unless the machine has the memory of an array, if it were for nothing else.

    A system that gives out more memory than there is would end the process, minutes later.
    """
    if size > machine_memory():
        raise out_of_memory(size)


def _amount(size: int) -> str:
    """Return a number of bytes in words."""
    for power, unit in ((50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.4g} {unit}"
    return f"{size} bytes"


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
    place = f"{source.at(file, line)} in {function}"
    if callers := ", ".join(stack):
        place += f", called from {callers}"
    return f"{place}:  {text}" if text else place
