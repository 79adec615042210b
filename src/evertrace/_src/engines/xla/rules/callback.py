"""StableHLO of callbacks: custom calls of handlers that jaxlib registers.

A handler gets views of the operands that are valid during the call only, and copies the bytes of
the results without looking at their types, which is why `call_back` does. Callbacks with effects
take and return the token that keeps them in order, and so do those without one that are in a
program with them: what they read may be what the others change.

In a program that is divided among devices one of them calls, with the whole of the operands; in
`shard_map` over all axes of the mesh each device does, with its parts. Along some of the axes it is
one for all again, which calls once for each part.
"""

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.core.jaxpr import subjaxprs
from evertrace._src.engines.xla.foreign import TYPED_FFI, row_major
from evertrace._src.engines.xla.lower import SEES_EFFECTS, lowering
from evertrace._src.engines.xla.text import per_value, physical_aval, quoted, shardy
from evertrace._src.ops.callback import (
    EachExample,
    call_back,
    debug_callback_p,
    io_callback_p,
    pure_callback_p,
)

SEES_EFFECTS.add(pure_callback_p)
_TARGETS = {"cpu": "xla_ffi_python_cpu_callback", "gpu": "xla_ffi_python_gpu_callback"}
_CALLBACKS = {pure_callback_p, io_callback_p, debug_callback_p}
_OF_PARTS = "xla_ffi_partitioned_python_cpu_callback"  # every device calls it with what it has


@lowering.define(pure_callback_p)
def _pure(b, outs, *operands, callback, result_avals, sharding, **_):
    call = _Call(callback, result_avals, b.module.has_effects, sharding)
    return _written(b, call, operands, outs)


@lowering.define(io_callback_p)
def _io(b, outs, *operands, callback, result_avals, sharding, **_):
    return _written(b, _Call(callback, result_avals, True, sharding), operands, outs)


@lowering.define(debug_callback_p)
def _debug(b, outs, *operands, callback, partitioned, **_):
    of_parts = partitioned and bool(b.module.sizes) and b.module.platform == "cpu"
    # XLA's own division of such a call ends the process at a token.
    call = _Call(callback, None, not of_parts, of_parts=of_parts)
    return _written(b, call, operands, outs)


def unless_failed(b, jaxprs, condition):
    """Write the condition of a loop of jaxprs: none goes on once a function that they call raised.

    Where a program is divided the functions give zeros then, which might never end a loop. So does
    this one, which gives the condition as it is before.
    """
    if not b.module.sizes or not any(map(_calls_back, jaxprs)):
        return condition
    call = _Call(lambda *xs: xs[0], (condition.aval,), False, stays=True)
    return _written(b, call, [condition], [condition.aval])[0]


def _calls_back(jaxpr):
    """Whether a jaxpr calls Python functions; kept."""
    if "calls back" not in jaxpr.cache:
        jaxpr.cache["calls back"] = any(
            [
                eqn.primitive in _CALLBACKS or any(map(_calls_back, subjaxprs(eqn.params)))
                for eqn in jaxpr.eqns
            ]
        )
    return jaxpr.cache["calls back"]


class _Call:
    """One call in the text.

    Args:
      callback: the `FlatCallback` or `EachExample`.
      result_avals: of its results, or None.
      in_order: whether it has a place in the order of effects.
      sharding: the user's, which may name the device that calls.
      of_parts: whether every device calls with its part of the operands, however they lie.
      stays: whether it is made each time, although it has no place in the order.
    """

    def __init__(
        self, callback, result_avals, in_order, sharding=None, of_parts=False, stays=False
    ):
        self.callback, self.result_avals, self.in_order = callback, result_avals, in_order
        self.sharding, self.of_parts, self.stays = sharding, of_parts, stays


class Handler:
    """What XLA calls: a function of views of the operands to a tuple of results.

    Args:
      call: what is called.
      operands: the avals of its operands.
    """

    def __init__(self, call, operands):
        self._call, self._operands = call, operands
        self._token = (None,) * call.in_order

    def __call__(self, *views):
        """Call the function, and return what it gives in memory of the right types."""
        pairs = zip(self._operands, views[len(self._token) :], strict=True)
        arrays = [Array(self._seen(a, x), np.array(x)) for a, x in pairs]
        return (*self._token, *call_back(self._call.callback, self._call.result_avals, arrays))

    def _seen(self, aval, view):
        return aval.update(shape=view.shape) if self._call.of_parts else aval

    def nothing(self):
        """Return zeros in the place of results."""
        avals = self._call.result_avals or ()
        return (*self._token, *[np.zeros(a.shape, a.dtype) for a in avals])


def _written(b, call, operands, outs):
    """Write a call; returns its results."""
    tokens = [b.effect_token()] if call.in_order else []
    operands, outs = [*tokens, *operands], [*[None] * len(tokens), *outs]
    if _is_of_each_device(b.module, call):
        results = _on_each_device(b, call, operands, outs)
    elif b.module.sizes and not call.of_parts:
        # Copied to all before and after: else XLA says on stderr that it cannot do otherwise.
        found = _custom_call(b, call, [_whole(b, x) for x in operands], list(map(_bits, outs)))
        results = [_of_bits(b, _whole(b, x), aval) for x, aval in zip(found, outs, strict=True)]
    else:
        results = _custom_call(b, call, operands, outs)
    return b.take_token(tokens, results)


