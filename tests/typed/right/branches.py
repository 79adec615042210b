"""Compiled branches."""

import evertrace.numpy as jnp
from evertrace import lax

x = jnp.ones(3)
y = lax.cond(x.sum() > 0, lambda x: x, lambda x: -x, x)
z = lax.switch(1, [jnp.sin, jnp.cos], x)
