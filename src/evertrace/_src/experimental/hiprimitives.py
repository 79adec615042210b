"""Primitives that a class describes: what it computes, and a rule for each transformation.

A call is one equation, `call_hi_primitive`, whose meaning is the class's `expand`. Linearised by
the rules for reverse mode, it notes one linear map, `hi_linear`: its transpose is the backward
rule, and where the class has a rule for tangents, it can be applied, too. A vectorised call is a
call of another such object, whose rules are those of the first one, vectorised.
"""

from typing import Any

from evertrace._src import config, errors, tree
from evertrace._src.api.autodiff import linear_transpose, linearize
from evertrace._src.api.extending import Zero, instantiate_zeros
from evertrace._src.api.extending_values import displacements, types_above
from evertrace._src.api.lowerings import lower_fun, register_lowering
from evertrace._src.api.vectorize import vmap
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.bodies import as_arrays
from evertrace._src.control.custom_vjp import without_numbers
from evertrace._src.core.aval import LaidOutType, is_inexact
from evertrace._src.core.divisions import open_division
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.core.rules import is_linear
from evertrace._src.experimental.hijax import (
    by_values,
    has_tangents,
    is_above,
    is_type,
    lowered,
    lowered_like,
    lowered_types,
    places_above,
    tangent_types,
)
from evertrace._src.ops.elementwise import add_any
from evertrace._src.ops.sharding_constraint import laid_out
from evertrace._src.ops.structural import move_batch_dim, zeros
from evertrace._src.support import set_module
from evertrace._src.transforms.batching import batch_flat
from evertrace._src.transforms.jvp import jvp_flat
from evertrace._src.transforms.linearize import opaque_operations

public = set_module("evertrace.experimental.hijax")


@public
class HiPrimitive:
    """Base of a library's operations on values of types above arrays that can be written to.

    A class defines ``impl(*args, **params)``, which computes the results. Such values are objects
    here, whose attributes are arrays that may be traced, so `bind` calls it wherever it is; what
    else the class defines (`abstract_eval`, `to_lojax`, rules) is not asked.

    Args:
      name: of the operation.

    Example:
      >>> from evertrace.experimental import hijax
      >>> class Read(hijax.HiPrimitive):
      ...     def impl(self, cell):
      ...         return cell["value"]
      >>> Read("read").bind({"value": 1.0})
      1.0
    """

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, *args: Any, **params: Any) -> Any:
        """Return the results.

        Raises:
          NotImplementedError: the class has no `impl`.
        """
        impl = getattr(self, "impl", None)
        if impl is None:
            raise errors.user_error(
                NotImplementedError,
                f"{self.name}: the class has no `impl`, which says what it computes.",
                fix="define `impl`, or derive from `VJPHiPrimitive` and define `expand`.",
                anchor="extend",
            )
        return impl(*args, **params)


