"""Numbers for the sizes in a program: a program of open sizes becomes one of a call's.

What holds no size is found out once, for all calls: such equations and variables stay the very
objects that they are, and of the others only the params that hold sizes are made anew.
"""

import dataclasses
import enum
import types
from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np

from evertrace._src import dims, dtypes
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Literal, Var, literal
from evertrace._src.core.primitive import Primitive
from evertrace._src.core.tracer import Trace
from evertrace._src.ops.sizes import dim_as_value_p
from evertrace._src.transforms.staging import close_jaxpr, hoist_consts

NO_SIZES = types.MappingProxyType({"sizes": False})
"""Metadata of a field of a dataclass among params that holds no sizes of the program around it."""


class NotOpenError(Exception):
    """A trace, or what is in its program, is good for the sizes of its call only."""


class _Filled(Trace):
    """The owner of the variables of programs that numbers were put into."""

    __slots__ = ()
    closed = True


_FILLED = _Filled(None)


class _Template:
    """A jaxpr and what of it holds sizes.

    Attributes:
      steps: pairs of an equation and the names of its params that hold sizes; None for all names
        of an equation that holds none at all.
      numbers: pairs of a variable that is a size, and the size.
      is_open: whether any of it holds sizes.
      constvars, invars, outvars: indices of those that do.
      in_avals, out_avals: types of the inputs and outputs.
    """

    def __init__(self, jaxpr: Jaxpr, templates: "_Templates") -> None:
        self.jaxpr = jaxpr
        moved: set[int] = {id(v) for v in (*jaxpr.constvars, *jaxpr.invars) if _is_open(v.aval)}
        self.steps: list[tuple[Any, Any]] = []
        self.numbers: list[tuple[Any, Any]] = [
            (eqn.outvars[0], eqn.params["dim"])
            for eqn in jaxpr.eqns
            if eqn.primitive is dim_as_value_p
        ]
        for eqn in jaxpr.eqns:
            unused = eqn.primitive.for_transformations  # no one transforms a program of a call
            names = tuple(
                [k for k, x in eqn.params.items() if k not in unused and _holds_sizes(x, templates)]
            )
            results = eqn.outvars if eqn.primitive is dim_as_value_p else ()
            found: set[int] = {id(v) for v in eqn.outvars if _is_open(v.aval)} | {
                id(v) for v in results
            }
            moved |= found
            is_plain = not names and not found and not any(id(x) in moved for x in eqn.invars)
            self.steps.append((eqn, None if is_plain else names))
        self.is_open = bool(moved) or any(names is not None for _, names in self.steps)
        self.constvars, self.invars, self.outvars = [
            [i for i, v in enumerate(variables) if id(v) in moved]
            for variables in (jaxpr.constvars, jaxpr.invars, jaxpr.outvars)
        ]
        self.in_avals, self.out_avals = jaxpr.in_avals, jaxpr.out_avals


_Templates = dict[int, _Template]


def _template(jaxpr: Jaxpr, templates: _Templates) -> _Template:
    found = templates.get(id(jaxpr))
    if found is None:
        found = templates[id(jaxpr)] = _Template(jaxpr, templates)
    return found


def _replaced(items: list[Any], places: Iterable[int], function: Callable[[Any], Any]) -> list[Any]:
    """Return a list with the function of what is at some places."""
    made = items[:]
    for i in places:
        made[i] = function(made[i])
    return made


def _is_open(aval: Any) -> bool:
    cache = getattr(aval, "cache", ())
    return "open" in cache or "symbolic" in cache


def _holds_sizes(x: Any, templates: _Templates) -> bool:
    """Whether a param holds sizes.

    Raises:
      NotOpenError: that is not known.
    """
    kind = cast("type[Any]", type(x))
    if kind is dims.Dim:
        return True
    if isinstance(x, _SEQUENCES):
        return any([_holds_sizes(part, templates) for part in x])
    if kind is dict:
        return any([_holds_sizes(part, templates) for pair in x.items() for part in pair])
    if kind is ClosedJaxpr and not x.consts:
        return _template(x.jaxpr, templates).is_open
    if kind is Jaxpr:
        return _template(x, templates).is_open
    if isinstance(x, ShapedArray):
        return _is_open(x)
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        fields = [f for f in dataclasses.fields(x) if f.metadata is not NO_SIZES]
        parts = [getattr(x, f.name) for f in fields]
        if not any([_holds_sizes(part, templates) for part in parts]):
            return False
    elif isinstance(x, _KNOWN):
        return False
    raise NotOpenError(f"a param of type {kind.__name__}")


