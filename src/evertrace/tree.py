"""Functions on pytrees: flatten, map, reduce and the rest, under short names."""

from evertrace._src import lazy, native
from evertrace._src.api.trees import tree_all as all
from evertrace._src.api.trees import tree_flatten as flatten
from evertrace._src.api.trees import tree_flatten_with_path as flatten_with_path
from evertrace._src.api.trees import tree_leaves as leaves
from evertrace._src.api.trees import tree_leaves_with_path as leaves_with_path
from evertrace._src.api.trees import tree_map as map
from evertrace._src.api.trees import tree_map_with_path as map_with_path
from evertrace._src.api.trees import tree_reduce as reduce
from evertrace._src.api.trees import tree_structure as structure
from evertrace._src.tree import broadcast as broadcast
from evertrace._src.tree import reduce_associative as reduce_associative
from evertrace._src.tree import static as static
from evertrace._src.tree import transpose as transpose
from evertrace._src.tree import unflatten as unflatten

lazy.refuse_others(__name__)

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]

native.rename(globals(), *__all__)
