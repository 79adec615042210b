"""Running what was traced: pruning, compiling for a device, passing buffers.

Outputs that are inputs or constants are not computed; inputs that are not needed are not passed; a
program with nothing left to compute is never compiled.
"""

import functools
import time
from typing import Any

import numpy as np

from evertrace._src import config, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.core import monitoring, transfers
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.tracer import Tracer, escaped_tracer_error
from evertrace._src.engines import registry
from evertrace._src.ops.sharding_constraint import mesh_in
from evertrace._src.transforms.dce import dce_jaxpr
from evertrace._src.transforms.staging import close_jaxpr


class Program:
    """A jaxpr without constvars, ready to be run on flat arguments.

    Args:
      jaxpr: the program.
      name: for profiles and messages.
      donated: indices of the inputs whose memory is given away.
      keep_unused: whether inputs that are not needed are passed all the same.
      device: where to run, or None to follow the arguments.
      compiler_options: XLA flags by name.
      engine: "auto", "native" or "xla"; by default what the option `engine` says.

    Attributes:
      watched: whether an option has it looked at as it runs (see `engines.watch`).
      mesh: a sharding over the mesh that the program itself lays arrays out on, or None.
      executables: device -> the compiled program.
      seconds: what lowering and compiling took the last time, or None for both.
    """

    def __init__(
        self,
        jaxpr,
        name,
        *,
        donated=(),
        keep_unused=False,
        device=None,
        compiler_options=None,
        engine=None,
    ):
        self.whole = jaxpr
        self.watched = config.current().watched
        donated = () if self.watched else donated  # it may have to be run again
        self.name, self.device, self.donated = name, device, donated
        self.keep_unused = keep_unused
        self.compiler_options = dict(compiler_options or {})
        self.engine = engine or config.current().engine
        self._choice = None
        position = {id(v): i for i, v in enumerate(jaxpr.invars)}
        donated_set = set(donated)
        sources, computed, seen = [], [], {}
        for i, v in enumerate(jaxpr.outvars):
            if type(v) is Literal:
                sources.append((_LITERAL, v))
            elif position.get(id(v)) not in (None, *donated_set):
                sources.append((_INPUT, (position[id(v)], v.aval)))
            else:
                if id(v) not in seen:
                    seen[id(v)] = len(computed)
                    computed.append(i)
                sources.append((_COMPUTED, seen[id(v)]))
        of_program = set(computed)
        wanted = [i in of_program for i in range(len(jaxpr.outvars))]
        keep = range(len(jaxpr.invars)) if keep_unused else ()
        self.jaxpr, used = dce_jaxpr(jaxpr, wanted, keep_inputs=keep)
        self.kept = [i for i, u in enumerate(used) if u]
        self.kept_donated = tuple(j for j, i in enumerate(self.kept) if i in donated_set)
        self.sources = sources
        self.plain = all(s == (_COMPUTED, i) for i, s in enumerate(sources))
        self.out_avals = [v.aval for v in self.jaxpr.outvars]
        self.trivial = not computed and not self.jaxpr.effects
        self.mesh = mesh_in(self.jaxpr)
        self.executables = {}
        self.seconds = None, None

    def with_options(self, compiler_options):
        """Return the program with other XLA flags on top of its own."""
        return Program(
            self.whole,
            self.name,
            donated=self.donated,
            keep_unused=self.keep_unused,
            device=self.device,
            compiler_options=self.compiler_options | dict(compiler_options),
            engine="xla",
        )

    def choice(self):
        """Return the engine that runs it, "native" or "xla", and why."""
        return self._chosen()[:2]

    @property
    def tape(self):
        """The tape that runs it, or None if XLA does."""
        return self._chosen()[2]

    def _chosen(self):
        """Return engine, reason and tape; chosen once."""
        if self._choice is None:
            found = registry.choose(
                self.jaxpr, self.name, self.engine, self._excluded(), self.kept_donated
            )
            if found[2] is not None:
                self._took(found[3])
            self._choice = found
        return self._choice

    def _excluded(self):
        """Return why no tape may run it, whatever it holds, or None."""
        if self.watched:
            return "an option has its results looked at"
        if not registry.is_first(self.device):
            return "it was given another device than the first"
        return "it was given options of XLA" if self.compiler_options else None

    def executable(self, device):
        """Return the program compiled for `device`."""
        found = self.executables.get(device)
        if found is None:
            start = time.perf_counter()
            registry.lower(self.jaxpr, self.name, self.kept_donated, device.platform)
            lowered = time.perf_counter()
            found = self.executables[device] = registry.compile_jaxpr(
                self.jaxpr, self.name, device, self.kept_donated, self.compiler_options
            )
            self._took((lowered - start, time.perf_counter() - lowered))
        return found

    def _took(self, seconds):
        """Note what lowering and compiling took."""
        self.seconds = seconds
        monitoring.timed("lower", self.name, seconds[0])
        monitoring.timed("compile", self.name, seconds[1])

    def run(self, args):
        """Run on flat arguments (arrays, NumPy arrays, scalars); returns a list of arrays."""
        if self.watched:
            return self._run_watched(args)
        return self._run(args)

    def _run_watched(self, args):
        """Run while results are looked at; see `engines.watch`."""
        for i in self.kept:
            if type(args[i]) is not Array:
                transfers.check("host_to_device", self.whole.invars[i].aval)
        if self.trivial:
            return self._run(args)
        inputs = [as_input(args[i], self.whole.invars[i].aval) for i in self.kept]
        outs = registry.call_watched(
            close_jaxpr(self.jaxpr), inputs, name=self.name, run=lambda: self._computed(args)
        )
        return [self._forwarded(s, args, outs) for s in self.sources]

    def _run(self, args):
        if self.trivial:
            outs = [self._forwarded(s, args, None) for s in self.sources]
            if self.donated:
                _delete_donated(args, self.donated)
            return outs
        tape = self.tape
        laid_out = self.mesh is not None or registry.placing.is_laid_out(args)
        if laid_out:
            registry.placing.check_one_place(f"jit({self.name})", args, self._names())
        if tape is not None and registry.runs_natively(args):
            outs = self._run_tape(tape, args)
        else:
            outs = self._computed(args)
        if laid_out:
            inputs = [args[i] for i in self.kept]
            registry.placing.lay_out_program(self.jaxpr, inputs, outs, self.mesh)
        return outs if self.plain else [self._forwarded(s, args, outs) for s in self.sources]

    def _names(self):
        return [f"input {i}" for i in range(len(self.whole.invars))]

    def _run_tape(self, tape, args):
        """Run what there is to compute as a tape; returns those outputs."""
        avals = self.jaxpr.invars
        outs = tape.run(
            [
                x if type(x) is Array else host_input(x, avals[j].aval)
                for j, x in enumerate([args[i] for i in self.kept])
            ]
        )
        if self.donated:
            _delete_donated(args, self.donated)
        return outs

    def _computed(self, args):
        """Run what there is to compute by XLA; returns those outputs."""
        if self.engine == "native" and not self.watched:
            raise _elsewhere_error(self.name)
        device = self.device or registry.placement(args)
        executable = self.executables.get(device) or self.executable(device)
        committed = not registry.is_first(device)
        buffers = []
        for j, i in enumerate(self.kept):
            x = args[i]
            if type(x) is Array and x._device is device and x._buffer is not None:
                buffers.append(x._buffer)
            else:
                buffers.append(input_buffer(x, device, self.jaxpr.invars[j].aval))
        if self.kept_donated:
            self._own_donated(args, buffers, device)
        raws = executable.run(buffers)
        if self.donated:
            _delete_donated(args, self.donated)
        return [
            Array(aval, None, raw, device, committed)
            for aval, raw in zip(self.out_avals, raws, strict=True)
        ]

    def _own_donated(self, args, buffers, device):
        """Give the program copies of donated memory that something else sees.

        Views of host memory may be alive, and another argument may be the same array.
        """
        repeated = len(set(map(id, buffers))) < len(buffers)
        for j in self.kept_donated:
            x = args[self.kept[j]]
            if type(x) is Array and (x._host is not None or repeated):
                buffers[j] = registry.put(x.host(), device, may_alias=False)

    def _forwarded(self, source, args, outs):
        kind, where = source
        if kind is _COMPUTED:
            return outs[where]
        if kind is _LITERAL:
            return Array(where.aval, np.asarray(where.val))
        i, aval = where
        return as_input(args[i], aval)