@public
class VJPHiPrimitive(HiPrimitive):
    """Base of operations on trees of arrays with rules for transformations.

    A class sets three attributes before it calls ``super().__init__()``: `in_avals`, a tuple of
    one type, or tree of types, for each argument; `out_aval`, that of the result; `params`, a dict
    of static values, which become attributes. It defines `expand`, which computes the result from
    the arguments, and rules as it needs them; a rule calls ``self(...)`` to be used again in
    derivatives of higher order:

    * ``jvp(primals, tangents) -> (out, tangent)``
    * ``vjp_fwd(nzs_in, *args) -> (out, residuals)``, with whether each argument is differentiated,
      and ``vjp_bwd_retval(residuals, ct) -> cts`` with a cotangent or None for each argument, or
      ``vjp_bwd(residuals, ct, *accumulators)``, which calls ``accum`` of one for each argument
    * ``lin(nzs_in, *args) -> (out, residuals)`` and ``linearized(residuals, *tangents) -> tangent``
    * ``batch(axis_data, args, in_dims) -> (out, out_dims)``

    Tangents and cotangents that are known to be zero are `Zero`, see `instantiate_zeros`.

    Differs from JAX: without a rule for reverse mode, those for tangents serve; `vmap` needs no
    rule, and does not ask `batch_dim_rule`.

    Example:
      >>> from evertrace.experimental import hijax
      >>> class Square(hijax.VJPHiPrimitive):
      ...     def __init__(self, aval):
      ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
      ...         super().__init__()
      ...
      ...     def expand(self, x):
      ...         return x * x
      ...
      ...     def vjp_fwd(self, nzs_in, x):
      ...         return self(x), x
      ...
      ...     def vjp_bwd_retval(self, x, ct):
      ...         return (2 * x * ct,)
      >>> square = lambda x: Square(ev.typeof(x))(x)
      >>> square(jnp.float32(3)), ev.grad(square)(jnp.float32(3))
      (Array(9., dtype=float32), Array(6., dtype=float32))
    """

    in_avals_flat: Any
    in_tree: Any
    out_avals_flat: Any
    out_tree: Any

    in_avals: Any
    out_aval: Any
    params: dict[str, Any]

    def __init__(self) -> None:
        super().__init__(type(self).__name__)
        for attribute in ("in_avals", "out_aval", "params"):
            if not hasattr(self, attribute):
                raise errors.user_error(
                    AttributeError,
                    f"{self.name}: `self.{attribute}` is not set when the primitive is made.",
                    fix="set `in_avals`, `out_aval` and `params` before `super().__init__()`.",
                    anchor="extend",
                )
        self.in_avals = tuple(self.in_avals)
        self.in_avals_flat, self.in_tree = tree.flatten(lowered_types(self.in_avals))
        self.out_avals_flat, self.out_tree = tree.flatten(lowered_types(self.out_aval))
        self.in_tangents: list[Any] = tangent_types(self.in_avals)
        self.out_tangents: list[Any] = tangent_types(self.out_aval)
        self.above: Any = places_above(self.in_avals)
        self.returns_above: bool = bool(places_above(self.out_aval))
        self.carries_tangents: bool = has_tangents(self.out_aval)
        for name, value in self.params.items():
            setattr(self, name, value)
        types = (*self.in_avals_flat, *self.out_avals_flat, self.in_tree, self.out_tree)
        self._key = (type(self), types, tuple(sorted(self.params.items(), key=lambda x: x[0])))

    def __call__(self, *args: Any) -> Any:
        """Apply the operation to trees of arrays of the types in `in_avals`."""
        leaves, in_tree = tree.flatten(lowered(args))
        operands = [as_operand(x, self.name) for x in leaves]
        given = [(x.aval.shape, x.aval.dtype) for x in operands]
        if in_tree != self.in_tree or given != [(a.shape, a.dtype) for a in self.in_avals_flat]:
            shown = ", ".join(str(tree.map(_type_text, x, is_leaf=is_above)) for x in args)
            raise errors.user_error(
                TypeError,
                f"{self.name}: it was made for arguments of types {self.in_avals}, got {shown}.",
                fix="make one for these types: `ev.tree.map(ev.typeof, x)` returns them.",
                anchor="extend",
            )
        outs = call_hi_primitive_p.bind(*operands, _prim=self)
        return tree.unflatten(self.out_tree, as_arrays(outs))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, VJPHiPrimitive) and self._key == other._key

    def __hash__(self) -> int:
        try:
            return hash(self._key)
        except TypeError:  # of a param that cannot be hashed
            return hash(self._key[0])

    def __repr__(self) -> str:
        return f"{self.name}[{self.params}]"

    def expand(self, *args: Any) -> Any:
        """Return the result for the arguments; a class has to define it."""
        raise self._missing("expand", "what it computes")

    def rule(self, name: Any) -> Any:
        """Return the class's rule of that name, or None."""
        return getattr(self, name, None)

    def _missing(self, name, what):
        return errors.user_error(
            NotImplementedError,
            f"{self.name}: the class has no `{name}`, which says {what}.",
            fix=f"define `{name}`.",
            anchor="extend",
        )

    def _arguments(self, leaves):
        return tree.unflatten(self.in_tree, leaves)

    def _marks(self, is_active):
        """Return whether each argument is differentiated, in the containers of their types."""
        return by_values(self.in_avals, is_active)

    def _flat(self, rule, value, treedef):
        """Return the leaves of what a rule returns, None where it is zero."""
        value = lowered_like(self.in_avals if treedef is self.in_tree else self.out_aval, value)
        leaves, found = tree.flatten(value, lambda x: x is None)
        if found != treedef:
            try:  # None in the place of a tree
                example = tree.unflatten(treedef, range(treedef.num_leaves))
                leaves = tree.broadcast_prefix(value, example, lambda x: x is None)
            except ValueError:
                raise errors.user_error(
                    TypeError,
                    f"{self.name}: `{rule}` returns the structure {found}, expected {treedef}.",
                    fix="return it in the containers of the types that the primitive was made for.",
                    anchor="custom-output",
                ) from None
        return [None if x is None or type(x) is Zero else as_operand(x, self.name) for x in leaves]


