"""The hook through which the core runs primitives on concrete values.

The core defines what an eager operation means; the engines, several layers up, know how to run it.
`evertrace/__init__` fills `resolver` with a function that imports them on first use, `layouts`
with one that imports what knows of meshes, for types that are asked how they are divided, and
`laid_out_type` with one that tells it of an array or tracer and its type.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Executable(Protocol):
    """A compiled program: flat buffers in, flat buffers out."""

    def run(self, buffers: Sequence[Any]) -> Sequence[Any]:
        """Run once and return one buffer per output."""
        ...


class Backend(Protocol):
    """What the eager engine offers to the layers below it.

    Example:
      >>> from evertrace import extend
      >>> [name for name in vars(extend.Backend) if not name.startswith("_")][:3]
      ['eager', 'call_jaxpr', 'interpret_jaxpr']
    """

    def eager(self, prim: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply a primitive to concrete arrays at once."""
        ...

    def call_jaxpr(self, closed_jaxpr: Any, args: Sequence[Any], name: str = ...) -> list[Any]:
        """Compile (cached on the jaxpr) and run a closed jaxpr on concrete arrays."""
        ...

    def interpret_jaxpr(self, closed_jaxpr: Any, args: Sequence[Any]) -> list[Any]:
        """Run a closed jaxpr equation by equation, without a compiler."""
        ...

    def operand(self, x: Any, where: str) -> Any:
        """Return what stands for an array-like value as an operand of primitives."""
        ...

    def wait(self, buffer: Any) -> None:
        """Wait until a buffer is computed."""
        ...

    def to_host(self, buffer: Any) -> Any:
        """Return a device buffer's contents as a read-only NumPy array."""
        ...

    def parts(self, buffer: Any) -> list[Any]:
        """Return (device, NumPy array) for each part on this process's devices."""
        ...

    def put(self, host: Any, device: Any, *, may_alias: bool) -> Any:
        """Copy a NumPy array into a buffer on `device`."""
        ...

    def check_platform(self) -> None:
        """Raise unless there is the platform that was asked for."""
        ...

    def default_device(self) -> Any:
        """Return the device on which uncommitted work runs."""
        ...


class _Mode(threading.local):
    """Per thread: how programs are run that could be compiled.

    Attributes:
      op_by_op: one operation after the other, all loops and calls, to look at each result.
      repeats: whether what runs was run before with the same operands (see `checkpoint`).
      steps: a list of what is applied to what, where that is noted (see `engines.host.recorded`).
    """

    op_by_op = False
    repeats = False
    steps: list[Any] | None = None


mode = _Mode()

resolver: Callable[[], Backend] | None = None
layouts: Callable[[], Any] | None = None
laid_out_type: Callable[[Any, Any], Any] | None = None
loaded: Backend | None = None  # what `backend` returns, once it has been called


def backend() -> Backend:
    """Return the eager engine, importing it on the first call."""
    global loaded
    if loaded is None:
        assert resolver is not None, "evertrace/__init__ sets the engine resolver"
        found = resolver()
        found.check_platform()
        loaded = found
    return loaded
