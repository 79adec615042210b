"""A function that a trace can call, and what stands for its defaults until it is called."""

import functools

from evertrace._src import errors
from evertrace._src.jit.lifting.code import code_of, defaults_of
from evertrace._src.jit.lifting.hooks import StandIn


class Reached:
    """A function that a trace can call.

    Attributes:
      fun, code, defaults, kwdefaults: the function as it was.
      node: its node, or None while no path to it is needed.
      called: whether it was entered, or need not be.
      fields: the defaults as they were taken over, or None.
    """

    __slots__ = ("called", "code", "defaults", "fields", "fun", "kwdefaults", "node")

    def __init__(self, fun, node):
        self.fun, self.node, self.called, self.fields = fun, node, False, None
        self.code, self.defaults = code_of(fun), defaults_of(fun)
        self.kwdefaults = fun.__kwdefaults__

    def default(self, key):
        """Return what stands for a default, by its place or name, while there was no call."""
        return StandIn(functools.partial(_read_too_early, self), self, key)

    def plain(self, x):
        """Return an argument, or the default that it stands for, as it was."""
        return self._argument(x, self.defaults, self.kwdefaults)

    def lifted(self, x):
        """Return an argument, or the default that it stands for, as the function has it now."""
        return self._argument(x, self.fun.__defaults__, self.fun.__kwdefaults__)

    def _argument(self, x, defaults, kwdefaults):
        if type(x) is not StandIn or object.__getattribute__(x, "owner") is not self:
            return x
        key = object.__getattribute__(x, "name")
        return (kwdefaults if isinstance(key, str) else defaults)[key]


def plain_argument(x):
    """Return an argument, or the default that it stands for, as it was before the trace."""
    owner = object.__getattribute__(x, "owner") if type(x) is StandIn else None
    return owner.plain(x) if type(owner) is Reached else x


def is_default(x):
    """Whether an argument was not given, but is what stands for the function's default."""
    return type(x) is StandIn and type(object.__getattribute__(x, "owner")) is Reached


def _read_too_early(found):
    return errors.user_error(
        errors.OpaqueStateError,
        f"jit: a default of {found.fun.__qualname__} is read before the function is called.",
        fix="call the function instead of looking at its `__defaults__`.",
        anchor="opaque-state",
    )
