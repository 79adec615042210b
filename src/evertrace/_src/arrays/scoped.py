"""An array as treescope shows it, where that is installed: a line that unfolds, and its picture.

Where it knows arrays itself, by JAX's name, it shows what it shows on JAX.
"""

import functools
import importlib
from typing import Any

import numpy as np

from evertrace._src.arrays import picture

_SHORT = 80  # characters of an array that is shown as it prints


def form(x: Any, path: str | None) -> Any:
    """Return what treescope shows of an array in a tree."""
    if _known("TREESCOPE_HANDLER_REGISTRY", x) is not None:
        return NotImplemented
    parts = importlib.import_module("treescope.rendering_parts")
    text = repr(x)
    if len(text) <= _SHORT and "\n" not in text:
        return parts.text(text)
    label = parts.siblings(
        parts.fold_condition(expanded=parts.text("# "), collapsed=parts.text("<")),
        parts.text(f"Array {picture.summary(x)}"),
        parts.fold_condition(collapsed=parts.text(">")),
    )
    contents = parts.fold_condition(expanded=parts.indented_children([parts.text(text)]))
    return parts.build_custom_foldable_tree_node(
        label=parts.comment_color_when_expanded(label), contents=contents, path=path
    )


def _known(registry, x):
    """Return treescope's own means to show an array, of those in a registry of its, or None."""
    return getattr(importlib.import_module("treescope.type_registries"), registry).get(type(x))


def adapter(x: Any) -> Any:
    """Return what treescope draws an array by."""
    known = _known("NDARRAY_ADAPTER_REGISTRY", x)
    return _own_adapter() if known is None else known


@functools.cache
def _own_adapter() -> Any:
    """Return what treescope draws arrays by: NumPy's, of an array's values."""
    base: Any = importlib.import_module("treescope.external.numpy_support").NumpyArrayAdapter
    parts = importlib.import_module("treescope.rendering_parts")

    class Adapter(base):
        def get_array_data_with_truncation(self, array: Any, mask: Any, edge_items_per_axis: Any):
            return super().get_array_data_with_truncation(
                np.asarray(array), None if mask is None else np.asarray(mask), edge_items_per_axis
            )

        def get_array_summary(self, array: Any, fast: bool):
            return parts.text(f"Array {picture.summary(array)}")

    return Adapter()
