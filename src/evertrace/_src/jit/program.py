"""Running what was traced: pruning, compiling for a device, passing buffers.

Outputs that are inputs or constants are not computed; inputs that are not needed are not passed; a
program with nothing left to compute is never compiled.
"""

import time

import numpy as np

from evertrace._src import config
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.core import monitoring, transfers
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.tracer import Tracer, escaped_tracer_error
from evertrace._src.engines import registry
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

    Attributes:
      watched: whether an option has it looked at as it runs (see `engines.watch`).
      executables: device -> the compiled program.
      seconds: what lowering and compiling took the last time, or None for both.
    """

    def __init__(
        self, jaxpr, name, *, donated=(), keep_unused=False, device=None, compiler_options=None
    ):
        self.whole = jaxpr
        self.watched = config.current().watched
        donated = () if self.watched else donated  # it may have to be run again
        self.name, self.device, self.donated = name, device, donated
        self.keep_unused = keep_unused
        self.compiler_options = dict(compiler_options or {})
        position = {id(v): i for i, v in enumerate(jaxpr.invars)}
        donated_set = set(donated)
        sources, computed, seen = [], [], {}
        for i, v in enumerate(jaxpr.outvars):
            if type(v) is Literal:
                sources.append((_LITERAL, v))
            elif position.get(id(v)) not in (None, *donated_set):
                sources.append((_INPUT, position[id(v)]))
            else:
                if id(v) not in seen:
                    seen[id(v)] = len(computed)
                    computed.append(i)
                sources.append((_COMPUTED, seen[id(v)]))
        wanted = [i in set(computed) for i in range(len(jaxpr.outvars))]
        keep = range(len(jaxpr.invars)) if keep_unused else ()
        self.jaxpr, used = dce_jaxpr(jaxpr, wanted, keep_inputs=keep)
        self.kept = [i for i, u in enumerate(used) if u]
        self.kept_donated = tuple(j for j, i in enumerate(self.kept) if i in donated_set)
        self.sources = sources
        self.plain = all(s == (_COMPUTED, i) for i, s in enumerate(sources))
        self.out_avals = [v.aval for v in self.jaxpr.outvars]
        self.trivial = not computed and not self.jaxpr.effects
        self.executables = {}
        self.seconds = None, None

    def with_options(self, compiler_options):
        """Return the program with other XLA flags on top of its own."""
        return Program(
            self.whole, self.name, donated=self.donated, keep_unused=self.keep_unused,
            device=self.device, compiler_options=self.compiler_options | dict(compiler_options),
        )  # fmt: skip

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
            self.seconds = lowered - start, time.perf_counter() - lowered
            monitoring.timed("lower", self.name, self.seconds[0])
            monitoring.timed("compile", self.name, self.seconds[1])
        return found

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
        inputs = [_as_input(args[i], self.whole.invars[i].aval) for i in self.kept]
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
        outs = self._computed(args)
        return outs if self.plain else [self._forwarded(s, args, outs) for s in self.sources]

    def _computed(self, args):
        """Run what there is to compute; returns those outputs."""
        device = self.device or registry.placement(args)
        executable = self.executables.get(device) or self.executable(device)
        committed = device is not registry.first_device()
        buffers = []
        for j, i in enumerate(self.kept):
            x = args[i]
            if type(x) is Array and x._device is device and x._buffer is not None:
                buffers.append(x._buffer)
            else:
                buffers.append(_to_buffer(x, device, self.jaxpr.invars[j].aval))
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
        x = args[where]
        return x if type(x) is Array else _as_array(x)


_COMPUTED, _INPUT, _LITERAL = "computed", "input", "literal"


def _as_array(x):
    x = as_operand(x)
    return Array(x.aval, np.asarray(x.val)) if type(x) is Literal else x


def _as_input(x, aval):
    """Return an argument of any kind as an array of the input's aval."""
    if type(x) is Array:
        return x
    if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)):
        return Array(aval, np.array(x, aval.dtype))
    return _as_array(x)


def _to_buffer(x, device, aval):
    """Return a buffer on `device` for an argument of any kind."""
    if type(x) is Array:
        return x.buffer(device)
    if isinstance(x, np.ndarray) and x.dtype == aval.dtype:
        # The caller may write to it while the program still runs.
        return registry.put(x, device, may_alias=False)
    if type(x) is Literal:
        return np.asarray(x.val)
    if isinstance(x, Tracer):
        raise escaped_tracer_error(x, "jit")
    if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)):
        return np.array(x, aval.dtype)
    return _to_buffer(as_operand(x), device, aval)


def _delete_donated(args, donated):
    for i in donated:
        if type(args[i]) is Array:
            args[i].delete()
