"""Numbers and texts that code of others has refused to take in the form of stand-ins.

Code in C wants exact numbers, and raises a TypeError for what stands for one, or a ValueError where
it was in something else; a package's code that asks ``type(n) is int`` raises what it likes. Which
one it was, it does not say; but the call's place in the user's code is known, and what it names
there. Those numbers are constants in the trace that follows, and all others are not. Where it is a
text of numbers, the trace that follows makes all texts at once.
"""

import dis
import re
from collections.abc import Container
from typing import Any, NamedTuple

from evertrace._src import errors, source
from evertrace._src.core.tracer import state
from evertrace._src.jit.lifting import asking
from evertrace._src.jit.lifting.code import is_library_code, is_own_file, is_package_file
from evertrace._src.jit.lifting.host import SCALARS, Host, is_host
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.lifting.hostprogram import OP
from evertrace._src.jit.lifting.hosttext import HostText
from evertrace._src.jit.lifting.numpykind import is_host_array
from evertrace._src.jit.lifting.prologue import late_error


class _All:
    """Holds every name."""

    def __contains__(self, name):
        return True


NONE: Container[str] = frozenset()
ALL: Container[str] = _All()
TEXTS = "the texts"  # among the names: texts of numbers are made at once
NUMPY_SCALARS = "the scalars"  # so are scalars of NumPy's arrays


def is_refusal(error):
    """Whether an error may be about what stands for a number: C code's, or raised by a package."""
    tb = _innermost(error)
    by_package = tb is not None and is_package_file(tb.tb_frame.f_code.co_filename)
    is_of_c = tb is not None and not _raises(tb)
    is_shown = isinstance(error, AttributeError) and bool(_SHOWN.search(str(error)))
    is_refused = isinstance(error, TypeError) or (isinstance(error, ValueError) and is_of_c)
    return is_refused or by_package or (is_of_c and is_shown)


def _innermost(error) -> Any:
    """Return the last entry of an error's traceback, None if it was never raised."""
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    return tb


_SHOWN = re.compile(rf"'({Host.__name__}|{HostText.__name__}|{HostArray.__name__})'")
"""Where Python names a stand-in's type."""


def _raises(tb):
    """Whether Python code has raised an error itself."""
    return dis.opname[tb.tb_frame.f_code.co_code[tb.tb_lasti]] == "RAISE_VARARGS"


def unhashable(error):
    """Return the refusal of a class that our code cannot look up, None for another error.

    Python's own dispatch asks no class for its hash, which a metaclass with a ``__eq__`` of its own
    has lost.
    """
    says: Any = error.args[0] if type(error) is TypeError and error.args else None
    found = _UNHASHABLE.fullmatch(says) if type(says) is str else None  # it may be a late text
    if found is None or not any(
        kind.__name__ == found[1] and kind.__hash__ is None for kind in _subclasses(type)
    ):
        return None
    if not is_own_file(_innermost(error).tb_frame.f_code.co_filename):
        return None
    frame, _ = _place(error.__traceback__)
    return errors.user_error(
        errors.OpaqueStateError,
        f"jit: a class of the metaclass {found[1]} cannot be hashed, as {found[1]} has a __eq__ "
        f"and no __hash__: what depends on the class cannot be looked up.",
        fix=f"add `__hash__ = type.__hash__` to {found[1]}.",
        anchor="opaque-state",
        src=None if is_library_code(frame.f_code) else source.source_of(frame),
    )


def late(error, recorder):
    """Return the refusal of what is drawn anew at each call, where code in C wants it as a number.

    None where the error is about numbers that can be constants, or about none.
    """
    prologue, text = recorder.prologue, str(error)
    is_of_array = HostArray.__name__ in text and not recorder.inputs.arrays
    if not prologue.late_names or not (is_of_array or _NUMBER.search(text)):
        return None
    if any(type(prologue.slots[i]) in SCALARS for i in prologue.leaves):
        return None
    src = source.source_of(*_place(error.__traceback__))
    return late_error(list(prologue.late_names.values())[-1], src)


_NUMBER = re.compile(rf"\b{Host.__name__}\b")
"""Where Python names the type of what stands for a number: of numbers it would not say so."""


