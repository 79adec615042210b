"""What the parts of the lifting ask of each other, as types."""

from collections.abc import Callable, Container
from typing import Any, Protocol

from evertrace._src.jit.lifting.guards import Node
from evertrace._src.jit.lifting.recorder import Recorder


class Lifting(Protocol):
    """The lifter of a trace, as its parts and the functions that lift each kind of value see it.

    Attributes:
      recorder: what the trace has read.
      constants: names of Python numbers that are guarded by value instead of being host scalars.
      functions, classes, namespaces, objects, spaces: the lifter's parts.
    """

    recorder: Recorder
    constants: Container[str]
    functions: Any
    classes: Any
    namespaces: Any
    objects: Any
    spaces: Any

    def lift(self, value: Any, node: Node, write_only: bool = False) -> Any:
        """Return what a value, found at a node, is inside of the trace."""
        ...

    def see(self, value: Any) -> None:
        """Note an ordinary read of a container."""
        ...

    def stand_in(self, value: Any) -> Any:
        """Return what stands for an impure or a mathematical function, or None."""
        ...


Handler = Callable[[Lifting, Any, Node], Any]
"""How values of a kind are lifted: function (lifter, value, node) -> lifted value."""
