"""Emission: from a jaxpr to the instructions of a tape (see `src/native/tape/program.h`).

A value is a dense array that only its dtype and its number of elements are known of. So reshapes
are nothing, and shapes stand in the numbers of the instructions that look at them. A rule for a
primitive, in `rules/<family>.py`, is a function

    rule(e, eqn, xs) -> value | list of values

of the emitter, the equation and the values of its operands. What a rule cannot express it refuses
by raising `NotNative` with the reason.
"""

import math
from collections import Counter
from typing import Any

import numpy as np

from evertrace._src import dtypes, extension, kernels
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.rules import RuleTable, failed_rule
from evertrace._src.engines.native import costs
from evertrace._src.engines.native.sizes import Deferred, WatchedError
from evertrace._src.ops.callback import CALL_EFFECTS

_FAMILIES = (
    "elementwise structural reduce dot indexing dynamic random windows linalg fft control groups "
    "callback exported"
)

emission = RuleTable(
    "the native engine", [f"evertrace._src.engines.native.rules.{f}" for f in _FAMILIES.split()]
)

CODES = kernels.CODES

_OPS = extension.codes("TAPE_OPS")
# Operations of tapes: `Op` in `tape/program.h`.
LOOP, SPREAD, ALIAS, COPY = _OPS["loop"], _OPS["spread"], _OPS["alias"], _OPS["copy"]
REDUCE, MATMUL, WINDOW_MATMUL = _OPS["reduce"], _OPS["matmul"], _OPS["window_matmul"]
SLICE, UPDATE, GATHER, SCATTER = _OPS["slice"], _OPS["update"], _OPS["gather"], _OPS["scatter"]
COND, WHILE, SCAN = _OPS["cond"], _OPS["while"], _OPS["scan"]
KERNEL, FUNCTION, CALL = _OPS["kernel"], _OPS["function"], _OPS["call"]

FUSED = frozenset((LOOP, SPREAD, ALIAS, COPY, SLICE, GATHER))
"""Operations that XLA makes no function of their own for: what reads them does them."""

_PATTERNS = extension.codes("PATTERNS")
SCALAR, ROW, COLUMN = _PATTERNS["scalar"], _PATTERNS["row"], _PATTERNS["column"]
"""Patterns of broadcasts that loops read in place: `Pattern` in `tape/program.h`."""

ANY = -1
"""In the place of the output that may be given the memory of an input: whichever it fits."""

LARGEST_CONSTANT = 1 << 16
"""Elements of arrays that are put into a tape, such as those of iota."""


class NotNative(Exception):
    """A program cannot become a tape.

    Attributes:
      reason: what is missing.
      eqn: the equation, or None.
    """

    def __init__(self, reason, eqn=None):
        super().__init__(reason)
        self.reason, self.eqn = reason, eqn


class _IsExtended(NotNative):
    """A rule has met an array of an extended dtype: it is to move the words behind it."""


def _physical(eqn):
    """Return an equation on random keys as one on their words."""
    avals = [v.aval for v in eqn.invars]
    return eqn.replace(
        params=eqn.primitive.physical(*avals, **eqn.params),
        invars=[v if type(v) is Literal else _Words(v.aval) for v in eqn.invars],
        outvars=[_Words(v.aval) for v in eqn.outvars],
    )


class _Words:
    """Stands for a variable by the aval of its memory."""

    def __init__(self, aval):
        if isinstance(aval.dtype, dtypes.ExtendedDType):
            shape = (*aval.shape, *aval.dtype.physical_suffix)
            aval = ShapedArray(shape, aval.dtype.physical_dtype)
        self.aval = aval


