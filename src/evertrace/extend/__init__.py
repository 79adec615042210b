"""The extender's door: what a new primitive, transformation or engine is made of."""

from evertrace._src import lazy
from evertrace._src.api.extending import Primitive as Primitive
from evertrace._src.api.lowerings import lower_fun as lower_fun
from evertrace._src.api.lowerings import register_lowering as register_lowering
from evertrace._src.core.aval import ShapedArray as ShapedArray
from evertrace._src.core.engine import Backend as Backend
from evertrace._src.core.primitive import JOINTLY as JOINTLY
from evertrace._src.core.primitive import undefined as undefined
from evertrace._src.core.rules import LinearArg as LinearArg
from evertrace._src.core.rules import RuleTable as RuleTable
from evertrace._src.core.rules import is_linear as is_linear
from evertrace._src.ops.builders import elementwise as elementwise

from . import backend as backend
from . import core as core
from . import linear_util as linear_util
from . import source_info_util as source_info_util

lazy.refuse_others(__name__)

__all__ = [
    "JOINTLY", "Backend", "LinearArg", "Primitive", "RuleTable", "ShapedArray", "backend", "core",
    "elementwise", "is_linear", "linear_util", "lower_fun", "register_lowering",
    "source_info_util", "undefined",
]  # fmt: skip
