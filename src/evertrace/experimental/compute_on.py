"""Which unit of a device computes."""

from evertrace._src.experimental.hints import compute_on as compute_on

__all__ = ["compute_on"]
