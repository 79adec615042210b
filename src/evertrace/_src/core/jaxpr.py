"""The IR: jaxprs, their equations, variables and literals.

A jaxpr is a typed straight-line program in single-assignment form. Its variables are the very
tracers that the user's function saw while it was staged: there is no second object and no table
from one to the other. Nothing is changed after it was made; jaxprs that a transformation derives
from another are kept in that one's `cache` and die with it.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from evertrace._src import dtypes, errors, markup
from evertrace._src.core import pretty, source_infos
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.effects import NO_EFFECTS
from evertrace._src.core.tracer import Tracer, state
from evertrace._src.doors import door
from evertrace._src.lazy import LazyModule

jaxpr_html: Any = LazyModule("evertrace._src.core.jaxpr_html")


class Var(Tracer):
    """A variable of a jaxpr, and the tracer that stands for it while its stage is open.

    Example:
      >>> jaxpr = ev.make_jaxpr(jnp.sin)(jnp.ones(3)).jaxpr
      >>> jaxpr.invars[0], jaxpr.eqns[0].invars[0] is jaxpr.invars[0]
      (Var<f32[3]>, True)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other if self._trace.closed else Tracer.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return self is not other if self._trace.closed else Tracer.__ne__(self, other)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self._trace.closed:
            return Tracer.__reduce_ex__(self, protocol)
        raise errors.user_error(
            TypeError,
            "pickle: a jaxpr is not pickled, as its primitives are functions of this process.",
            fix="pickle the function it was made of, or take its bytes: "
            "`export.export(jit(f))(x).serialize()`.",
            anchor="pickle",
        )

    def __hash__(self) -> int:
        if not self._trace.closed:
            raise errors.user_error(
                TypeError,
                f"unhashable type: a traced array {self.aval.str_short()} has no value yet to be "
                "found by in a dict or set.",
                fix="use a Python number as the key, or index an array instead of a dict.",
                anchor="ConcretizationTypeError",
            )
        return object.__hash__(self)

    shown_as = "JitTracer"

    def __repr__(self) -> str:
        if self._trace.closed:  # no tracer anymore
            return f"Var<{self.aval.str_short()}>"
        return super().__repr__()


Var.__name__ = "Array"  # as Python's own errors call it: unsupported operand type(s) for +: ...


@door
class Literal:
    """A scalar constant that stands in an equation as an operand.

    Args:
      val: a NumPy scalar or 0-d array of the aval's dtype.
      aval: its aval, of rank 0.

    Example:
      >>> eqn = ev.make_jaxpr(lambda x: x + 1)(jnp.ones(3)).eqns[0]
      >>> [float(x.val) for x in eqn.invars if isinstance(x, ev.core.Literal)]
      [1.0]
    """

    aval: Any
    val: Any

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: Any) -> None:
        self.val, self.aval = val, aval

    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1
    dtype: Any = property(lambda self: self.aval.dtype)
    weak_type: Any = property(lambda self: self.aval.weak_type)

    def _contents(self) -> Any:
        """Return the value as the host engine takes it."""
        return self.val

    def __repr__(self) -> str:
        return pretty.literal(self)


class _Literals(dict[Any, Literal]):
    """Literals of Python scalars by (type, bits, dtype): 1, 1.0, True, 0.0 and -0.0 all differ."""

    MAX_SIZE = 10_000

    def __missing__(self, key: Any) -> Literal:
        _, _, value, dtype, weak_type = key
        if len(self) >= self.MAX_SIZE:
            self.clear()
        made = Literal(_scalar(value, dtype), ShapedArray((), dtype, weak_type))
        self[key] = made
        return made


_literals = _Literals()


