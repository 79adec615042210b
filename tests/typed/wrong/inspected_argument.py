"""What looks into a function does not take what the function does not."""

import evertrace as ev


def f(x: ev.Array) -> ev.Array:
    return x


result, values = ev.debug.inspect(f)("text")  # wrong
