"""Results with names."""

import evertrace as ev
import evertrace.numpy as jnp

a = jnp.eye(3)
values, vectors = jnp.linalg.eigh(a)
singular: ev.Array = jnp.linalg.svd(a).S
alone: ev.Array = jnp.linalg.svd(a, compute_uv=False)
q, r = jnp.linalg.qr(a)
x: ev.Array = jnp.linalg.solve(a, jnp.ones(3))
