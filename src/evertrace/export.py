"""Functions as programs in bytes, for other processes and machines."""

from evertrace._src import lazy
from evertrace._src.dims.scope import SymbolicScope as SymbolicScope
from evertrace._src.dims.shapes import is_symbolic_dim as is_symbolic_dim
from evertrace._src.dims.shapes import symbolic_shape as symbolic_shape
from evertrace._src.export.checks import DisabledSafetyCheck as DisabledSafetyCheck
from evertrace._src.export.exported import Exported as Exported
from evertrace._src.export.exported import default_export_platform as default_export_platform
from evertrace._src.export.exported import deserialize as deserialize
from evertrace._src.export.exported import export as export
from evertrace._src.export.exported import (
    maximum_supported_calling_convention_version as maximum_supported_calling_convention_version,
)
from evertrace._src.export.exported import (
    minimum_supported_calling_convention_version as minimum_supported_calling_convention_version,
)
from evertrace._src.export.symbolic import symbolic_args_specs as symbolic_args_specs
from evertrace._src.export.trees import (
    register_namedtuple_serialization as register_namedtuple_serialization,
)
from evertrace._src.export.trees import (
    register_pytree_node_serialization as register_pytree_node_serialization,
)

lazy.refuse_others(__name__)

__all__ = [
    "DisabledSafetyCheck", "Exported", "SymbolicScope", "default_export_platform", "deserialize",
    "export", "is_symbolic_dim",
    "maximum_supported_calling_convention_version", "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization", "register_pytree_node_serialization",
    "symbolic_args_specs", "symbolic_shape",
]  # fmt: skip
