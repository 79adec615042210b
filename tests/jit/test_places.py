"""What people call a place of state, which errors name."""

import types
from collections import deque

import pytest

from evertrace._src.jit.lifting import entered, entered_names
from evertrace._src.jit.observe import Place


class Plain:
    """An object with attributes."""


class Key:
    """A key whose `__repr__` is not to be run while a function is traced."""

    def __repr__(self):
        raise AssertionError


NAMES = {
    "attribute": (entered.Attributes, Plain(), "model", "w", "model.w"),
    "item": (entered.Items, [1, 2], "layers", 1, "layers[1]"),
    "item of a deque": (entered.Items, deque([1]), "queue", 0, "queue[0]"),
    "entry": (entered.Entries, {"lr": 1}, "config", "lr", "config['lr']"),
    "entry under an object": (entered.Entries, {}, "table", Key(), "table[Key]"),
    "member": (entered.Members, {1}, "seen", 0, "seen"),
    "cell": (entered.CellContents, types.CellType(1), "count", "", "count"),
    "global": (entered_names.Names, {}, "step.__globals__", "rate", "global rate"),
    "global outside of jit": (entered_names.Names, {}, "", "rate", "global rate"),
    "attribute of a module": (entered_names.Names, {}, "config.__dict__", "rate", "config.rate"),
    "attribute of a function": (
        entered_names.FunctionAttributes, lambda: 0, "step.__dict__", "calls", "step.calls",
    ),
    "entry of a class": (entered_names.ClassEntries, Plain, "Plain", "count", "Plain.count"),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_name(name):
    view, thing, path, key, text = NAMES[name]
    assert view(thing, Place(path)).name_of(key) == text
