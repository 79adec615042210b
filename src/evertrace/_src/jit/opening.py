"""Programs for sizes that change: a trace with symbolic sizes, of which others are made.

After two traces of a function that differ in sizes of arguments only, the third is an *open* one:
the sizes that differ are expressions (`dims`), each question about them is decided for all sizes or
kept with its answer, and where a call's sizes give the same answers, its variant is made from the
program of the open trace, by putting the numbers in: the function is not traced again. The type
rule of each equation looks at the result. What sees a size in the user's code, or whatever else is
not understood, has no open trace, and is traced for each size as before.
"""

import dataclasses
import enum
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import dims, dtypes, errors
from evertrace._src.arrays.array import Array
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Literal, Var, literal
from evertrace._src.core.tracer import Trace, Tracer
from evertrace._src.dims.expression import variable
from evertrace._src.dims.scope import OpenScope
from evertrace._src.jit.lifting import recipes
from evertrace._src.jit.lifting.guards import Guards
from evertrace._src.ops.sizes import dim_as_value_p
from evertrace._src.transforms.staging import close_jaxpr

TRACED_BEFORE = 2
"""So many calls that differ in sizes are traced before one is traced for open sizes."""

MOST_TRIED = 4
"""Open traces of calls that are alike but for sizes."""


class NotOpenError(Exception):
    """A trace, or what is in its program, is good for the sizes of its call only."""


class Openings:
    """The open traces of a function, by what calls of theirs are alike in."""

    def __init__(self):
        self.found: dict[Any, list[Opening]] = {}
        self.tried: dict[Any, int] = {}

    def of(self, key):
        """Return the open traces that may fit a call."""
        return self.found.get(pattern_of(key), ()) if self.found else ()

    def add(self, key, opening):
        """Keep an open trace of a call."""
        self.found.setdefault(pattern_of(key), []).append(opening)

    def give_up(self, key):
        """Try no more open traces of calls like this one."""
        self.tried[pattern_of(key)] = MOST_TRIED

    def plan(self, key, roots, kept, declared):
        """Return the types and the scope that a call is to be traced with for open sizes, or None.

        Args:
          key: the call's.
          roots: the call's.
          kept: the variants that were traced.
          declared: what `declared_axes` has returned.
        """
        if len(kept) < TRACED_BEFORE and not declared:
            return None
        pattern = pattern_of(key)
        if self.tried.get(pattern, 0) >= MOST_TRIED:
            return None
        if declared:
            columns = _declared_columns(key, declared)
        else:
            others = [v.key for v in kept if type(v.key) is tuple and pattern_of(v.key) == pattern]
            columns = _columns(key, others) if len(others) >= TRACED_BEFORE else {}
        found = _open_avals(key, columns)
        if found is None:
            return None
        self.tried[pattern] = self.tried.get(pattern, 0) + 1
        are_plain = [type(roots[i]) is Array and _lies_here(roots[i]) for i in found[0]]
        return found if all(are_plain) else None

    def clear(self):
        """Forget all."""
        self.found.clear()
        self.tried.clear()


def _lies_here(x):
    return getattr(x, "_sharding", None) is None


class Opening(NamedTuple):
    """An open trace.

    Attributes:
      recorded: what it has `Recorded`.
      avals: root -> its symbolic type.
      scope: the `OpenScope` of the sizes.
    """

    recorded: Any
    avals: dict[int, Any]
    scope: OpenScope

    def sizes(self, roots):
        """Return the values of the variables for a call's roots, or None if it is not for them."""
        values: dict[str, int] = {}
        for i, want in self.avals.items():
            for n, size in zip(roots[i].aval.shape, want.shape, strict=True):
                if not dims.is_dim(size):
                    if n != size:
                        return None
                elif values.setdefault(str_of(size), n) != n:
                    return None
        return values if self.scope.fits(values) else None

    def recorded_for(self, values):
        """Return what a trace for these sizes would have recorded.

        Raises:
          NotOpenError: the program holds what numbers cannot be put into.
        """
        filling = _Filling(values)
        recorded = self.recorded
        return recorded._replace(
            jaxpr=filling.jaxpr(recorded.jaxpr), guards=_guards(recorded.guards, filling)
        )

    def words(self, roots):
        """Return how sizes were asked for, as texts.

        Args:
          roots: names of the call's roots.
        """
        places = [f"{roots[i]}: {aval.str_short()}" for i, aval in self.avals.items()]
        asked = [f"{d} {sign} 0 is {answer}" for d, sign, answer in self.scope.asked]
        sizes = [f"{name} >= {self.scope.least}" for name in self.scope.hints]
        return f"made without a trace of {', '.join(places)}", *sizes, *dict.fromkeys(asked)


