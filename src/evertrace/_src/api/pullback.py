"""`Pullback`: what `vjp` returns, a function that is also a tree.

Its leaves are the values that the derivatives need, so it can be returned from `jit` and `vmap`, be
the residuals of a `custom_vjp`, and so on. The tape behind it is left alone until somebody asks for
the leaves; then it is copied with numbers in their places.
"""

import functools
from typing import Any, NamedTuple

from evertrace._src import config, dtypes, errors, tree
from evertrace._src.api import gradient_refs
from evertrace._src.api.arguments import check_tangent, float0_zeros
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array, as_operand, aval_of
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.rules import LinearArg
from evertrace._src.jit.laid_out import sharding_behind
from evertrace._src.jit.opened import opened
from evertrace._src.ops.convert import convert
from evertrace._src.ops.sharding_constraint import lay_out
from evertrace._src.ops.structural import zeros
from evertrace._src.tracebacks import shortened
from evertrace._src.transforms.linearize import Entry
from evertrace._src.transforms.transpose import leading_to, pull


class LinearMap(NamedTuple):
    """A function on a tape, without the values on it but for those in `entries`.

    Attributes:
      where: the transformation, for errors.
      entries: the tape.
      in_tree, out_tree: structures of arguments and result.
      ins, outs: their types, as things with an `aval`.
      in_nodes, out_nodes: per leaf its node on the tape, or None.
      inputs: the values of the arguments within a function that is mapped over named axes.
      layouts: per leaf of the arguments how it lies along explicit axes, or None.
      arguments: per leaf of the arguments the `id` of its value, which is the one of a value on the
        tape if the derivative reads that argument; in a skeleton its place there, or None.
    """

    where: str
    entries: list
    in_tree: tree.PyTreeDef
    out_tree: tree.PyTreeDef
    ins: list
    outs: list
    in_nodes: list
    out_nodes: list
    inputs: list
    layouts: list
    arguments: list


class Pullback:
    """Maps a cotangent of a function's output to a tuple of those of its arguments."""

    __slots__ = ("linear", "skeleton", "values")

    def __init__(self, linear: Any, skeleton: Any = None, values=()):
        self.linear, self.skeleton, self.values = linear, skeleton, values

    @shortened
    def __call__(self, cotangent):
        """Return the cotangents of the arguments."""
        return self._pull(cotangent, self._on_tape().in_nodes)

    def _on_tape(self):
        """Return the linear map, with its values."""
        if self.linear is None:
            values = [as_operand(x, "vjp") for x in self.values]
            linear = _replaced(self.skeleton.linear, lambda x: _value(x, values))
            arguments = [None if x is None else id(_value(x, values)) for x in linear.arguments]
            self.linear = linear._replace(arguments=arguments)
        return self.linear

    def _pull(self, cotangent, in_nodes):
        where, entries, in_tree, out_tree, ins, outs, _, out_nodes, inputs, *_ = self.linear
        given, ct_tree = tree.flatten(cotangent)
        if ct_tree != out_tree:
            given, ct_tree = tree.flatten(opened(cotangent))
        if ct_tree != out_tree:
            raise errors.user_error(
                ValueError,
                f"{where}: the cotangent has structure {ct_tree}, the output {out_tree}.",
                fix="pass a cotangent of the structure of the output.",
                anchor="tangent-type",
            )
        cts = [_checked_cotangent(where, x, ct) for x, ct in zip(outs, given, strict=True)]
        if in_nodes is not self.linear.in_nodes:
            entries = leading_to(entries, in_nodes)
        found = pull(entries, out_nodes, cts, in_nodes, inputs)
        return tree.unflatten(in_tree, map(cotangent_of, found, ins, self.linear.layouts))

    @shortened
    def with_refs(self, *refs):
        """Return a function of the cotangent whose results go where `refs` says.

        Args:
          *refs: for each argument of the differentiated function a `Ref`, to which its gradient is
            added, `ad.GradValue()` or `ad.DontWant()`; or a tree of them.

        Returns:
          A function that returns a tuple with an entry for each argument: `ad.GradRef()`, the
          gradient, or `ad.DidntWant()`.
        """
        linear = self._on_tape()
        unwanted = gradient_refs.unwanted(linear.where, refs, linear.in_tree)
        nodes = linear.in_nodes
        if unwanted:
            nodes = [None if i in unwanted else n for i, n in enumerate(nodes)]
        return functools.partial(self._pull_into, refs, nodes)

    @shortened
    def _pull_into(self, refs, in_nodes, cotangent):
        return gradient_refs.deliver(refs, self._pull(cotangent, in_nodes))

    @property
    def args_res(self):
        """The arguments that the derivative reads, `NotNeeded()` for others, as a list."""
        values, skeleton = _flatten(self)
        leaves = skeleton.linear.arguments
        found = [gradient_refs.NotNeeded() if x is None else _value(x, values) for x in leaves]
        return list(tree.unflatten(skeleton.linear.in_tree, found))

    @property
    def opaque_residuals(self):
        """What the derivative reads besides arguments, as a list of arrays."""
        values, skeleton = _flatten(self)
        arguments = {x.number for x in skeleton.linear.arguments if x is not None}
        return [x for i, x in enumerate(values) if i not in arguments]

    def __repr__(self):
        where = (self.linear or self.skeleton.linear).where
        return f"Pullback({where})"


