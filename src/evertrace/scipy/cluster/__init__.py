"""Groups of observations."""

from . import vq as vq

__all__ = ["vq"]