def str_of(size):
    """Return the name of a variable."""
    ((monomial, _),) = size.terms.items()
    return monomial[0][0].name


# ------------------------------------------------------------------------ which sizes


def pattern_of(key):
    """Return what the keys of calls have in common that are alike but for sizes."""
    semantic, where, names, *rest = key
    alike = [(x.ndim, x.dtype, x.weak_type) if type(x) is ShapedArray else x for x in rest]
    return semantic, where, names, *alike


def _columns(key, others):
    """Return the sizes that differ among calls: name -> (the size, places: root and dimension)."""
    found: dict[tuple, list] = {}
    for i, x in enumerate(key[3:], 1):
        for d in range(x.ndim) if type(x) is ShapedArray else ():
            seen = tuple([k[2 + i].shape[d] for k in (key, *others)])
            if len(set(seen)) > 1:
                found.setdefault(seen, []).append((i, d))
    return {f"n{j}": (seen[0], places) for j, (seen, places) in enumerate(found.items())}


def _declared_columns(key, declared):
    """Return the sizes that are declared to change; none if axes of one name are of two sizes."""
    is_for_all, specs = declared
    found: dict[str, tuple[int, list]] = {}
    for i, x in enumerate(key[3:], 1):
        spec = specs if is_for_all else specs[i - 1] if i <= len(specs) else ()
        for axis, name in spec:
            if type(x) is not ShapedArray or not -x.ndim <= axis < x.ndim:
                continue
            size, places = found.setdefault(name, (x.shape[axis], []))
            if x.shape[axis] != size:
                return {}
            places.append((i, axis % x.ndim))
    return found


def _open_avals(key, columns):
    """Return the symbolic types of a call's roots, and their scope; None if no sizes are open."""
    if not columns or any(size < 2 for size, _ in columns.values()):
        return None
    scope = OpenScope({name: size for name, (size, _) in columns.items()})
    shapes: dict[int, list] = {}
    for name, (_, places) in columns.items():
        for i, d in places:
            shapes.setdefault(i, list(key[2 + i].shape))[d] = variable(scope, name)
    avals = {i: key[2 + i].update(shape=tuple(shape)) for i, shape in shapes.items()}
    return avals, scope


def declared_axes(axes):
    """Return the axes that `jit` is told to leave open, as data.

    Returns:
      () for none; else whether they are for all arguments, and, for these or for each argument,
      pairs (axis, name).

    Raises:
      TypeError: they are declared in another way.
    """
    if axes is None:
        return ()
    for_all = _axes_of(axes)
    if for_all is not None:
        return True, for_all
    each = (
        [() if x is None else _axes_of(x) for x in axes]
        if isinstance(axes, (tuple, list))
        else [None]
    )
    if None in each:
        raise errors.user_error(
            TypeError,
            f"jit: abstracted_axes is {axes!r}.",
            fix="give a dict from axes to names, such as `{0: 'n'}`, or one for each argument.",
            anchor="arguments",
        )
    return False, tuple(each)


def _axes_of(spec):
    """Return the pairs (axis, name) that one argument's axes are declared by, or None if none."""
    if isinstance(spec, dict):
        pairs = tuple(spec.items())
    elif isinstance(spec, (tuple, list)) and any(isinstance(x, str) for x in spec):
        pairs = tuple([(i, name) for i, name in enumerate(spec) if name is not None])
    else:
        return None
    is_named = all(type(i) is int and isinstance(n, str) and n.isidentifier() for i, n in pairs)
    return pairs if is_named else None


def opened(recorded, avals, scope):
    """Return the `Opening` that a trace is.

    Raises:
      NotOpenError: it is good for its own sizes only.
    """
    if scope.why is not None:
        raise NotOpenError(scope.why)
    kept = recorded.effects or recorded.writes or recorded.number is not None or recorded.rules
    if kept or recorded.host.late_names or any(isinstance(x, Tracer) for x in recorded.consts):
        raise NotOpenError("effects")
    _check_recipe(recorded.result)
    return Opening(recorded, avals, scope)


def _check_recipe(recipe):
    """Raise unless a result is made of the program's results, arguments and plain constants."""
    kind = type(recipe)
    if kind in (recipes.Out, recipes.OutTree, recipes.Existing):
        return
    is_list = kind is recipes.NewContainer and recipe.kind is list and not recipe.namespace
    if kind is recipes.NewTuple or is_list:
        parts = recipe.items
    elif kind is recipes.NewDict and recipe.kind is dict and not recipe.namespace:
        parts = [x for pair in recipe.entries for x in pair]
    elif kind is recipes.Constant and type(recipe.value) in _PLAIN:
        return
    else:
        raise NotOpenError(f"a result of kind {kind.__name__}")
    for part in parts:
        _check_recipe(part)


