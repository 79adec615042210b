"""The errors and warnings of evertrace; the docstring of each is a short tutorial."""

from evertrace._src import lazy
from evertrace._src.arrays.cell import UnfollowedStateError as UnfollowedStateError
from evertrace._src.error_classes import AxisError as AxisError
from evertrace._src.error_classes import CacheWarning as CacheWarning
from evertrace._src.error_classes import ConcretizationTypeError as ConcretizationTypeError
from evertrace._src.error_classes import DeletedArrayError as DeletedArrayError
from evertrace._src.error_classes import DTypeError as DTypeError
from evertrace._src.error_classes import EvertraceError as EvertraceError
from evertrace._src.error_classes import EvertraceWarning as EvertraceWarning
from evertrace._src.error_classes import ImpurityError as ImpurityError
from evertrace._src.error_classes import (
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
)
from evertrace._src.error_classes import JAXIndexError as JAXIndexError
from evertrace._src.error_classes import JaxprTypeError as JaxprTypeError
from evertrace._src.error_classes import JaxRuntimeError as JaxRuntimeError
from evertrace._src.error_classes import JAXTypeError as JAXTypeError
from evertrace._src.error_classes import KeyReuseError as KeyReuseError
from evertrace._src.error_classes import LeakedTracerError as LeakedTracerError
from evertrace._src.error_classes import (
    NonConcreteBooleanIndexError as NonConcreteBooleanIndexError,
)
from evertrace._src.error_classes import NotLinearError as NotLinearError
from evertrace._src.error_classes import OpaqueStateError as OpaqueStateError
from evertrace._src.error_classes import PeerLostError as PeerLostError
from evertrace._src.error_classes import PeerMismatchError as PeerMismatchError
from evertrace._src.error_classes import PerformanceWarning as PerformanceWarning
from evertrace._src.error_classes import RetraceError as RetraceError
from evertrace._src.error_classes import RetraceWarning as RetraceWarning
from evertrace._src.error_classes import ShapeError as ShapeError
from evertrace._src.error_classes import ShardingTypeError as ShardingTypeError
from evertrace._src.error_classes import TracerArrayConversionError as TracerArrayConversionError
from evertrace._src.error_classes import TracerBoolConversionError as TracerBoolConversionError
from evertrace._src.error_classes import (
    TracerIntegerConversionError as TracerIntegerConversionError,
)
from evertrace._src.error_classes import TypePromotionError as TypePromotionError
from evertrace._src.error_classes import UnexpectedTracerError as UnexpectedTracerError

lazy.refuse_others(__name__)

__all__ = [
    "AxisError",
    "CacheWarning",
    "ConcretizationTypeError",
    "DTypeError",
    "DeletedArrayError",
    "EvertraceError",
    "EvertraceWarning",
    "ImpurityError",
    "InconclusiveDimensionOperation",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "LeakedTracerError",
    "NonConcreteBooleanIndexError",
    "NotLinearError",
    "OpaqueStateError",
    "PeerLostError",
    "PeerMismatchError",
    "PerformanceWarning",
    "RetraceError",
    "RetraceWarning",
    "ShapeError",
    "ShardingTypeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TypePromotionError",
    "UnexpectedTracerError",
    "UnfollowedStateError",
]
