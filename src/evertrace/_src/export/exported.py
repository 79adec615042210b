"""Exported functions: a program in portable bytes, with the types and trees that it is called by.

`export` traces and lowers; calling an `Exported` splices its program into whatever calls it. The
derivative is an exported function too, made from the traced program on demand and so gone once
only the bytes are left, unless they were written with it.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from evertrace._src import dims, errors, tree
from evertrace._src.api import autodiff, tracing
from evertrace._src.arrays.interop import as_array, as_operand
from evertrace._src.control.bodies import as_arrays
from evertrace._src.control.custom_vjp import custom_vjp
from evertrace._src.control.exported import FAMILIES, PortableProgram, call_exported_p
from evertrace._src.core.aval import ShapedArray, is_inexact
from evertrace._src.core.effects import observable
from evertrace._src.core.jaxpr import ClosedJaxpr, Jaxpr, subjaxprs
from evertrace._src.dims.scope import SymbolicScope
from evertrace._src.engines import runtime
from evertrace._src.export import container, foreign, hostile, jax_format, placed, symbolic, trees
from evertrace._src.export.checks import DisabledSafetyCheck
from evertrace._src.export.foreign import JaxCall
from evertrace._src.support import Cache, cached_property, set_module
from evertrace._src.tracebacks import shortened
from evertrace._src.transforms.staging import hoist_consts, stage_open

public = set_module("evertrace.export")

CALLING_CONVENTION = 1
"""How programs take arguments and give results: all of them, flat, without tokens."""

_MOST_SIZES = 256
"""Programs of symbolic sizes that are kept for the sizes of calls."""

minimum_supported_calling_convention_version = CALLING_CONVENTION
maximum_supported_calling_convention_version = max(jax_format.CALLING_CONVENTIONS)


_MOST_ORDERS = 16


@public
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Exported:
    """A function as a program that other processes and machines can run.

    It is made by `export` and `deserialize`. Unlike JAX's it holds one program per platform
    instead of one that asks for the platform, and keeps all arguments. Where arguments or results
    lie over a mesh, or a constraint in it names one, it is called on as many devices, lays them
    out as they were, and what is within it as constraints say.

    Attributes:
      fun_name: the function's name.
      in_tree: treedef of ``(args, kwargs)``.
      in_avals: types of the arguments, flat.
      out_tree: treedef of the result.
      out_avals: types of the results, flat.
      platforms: what it was exported for: "cpu", "cuda", "rocm", "tpu".
      disabled_safety_checks: those the user answers for.
      calling_convention_version: how its program takes its arguments.

    Example:
      >>> from evertrace import export
      >>> exported = export.export(ev.jit(jnp.sin))(ev.ShapeDtypeStruct((2,), "float32"))
      >>> exported.fun_name, exported.in_avals, exported.platforms
      ('sin', (ShapedArray(float32[2]),), ('cpu',))
      >>> again = export.deserialize(exported.serialize())
      >>> again.call(jnp.zeros(2))
      Array([0., 0.], dtype=float32)
    """

    fun_name: str
    in_tree: Any
    in_avals: tuple[ShapedArray, ...]
    out_tree: Any
    out_avals: tuple[ShapedArray, ...]
    platforms: tuple[str, ...]
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...]
    _modules: tuple[bytes, ...]
    _derive: Callable[[], "Exported"] | None = None
    calling_convention_version: int = CALLING_CONVENTION
    _scope: SymbolicScope | None = None
    _layout: placed.Layout | None = None
    _foreign: JaxCall | None = None
    _source: tuple[Jaxpr, Sequence[Any]] | None = None

    def __repr__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    @property
    def mlir_module_serialized(self) -> bytes:
        """The program for the first platform, as portable StableHLO, or text of symbolic sizes."""
        return self._modules[0]

    def __copy__(self) -> Any:
        return self  # nobody can change it

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise errors.user_error(
            TypeError,
            f"pickle: the exported {self.fun_name} is not pickled, as only the caller knows which "
            "derivatives its bytes are to hold.",
            fix="pickle `exported.serialize(vjp_order=...)`, which `export.deserialize` reads.",
            anchor="pickle",
        )

    def _said_by_jax(self, name, otherwise) -> Any:
        """Return what JAX's bytes say of the program, or what is true of ours."""
        return otherwise if self._foreign is None else self._foreign.description[name]

    @property
    def module_kept_var_idx(self) -> tuple[int, ...]:
        """Which arguments the program takes: all, but for one of JAX's."""
        return tuple(self._said_by_jax("kept", range(len(self.in_avals))))

    @property
    def ordered_effects(self) -> tuple[str, ...]:
        """Names of the effects that calls have in their order: only programs of JAX's have any."""
        return tuple(self._said_by_jax("ordered_effects", ()))

    @property
    def unordered_effects(self) -> tuple[str, ...]:
        """Names of other effects of calls: only programs of JAX's have any."""
        return tuple(self._said_by_jax("unordered_effects", ()))

    @property
    def uses_global_constants(self) -> bool:
        """Whether XLA has to put sizes or the platform into the program, which is JAX's then."""
        return self._said_by_jax("needs_refining", False)

    @property
    def nr_devices(self) -> int:
        """The number of devices that it is called on; what lies over no mesh runs on any."""
        return self._said_by_jax("devices", 1) if self._layout is None else self._layout.size

    @property
    def in_shardings_hlo(self) -> tuple[None, ...]:
        """None for each argument: how it lies is told by `in_shardings_jax`, as by JAX."""
        return (None,) * len(self.in_avals)

    @property
    def out_shardings_hlo(self) -> tuple[None, ...]:
        """None for each result."""
        return (None,) * len(self.out_avals)

    def in_shardings_jax(self, mesh: Any) -> tuple[Any, ...]:
        """Return for each argument its sharding over a mesh, None where nothing was said.

        Raises:
          ValueError: the mesh has other axes than that of the export.
        """
        return self._over(mesh, "inputs", self.in_avals)

    def out_shardings_jax(self, mesh: Any) -> tuple[Any, ...]:
        """Return for each result its sharding over a mesh, as `in_shardings_jax`.

        Unlike JAX's it also tells those of which only the operations say how they lie.
        """
        return self._over(mesh, "outputs", self.out_avals)

    def _over(self, mesh, side, avals):
        layout = self._layout
        if layout is None:
            return (None,) * len(avals)
        return layout.over(placed.checked_mesh(self.fun_name, layout, mesh), getattr(layout, side))

    def mlir_module(self) -> str:
        """Return the program for the first platform as StableHLO text.

        Where sizes are symbolic they stand between ``⟦`` and ``⟧``; in JAX's they are ``?``.
        """
        if self._scope is not None and self._foreign is None:
            return self.mlir_module_serialized.decode()
        return runtime.xla().compat.portable_text(self.mlir_module_serialized)

    def serialize(self, vjp_order: int = 0, *, format: str = "evertrace") -> bytearray:
        """Return bytes for `deserialize`.

        Args:
          vjp_order: how often what is read from them can be differentiated in reverse mode.
          format: "evertrace", or "jax" for bytes that `jax.export.deserialize` reads, too. These
            have no digest that tells damage, and nothing of weak types; JAX checks constraints of
            symbolic sizes when it compiles.

        Raises:
          ValueError: `vjp_order` is negative or above 16; a tree has nodes of a type that is not
            registered, see `register_pytree_node_serialization`; derivatives are wanted that are
            not there; or the format is none, or does not have a dtype.
          NotImplementedError: JAX's format cannot express what it does with symbolic sizes.
        """
        if format not in ("evertrace", "jax"):
            raise _error(
                ValueError,
                f"serialize: format is {format!r}.",
                'give "evertrace" or "jax".',
            )
        if not 0 <= operator.index(vjp_order) <= _MOST_ORDERS:
            raise _error(
                ValueError,
                f"serialize: vjp_order is {vjp_order}.",
                f"give a number from 0 to {_MOST_ORDERS}: each derivative is a larger program.",
            )
        orders: list[Exported] = [self]
        for _ in range(operator.index(vjp_order)):
            orders.append(orders[-1].vjp())
        descriptions = [order._description() for order in orders]
        programs = [module for order in orders for module in order._modules]
        if format == "jax":
            return jax_format.pack(*foreign.for_jax(orders, descriptions))
        return container.pack(descriptions, programs)

    def _description(self):
        """Return what JSON holds of this order of derivative; programs are beside it."""
        return {
            "name": self.fun_name,
            "in_tree": trees.to_json(self.in_tree),
            "out_tree": trees.to_json(self.out_tree),
            "in_avals": list(map(container.aval_to_json, self.in_avals)),
            "out_avals": list(map(container.aval_to_json, self.out_avals)),
            "platforms": self.platforms,
            "checks": [check._impl for check in self.disabled_safety_checks],
            "calling_convention": self.calling_convention_version,
            "layout": None if self._layout is None else self._layout.to_json(),
            "sizes": None
            if self._scope is None
            else {"constraints": self._scope.constraints, "least": self._scope.least},
            "jax": None if self._foreign is None else self._foreign.description,
        }

    def has_vjp(self) -> bool:
        """Return whether it can be differentiated in reverse mode."""
        return self._derive is not None

    def vjp(self) -> "Exported":
        """Return the exported function of the arguments and the results' cotangents.

        It takes the flat arguments and then a cotangent for each floating or complex result, and
        returns a cotangent for each floating or complex argument. Unlike JAX's it has no
        arguments and results of dtype ``float0`` for the others.

        Raises:
          ValueError: the bytes that it was read from do not hold it.
        """
        return self._vjp

    @cached_property
    def _vjp(self):
        if self._derive is None:
            raise _error(
                ValueError,
                f"export: {self.fun_name} was serialized without its derivative of this order.",
                "write it with `exported.serialize(vjp_order=1)`, or a higher order.",
            )
        return self._derive()

    @cached_property
    def _program(self):
        anywhere = DisabledSafetyCheck.platform() in self.disabled_safety_checks
        program = PortableProgram(
            self.fun_name,
            self.platforms,
            self._modules,
            self.in_avals,
            self.out_avals,
            anywhere,
            axes=() if self._layout is None else self._layout.sizes,
            source=self._source if self._layout is None else None,
        )
        return program if self._foreign is None else self._foreign.adapted(program)

    @cached_property
    def _flat(self):
        """The function of flat arguments, with its derivative."""

        def bind(*xs):
            operands = [as_operand(x, "export") for x in xs]
            return tuple(as_arrays(call_exported_p.bind(*operands, program=self._program)))

        def fwd(*xs):
            return flat(*xs), xs  # which is differentiated in its turn, too

        def bwd(xs, cts):
            wanted = [ct for ct, aval in zip(cts, self.out_avals, strict=True) if is_inexact(aval)]
            given = iter(self.vjp().call(*xs, *wanted))
            return tuple(next(given) if is_inexact(aval) else None for aval in self.in_avals)

        bind.__name__ = self.fun_name
        flat = custom_vjp(bind)
        flat.defvjp(fwd, bwd)
        return flat

    @cached_property
    def _by_sizes(self):
        return Cache(f"sizes of {self.fun_name}", _MOST_SIZES)

    def _for_sizes(self, sizes) -> "Exported":
        """Return the function for values of the variables in its sizes, as pairs."""
        found = self._by_sizes.get(sizes)
        if found is not None:
            return found
        values, scope = dict(sizes), self._scope
        is_known = not any(map(dims.is_dim, values.values()))
        modules = self._modules
        if self._foreign is None:
            encode = runtime.xla().portable.called if is_known else str.encode
            modules = [encode(symbolic.filled(m.decode(), values, scope)) for m in modules]
        made = dataclasses.replace(
            self,
            in_avals=tuple([symbolic.filled_aval(a, values) for a in self.in_avals]),
            out_avals=tuple([symbolic.filled_aval(a, values) for a in self.out_avals]),
            _modules=tuple(modules),
            _derive=self._derive and (lambda: self.vjp()._for_sizes(sizes)),
            _scope=None,
            _foreign=self._foreign and self._foreign.filled(values),
            _source=symbolic.filled_source(self._source, values) if is_known else None,
        )
        return self._by_sizes.put(sizes, made)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, also in functions that are jitted or differentiated in reverse mode.

        Args:
          *args: trees as the function was exported for, with arrays of the same types, where sizes
            are symbolic of any that fit. Python numbers are taken for scalars of their kind.
          **kwargs: likewise.

        Returns:
          The function's result.

        Raises:
          ValueError: the structure, a shape or a dtype is another, sizes do not fulfil what was
            declared of them, the platform or the number of devices is another, or a derivative
            was not written with the bytes.
          TypeError: for forward-mode differentiation.
          NotImplementedError: for `vmap`.
        """
        leaves, treedef = tree.flatten((args, kwargs))
        if treedef != self.in_tree:
            raise _error(
                ValueError,
                f"export: {self.fun_name} was exported for arguments of structure {self.in_tree}, "
                f"and is called with {treedef}.",
                "call it with the structure it was exported for.",
            )
        if self._scope is not None:
            have = [as_operand(x, "export").aval for x in leaves]
            sizes = symbolic.call_sizes(self.fun_name, have, self.in_avals, self._scope)
            sizes = {name: symbolic.closed(n) for name, n in sizes.items()}
            return self._for_sizes(tuple(sizes.items())).call(*args, **kwargs)
        operands = [
            _checked(self.fun_name, i, x, aval)
            for i, (x, aval) in enumerate(zip(leaves, self.in_avals, strict=True))
        ]
        layout = self._layout
        if layout is None:
            return tree.unflatten(self.out_tree, self._flat(*operands))
        return tree.unflatten(self.out_tree, layout.call(self.fun_name, self._flat, operands))


def _checked(name, i, x, want):
    """Return an argument as an array, if it has the shape and dtype that are wanted."""
    x = as_operand(x, "export")
    have = x.aval
    if (have.shape, have.dtype) != (want.shape, want.dtype):
        raise _error(
            ValueError,
            f"export: leaf {i} of the arguments of {name} was exported as {want.str_short()}, and "
            f"is called with {have.str_short()}.",
            "convert the argument, or export the function for its type.",
        )
    return as_arrays([x])[0]


@public
def default_export_platform() -> str:
    """Return the platform that `export` exports for: "cpu", "cuda", "rocm" or "tpu".

    Example:
      >>> ev.export.default_export_platform() in ("cpu", "cuda", "rocm", "tpu")
      True
    """
    device = runtime.default_device()
    if device.platform != "gpu":
        return device.platform
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"


@public
def export(
    fun_jit: Any,
    *,
    platforms: Any = None,
    disabled_checks: Any = (),
    _override_lowering_rules: Any = None,
) -> Callable[..., Exported]:
    """Return a function that exports another for the types of its arguments.

    Args:
      fun_jit: made by `jit`. Arrays that it captures become part of the program.
      platforms: names of those that the program is for, of "cpu", "cuda", "rocm" and "tpu"; by
        default the one that is used here. None of them has to be present.
      disabled_checks: `DisabledSafetyCheck`s that the user answers for.

    Returns:
      A function of arrays or `ShapeDtypeStruct`s, in the trees that `fun_jit` takes, to an
      `Exported`. Static arguments are given here and left out of calls.

    Raises:
      ValueError: `fun_jit` is not made by `jit`, a platform is unknown, or the function calls
        custom targets.
      NotImplementedError: (by the function returned) it has side effects or callbacks, or uses
        decompositions of matrices on other platforms than the CPU.

    A program is written for the StableHLO of four weeks before the installed XLA, so that such an
    old release can read it; later ones are promised to for half a year at least.

    Sizes of the arguments may be symbolic, see `symbolic_shape`: the program is then one for all
    sizes that fulfil the constraints, and is compiled for those of a call when they come first.
    Such a program is kept as StableHLO's text, which no release promises to read for ever.

    Example:
      >>> exported = ev.export.export(ev.jit(jnp.sin))(ev.ShapeDtypeStruct((2,), "float32"))
      >>> exported.in_avals
      (ShapedArray(float32[2]),)
      >>> again = ev.export.deserialize(exported.serialize(vjp_order=1))
      >>> print(again.call(jnp.zeros(2)), ev.grad(lambda x: again.call(x).sum())(jnp.zeros(2)))
      [0. 0.] [1. 1.]
    """
    if _override_lowering_rules is not None:
        raise errors.unsupported("export", "_override_lowering_rules", _override_lowering_rules)
    if not hasattr(fun_jit, "trace"):
        raise _error(
            ValueError, f"export: {fun_jit!r} is not made by `jit`.", "call `export(jit(f))`."
        )
    names = _checked_platforms(platforms)

    @shortened
    def exporter(*args, **kwargs):
        if (signature := getattr(fun_jit, "_signature", None)) is not None:
            call = signature.flatten(args, kwargs)
            symbolic.note_places(call.leaves, signature.leaf_names(call))
        traced = fun_jit.trace(*args, **kwargs)
        layout = placed.layout_of(traced)
        trees = traced.in_tree, traced.out_tree
        return _export(traced.jaxpr, traced.fun_name, *trees, names, disabled_checks, layout)

    return exporter


def _checked_platforms(platforms) -> tuple[str, ...]:
    if isinstance(platforms, str) or set(platforms or ()) - set(FAMILIES):
        raise _error(
            ValueError,
            f"export: platforms is {platforms!r}.",
            f"give a sequence of names, of {', '.join(FAMILIES)}.",
        )
    return tuple(platforms or (default_export_platform(),))


def _export(
    closed,
    name,
    in_tree,
    out_tree,
    platforms,
    checks: Sequence[DisabledSafetyCheck],
    layout: placed.Layout | None,
):
    """Export a closed jaxpr."""
    if observable(closed.jaxpr.effects):
        effects = ", ".join(sorted(map(str, closed.jaxpr.effects)))
        raise _error(
            NotImplementedError,
            f"export: {name} has side effects ({effects}), which its bytes cannot hold.",
            "take callbacks (`debug.print` is one) and random state out of what is exported.",
        )
    program = hoist_consts(closed.jaxpr)
    consts = [as_array(x)._contents() for x in closed.consts]  # pyright: ignore[reportAttributeAccessIssue]
    allowed = [c.is_custom_call() for c in checks if c.is_custom_call() is not None]
    families = {FAMILIES[p] for p in platforms}
    scope = symbolic.scope_of(closed.in_avals)
    divided = layout and layout.divided()
    modules = {
        f: runtime.xla().portable.write(program, consts, name, f, allowed, divided)
        for f in families
    }
    if scope is not None:
        example = symbolic.example_sizes(closed.in_avals, scope)
        for module in modules.values():
            runtime.xla().portable.check(symbolic.filled(module.decode(), example, scope))
    return Exported(
        name,
        in_tree,
        tuple(closed.in_avals),
        out_tree,
        tuple(closed.out_avals),
        platforms,
        tuple(checks),
        tuple(modules[FAMILIES[p]] for p in platforms),
        lambda: _export_vjp(closed, name, platforms, checks, layout),
        _scope=scope,
        _layout=layout,
        _source=None if _calls_exported(program) else (program, consts),
    )


def _calls_exported(jaxpr):
    """Whether a jaxpr calls an exported program, into which no sizes are put but in its text."""
    return any(
        eqn.primitive is call_exported_p or any(map(_calls_exported, subjaxprs(eqn.params)))
        for eqn in jaxpr.eqns
    )


def _export_vjp(closed, name, platforms, checks, layout):
    """Export the derivative of a closed jaxpr, see `Exported.vjp`."""
    n = len(closed.in_avals)
    moving = [i for i, aval in enumerate(closed.in_avals) if is_inexact(aval)]

    def fun_vjp(*values):
        def of_moving(*xs):
            args = list(values[:n])
            for i, x in zip(moving, xs, strict=True):
                args[i] = x
            outs = tracing.eval_jaxpr(closed.jaxpr, closed.consts, *args)
            pairs = zip(outs, closed.out_avals, strict=True)
            return [out for out, aval in pairs if is_inexact(aval)]

        _, pullback = autodiff.vjp(of_moving, *[values[i] for i in moving])
        return pullback(list(values[n:]))

    avals = [*closed.in_avals, *filter(is_inexact, closed.out_avals)]
    jaxpr, consts = stage_open(fun_vjp, avals)
    in_tree = tree.structure((tuple(avals), {}))
    out_tree = tree.structure(tuple(moving))
    closed_vjp = ClosedJaxpr(jaxpr, consts)
    layout = layout and layout.of_vjp(closed.in_avals, closed.out_avals)
    return _export(closed_vjp, f"{name}_vjp", in_tree, out_tree, platforms, checks, layout)


@public
def deserialize(blob: Any, *, verify: bool = False) -> Exported:
    """Return the exported function that `Exported.serialize` wrote.

    Take bytes from sources that you trust only: what they say of the function is checked, but its
    programs are read by XLA, which bad ones can crash, and do what they were written to do when the
    function is called.

    Args:
      blob: the bytes; of this process or another, also on a machine of another kind. Nothing in
        them is run before the function is called.
      verify: whether XLA reads the programs in a process of their own first, so that none on which
        its reader crashes or never ends comes into this one. It takes a second or two; a number is
        the seconds that it may take, 60 by default.

    Raises:
      ValueError: they are damaged, of another format, or have nodes of trees whose types are not
        registered here; or, verified, XLA cannot read them.
      TypeError: they are no bytes.

    Example:
      >>> blob = ev.export.export(ev.jit(lambda x: {"y": x + 1}))(jnp.zeros(2)).serialize()
      >>> ev.export.deserialize(blob).call(np.ones(2, "float32"))
      {'y': Array([2., 2.], dtype=float32)}
    """
    descriptions, programs = hostile.unpacked(blob)
    made, rest = None, list(programs)
    for data in reversed(descriptions):  # each order needs the next one
        version, jax = data["calling_convention"], data.get("jax")
        known = (CALLING_CONVENTION,) if jax is None else jax_format.CALLING_CONVENTIONS
        if version not in known:
            raise _error(
                ValueError,
                f"deserialize: {data['name']} has calling convention {version}, and this evertrace "
                f"knows {', '.join(map(str, known))}.",
                "use the release that wrote it, or export it again.",
            )
        count = hostile.modules_of(data)
        modules, rest = rest[-count:], rest[:-count]
        scope = _scope_from_json(data)
        made = Exported(
            data["name"],
            trees.from_json(data["in_tree"]),
            _avals_from_json(data["in_avals"], scope),
            trees.from_json(data["out_tree"]),
            _avals_from_json(data["out_avals"], scope),
            tuple(data["platforms"]),
            tuple(map(DisabledSafetyCheck, data["checks"])),
            tuple(modules),
            None if made is None else functools.partial(_identity, made),
            calling_convention_version=version,
            _scope=scope,
            _layout=placed.from_json(data.get("layout")),
            _foreign=None if jax is None else JaxCall.from_json(jax, scope),
        )
        if verify:
            _verify(made, 60 if verify is True else float(verify))
    assert made is not None
    return made


def _verify(made, seconds):
    """Have XLA read programs in a process of their own; of symbolic sizes, for some numbers."""
    for module in made._modules:
        if made._scope is None or made._foreign is not None:
            hostile.read_elsewhere(made.fun_name, module, seconds)
        else:
            example = symbolic.example_sizes(made.in_avals, made._scope)
            text = symbolic.filled(module.decode(), example, made._scope)
            hostile.read_elsewhere(made.fun_name, text.encode(), seconds, "text")


def _scope_from_json(data):
    """Return the scope of the symbolic sizes in a description, or None where there are none."""
    sizes = data.get("sizes")
    return None if sizes is None else SymbolicScope(sizes["constraints"], least=sizes["least"])


def _avals_from_json(data, scope):
    return tuple([container.aval_from_json(aval, scope) for aval in data])


def _identity(x):
    return x


def _error(kind, what, fix):
    return errors.user_error(kind, what, fix=fix, anchor="export")
