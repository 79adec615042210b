"""What devices tell each other in a divided program, found by Shardy's passes without compiling it.

XLA's partitioner may join several of these, and leave out what it can do without. What an operation
needs of its neighbours on the mesh, as a slice does, is not among them; a loop's count once.
"""

import math
import re
from typing import Any, NamedTuple

from evertrace._src.core.propagation import divide_jaxpr
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.lower import Divided, lower_jaxpr

_KINDS = {
    f"sdy.{name}": name.replace("_", "-")
    for name in ("all_gather", "all_reduce", "all_to_all", "collective_permute", "reduce_scatter")
}
_PLACE = re.compile(r'"([^"]*)"\("([^"]*)":(\d+):')
_AXIS = re.compile(r'"((?:[^"\\]|\\.)*)"')


class Collective(NamedTuple):
    """One time that devices tell each other something.

    Attributes:
      kind: "all-gather", "all-reduce", "all-to-all", "collective-permute" or "reduce-scatter".
      axes: the axes of the mesh along which they do.
      bytes: of the result, on each device.
      operation: the operation it is done for.
      file, line: where that stands.
    """

    kind: str
    axes: tuple
    bytes: int
    operation: str
    file: str
    line: int


def collectives(jaxpr, name, sizes, inputs) -> tuple[list, list]:
    """Return the collectives of a divided program, and the divisions of its results.

    Args:
      jaxpr: the program, without constvars.
      name: of the program.
      sizes: dict: axis of the mesh -> its size.
      inputs: divisions.
    """
    outputs = divide_jaxpr(jaxpr, inputs, sizes)
    divided = Divided(tuple(sizes.items()), inputs, outputs)
    text, _ = lower_jaxpr(jaxpr, name, located=True, divided=divided)
    module = compat.partition_by_shardy(text)
    found = []
    with module.context:
        compat.walk(module, lambda op: _add(found, op, sizes))
    return found, outputs


def _add(found: list, op: Any, sizes) -> None:
    kind = _KINDS.get(op.name)
    if kind is None:
        return
    operation, file, line = _place(str(op.location))
    result = op.attributes["out_sharding"]
    parts = math.prod([sizes[a] for a in _names(result, sizes)])
    said = [op.attributes[k] for k in op.attributes if k != "out_sharding"]
    axes = {name: None for attr in said or [result] for name in _names(attr, sizes)}
    size = sum(map(_bytes, op.results)) // parts
    found.append(Collective(kind, tuple(axes), size, operation, file, line))


def _names(attribute: Any, sizes) -> list:
    """Return the axes of the mesh that an attribute of Shardy's names."""
    by_text = {str(a): a for a in sizes}
    return [by_text[name] for name in _AXIS.findall(str(attribute)) if name in by_text]


def _place(location: str) -> tuple[str, str, int]:
    """Return operation, file and line of a location of `lower._location`."""
    match = _PLACE.search(location)
    if match is None:
        return "", "", 0
    return match[1].rpartition("/")[2], match[2], int(match[3])


def _bytes(value: Any) -> int:
    """Return the size of a tensor, as its type says: ``tensor<2x4xf32>``."""
    *shape, element = str(value.type).removeprefix("tensor<").removesuffix(">").split("x")
    if element.startswith("complex"):
        bits = 2 * int(re.sub(r"\D", "", element))
    else:
        bits = int((re.findall(r"\d+", element) or ["8"])[0])
    return math.ceil(math.prod(map(int, shape)) * max(bits, 8) / 8)
