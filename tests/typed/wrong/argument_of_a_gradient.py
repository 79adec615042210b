"""What a gradient is taken of is an array where the function says so."""

import evertrace as ev


def loss(x: ev.Array) -> ev.Array:
    return x.sum()


ev.grad(loss)("three")  # wrong