def instantiate(ct, x):
    """Return a tangent or cotangent of `x`, of its type also where it is zero."""
    if ct is not None:
        # The front end lets weak types go without an equation; here they come back.
        return convert(as_array(ct), x.aval.dtype, x.aval.weak_type)
    return zeros(x.aval) if is_inexact(x.aval) else float0_zeros(x.aval)


def explicit_layouts(xs):
    """Return for each primal how it lies along explicit axes; None where it says nothing.

    What is traced is asked where such axes are in force.
    """
    mesh = config.current().mesh
    in_force = mesh is not None and bool(mesh.explicit_axes)
    return [_explicit_layout(x) if in_force or type(x) is Array else None for x in xs]


def _explicit_layout(x):
    sharding, _ = sharding_behind(x)
    if sharding is None or not sharding.axis_sizes().explicit:
        return None
    division = sharding.spec_division(x.aval.ndim)
    return sharding if type(division) is tuple and any(division) else None


def cotangent_of(ct, x, layout):
    """Return a cotangent as `instantiate` does; along explicit axes it lies as its primal."""
    ct = instantiate(ct, x)
    if layout is None or not is_inexact(x.aval):
        return ct
    explicit, ndim = layout.axis_sizes().explicit, x.aval.ndim
    found, _ = sharding_behind(ct)
    if found is not None and found.axis_sizes() == layout.axis_sizes():
        pairs = zip(found.spec_division(ndim), layout.spec_division(ndim), strict=True)
        if all([p == q or explicit.isdisjoint((*p, *q)) for p, q in pairs]):
            return ct
    return lay_out(ct, layout)


def _checked_cotangent(where, x, ct):
    """Return the cotangent of output `x`; for integers one of their own dtype is ignored."""
    if not is_inexact(x.aval) and getattr(ct, "dtype", None) != dtypes.float0:
        have = aval_of(ct, where)
        if (have.shape, have.dtype) == (x.aval.shape, x.aval.dtype):
            return None
    return check_tangent(where, "the cotangent", x, ct)


# ---------------------------------------------------------------- as a tree


class _Skeleton:
    """A linear map with places instead of values; equal only to itself.

    Pullbacks that were made from one another share it, and so have one structure.
    """

    __slots__ = ("linear",)

    def __init__(self, linear):
        self.linear = linear


class _Place(NamedTuple):
    number: int


def _value(x, values):
    return values[x.number] if type(x) is _Place else x


def _replaced(linear, replace):
    """Return the linear map with the values on its tape replaced."""

    def entry(e):
        out = [replace(x) for x in e.out] if e.prim.multiple_results and e.out else e.out
        out = out if e.prim.multiple_results else replace(out)
        operands = [replace(x) for x in e.operands]
        return Entry(e.prim, operands, e.nodes, e.outs, out, e.params, e.src, e.unknown)

    return linear._replace(
        entries=[entry(e) for e in linear.entries], inputs=[replace(x) for x in linear.inputs]
    )


def _flatten(pullback):
    if pullback.skeleton is None:
        values, places = [], {}

        def place(x):
            if x is None or isinstance(x, (LinearArg, Literal)):
                return x
            if id(x) not in places:
                places[id(x)] = _Place(len(values))
                values.append(x)
            return places[id(x)]

        linear = _replaced(pullback.linear, place)
        arguments = [places.get(x) for x in linear.arguments]
        pullback.skeleton = _Skeleton(linear._replace(arguments=arguments))
        pullback.values = values
    return pullback.values, pullback.skeleton


tree.register_pytree_node(
    Pullback, _flatten, lambda skeleton, values: Pullback(None, skeleton, values)
)
