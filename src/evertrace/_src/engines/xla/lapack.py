"""LAPACK for compiled programs on the CPU: jaxlib's custom calls, and how they are written.

The kernels take stacks of matrices in LAPACK's own order, by columns, which is said with layouts:
XLA then fuses the transposition into what makes or reads the matrix. jaxlib finds LAPACK through
SciPy, whose import takes a fifth of a second; so kernels are registered when a program that calls
one is written, not before.
"""

import functools

import numpy as np

from evertrace._src import errors
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.foreign import TYPED_FFI, alias
from evertrace._src.engines.xla.text import bool_attr, ints

_PREFIXES = {"f": "s", "d": "d", "F": "c", "D": "z"}
_COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}


@functools.cache
def register():
    """Make jaxlib's kernels known to XLA, once per process."""
    compat.register_lapack()


def call(b, name, operands, outs, batch, attrs=None, overwrites=None):
    """Write the call of a kernel.

    Args:
      b: the builder.
      name: of the LAPACK routine without its letter for the dtype, such as ``potrf``.
      operands: list of `Val`s; the first has the dtype that is computed in.
      outs: list of avals.
      batch: how many leading dimensions are batch dimensions.
      attrs: attribute name -> MLIR text.
      overwrites: operand -> result that may take its memory, as indices.

    Returns:
      A list of `Val`s.
    """
    if b.module.platform != "cpu":
        raise errors.user_error(
            NotImplementedError,
            f"{name}: this decomposition is made with LAPACK, on CPUs only; the program is for "
            f"{b.module.platform}.",
            fix="run this part on a CPU device, e.g. under "
            "`with default_device(devices('cpu')[0]):`.",
            anchor="devices",
        )
    register()
    char = operands[0].dtype.char
    if char in "FD":
        name = _COMPLEX_NAMES.get(name, name)
    fields = ", ".join(f"{k} = {v}" for k, v in (attrs or {}).items())
    aliases = ", ".join(alias(i, o, len(outs)) for i, o in (overwrites or {}).items())
    return b.op(
        "stablehlo.custom_call",
        operands,
        outs,
        {
            "api_version": TYPED_FFI,
            "backend_config": f"{{{fields}}}",
            "call_target_name": f'"lapack_{_PREFIXES[char]}{name}_ffi"',
            "has_side_effect": bool_attr(False),
            "operand_layouts": _layouts([x.aval for x in operands], batch),
            "output_operand_aliases": f"[{aliases}]",
            "result_layouts": _layouts(outs, batch),
        },
    )


def character(letter):
    """Return the attribute for an option that LAPACK takes as a letter."""
    return f"{ord(letter)} : ui8"


def _layouts(avals, batch):
    """Return the layouts: dimensions from the fastest varying one; matrices go by columns."""
    texts = []
    for aval in avals:
        order = list(reversed(range(aval.ndim)))
        if aval.ndim - batch == 2:
            order[:2] = order[1::-1]
        shape = f"tensor<{aval.ndim}xindex>"
        texts.append(f"dense<{order if order else ''}> : {shape}")
    return f"[{', '.join(texts)}]"


def or_nan(b, info, values):
    """Write `values` where ``info == 0``, and NaN for the examples where a routine failed."""
    ok = b.compare("EQ", info, b.full_like(info, 0))
    return [_where(b, ok, x) for x in values]


def _where(b, ok, x):
    spread = ok.aval.update(shape=x.shape)
    kept = {"broadcast_dimensions": ints(range(ok.aval.ndim))}
    pred = b.op("stablehlo.broadcast_in_dim", [ok], spread, kept)
    nan = np.nan if x.dtype.kind == "f" else complex(np.nan, np.nan)
    return b.op("stablehlo.select", [pred, x, b.full_like(x, nan)], x.aval)
