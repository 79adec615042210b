"""Registering how primitives are compiled."""

from evertrace._src.api.extending import lower_fun as lower_fun
from evertrace._src.api.extending import register_lowering as register_lowering

__all__ = ["lower_fun", "register_lowering"]