_PLAIN = (int, float, complex, bool, str, bytes, type(None))


# ------------------------------------------------------------------------ numbers for sizes


class _Filled(Trace):
    """The owner of the variables of programs that numbers were put into."""

    __slots__ = ()
    closed = True


_FILLED = _Filled(None)


class _Filling:
    """Puts numbers into a program.

    Args:
      values: variable -> its value.
    """

    def __init__(self, values):
        self.values = values
        self._jaxprs: dict[int, Any] = {}
        self._avals: dict[int, Any] = {}

    def aval(self, aval):
        """Return the type with numbers for its sizes."""
        found = self._avals.get(id(aval))
        if found is None:
            shape = tuple([dims.evaluate(n, self.values) for n in aval.shape])
            found = self._avals[id(aval)] = aval.update(shape=shape)
        return found

    def jaxpr(self, jaxpr):
        """Return the jaxpr with numbers for sizes, its types found anew."""
        made = self._jaxprs.get(id(jaxpr))
        if made is not None:
            return made
        env: dict[int, Any] = {}

        def define(var):
            env[id(var)] = Var(self.aval(var.aval), _FILLED)
            return env[id(var)]

        def use(x):
            return x if type(x) is Literal else env[id(x)]

        constvars, invars = list(map(define, jaxpr.constvars)), list(map(define, jaxpr.invars))
        eqns = []
        for eqn in jaxpr.eqns:
            if eqn.primitive is dim_as_value_p:
                (var,) = eqn.outvars
                size = dims.evaluate(eqn.params["dim"], self.values)
                env[id(var)] = literal(size, var.aval.dtype, var.aval.weak_type)
                continue
            eqns.append(self._eqn(eqn, list(map(use, eqn.invars)), define))
        made = self._jaxprs[id(jaxpr)] = Jaxpr(
            constvars, invars, list(map(use, jaxpr.outvars)), eqns, names=jaxpr.names
        )
        return made

    def _eqn(self, eqn, invars, define):
        params = {name: self.param(x) for name, x in eqn.params.items()}
        typing = eqn.primitive.typing(invars, params)
        outvars = list(map(define, eqn.outvars))
        types = typing.out if eqn.primitive.multiple_results else (typing.out,)
        if any(v.aval is not aval for v, aval in zip(outvars, types, strict=True)):
            raise NotOpenError(f"{eqn.primitive.name} is of another type for these sizes")
        return Eqn(eqn.primitive, invars, outvars, params, eqn.effects, eqn.src, typing)

    def param(self, x: Any) -> Any:
        """Return a param of an equation with numbers for sizes."""
        kind: Any = type(x)
        if kind is dims.Dim:
            return dims.evaluate(x, self.values)
        if kind is tuple or kind is list:
            return kind([self.param(part) for part in x])
        if hasattr(x, "_fields"):
            return kind(*[self.param(part) for part in x])
        if kind is dict:
            return {self.param(k): self.param(v) for k, v in x.items()}
        if kind is ClosedJaxpr and not x.consts:
            return close_jaxpr(self.jaxpr(x.jaxpr))
        if kind is Jaxpr:
            return self.jaxpr(x)
        if isinstance(x, ShapedArray):
            return self.aval(x)
        if dataclasses.is_dataclass(x) and not isinstance(x, type):
            fields = {f.name: getattr(x, f.name) for f in dataclasses.fields(x)}
            if all(self.param(v) is v or self.param(v) == v for v in fields.values()):
                return x
        elif isinstance(x, _KNOWN):
            return x
        raise NotOpenError(f"a param of type {kind.__name__}")


_KNOWN = (*_PLAIN, np.dtype, np.generic, enum.Enum, type, dtypes.ExtendedDType, frozenset)


def _guards(guards, filling):
    """Return the guards for other sizes: of the arguments' types only their words say these."""
    made = Guards.__new__(Guards)
    for slot in Guards.__slots__:
        setattr(made, slot, getattr(guards, slot))
    made.nodes = [_node(n, filling) for n in guards.nodes]
    return made


def _node(node, filling):
    if node.check != "aval" or "open" not in node.want.cache:
        return node
    made = type(node)(node.index, node.parent, node.kind, node.key, node.name)
    made.check, made.want, made.src = node.check, filling.aval(node.want), node.src
    return made
