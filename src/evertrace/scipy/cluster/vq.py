"""Vector quantisation."""

from evertrace._src import lazy
from evertrace._src.scipy.cluster import vq as vq

lazy.refuse_others(__name__)

__all__ = ["vq"]
