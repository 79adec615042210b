"""The XLA engine: jaxprs in, executables out, arrays through them.

An executable hangs on the jaxpr it was compiled from, by device, donation and options, and so lives
as long as the program does.
"""

import functools
import re
import time
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import config, errors
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.placement import device_of
from evertrace._src.engines import placing
from evertrace._src.engines.inputs import host_value
from evertrace._src.engines.protocol import Offer, Request
from evertrace._src.engines.xla import attributes, buffers, client, compat, spread
from evertrace._src.engines.xla.executable import compile_text
from evertrace._src.engines.xla.lower import lower_jaxpr
from evertrace._src.engines.xla.options import Options
from evertrace._src.engines.xla.text import physical_aval
from evertrace._src.lazy import LazyModule
from evertrace._src.support import Cache
from evertrace._src.transforms.staging import close_jaxpr, stage

collectives: Any = LazyModule("evertrace._src.engines.xla.collectives")
exchange: Any = LazyModule("evertrace._src.engines.xla.exchange")
portable: Any = LazyModule("evertrace._src.engines.xla.portable")
spmd: Any = LazyModule("evertrace._src.engines.xla.spmd")
put = buffers.put
NO_OPTIONS = Options()
# By their text: what is traced anew, as eager loops are, is not compiled anew.
_programs = Cache("compiled programs", 512)
_single_operations = Cache("one-operation programs")


def to_host(buffer):
    """Return the contents of a buffer, or of the parts on several devices, as a NumPy array."""
    whole = spread.to_host if type(buffer) is spread.Spread else buffers.to_host
    return whole(buffer)


def block(found):
    """Wait until all the buffers are computed; raises what went wrong on the way."""
    whole = []
    for x in found:
        if type(x) is spread.Spread:
            spread.block(x)
        else:
            whole.append(x)
    if whole:
        buffers.block(whole)


def default_device():
    """Return the device on which uncommitted work runs."""
    chosen = config.current().default_device
    if type(chosen) is str:  # a platform stands for its first device
        return client.devices(chosen)[0]
    return device_of("default_device", chosen) if chosen is not None else _first_device()


@functools.cache
def _first_device():
    return client.local_devices()[0]


def leave_world():
    """Have devices asked for anew."""
    client.leave_world()
    _first_device.cache_clear()


def lower(jaxpr, name, donated=(), platform=None, divided=None):
    """Return the StableHLO text (and callbacks) of a jaxpr without constvars; kept on it."""
    platform = platform or default_device().platform
    quick = config.current().quick_compile
    key = ("stablehlo", name, donated, platform, quick, divided)
    if key not in jaxpr.cache:
        jaxpr.cache[key] = lower_jaxpr(jaxpr, name, donated, platform, quick=quick, divided=divided)
    return jaxpr.cache[key]


def compile_jaxpr(jaxpr, name, device, donated=(), options=NO_OPTIONS):
    """Return the executable of a jaxpr without constvars; kept on it."""
    key = ("xla", device, donated, options)
    found = jaxpr.cache.get(key)
    if found is None:
        text, callbacks = lower(jaxpr, name, donated, device.platform)
        found = None if callbacks else _programs.get((text, device, options))
        if found is None:
            found = compile_text(
                text,
                device=device,
                num_outputs=len(jaxpr.outvars),
                output_avals=[ShapedArray(*physical_aval(v.aval)) for v in jaxpr.outvars],
                options=options,
                callbacks=callbacks,
            )
            if not callbacks:
                _programs.put((text, device, options), found)
        jaxpr.cache[key] = found
    return found


def call_jaxpr(closed_jaxpr, args, *, name="f"):
    """Compile if need be, and run a closed jaxpr on concrete arrays and literals."""
    assert not closed_jaxpr.jaxpr.constvars
    return Compiled(closed_jaxpr.jaxpr, Request(name)).run(args)


class Compiled:
    """A program as XLA runs it, compiled once for each device.

    Attributes:
      executables: device -> the compiled program.
      seconds: what lowering and compiling took the last time, or None for both.
    """

    __slots__ = ("_jaxpr", "_request", "executables", "seconds")

    anywhere, places = True, False

    def __init__(self, jaxpr, request):
        self._jaxpr, self._request = jaxpr, request
        self.executables, self.seconds = {}, (None, None)

    def executable(self, device):
        """Return the program compiled for `device`."""
        found = self.executables.get(device)
        if found is None:
            name, donated = self._request.name, self._request.donated
            start = time.perf_counter()
            lower(self._jaxpr, name, donated, device.platform)
            lowered = time.perf_counter()
            options = Options(self._request.options) if self._request.options else NO_OPTIONS
            found = compile_jaxpr(self._jaxpr, name, device, donated, options)
            self.executables[device] = found
            self.seconds = lowered - start, time.perf_counter() - lowered
            self._request.took(name, self.seconds)
        return found

    def run(self, args):
        """Run once; returns one array for each output."""
        device = self._request.device or self._placement(args)
        executable = self.executables.get(device) or self.executable(device)
        committed, donated = device is not _first_device(), self._request.donated
        inputs = [
            input_buffer(x, device, v.aval) for x, v in zip(args, self._jaxpr.invars, strict=True)
        ]
        if donated:
            _own_donated(donated, args, inputs, device)
        raws = executable.run(inputs)
        return [
            Array(v.aval, None, raw, device, committed)
            for v, raw in zip(self._jaxpr.outvars, raws, strict=True)
        ]

    def _placement(self, args):
        """Return the device where operands live: the committed ones', else the first one's."""
        found, committed = None, None
        for x in args:
            if type(x) is Array:
                device = x._device
                if x._committed:
                    if committed is not None and committed is not device:
                        name, names = f"jit({self._request.name})", self._jaxpr.names
                        placing.check_one_place(name, args, "input", names)
                    committed = device
                elif found is None:
                    found = device
        return committed or found or default_device()

    def flat(self):
        """Return what C++ runs it with, on the device that nothing else says.

        The option that names a device is one of those that variants are kept by.
        """
        device = self._request.device or default_device()
        executable = self.executables.get(device)
        if executable is None:
            return NotImplemented
        avals = tuple([v.aval for v in self._jaxpr.invars])

        def buffer(x, aval, i):
            return executable.as_buffer(input_buffer(x, device, aval), i, len(avals))

        def own(x):
            return put(x._contents(), device, may_alias=False)

        parts = (
            avals,
            executable._execute,
            executable._handlers,
            device,
            tuple([v.aval for v in self._jaxpr.outvars]),
            buffer,
            executable.failed,
            executable.collect_garbage,
            self._request.donated,
            own,
            device is not _first_device(),
        )
        return "xla", parts, device


