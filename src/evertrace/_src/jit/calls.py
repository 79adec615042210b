"""A call of a jitted function as its roots: the function and its arguments, one by one.

Arguments given by name and defaults are put where they would be by position, so that ``f(x)``,
``f(x, k=2)`` and ``f(x, 2)`` are one call. The roots are what a variant's guards start from.
"""

import inspect
import types
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import config
from evertrace._src.arrays.array import Array
from evertrace._src.core.tracer import EVAL, Tracer, state
from evertrace._src.jit.lifting import values
from evertrace._src.jit.lifting.code import code_of, is_library_function
from evertrace._src.jit.lifting.containers import can_be_left
from evertrace._src.jit.lifting.uses import uses_of_variable


class Call(NamedTuple):
    """A call taken apart.

    Attributes:
      roots: the function, its positional arguments, its keyword arguments' values.
      names: of the keyword arguments.
      parameters: names of the positional arguments, as far as they have any.
      static_roots, donated_roots: positions of roots with these roles.
      opened: the `Plan` by which it is traced for open sizes (see `opening`), or None.
      moved: id of an array that arguments hold -> it, laid out as `in_shardings` say.
    """

    roots: tuple
    names: tuple
    parameters: tuple
    static_roots: frozenset
    donated_roots: frozenset
    opened: Any = None
    moved: Any = types.MappingProxyType({})

    def lift(self, lifter):
        """Lift the roots; returns the function, its args and kwargs, to be called."""
        fun = self._lift_function(lifter)
        n = len(self.roots) - len(self.names)
        lifted = [self._lift_argument(lifter, i) for i in range(1, len(self.roots))]
        args, rest = lifted[: n - 1], lifted[n - 1 :]
        return fun, args, dict(zip(self.names, rest, strict=True))

    def _lift_function(self, lifter):
        fun = self.roots[0]
        node = lifter.recorder.graph.node(
            None, "root", 0, getattr(fun, "__name__", type(fun).__name__)
        )
        lifted = lifter.lift(fun, node)
        inner, inner_node = fun, node
        if type(fun) is types.MethodType and type(fun.__func__) is types.FunctionType:
            inner = fun.__func__
            inner_node = lifter.recorder.graph.node(node, "attribute", "__func__", inner.__name__)
        if type(inner) is types.FunctionType and not is_library_function(inner):
            lifter.functions.enter_root(inner, inner_node)
        return lifted

    def _lift_argument(self, lifter, i):
        value, name = self.roots[i], self.name_of(i)
        node = lifter.recorder.graph.node(None, "root", i, name)
        if i in self.static_roots and not _has_attributes(value):
            node.check, node.want = "equal", value
            return value
        return lifter.lift(value, node, self._uses(name) if can_be_left(type(value)) else None)

    def _uses(self, name):
        """Return what the function does with one of its arguments, see `uses`."""
        fun = getattr(self.roots[0], "__func__", self.roots[0])
        if type(fun) is not types.FunctionType:
            return None
        code = code_of(fun)
        own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        return uses_of_variable(fun.__code__, name) if name in own else None

    def name_of(self, i):
        """Return the name of a root as the user wrote it."""
        n = len(self.roots) - len(self.names)
        if i >= n:
            return self.names[i - n]
        if i - 1 < len(self.parameters):
            return self.parameters[i - 1]
        return f"argument {i - 1}"

    def key(self):
        """Return what tells most calls with different variants apart, and is cheap."""
        return bucket_key(self.roots, self.names, self.static_roots)


def _has_attributes(value):
    """Whether a static argument is an object whose attributes can be watched."""
    return hasattr(value, "__dict__") and not isinstance(value, type)


def bucket_key(roots, names, statics=()):
    """Return the key of a call's variants: types alone, with the avals of arrays."""
    # Whether loops keep every turn's values depends on who traces.
    where = (state.trace.axes, state.trace is EVAL)
    key: list[Any] = [config.current().semantic, where, names]
    for x in roots[1:]:
        kind = type(x)
        if kind is Array:
            key.append(x.aval)
        elif kind is np.ndarray:
            key.append((x.shape, x.dtype))
        elif isinstance(x, Tracer):
            key.append(x.aval)
        else:
            key.append(id(kind))
    for i in statics:
        if i < len(roots) and values.is_value(roots[i]):
            key.append((i, type(roots[i]), roots[i]))
    return tuple(key)


class Binder:
    """Puts the arguments of calls where the function's parameters want them.

    Args:
      fun: the function that is jitted.
      signature: its `Signature`.
    """

    def __init__(self, fun, signature):
        self.fun, self.signature = fun, signature
        self.function = fun.__func__ if type(fun) is types.MethodType else fun
        self.skip = 1 if type(fun) is types.MethodType else 0
        self.is_python = type(self.function) is types.FunctionType
        parameters = signature.parameters or ()
        kinds = inspect.Parameter
        self.positional = tuple(
            [
                p.name
                for p in parameters
                if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
            ]
        )
        self.by_name = frozenset(
            p.name for p in parameters if p.kind is kinds.POSITIONAL_OR_KEYWORD
        )
        self.keyword = tuple([p.name for p in parameters if p.kind is kinds.KEYWORD_ONLY])
        star = next((p.name for p in parameters if p.kind is kinds.VAR_POSITIONAL), None)
        self.star = star
        self.fixed = len(self.positional) if not (self.keyword or star) else -1
        self.no_roles = not (signature.static_nums or signature.static_names or signature.donates)

    def bind(self, args, kwargs):
        """Return the `Call`."""
        if kwargs or len(args) != self.fixed:
            args, kwargs = self._normalised(args, kwargs)
        roots, names = (self.fun, *args, *kwargs.values()), tuple(kwargs)
        if self.no_roles:
            return Call(roots, names, self._names(len(args)), frozenset(), frozenset())
        s, n = self.signature, len(args)
        return Call(
            roots,
            names,
            self._names(n),
            _positions(s.static_nums, s.static_names, n, names),
            _positions(s.donate_nums, s.donate_names, n, names),
        )

    def _names(self, n):
        extra = n - len(self.positional)
        if extra <= 0 or self.star is None:
            return self.positional
        return (*self.positional, *[f"{self.star}[{i}]" for i in range(extra)])

    def _normalised(self, args, kwargs):
        """Fill in what was left out, as Python would; what does not fit Python will refuse."""
        args, kwargs = list(args), dict(kwargs)
        defaults = (self.function.__defaults__ or ()) if self.is_python else ()
        first = len(self.positional) - len(defaults)
        for i in range(len(args), len(self.positional)):
            name = self.positional[i]
            if name in kwargs and name in self.by_name:
                args.append(kwargs.pop(name))
            elif self.is_python and i >= first and name not in kwargs:
                args.append(defaults[i - first])
            else:
                break
        if self.is_python:
            for name, value in (self.function.__kwdefaults__ or {}).items():
                kwargs.setdefault(name, value)
        return args, kwargs


def _positions(nums, names, count, keywords):
    found = {i + 1 for i in nums if i < count}
    found.update(count + 1 + j for j, k in enumerate(keywords) if k in names)
    return frozenset(found)
