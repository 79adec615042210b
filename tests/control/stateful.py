"""What the tests of state share: the constructs, in plain Python and compiled, and an object."""

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.contract.compare import Plain

XS = jnp.asarray([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [2.0, 0.0, 1.0], [-1.0, 1.0, 0.5]])
X = XS[0]


class PlainOps(Plain):
    """The constructs in plain Python."""

    def map(self, fun, xs):
        return jnp.stack([fun(x) for x in xs])

    def custom_jvp(self, fun):
        return fun

    custom_vjp = custom_jvp


class LaxOps:
    """The constructs compiled."""

    scan, while_loop, fori_loop = map(staticmethod, (lax.scan, lax.while_loop, lax.fori_loop))
    map, cond, switch = staticmethod(lax.map), staticmethod(lax.cond), staticmethod(lax.switch)
    checkpoint = staticmethod(ev.checkpoint)

    @staticmethod
    def custom_jvp(fun):
        made = ev.custom_jvp(fun)
        made.defjvp(lambda primals, tangents: (made(*primals), tangents[0]))
        return made

    @staticmethod
    def custom_vjp(fun):
        made = ev.custom_vjp(fun)
        made.defvjp(lambda x: (made(x), None), lambda _, ct: (ct,))
        return made


class Box:
    """A plain object."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)
