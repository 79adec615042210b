"""A clock of source lines: what each line of the user's code takes in one call."""

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from evertrace._src import source

_DEEPEST = 200  # calls within calls whose lines are told apart


class Node:
    """A line that ran, below the line that called it.

    Attributes:
      file, line, function: where it is.
      seconds: what it took itself, with the library code that it called.
      visits: how often it was begun.
      children: what it called, by place.
      flops, size: of the operations on it; None where they are not known.
      is_estimate: whether its time is a part of a measured one, by estimates.
    """

    def __init__(self, file: str, line: int, function: str):
        self.file, self.line, self.function = file, line, function
        self.seconds, self.visits, self.is_estimate = 0.0, 0, False
        self.flops: float | None = None
        self.size: float | None = None
        self.children: dict[Any, Node] = {}

    @property
    def place(self) -> tuple[str, int]:
        """Its file and line."""
        return self.file, self.line

    @property
    def total(self) -> float:
        """Seconds, with all that it called."""
        return self.seconds + sum(child.total for child in self.children.values())

    def child(self, file: str, line: int, function: str) -> "Node":
        """Return the node of a line below this one."""
        key = file, line, function
        found = self.children.get(key)
        if found is None:
            found = self.children[key] = Node(*key)
        return found

    def all(self) -> list["Node"]:
        """Return it and all that are below it."""
        return [self, *[node for child in self.children.values() for node in child.all()]]


class Clock:
    """Measures one call in this thread; other threads are not looked at.

    Args:
      root: the node of the call.
      settle: waits for the arrays in a value, so that a line's time is that of what it has begun.
    """

    def __init__(self, root: Node, settle: Callable[[Any], Any] = lambda value: None):
        # Who called the frame, its present line, the addresses of its variables' values.
        self._stack: list[tuple[Node, Node, set[int]]] = [(root, root, set())]
        self._last = 0.0
        self._settle = settle

    def measure(self, call: Callable[[], Any]) -> tuple[Any, float]:
        """Return what a call returns, and the seconds that it took."""
        before = sys.gettrace()
        start = self._last = time.perf_counter()
        sys.settrace(self._entered)
        try:
            result = call()
        finally:
            sys.settrace(before)
            self._tick()
        return result, self._last - start

    def _tick(self) -> None:
        now = time.perf_counter()
        self._stack[-1][1].seconds += now - self._last
        self._last = now

    def _entered(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not source.is_users_frame(frame) or len(self._stack) > _DEEPEST:
            return None
        self._tick()
        caller = self._stack[-1][1]
        self._stack.append((caller, self._node(caller, frame), set()))
        return self._moved

    def _moved(self, frame: FrameType, event: str, arg: Any) -> Any:
        values = [arg, *frame.f_locals.values()] if event == "return" else frame.f_locals.values()
        caller, _, known = self._stack[-1]
        self._settle([x for x in values if id(x) not in known])  # not all of a large tree each time
        self._tick()
        if event == "return":
            self._stack.pop()
        elif event == "line":
            node = self._node(caller, frame)
            node.visits += 1
            self._stack[-1] = caller, node, {id(x) for x in values}
        return self._moved

    def _node(self, caller: Node, frame: FrameType) -> Node:
        code = frame.f_code
        return caller.child(code.co_filename, frame.f_lineno or 0, code.co_name)
