"""Tracing the function of a kernel: refs go in, what they hold afterwards comes out.

A ref of a kernel is a `Ref` whose value is a tracer of the kernel's stage, so loops and branches in
the kernel carry it as they carry any state. They know it by a recorder: that of `jit`, or an
observer where nobody records.
"""

import contextlib
from contextvars import ContextVar
from typing import Any, NamedTuple

from evertrace._src import dims, errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.lifted import unchanging
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Jaxpr
from evertrace._src.core.tracer import state
from evertrace._src.jit.lifting.recorder import activate
from evertrace._src.jit.observe import Observer
from evertrace._src.ops.structural import full
from evertrace._src.pallas.blocks import INDEX, poison
from evertrace._src.pallas.specs import MemoryRef
from evertrace._src.ref.ref import Ref
from evertrace._src.signatures import function_name, misfit
from evertrace._src.transforms.staging import stage


class KernelRef(Ref):
    """A mutable array that a kernel is given: a block of an output, or scratch memory."""

    __slots__ = ()

    # A kernel is staged within the call, so strict rules have nothing to say of where it is used.

    def read(self):
        return self._value

    def _write(self, value):
        self._value = value


class InputRef(KernelRef):
    """A block of an input, which is a copy for one step of the grid."""

    __slots__ = ()

    def _write(self, value):
        raise errors.user_error(
            ValueError,
            f"pallas_call: a kernel does not write to its inputs ({self.aval}).",
            fix="make it an output, by `input_output_aliases` one that begins as the input; or "
            "copy it to scratch memory.",
            anchor="kernel-body",
        )


class _Grid(NamedTuple):
    """The grid of the kernel that is being traced."""

    sizes: tuple
    ids: tuple


_grid: ContextVar[_Grid | None] = ContextVar("grid of the kernel", default=None)


@contextlib.contextmanager
def within(sizes, ids):
    """Return a context in which a kernel's function is at a step of a grid."""
    token = _grid.set(_Grid(tuple(sizes), tuple(ids)))
    try:
        yield
    finally:
        _grid.reset(token)


def program_id(axis):
    """See `evertrace.experimental.pallas.program_id`."""
    return _axis("program_id", axis).ids[axis]


def num_programs(axis):
    """See `evertrace.experimental.pallas.num_programs`."""
    return dims.shown(_axis("num_programs", axis).sizes)[axis]


def _axis(where, axis):
    """Return the grid, which has an axis of this number."""
    grid = _grid.get()
    if grid is None:
        raise errors.user_error(
            ValueError,
            f"{where}: there is no grid outside of a kernel.",
            fix="call it in the function that is given to `pallas_call`.",
            anchor="kernel-grid",
        )
    if not 0 <= axis < len(grid.sizes):
        raise errors.user_error(
            ValueError,
            f"{where}: axis {axis} is out of bounds for the grid {grid.sizes}.",
            fix=f"use an axis from 0 to {len(grid.sizes) - 1}."
            if grid.sizes
            else "give `pallas_call` a grid.",
            anchor="kernel-grid",
        )
    return grid


class Traced(NamedTuple):
    """The function of a kernel as a jaxpr.

    Attributes:
      body: see `program.run`; what the function captures comes first.
      captured: those values, scalars.
    """

    body: Jaxpr
    captured: list


def trace(kernel, name, sizes, in_tree, inputs, outputs, scratch_tree, scratch):
    """Trace a kernel.

    Args:
      kernel: the user's function of refs.
      name: what errors call it.
      sizes: of the grid.
      in_tree: structure of the positional arguments: inputs, outputs, scratch.
      inputs: types of their blocks.
      outputs: likewise.
      scratch_tree: structure of scratch memory, a tuple or a dict.
      scratch: its types.
    """
    rank, given = len(sizes), [*inputs, *outputs, *scratch]
    num_refs = len(inputs) + len(outputs)

    def flat(*values):
        ids, contents = values[:rank], values[rank:]
        refs = [InputRef(x) for x in contents[: len(inputs)]]
        refs += [KernelRef(x) for x in contents[len(inputs) :]]
        args = tree.unflatten(in_tree, refs[:num_refs])
        memory: Any = tree.unflatten(scratch_tree, refs[num_refs:])
        args, kwargs = ((*args, *memory), {}) if type(memory) is tuple else (args, memory)
        _check_parameters(kernel, args, kwargs, len(inputs), len(outputs), len(scratch))
        with within(sizes, ids):
            result = unchanging(name, kernel)(*args, **kwargs)
        if result is not None:
            raise errors.user_error(
                ValueError,
                f"pallas_call: the kernel {function_name(kernel)} returns something; what it "
                "computes goes into the refs of its outputs.",
                fix="write `o_ref[...] = value`, and return nothing.",
                anchor="kernel-body",
            )
        return [as_operand(ref.read()) for ref in refs[len(inputs) :]]

    names = [f"program_id({i})" for i in range(rank)]
    with _watched(kernel):
        staged = stage(flat, [INDEX] * rank + given, name=name, names=names)
    for x, var in zip(staged.captured, staged.jaxpr.invars, strict=False):
        if x.aval.size > 1:  # a number, or the empty array of indices of some operation, is fine
            uses = (eqn for eqn in staged.jaxpr.eqns if any(v is var for v in eqn.invars))
            use = next(uses, None)
            raise errors.user_error(
                ValueError,
                f"pallas_call: the kernel {function_name(kernel)} captures an array, "
                f"{x.aval.str_short()}; a kernel sees arrays by its refs alone.",
                fix="pass it as an argument, or make it in the kernel (`jnp.arange`, `jnp.full`).",
                anchor="kernel-body",
                src=None if use is None else use.src,
            )
    return Traced(staged.jaxpr, staged.captured)


def _check_parameters(kernel, args, kwargs, *counts):
    """Raise if a kernel does not take its refs, of which there are so many of each kind."""
    wrong = misfit(kernel, args, kwargs)
    if wrong is None:
        return
    kinds = [f"{n} of {kind}" for n, kind in zip(counts, _KINDS, strict=True) if n]
    raise errors.user_error(
        TypeError,
        f"pallas_call: the kernel {function_name(kernel)} has the parameters {wrong}, but it is "
        f"given refs: {', '.join(kinds)}.",
        fix="give it one parameter for each argument and output, in this order, then for scratch "
        "memory; for a dict of memory, parameters of the names in it.",
        anchor="kernel-body",
    )


_KINDS = ("inputs", "outputs", "scratch memory")


@contextlib.contextmanager
def _watched(kernel):
    """Have loops and branches in a kernel know its refs."""
    if state.recorder is not None:
        yield
        return
    with activate(Observer("pallas_call", [kernel])):
        yield


# ------------------------------------------------------------------------ memory of kernels


def memory_aval(where, given):
    """Return the type that a user gave for memory."""
    if isinstance(given, MemoryRef):
        return given.inner_aval
    if hasattr(given, "shape") and hasattr(given, "dtype"):
        return ShapedArray(tuple(given.shape), given.dtype)
    raise errors.user_error(
        TypeError,
        f"{where}: {given!r} is no type of memory.",
        fix='use `pl.ANY(shape, dtype)`, such as `pl.ANY((8, 128), "float32")`.',
        anchor="kernel-specs",
    )


def new_memory(where, given):
    """Return a ref of undefined contents, of a type that a user gave."""
    aval = memory_aval(where, given)
    return KernelRef(full(aval, poison(aval.dtype)))