def _subclasses(kind):
    """Yield all subclasses of a metaclass."""
    for each in type.__subclasses__(kind):
        yield each
        yield from _subclasses(each)


_UNHASHABLE = re.compile(r"unhashable type: '(\w+)'")


def _caught(error):
    """Note an error that code which is traced may catch, if it may be about a stand-in."""
    recorder: Any = state.recorder
    if recorder is None:
        return
    recorder.refusal = recorder.refusal or unhashable(error)
    for of_trace in (error, error.__cause__):  # the cause, where NumPy has its own words
        recorder.unseen = [x for x in recorder.unseen if x is not of_trace]
        if not getattr(of_trace, "_in_plain", True):
            recorder.refusal = recorder.refusal or of_trace
    if isinstance(error, errors.EvertraceError) or not is_refusal(error):
        return
    frame, lasti = _place(error.__traceback__)
    if dis.opname[frame.f_code.co_code[lasti]] != "RAISE_VARARGS":  # not the function's own
        recorder.refusal = recorder.refusal or late(error, recorder)
        text = re.sub(r"0x[0-9a-fA-F]+", "", str(error))
        place = frame.f_code.co_filename, frame.f_code.co_firstlineno, lasti
        recorder.caught[(*place, type(error), text)] = _refused(error, recorder)


def leaves_jit(error):
    """Note that a jitted function raises an error: whoever calls it meets that without `jit`."""
    if not getattr(error, "_in_plain", True):
        error._in_plain = True


def _named(error, classes):
    """Note that a handler is for some classes: one for a class of ours means to catch it."""
    recorder: Any = state.recorder
    if recorder is None or not isinstance(error, errors.JAXTypeError | errors.JAXIndexError):
        return
    classes = classes if type(classes) is tuple else (classes,)
    ours = [x for x in classes if type(x) is type and issubclass(x, errors.EvertraceError)]
    if recorder.refusal is error and isinstance(error, tuple(ours)):
        recorder.refusal = None


asking.caught, asking.named = _caught, _named


class Caught:
    """The errors that the traces of one call catch, which may be about stand-ins for numbers.

    The next trace has the numbers that such an error may be about as constants. Where it is raised
    again, word for word, it is not about them, and the trace after that has them as before.

    Args:
      constants: the names of the numbers that are constants in the first trace.
    """

    def __init__(self, constants):
        self.base = constants  # whatever is caught
        self._tried = {}  # error -> the names of its numbers
        self._as_in_python = set()  # errors that are the same without stand-ins

    def next(self, constants, recorder):
        """Return the names of the numbers that are constants in the next trace; None without one.

        Args:
          constants: those that were constants in the trace that has ended.
          recorder: its recorder.
        """
        found = {k: n for k, n in recorder.caught.items() if k not in self._as_in_python}
        if self.base is ALL:
            return None
        again = {k for k in found.keys() & self._tried.keys() if not _NUMBER.search(k[-1])}
        if again:
            self._as_in_python |= again
            about = [n for k, n in self._tried.items() if k not in self._as_in_python]
            return _union(self.base, *about)
        if not found or constants is ALL or not has_stand_ins(recorder):
            return None
        more = ALL if len(self._tried) > _MOST_TRIED else _union(constants, *found.values())
        more = ALL if more == constants else more
        self._tried |= dict.fromkeys(found, more)
        return more


_MOST_TRIED = 16


def _union(*names):
    """Return all of some names."""
    if any(x is ALL for x in names):
        return ALL
    found = frozenset().union(*names)
    return found | {TEXTS} if found else found


def has_stand_ins(recorder):
    """Whether something stood for a number in a trace."""
    prologue = recorder.prologue
    return bool(prologue.leaves or prologue.late_names or recorder.inputs.arrays)


def wider(constants, error, recorder):
    """Return the names of the numbers that are constants in the next trace.

    Args:
      constants: those that were constants in the trace that failed.
      error: the error that ended it.
      recorder: its recorder.
    """
    if TEXTS not in constants and _may_be_of_texts(error, recorder):
        return constants | {TEXTS}
    if NUMPY_SCALARS not in constants and HostArray.__name__ in str(error):
        return constants | {NUMPY_SCALARS}
    found = _refused(error, recorder) | {TEXTS}
    return ALL if found <= constants else constants | found


