"""The XLA engine: jaxprs in, executables out, arrays through them.

An executable hangs on the jaxpr it was compiled from, by device, donation and options, and so lives
as long as the program does.
"""

import functools
from typing import Any

import numpy as np

from evertrace._src import config, errors
from evertrace._src.arrays.array import Array
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.placement import device_of
from evertrace._src.engines.xla import buffers, client, compat
from evertrace._src.engines.xla.executable import compile_text
from evertrace._src.engines.xla.lower import lower_jaxpr
from evertrace._src.engines.xla.options import Options
from evertrace._src.engines.xla.text import physical_aval
from evertrace._src.lazy import LazyModule
from evertrace._src.support import Cache
from evertrace._src.transforms.staging import close_jaxpr, stage

portable: Any = LazyModule("evertrace._src.engines.xla.portable")
put = buffers.put
to_host = buffers.to_host
block = buffers.block
NO_OPTIONS = Options()
# By their text: what is traced anew, as eager loops are, is not compiled anew.
_programs = Cache("compiled programs", 512)
_single_operations = Cache("one-operation programs")


def default_device():
    """Return the device on which uncommitted work runs."""
    chosen = config.current().default_device
    return device_of(chosen) if chosen is not None else _first_device()


@functools.cache
def _first_device():
    return client.devices()[0]


def lower(jaxpr, name, donated=(), platform=None):
    """Return the StableHLO text (and callbacks) of a jaxpr without constvars; kept on it."""
    platform = platform or default_device().platform
    quick = config.current().quick_compile
    key = ("stablehlo", name, donated, platform, quick)
    if key not in jaxpr.cache:
        jaxpr.cache[key] = lower_jaxpr(jaxpr, name, donated, platform, quick=quick)
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


def call_jaxpr(closed_jaxpr, args, *, name="f", device=None, donated=(), options=NO_OPTIONS):
    """Compile if need be, and run a closed jaxpr on concrete arrays and literals."""
    jaxpr = closed_jaxpr.jaxpr
    assert not jaxpr.constvars
    device = device or placement(args)
    executable = compile_jaxpr(jaxpr, name, device, donated, options)
    out = executable.run([as_buffer(x, device) for x in args])
    committed = device is not _first_device()
    return [
        Array(v.aval, None, raw, device, committed)
        for v, raw in zip(jaxpr.outvars, out, strict=True)
    ]


def as_buffer(x, device):
    """Return what an executable on `device` takes for an array or literal."""
    if type(x) is Literal:
        return np.asarray(x.val)
    return x.buffer(device)


def placement(args):
    """Return the device where operands live: the committed ones', else the first one's."""
    found, committed = None, None
    for x in args:
        if type(x) is Array:
            device = x._device
            if x._committed:
                if committed is not None and committed is not device:
                    raise _two_devices_error(committed, device)
                committed = device
            elif found is None:
                found = device
    return committed or found or default_device()


def _two_devices_error(one, other):
    return errors.user_error(
        ValueError,
        f"the arguments of one program are committed to two devices, {one} and {other}.",
        fix="move them to one device with `device_put`.",
        anchor="devices",
    )


def eager(prim, args, params):
    """Apply one primitive to arrays on an accelerator by way of a cached program."""
    key = (prim, *[x.aval for x in args], *params.values())
    jaxpr = _single_operations.get(key)
    if jaxpr is None:

        def fun(*xs):
            out = prim.bind(*xs, **params)
            return list(out) if prim.multiple_results else [out]

        jaxpr = _single_operations.put(key, stage(fun, [x.aval for x in args]).jaxpr)
    outs = call_jaxpr(close_jaxpr(jaxpr), args, name=prim.name)
    return outs if prim.multiple_results else outs[0]


def lowered_text(jaxpr, name, donated, dialect, locations=False):
    """Return the program as StableHLO in MLIR's pretty form, or as HLO."""
    _check_dialect("as_text", dialect)
    if dialect == "hlo":
        return compat.unoptimised_hlo(lower(jaxpr, name, donated)[0])
    if locations:
        text, _ = lower_jaxpr(jaxpr, name, donated, default_device().platform, located=True)
        return compat.pretty_stablehlo(text, locations=True)
    return compat.pretty_stablehlo(lower(jaxpr, name, donated)[0])


def lowered_ir(jaxpr, name, donated, dialect):
    """Return the program as jaxlib's object: an MLIR module, or an XlaComputation for HLO."""
    _check_dialect("compiler_ir", dialect)
    text, _ = lower(jaxpr, name, donated)
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