_COMPUTED, _INPUT, _LITERAL = "computed", "input", "literal"


def as_input(x, aval):
    """Return an argument of any kind as an array, or tracer, of the input's aval."""
    if type(x) is Array:
        return x
    if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)):
        return Array(aval, np.array(x, aval.dtype, order="C"))
    x = as_operand(x)
    return Array(x.aval, np.asarray(x.val)) if type(x) is Literal else x


def sources_of(source):
    """Return an output's source as (kind, index, what makes it an array)."""
    kind, where = source
    if kind is _LITERAL:
        return kind, 0, (where.aval, np.asarray(where.val))
    if kind is _INPUT:
        return kind, where[0], functools.partial(as_input, aval=where[1])
    return kind, where, None


def input_buffer(x, device, aval):
    """Return a buffer on `device`, or host memory, for an argument of any kind."""
    if type(x) is Array:
        return x.buffer(device)
    if isinstance(x, np.ndarray) and x.dtype == aval.dtype:
        # The caller may write to it while the program still runs.
        return registry.put(x, device, may_alias=False)
    found = _host_value(x, aval)
    return input_buffer(as_operand(x), device, aval) if found is None else found


def host_input(x, aval):
    """Return an argument of any kind but arrays as host memory of the input's aval."""
    found = _host_value(x, aval)
    if found is not None:
        return found
    operand: Any = as_operand(x)
    return operand.host()


def _host_value(x, aval):
    """Return a number, a NumPy array or a literal as host memory; None for anything else."""
    if type(x) is Literal:
        return np.asarray(x.val)
    if isinstance(x, Tracer):
        raise escaped_tracer_error(x, "jit")
    if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)):
        return np.asarray(x, aval.dtype)
    return None


def _elsewhere_error(name):
    return errors.user_error(
        ValueError,
        f"jit({name}): the native engine runs on the first CPU device, and an argument "
        "or the option default_device says another device.",
        fix='leave `engine="native"` out: "auto" takes XLA where it has to.',
        anchor="engine",
    )


def _delete_donated(args, donated):
    for i in donated:
        if type(args[i]) is Array:
            args[i].delete()
