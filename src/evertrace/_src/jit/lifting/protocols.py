"""What the parts of the lifting ask of each other, as types."""

from collections.abc import Callable, Container
from typing import Any, Protocol

from evertrace._src.jit.lifting.guards import Node
from evertrace._src.jit.lifting.recorder import Recorder
from evertrace._src.jit.lifting.uses import Uses


class Lifting(Protocol):
    """The lifter of a trace, as its parts and the functions that lift each kind of value see it.

    Attributes:
      recorder: what the trace has read.
      constants: names of Python numbers that are guarded by value instead of being host scalars.
      functions, classes, namespaces, objects, spaces: the lifter's parts.
      partly: id of a container or tuple of which not all is read -> it, and its uses so far.
    """

    recorder: Recorder
    constants: Container[str]
    functions: Any
    classes: Any
    namespaces: Any
    objects: Any
    spaces: Any
    unwritten: Any
    partly: dict[int, tuple[Any, Any]]

    def lift(self, value: Any, node: Node, uses: Uses = None) -> Any:
        """Return what a value, found at a node, is inside of the trace."""
        ...

    def see(self, value: Any, uses: Uses = None) -> None:
        """Note what is done with a value besides: None for an ordinary read."""
        ...

    def see_all(self) -> None:
        """Leave nothing alone from now on: code looks where no read shows."""
        ...

    def stand_in(self, value: Any) -> Any:
        """Return what stands for an impure or a mathematical function, or None."""
        ...


Handler = Callable[[Lifting, Any, Node], Any]
"""How values of a kind are lifted: function (lifter, value, node) -> lifted value."""
