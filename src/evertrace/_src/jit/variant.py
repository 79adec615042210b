"""A variant: one traced program of a function, and when and how it may be used.

It is four small programs and a compiled one: the guards decide whether a call may use it, the
prologue computes Python's numbers, the gathers collect the compiled program's inputs, the
write-backs apply what the call changes. All of it is data, which `explain` prints.
"""

import contextlib
import time
from collections.abc import Container
from typing import Any, NamedTuple

from evertrace._src import dtypes, interrupts
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.call import jit_p
from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.core.tracer import EVAL, state
from evertrace._src.engines.inputs import as_input
from evertrace._src.extension import twin
from evertrace._src.jit import compiled
from evertrace._src.jit.lifting import callbacks, pending
from evertrace._src.jit.lifting.recipes import Kitchen, Out
from evertrace._src.jit.program import Program
from evertrace._src.transforms.filling import Filled
from evertrace._src.transforms.staging import close_jaxpr, hoist_consts


class Recorded(NamedTuple):
    """What a trace has recorded, from which a variant is made.

    Attributes:
      name: of the function.
      jaxpr, consts: the program, what it captured that is no input, as constvars.
      guards: the `Guards`.
      host: the `HostProgram`; leaves: indices of the nodes that its leaves come from.
      gathers: per input of the jaxpr, an index of a node or ``("slot", i)``.
      writes, effects, result: what is left behind and returned.
      donated: indices of the inputs that a call gives away.
      number: the `CallNumber` by which callbacks find their call, or None.
      rules: whether it holds custom rules of the user's, which read state when they are applied.
      constants: names of the numbers that are guarded by value, as code in C has refused them.
      seconds: what tracing took.
      sized: what the prologue has recorded of open sizes, see `hostsizes.kept`.
    """

    name: str
    jaxpr: Any
    consts: list
    guards: Any
    host: Any
    leaves: tuple
    gathers: list
    writes: list
    effects: list
    result: Any
    donated: tuple
    number: Any
    rules: bool
    constants: Container[str]
    seconds: float
    sized: Any = None


class _Counts:
    """The counts of a variant."""

    __slots__ = ("hits", "used")


_VariantBase: Any = twin(_Counts, "VariantBase")


