"""What we noted of a profile, beside what XLA's profiler saw: in its file, and for Perfetto.

Calls that run no Python note themselves in C++, operations that Python runs on host memory here.

XLA's profiler writes one message, an ``XSpace`` (see ``xplane.proto`` of OpenXLA's tsl), whose
planes hold lines of events. Messages that stand one behind the other are one message, so another
plane is written behind those that are there.
"""

import glob
import gzip
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, NamedTuple

from evertrace._src import native, source
from evertrace._src.engines.host import engine as host
from evertrace._src.engines.xla import compat

PLANE = "/device:CUSTOM:evertrace"
"""The plane of what we noted; viewers show those of this prefix whatever they hold."""

_MARK = "evertrace: the profile begins"  # noted by both, so that their clocks can be compared
_MARKS = 8


class Span(NamedTuple):
    """One call: times are nanoseconds, those of the profile."""

    name: str
    place: str
    thread: int
    begin: int
    end: int


def begin() -> list[tuple[int, int]]:
    """Begin to note, while a session runs.

    Returns:
      Between which times, by our own clock, each of several marks of XLA's profiler began: the
      narrowest of them tells how far the clocks are apart.
    """
    native.begin_spans(source.PACKAGE_PREFIX)
    _noted.clear()
    host.noting = _note
    found = []
    for _ in range(_MARKS):
        mark = compat.trace_mark()(_MARK)
        before = time.monotonic_ns()
        mark.__enter__()
        found.append((before, time.monotonic_ns()))
        mark.__exit__(None, None, None)
    return found


def end() -> list[Span]:
    """End that; returns what was noted, by our own clock."""
    host.noting = None
    return [
        Span(_name(what), "" if code is None else _place(code, line), thread, start, stop)
        for what, code, line, thread, start, stop in [*native.end_spans(), *_noted]
    ]


_MOST = 1 << 21  # as in C++
_noted: list[tuple[Any, ...]] = []  # as `native.end_spans` returns them


def _note(name: str, run: Callable[..., Any], *args: Any) -> Any:
    """Call a function, and note what it is called, from where it was called, and its time."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not source.is_users_frame(frame):
        frame = frame.f_back
    code, line = (None, 0) if frame is None else (frame.f_code, frame.f_lineno)
    begin = time.monotonic_ns()
    try:
        return run(*args)
    finally:
        if len(_noted) < _MOST:
            _noted.append((name, code, line, threading.get_ident(), begin, time.monotonic_ns()))


def files(folder: str) -> set[str]:
    """Return the profiles in a folder."""
    return set(glob.glob(os.path.join(glob.escape(folder), "**", "*.xplane.pb"), recursive=True))


def add(path: str, spans: list[Span], began: list[tuple[int, int]]) -> None:
    """Write spans into the profile that was taken while they were noted.

    Args:
      path: of the profile.
      spans: what `end` returned.
      began: what `begin` returned.
    """
    marks = sorted(int(event.start_ns) for _, _, event in _events(path) if event.name == _MARK)
    if not (spans and len(marks) == len(began)):
        return
    pairs = zip(marks, began, strict=True)
    _, shift = min(
        (after - before, mark - (before + after) // 2) for mark, (before, after) in pairs
    )
    moved = [span._replace(begin=span.begin + shift, end=span.end + shift) for span in spans]
    with open(path, "ab") as file:
        file.write(_plane(moved))


def write_perfetto(path: str) -> str:
    """Write a profile in the form that Perfetto reads, beside it; returns the file's name."""
    threads: dict[tuple[str, str], int] = {}
    events: list[dict[str, Any]] = []
    for plane, line, event in _events(path):
        known = (plane, line)
        if known not in threads:
            threads[known] = len(threads) + 1
            events += [_named("process_name", plane, known, threads)]
            events += [_named("thread_name", line, known, threads)]
        found = _where(known, threads) | {"ph": "X", "name": event.name}
        found |= {"ts": event.start_ns / 1e3, "dur": event.duration_ns / 1e3}
        args = {key: value for key, value in event.stats if isinstance(value, str | int | float)}
        events.append(found | ({"args": args} if args else {}))
    made = os.path.join(os.path.dirname(path), "perfetto_trace.json.gz")
    with gzip.open(made, "wt", encoding="utf-8") as file:
        json.dump({"displayTimeUnit": "ns", "traceEvents": events}, file)
    return made


def _events(path: str) -> Iterable[tuple[str, str, Any]]:
    """Yield the events of a profile, with the names of plane and line."""
    for plane in compat.profile_data().ProfileData.from_file(path).planes:
        for line in plane.lines:
            for event in line.events:
                yield plane.name, line.name, event


def _where(known: tuple[str, str], threads: dict[tuple[str, str], int]) -> dict[str, Any]:
    planes = list(dict.fromkeys(plane for plane, _ in threads))
    return {"pid": planes.index(known[0]) + 1, "tid": threads[known]}


def _named(what: str, name: str, known: tuple[str, str], threads: Any) -> dict[str, Any]:
    return _where(known, threads) | {"ph": "M", "name": what, "args": {"name": name}}


def _name(what: Any) -> str:
    """Return what a call is called: of a jitted function, of one of ours, or a text."""
    if isinstance(what, str):
        return what
    program = getattr(what, "program", None)
    if program is None:
        return str(getattr(what, "__qualname__", type(what).__name__))
    return f"jit({what.name})"


def _place(code: Any, line: int) -> str:
    file = source.cell_of(code.co_filename) or os.path.basename(code.co_filename)
    return f"{source.at(file, line)} in {code.co_name}"


# ---------------------------------------------------------------- messages in bytes


def _plane(spans: list[Span]) -> bytes:
    """Return an ``XSpace`` of one plane: a line for each thread."""
    numbers = _Numbers()
    threads: dict[int, list[bytes]] = {}
    for span in sorted(spans, key=lambda span: (span.begin, -span.end)):
        place = _message(1, 1) + _message(5, span.place.encode())  # XStat
        event = _message(1, numbers[span.name]) + _message(2, 1000 * span.begin)
        event += _message(3, 1000 * (span.end - span.begin))
        event += _message(4, place) if span.place else b""
        threads.setdefault(span.thread, []).append(_message(4, event))
    names = [_entry(4, number, name) for name, number in numbers.items()]
    lines = [
        _message(3, _message(1, i) + _message(2, b"evertrace") + b"".join(events))
        for i, events in enumerate(threads.values(), 1)
    ]
    stats = _entry(5, 1, "source")
    return _message(1, _message(2, PLANE.encode()) + b"".join([*lines, *names, stats]))


class _Numbers(dict[str, int]):
    """Numbers of names, in the order in which they are asked for."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self) + 1
        return self[name]


def _entry(field: int, number: int, name: str) -> bytes:
    """Return an entry of a map from numbers to messages of a number and a name."""
    message = _message(1, number) + _message(2, name.encode())
    return _message(field, _message(1, number) + _message(2, message))


def _message(field: int, value: int | bytes) -> bytes:
    """Return one field of a message."""
    if isinstance(value, int):
        return _varint(field << 3) + _varint(value)
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
