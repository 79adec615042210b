"""argnums are numbers."""

import evertrace as ev


def loss(w: ev.Array) -> ev.Array:
    return w.sum()


ev.grad(loss, argnums="w")  # wrong
