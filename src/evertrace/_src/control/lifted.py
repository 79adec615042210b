"""State that bodies change: carried by loops, joined by branches, an extra output of calls.

While a jitted function is traced, the user's functions run in place on the user's objects. A body
that does ``self.h = ...`` leaves a tracer of its own stage in `self.h`, where it must not stay. So
each body is run between two looks at the state: what it changed is noted and taken back, and what
the construct computes is put in its place.

  loops      `LoopState`: changed places become components of the carry. Which these are is found
             by staging the body, again with every new one, until there is none.
  branches   `RunState` per branch, then `join_branches`: every branch returns what any changed.
  calls      `RunState`: changed values are extra outputs.

Without a recorder (eager calls, strict rules) nothing is watched.
"""

import functools
from typing import Any, NamedTuple

from evertrace._src import config, dtypes, errors, source, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.bodies import (
    Body,
    as_type,
    same_type,
    structure_difference,
    type_text,
)
from evertrace._src.core.tracer import Tracer, state
from evertrace._src.support import merge, partition
from evertrace._src.transforms.staging import inline, stage


class LoopState:
    """The state that the body of a loop changes, as part of the loop's carry.

    Args:
      where: name of the loop.
      *functions: the user's.
      turns: their number, or None where it is unknown.

    Attributes:
      treedef: structure of the values: a tuple with one item per place.
    """

    def __init__(self, where, *functions, turns=None):
        self.where, self.functions, self.turns = where, functions, turns
        self.recorder = state.recorder
        self.treedef = tree.treedef_tuple([])
        self._slots, self._found, self._before = [], [], None
        self._turn: Any = None
        self._shown = []  # per place, a value of the structure, for the order of keys

    def run(self, values, turn):
        """Make a turn with its values in place; called in the stage of a body."""
        if self.recorder is not None:
            self._turn = values, turn
            self._before = self.recorder.snapshot(*self.functions)
            self._put(values)
        return turn()

    def _again(self):
        self.recorder.rewind(self._before)
        self.run(*self._turn)

    def leave(self):
        """Take back what the body did; returns the operands of the new values.

        Returns None if the body has changed further places: `grow`, and run it again.
        """
        if self.recorder is None:
            return []
        changes = self.recorder.changes(self._before, asks=True)
        _check_repeatable(
            self.where, self.recorder, changes, self._again, is_certain=bool(self.turns)
        )
        known = {slot.place for slot in self._slots}
        self._found = [slot for slot in changes.slots if slot.place not in known]
        outs = None if self._found else self._operands()
        if changes.slots:
            self.recorder.rewind(self._before)
        return outs

    def _operands(self):
        """Return the operands of what the places hold after a turn."""
        outs = []
        self._shown = [slot.get() for slot in self._slots]
        for slot, treedef in zip(self._slots, self.treedef.children(), strict=True):
            leaves, found = _flatten(self.where, slot, self.recorder.is_entered)
            if found != treedef:
                raise _structure_error(self.where, slot, treedef, found, "before", "after a turn")
            outs += leaves
        return outs

    def grow(self):
        """Take up the places that the last run found.

        Returns pairs (name, operands) of the places and the leaves of what they held at the start.
        """
        treedefs, pairs = self.treedef.children(), []
        for slot in self._found:
            leaves, treedef = _flatten(self.where, slot)
            pairs.append((slot.name, leaves))
            self._shown.append(slot.get())
            treedefs.append(treedef)
        self._slots += self._found
        self._found, self.treedef = [], tree.treedef_tuple(treedefs)
        return pairs

    def finish(self, leaves):
        """Put in place what the loop has computed."""
        if self.turns != 0:
            self._put(tree.unflatten(self.treedef, leaves))

    def _put(self, values):
        for slot, value, shown in zip(self._slots, values, self._shown, strict=True):
            slot.set(_in_order(value, shown))