def _type_text(x):
    if is_above(x):
        return str(types_above[type(x)](x))
    return as_operand(x, "VJPHiPrimitive").aval.str_short()


def _zero_or(tangents, types):
    """Return tangents as rules get them; where there are none at all, None."""
    pairs = zip(tangents, types, strict=True)
    return [_zero(a) if t is None else as_arrays([t])[0] for t, a in pairs]


def _zero(aval):
    return None if aval is None else Zero(aval)


# ------------------------------------------------------------------------ a call


def _run(*operands, _prim):
    mesh = config.current().mesh
    if mesh is not None and mesh.explicit_axes:  # types say how arrays lie
        operands = [
            x if type(x) is Array else laid_out(_prim.name, x, aval.sharding)
            for x, aval in zip(operands, _prim.in_avals_flat, strict=True)
        ]
    out = _prim.expand(*_prim._arguments(as_arrays(operands)))
    return _checked(_prim, "expand", out)


def _checked(prim, rule, out):
    """Return the leaves of a result that a rule returns, of the types that were declared."""
    outs = prim._flat(rule, out, prim.out_tree)
    for x, aval in zip(outs, prim.out_avals_flat, strict=True):
        if x is None or (x.aval.shape, x.aval.dtype) != (aval.shape, aval.dtype):
            got = None if x is None else x.aval.str_short()
            raise errors.user_error(
                TypeError,
                f"{prim.name}: `{rule}` returns {got} for a result of type {aval.str_short()}.",
                fix="make `out_aval` the type of what is returned.",
                anchor="custom-output",
            )
    return outs


def _jvp(primals, tangents, *, _prim):
    _check_differentiable(_prim, tangents, [None] * len(tangents), not _prim.returns_above)
    rule = _prim.rule("jvp")
    if rule is None:
        raise _prim._missing("jvp", "what its derivative in forward mode is")
    given = by_values(_prim.in_avals, _zero_or(tangents, _prim.in_tangents))
    out, tangent = rule(_prim._arguments(as_arrays(primals)), given)
    return _checked(_prim, "jvp", out), _prim._flat("jvp", tangent, _prim.out_tree)


def _check_differentiable(prim, tangents, types, may_return):
    """Raise where a derivative would go through a value of a type above arrays and cannot.

    Args:
      prim: the operation.
      tangents: of the leaves of its arguments.
      types: the tangents that arrays of values above arrays may have, None where there are none.
      may_return: whether its results may have tangents.
    """
    wrong = any(
        t is not None and i in prim.above and (types[i] is None or t.aval.shape != types[i].shape)
        for i, t in enumerate(tangents)
    )
    if wrong or (not may_return and any(t is not None for t in tangents)):
        raise errors.user_error(
            NotImplementedError,
            f"{prim.name}: derivatives do not go through values of types above arrays here.",
            fix="differentiate in reverse mode, by `vjp_fwd` and `vjp_bwd` of a class, not through "
            "`vmap` or loops, and let `to_tangent_aval` of the types return the type of an array.",
            anchor="extend",
        )


