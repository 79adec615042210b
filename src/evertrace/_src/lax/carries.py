"""The carries of loops: their structure and types from turn to turn, and names for leaves."""

import functools
import types

from evertrace._src import dtypes, errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.bodies import as_type, same_type, structure_difference, type_text
from evertrace._src.control.lifted import LoopState
from evertrace._src.jit.opened import (
    OBJECT_NODES,
    has_objects,
    held,
    is_array,
    keeping,
    opened,
    opened_with_numbers,
)
from evertrace._src.signatures import signature_of


class Carry:
    """What a loop hands from turn to turn: the user's carry, then the state that the body changes.

    Args:
      where: name of the loop.
      label: function of a key path that returns what the user calls a leaf, such as ``c['w']``.
      value: the user's carry.
      *functions: the user's functions that the loop runs.
      turns: their number, or None where it is unknown.

    Objects in it are tried as three things (`opened.py`): as themselves, changed in place, until
    the body returns another object; then as nodes; then their numbers as leaves, too.

    Attributes:
      treedef: structure of the user's carry; count: number of its leaves.
      state: the `LoopState`.
      values: flat initial values; paths: what the user calls them.
    """

    def __init__(self, where, label, value, *functions, turns=None):
        self.where, self.label, self.value = where, label, value
        self.functions, self.turns = functions, turns
        self.nodes = list(OBJECT_NODES) if has_objects(value) else [opened]
        self._is_other, self._kept = False, {}
        self._take_up()

    def _take_up(self):
        """Take the initial carry apart, objects in it as the first of `nodes` says."""
        objects = tree.leaves(self.value) if self.nodes[0] is held else ()
        self.state = LoopState(self.where, *self.functions, *objects, turns=self.turns)
        pairs, self.treedef = tree.flatten_with_path(self.nodes[0](self.value))
        self.count = len(pairs)
        self.paths = [self.label(path) for path, _ in pairs]
        self.values = [as_operand(x, self.where) for _, x in pairs]
        numbers = self.nodes[0] is opened_with_numbers
        self._numbers = {i: x for i, (_, x) in enumerate(pairs) if numbers and not is_array(x)}

    def run(self, state, fun, value, *others):
        """Call the body with its carry and the like; no change to objects made for it is lost.

        Args:
          state: what is carried of the state that the body changes.
          fun: the body.
          value: the carry.
          *others: further arguments.
        """
        made = others if self.nodes[0] is held else (value, *others)
        call = functools.partial(keeping(self.where, fun, made), value, *others)
        return self.state.run(state, call)

    def close(self, value):
        """Return what the body returns as carry, with nodes in the place of objects."""
        return self.nodes[0](value)

    @property
    def avals(self):
        """Avals of the values."""
        return [x.aval for x in self.values]

    @property
    def behind(self):
        """What a body's inputs stand for: the initial values, which later ones lie as."""
        return [(x, 0) for x in self.values]

    def check_structure(self, out_tree):
        """Return whether the body returns a carry of the structure it takes.

        If not, it has to be staged again with other nodes for objects, or this raises.
        """
        if out_tree == self.treedef:
            return True
        if len(self.nodes) > 1:
            self._is_other = True
            self.state.leave()
            return False
        place, a, b = structure_difference(self.treedef, out_tree, self.nodes[0])
        raise errors.user_error(
            TypeError,
            f"{self.where}: the carry must keep its structure; {place} it has {a} on input and {b} "
            "on output.",
            fix="return the carry in the containers, with the keys, that the body got it in.",
            anchor="loop-carry",
        )

    def in_tree(self, *trees):
        """Return the structure of a body's arguments: carry, state and those of the given trees."""
        return tree.treedef_tuple([self.treedef, self.state.treedef, *trees])

    def take_state(self, outs):
        """Return the body's new carry, given the user's part of it.

        It is empty if the body has to be staged again, with more state in the carry.
        """
        changed = self.state.leave()
        return [] if changed is None else outs + changed

    def grow(self):
        """Take up what the body was found to change; returns whether there is any."""
        if self._is_other:
            self._is_other = False
            del self.nodes[0]
            self._take_up()
            return True
        pairs = self.state.grow()
        for name, leaves in pairs:
            self.paths += [name] * len(leaves)
            self.values += leaves
        return bool(pairs)

    def result(self, outs):
        """Put the final state in place; returns the user's carry, given the flat results."""
        self.state.finish(outs[self.count :])
        outs = [self._kept.get(i, x) for i, x in enumerate(outs[: self.count])]
        return tree.unflatten(self.treedef, outs)

    def keep_numbers(self, body):
        """Note the numbers of objects that the body hands on: they stay what they are."""
        given = body.jaxpr.invars[len(body.captured) :]
        self._kept = {i: x for i, x in self._numbers.items() if body.jaxpr.outvars[i] is given[i]}

    def settle(self, out_avals):
        """Bring weakly typed initial values to the dtypes the body returns.

        Whether types are weak is the body's affair, as in JAX: it gets what the initial value is,
        and what it returns is what the result is. Returns whether any changed, so that the body
        has to be staged again.
        """
        avals = [_settled(a, b) for a, b in zip(self.avals, out_avals, strict=True)]
        changed = avals != self.avals
        self.values = [as_type(x, a) for x, a in zip(self.values, avals, strict=True)]
        return changed

    def check_types(self, out_avals):
        """Raise unless the body returns a carry of the types it takes."""
        for path, a, b in zip(self.paths, self.avals, out_avals, strict=True):
            if not same_type(a, b):
                raise errors.user_error(
                    TypeError,
                    f"{self.where}: the carry component {path} has type {type_text(a)} on input "
                    f"but {type_text(b)} on output.",
                    fix=_type_fix(a, b),
                    anchor="loop-carry",
                )


def _settled(a, b):
    """Return the type of a weakly typed initial value of type `a` if the body makes `b` of it."""
    if not a.weak_type or a.shape != b.shape or a.dtype == b.dtype:
        return a
    dtype, _ = dtypes.lattice_result_type(a, b)
    return a.update(dtype=dtype, weak_type=False)


def _type_fix(a, b):
    if a.shape != b.shape:
        return "give the initial value the shape that the body returns, e.g. with `broadcast_to`."
    return f"convert the initial value, or the body's result with `astype({str(a.dtype)!r})`."


def parameter(fun, position):
    """Return the name of a positional parameter of the user's function."""
    if type(fun) is types.FunctionType and not fun.__dict__:  # nobody says otherwise: no search
        code = fun.__code__
        if position < code.co_argcount:
            return code.co_varnames[position]
    try:
        return list(signature_of(fun).parameters)[position]
    except (IndexError, TypeError, ValueError):
        return ("carry", "x")[position]


def named(name):
    """Return the function that labels leaves of a value the user calls `name`."""
    return lambda path: name + tree.keystr(path)


def labelled(*labels):
    """Return the function that labels leaves of a tuple whose items have labels of their own."""
    return lambda path: labels[path[0].idx](path[1:])


def stage_until_settled(carry, stage):
    """Stage a body, again if the carry's types change; returns it with the carry's types kept.

    `stage` is a function of the carry's avals; the body's first outputs are the new carry.
    """
    while True:
        body = stage(carry.avals)
        if carry.grow():
            continue
        n = len(carry.values)
        if not carry.settle(body.jaxpr.out_avals[:n]):
            carry.check_types(body.jaxpr.out_avals[:n])
            carry.keep_numbers(body)
            return body