class RunState:
    """What one run of a function changes, as extra outputs.

    Args:
      where: name of the construct.
      arrays: whether every changed value becomes an array, as in a branch. Otherwise only traced
        values are outputs; Python's numbers stay, and containers may grow.

    Attributes:
      changed: what was found, by place.
      count: number of extra outputs.
    """

    def __init__(self, where, arrays=False):
        self.where, self.arrays, self.recorder = where, arrays, state.recorder
        self.changed: dict[Any, _Changed] = {}
        self.count, self._before = 0, None
        self._run: Any = None

    def watch(self, fun):
        """Return the function, watched when it is called."""
        if self.recorder is None:
            return fun

        def watched(*args):
            self._before = self.recorder.snapshot(fun)
            self._run = functools.partial(fun, *args)
            return self._run()

        return watched

    def _again(self):
        self.recorder.rewind(self._before)
        self._run()

    def take(self):
        """Take back what the run did; returns the operands that stand for it."""
        if self.recorder is None:
            return []
        changes = self.recorder.changes(self._before, asks=self.arrays)
        slots, outs = changes.slots + changes.reshaped, []
        if self.arrays:
            _check_repeatable(self.where, self.recorder, changes, self._again)
        for slot in slots:
            if self.arrays:
                leaves, treedef = _flatten(self.where, slot, self.recorder.is_entered)
                is_out = [True] * len(leaves)
            else:
                leaves, treedef = tree.flatten(slot.get(), self.recorder.is_entered)
                is_out = [isinstance(x, Tracer) for x in leaves]
            kept, given = partition(is_out, leaves)
            places = range(len(outs), len(outs) + len(given))
            self.changed[slot.place] = _Changed(slot, treedef, places, is_out, kept, slot.get())
            outs += given
        if slots:
            self.recorder.rewind(self._before)
        self.count = len(outs)
        return outs

    def finish(self, out_tree, outs):
        """Return the outputs of a body and, after them, what stands for its changes."""
        return outs + self.take()

    def put(self, outs):
        """Put in place what the call has computed: the extra outputs, as arrays."""
        for slot, treedef, places, is_out, kept, shown in self.changed.values():
            leaves = merge(is_out, kept, [outs[i] for i in places])
            slot.set(_in_order(tree.unflatten(treedef, leaves), shown))


class _Changed(NamedTuple):
    """A slot that a run has changed.

    Attributes:
      slot: the slot.
      treedef: structure of its new value.
      places: positions among the extra outputs of those of its leaves that are there.
      is_out: which leaves these are.
      kept: the other leaves.
      shown: a value of the structure, for the order of keys.
    """

    slot: Any
    treedef: tree.PyTreeDef
    places: range
    is_out: list
    kept: list
    shown: Any


def join_branches(where, labels, runs, bodies):
    """Give all branches the same extra outputs: what any of them has changed.

    Args:
      where: name of the construct.
      labels: names of the branches.
      runs: the `RunState` that each was staged under.
      bodies: each branch's `Body`, with the operands of its `RunState` as last outputs.

    Returns:
      The new bodies, and a `RunState` for what they have in common.
    """
    slots = {place: found.slot for run in runs for place, found in run.changed.items()}
    joined = RunState(where)
    if not slots:
        return bodies, joined
    columns = [
        _Column(where, labels, slot, [run.changed.get(place) for run in runs], bodies)
        for place, slot in slots.items()
    ]
    count = 0
    for place, column in zip(slots, columns, strict=True):
        n = len(column.avals)
        places = range(count, count + n)
        joined.changed[place] = _Changed(
            column.slot, column.treedef, places, [True] * n, [], column.shown
        )
        count += n
    return [_with_outputs(body, i, columns) for i, body in enumerate(bodies)], joined


class _Column:
    """What the branches leave in one slot.

    Attributes:
      slot: the slot.
      treedef, avals: what all agree on.
      entry: the operands it held before, for those branches that leave it as it was.
      shown: a value of the structure.
      found: per branch a `_Changed` or None.
    """

    def __init__(self, where, labels, slot, found, bodies):
        self.slot, self.found, self.entry = slot, found, None
        self.shown = next(changed.shown for changed in found if changed is not None)
        kinds = []  # triples (who, treedef, avals)
        if not all(found):
            self.entry, treedef = _flatten(where, slot)
            kinds.append(("on entry", treedef, [x.aval for x in self.entry]))
        for label, changed, body in zip(labels, found, bodies, strict=True):
            if changed is not None:
                outs = body.jaxpr.out_avals[body.out_tree.num_leaves :]
                kinds.append((f"after {label}", changed.treedef, [outs[i] for i in changed.places]))
        who, self.treedef, _ = kinds[0]
        for other, treedef, _ in kinds[1:]:
            if treedef != self.treedef:
                raise _structure_error(where, slot, self.treedef, treedef, who, other)
        rows = [avals for _, _, avals in kinds]
        self.avals = [_common_type(avals) for avals in zip(*rows, strict=True)]
        if None in self.avals:
            i = self.avals.index(None)
            raise _type_error(where, slot, [(who, avals[i]) for who, _, avals in kinds])


def _common_type(avals):
    """Return the type to which weakly typed ones among some convert, or None."""
    first = avals[0]
    if all(same_type(first, a) for a in avals):
        return first.update(weak_type=all(a.weak_type for a in avals))
    dtype, weak = dtypes.lattice_result_type(*avals)
    if any(a.shape != first.shape or not (a.weak_type or a.dtype == dtype) for a in avals):
        return None
    return first.update(dtype=dtype, weak_type=weak)