def _linearize(primals, tangents, *, _prim):
    _check_differentiable(_prim, tangents, _prim.in_tangents, _prim.carries_tangents)
    args = _prim._arguments(as_arrays(primals))
    is_active = tuple(t is not None for t in tangents)
    nzs_in = _prim._marks(is_active)
    forward = _prim.rule("vjp_fwd")
    if forward is None or _is(forward, _vjp_fwd_from_lin):
        rule = _prim.rule("lin")
        if rule is None or _is(rule, _lin_from_jvp):
            if _prim.rule("jvp") is None:
                raise _prim._missing("vjp_fwd", "what its derivative in reverse mode is")
            return _jvp(primals, tangents, _prim=_prim)
        _check_differentiable(_prim, tangents, [None] * len(tangents), not _prim.returns_above)
        out, found = _by_lin(_prim, nzs_in, primals, tangents)
        return _checked(_prim, "lin", out), found
    out, residuals = forward(nzs_in, *args)
    outs = _checked(_prim, "vjp_fwd", out)
    residuals, res_tree = tree.flatten(residuals)
    residuals, keep = without_numbers(residuals)
    found = hi_linear_p.bind(
        *primals, *[as_operand(x, _prim.name) for x in residuals],
        *[t for t in tangents if t is not None],
        _prim=_prim, residuals=(res_tree, keep), is_active=is_active,
    )  # fmt: skip
    return outs, [
        t if a is not None and is_inexact(a) else None
        for a, t in zip(_prim.out_tangents, found, strict=True)
    ]


def _by_lin(prim, nzs_in, primals, tangents):
    """Return the result, and the leaves of its tangents, by the rules `lin` and `linearized`."""
    out, residuals = prim.lin(nzs_in, *prim._arguments(as_arrays(primals)))
    given = by_values(prim.in_avals, _zero_or(tangents, prim.in_tangents))
    return out, prim._flat("linearized", prim.linearized(residuals, *given), prim.out_tree)


def _batch(axis, operands, dims, *, _prim):
    rule = None if _prim.above or _prim.returns_above else _prim.rule("batch")
    if rule is not None:
        args, in_dims = _prim._arguments(as_arrays(operands)), _prim._arguments(dims)
        out, out_dims = rule(axis, args, in_dims)
        outs = _prim._flat("batch", out, _prim.out_tree)
        example = tree.unflatten(_prim.out_tree, range(len(outs)))
        return outs, tree.broadcast_prefix(out_dims, example, lambda x: x is None)
    is_batched = tuple(d is not None for d in dims)
    moved = [
        x if d is None else move_batch_dim(x, d, 0, axis.size)
        for x, d in zip(operands, dims, strict=True)
    ]
    outs = call_hi_primitive_p.bind(*moved, _prim=_Batched(_prim, axis, is_batched))
    return outs, [0] * len(outs)


def _divide(divisions, divide_jaxpr, *, _prim):
    """Return how results lie: as their types say."""
    return [
        aval.sharding.spec_division(aval.ndim) if type(aval) is LaidOutType else open_division(aval)
        for aval in _prim.out_avals_flat
    ]


call_hi_primitive_p = Primitive(
    "call_hi_primitive",
    multiple_results=True,
    cache_types=False,
    abstract=lambda *avals, _prim: _prim.out_avals_flat,
    jvp_call=_jvp,
    linearize=_linearize,
    batch_call=_batch,
    transpose=undefined("its derivative is that of its rules"),
    divide=_divide,
)
opaque_operations.add(call_hi_primitive_p)
register_lowering(call_hi_primitive_p, lower_fun(_run))