class Variant(_VariantBase):
    """One traced program of a function; made from what was `Recorded`.

    Attributes:
      key: what it is kept under; see `bucket_key`.
      careful: whether a call draws what may have to be put back: it is then never run in C++.
      opening: the `Opening` that it was made of without a trace, or None.
      tries: what was tried to leave its sizes open counts as, up to `opening.MOST_TRIED`.
      reason: `Difference`s from the variant that was nearest when it was traced.
      hits: how many calls it served; used: when last, counted in the function's hits.
    """

    __slots__ = (
        "__weakref__", "careful", "consts", "created", "effects", "gathers", "guards", "host",
        "key", "leaves", "name", "opening", "plain", "program", "reason", "recorded", "result",
        "tries", "writes",
    )  # fmt: skip

    key: Any
    opening: Any
    reason: tuple

    def __init__(self, recorded, options):
        self.recorded, self.name = recorded, recorded.name
        self.guards, self.host, self.leaves = recorded.guards, recorded.host, recorded.leaves
        self.gathers, self.consts = tuple(recorded.gathers), tuple(recorded.consts)
        self.writes, self.effects = tuple(recorded.writes), tuple(recorded.effects)
        self.result = recorded.result
        self.plain = not (self.writes or self.effects) and type(self.result) is Out
        jaxpr = recorded.jaxpr
        jaxpr = jaxpr.hoisted() if type(jaxpr) is Filled else hoist_consts(jaxpr)
        n = len(self.consts)
        self.program = Program(
            jaxpr,
            self.name,
            donated=tuple(n + i for i in recorded.donated),
            keep_unused=options.keep_unused,
            device=options.device,
            compiler_options=options.compiler_options,
            engine=options.engine,
        )
        self.key, self.reason, self.created = None, (), time.time()
        self.opening, self.tries = None, 0
        self.hits = self.used = 0
        self.careful = self._draws_with_care()
        if self.guards.compiled is not None and not self.careful:
            self.compile_match(self.guards.compiled, self.host.compiled, tuple(self.leaves))

    @property
    def closed(self):
        """The program as other programs hold it."""
        return close_jaxpr(self.program.whole)

    def compiled_run(self):
        """Return what C++ runs the variant with; see `compiled.run_of`."""
        return compiled.run_of(self)

    def _draws_with_care(self):
        """Whether a call draws, and what it draws or does then may be refused."""
        if not self.host.late_names:
            return False
        writes = any(w.kind == "ndarray" for w in self.writes)
        return self.host.may_differ or writes or self.recorded.number is not None

    def match(self, roots):
        """Return the values of nodes and slots for a call, or None if the call is another's."""
        values = self.guards.match(roots)
        if values is None:
            return None
        slots = self.host.run([values[i] for i in self.leaves])
        return None if slots is None else (values, slots)

    def run(self, found, inline=False, moved=None):
        """Run for a call that `match` has accepted; returns the user's result.

        Args:
          found: what `match` has found.
          inline: whether a trace takes the equations of the program rather than a call of it.
          moved: id of an array -> what stands in its place, or None.

        Raises:
          Redrawn: the call is another variant's; nothing has changed.
        """
        values, slots = found
        if moved:
            values, slots = [[_moved(x, moved) for x in xs] for xs in (values, slots)]
        if not self.host.late_names:
            return self._run_drawn(values, slots, inline, moved)
        with self.host.all_or_nothing(slots) if self.careful else contextlib.nullcontext():
            self.host.run_late(slots)
            return self._run_drawn(values, slots, inline, moved)

    def _run_drawn(self, values, slots, inline, moved):
        made, done, orders = {}, 0, []
        if self.recorded.number is None:
            outs = self._compute(values, slots, inline, moved)
        else:
            with (
                callbacks.in_call(self.recorded.number, values, slots, made) as progress,
                pending.unchanged(self.writes, values, self.name),
            ):
                outs = self._compute(values, slots, inline, moved)
            done, orders = progress.effects, progress.orders
        if self.plain:
            return outs[self.result.position]
        later: list[Any] = []
        kitchen = Kitchen(values, slots, outs, made, later)
        prepared = [w.prepare(kitchen) for w in self.writes]
        result = self.result.make(kitchen)
        if prepared:
            with interrupts.held():  # all or nothing is written
                for write, new in zip(self.writes, prepared, strict=True):
                    write.apply(kitchen, new)
        pending.put_in_order(orders)
        for move in later:
            move()
        for effect in self.effects[done:]:
            effect.run(kitchen)
        return result

    def _compute(self, values, slots, inline, moved):
        inputs = [values[g] if type(g) is int else slots[g[1]] for g in self.gathers]
        if moved:
            inputs = [moved.get(id(x), x) for x in inputs]
        inputs = [*self.consts, *inputs] if self.consts else inputs
        if state.trace is EVAL:
            return self.program.run(inputs)
        operands = [
            as_operand(x)
            if dtypes.canonicalize_dtype(v.aval.dtype, True) == v.aval.dtype
            # NumPy's own numbers of 64 bits, which as operands of ours would be of 32
            else as_input(x, v.aval)
            for x, v in zip(inputs, self.program.whole.invars, strict=True)
        ]
        if inline:
            return eval_jaxpr(self.program.whole, (), *operands)
        return jit_p.bind(*operands, jaxpr=self.closed, name=self.name)


def _moved(x, moved):
    """Return what stands in the place of an array; NumPy's may be written to, and stay."""
    return moved.get(id(x), x) if isinstance(x, Array) else x
