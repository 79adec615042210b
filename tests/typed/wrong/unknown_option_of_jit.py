"""jit knows its options."""

import evertrace as ev


def f(x: ev.Array) -> ev.Array:
    return x


g = ev.jit(f, static_argnum=0)  # wrong