# ------------------------------------------------------------------------ its derivative


def _split(operands, residuals, is_active):
    """Return the arguments, the residuals, and the tangents, None where there are none."""
    res_tree, keep = residuals
    n, m = len(is_active), len(operands) - sum(is_active)
    tangents = iter(operands[m:])
    return (
        operands[:n],
        tree.unflatten(res_tree, keep(as_arrays(operands[n:m]))),
        [next(tangents) if a else None for a in is_active],
    )


def _apply(*operands, _prim, residuals, is_active):
    """Return tangents: of use to `linearize`, where the class has a rule for them."""
    primals, _, tangents = _split(operands, residuals, is_active)
    _check_differentiable(_prim, tangents, [None] * len(tangents), not _prim.returns_above)
    rule = _prim.rule("lin")
    if rule is not None and not _is(rule, _lin_from_jvp):
        _, found = _by_lin(_prim, _prim._marks(is_active), primals, tangents)
    else:
        _, found = _jvp(primals, tangents, _prim=_prim)
    zeros = [Zero(a.to_tangent_aval()).instantiate() for a in _prim.out_avals_flat]
    return [z if t is None else t for t, z in zip(found, zeros, strict=True)]


def _transpose(cts, *operands, _prim, residuals, is_active):
    _, kept, tangents = _split(operands, residuals, is_active)
    ct = by_values(_prim.out_aval, _zero_or(cts, _prim.out_tangents))
    found = zip(_cotangents(_prim, kept, ct, is_active), tangents, strict=True)
    results = [ct if is_linear(t) else None for ct, t in found if t is not None]
    return [None] * (len(operands) - len(results)) + results


def _cotangents(prim, residuals, ct, is_wanted):
    """Return the cotangent of each leaf of the arguments, or None, by the class's backward rule."""
    if prim.rule("vjp_bwd") is not None:
        places = [Accumulator() if w else NullAccumulator() for w in is_wanted]
        prim.vjp_bwd(residuals, ct, *by_values(prim.in_avals, places))
        return [place.value for place in places]
    if prim.rule("vjp_bwd_retval") is not None:
        found = tuple(prim.vjp_bwd_retval(residuals, ct))
        return prim._flat("vjp_bwd_retval", found, prim.in_tree)
    raise prim._missing("vjp_bwd_retval", "what its cotangents are")


def _tangents_or_own(prim):
    """Return the types of the tangents of results, also of arrays that have none for themselves."""
    pairs = zip(prim.out_tangents, prim.out_avals_flat, strict=True)
    return [a.to_tangent_aval() if t is None else t for t, a in pairs]


hi_linear_p = Primitive(
    "hi_linear",
    multiple_results=True,
    cache_types=False,
    show=("_prim",),
    abstract=lambda *avals, _prim, **_: _tangents_or_own(_prim),
    transpose=_transpose,
    jvp_call=lambda primals, tangents, **params: jvp_flat(
        lambda *xs: _apply(*xs, **params), primals, tangents
    ),
    batch_call=lambda axis, operands, dims, **params: batch_flat(
        lambda *xs: _apply(*xs, **params), axis, operands, dims
    ),
)
register_lowering(hi_linear_p, lower_fun(_apply))


class Accumulator:
    """Where a backward rule adds up the cotangent of an argument."""

    value: Any = None

    def accum(self, ct: Any) -> Any:
        """Add a cotangent, an array or `Zero`."""
        if type(ct) is not Zero:
            self.value = ct if self.value is None else as_arrays([_sum(self.value, ct)])[0]


class NullAccumulator:
    """The place of an argument that is not differentiated."""

    value = None

    def accum(self, ct: Any) -> Any:
        """Do nothing."""


def _sum(a, b):
    return add_any(as_operand(a, "accum"), as_operand(b, "accum"))


# ------------------------------------------------------------------------ arguments


