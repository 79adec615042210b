"""What runs programs."""

from evertrace._src import lazy
from evertrace._src.api.backends import backends as backends
from evertrace._src.api.backends import get_backend as get_backend
from evertrace._src.api.backends import get_default_device as get_default_device

lazy.refuse_others(__name__)

__all__ = ["backends", "get_backend", "get_default_device"]
