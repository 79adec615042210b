"""grad takes functions."""

import evertrace as ev
import evertrace.numpy as jnp

ev.grad(jnp.ones(3))  # wrong
