"""Primitives: the operations a jaxpr is made of, and the slots for what each of them means.

A primitive carries all of its own rules, so that a reader finds an operation in one place and a
layer above never keeps a list of operations. Slots come in two kinds. *Elementary* operations
state mathematics and leave the mechanics to the transformations:

  abstract(*avals, **params) -> aval | tuple of avals       type rule; raises on bad operands
  host(*ndarrays, **params) -> ndarray | tuple              reference semantics, in NumPy
  linear = (i, ...)                                         linear in each named operand alone
  linear = JOINTLY                                          linear in all inexact operands at once
  transpose(ct, *operands, **params) -> sequence            a cotangent or None per operand;
                                                            operands sought are `LinearArg`s
  deriv = (f0, f1, ...)                                     elementwise: fi(out, *operands) is the
                                                            derivative by operand i, or None
  jvp(tangents, primals, out, **params) -> tangent          for what is neither
  batch(size, operands, dims, **params) -> (out, dim)
  factors(operands, results, **params) -> Factors           of avals: which dimensions are divided
                                                            together, see `core.factors`; without it
                                                            results lie whole on every device

*Higher-order* ones (calls, loops, custom rules) take over a step of a trace:

  eager(*arrays, **params) -> outs                          how a concrete call runs
  stage(trace, operands, params) -> outs                    how a staging trace takes it
  jvp_call(primals, tangents, **params) -> (outs, tangents) both halves of forward mode
  linearize(primals, tangents, **params) -> (outs, tangents)
                                                            tangents are unknowns of a tape (or
                                                            None): outputs are computed now, the
                                                            tangents by equations on that tape
  batch_call(axis, operands, dims, **params) -> (outs, dims)
                                                            instead of `batch`, for what may
                                                            mention the name of the batched axis;
                                                            then no operand need be batched
  divide(divisions, divide_jaxpr, **params) -> divisions    where results lie, instead of `factors`
  effects(**params) -> frozenset

A slot that has no meaning for an operation holds `undefined("why")`, so that tests can tell a rule
that is impossible from one that was forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evertrace._src import doors, dtypes, errors
from evertrace._src.core.effects import NO_EFFECTS
from evertrace._src.core.engine import backend
from evertrace._src.core.factors import pointwise
from evertrace._src.core.tracer import Trace, state
from evertrace._src.signatures import signature_of
from evertrace._src.support import Cache

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

JOINTLY = "jointly"

RULE_SLOTS = (
    "abstract", "batch", "batch_call", "deriv", "divide", "eager", "factors", "host", "jvp",
    "jvp_call", "linear", "linearize", "stage", "transpose",
)  # fmt: skip

# Of each primitive. Type-rule results are kept for ever in practice; this bounds a program that
# makes new shapes without end.
MAX_CACHED_TYPES = 4096


ARITHMETIC, TRANSCENDENTAL, REDUCTION = "arithmetic", "transcendental", "reduction"
"""What `counts` says: for each element of the result an operation of arithmetic or a transcendental
one; for each element of the operand one of arithmetic."""

AS_IS = "as is"
"""In the `physical` slot: the rules take elements of extended dtypes as they are."""


def _has_extended(avals: Iterable[Any]) -> bool:
    """Whether any of the avals has an extended dtype."""
    return any(isinstance(aval.dtype, dtypes.ExtendedDType) for aval in avals)


def _refuse_extended(prim: Primitive, avals: Sequence[Any]) -> None:
    """Raise if an operation that only knows numbers was applied to elements of another kind."""
    if _has_extended(avals):
        names = ", ".join(aval.str_short() for aval in avals)
        raise errors.user_error(
            errors.DTypeError,
            f"{prim.name}: random keys are no numbers; the result would be {names}.",
            fix="draw numbers with the key, e.g. `random.normal(key)`; `random.key_data(key)` "
            "returns its words.",
            anchor="random-key",
        )


def _check_call(prim: Primitive, count: int, params: dict[str, Any]) -> None:
    """Raise unless an operation takes so many operands and params of these names.

    It takes what its derivatives and its host rule take, which is its meaning to every engine; the
    rules of types and of engines may pass on whatever they do not need.
    """
    fun = prim.host
    while hasattr(fun, "__wrapped__"):
        fun = fun.__wrapped__
    is_ufunc = isinstance(fun, np.ufunc)
    has_derivs: bool = type(prim.deriv) is tuple
    takes = len(prim.deriv) if has_derivs else fun.nin if is_ufunc else count
    wrong = None
    if takes != count:
        wrong = f"it takes {takes} operand{'s' * (takes > 1)}, got {count}"
    elif (is_ufunc or (not fun and prim.elementwise)) and params:
        wrong = f"got an unexpected keyword argument {min(params)!r}"
    elif callable(fun) and not is_ufunc:
        try:
            signature_of(fun).bind(*[None] * count, **params)
        except TypeError as error:
            wrong = error
    if wrong is not None:
        raise errors.user_error(
            TypeError,
            f"{prim.name}: {wrong}.",
            fix="bind what the operation takes: `ev.make_jaxpr` of the public function shows it.",
            anchor="extend",
        )


def _check_types(prim: Primitive, out: Iterable[object]) -> None:
    """Raise unless what a type rule returns, maybe a param that it was given, are types."""
    wrong = next((a for a in out if not hasattr(type(a), "str_short")), None)
    if wrong is not None:
        raise errors.user_error(
            TypeError,
            f"{prim.name}: the type of a result is a `ShapedArray`, got {doors.shown(wrong)}.",
            fix="bind what the operation takes, as `ev.make_jaxpr` of the public function shows; "
            "the type rule of a primitive of your own returns types.",
            anchor="extend",
        )


class Typing:
    """What all applications of a primitive to operands of certain avals and params share.

    Attributes:
      out: the output aval, a tuple of them if the primitive has multiple results.
      cache: what engines keep about such applications.
    """

    cache: dict[Any, Any]
    out: Any

    __slots__ = ("cache", "out")

    def __init__(self, out: Any) -> None:
        self.out, self.cache = out, {}


class Undefined:
    """The reason why an operation has no rule of some kind."""

    __slots__ = ("reason",)

    def __init__(self, reason: Any):
        self.reason: Any = reason

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"undefined({self.reason!r})"


@doors.door
def undefined(reason: Any) -> Undefined:
    """Mark a rule slot as empty on purpose, with the reason.

    Example:
      >>> from evertrace import extend
      >>> sign = extend.Primitive("sign", transpose=extend.undefined("it is not linear"))
      >>> sign.transpose
      undefined('it is not linear')
    """
    return Undefined(reason)


def _is_dtype(value: Any) -> bool:
    return value is None or isinstance(value, np.dtype | dtypes.ExtendedDType)


def _with_dtypes(prim: Primitive, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return params with dtypes for what names them; None where nothing does."""
    given = {name: params[name] for name in prim.dtypes if not _is_dtype(params.get(name))}
    try:
        made = {name: dtypes.canonicalize_dtype(value) for name, value in given.items()}
    except (TypeError, ValueError):  # what is bound says so
        return None
    return {**params, **made} if made else None


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | int | np.bool_) and value in (0, 1)