class _Displaced(VJPHiPrimitive):
    """A value above arrays at which a derivative is asked, as a function of its tangent."""

    def __init__(self, kind, tangent):
        self.in_avals, self.out_aval, self.params = (kind, tangent), kind, {}
        super().__init__()

    def expand(self, *args):
        return args[0]

    def vjp_fwd(self, nzs_in, value, tangent):
        return self(value, tangent), None

    def vjp_bwd_retval(self, _, ct):
        return None, ct


def _displacement(value):
    """Return no tangent of a value, and the function of a tangent that returns it, or None."""
    kind = types_above[type(value)](value)
    if not is_type(kind) or not has_tangents(kind):
        return None
    tangent = kind.to_tangent_aval()
    displaced = _Displaced(kind, tangent)
    return zeros(tangent), lambda t: displaced(value, t)


displacements.append(_displacement)


# ------------------------------------------------------------------------ vectorised


class _Batched(VJPHiPrimitive):
    """An operation for a batch, the examples along the first dimension, by its vectorised rules.

    Its arguments and results are those of the operation without their containers.
    """

    inner: Any
    axis: Any
    is_batched: Any

    def __init__(self, inner, axis, is_batched):
        def batched(aval):
            return aval.update(shape=(axis.size, *aval.shape))

        pairs = zip(inner.in_avals_flat, is_batched, strict=True)
        self.in_avals = tuple([batched(a) if b else a for a, b in pairs])
        self.out_aval = list(map(batched, inner.out_avals_flat))
        self.params = {"inner": inner, "axis": axis, "is_batched": is_batched}
        super().__init__()
        self.name, self.above, self.returns_above = inner.name, inner.above, inner.returns_above
        self.carries_tangents = not inner.returns_above
        self.in_tangents = [None if i in self.above else a for i, a in enumerate(self.in_tangents)]

    def rule(self, name):
        if name in ("vjp_bwd", "batch"):  # see vjp_bwd_retval; a batch of a batch is a batch
            return None
        wanted = ("vjp_bwd", name) if name == "vjp_bwd_retval" else (name,)
        has = any(self.inner.rule(n) is not None for n in wanted)
        return getattr(self, name, None) if has else None

    def _map(self, fun, *args, in_axes):
        axis = self.axis
        return vmap(fun, in_axes, 0, axis_name=axis.name, axis_size=axis.size)(*args)

    def _axes(self):
        return [0 if b else None for b in self.is_batched]

    def _flat_out(self, rule, out):
        return _checked(self.inner, rule, out)

    def expand(self, *args):
        def one(xs):
            return self._flat_out("expand", self.inner.expand(*self.inner._arguments(xs)))

        return self._map(one, list(args), in_axes=(self._axes(),))

    def jvp(self, primals, tangents):
        is_zero = [t is None or type(t) is Zero for t in tangents]

        def one(xs, given):
            given = iter(given)
            pairs = zip(is_zero, self.inner.in_tangents, strict=True)
            ts = by_values(self.inner.in_avals, [_zero(a) if z else next(given) for z, a in pairs])
            out, tangent = self.inner.jvp(self.inner._arguments(xs), ts)
            return self._flat_out("jvp", out), self._flat_tangent(tangent)

        axes = [a for a, z in zip(self._axes(), is_zero, strict=True) if not z]
        given = [t for t, z in zip(tangents, is_zero, strict=True) if not z]
        return self._map(one, list(primals), given, in_axes=(self._axes(), axes))

    def _flat_tangent(self, tangent):
        return tree.leaves(tree.map(instantiate_zeros, tangent))

    def vjp_fwd(self, nzs_in, *args):
        return self._forward("vjp_fwd", nzs_in, args)

    def lin(self, nzs_in, *args):
        return self._forward("lin", nzs_in, args)

    def _forward(self, rule, nzs_in, args):
        def one(xs):
            marks = self.inner._marks(nzs_in)
            out, residuals = getattr(self.inner, rule)(marks, *self.inner._arguments(xs))
            return self._flat_out(rule, out), residuals

        return self._map(one, list(args), in_axes=(self._axes(),))

    def linearized(self, residuals, *tangents):
        ts = [instantiate_zeros(t) for t in tangents]

        def one(residuals, ts):
            found = self.inner.linearized(residuals, *self.inner._arguments(ts))
            return self._flat_tangent(found)

        return self._map(one, residuals, ts, in_axes=(0, self._axes()))

    def vjp_bwd_retval(self, residuals, ct):
        def one(residuals, ct):
            ct = by_values(self.inner.out_aval, ct)
            return _cotangents(self.inner, residuals, ct, [True] * len(self.is_batched))

        ct = [instantiate_zeros(x) for x in ct]
        found = self._map(one, residuals, ct, in_axes=(0, 0))
        return tuple(
            [
                x if b or x is None else x.sum(0)  # the examples' cotangents of what they share
                for x, b in zip(found, self.is_batched, strict=True)
            ]
        )


