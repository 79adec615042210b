"""sequential_vmap: a function that is applied to the examples of a batch one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evertrace._src import tree
from evertrace._src.control.custom_vmap import custom_vmap
from evertrace._src.lax.loops import map as lax_map
from evertrace._src.support import merge, partition, set_module


@set_module("evertrace.custom_batching")
def sequential_vmap(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that `vmap` applies to one example after the other, as `lax.map` does.

    Args:
      f: function of trees of arrays.

    Returns:
      The function; under `vmap` it is a `scan` over the batch: less memory, and `f` itself is never
      vectorised.

    Example:
      >>> square = ev.custom_batching.sequential_vmap(lambda x: x * x)
      >>> ev.vmap(square)(jnp.arange(3))
      Array([0, 1, 4], dtype=int32)
    """
    sequential = custom_vmap(f)

    @sequential.def_vmap
    def rule(axis_size, in_batched, *args):
        leaves, in_tree = tree.flatten(args)
        batched = tree.leaves(in_batched)
        shared, examples = partition(batched, leaves)

        def one(slices):
            return sequential(*tree.unflatten(in_tree, merge(batched, shared, slices)))

        out = lax_map(one, examples)
        return out, tree.map(lambda _: True, out)

    return sequential
