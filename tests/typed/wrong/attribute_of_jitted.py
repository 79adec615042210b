"""A jitted function has few attributes."""

import evertrace as ev
import evertrace.numpy as jnp

f = ev.jit(jnp.sin)
f.recompile()  # wrong
