"""Which unit of a device computes."""

from evertrace._src import lazy
from evertrace._src.experimental.hints import compute_on as compute_on

lazy.refuse_others(__name__)

__all__ = ["compute_on"]
