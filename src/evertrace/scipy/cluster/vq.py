"""Vector quantisation."""

from evertrace._src.scipy.cluster import vq as vq

__all__ = ["vq"]
