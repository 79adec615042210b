"""Interrupts wait while something is done that must not stay half done.

Python runs the handlers of signals between any two instructions of its main thread, so also in the
middle of a `finally` that puts something back. `held` has them wait, `let_through` lets them
through again inside of it. Other threads are never interrupted this way, and nothing is done there.

What only sets attributes for a while is an `InForce`, and `uncollected` turns the garbage collector
off: nothing can come between their ends and the block. Their twins in Python have a gap where a
function begins.
"""

import _signal  # pyright: ignore[reportMissingImports]  (`signal` would make enums of everything)
import functools
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

from evertrace._src import extension, support
from evertrace._src.extension import twin

_SIGNALS: tuple[int, ...] = tuple(sorted(_signal.valid_signals()))
_get_ident = threading.get_ident


class _InForce:
    """Attributes that have other values for the time of a ``with`` block.

    Args:
      obj: whose attributes.
      names: of them, a tuple.
      values: theirs, a tuple; if None, the method `values` is asked when a block begins.
    """

    __slots__ = ("_given", "_names", "_obj", "_outside")

    def __init__(self, obj: Any, names: tuple[str, ...], values: tuple[Any, ...] | None = None):
        self._obj, self._names, self._given, self._outside = obj, names, values, []

    def __enter__(self) -> Any:
        asked: Any = self
        values = asked.values() if self._given is None else self._given
        outside = [getattr(self._obj, name) for name in self._names]
        self._outside.append(outside)
        self._set(values)
        return None if self._given is None else values[0]

    def __exit__(self, *_: object) -> None:
        self._set(self._outside.pop())

    def _set(self, values: Any) -> None:
        for name, value in zip(self._names, values, strict=True):
            setattr(self._obj, name, value)


if TYPE_CHECKING:
    InForce = _InForce
else:
    InForce = twin(_InForce, "InForce")

if extension.is_built():
    support.uncollected = functools.partial(extension.native.Uncollected, support._pausing)

uncollected: Any = support.uncollected
"""What `support.uncollected` is, without its gaps; imports, below this, have it from there."""


_is_watched: bool = extension.call("watch_handlers", _signal.signal) or False
_set_handler = twin(_signal.signal, "set_handler") if _is_watched else _signal.signal  # not counted
_known: tuple[int, dict[int, Any]] = -1, {}
"""The handlers in Python by signal, and how often handlers had been set by others until then."""


def _unknown() -> int:
    return -2


_changes = twin(_unknown, "handler_changes") if _is_watched else _unknown
"""Return how often handlers were set by others; where nobody knows, none is equal to it."""


def _handlers() -> dict[int, Any]:
    """Return the handlers in Python by signal; to ask for all takes longer than what waits."""
    global _known
    changes = _changes()
    if changes != _known[0]:
        found = map(_signal.getsignal, _SIGNALS)
        now = {s: h for s, h in zip(_SIGNALS, found, strict=True) if callable(h)}
        if not _is_watched:
            return now
        _known = changes, now
    return _known[1]


class held:
    """Context manager in which interrupts wait; they are raised when it ends.

    Example:
      >>> with held():
      ...     put_everything_back()
    """

    __slots__ = ("_arrived", "_changes", "_handlers")

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> "held":
        try:
            self.hold()
        except BaseException:  # of a handler that was not replaced yet, after others were
            self.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def hold(self) -> None:
        """Have interrupts wait."""
        if _get_ident() != threading.main_thread().ident or self._handlers:
            return
        global _known
        self._arrived: dict[int, Any] = {}
        wait = self._arrived.__setitem__  # in C: no handler can come in between
        handlers, self._changes = _handlers(), _known[0]
        self._handlers = handlers  # before the first is replaced
        for signum in handlers:
            _set_handler(signum, wait)
        _known = self._changes, dict.fromkeys(handlers, wait)

    def release(self) -> None:
        """Let interrupts through, first those that have waited."""
        if self._handlers:
            try:
                self._put_back()
            except BaseException:  # of a handler that is back already
                self._put_back()
                raise
            finally:
                self._handlers = {}
                if self._arrived:
                    _deliver([*self._arrived])

    def _put_back(self) -> None:
        global _known
        is_known = _changes() == self._changes
        for signum, handler in self._handlers.items():
            # Else it is the user's, by now.
            if is_known or _is_bound_to(_signal.getsignal(signum), self._arrived):
                _set_handler(signum, handler)
        _known = self._changes, self._handlers


extension.call("set_held", held)  # for the changes of a call that Python writes


class let_through:
    """Context manager in which interrupts are let through, inside of one that holds them.

    Args:
      outer: the one that holds them.
    """

    __slots__ = ("_outer",)

    def __init__(self, outer: held):
        self._outer = outer

    def __enter__(self) -> None:
        self._outer.release()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._outer.hold()


def _is_bound_to(handler: Any, arrived: dict[int, Any]) -> bool:
    return getattr(handler, "__self__", None) is arrived


def _deliver(signals: list[int]) -> None:
    """Send signals again, all of them, whatever their handlers raise."""
    try:
        while signals:
            _signal.raise_signal(signals.pop())
    finally:
        if signals:
            _deliver(signals)