_SEQUENCES: Any = (tuple, list)  # of anything, while `list` is one of something unknown
_KNOWN = (
    int, float, complex, bool, str, bytes, type(None), np.dtype, np.generic, enum.Enum, type,
    dtypes.ExtendedDType, frozenset, Primitive,
)  # fmt: skip


class Filled(Jaxpr):
    """A jaxpr that numbers are put into, whose parts are made when somebody looks at them.

    A tape of its own is made of that of the open program, and is run on types alone: so most
    variables and equations are never looked at.

    Args:
      filling: the `Filling`.
      of: the open jaxpr, kept as `open`.
    """

    open: Jaxpr

    __slots__ = ("_avals", "_constvars", "_eqns", "_filling", "_invars", "_outvars", "open")

    def __init__(self, filling: "Filling", of: Jaxpr) -> None:
        self._filling, self.open = filling, of
        self._constvars = self._invars = self._outvars = self._eqns = None
        self._avals: tuple[list[Any], list[Any]] | None = None
        self.effects, self.names, self.cache = of.effects, of.names, {}

    @property
    def constvars(self) -> Any:
        """The variables of what was captured."""
        if self._constvars is None:
            places = _template(self.open, self._filling.templates).constvars
            self._constvars = _replaced(self.open.constvars, places, self._filling.variable)
        return self._constvars

    @property
    def invars(self) -> Any:
        """The variables of the inputs."""
        if self._invars is None:
            places = _template(self.open, self._filling.templates).invars
            self._invars = _replaced(self.open.invars, places, self._filling.variable)
        return self._invars

    @property
    def outvars(self) -> Any:
        """The variables and literals that are returned."""
        if self._outvars is None:
            self._filling.begin(self.open)
            places = _template(self.open, self._filling.templates).outvars
            self._outvars = _replaced(self.open.outvars, places, self._filling.result)
        return self._outvars

    @property
    def eqns(self) -> Any:
        """The equations, whose types have been found anew.

        Raises:
          NotOpenError: one is of another type than the open one says.
        """
        if self._eqns is None:
            self._eqns = self._filling.equations(self.open)
        return self._eqns

    @property
    def in_avals(self) -> Any:
        """Avals of the inputs."""
        return self._types()[0]

    @property
    def out_avals(self) -> Any:
        """Avals of the outputs."""
        return self._types()[1]

    def _types(self) -> tuple[list[Any], list[Any]]:
        if self._avals is None:
            template, aval = _template(self.open, self._filling.templates), self._filling.aval
            self._avals = (
                _replaced(template.in_avals, template.invars, aval),
                _replaced(template.out_avals, template.outvars, aval),
            )
        return self._avals

    @property
    def sizes(self) -> Any:
        """What was put in: the variables' values by their names."""
        return self._filling.values

    @property
    def templates(self) -> _Templates:
        """What is known of the open jaxprs, see `Filling`."""
        return self._filling.templates

    def of_all_sizes(self, key: tuple[Any, ...], make: Callable[..., Any]) -> Any:
        """Return what is the same for all sizes, made once.

        Args:
          key: a name, and what it depends on besides.
          make: function of this jaxpr, the open one, and the rest of the key.
        """
        found = self.open.cache.get(key)
        if found is None:
            found = self.open.cache[key] = make(self, self.open, *key[1:])
        return found

    def filled(self, jaxpr: Jaxpr) -> "Filled":
        """Return what was made of the open jaxpr, with the same numbers."""
        return Filled(self._filling, jaxpr)

    def hoisted(self) -> "Filled":
        """Return what `hoist_consts` does."""
        if not self.open.constvars:
            return self
        return self.filled(self.of_all_sizes(("hoisted",), _hoisted))

    def __reduce__(self) -> Any:
        parts = self.constvars, self.invars, self.outvars, self.eqns, self.effects, self.names
        return Jaxpr, parts


def _hoisted(_: Filled, of: Jaxpr) -> Jaxpr:
    return hoist_consts(of)


