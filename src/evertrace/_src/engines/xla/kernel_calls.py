"""Our own kernels in compiled programs: custom calls of the extension module's handlers.

They are for CPUs, where XLA sorts and scans with code that is neither vectorised nor shared among
threads. A lowering rule asks `usable` and has a form in plain StableHLO for where it is not. The
targets' names are in the program's text and so in its key on disk: a process without the kernels
writes another text, and never loads a program that calls them.
"""

import functools

from evertrace._src import kernels
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.foreign import TYPED_FFI, row_major
from evertrace._src.engines.xla.text import bool_attr


def usable(b, shape, *dtypes, known=kernels.DTYPES):
    """Return whether the program may call a kernel on arrays of this shape and dtypes."""
    return b.module.platform == "cpu" and kernels.use(shape, *dtypes, known=known)


@functools.cache
def _register():
    """Make the kernels known to XLA, once per process."""
    compat.register_kernels(kernels.xla_handlers())


def call(b, target, operands, outs, **attrs):
    """Write the call of a kernel; returns its results as a list.

    Args:
      b: the builder.
      target: name of the handler.
      operands: list of `Val`s.
      outs: list of avals.
      **attrs: of the handler, as MLIR text.
    """
    _register()
    fields = ", ".join(f"{name} = {value}" for name, value in attrs.items())
    return b.op(
        "stablehlo.custom_call",
        operands,
        outs,
        {
            "api_version": TYPED_FFI,
            "backend_config": f"{{{fields}}}",
            "call_target_name": f'"{target}"',
            "has_side_effect": bool_attr(False),
            "operand_layouts": row_major([x.aval for x in operands]),
            "result_layouts": row_major(outs),
        },
    )
