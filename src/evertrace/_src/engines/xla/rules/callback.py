"""StableHLO of callbacks: custom calls of handlers that jaxlib registers.

A handler gets views of the operands that are valid during the call only, and copies the bytes of
the results without looking at their types, which is why `call_back` does. Callbacks with effects
take and return the token that keeps them in order, and so do those without one that are in a
program with them: what they read may be what the others change.
"""

import numpy as np

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.engines.xla.foreign import TYPED_FFI, row_major
from evertrace._src.engines.xla.lower import SEES_EFFECTS, lowering
from evertrace._src.ops.callback import call_back, debug_callback_p, io_callback_p, pure_callback_p

SEES_EFFECTS.add(pure_callback_p)
_TARGETS = {"cpu": "xla_ffi_python_cpu_callback", "gpu": "xla_ffi_python_gpu_callback"}


@lowering.define(pure_callback_p)
def _pure(b, outs, *operands, callback, result_avals, **_):
    write = _effect if b.module.has_effects else _custom_call
    return write(b, operands, outs, _handler(callback, result_avals, operands))


@lowering.define(io_callback_p)
def _io(b, outs, *operands, callback, result_avals, **_):
    return _effect(b, operands, outs, _handler(callback, result_avals, operands))


@lowering.define(debug_callback_p)
def _debug(b, outs, *operands, callback, **_):
    return _effect(b, operands, outs, _handler(callback, None, operands))


def _handler(callback, result_avals, operands):
    """Return what XLA calls: a function of views of the operands to a tuple of results."""
    avals = [x.aval for x in operands]

    def handler(*views):
        arrays = [Array(a, np.array(x)) for a, x in zip(avals, views, strict=True)]
        return tuple(call_back(callback, result_avals, arrays))

    return handler


def _effect(b, operands, outs, handler):
    """Write the call of a handler between the effects before and after it."""
    b.token, *results = _custom_call(
        b,
        [b.effect_token(), *operands],
        [None, *outs],
        lambda _, *views: (None, *handler(*views)),
        has_side_effect="true",
    )
    return results


def _custom_call(b, operands, outs, handler, has_side_effect="false"):
    platform = b.module.platform
    if platform not in _TARGETS:
        raise errors.user_error(
            NotImplementedError,
            f"callbacks are not supported on the platform {platform!r}.",
            fix="compute what calls back on the CPU.",
            anchor="callback",
        )
    b.module.callbacks.append(handler)
    attrs = {
        "call_target_name": f'"{_TARGETS[platform]}"',
        "api_version": TYPED_FFI,
        "has_side_effect": has_side_effect,
        "backend_config": f"{{index = {len(b.module.callbacks) - 1} : ui64}}",
        "operand_layouts": row_major([x.aval for x in operands]),
        "result_layouts": row_major(outs),
    }
    return b.op("stablehlo.custom_call", operands, outs, attrs)
