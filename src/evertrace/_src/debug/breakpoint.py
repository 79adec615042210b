"""`debug.breakpoint`: a prompt on the values of a function that may be transformed and compiled.

The local variables of the user's frames are handed to a callback, which finds the arrays among them
with their values. The prompt is a small relative of pdb's: the frames are no longer there to be
stepped through, only what was in them.
"""

from __future__ import annotations

import cmd
import linecache
import pprint
import sys
from typing import Any, NamedTuple

from evertrace._src import errors, source, tree
from evertrace._src.core.tracer import Tracer, state
from evertrace._src.debug.callback import bind
from evertrace._src.jit.lifting.code import is_trampoline
from evertrace._src.support import set_module

_AROUND = 5  # lines shown before and after the present one


class Frame(NamedTuple):
    """A place of the user's program, and what was known there.

    Attributes:
      src: the place.
      names: the global variables.
      values: the local variables.
    """

    src: tuple
    names: dict
    values: dict


@set_module("evertrace.debug")
def breakpoint(
    *,
    backend: Any = None,
    filter_frames: bool = True,
    num_frames: Any = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> None:
    """Open a prompt with the values of the local variables, when they are known.

    Args:
      backend: "cli" or None; there is one kind of prompt.
      filter_frames: whether frames of evertrace itself are left out; they always are.
      num_frames: how many frames to keep, from the innermost; None is all.
      ordered: accepted for compatibility: prompts keep the order of the program in any case.
      token: accepted for compatibility; must be None.
      **kwargs: `stdin` and `stdout`, the files that the prompt reads and writes.

    Commands: ``p`` and ``pp`` print an expression, as does the expression alone; ``u`` and ``d`` go
    up and down the frames, ``w`` shows them, ``l`` shows the lines; ``c`` goes on, ``q`` raises
    `KeyboardInterrupt`. Under `vmap` it opens once per example, under differentiation with primal
    values. Differs from pdb: assignments do not reach the program, and there is no stepping.

    Example:
      >>> import io
      >>> def f(x):
      ...     y = 2 * x
      ...     ev.debug.breakpoint(stdin=io.StringIO("p y"))
      ...     return y
      >>> _ = f(jnp.float32(1.5))
      > ...
      (evdb) Array(3., dtype=float32)
      (evdb)
    """
    del filter_frames
    if backend not in (None, "cli") or token is not None or set(kwargs) - {"stdin", "stdout"}:
        raise errors.user_error(
            ValueError,
            f"debug.breakpoint: does not take backend={backend!r}, token={token!r} with the options"
            f" {sorted(kwargs)}.",
            fix="use the one prompt there is: `debug.breakpoint()`, with `stdin` and `stdout`.",
            anchor="debug-breakpoint",
        )
    frames = _user_frames(num_frames)

    bind(
        "debug.breakpoint", _Open(frames, kwargs), ([f.values for f in frames],), {}, ordered, False
    )


class _Open:
    """Opens a prompt in frames whose local variables have these values.

    Args:
      frames: list of `Frame`.
      options: of the `Prompt`.
    """

    def __init__(self, frames, options):
        self.places, self.options = [(f.src, f.names) for f in frames], options

    def __call__(self, values):
        found = [
            Frame(src, names, {k: x.value if type(x) is _Opaque else x for k, x in v.items()})
            for (src, names), v in zip(self.places, values, strict=True)
        ]
        Prompt(found, **self.options).cmdloop()


class _Opaque:
    """Holds what is shown as it is: its arrays, if it has any, are not looked up."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def _readable(value, stack):
    """Return a local variable's value as the callback may take it."""
    try:
        leaves = tree.leaves(value)
    except (TypeError, ValueError, RecursionError):  # keys without order, a list in itself
        return _Opaque(value)
    # Tracers of transformations that have ended, or that are not around, have no value.
    lost = any(issubclass(type(x), Tracer) and x._trace not in stack for x in leaves)
    lost = lost or (state.recorder is not None and not state.recorder.callbacks.can_make(leaves))
    return _Opaque(value) if lost else value


def _user_frames(count):
    """Return the user's frames, innermost first."""
    found, frame, stack, trace = [], sys._getframe(2), [], state.trace
    while trace is not None:
        stack.append(trace)
        trace = trace.parent
    while frame is not None and (count is None or len(found) < count):
        code = frame.f_code
        if source.is_users(code.co_filename) and not is_trampoline(code):
            # A module's variables are found as global ones.
            local = {} if frame.f_locals is frame.f_globals else frame.f_locals
            values = {k: _readable(v, stack) for k, v in local.items() if not k.startswith("__")}
            found.append(Frame((code, frame.f_lasti), frame.f_globals, values))
        frame = frame.f_back
    return found


class Prompt(cmd.Cmd):
    """Reads and runs commands until one of them goes on.

    Args:
      frames: list of `Frame`, innermost first.
      stdin, stdout: files to read from and to write to; by default the system's.
    """

    prompt = "(evdb) "

    def __init__(self, frames, stdin=None, stdout=None):
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self.frames, self.at = frames, 0
        self.intro = f"> {source.format(frames[0].src)}" if frames else ""

    def default(self, line):
        """Print the value of an expression."""
        self.do_p(line)

    def emptyline(self) -> bool:
        """Do nothing."""
        return False

    def _value(self, text):
        frame = self.frames[self.at]
        return eval(text, {**frame.names, **frame.values})  # noqa: S307 (typed by the user)

    def _print(self, text, show):
        try:
            self._say(show(self._value(text)))
        except Exception as error:  # whatever the user's expression raises is shown, as in pdb
            self._say(f"*** {type(error).__name__}: {error}")

    def _say(self, text):
        self.stdout.write(f"{text}\n")

    def do_p(self, text):
        """Print the value of an expression: p x.sum()."""
        self._print(text, repr)

    def do_pp(self, text):
        """Print the value of an expression over several lines: pp params."""
        self._print(text, pprint.pformat)

    def do_a(self, _):
        """Print the names of the local variables and their values."""
        for name, value in self.frames[self.at].values.items():
            self._say(f"{name} = {value!r}")

    def do_w(self, _):
        """Show the frames, outermost first; an arrow is at the present one."""
        for i in reversed(range(len(self.frames))):
            self._say(f"{'->' if i == self.at else '  '} {source.format(self.frames[i].src)}")

    def do_l(self, _):
        """Show the lines around the present one."""
        code, here = self.frames[self.at].src[0], source.describe(self.frames[self.at].src).line
        for number in range(max(1, here - _AROUND), here + _AROUND + 1):
            text = linecache.getline(code.co_filename, number).rstrip()
            self._say(f"{number:>5} {'->' if number == here else '  '} {text}")

    def do_u(self, _):
        """Go to the frame that called the present one."""
        self._go(self.at + 1, "oldest")

    def do_d(self, _):
        """Go to the frame that the present one called."""
        self._go(self.at - 1, "newest")

    def _go(self, where, end):
        if not 0 <= where < len(self.frames):
            self._say(f"*** this is the {end} frame")
            return
        self.at = where
        self._say(f"> {source.format(self.frames[where].src)}")

    def do_c(self, _):
        """Go on with the program."""
        return True

    def do_q(self, _):
        """Stop the program."""
        raise KeyboardInterrupt("debug.breakpoint: stopped by the command q")

    do_cont = do_continue = do_EOF = do_c
    do_quit = do_q
    do_up, do_down, do_where, do_bt, do_list = do_u, do_d, do_w, do_w, do_l
