"""What profiles say of single instructions."""

from evertrace._src import lazy
from evertrace._src.experimental.annotations import (
    get_profiled_instructions_proto as get_profiled_instructions_proto,
)

lazy.refuse_others(__name__)

__all__ = ["get_profiled_instructions_proto"]
