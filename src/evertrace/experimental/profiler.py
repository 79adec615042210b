"""What profiles say of single instructions."""

from evertrace._src.experimental.annotations import (
    get_profiled_instructions_proto as get_profiled_instructions_proto,
)

__all__ = ["get_profiled_instructions_proto"]