def _scalar(value: Any, dtype: Any) -> Any:
    """Return a Python scalar as a NumPy scalar; integers of the default width wrap around."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(value, dtype)[()]
    except OverflowError:
        default = dtypes.default_dtype(int)
        return dtypes.coerce_python_scalar(value, default).astype(dtype)


def literal(value: Any, dtype: Any, weak_type: bool = False) -> Any:
    """Return the interned literal of a Python scalar in `dtype`."""
    # repr tells 0.0 from -0.0; NaN is one literal by its repr and by identity.
    return _literals[type(value), repr(value), value, dtype, weak_type]


class Eqn:
    """One equation: ``outvars = prim[params] invars``.

    Attributes:
      primitive, params: the operation.
      invars: variables and literals.
      outvars: variables.
      effects: what it does besides.
      src: the user's instruction it comes from, or None (see `source`).
      typing: what it shares with all equations of its types and params (see `Primitive.typing`),
        or None where nobody asked.

    Example:
      >>> eqn = ev.make_jaxpr(jnp.sin)(jnp.ones(3)).eqns[0]
      >>> eqn.primitive, [v.aval for v in eqn.outvars]
      (sin, [ShapedArray(float32[3])])
    """

    effects: Any
    invars: Any
    outvars: Any
    params: Any
    primitive: Any
    src: Any
    typing: Any

    __slots__ = ("effects", "invars", "outvars", "params", "primitive", "src", "typing")

    def __init__(
        self,
        primitive: Any,
        invars: Any,
        outvars: Any,
        params: Any,
        effects: Any = NO_EFFECTS,
        src: Any = None,
        typing: Any = None,
    ) -> None:
        self.primitive, self.params = primitive, params
        self.invars, self.outvars = invars, outvars
        self.effects, self.src, self.typing = effects, src, typing

    @property
    def source_info(self) -> Any:
        """Where it comes from: `name_stack`, the named scopes, and `traceback`, the place."""
        return source_infos.info_of(self.src)

    @property
    def ctx(self) -> Any:
        """What held where it was written; to evaluate it under `ctx.manager` changes nothing."""
        return source_infos.EQN_CONTEXT

    def replace(self, **changes: Any) -> Any:
        """Return the equation with some attributes replaced."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        fields.update(typing=None)
        changes.pop("ctx", None)
        info = changes.pop("source_info", None)
        if info is not None:
            fields.update(src=info.traceback)
        fields.update(changes)
        return Eqn(**fields)

    def __repr__(self) -> str:
        return pretty.eqn_text(self)


JaxprEqn = Eqn


@door
class Jaxpr:
    """A program: `constvars` and `invars` in, `outvars` (variables or literals) out.

    Attributes:
      effects: union of the equations' effects.
      names: names of the inputs for people, such as ``params['w']``, or None.
      cache: jaxprs and executables derived from this one.

    Example:
      >>> jaxpr = ev.make_jaxpr(lambda x, y: jnp.sin(x) * y)(1.0, 2.0).jaxpr
      >>> len(jaxpr.invars), [eqn.primitive.name for eqn in jaxpr.eqns], jaxpr.out_avals
      (2, ['sin', 'mul'], [ShapedArray(float32[], weak_type=True)])
    """

    cache: Any
    constvars: Any
    effects: Any
    eqns: Any
    invars: Any
    names: Any
    outvars: Any

    __slots__ = (
        "__weakref__",
        "cache",
        "constvars",
        "effects",
        "eqns",
        "invars",
        "names",
        "outvars",
    )

    def __init__(
        self,
        constvars: Any,
        invars: Any,
        outvars: Any,
        eqns: Any,
        effects: Any = None,
        names: Any = None,
    ) -> None:
        self.constvars, self.invars = list(constvars), list(invars)
        self.outvars, self.eqns = list(outvars), list(eqns)
        if effects is None:
            effects = NO_EFFECTS.union(*[e.effects for e in self.eqns])
        self.effects, self.names = effects, names
        self.cache = {}

    def replace(self, **changes: Any) -> Any:
        """Return a jaxpr with some attributes replaced and an empty cache."""
        fields = ("constvars", "invars", "outvars", "eqns", "names")
        return Jaxpr(**({name: getattr(self, name) for name in fields} | changes))

    @property
    def jaxpr(self) -> Any:
        """The jaxpr itself, so that open and closed ones can be walked alike."""
        return self

    @property
    def in_avals(self) -> Any:
        """Avals of the inputs, constants left out."""
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> Any:
        """Avals of the outputs."""
        return [v.aval for v in self.outvars]

    def types_of(self, atoms: Any) -> Any:
        """Return the types of atoms: their avals, or what `make_jaxpr` knows of them besides."""
        told = self.cache.get("types")
        return [x.aval for x in atoms] if told is None else [told.get(id(x), x.aval) for x in atoms]

    def pretty_print(self, **options: Any) -> Any:
        """Return the program as text; see `pretty.jaxpr_text` for the options."""
        return pretty.jaxpr_text(self, **options)

    def __repr__(self) -> str:
        return pretty.jaxpr_text(self)

    __str__ = __repr__
    _repr_html_ = markup.guarded(lambda self: jaxpr_html.page(self))