class Emitter:
    """The tape being written.

    Attributes:
      values: (dtype, size) of each value so far, by its number.
      code: the instructions so far.
      constants: (value, bytes) of those values that are part of the program.
      cost: an estimate of what a run takes, in nanoseconds: see `costs`.
      loop_cost: the part of it that loops, copies and reductions take.
      xla_cost: the same of XLA's code for it, without what a call takes.
      xla_kernels: how many functions XLA makes of it at least, besides fused loops.
      compilation: an estimate of what XLA takes to compile it, in nanoseconds.
      divide: from a jaxpr, and how often it runs, what takes the place of its equations, kernels of
        the fused engine among them, its outputs and what is left; None if nothing is fused.
      runs: how often a call of the program runs what is written, as an estimate.
      is_nested: whether it is the body of a loop, or a branch.
      fused: those kernels, see `fused.groups.Fused`.
      left: what is no part of one: how many operations, by (name, reason).
    """

    def __init__(self, divide=None, runs=1, is_nested=False):
        self.divide, self.runs, self.fused, self.left = divide, runs, [], Counter()
        self.is_nested = is_nested
        self.values, self.code, self.constants = [], [], []
        self.cost = self.xla_cost = self.compilation = self.loop_cost = 0.0
        self.xla_kernels = 0
        self._literals, self._computed = {}, set()

    # ------------------------------------------------------------ values

    def new(self, kind):
        """Return a new value of a (dtype, size)."""
        self.values.append(kind)
        return len(self.values) - 1

    def constant(self, value):
        """Return the value of a NumPy array or scalar that is part of the program."""
        if type(value) is Deferred:
            return self.deferred((CODES[value.dtype.name], 1), value)
        value = np.asarray(value)
        if value.size > LARGEST_CONSTANT:
            raise NotNative("a constant is large")
        code = CODES.get(value.dtype.name)
        if code is None:
            raise NotNative(f"there are no kernels for dtype {value.dtype}")
        made = self.new((code, value.size))
        self.constants.append((made, value.tobytes()))
        return made

    def deferred(self, kind, value):
        """Return the value of a (dtype, size) whose bytes are made of sizes."""
        made = self.new(kind)
        self.constants.append((made, value))
        return made

    def empty(self, kind):
        """Return a value of no elements."""
        made = self.new(kind)
        self.constants.append((made, b""))
        return made

    def scalar(self, value, code):
        """Return the value of a Python number in a dtype."""
        key = (repr(value), code)
        found = self._literals.get(key)
        if found is None:
            found = self._literals[key] = self.constant(_as_scalar(value, code))
        return found

    def literal(self, lit):
        """Return the value of a literal."""
        # Kept by itself, not by its address: programs that rules trace are gone once written.
        found = self._literals.get(lit)
        if found is None:
            self._literals[lit] = found = self.constant(lit.val)
        return found

    def size_of(self, values):
        """Return how many bytes some values have."""
        return sum(self.values[x][1] * item_size(self.values[x][0]) for x in values)

    # ------------------------------------------------------------ instructions

    def spend(self, tape, xla=None, compilation=0.0):
        """Add nanoseconds to the estimates; without the second XLA is taken to need the same."""
        self.cost += tape
        self.xla_cost += tape if xla is None else xla
        self.compilation += compilation

    def add(self, op, outs, ins, name="", numbers=(), bodies=()):
        """Append an instruction."""
        self.cost += costs.NS_PER_OP
        if op in FUSED:
            self.compilation += costs.XLA_NS_TO_COMPILE_LOOP
        else:
            self.xla_kernels += 1
            self.compilation += costs.XLA_NS_TO_COMPILE_KERNEL
        self.code.append((op, outs, ins, name, numbers, bodies))

    def loop(self, name, ins, out, param=0):
        """Apply an elementwise kernel; returns a value of kind `out`."""
        key = (name, out[0], *[self.values[x][0] for x in ins])
        try:
            tape, xla = _loops[key]
        except KeyError:
            tape, xla = _loops[key] = _loop_costs(key)
        if tape < 0:
            raise NotNative(f"there is no kernel for {name} of {_names(key[2:])}")
        made = self.new(out)
        self.code.append((LOOP, (made,), ins, name, (param,) if param else (), ()))
        self.compilation += costs.XLA_NS_TO_COMPILE_LOOP
        self.cost += costs.NS_PER_OP + tape * out[1]
        self.loop_cost += tape * out[1]
        self.xla_cost += xla * out[1]
        self._computed.add(made)
        return made

    def convert(self, x, code):
        """Convert a value to a dtype."""
        kind = self.values[x]
        return x if kind[0] == code else self.loop("convert_element_type", (x,), (code, kind[1]))

    def copy(self, x, kind, numbers):
        """Copy a view of one value into a new one of the same dtype."""
        made = self.new(kind)
        self.add(COPY, (made,), (x,), "", numbers)
        ns = costs.view_costs(kind[1] * item_size(kind[0]), numbers)
        self.spend(*ns)
        self.loop_cost += ns[0]
        return made

    def alias(self, x, kind, offset=0):
        """Return a part of a value, or the value under another dtype."""
        if self.values[x] == kind:
            return x
        made = self.new(kind)
        self.code.append((ALIAS, (made,), (x,), "", (offset,), ()))
        return made

    def spread(self, x, kind, pattern):
        """Broadcast a value by a pattern, such as ROW."""
        made = self.new(kind)
        self.code.append((SPREAD, (made,), (x,), "", (pattern,), ()))
        if pattern == COLUMN:
            rows = costs.NS_PER_ROW_FILLED * self.values[x][1]
            filled = rows + costs.NS_PER_ELEMENT_FILLED * kind[1]
            self.spend(filled, 0.0)
            self.loop_cost += filled
        return made

    def reduce(self, name, x, code, sizes, estimate=costs.reduction_costs):
        """Reduce the middle of ``[outer, reduced, inner]``; `estimate` says what that costs."""
        key = ("reduce", name, (self.values[x][0],), code)
        if not has_kernel(key):
            raise NotNative(f"there is no kernel for {name} of {_names(key[2])}")
        outer, reduced, inner = sizes
        made = self.new((code, outer * inner))
        self.add(REDUCE, (made,), (x,), name, sizes)
        item = item_size(self.values[x][0])
        tape, xla = estimate(outer, reduced, inner, item)
        if x in self._computed:
            tape += costs.memory_cost(outer * reduced * inner * item)
        self.spend(tape, xla)
        self.loop_cost += tape
        return made

    # ------------------------------------------------------------ programs

    def runs_of(self, turns):
        """Return how often the body of a loop runs in a call, for `divide`; no one else asks."""
        return 1 if self.divide is None else self.runs * (turns or 1)

    def inline(self, jaxpr, xs):
        """Write the equations of a jaxpr without constvars; returns the values of its outputs."""
        if not jaxpr.effects <= CALL_EFFECTS:
            raise NotNative("it has effects other than those of callbacks")
        if jaxpr.constvars:
            raise NotNative("a part of it has captured arrays")
        env = dict(zip(map(id, jaxpr.invars), xs, strict=True))
        eqns, outvars = jaxpr.eqns, jaxpr.outvars
        if self.divide is not None and not jaxpr.effects:  # which have an order
            eqns, outvars, left = self.divide(jaxpr, self.runs)
            self.left.update(left)
        self.write(eqns, env)
        literal = self.literal
        return [literal(v) if type(v) is Literal else env[id(v)] for v in outvars]

    def write(self, eqns, env):
        """Write equations, whose operands have these values; adds those of their results."""
        rule_of, literal = emission.find, self.literal
        for eqn in eqns:
            prim = eqn.primitive
            rule = rule_of(prim)
            if rule is None:
                raise NotNative(f"{prim.name} has no native kernel", eqn)
            ins = tuple([literal(v) if type(v) is Literal else env[id(v)] for v in eqn.invars])
            try:
                out = rule(self, eqn, ins)
            except _IsExtended as error:
                if prim.physical is None:
                    raise NotNative(error.reason, eqn) from None
                out = rule(self, _physical(eqn), ins)
            except NotNative as error:
                if error.eqn is None:
                    error.eqn = eqn
                raise
            except Exception as error:
                avals = [v.aval for v in eqn.invars]
                worded = failed_rule(error, "native", prim, avals, eqn.params, eqn.src)
                if worded is None:
                    raise
                raise worded from error
            if prim.multiple_results:
                env.update(zip(map(id, eqn.outvars), out, strict=True))
            else:
                env[id(eqn.outvars[0])] = out

    def tape(self, inputs, outputs, carried=(), avals=(), is_long=False):
        """Return the tape of what was written."""
        program = self.values, inputs, outputs, self.constants, self.code
        return tape_of(program, carried, avals, is_long)


