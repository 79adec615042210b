"""With has_aux there is a pair."""

import evertrace as ev
import evertrace.numpy as jnp


def loss(w: ev.Array) -> tuple[ev.Array, dict[str, ev.Array]]:
    return w.sum(), {"norm": jnp.linalg.norm(w)}


(value, facts), gradient = ev.value_and_grad(loss, has_aux=True)(jnp.ones(3))
norm: ev.Array = facts["norm"]
gradient2, facts2 = ev.grad(loss, has_aux=True)(jnp.ones(3))
