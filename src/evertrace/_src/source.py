"""Where in the user's program are we: the innermost frame outside evertrace and NumPy.

Noting a place happens once per traced equation, so it is only a pair ``(code, lasti)``. Turning
the pair into a file, a line and the text of that line waits until somebody has to read it.

Equations of derivatives inherit the place of the operation that they are the derivative of, and
equations inside of a `named_scope` its name. Their places are tuples ``(code, lasti, operation,
scope, backward)``.
"""

import contextlib
import functools
import itertools
import linecache
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Source: TypeAlias = tuple[Any, ...]
"""A code object and the offset of an instruction in it; see above for what may follow."""

PACKAGE_PREFIX = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_MACHINERY = frozenset({functools.__file__, contextlib.__file__})
_PACKAGES = os.path.dirname(os.path.dirname(np.__file__))
NUMPY_PREFIXES = tuple(os.path.join(_PACKAGES, name, "") for name in ("numpy", "scipy"))
"""Folders of code that works in the name of its caller, who asked NumPy to look at an array."""

_HIDDEN = (PACKAGE_PREFIX, *NUMPY_PREFIXES)


_AUTOMATIC = re.compile(r"auto_axes\(([^)]*)\)")


class Location(NamedTuple):
    """A source place in words: file, line number, function name and the stripped source line."""

    file: str
    line: int
    function: str
    text: str


class _SkippedFiles(dict[str, bool]):
    """Memo from a ``co_filename`` to whether frames of that file are hidden from users."""

    def __missing__(self, filename: str) -> bool:
        skipped = (
            filename in _MACHINERY
            or filename.startswith(("<frozen ", PACKAGE_PREFIX))
            or os.path.abspath(filename).startswith(_HIDDEN)
        )
        self[filename] = skipped
        return skipped


_skipped = _SkippedFiles()


def exclude(filename: str) -> None:
    """Hide the frames of a file from users: a library's, which wraps their functions."""
    _skipped[filename] = True


def is_users(filename: str) -> bool:
    """Whether frames of this file are shown to users: not ours, NumPy's or Python's machinery."""
    return not _skipped[filename]


_PICKLED = "<dynamic-code>"
"""The file that cloudpickle says of all code."""

_GENERATED = "<string>"
"""The file of what `dataclass` and `namedtuple` write, and of ``python -c``."""


def is_ours(code: CodeType, namespace: dict[str, Any]) -> bool:
    """Whether code is ours: made or pickled, it has no file of its own, but a module's name."""
    if code.co_filename in (_PICKLED, _GENERATED):
        return _module_of(namespace).startswith("evertrace.")
    return code.co_filename.startswith(PACKAGE_PREFIX)


def is_users_frame(frame: FrameType) -> bool:
    """Whether a frame is shown to users, as `is_users` says of its file."""
    code = frame.f_code
    if code.co_filename == _GENERATED and _module_of(frame.f_globals).startswith("namedtuple_"):
        return False
    return not (_skipped[code.co_filename] or is_ours(code, frame.f_globals))


def _module_of(namespace: dict[str, Any]) -> str:
    return str(namespace.get("__name__"))


def user_source() -> Source | None:
    """Return the innermost frame of the user's code, or None when there is none."""
    frame = sys._getframe(1)
    while _skipped[frame.f_code.co_filename]:
        frame = frame.f_back
        if frame is None:
            return None
    return source_of(frame)


def source_of(frame: FrameType, lasti: int | None = None) -> Source:
    """Return where a frame is, or was: at the instruction `lasti`, as tracebacks have it.

    Programs keep places and hang on the user's code, which may die before them or with them: so in
    the place is a copy, which has all that `describe` asks for.
    """
    code = frame.f_code
    found = _copies.get(id(code))
    if found is None:
        if code.co_filename == _PICKLED:  # it may be ours: go on to the user's
            while frame.f_back is not None and not is_users_frame(frame):
                frame = frame.f_back
            code = frame.f_code
        ref = weakref.ref(code, functools.partial(_copies.pop, id(code)))  # in C, see `stores`
        found = _copies[id(code)] = ref, code.replace(co_consts=())
    return found[1], frame.f_lasti if lasti is None else lasti


_copies: dict[int, tuple[Any, CodeType]] = {}  # id of code -> (weak reference to it, its copy)


