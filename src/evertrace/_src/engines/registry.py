"""Which engine runs what: the backend behind `core.engine`.

Operations on arrays in CPU memory run on the host engine at once; operations on other devices, and
whole jaxprs, are compiled by the XLA engine, which is imported when it is first needed.
"""

import functools
import importlib.util
import math
import os
import sys

import numpy as np

from evertrace._src import config, errors, kernels, native
from evertrace._src.arrays.array import Array
from evertrace._src.core.engine import mode
from evertrace._src.core.jaxpr import Literal, eval_jaxpr
from evertrace._src.core.tracer import EVAL, escaped_tracer_error, set_trace
from evertrace._src.engines import placing, watch
from evertrace._src.engines.host.plans import plan
from evertrace._src.engines.host.run import run as run_on_host
from evertrace._src.transforms.staging import restage

_XLA = "evertrace._src.engines.xla.engine"


def eager(prim, args, params):
    """Apply a primitive to concrete arrays and literals."""
    steps = mode.steps
    if steps is None:
        return _eager(prim, args, params)
    out = _eager(prim, args, params)
    steps.append((prim, args, params, out if prim.eager is None else None))
    return out


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
    if prim.eager is not None:
        out = prim.eager(*args, **params)
    else:
        out = _compute(prim, args, params, committed, accelerated)
    if committed is not None and placing.is_laid_out(args):
        placing.lay_out(prim, args, params, out if prim.multiple_results else [out])
    return out


def _compute(prim, args, params, committed, accelerated):
    """Apply an elementary primitive, on an accelerator or in host memory."""
    watched = config.current().watched
    if watched:
        watch.before(prim)
    if accelerated:
        out = xla().eager(prim, args, params)
    else:
        out = _on_host(prim, args, params, committed)
    if watched:
        watch.after(prim, args, out if prim.multiple_results else [out])
    return out


def _on_host(prim, args, params, device):
    """Apply a primitive to arrays in host memory; results are committed to a device, if to any."""
    try:
        out = run_on_host(prim, args, params)
    except MemoryError as error:
        raise watch.out_of_memory_error(prim, error) from error
    if device is not None:
        for x in out if prim.multiple_results else (out,):
            x._device, x._committed = device, True
    return out


@functools.cache
def xla():
    """Return the XLA engine's module, importing jaxlib on first use."""
    from evertrace._src.engines.xla import engine

    return engine


def call_jaxpr(closed_jaxpr, args, **options):
    """Run a closed jaxpr on concrete arrays, compiled or as a tape, which is kept on it."""
    now = config.current()
    if now.watched:
        return call_watched(closed_jaxpr, args, **options)
    if now.engine != "xla" and runs_natively(args):
        tape = choose(closed_jaxpr.jaxpr, options.get("name", "f"), "auto", None)[2]
        if tape is not None:
            return tape.run([x if type(x) is Array else np.asarray(x.val) for x in args])
    return xla().call_jaxpr(closed_jaxpr, args, **options)


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
    outs = run() if run is not None else xla().call_jaxpr(closed_jaxpr, args, name=name)
    found = watch.bad_values(outs)
    if found is not None:
        with watch.op_by_op():
            interpret_jaxpr(closed_jaxpr, args)
        raise watch.lost_value_error(name, *found)
    return outs


def interpret_jaxpr(closed_jaxpr, args):
    """Run a closed jaxpr equation by equation, without a compiler."""
    with set_trace(EVAL):
        return eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *args)


def wait(buffer):
    """Wait until a buffer is computed."""
    xla().block([buffer])


def to_host(buffer):
    """Return a device buffer's contents as a read-only NumPy array."""
    return xla().to_host(buffer)


def put(host, device, *, may_alias):
    """Copy a NumPy array into a buffer on `device`."""
    return xla().put(np.asarray(host), device, may_alias=may_alias)


def default_device():
    """Return the device on which uncommitted work runs."""
    return xla().default_device()


@functools.cache
def first_device():
    """Return the device on which work runs that nothing places: its results are not committed."""
    return xla().client.devices()[0]


def is_first(device):
    """Whether a device is the first one, which None stands for."""
    return device is None or device is first_device()


def placement(args):
    """Return the device where flat arguments live: the committed ones' first."""
    return xla().placement(args)


@functools.cache
def native_engine():
    """Return the native engine's module, which is loaded with the first program."""
    from evertrace._src.engines.native import engine

    return engine