def _with_outputs(body, index, columns):
    """Return a branch that returns, after the user's outputs, what each column says."""
    n, count = body.out_tree.num_leaves, len(body.captured)

    def fun(*xs):
        outs, extra = inline(body.jaxpr, *body.captured, *xs), []
        for column in columns:
            changed = column.found[index]
            values = column.entry if changed is None else [outs[n + i] for i in changed.places]
            extra += [as_type(x, a) for x, a in zip(values, column.avals, strict=True)]
        return outs[:n] + extra

    staged = stage(fun, body.jaxpr.in_avals[count:])
    return Body(staged.jaxpr, staged.captured, body.out_tree)


# ---------------------------------------------------------------- functions that change nothing


def unchanging(where, fun):
    """Return a function that raises if `fun` changes state."""
    recorder = state.recorder
    if recorder is None:
        return fun

    def watched(*args, **kwargs):
        before = recorder.snapshot(fun)
        result = fun(*args, **kwargs)
        changes = recorder.changes(before)

        def again():
            recorder.rewind(before)
            fun(*args, **kwargs)

        for slot in (*changes.slots, *changes.reshaped):
            raise errors.user_error(
                TypeError,
                f"{where}: the function changes {slot.name}; it may be called any number of times "
                "and must leave state as it is.",
                fix="return the value, and store it outside of the call.",
                anchor="loop-state",
                src=source.line_that_changes(slot.mark, again),
            )
        return result

    return watched


# ---------------------------------------------------------------- errors


def _flatten(where, slot, is_leaf=None):
    """Return the leaves of what a slot holds as operands, and their structure.

    New values are flattened with the recorder's `is_entered`: a container of the user's that a body
    stores elsewhere would come out as another one.
    """
    leaves, treedef = tree.flatten(slot.get(), is_leaf)
    try:
        return [as_operand(x, where) for x in leaves], treedef
    except TypeError:
        kinds = {type(x).__name__ for x in leaves if not _is_array(x)}
    raise errors.user_error(
        TypeError,
        f"{where}: the body changes {slot.name}, which holds a {' and a '.join(sorted(kinds))}; "
        "what changes in a body must be an array, a number or a tree of them.",
        fix="change its attributes in place, register its class as a pytree, or change it outside.",
        anchor="loop-state",
    )


def _in_order(made, shown):
    """Return a tree with the keys of its dicts in the order of another one; flattening sorts them.

    Both have one structure.
    """
    if made is shown:  # a leaf that was kept
        return made
    if type(shown) is dict:
        return {k: _in_order(made[k], x) for k, x in shown.items()}
    if type(shown) in (list, tuple):
        return type(shown)(_in_order(a, b) for a, b in zip(made, shown, strict=True))
    return made


def _is_array(x):
    try:
        as_operand(x)
    except TypeError:
        return False
    return True


def _check_repeatable(where, recorder, changes, again, is_certain=False):
    """Raise unless what a body did can be done any number of times, or not at all.

    `again` runs it once more, for the line that changes what it must not.

    If it is certainly done, it may set what an object had only from its class. Libraries that were
    written for JAX note what they made, such as the parts of a module, while the body is traced.
    """
    for call in changes.calls if config.current().impurity == "error" else ():
        raise errors.user_error(
            errors.ImpurityError,
            f"{where}: a compiled program does once per call, not in every turn of a loop nor only "
            f"in the branch that is chosen, what the body calls: {call}.",
            fix="call it outside; to print, `debug.print`; to draw, `random` with a key.",
            src=source.line_that_changes(changes.mark, again),
        )
    new = [] if is_certain else [slot for slot in changes.slots if slot.is_new]
    grown = () if changes.reshaped and recorder.serves_library() else changes.reshaped
    for place in (*grown, *new):
        raise errors.user_error(
            TypeError,
            f"{where}: the body adds to or removes from {place.name}; all turns and branches of "
            "a compiled program have the same state, so nothing can grow, shrink or first be set.",
            fix="return the values (`scan` stacks them), write to an array with `x.at[i].set(v)`, "
            "or give the attribute, key or variable a value before.",
            anchor="loop-state",
            src=source.line_that_changes(place.mark, again),
        )


def _structure_error(where, slot, a, b, who, other):
    place, first, second = structure_difference(a, b)
    return errors.user_error(
        TypeError,
        f"{where}: {slot.name} must keep its structure; {place} it has {first} {who} and {second} "
        f"{other}.",
        fix="set it before to a value in the containers, with the keys, that it gets inside.",
        anchor="loop-state",
    )


def _type_error(where, slot, kinds):
    text = ", ".join(f"{type_text(aval)} {who}" for who, aval in kinds)
    return errors.user_error(
        TypeError,
        f"{where}: {slot.name} must have one type whichever branch runs; it is {text}.",
        fix="convert or broadcast one of them, e.g. with `astype`.",
        anchor="loop-state",
    )