def _may_be_of_texts(error, recorder):
    """Whether an error can be about a text that is made of numbers: it does not name a number."""
    has_texts = any(s.kind is OP and s.expected is str for s in recorder.prologue.steps)
    return has_texts and not _NUMBER.search(str(error))


def _refused(error, recorder):
    """Return the names of the numbers that the code which raised an error has named."""
    frame, lasti = _place(error.__traceback__)
    names = _names_at(frame.f_code, lasti)
    held = [x for n in names.intersection(frame.f_locals) for x in _stand_ins(frame.f_locals[n])]
    slots = {x.slot for x in held if is_host(x)}
    arrays = {id(x.captured) for x in held if not is_host(x)}
    for step in reversed(recorder.prologue.steps):
        if step.kind is OP and step.out in slots:
            slots.update(step.args)
    inputs = recorder.inputs
    reached = [
        *[(slot in slots, node.name) for slot, node in inputs.leaves],
        *[
            (id(x) in arrays, node.name)
            for x, node in inputs.arrays
            if (x.is_scalar or x.was_asked) and not isinstance(error, errors.EvertraceError)
        ],
    ]
    return frozenset(
        name for is_held, name in reached if is_held or not names.isdisjoint(_steps(name))
    )


def _steps(path):
    """Return the names on a path, but for that of the object at its beginning."""
    words = re.findall(r"\w+", path)
    return words[1:] or words


def _place(tb):
    """Return the innermost frame of code that is not a library's, and where it is."""
    place = tb.tb_frame, tb.tb_lasti
    while tb is not None:
        if not is_library_code(tb.tb_frame.f_code):
            place = tb.tb_frame, tb.tb_lasti
        tb = tb.tb_next
    return place


def _names_at(code, lasti):
    """Return what is named in the expression that is evaluated at an instruction."""
    whole = _Span(*list(code.co_positions())[lasti // 2])
    return {
        str(name)
        for i in dis.get_instructions(code)
        if i.positions is None or _Span(*i.positions).is_inside(whole)
        for name in (i.argval if type(i.argval) is tuple else (i.argval,))
    }


class _Span(NamedTuple):
    """A part of a text: lines and columns; None where they are not known."""

    line: int | None
    end_line: int | None
    column: int | None
    end_column: int | None

    def is_inside(self, whole):
        """Whether it is a part of another one, as far as is known."""
        if None in self or None in whole:
            return self.line is None or whole.line is None or self.line == whole.line
        starts = (whole.line, whole.column) <= (self.line, self.column)
        return starts and (self.end_line, self.end_column) <= (whole.end_line, whole.end_column)


def _stand_ins(value):
    """Yield what stands for numbers in a value, which may contain itself."""
    seen, left = set(), [value]
    while left:
        item = left.pop()
        if is_host(item) or is_host_array(item):
            yield item
        elif type(item) in (list, tuple, dict) and id(item) not in seen:
            seen.add(id(item))
            left.extend(item.values() if type(item) is dict else item)


class Refusals:
    """What was refused, by the keys of calls: the next trace need not find out again.

    A call may go another way next time, where nothing is refused. So the numbers are taken for
    constants at once in 1, 3, 7, ... traces only between two that find out.
    """

    def __init__(self):
        self._found = {}  # key -> (names, traces that found them, traces that may take them)

    def expected(self, key):
        """Return the names of the numbers to take for constants at once."""
        names, times, left = self._found.get(key, (NONE, 0, 0))
        if not left:
            return NONE
        self._found[key] = names, times, left - 1
        return names

    def note(self, key, expected: Container[str] = NONE, names: Container[str] = NONE):
        """Note what a trace has taken for constants in the end, or forget a key.

        Args:
          key: of the call.
          expected: what it was told to take for them.
          names: what it did take.
        """
        if names is NONE:
            self._found.pop(key, None)
        elif names is not expected:
            times = self._found.get(key, (NONE, 0, 0))[1] + 1
            self._found[key] = names, times, min(2**times, 64) - 1
