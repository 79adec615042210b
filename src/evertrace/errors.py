"""The errors and warnings of evertrace; the docstring of each is a short tutorial."""

from evertrace._src.arrays.cell import UnfollowedStateError as UnfollowedStateError
from evertrace._src.errors import AxisError as AxisError
from evertrace._src.errors import CacheWarning as CacheWarning
from evertrace._src.errors import ConcretizationTypeError as ConcretizationTypeError
from evertrace._src.errors import DeletedArrayError as DeletedArrayError
from evertrace._src.errors import DTypeError as DTypeError
from evertrace._src.errors import EvertraceError as EvertraceError
from evertrace._src.errors import EvertraceWarning as EvertraceWarning
from evertrace._src.errors import ImpurityError as ImpurityError
from evertrace._src.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from evertrace._src.errors import JAXIndexError as JAXIndexError
from evertrace._src.errors import JaxprTypeError as JaxprTypeError
from evertrace._src.errors import JaxRuntimeError as JaxRuntimeError
from evertrace._src.errors import JAXTypeError as JAXTypeError
from evertrace._src.errors import KeyReuseError as KeyReuseError
from evertrace._src.errors import LeakedTracerError as LeakedTracerError
from evertrace._src.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from evertrace._src.errors import NotLinearError as NotLinearError
from evertrace._src.errors import OpaqueStateError as OpaqueStateError
from evertrace._src.errors import PeerLostError as PeerLostError
from evertrace._src.errors import PeerMismatchError as PeerMismatchError
from evertrace._src.errors import PerformanceWarning as PerformanceWarning
from evertrace._src.errors import RetraceError as RetraceError
from evertrace._src.errors import RetraceWarning as RetraceWarning
from evertrace._src.errors import ShapeError as ShapeError
from evertrace._src.errors import ShardingTypeError as ShardingTypeError
from evertrace._src.errors import TracerArrayConversionError as TracerArrayConversionError
from evertrace._src.errors import TracerBoolConversionError as TracerBoolConversionError
from evertrace._src.errors import TracerIntegerConversionError as TracerIntegerConversionError
from evertrace._src.errors import TypePromotionError as TypePromotionError
from evertrace._src.errors import UnexpectedTracerError as UnexpectedTracerError

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
