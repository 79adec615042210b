"""A jitted method knows its arguments."""

import evertrace as ev


class Model:
    @ev.jit
    def step(self, x: ev.Array) -> ev.Array:
        return x


Model().step()  # wrong
