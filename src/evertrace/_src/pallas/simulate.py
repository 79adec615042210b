"""Kernels run step by step in Python: which elements each step reads and writes, and what is wrong.

A step gets refs that count the elements of their arrays, so that races, indices out of bounds,
elements that nobody writes, and those that are read before, are found as they happen, with the line
of the kernel.
"""

import inspect
import itertools
import operator
from typing import NamedTuple

import numpy as np

from evertrace._src import config, source
from evertrace._src.arrays.interop import as_array
from evertrace._src.numpy.dslice import Slice
from evertrace._src.pallas.blocks import poison
from evertrace._src.pallas.kernel import within
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.kernels")


@public
class Access(NamedTuple):
    """A read or a write of a step, as `Kernel.trace` finds it; printed in words.

    Attributes:
      step: name of an axis of the grid -> the step's place.
      kind: "reads" or "writes".
      ref: name of the ref.
      where: for each dimension of the array, first element and the one behind the last.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> str(ek.Access({"n": 1}, "reads", "x_ref", ((2, 4), (0, 3))))
      '(n=1) reads x_ref[2:4, 0:3]'
    """

    step: dict[str, int]
    kind: str
    ref: str
    where: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        places = ", ".join([f"{a}:{b}" for a, b in self.where])
        return f"{_step_text(self.step)} {self.kind} {self.ref}[{places}]"


@public
class Finding(NamedTuple):
    """Something that `Kernel.check` has found.

    Attributes:
      kind: "race", "bounds", "unwritten" or "undefined".
      text: what it is, in words.

    Example:
      >>> from evertrace.experimental import kernels as ek
      >>> ek.Finding("race", "two steps").kind
      'race'
    """

    kind: str
    text: str


class _Simulation:
    """A run of all steps.

    Args:
      grid_names: names of the axes of the grid.
    """

    def __init__(self, grid_names):
        self.names, self.steps = grid_names, []
        self.accesses: list[Access] = []
        self.findings: dict[tuple, Finding] = {}

    def begin(self, ids):
        """Begin a step."""
        self.steps.append(ids)

    @property
    def now(self):
        return len(self.steps) - 1

    def text(self, step):
        return _step_text(dict(zip(self.names, self.steps[step], strict=True)))

    def note(self, kind, memory, elements):
        """Note an access to elements of an array, given by their flat numbers."""
        step = dict(zip(self.names, self.steps[-1], strict=True))
        inside = elements[elements >= 0]
        if inside.size:
            places = np.unravel_index(inside, memory.array.shape)
            where = tuple([(int(p.min()), int(p.max()) + 1) for p in places])
            self.accesses.append(Access(step, kind, memory.name, where))
        if memory.owner is None:
            return
        owners = memory.owner[inside]
        others = inside[(owners >= 0) & (owners != self.now)]
        if others.size:
            self._race(kind, memory, int(others[0]))
        undefined = inside[owners < 0]
        if kind == "reads" and undefined.size:
            self.find(
                "undefined",
                memory.name,
                f"{memory.name}[{_place(memory, undefined[0])}] is read by step "
                f"{self.text(self.now)} before anything is written there{_line()}",
            )
        if kind == "writes":
            memory.owner[inside] = self.now

    def _race(self, kind, memory, element):
        before = self.text(memory.owner[element])
        place = _place(memory, element)
        both = "also writes" if kind == "writes" else "reads"
        self.find(
            "race",
            memory.name,
            f"{memory.name}[{place}] is written by step {before}, and step "
            f"{self.text(self.now)} {both} it{_line()}",
        )

    def find(self, kind, name, text):
        """Keep the first finding of a kind for each ref."""
        self.findings.setdefault((kind, name), Finding(kind, text))


class _Memory:
    """An array of a call.

    Attributes:
      array: its contents; owner: of an output, the step that last wrote each element, or -1.
    """

    def __init__(self, name, array, is_output):
        self.name, self.array = name, array
        self.owner = np.full(array.size, -1) if is_output else None