class Filling:
    """Puts numbers into a program.

    Args:
      values: variable -> its value.
      templates: what is known of jaxprs, by their ids; extended.
    """

    def __init__(self, values: Any, templates: _Templates) -> None:
        self.values, self.templates = values, templates
        self._jaxprs: dict[int, Any] = {}
        self._avals: dict[int, Any] = {}
        self._env: dict[int, Any] = {}

    def aval(self, aval: Any) -> Any:
        """Return the type with numbers for its sizes."""
        found = self._avals.get(id(aval))
        if found is None:
            if not _is_open(aval):
                return aval
            sizes = [n if type(n) is int else dims.evaluate(n, self.values) for n in aval.shape]
            found = ShapedArray(tuple(sizes), aval.dtype, aval.weak_type)
            self._avals[id(aval)] = found
        return found

    def jaxpr(self, jaxpr: Jaxpr) -> Jaxpr:
        """Return the jaxpr with numbers for sizes, its types found anew."""
        made = self._jaxprs.get(id(jaxpr))
        if made is None:
            template = _template(jaxpr, self.templates)
            made = Filled(self, jaxpr) if template.is_open else jaxpr
            self._jaxprs[id(jaxpr)] = made
        return made

    def variable(self, var: Any) -> Any:
        """Return what stands for a variable."""
        if not _is_open(var.aval):
            return var
        made = self._env.get(id(var))
        if made is None:  # one for all threads that look at the program
            made = self._env.setdefault(id(var), Var(self.aval(var.aval), _FILLED))
        return made

    def result(self, x: Any) -> Any:
        """Return what stands for a variable or literal that an equation or the program reads."""
        if type(x) is Literal:
            return x
        found = self._env.get(id(x))
        return self.variable(x) if found is None else found

    def equations(self, jaxpr: Jaxpr) -> list[Eqn]:
        """Return the equations of an open jaxpr with numbers for sizes."""
        self.begin(jaxpr)
        eqns: list[Eqn] = []
        for eqn, names in _template(jaxpr, self.templates).steps:
            if names is None:
                eqns.append(eqn)
            elif eqn.primitive is not dim_as_value_p:
                eqns.append(self._eqn(eqn, names, [self.result(x) for x in eqn.invars]))
        return eqns

    def begin(self, jaxpr: Jaxpr) -> None:
        """Find the literals of the sizes that are values in a jaxpr."""
        for var, dim in _template(jaxpr, self.templates).numbers:
            if id(var) not in self._env:
                size = self.number(dims.evaluate(dim, self.values), var.aval)
                self._env.setdefault(id(var), size)

    def number(self, size: Any, aval: ShapedArray) -> Literal:
        """Return the literal of a size that is a value."""
        return literal(size, aval.dtype, aval.weak_type)

    def _eqn(self, eqn: Eqn, names: tuple[str, ...], invars: list[Any]) -> Eqn:
        params = eqn.params
        if names:
            params = {**params, **{name: self.param(params[name]) for name in names}}
        typing = eqn.primitive.typing(invars, params)
        outvars = [self.variable(v) for v in eqn.outvars]
        types = typing.out if eqn.primitive.multiple_results else (typing.out,)
        if any(v.aval is not aval for v, aval in zip(outvars, types, strict=True)):
            raise NotOpenError(f"{eqn.primitive.name} is of another type for these sizes")
        return Eqn(eqn.primitive, invars, outvars, params, eqn.effects, eqn.src, typing)

    def param(self, x: Any) -> Any:
        """Return a param of an equation, which holds sizes, with numbers for them."""
        kind = cast("type[Any]", type(x))
        if kind is dims.Dim:
            return dims.evaluate(x, self.values)
        if hasattr(kind, "_fields"):
            return kind(*[self.param(part) for part in x])
        if kind is tuple:
            return tuple([self.param(part) for part in x])
        if kind is list:
            return [self.param(part) for part in x]
        if kind is dict:
            return {self.param(k): self.param(v) for k, v in x.items()}
        if kind is ClosedJaxpr:
            return close_jaxpr(self.jaxpr(x.jaxpr))
        if kind is Jaxpr:
            return self.jaxpr(x)
        return self.aval(x) if isinstance(x, ShapedArray) else x