def _whole(b, x):
    """Write that all devices have the whole of a value; tokens are on all."""
    if x.aval is None:
        return x
    return b.op("sdy.sharding_constraint", [x], x.aval, {"sharding": shardy((), _rank(x.aval))})


def _bits(aval):
    """Return the type by which floats go to all devices: XLA adds them to zeros, and -0.0 to 0.0.

    XLA copies the bytes of a handler's results, whatever is said of their type.
    """
    if aval is None or aval.dtype.name not in ("float16", "bfloat16", "float32", "float64"):
        return aval
    return aval.update(dtype=np.dtype(f"uint{8 * aval.dtype.itemsize}"))


def _of_bits(b, x, aval):
    return x if x.aval is aval else b.op("stablehlo.bitcast_convert", [x], aval)


def _is_of_each_device(module, call):
    """Whether all devices of the mesh call, each with its parts."""
    if not module.sizes or type(call.callback) is not EachExample or call.sharding is not None:
        return False
    return {level.axis for level in call.callback.levels()} >= {axis for axis, _ in module.sizes}


def _on_each_device(b, call, operands, outs):
    """Write a call that each device makes for itself: its parts have axes of the mesh of size 1."""
    levels = call.callback.levels()
    axes = [() if level.axis is None else (level.axis,) for level in levels]
    n = call.in_order
    divisions = [()] * n + [
        [a for a, level in zip(axes, levels, strict=True) if level.avals[i] is not None]
        for i in range(len(operands) - n)
    ]
    takes = [_part(x.aval, division) for x, division in zip(operands, divisions, strict=True)]
    gives = [_part(aval, axes) for aval in outs]
    results = None if call.result_avals is None else tuple(gives[n:])
    mine = _Call(call.callback.of_one_device(takes[n:], results), results, call.in_order)
    body = b.region(takes, lambda *xs: _custom_call(b, mine, xs, gives, ""), "sdy.return")
    pairs = zip([x.aval for x in operands], divisions, strict=True)
    attrs = {
        "in_shardings": per_value([(d, _rank(a)) for a, d in pairs]),
        "out_shardings": per_value([(axes if a is not None else (), _rank(a)) for a in outs]),
        "manual_axes": f"#sdy<manual_axes{{{', '.join([quoted(a) for a, _ in b.module.sizes])}}}>",
    }
    return b.op("sdy.manual_computation", operands, outs, attrs, [body])


def _part(aval, division):
    """Return the type of one device's part; None is a token."""
    if aval is None:
        return None
    sizes = [1 if axes else n for n, axes in zip(aval.shape, division, strict=False)]
    return aval.update(shape=(*sizes, *aval.shape[len(sizes) :]))


def _rank(aval):
    return 0 if aval is None else len(physical_aval(aval)[0])


def _custom_call(b, call, operands, outs, placed=None):
    """Write a call in the words of XLA.

    Args:
      b: the builder.
      call: what is called.
      operands: the token, where it is in order, and the operands.
      outs: likewise the avals of the results.
      placed: which device calls, in Shardy's words: "" for each, None for one of the mesh.
    """
    platform = b.module.platform
    if platform not in _TARGETS:
        raise errors.user_error(
            NotImplementedError,
            f"callbacks are not supported on the platform {platform!r}.",
            fix="compute what calls back on the CPU.",
            anchor="callback",
        )
    b.module.callbacks.append(Handler(call, [x.aval for x in operands[call.in_order :]]))
    attrs = {
        "call_target_name": quoted(_OF_PARTS if call.of_parts else _TARGETS[platform]),
        "api_version": TYPED_FFI,
        "has_side_effect": "true" if call.in_order or call.of_parts or call.stays else "false",
        "backend_config": f"{{index = {len(b.module.callbacks) - 1} : ui64}}",
        "operand_layouts": row_major([x.aval for x in operands]),
        "result_layouts": row_major(outs),
    }
    if b.module.sizes and placed is None:
        mesh = b.module.mesh_of_one(_calling_device(b.module, call))
        places = ", ".join([f"<@{mesh}, []>"] * max(len(outs), 1))
        attrs["sdy.sharding"] = f"#sdy.sharding_per_value<[{places}]>"
    return b.op("stablehlo.custom_call", operands, outs, attrs)


def _calling_device(module, call):
    """Return the number in the mesh of the device that calls for all."""
    if call.sharding is None or not module.devices:  # a plan for a mesh that is not there
        return 0
    devices = call.sharding.device_list()
    if len(devices) != 1 or devices[0] not in module.devices:
        raise errors.user_error(
            ValueError,
            f"{call.callback.name}: sharding names {', '.join(map(str, devices))}, and one device "
            "of those that the program runs on has to call.",
            fix="pass the `SingleDeviceSharding` of one of them, or none for the first one.",
            anchor="callback",
            src=call.callback.src,
        )
    return module.devices.index(devices[0])