@door
class ClosedJaxpr:
    """A jaxpr together with the values of its constvars.

    Example:
      >>> closed = ev.make_jaxpr(lambda x: x + np.arange(2.0, dtype="float32"))(jnp.ones(2))
      >>> closed
      { lambda a:f32[2]; b:f32[2]. let c:f32[2] = add b a in (c,) }
      >>> closed.consts
      [Array([0., 1.], dtype=float32)]
    """

    consts: Any
    jaxpr: Any

    __slots__ = ("consts", "jaxpr")

    def __init__(self, jaxpr: Any, consts: Any = ()) -> None:
        assert len(consts) == len(jaxpr.constvars)
        self.jaxpr, self.consts = jaxpr, list(consts)

    eqns: Any = property(lambda self: self.jaxpr.eqns)
    effects: Any = property(lambda self: self.jaxpr.effects)
    in_avals: Any = property(lambda self: self.jaxpr.types_of(self.jaxpr.invars))
    out_avals: Any = property(lambda self: self.jaxpr.types_of(self.jaxpr.outvars))
    literals: Any = property(lambda self: self.consts)

    def replace(self, jaxpr: Any = None, consts: Any = None) -> Any:
        """Return a closed jaxpr with another program or other constants."""
        return ClosedJaxpr(
            self.jaxpr if jaxpr is None else jaxpr, self.consts if consts is None else consts
        )

    def pretty_print(self, **options: Any) -> Any:
        """Return the program as text; see `pretty.jaxpr_text` for the options."""
        return pretty.jaxpr_text(self.jaxpr, **options)

    def __repr__(self) -> str:
        return pretty.jaxpr_text(self.jaxpr)

    __str__ = __repr__
    _repr_html_ = markup.guarded(lambda self: jaxpr_html.page(self.jaxpr))


def eval_jaxpr(jaxpr: Any, consts: Iterable[Any], *args: Any) -> list[Any]:
    """Apply the equations of `jaxpr` to `args` under the current trace; returns a list.

    Equations made on the way inherit the source of the equation they come from, so that errors
    and profiles of derived programs point at the user's line.
    """
    assert len(args) == len(jaxpr.invars), (len(args), len(jaxpr.invars))
    env: dict[int, Any] = dict(zip(map(id, jaxpr.constvars), consts, strict=True))
    env.update(zip(map(id, jaxpr.invars), args, strict=True))
    previous = state.src
    try:
        for eqn in jaxpr.eqns:
            state.src = eqn.src
            prim = eqn.primitive
            operands = [v if type(v) is Literal else env[id(v)] for v in eqn.invars]
            out = state.trace.process(prim, operands, eqn.params)
            if prim.multiple_results:
                for var, value in zip(eqn.outvars, out, strict=True):
                    env[id(var)] = value
            else:
                env[id(eqn.outvars[0])] = out
    finally:
        state.src = previous
    return [v if type(v) is Literal else env[id(v)] for v in jaxpr.outvars]


_SEQUENCES: Any = (tuple, list)  # of anything, while `list` is one of something unknown


def subjaxprs(params: Any) -> Any:
    """Yield the jaxprs that stand in an equation's params.

    Example:
      >>> from evertrace.extend.core import jaxprs_in_params
      >>> f = lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x)
      >>> eqn = ev.make_jaxpr(f)(1.0).eqns[-1]
      >>> eqn.primitive, [j.eqns[0].primitive for j in jaxprs_in_params(eqn.params)]
      (cond, [cos, sin])
    """
    for value in params.values():
        for item in value if isinstance(value, _SEQUENCES) else (value,):
            if isinstance(item, (Jaxpr, ClosedJaxpr)):
                yield item.jaxpr
