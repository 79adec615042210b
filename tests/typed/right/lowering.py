"""What is lowered takes the arguments of the function."""

import evertrace as ev
import evertrace.numpy as jnp


@ev.jit
def f(x: ev.Array, y: float) -> ev.Array:
    return x * y


lowered = f.lower(jnp.ones(3), 2.0)
text: str = lowered.as_text()