def tape_of(program, carried=(), avals=(), is_long=False):
    """Return the tape of what an `Emitter` has written, or of a template and what it is given.

    Kernels are compiled now.
    """
    if len(program) > 2:
        *begin, code = program
        program = *begin, [_with_code(i) if i[0] == FUNCTION else i for i in code]
    try:
        return kernels.tape(*program, carried, avals, is_long)
    except ValueError as error:
        raise NotNative(str(error)) from error
    except WatchedError:
        return Deferred(tape_of, (program, carried))


def tape_cost(eqns):
    """Return the nanoseconds that equations take as single instructions; infinity for never."""
    e = _singly(eqns)
    return math.inf if e is None else e.cost


def loops_cost(eqns):
    """Return what loops take of it, see `Emitter.loop_cost`."""
    e = _singly(eqns)
    return 0.0 if e is None else e.loop_cost


def _singly(eqns):
    e, env = Emitter(), {}
    for eqn in eqns:
        for v in eqn.invars:
            if type(v) is not Literal and id(v) not in env:
                env[id(v)] = e.new(memory_of(v.aval))
        try:
            e.write([eqn], env)
        except NotNative:
            return None
    return e


class NoCode(Exception):
    """LLVM could not be loaded, or refused the text of a kernel."""


def _with_code(instruction):
    *begin, _, (kernel,) = instruction
    try:
        code = kernel.compiled()
    except (ImportError, OSError, RuntimeError) as error:
        raise NoCode from error
    return (*begin, (code.address, kernel.units, int(kernel.cost)), (code,))


