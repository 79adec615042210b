"""A trace of impure calls with a fake recorder, to look at what is recorded."""

import pathlib
import shutil

from evertrace._src.jit.lifting.host import (
    Host,
)
from evertrace._src.jit.lifting.impure import Patches
from evertrace._src.jit.lifting.prologue import Prologue


class FakeRecorder:
    """Notes what it is told; host scalars are real."""

    def __init__(self):
        self.prologue = Prologue()
        self.effects, self.arrays, self.environ = [], [], []

    def late_array(self, fn, args, value, what):
        self.arrays.append((fn, args, what))
        return value

    def effect(self, fn, args, kwargs):
        self.effects.append((fn, args, kwargs))

    def guard_environ(self, environ, name=None):
        self.environ.append(name)

    def repeat_effects(self):
        for fn, args, kwargs in self.effects:
            fn(*args, **kwargs)


class Traced:
    """What a function did under a trace: its result, and the host program for later calls."""

    def __init__(self, function, *leaves):
        self.recorder = FakeRecorder()
        prologue = self.recorder.prologue
        args = [prologue.leaf(x) for x in leaves]
        with Patches(self.recorder):
            self.result = function(*args)
        hosts = self.result if type(self.result) is tuple else (self.result,)
        self.slots = [x.slot for x in hosts if type(x) is Host]
        self.program = prologue.freeze(self.slots)
        prologue.closed = True

    def again(self, *leaves):
        """Return the results of another call, or None if it does not match."""
        slots = self.program.run(list(leaves))
        if slots is None:
            return None
        self.program.run_late(slots)
        return [slots[i] for i in self.slots]


def library_code(*statements):
    """Run statements as if a module of the standard library contained them."""
    exec(compile("\n".join(statements), pathlib.Path(shutil.__file__).with_name("x.py"), "exec"))
