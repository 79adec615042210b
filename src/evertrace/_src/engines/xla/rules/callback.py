"""StableHLO of callbacks: custom calls of handlers that jaxlib registers.

A handler gets views of the operands that are valid during the call only, and copies the bytes of
the results without looking at their types, which is why `call_back` does. Callbacks with effects
take and return the token that keeps them in order.
"""

import numpy as np

from evertrace._src.arrays.array import Array
from evertrace._src.engines.xla.lower import lowering, physical_aval
from evertrace._src.ops.callback import call_back, debug_callback_p, io_callback_p, pure_callback_p

_TARGETS = {"cpu": "xla_ffi_python_cpu_callback", "gpu": "xla_ffi_python_gpu_callback"}
_TYPED_FFI = "4 : i32"  # XLA's number of the calling convention


@lowering.define(pure_callback_p)
def _pure(b, outs, *operands, callback, result_avals, **_):
    return _custom_call(b, operands, outs, _handler(callback, result_avals, operands))


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
        b, [b.effect_token(), *operands], [None, *outs], lambda _, *views: (None, *handler(*views)),
        has_side_effect="true",
    )  # fmt: skip
    return results


def _custom_call(b, operands, outs, handler, has_side_effect="false"):
    platform = b.module.platform
    if platform not in _TARGETS:
        raise NotImplementedError(f"callbacks are not supported on the platform {platform!r}")
    b.module.callbacks.append(handler)
    attrs = {
        "call_target_name": f'"{_TARGETS[platform]}"',
        "api_version": _TYPED_FFI,
        "has_side_effect": has_side_effect,
        "backend_config": f"{{index = {len(b.module.callbacks) - 1} : ui64}}",
        "operand_layouts": _row_major([x.aval for x in operands]),
        "result_layouts": _row_major(outs),
    }
    return b.op("stablehlo.custom_call", operands, outs, attrs)


def _row_major(avals):
    """Return the layouts of C-ordered arrays: their dimensions, the fastest one first."""
    ranks = [0 if aval is None else len(physical_aval(aval)[0]) for aval in avals]
    layouts = [f"dense<{[*range(r)][::-1] if r else ''}> : tensor<{r}xindex>" for r in ranks]
    return f"[{', '.join(layouts)}]"
