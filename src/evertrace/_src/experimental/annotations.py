"""What tells compilers and profilers something, of `experimental`: values stay as they are."""

from __future__ import annotations

import os
from typing import Any

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import as_array
from evertrace._src.engines.xla import profiling
from evertrace._src.jit.laid_out import sharding_behind
from evertrace._src.ops.sharding_constraint import lay_out
from evertrace._src.support import set_module


@set_module("evertrace.experimental.shard_alike")
def shard_alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two trees whose arrays are laid out alike: as those of the first, if over a mesh.

    Args:
      x: a tree of arrays.
      y: a tree of the same structure, with arrays of the same shapes.

    Raises:
      ValueError: the structures or the shapes differ.

    Example:
      >>> from evertrace.experimental.shard_alike import shard_alike
      >>> x, y = shard_alike(jnp.ones(2), jnp.arange(2))
      >>> y
      Array([0, 1], dtype=int32)
    """
    x_leaves, structure = tree.flatten(x)
    y_leaves, other = tree.flatten(y)
    pairs = [[as_array(v, "shard_alike") for v in leaves] for leaves in (x_leaves, y_leaves)]
    shapes = [[v.shape for v in leaves] for leaves in pairs]
    if structure != other or shapes[0] != shapes[1]:
        raise errors.user_error(
            ValueError,
            f"shard_alike: trees {structure} and {other} with arrays of shapes {shapes[0]} and "
            f"{shapes[1]}.",
            fix="pass trees of one structure and arrays of the same shapes.",
            anchor="tree-structure",
        )
    alike = [_alike(one, other) for one, other in zip(*pairs, strict=True)]
    return tree.unflatten(structure, [v for v, _ in alike]), tree.unflatten(
        structure, [v for _, v in alike]
    )


def _alike(x, y):
    """Return two arrays, of which that which is laid out over a mesh decides for both."""
    of_x, of_y = sharding_behind(x)[0], sharding_behind(y)[0]
    if of_x is not None:
        return x, y if of_y == of_x else lay_out(y, of_x)
    return x if of_y is None else lay_out(x, of_y), y


@set_module("evertrace.experimental.profiler")
def get_profiled_instructions_proto(tensorboard_dir: str) -> bytes:
    """Return what a profile says of each instruction, XLA's message `ProfiledInstructionsProto`.

    Args:
      tensorboard_dir: folder of one run, ``<log_dir>/plugins/profile/<run>``.

    Returns:
      The message in bytes, which is empty for profiles of CPUs.

    Raises:
      evertrace.errors.JaxRuntimeError: there is no profile.

    Example:
      >>> import pathlib
      >>> from evertrace import profiler
      >>> from evertrace.experimental.profiler import get_profiled_instructions_proto
      >>> with profiler.trace("profile"):
      ...     _ = ev.jit(jnp.sin)(jnp.zeros(2))
      >>> get_profiled_instructions_proto(next(pathlib.Path("profile/plugins/profile").iterdir()))
      b''
    """
    return profiling.instructions_of_profile(os.fspath(tensorboard_dir))