def where_main_thread_is() -> str:
    """Return where in the user's code the main thread is now, as `format` does; "" if nowhere."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and not is_users_frame(frame):
        frame = frame.f_back
    return "" if frame is None else format((frame.f_code, frame.f_lasti))


def line_that_changes(mark: Callable[[], Any], run: Callable[[], Any]) -> Source | None:
    """Run something, and return the line of the user's code at which `mark()` becomes another.

    For messages only: each line costs two calls of Python. None where there is no such line, and
    where a debugger or a measurement of coverage follows the lines already.
    """
    if sys.gettrace() is not None:
        return None
    marks: list[Any] = []
    found: list[Source] = []
    last: list[Source] = []

    def enter(frame: FrameType, event: str, arg: Any) -> Any:
        return step if is_users_frame(frame) else None

    def step(frame: FrameType, event: str, arg: Any) -> Any:
        marks[1:] = [mark()]
        if marks[-1] != marks[0]:
            found[:] = last
            sys.settrace(None)
        here = frame if event != "return" else frame.f_back  # the caller's line goes on
        while here is not None and not is_users_frame(here):
            here = here.f_back
        last[:] = [source_of(here)] if here is not None else []
        return step

    sys.settrace(enter)
    try:
        run()
    except Exception:
        return None
    finally:
        sys.settrace(None)
    return found[0] if found else None


def no_source() -> Source | None:
    """Return None: there is no place."""
    return None


def describe(src: Source) -> Location:
    """Resolve `src` to a file, a line, a function and the text of the line."""
    code, lasti = src[:2]
    line = _line_number(code, lasti)
    text = linecache.getline(code.co_filename, line).strip()
    return Location(_short_path(code.co_filename), line, code.co_name, text)


def called_at(src: Source | None) -> str:
    """Return the name of the function that an instruction calls: ``sqrt`` of ``math.sqrt(x)``.

    Empty where it calls none, or one that the text of its line does not show.
    """
    if src is None:
        return ""
    code, lasti = src[:2]
    position = next(itertools.islice(code.co_positions(), max(lasti, 0) // 2, None), None)
    if position is None or position[0] is None or position[2] is None:
        return ""
    line = linecache.getline(code.co_filename, position[0]).encode()
    end = position[3] if position[0] == position[1] else None
    callee = line[position[2] : end].decode(errors="replace").partition("(")[0]
    return callee.rpartition(".")[2].strip()


def line_of(src: Source) -> int:
    """Return the number of the line of `src`."""
    return _line_number(*src[:2])


def format(src: Source) -> str:
    """Return `src` as one line, e.g. ``train.py:41 in loss:  y = h + bias``."""
    file, line, function, text = describe(src)
    place = f"{at(file, line)} in {function}"
    return f"{place}:  {text}" if text else place


def in_scope(src: Source | None, scope: str) -> Source | None:
    """Return `src` as a place inside of the named scope, such as ``"encoder/layer"``."""
    return src if src is None else (src[0], src[1], None, scope, False)


def in_derivative(src: Source | None, operation: str, backward: bool) -> Source | None:
    """Return `src` as the place of the derivative of an operation there.

    Args:
      src: place of the operation.
      operation: its name; that of the first one stays for what is differentiated again.
      backward: whether it is the part of the backward pass, else of the tangents.
    """
    if src is None:
        return None
    if len(src) == 2:
        return (*src, operation, "", backward)
    code, lasti, known, scope, was_backward = src
    if known is not None and (was_backward or not backward):
        return src
    return (code, lasti, known or operation, scope, backward)


def operation_of(src: Source | None) -> str | None:
    """Return the operation whose derivative an equation is part of; None for others."""
    return None if src is None or len(src) == 2 else src[2]


def is_backward(src: Source | None) -> bool:
    """Whether an equation is part of the backward pass of differentiation."""
    return src is not None and len(src) > 2 and src[4]


def automatic_scope(axes: Any) -> str:
    """Return the named scope of operations to which operands may come divided as they will."""
    return f"auto_axes({','.join(map(str, axes))})"


def automatic_axes(scope: str) -> set[str]:
    """Return the axes along which that may be so in a scope, as texts."""
    return {name for part in _AUTOMATIC.findall(scope) for name in part.split(",")}


LAID_OUT_SCOPE = "out_sharding"
"""The named scope of operations whose result is laid out as the user says."""


def is_laid_out(scope: str) -> bool:
    """Whether that is so in a scope."""
    return LAID_OUT_SCOPE in scope.split("/")


def scope_of(src: Source | None) -> str:
    """Return the named scope of an equation, "" for none."""
    return "" if src is None or len(src) == 2 else src[3]


def pass_of(src: Source | None) -> str:
    """Word which pass of differentiation an equation belongs to."""
    operation = operation_of(src)
    if src is None or operation is None:
        return "in the forward pass"
    direction = "backward" if src[4] else "forward"
    return f"in the {direction} pass, in the derivative of {operation}"


def _line_number(code: CodeType, lasti: int) -> int:
    """Return the line of the instruction at `lasti`; the function's first line if unknown."""
    # One position per code unit of two bytes; lasti is -1 before the first instruction.
    positions = itertools.islice(code.co_positions(), max(lasti, 0) // 2, None)
    line = next(positions, (None,))[0]
    return code.co_firstlineno if line is None else line


def at(file: str, line: int) -> str:
    """Return a line of a file that `describe` or `cell_of` has named, in words."""
    return f"{file}, line {line}" if file.startswith(_CELL) else f"{file}:{line}"


def cell_of(filename: str) -> str:
    """Return ``Cell In[5]`` for the code of a notebook's cell, as IPython calls it; else ""."""
    shell = sys.modules.get("IPython")
    if shell is None:
        return ""
    try:
        found = shell.get_ipython().compile.format_code_name(filename)
    except Exception:  # no notebook, or another version's
        return ""
    return "" if found is None else " ".join(found)


_CELL = "Cell In["


def _short_path(filename: str) -> str:
    """Return `filename` relative to the working directory where that is shorter."""
    if cell := cell_of(filename):
        return cell
    if filename.startswith("<"):
        return filename
    try:
        relative = os.path.relpath(filename)
    except (ValueError, OSError):  # another drive, or the working directory is gone
        return filename
    return min(relative, filename, key=len)
