"""Which calls of a program are in the same situation: no trace should tell them apart.

Two calls are alike if plain Python runs the same instructions in both, on state that differs in
nothing but the values of numbers and the contents of arrays, and in logs (names that begin with
``log``), which programs only append to. A second trace for such a call is not always needless: a
number may stand in an index of a list, a key or a text. So its reason is told, to be judged.
"""

import re
import sys

import numpy as np

from evertrace import Array
from tests.contract.parts import ATOMS, parts, unwrap


class Situations:
    """The situations that a plain world has been in."""

    def __init__(self, world):
        """Watch the calls in this world."""
        self._world, self._seen = world, set()

    def run(self, event):
        """Run a call; return what it printed and raised, and how many new traces it may need."""
        state, path = _shape(self._world.state()), []
        filename = f"<{self._world.module.__name__}>"

        def follow(frame, what, _):
            if frame.f_code.co_filename != filename:
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            if what == "opcode":
                path.append((frame.f_code.co_name, frame.f_code.co_firstlineno, frame.f_lasti))
            return follow

        before = sys.gettrace()
        sys.settrace(follow)
        try:
            outcome = self._world.run(event)
        finally:
            sys.settrace(before)
        path = tuple(step for step in path if step[0] != "<module>")
        situation = hash((state, _words(event.source), path))
        new = situation not in self._seen
        self._seen.add(situation)
        return outcome, 99 if new else 0


def _words(source):
    """Return the text of a call without its literal numbers."""
    return re.sub(r"(?<![\w.])[\d.]+", "0", source)


def _shape(names):
    """Return types, keys and strings of all that is reached, without the values of numbers."""
    seen, found = {}, []
    todo = [names]
    while todo:
        x = unwrap(todo.pop())
        if isinstance(x, np.ndarray | Array | np.generic):
            place = seen.setdefault(id(x), len(seen))
            found.append((type(x).__name__, str(x.dtype), x.shape, place))
        elif type(x) in (int, float, complex):
            found.append(type(x).__name__)
        elif type(x) in ATOMS:
            found.append(x)
        elif id(x) in seen:
            found.append(seen[id(x)])
        else:
            seen[id(x)] = len(seen)
            found.append(type(x).__name__)
            for label, part in parts(x):
                if not label.lstrip(".['").lower().startswith("log"):
                    found.append(label)
                    todo.append(part)
    return tuple(found)
