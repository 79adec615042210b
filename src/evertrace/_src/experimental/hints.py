"""What JAX's programs tell its compiler of a block of code; ours need none of it to be right."""

import contextlib
import re
from typing import Any, TypeVar

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.formats import Layout, row_major
from evertrace._src.support import set_module

T = TypeVar("T")

_COMPUTE = re.compile(r"device_host|device|tpu_sparsecore|gpu_stream:\d+")


class _Hint(contextlib.ContextDecorator):
    """A context manager, and decorator, that changes nothing."""

    def __call__(self, function):
        return function  # a jitted one keeps its methods

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None


@set_module("evertrace.experimental.compute_on")
def compute_on(compute_type: Any) -> Any:
    """Return a context manager, and decorator, that says which unit of a device computes.

    Args:
      compute_type: "device", "device_host", "tpu_sparsecore" or "gpu_stream:" with a number.

    Raises:
      ValueError: there is no such unit.

    On a CPU all of them are the same. Differs from JAX: on accelerators, too, it changes nothing.

    Example:
      >>> from evertrace.experimental.compute_on import compute_on
      >>> with compute_on("device_host"):
      ...     jnp.arange(3) + 1
      Array([1, 2, 3], dtype=int32)
    """
    if not isinstance(compute_type, str) or not _COMPUTE.fullmatch(compute_type):
        raise errors.user_error(
            ValueError,
            f"compute_on: there is no compute type {compute_type!r}.",
            fix='use "device", "device_host", "tpu_sparsecore" or "gpu_stream:1".',
            anchor="choice",
        )
    return _Hint()


@set_module("evertrace.experimental.xla_metadata")
def set_xla_metadata(x: Any = None, **metadata: Any) -> Any:
    """Return a context manager for attaching metadata to what is computed; or a tree as it is.

    Args:
      x: a tree of arrays to attach it to, in place of a block.
      **metadata: names and values.

    Differs from JAX: the texts of programs do not show it.

    Example:
      >>> from evertrace.experimental.xla_metadata import set_xla_metadata
      >>> with set_xla_metadata(stage="first"):
      ...     jnp.arange(3) + 1
      Array([1, 2, 3], dtype=int32)
    """
    del metadata
    return _Hint() if x is None else x


@set_module("evertrace.experimental.layout")
def with_layout_constraint(x: T, layouts: Any) -> T:
    """Return a tree of arrays, which have to be laid out in memory as they are: row-major.

    Args:
      x: a tree of arrays.
      layouts: a `Layout`, or a tree of them like `x`.

    Raises:
      NotImplementedError: for any other layout.

    Example:
      >>> from evertrace.experimental.layout import Layout, with_layout_constraint
      >>> with_layout_constraint(jnp.ones((2, 1)), Layout((0, 1)))
      Array([[1.],
             [1.]], dtype=float32)
    """
    leaves, structure = tree.flatten(x)
    if isinstance(layouts, Layout):
        wanted = [layouts] * len(leaves)
    else:
        wanted = structure.flatten_up_to(layouts)
    arrays = [as_array(leaf, "with_layout_constraint") for leaf in leaves]
    for array, layout in zip(arrays, wanted, strict=True):
        if tuple(layout.major_to_minor) != tuple(row_major(array.ndim).major_to_minor):
            raise errors.user_error(
                NotImplementedError,
                f"with_layout_constraint: arrays are row-major, got {layout}.",
                fix=f"use `Layout({tuple(range(array.ndim))})`, or transpose the array.",
                anchor="unsupported",
            )
    return tree.unflatten(structure, arrays)
