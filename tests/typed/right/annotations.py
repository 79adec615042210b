"""Annotations of functions of the user."""

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.typing import ArrayLike, DTypeLike


def scaled(x: ArrayLike, by: ArrayLike = 2.0, dtype: DTypeLike = "float32") -> ev.Array:
    return jnp.asarray(x, dtype=dtype) * by


y = scaled(3) + scaled(jnp.ones(2), dtype=jnp.float16)
