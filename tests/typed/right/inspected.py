"""What looks into a function takes its arguments, and returns its result beside the values."""

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.ad_checkpoint import checkpoint_name


def f(x: ev.Array, scale: float) -> ev.Array:
    return checkpoint_name(x * scale, "scaled").sum()


result, values = ev.debug.inspect(f, "scaled")(jnp.ones(3), scale=2.0)
total: ev.Array = result
names: list[str] = list(values)
