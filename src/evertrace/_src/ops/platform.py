"""Which platform a program runs on, as a number that it may branch on."""

import numpy as np

from evertrace._src import errors
from evertrace._src.core import engine
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import literal
from evertrace._src.core.primitive import Primitive, undefined

INDEX = np.dtype(np.int32)
NAMES = {"cpu": ("cpu",), "tpu": ("tpu",), "gpu": ("cuda", "rocm", "gpu")}
"""What users call a platform, by what XLA calls it."""


def index_of(platforms, platform):
    """Return where a platform is among names; None stands for all others.

    Raises:
      NotImplementedError: it is not there.
    """
    for name in (*NAMES.get(platform, (platform,)), None):
        if name in platforms:
            return platforms.index(name)
    raise errors.user_error(
        NotImplementedError,
        f"platform_dependent: there is no function for {platform}, only for "
        f"{', '.join(map(repr, platforms)) or 'nothing'}.",
        fix="add a function for it, or one as `default`.",
        anchor="devices",
    )


def index_here(platforms):
    """Return where the platform of the default device is among names; see `index_of`."""
    return index_of(platforms, engine.backend().default_device().platform)


def _eager(*, platforms):
    return literal(index_here(platforms), INDEX)


platform_index_p = Primitive(
    "platform_index",
    abstract=lambda *, platforms: ShapedArray((), INDEX),
    eager=_eager,
    jvp=undefined("it is an integer without operands"),
    batch=undefined("it has no operands"),
)