class _Block:
    """What a step sees of an array: a ref."""

    __slots__ = ("_elements", "_memory", "_simulation", "_values")

    def __init__(self, simulation, memory, start, shape):
        self._simulation, self._memory = simulation, memory
        axes = [a + np.arange(n) for a, n in zip(start, shape, strict=True)]
        array = memory.array
        grids = np.ix_(*axes) if axes else ()
        inside = np.ones(shape, bool)
        numbers = np.zeros(shape, int)
        for g, n in zip(grids, array.shape, strict=True):
            inside = inside & (g < n)
            numbers = numbers * n + np.minimum(g, n - 1)
        self._elements = np.where(inside, numbers, -1)
        held = array.reshape(-1)[numbers] if array.size else np.zeros(shape, array.dtype)
        self._values = np.where(inside, held, poison(array.dtype)).astype(array.dtype)

    shape = property(lambda self: self._values.shape)
    dtype = property(lambda self: self._values.dtype)
    ndim = property(lambda self: self._values.ndim)
    size = property(lambda self: self._values.size)

    def __len__(self):
        return len(self._values)

    def __getitem__(self, index):
        index = self._index(index)
        self._simulation.note("reads", self._memory, np.ravel(self._elements[index]))
        return as_array(self._values[index])

    def __setitem__(self, index, value):
        index = self._index(index)
        elements = np.ravel(self._elements[index])
        self._simulation.note("writes", self._memory, elements)
        self._values[index] = np.asarray(value)
        written = np.ravel(self._values[index])
        inside = elements >= 0
        self._memory.array.reshape(-1)[elements[inside]] = written[inside]

    def _index(self, index):
        """Return an index as NumPy takes it, within bounds."""
        parts = index if type(index) is tuple else (index,)
        taken = sum(part is not None and part is not Ellipsis for part in parts)
        found, axis = [], 0
        for part in parts:
            if part is None or part is Ellipsis:
                found.append(part)
                axis += self.ndim - taken if part is Ellipsis else 0
                continue
            found.append(self._part(part, axis))
            axis += 1
        return tuple(found)

    def _part(self, part, axis):
        n = self.shape[axis]
        if isinstance(part, Slice):
            places = operator.index(part.start) + np.arange(part.size) * part.stride
            self._check(places, axis, n, f"{places[0]}:{places[-1] + 1}" if part.size else "")
            return np.clip(places, 0, n - 1)
        if isinstance(part, slice):
            return slice(*[None if x is None else operator.index(x) for x in _ends(part)])
        places = np.asarray(part)
        if places.dtype == bool:
            return places
        self._check(places, axis, n, str(places))
        clipped = np.clip(places, -n, n - 1)
        return clipped if places.ndim else int(clipped)

    def _check(self, places, axis, n, text):
        if places.size and (places.min() < -n or places.max() >= n):
            name, step = self._memory.name, self._simulation.text(self._simulation.now)
            self._simulation.find(
                "bounds",
                name,
                f"{name}: index {text} is out of bounds for dimension {axis} of a block of shape "
                f"{self.shape}, in step {step}{_line()}",
            )


def _place(memory, element):
    """Return the indices of an element of an array, as text."""
    return ", ".join([str(int(i)) for i in np.unravel_index(element, memory.array.shape)])


def _ends(part):
    return part.start, part.stop, part.step


def _line():
    src = source.user_source()
    return "" if src is None else f", at {source.format(src)}"


def _step_text(step):
    return f"({', '.join([f'{name}={i}' for name, i in step.items()])})"


def simulate(body, layout, arrays, ins, outs):
    """Run a kernel's steps; returns the accesses and the findings.

    Args:
      body: the function of refs.
      layout: how arrays are cut.
      arrays: the inputs, filled up to whole blocks.
      ins: for each input the names of its dimensions.
      outs: the same of the outputs.
    """
    labels = list(inspect.signature(body).parameters)
    simulation = _Simulation(list(layout.blocks))
    memories = [
        _Memory(label, np.asarray(x), False) for label, x in zip(labels, arrays, strict=False)
    ]
    for label, names, dtype in zip(labels[len(arrays) :], outs, layout.dtypes, strict=True):
        dtype = np.dtype(dtype)
        memories.append(_Memory(label, np.full(layout.shape(names), poison(dtype), dtype), True))
    with config.disable_jit():
        for ids in itertools.product(*map(range, layout.grid)):
            simulation.begin(ids)
            refs = []
            for memory, names in zip(memories, [*ins, *outs], strict=True):
                shape = layout.block_shape(names)
                start = [i * n for i, n in zip(layout.places(names)(*ids), shape, strict=True)]
                refs.append(_Block(simulation, memory, start, shape))
            with within(layout.grid, ids):
                body(*refs)
    for memory in memories:
        if memory.owner is not None and (memory.owner < 0).any():
            missing = np.flatnonzero(memory.owner < 0)
            first = [int(i) for i in np.unravel_index(missing[0], memory.array.shape)]
            simulation.find(
                "unwritten",
                memory.name,
                f"{memory.name}: {missing.size} of {memory.owner.size} elements are never "
                f"written, the first one is {first}",
            )
    return simulation.accesses, list(simulation.findings.values())