def kind_of(aval):
    """Return the (dtype, size) of an aval's values."""
    cache = aval.cache
    try:
        return cache["native"]
    except KeyError:
        code = CODES.get(aval.dtype.name)
        if code is None:
            extended = isinstance(aval.dtype, dtypes.ExtendedDType)
            kind = _IsExtended if extended else NotNative
            raise kind(f"there are no kernels for dtype {aval.dtype}") from None
        cache["native"] = kind = (code, aval.size)
        return kind


def memory_of(aval):
    """Return the (dtype, size) of the memory behind an aval: random keys are words."""
    if not isinstance(aval.dtype, dtypes.ExtendedDType):
        return kind_of(aval)
    words = math.prod(aval.dtype.physical_suffix)
    return CODES[aval.dtype.physical_dtype.name], aval.size * words


def item_size(code):
    """Return the bytes of an element of a dtype."""
    return _ITEM_SIZES[code]


def _dtype(name):
    return np.dtype(dtypes.bfloat16 if name == "bfloat16" else name)


_ITEM_SIZES = tuple([_dtype(name).itemsize for name in kernels.NAMES])

_loops: dict[Any, Any] = {}  # (name, result, *operands) -> ns per element; -1: no kernel
_kernels: dict[Any, bool] = {}


def has_kernel(key):
    """Whether there is a kernel of a (kind, name, operands, result)."""
    found = _kernels.get(key)
    if found is None:
        found = _kernels[key] = kernels.has_kernel(*key)
    return found


def _loop_costs(key):
    name, result, *operands = key
    if not has_kernel(("loop", name, tuple(operands), result)):
        return -1.0, 0.0
    operand = kernels.NAMES[operands[0]]
    return costs.loop_costs(name, operand, kernels.NAMES[result], item_size(result))


def _names(codes):
    return ", ".join(kernels.NAMES[code] for code in codes)


def _as_scalar(value, code):
    return np.asarray(value, _dtype(kernels.NAMES[code]))
