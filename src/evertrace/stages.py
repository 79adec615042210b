"""The steps of ahead-of-time compilation: trace, lower, compile."""

from evertrace._src.jit.dispatch import JitFunction as Wrapped
from evertrace._src.jit.stages import Compiled as Compiled
from evertrace._src.jit.stages import Lowered as Lowered
from evertrace._src.jit.stages import Traced as Traced

__all__ = ["Compiled", "Lowered", "Traced", "Wrapped"]
