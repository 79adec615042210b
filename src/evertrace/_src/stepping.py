"""What `breakpoint()` opens, and `pdb.set_trace()` under `jit`: a debugger without our frames.

It is the one that is installed. Our frames stand between the user's function and who called it, and
wherever the user's line calls the library. The debugger goes through them, and through what they
call of other libraries, without a stop, and neither `where` nor `up` shows them.
"""

from __future__ import annotations

import pdb
import sys
from types import FrameType, TracebackType
from typing import Any

from evertrace._src import config, source, tracebacks


def _is_seen(frame: FrameType | None) -> bool:
    """Whether a frame is shown: the user's, or of a library that the user's code has called."""
    if config.current().traceback_filtering == "off":
        return True
    is_seen, caller = False, frame
    while caller is not None and not tracebacks.is_frame_of_ours(caller):
        file = caller.f_code.co_filename
        if file.startswith("<frozen importlib"):  # what it calls works for who imports
            is_seen = False
        elif source.is_users_frame(caller) and not tracebacks.is_librarys(file):
            is_seen = True
        caller = caller.f_back
    return is_seen or caller is None


def _debugger() -> Any:
    """Return a new debugger: of `pdb.Pdb` as it is now, as IPython puts its own there."""

    class Debugger(pdb.Pdb):
        def stop_here(self, frame: FrameType) -> bool:
            return super().stop_here(frame) and _is_seen(frame)

        def get_stack(
            self, f: FrameType | None, t: TracebackType | None
        ) -> tuple[list[tuple[FrameType, int]], int]:
            stack, at = super().get_stack(f, t)
            seen = [i for i, (frame, _) in enumerate(stack) if i == at or _is_seen(frame)]
            return [stack[i] for i in seen], seen.index(at)

    return Debugger()


def stop(*, header: str | None = None, **options: Any) -> None:
    """Open the debugger in the user's innermost frame; the arguments are `pdb.set_trace`'s."""
    frame: Any = sys._getframe(1)
    while tracebacks.is_frame_of_ours(frame) and frame.f_back is not None:  # who called the hook
        frame = frame.f_back
    debugger = _debugger()
    if header is not None:
        debugger.message(header)
    debugger.set_trace(frame, **options)
