"""The platform that a program is compiled for, as a constant in it."""

from evertrace._src.engines.xla.lower import lowering
from evertrace._src.ops import platform as ops


@lowering.define(ops.platform_index_p)
def _platform_index(b, out, *, platforms):
    return b.constant(ops.index_of(platforms, b.module.platform), out)