def _tape_of(fun, avals):
    """Trace a function of arrays; returns the jaxpr, and what makes a tape of it, or None."""
    jaxpr = restage(fun, avals)

    def make(most_cost=math.inf):
        made = native_engine().compile_jaxpr(jaxpr, is_wanted=True)
        return made.tape if made.cost <= most_cost else None

    return jaxpr, make


planner = functools.partial(plan, _tape_of)
"""What makes the plans of eager functions."""

native.set_planner(planner)


def choose(jaxpr, name, wanted, excluded, donated=()):
    """Choose the engine of a jaxpr without constvars, by the program alone.

    Args:
      jaxpr: the program.
      name: of the program.
      wanted: "auto", "native" or "xla".
      excluded: why the native engine cannot run it whatever it holds, or None.
      donated: indices of the inputs whose memory is given away.

    Returns:
      "native" or "xla", why, the tape or None, and what making it took: two numbers of seconds.

    Raises:
      ValueError: "native" is wanted and cannot be.
    """
    if wanted == "xla":
        return "xla", "that is asked for", None, (None, None)
    if not native.is_built():
        excluded = "the C++ extension module is not there"
        native.warn_missing()
    elif not config.current().native_kernels:
        excluded = "the option native_kernels is off"
    elif excluded is None and not _computes_on_cpu():
        excluded = "programs run on an accelerator"
    if excluded is not None:
        why, eqn = excluded, None
    else:
        made = native_engine().compile_jaxpr(jaxpr, wanted == "native", donated)
        if made.tape is not None:
            return "native", made.why, made.tape, made.seconds
        why, eqn = made.why, made.eqn
    if wanted == "native":
        raise errors.user_error(
            ValueError,
            f"jit({name}): the native engine cannot run this program: {why}.",
            fix='leave `engine="native"` out: "auto" takes XLA where it has to.',
            anchor="engine",
            src=None if eqn is None else eqn.src,
        )
    return "xla", why, None, (None, None)


@functools.cache
def _computes_on_cpu():
    """Whether programs that nothing places run on the CPU; jaxlib is asked only if it has to be."""
    asked = config.first_platform()
    if asked:
        return asked == "cpu"
    wheels = [importlib.util.find_spec(name) for name in ("jax_plugins", "libtpu")]
    named = ("PJRT_NAMES_AND_LIBRARY_PATHS", "TPU_LIBRARY_PATH")
    if not any(wheels) and not any(map(os.environ.get, named)):
        return True
    return first_device().platform == "cpu"


def runs_natively(args):
    """Whether arrays are where tapes run, and their results are: on the first CPU device."""
    if config.current().default_device is not None and not is_first(default_device()):
        return False
    return all([is_first(x._device) for x in args if type(x) is Array])


def compile_jaxpr(jaxpr, name, device, donated, compiler_options):
    """Return the executable of a jaxpr without constvars for `device`."""
    return xla().compile_jaxpr(jaxpr, name, device, donated, xla().Options(compiler_options))


def lower(jaxpr, name, donated, platform=None):
    """Lower a jaxpr without constvars, for the default platform; the text is kept on it."""
    xla().lower(jaxpr, name, donated, platform)


def lowered_text(jaxpr, name, donated, dialect, locations):
    """Return the program as text, see `Lowered.as_text`."""
    return xla().lowered_text(jaxpr, name, donated, dialect, locations)


def lowered_ir(jaxpr, name, donated, dialect):
    """Return the program as jaxlib's object, see `Lowered.compiler_ir`."""
    return xla().lowered_ir(jaxpr, name, donated, dialect)


def write_portable(jaxpr, consts, name, family, allowed):
    """Return a jaxpr without constvars as portable bytes, see `engines.xla.portable`."""
    return xla().portable.write(jaxpr, consts, name, family, allowed)


def portable_text(blob):
    """Return portable bytes as StableHLO text."""
    return xla().compat.portable_text(blob)


def cost_of_text(jaxpr, name, donated):
    """Return cost estimates for the unoptimised program."""
    return xla().cost_of_text(jaxpr, name, donated)


def devices(platform=None):
    """Return all devices of a platform."""
    return xla().client.devices(platform)


def local_devices(process_index=None, platform=None):
    """Return the devices of one process."""
    return xla().client.local_devices(process_index, platform)


def platform_client():
    """Return the module that knows devices and processes."""
    return xla().client


def jaxlib_version():
    """Return the version of the library that compiles and runs."""
    return xla().compat.JAXLIB_VERSION


def trim():
    """Give memory that was kept for reuse back to the system, and drop the plans of functions."""
    native.forget_plans()
    kernels.release_memory()
    if _XLA in sys.modules:
        xla().client.trim_host_memory()