def _check_params(prim: Primitive, params: dict[str, Any]) -> None:
    """Raise where a dtype or a flag is none."""
    for name in prim.dtypes:
        if not _is_dtype(params[name]):
            raise _unfit(prim, name, params[name], "a dtype", "jnp.dtype")
    for name in prim.flags:
        if not _is_flag(params[name]):
            raise _unfit(prim, name, params[name], "True or False", "bool")


def _unfit(prim: Primitive, name: str, value: Any, what: str, made_by: str) -> TypeError:
    return errors.user_error(
        TypeError,
        f"{prim.name}: `{name}` is {what}, not {doors.shown(value)}.",
        fix=f"pass `{made_by}(...)` of it.",
        anchor="arguments",
    )


def missing_rule(prim: Any, what: str, slot: Any) -> NotImplementedError:
    """Build the error of a transformation that needs a rule which a primitive does not have.

    Args:
      prim: the primitive.
      what: what it lacks.
      slot: what stands there: None, or `undefined` with the reason.
    """
    reason = f": {slot.reason}" if isinstance(slot, Undefined) else ""
    return errors.user_error(
        NotImplementedError,
        f"{prim.name} has no {what}{reason}.",
        fix="give the primitive one, or do without this transformation.",
        anchor="extend",
    )


class Primitive:
    """An operation that transformations and engines know how to treat.

    Args:
      name: as printed in jaxprs.
      multiple_results: whether the operation returns a list of outputs rather than one array.
      elementwise: whether operands of rank 0 may stand beside operands of one other shape.
      effects: function of the params giving the effects of an equation, or None.
      show: names of the params that jaxprs print, or a function of the params returning those
        to print; None prints all of them.
      is_call: whether an equation means nothing but its `jaxpr` applied to its operands.
      cache_types: whether type-rule results, and texts that engines write, are kept by avals and
        params; not where a param is a jaxpr, which the cache would keep alive, or a number of which
        the sign of zero counts, nor where the rule asks which axes are in scope. Or a function of
        the avals that says whether the result is kept.
      physical: for operations that also move elements of extended dtypes around: a function
        ``(*avals, **params) -> params`` for the same operation on the words behind the elements,
        which are trailing dimensions. Operands of ordinary dtypes stay as they are: engines' rules
        of operations with indices or predicates take those without the trailing dimensions.
        AS_IS if the rules know extended dtypes. With None, such operands are an error.
      dtypes: names of the params that are dtypes, or None: `bind` takes names and scalar types for
        them, too.
      flags: names of the params that are True or False: engines read others each in its own way.
      moves: whether a NaN in a result was one in an operand: what checks look for was there before.
      places: number of the first operand that says at which places elements are read or written.
      for_transformations: names of the params that are functions which transformations call;
        running the operation never does.
      is_tape_of_plans: whether a plan of an eager function takes it as a tape of its own, which
        gives the bits of `host`, but for running sums of floats.
      counts: which operations an estimate of work counts: ARITHMETIC, TRANSCENDENTAL, REDUCTION or
        None.
      **rules: the slots described at the top of this module.

    Example:
      >>> double = ev.core.Primitive("double", host=lambda x: 2 * x, abstract=lambda x: x)
      >>> double.bind(jnp.arange(3))
      Array([0, 2, 4], dtype=int32)
      >>> ev.make_jaxpr(double.bind)(jnp.arange(3))
      { lambda ; a:i32[3]. let b:i32[3] = double a in (b,) }
    """

    __slots__ = (
        *RULE_SLOTS, "__weakref__", "_calls", "_types", "cache_types", "counts", "dtypes",
        "effects", "elementwise", "flags", "for_transformations", "is_call", "is_tape_of_plans",
        "moves", "multiple_results", "name", "physical", "places", "show",
    )  # fmt: skip

    # What interpreters of jaxprs ask for JAX's `core.call`: our calls are all like those of `jit`.
    call_primitive = map_primitive = False

    # Whether `eager` may compute with values only, so that no tracers are to be given to it.
    is_opaque = False

    # The rules: functions of an operation's own signature, or None, or `Undefined`.
    abstract: Any
    batch: Any
    batch_call: Any
    deriv: Any
    divide: Any
    eager: Any
    factors: Any
    host: Any
    jvp: Any
    jvp_call: Any
    linear: Any
    linearize: Any
    stage: Any
    transpose: Any

    def __init__(
        self,
        name: Any,
        *,
        multiple_results: bool = False,
        elementwise: bool = False,
        effects: Any = None,
        show: Any = None,
        is_call: bool = False,
        cache_types: Any = True,
        physical: Any = None,
        dtypes: tuple[str, ...] = (),
        flags: tuple[str, ...] = (),
        moves: bool = False,
        places: int | None = None,
        for_transformations: tuple[str, ...] = (),
        is_tape_of_plans: bool = False,
        counts: str | None = None,
        **rules: Any,
    ) -> None:
        self.name = name
        self.multiple_results = multiple_results
        self.elementwise = elementwise
        self.effects = effects
        self.show = show
        self.is_call = is_call
        self.cache_types = cache_types
        self.physical = physical
        self.dtypes = dtypes
        self.flags = flags
        self.moves = moves
        self.places = places
        self.for_transformations = for_transformations
        self.is_tape_of_plans = is_tape_of_plans
        self.counts = counts
        for slot in RULE_SLOTS:
            setattr(self, slot, rules.pop(slot, None))
        if elementwise and self.factors is None:
            self.factors = pointwise
        assert not rules, f"{name}: no such rule slots: {sorted(rules)}"
        self._types: Cache[Any, Typing] = Cache(f"types of {name}", MAX_CACHED_TYPES)
        # Those that were checked: numbers of operands, names of params.
        self._calls: set[tuple[Any, ...]] = set()

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive under the current trace.

        NumPy arrays and Python scalars become operands, names of dtypes become dtypes: found out
        where they have failed, since our own functions pass none.
        """
        try:
            return state.trace.process(self, args, params)
        except Exception as error:  # a door, without a function of its own: this is called often
            if self.dtypes and (named := _with_dtypes(self, params)):
                params = named
            elif all([hasattr(x, "aval") for x in args]):
                made = doors.worded(error, f"{self.name}_p.bind", args, params)
                if made is None:
                    raise
                raise made.with_traceback(error.__traceback__) from None
        return self.bind(*[backend().operand(x, self.name) for x in args], **params)

    def bind_with_trace(self, trace: Any, args: Any, *avals_and_params: Any) -> Any:
        """Apply the primitive under a trace: for traces of libraries, which hand it on.

        Args:
          trace: the trace, such as what `extend.core.take_current_trace` gives.
          args: the operands.
          *avals_and_params: their types, which may be left out, and the parameters as a dict.

        Raises:
          TypeError: `trace` is none.
        """
        if not isinstance(trace, Trace):
            raise errors.user_error(
                TypeError,
                f"bind_with_trace: expected a trace, got {doors.shown(trace)}.",
                fix="pass what `extend.core.take_current_trace` gives, or use `bind`.",
                anchor="extend",
            )
        return trace.process(self, args, avals_and_params[-1])

    @property
    def impl(self) -> Any:
        """How concrete calls run: the rule of `def_impl`, or what runs it with ours."""

        def run(*args: Any, **params: Any) -> Any:
            return backend().eager(self, args, params)

        return self.eager or run

    @doors.door
    def get_bind_params(self, params: Any) -> Any:
        """Return the params of an equation as `bind` takes them: as they are."""
        return dict(params)

    def infer(self, args: Any, params: Any) -> Any:
        """Return the output aval (a tuple of them if multiple_results) for operands with avals."""
        return self.typing(args, params).out

    def typing(self, args: Any, params: Any) -> Any:
        """Return the `Typing` for operands with avals: the same again, where types are kept."""
        key = None
        if self.cache_types:
            key = (*[x.aval for x in args], *params.values())
            try:
                return self._types.data[key]
            except KeyError:
                pass
            except TypeError:  # a param that cannot be hashed
                key = None
        if (call := (len(args), *params)) not in self._calls:
            _check_call(self, len(args), params)
            self._calls.add(call)
        _check_params(self, params)
        if self.abstract is None:
            raise missing_rule(self, "type rule (`def_abstract_eval`)", None)
        out = self.abstract(*[x.aval for x in args], **params)
        if self.multiple_results:
            out = tuple(out)
        _check_types(self, out if self.multiple_results else (out,))
        typing = Typing(out)
        if key is not None:
            if self.physical is None:
                _refuse_extended(self, out if self.multiple_results else (out,))
            if self.cache_types is True or self.cache_types(*[x.aval for x in args]):
                self._types.put(key, typing)
        return typing

    def forget_types(self) -> Any:
        """Forget the typings and what engines keep about them."""
        self._types.clear()

    def moves_physical(self, avals: Any) -> Any:
        """Whether outputs of these avals (one, or a list) are made of words by `physical`."""
        if self.physical is None or self.physical is AS_IS:
            return False
        if self.multiple_results:
            return _has_extended(avals)
        return isinstance(avals.dtype, dtypes.ExtendedDType)

    def effects_of(self, params: Any) -> Any:
        """Return the set of effects of an equation with these params."""
        return NO_EFFECTS if self.effects is None else self.effects(**params)

    @doors.door
    def define(self, slot: Any) -> Any:
        """Decorate a function as this primitive's rule for `slot`."""
        assert slot in RULE_SLOTS, doors.shown(slot)

        def register(rule: Any) -> Any:
            setattr(self, slot, rule)
            return rule

        return register

    # The names under which programs written for JAX register their rules.
    def def_impl(self, rule: Any) -> Any:
        """Register `rule` as how concrete calls run; returns it."""
        self.eager = rule
        return rule

    def def_abstract_eval(self, rule: Any) -> Any:
        """Register `rule` as the type rule; returns it."""
        self.abstract = rule
        return rule

    def __repr__(self) -> str:
        return self.name
