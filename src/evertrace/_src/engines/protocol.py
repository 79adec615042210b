"""What all engines fulfil: asked for a program, they offer a runner of it, or say why not.

An engine is a module with these functions, so that it is loaded when it is first asked. None knows
the others; `engines.choice` asks them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol


def _nobody_asks(name: str, seconds: tuple[Any, Any]) -> None:
    """Do nothing."""


class Request(NamedTuple):
    """What is asked for besides the program.

    Attributes:
      name: of the program, for profiles and messages.
      wanted: the engine that is asked for by name, or "auto".
      donated: indices of the inputs whose memory is given away.
      device: where to run, or None to follow the arguments.
      options: XLA's flags by name.
      watched: whether an option has results looked at.
      took: function (name, seconds of lowering and of compiling), called when that has been done.
    """

    name: str = "f"
    wanted: str = "auto"
    donated: tuple[int, ...] = ()
    device: Any = None
    options: Mapping[str, Any] = {}
    watched: Any = False
    took: Callable[[str, tuple[Any, Any]], None] = _nobody_asks


class Runner(Protocol):
    """A program as one engine runs it, on flat arguments: arrays, NumPy arrays, numbers."""

    @property
    def executables(self) -> dict[Any, Any]:
        """Where it was compiled for -> what XLA made of it; empty for engines without XLA."""
        ...

    @property
    def seconds(self) -> tuple[float | None, float | None]:
        """What lowering and compiling took the last time, or None for both."""
        ...

    @property
    def anywhere(self) -> bool:
        """Whether it runs on all devices, as arguments say; otherwise on the first CPU device."""
        ...

    @property
    def places(self) -> bool:
        """Whether results come with their shardings; otherwise they are laid out afterwards.

        A runner that does so has a method `flat_over(shardings)`, too: what C++ runs for inputs
        that lie so, None for what it runs for all.
        """
        ...

    def run(self, args: Sequence[Any]) -> list[Any]:
        """Run once; returns one array for each output."""
        ...

    def flat(self) -> Any:
        """Return what C++ runs it with: (name, parts, device); None for never, or NotImplemented.

        NotImplemented stands for not before it has been compiled.
        """
        ...


Reason = str | Callable[[], str]
"""What something is due to, a clause, or what words it: each new size has reasons, few are read."""


def in_words(reason: Reason) -> str:
    """Return a reason as a text."""
    return reason if isinstance(reason, str) else reason()


class Offer(NamedTuple):
    """An engine's answer.

    Attributes:
      runner: what runs the program, or None.
      reason: what the answer is due to.
      eqn: the equation that is to blame, or None.
    """

    runner: Runner | None
    reason: Reason
    eqn: Any = None

    @property
    def why(self) -> str:
        """The reason as a text."""
        return in_words(self.reason)


class Engine(Protocol):
    """What runs programs."""

    def offer(self, jaxpr: Any, request: Request) -> Offer:
        """Offer to run a jaxpr without constvars, or say why not; nothing is compiled yet."""
        ...


class EagerEngine(Engine, Protocol):
    """What runs single operations as well."""

    def apply(self, prim: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply a primitive to concrete arrays and literals at once."""
        ...
