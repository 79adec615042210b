"""Operations at once, and programs on concrete arrays: the backend behind `core.engine`.

Operations on arrays in CPU memory run on the host engine; operations on other devices, and whole
jaxprs, are compiled, as `engines.choice` says.
"""

import functools
import math
from typing import Any

import numpy as np

from evertrace._src import config, native
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.core.engine import mode
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.tracer import escaped_tracer_error
from evertrace._src.engines import placing, runtime, watch
from evertrace._src.engines.choice import choose, engine
from evertrace._src.engines.host import engine as host
from evertrace._src.engines.host.plans import plan
from evertrace._src.engines.protocol import Request
from evertrace._src.engines.runtime import (
    check_platform,
    default_device,
    parts,
    put,
    to_host,
    wait,
)
from evertrace._src.lazy import LazyModule
from evertrace._src.ops.sharding_constraint import sharding_constraint_p
from evertrace._src.transforms.staging import restage

__all__ = (
    "call_jaxpr", "call_watched", "check_platform", "default_device", "eager", "interpret_jaxpr",
    "operand", "parts", "put", "to_host", "wait",
)  # fmt: skip

_tapes: Any = LazyModule("evertrace._src.engines.native.engine")


def eager(prim, args, params):
    """Apply a primitive to concrete arrays and literals."""
    steps = mode.steps
    if steps is None:
        if prim.eager is None and not config.current().watched:  # the many small operations
            for x in args:
                if (type(x) is not Array or x._device is not None) and type(x) is not Literal:
                    break
            else:
                return _on_host(prim, args, params, None)
        return _eager(prim, args, params)
    out = _eager(prim, args, params)
    steps.append((prim, args, params, out if prim.eager is None else None))
    return out


def operand(x, where):
    """Return what stands for an array-like value as an operand of primitives."""
    return x if hasattr(x, "aval") else as_operand(x, where)


def _eager(prim, args, params):
    committed, accelerated, several = None, False, False
    for x in args:
        if type(x) is Array:
            if x._device is not None:
                accelerated = accelerated or x._device.platform != "cpu"
                if x._committed:
                    several = several or committed is not None
                    committed = x._device
        elif type(x) is not Literal:
            raise escaped_tracer_error(x, prim.name)
    if several:
        placing.check_one_place(prim.name, args)
    if committed is not None and _is_divided(prim, args):
        return _over_processes(prim, args, params)
    if prim.eager is not None:
        out = prim.eager(*args, **params)
    else:
        out = _compute(prim, args, params, committed, accelerated)
    if committed is not None and placing.is_laid_out(args):
        placing.lay_out(prim, args, params, out if prim.multiple_results else [out])
    return out


def _is_divided(prim, args):
    return (prim.eager is None or prim is sharding_constraint_p) and placing.is_elsewhere(args)


def _over_processes(prim, args, params):
    """Apply a primitive to arrays over several processes, all of which do the same."""
    jaxpr = runtime.xla().single_operation(prim, args, params)
    runner: Any = jaxpr.cache.get("spmd")
    if runner is None:
        runner = jaxpr.cache["spmd"] = engine("spmd").offer(jaxpr, Request(prim.name)).runner
    outs = runner.run([np.asarray(x.val) if type(x) is Literal else x for x in args])
    return outs if prim.multiple_results else outs[0]


def _compute(prim, args, params, committed, accelerated):
    """Apply an elementary primitive, on an accelerator or in host memory."""
    watched = config.current().watched
    if watched:
        watch.before(prim)
    if accelerated:
        out = runtime.xla().apply(prim, args, params)
    else:
        out = _on_host(prim, args, params, committed)
    if watched:
        watch.after(prim, args, out if prim.multiple_results else [out])
    return out


def _on_host(prim, args, params, device):
    """Apply a primitive to arrays in host memory; results are committed to a device, if to any."""
    try:
        out = host.apply(prim, args, params)
    except MemoryError as error:
        raise watch.out_of_memory_error(prim, args, params, error) from None
    if device is not None:
        for x in out if prim.multiple_results else (out,):
            x._device, x._committed = device, True
    return out


def call_jaxpr(closed_jaxpr, args, **options):
    """Run a closed jaxpr on concrete arrays, compiled or as a tape, which is kept on it."""
    now = config.current()
    if now.watched:
        return call_watched(closed_jaxpr, args, **options)
    if now.engine not in ("xla", "spmd") and runtime.runs_natively(args):
        name = options.get("name", "f")
        return choose(closed_jaxpr.jaxpr, Request(name)).runner.run(args)
    return runtime.xla().call_jaxpr(closed_jaxpr, args, **options)


def call_watched(closed_jaxpr, args, *, name="f", run=None):
    """Run a closed jaxpr on concrete arrays while results are looked at.

    Args:
      closed_jaxpr: the program.
      args: arrays and literals.
      name: of the program.
      run: runs it compiled, without arguments; by default the XLA engine does.
    """
    now = config.current()
    if now.no_execution:
        raise watch.no_execution_error(f"jit({name})")
    if mode.op_by_op or now.debug_key_reuse:
        with watch.op_by_op():
            return interpret_jaxpr(closed_jaxpr, args)
    outs = run() if run is not None else runtime.xla().call_jaxpr(closed_jaxpr, args, name=name)
    found = watch.bad_values(outs)
    if found is not None:
        with watch.op_by_op():
            interpret_jaxpr(closed_jaxpr, args)
        raise watch.lost_value_error(name, *found)
    return outs


def interpret_jaxpr(closed_jaxpr, args):
    """Run a closed jaxpr equation by equation, without a compiler."""
    return host.interpret(closed_jaxpr.jaxpr, closed_jaxpr.consts, args)


def _tape_of(fun, avals):
    """Trace a function of arrays; returns the jaxpr, and what makes a tape of it, or None."""
    jaxpr = restage(fun, avals)

    def make(most_cost=math.inf):
        made = _tapes.compile_jaxpr(jaxpr, is_wanted=True)
        return made.tape if made.cost <= most_cost else None

    return jaxpr, make


planner = functools.partial(plan, _tape_of)
"""What makes the plans of eager functions."""

native.set_planner(planner)
