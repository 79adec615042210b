"""The steps of ahead-of-time compilation: trace, lower, compile."""

from evertrace._src import lazy
from evertrace._src.jit.dispatch import JitFunction as Wrapped
from evertrace._src.jit.stages import ArgInfo as ArgInfo
from evertrace._src.jit.stages import Compiled as Compiled
from evertrace._src.jit.stages import CompilerOptions as CompilerOptions
from evertrace._src.jit.stages import Lowered as Lowered
from evertrace._src.jit.stages import Traced as Traced

lazy.refuse_others(__name__)

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