# ------------------------------------------------------------------------ rules from rules


def _is(rule, fun):
    """Whether a bound rule is one of those below."""
    return getattr(rule, "__func__", None) is fun


def _lin_from_jvp(self, nzs_in, *args):
    return linearize(self, *args)


def _linearized_from_jvp(self, residuals, *tangents):
    return residuals(*tree.map(instantiate_zeros, tangents))


def _vjp_fwd_from_lin(self, nzs_in, *args):
    return self.lin(nzs_in, *args)


def _vjp_bwd_from_lin(self, residuals, ct):
    return _transposed(lambda *ts: self.linearized(residuals, *ts), self, ct)


def _vjp_fwd_from_jvp(self, nzs_in, *args):
    return self(*args), args


def _vjp_bwd_from_jvp(self, args, ct):
    return _transposed(lambda *ts: self.jvp(args, ts)[1], self, ct)


def _transposed(fun, prim, ct):
    tangents = prim._arguments([a.to_tangent_aval() for a in prim.in_avals_flat])
    return linear_transpose(fun, *tangents)(tree.map(instantiate_zeros, ct))


@public
def jvp_from_lin(self: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """A method `jvp` made of `lin` and `linearized`: ``jvp = jvp_from_lin`` in a class.

    Example:
      >>> from evertrace.experimental import hijax
      >>> class Sine(hijax.VJPHiPrimitive):
      ...     def __init__(self, aval):
      ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
      ...         super().__init__()
      ...
      ...     def expand(self, x):
      ...         return jnp.sin(x)
      ...
      ...     def lin(self, nzs_in, x):
      ...         return self(x), jnp.cos(x)
      ...
      ...     def linearized(self, cosine, tangent):
      ...         return cosine * tangent
      ...
      ...     jvp = hijax.jvp_from_lin
      >>> sine = Sine(ev.core.ShapedArray((), "float32"))
      >>> ev.jvp(sine, (jnp.float32(0),), (jnp.float32(2),))
      (Array(0., dtype=float32), Array(2., dtype=float32))
    """
    out, residuals = self.lin(tree.map(lambda t: type(t) is not Zero, tangents), *primals)
    return out, self.linearized(residuals, *tangents)


linearize_from_jvp: Any = (_lin_from_jvp, _linearized_from_jvp)
"""``lin, linearized = linearize_from_jvp`` in a class: the two made of its `jvp`."""

vjp_from_lin: Any = (_vjp_fwd_from_lin, _vjp_bwd_from_lin)
"""``vjp_fwd, vjp_bwd_retval = vjp_from_lin`` in a class: the two made of `lin` and `linearized`."""

vjp_from_jvp: Any = (_vjp_fwd_from_jvp, _vjp_bwd_from_jvp)
"""The same made of `jvp`, which is computed again in the backward pass: no residuals are kept."""
