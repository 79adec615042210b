"""The text of a whole kernel: its grid, its blocks, and the steps of a program.

Programs of a GPU run side by side, steps of a grid one after the other. An axis of the grid along
which no two steps see one block of an output becomes programs. All other axes are loops within a
program, so that what steps hand on by blocks and scratch memory is what it is elsewhere.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np

from evertrace._src.core.jaxpr import Jaxpr, Literal
from evertrace._src.pallas.blocks import Blocks, poison
from evertrace._src.pallas.gpu import indexing  # noqa: F401
from evertrace._src.pallas.gpu.builder import INT32
from evertrace._src.pallas.gpu.loops import counted
from evertrace._src.pallas.gpu.lowering import Lowering
from evertrace._src.pallas.gpu.memory import add
from evertrace._src.pallas.gpu.structure import put_all
from evertrace._src.pallas.gpu.values import Axis, Root, View, memory_type
from evertrace._src.pallas.program import Grid
from evertrace._src.pallas.specs import Squeezed
from evertrace._src.transforms.dce import dce_jaxpr


class Text(NamedTuple):
    """A kernel as Triton takes it.

    Attributes:
      name: of the function.
      ir: the module, as text. Its arguments are pointers: to the values that index maps capture,
        the inputs, for each alias to the memory that its output takes over, and the outputs.
      programs: how many programs run.
    """

    name: str
    ir: str
    programs: int


def triton_text(jaxpr: Jaxpr, grid: Grid, captured: Any, name: str) -> Text:
    """Return the text of a kernel.

    Args:
      jaxpr: its body, see `program.run`.
      grid: its `Grid`.
      captured: avals of what index maps capture.
      name: of the kernel.

    Raises:
      NotImplementedError: Triton cannot do what the kernel does.
    """
    return _Kernel(jaxpr, grid, captured, name).text()


class _Output(NamedTuple):
    """An output.

    Attributes:
      blocks: its `Blocks`.
      root: the array.
      captured: what the index map captures.
      level: after how many of the axes that are loops it is known which block a step sees.
      is_fresh: whether no earlier step has seen the block, and nothing is in it.
    """

    blocks: Blocks
    root: Root
    captured: list
    level: int
    is_fresh: bool


class _Kernel:
    def __init__(self, jaxpr, grid, captured, name):
        self.body, _ = dce_jaxpr(
            jaxpr, [True] * len(jaxpr.outvars), keep_inputs=range(len(jaxpr.invars))
        )
        self.grid, self.name, self.lw = grid, name, Lowering(name)
        self.arguments: list[str] = []
        self.captured = [View(self._root(aval), (), (), 0) for aval in captured]
        self.inputs = [self._root(b.aval) for b in grid.inputs]
        aliased = {o for _, o in grid.aliases}
        for _, o in grid.aliases:
            self._root(grid.outputs[o].aval)
        self.loops = _loops(self.body, grid)
        maps = iter(self.captured)
        self.in_captured = [[next(maps) for _ in range(b.num_captured)] for b in grid.inputs]
        self.outputs = []
        for o, b in enumerate(grid.outputs):
            root = self._root(b.aval, is_output=True)
            level = self._level(b)
            cut = [any(b.axis_of(d) == a for d in range(len(b.dims))) for a in self.loops[:level]]
            values = [next(maps) for _ in range(b.num_captured)]
            fresh = o not in aliased and all(cut)
            root.is_undefined = fresh
            self.outputs.append(_Output(b, root, values, level, fresh))

    def _root(self, aval, is_output=False):
        element = memory_type(aval.dtype)
        if element is None:
            raise self.lw.unsupported(
                f"an array is {aval.str_short()}", "which Triton does not take"
            )
        name = f"%arg{len(self.arguments)}"
        self.arguments.append(f"{name}: !tt.ptr<{element}> {{tt.divisibility = 16 : i32}}")
        root = Root(name, aval, is_output)
        self.lw.roots.append(root)
        return root

    def _level(self, blocks):
        """Return after how many loops the block of a step is known."""
        ids = blocks.index_map.invars[blocks.num_captured :]
        used = {id(v) for eqn in blocks.index_map.eqns for v in eqn.invars}
        used |= {id(v) for v in blocks.index_map.outvars}
        return max([i + 1 for i, axis in enumerate(self.loops) if id(ids[axis]) in used], default=0)

    def text(self):
        """Return the `Text`."""
        function = re.sub(r"[^A-Za-z0-9_]", "_", self.name)
        programs = math.prod(n for a, n in enumerate(self.grid.sizes) if a not in self.loops)
        ids = self._ids(programs)
        scratch = [self.lw.b.full(poison(a.dtype), a.dtype, a.shape) for a in self.grid.scratch]
        states: list = [None] * len(self.outputs)
        self._steps(0, ids, states, scratch)
        head = f"  tt.func public @{function}({', '.join(self.arguments)}) {{"
        lines = ["module {", head, *self.lw.b.lines, "    tt.return", "  }", "}"]
        return Text(function, "\n".join(lines) + "\n", programs)

    def _ids(self, programs):
        """Return the indices of a step: those of loops are None yet."""
        b, sizes = self.lw.b, self.grid.sizes
        ids: list = [None] * len(sizes)
        rest = None
        axes = [a for a in range(len(sizes)) if a not in self.loops]
        for axis in axes:
            if sizes[axis] == 1:
                ids[axis] = b.int32(0)
        axes = [a for a in axes if sizes[a] > 1]
        if programs >= 2**31:
            raise self.lw.unsupported(f"the grid has {programs} programs", "the most are 2**31 - 1")
        for axis in reversed(axes):
            if rest is None:
                rest = b.op("tt.get_program_id x : i32", (), INT32)
            size = b.int32(sizes[axis])
            is_first = axis == axes[0]
            ids[axis] = rest if is_first else b.binary("arith.remsi", rest, size)
            rest = rest if is_first else b.binary("arith.divsi", rest, size)
        return ids

    def _steps(self, level, ids, states, scratch):
        """Write the steps whose first indices are known; returns outputs and scratch."""
        opened = [o for o, out in enumerate(self.outputs) if out.level == level]
        states = list(states)
        for o in opened:
            out = self.outputs[o]
            states[o] = self._view(out.blocks, out.root, out.captured, ids)
            out.root.is_undefined = out.is_fresh
        places = {o: states[o] for o in opened}
        if level == len(self.loops):
            states, scratch = self._step(ids, states, scratch)
        else:
            states, scratch = self._loop(level, ids, states, scratch)
        finished: list = list(states)
        for o in opened:
            state = states[o]
            if not places[o].is_place_of(state):
                put_all(self.lw, places[o]._replace(version=self.outputs[o].root.version), state)
            finished[o] = None
        return finished, scratch

    def _loop(self, level, ids, states, scratch):
        axis = self.loops[level]
        carried = [o for o, out in enumerate(self.outputs) if out.level <= level]
        kept = scratch if axis >= self.grid.hidden else []

        def body(index, values):
            now = list(states)
            for o, x in zip(carried, values, strict=False):
                now[o] = x
            memory = values[len(carried) :] if kept else scratch
            inner = [index if a == axis else x for a, x in enumerate(ids)]
            after, memory = self._steps(level + 1, inner, now, memory)
            return [*[after[o] for o in carried], *(memory if kept else [])]

        b = self.lw.b
        begin = [*[states[o] for o in carried], *kept]
        found = counted(self.lw, b.int32(0), b.int32(self.grid.sizes[axis]), begin, body)
        states = list(states)
        for o, x in zip(carried, found, strict=False):
            states[o] = x
        return states, found[len(carried) :] if kept else scratch

    def _step(self, ids, states, scratch):
        """Write one step."""
        grid = self.grid
        ins = [
            self._view(b, root, values, ids)
            for b, root, values in zip(grid.inputs, self.inputs, self.in_captured, strict=True)
        ]
        results = self.lw.run(self.body, [*ids[grid.hidden :], *ins, *states, *scratch])
        count = len(states)
        return results[:count], [self.lw.tensor(x) for x in results[count:]]

    def _view(self, blocks, root, captured, ids):
        """Return the block of a step."""
        lw, axes, shape = self.lw, [], []
        strides = np.cumprod([1, *reversed([d.array_size for d in blocks.dims])])[-2::-1]
        indices = lw.run(blocks.index_map, [*captured, *ids]) if blocks.dims else []
        for dim, stride, index in zip(blocks.dims, strides, indices, strict=True):
            position = None
            if dim.kind is not Squeezed:
                position = len(shape)
                shape.append(dim.size)
            start = self._start(dim, lw.tensor(index))
            before, after = dim.padded
            axis = Axis(int(stride), dim.array_size, start, bool(before or after), position)
            axes.append(axis._replace(before=bool(before)))
        return View(root, tuple(shape), tuple(axes), root.version)

    def _start(self, dim, index):
        b = self.lw.b
        if dim.is_element:
            return add(self.lw, index, b.int32(-dim.padding[0]))
        if dim.is_whole:
            return b.int32(0)
        if index.const is not None:
            return b.int32(int(index.const) * dim.size)
        return index if dim.size == 1 else b.binary("arith.muli", index, b.int32(dim.size))


# ------------------------------------------------------------------------ which axes are loops


def _loops(body, grid):
    """Return the axes whose steps have to run one after the other, in their order."""
    rank = len(grid.sizes)
    own = [a for a in range(rank) if grid.sizes[a] > 1]
    found = [a for a in own if not all(_is_cut(b, a) for b in grid.outputs)]
    if not grid.scratch:
        return found
    visible = [a for a in found if a >= grid.hidden]
    last = [a for a in range(visible[0], rank) if a in own] if visible else []
    if visible and _begins_anew(body, grid, last):
        return [a for a in found if a < grid.hidden] + last
    if not visible and not _reads_scratch(body, grid, {}):
        return found
    return [a for a in found if a < grid.hidden] + [a for a in own if a >= grid.hidden]


def _is_cut(blocks, axis):
    """Whether two steps with different indices of an axis never see one block."""
    return any(blocks.axis_of(d) == axis for d in range(len(blocks.dims)))


def _begins_anew(body, grid, axes):
    """Whether the first of the steps along some axes reads nothing of what scratch memory held."""
    known = {a - grid.hidden: np.int32(0) for a in axes if a >= grid.hidden}
    return not _reads_scratch(body, grid, known)


def _reads_scratch(body, grid, known_ids):
    """Whether the body may read scratch memory, or leave it, as it found it."""
    known = {id(body.invars[i]): x for i, x in known_ids.items()}
    memory = {id(v) for v in body.invars[len(body.invars) - len(grid.scratch) :]}
    left = _reads(body, known, memory)
    return left is None or any(id(v) in left for v in body.outvars)


def _reads(jaxpr, known, memory):
    """Return which variables are the memory as it was, or None if anything reads it.

    Args:
      jaxpr: the jaxpr.
      known: `id` of a variable -> its number.
      memory: `id`s of the inputs that are the memory.
    """
    memory = set(memory)
    for eqn in jaxpr.eqns:
        values = [v.val if type(v) is Literal else known.get(id(v)) for v in eqn.invars]
        if eqn.primitive.name == "cond" and values[0] is not None:
            branches = eqn.params["branches"]
            branch = branches[min(max(int(values[0]), 0), len(branches) - 1)].jaxpr
            given = zip(branch.invars, eqn.invars[1:], values[1:], strict=True)
            given = list(given)
            inner = _reads(
                branch,
                {id(v): x for v, _, x in given if x is not None},
                {id(v) for v, outer, _ in given if id(outer) in memory},
            )
            if inner is None:
                return None
            pairs = zip(eqn.outvars, branch.outvars, strict=True)
            memory |= {id(outer) for outer, v in pairs if id(v) in inner}
        elif any(id(v) in memory for v in eqn.invars):
            return None
        elif all(x is not None for x in values) and eqn.primitive.host is not None:
            outs = eqn.primitive.host(*values, **eqn.params)
            if len(eqn.outvars) == 1 and not eqn.outvars[0].aval.shape:
                known[id(eqn.outvars[0])] = np.asarray(outs)[()]
    return memory
