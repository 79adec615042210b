"""What runs programs, by the names under which JAX's extenders ask for it."""

from typing import Any

from evertrace._src.engines import runtime
from evertrace._src.support import set_module

public = set_module("evertrace.extend.backend")


@public
def get_backend(platform: Any = None) -> Any:
    """Return the client of a platform, which knows its devices.

    Args:
      platform: its name; None for the default one.

    Raises:
      RuntimeError: there is no such platform here.

    Example:
      >>> from evertrace.extend import backend
      >>> backend.get_backend("cpu").platform
      'cpu'
    """
    return runtime.client().get_client(platform)


@public
def backends() -> Any:
    """Return a dict from the names of platforms to their clients; the default one is started.

    Example:
      >>> from evertrace.extend import backend
      >>> "cpu" in backend.backends() or ev.default_backend() != "cpu"
      True
    """
    client = runtime.client().get_client()
    return {client.platform: client}


@public
def get_default_device() -> Any:
    """Return the device on which uncommitted work runs.

    Example:
      >>> from evertrace.extend import backend
      >>> backend.get_default_device() == jnp.ones(1).device
      True
    """
    return runtime.default_device()