def offer(jaxpr, request):
    """Offer to run a jaxpr without constvars; see `engines.protocol`."""
    return Offer(Compiled(jaxpr, request), "that is asked for")


def input_buffer(x, device, aval):
    """Return a buffer on `device`, or host memory, for an argument of any kind."""
    if type(x) is Array:
        return x._buffer_on(device)
    if isinstance(x, np.ndarray) and x.dtype == aval.dtype:
        # The caller may write to it while the program still runs.
        return put(x, device, may_alias=False)
    found = host_value(x, aval)
    return input_buffer(as_operand(x), device, aval) if found is None else found


def _own_donated(donated, args, inputs, device):
    """Give a program copies of donated memory that something else sees.

    Views of host memory may be alive, and another argument may be the same array.
    """
    repeated = len(set(map(id, inputs))) < len(inputs)
    for i in donated:
        x = args[i]
        if type(x) is Array and (x._host is not None or repeated):
            inputs[i] = put(x._contents(), device, may_alias=False)


def apply(prim, args, params):
    """Apply one primitive to arrays on an accelerator by way of a cached program."""
    outs = call_jaxpr(close_jaxpr(single_operation(prim, args, params)), args, name=prim.name)
    return outs if prim.multiple_results else outs[0]


def single_operation(prim, args, params):
    """Return the jaxpr that applies one primitive to such arguments; kept."""
    key = (prim, *[x.aval for x in args], *params.values())
    jaxpr = _single_operations.get(key)
    if jaxpr is None:

        def fun(*xs):
            out = prim.bind(*xs, **params)
            return list(out) if prim.multiple_results else [out]

        jaxpr = _single_operations.put(key, stage(fun, [x.aval for x in args]).jaxpr)
    return jaxpr


class Lowering(NamedTuple):
    """What a program is lowered from, for people who look at it.

    Attributes:
      jaxpr: the program; name: of it.
      donated: indices of the inputs that it is given.
      platform: what it is to run on, None for the default device's.
      divided: the `Divided` that says how it is divided over a mesh, or None.
    """

    jaxpr: Any
    name: str
    donated: tuple[int, ...] = ()
    platform: str | None = None
    divided: Any = None

    def over(self, like, inputs, outputs):
        """Return it divided over the mesh of a sharding; see `spmd.divided_over`."""
        jaxpr, divided = spmd.divided_over(self.jaxpr, like, inputs, outputs)
        return self._replace(jaxpr=jaxpr, divided=divided)


def lowered_text(program, dialect, locations=False):
    """Return a `Lowering` as StableHLO in MLIR's pretty form, as HLO, or its kernels for GPUs."""
    if dialect == "triton":
        return _kernels_text(program.name, lower(*program)[0])
    _check_dialect("as_text", dialect)
    if dialect == "hlo":
        return compat.unoptimised_hlo(lower(*program)[0])
    if locations:
        platform = program.platform or default_device().platform
        located = program._replace(platform=platform)._asdict()
        return compat.pretty_stablehlo(lower_jaxpr(**located, located=True)[0], locations=True)
    return compat.pretty_stablehlo(lower(*program)[0])


def _kernels_text(name, text):
    """Return the modules in Triton's language that a program calls, one after the other."""
    calls = [line for line in text.splitlines() if '"__gpu$xla.gpu.triton"' in line]
    found = [re.search(r'\bir = "([^"]*)"', line) for line in calls]
    if not calls:
        raise errors.user_error(
            ValueError,
            f"as_text: {name} calls no kernel that Triton compiles.",
            fix="lower a function that has a `pallas_call`, by "
            '`f.trace(x).lower(lowering_platforms=("cuda",))`.',
            anchor="kernel-gpu",
        )
    return "\n".join([attributes.string(match[1]) for match in found if match])


def lowered_ir(program, dialect):
    """Return a `Lowering` as jaxlib's object: an MLIR module, or an XlaComputation for HLO."""
    _check_dialect("compiler_ir", dialect)
    text, _ = lower(*program)
    return compat.xla_computation(text) if dialect == "hlo" else compat.parse_module(text)


def _check_dialect(name, dialect):
    if dialect not in (None, "stablehlo", "hlo"):
        raise errors.user_error(
            ValueError,
            f"{name}: there is no dialect {dialect!r}.",
            fix="use 'stablehlo' or 'hlo'.",
            anchor="choice",
        )


def cost_of_text(jaxpr, name, donated):
    """Return XLA's cost estimates for the unoptimised program."""
    text, _ = lower(jaxpr, name, donated)
    return compat.cost_of_text(default_device().client._raw, text)
