"""Ahead-of-time compilation in steps: `Traced`, `Lowered`, `Compiled`."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from evertrace._src import dims, errors, tracebacks, tree
from evertrace._src.arrays.interop import aval_of
from evertrace._src.core.aval import ShapedArray, ShapeDtypeStruct
from evertrace._src.core.formats import Format, row_major
from evertrace._src.core.jaxpr import ClosedJaxpr
from evertrace._src.core.placement import SingleDeviceSharding
from evertrace._src.core.tracer import Tracer
from evertrace._src.engines import runtime
from evertrace._src.jit.divided import shardings_of_results, tell_types
from evertrace._src.jit.placements import CompiledPlacements
from evertrace._src.support import cached_property, set_module

public = set_module("evertrace.stages")


class Stage:
    """What all stages know of the call they were made for.

    Attributes:
      in_tree: treedef of ``(args, kwargs)``, static arguments left out.
      out_tree: treedef of the result.
    """

    def __init__(self, variant: Any, call: Any, signature: Any, places: Any = None) -> None:
        self._variant, self._call, self._signature = variant, call, signature
        self._places = places or CompiledPlacements(variant.name, None, call)
        self._shardings = shardings_of_results(variant.captured, self._places.known(call))

    def __copy__(self) -> Any:
        return self  # nobody can change it

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise errors.user_error(
            TypeError,
            f"pickle: the {type(self).__name__} of {self._variant.name} is not pickled, as it "
            "holds a program of this process.",
            fix="pickle the function, or take the bytes of a program: `export.export(f)(x)"
            ".serialize()`, `experimental.serialize_executable.serialize(compiled)`.",
            anchor="pickle",
        )

    @property
    def in_tree(self) -> Any:
        """Treedef of ``(args, kwargs)`` without the static arguments."""
        return self._call.treedef

    @property
    def out_tree(self) -> Any:
        """Treedef of the result."""
        return self._variant.out_tree

    @property
    def in_avals(self) -> Any:
        """Tree of the arguments' avals."""
        return tree.unflatten(self.in_tree, self._variant.captured.jaxpr.in_avals)

    @property
    def args_info(self) -> Any:
        """Tree of the arguments' `ArgInfo`s."""
        donated = set(self.donate_argnums)
        avals = self._variant.captured.jaxpr.in_avals
        return tree.unflatten(self.in_tree, [ArgInfo(a, i in donated) for i, a in enumerate(avals)])

    @property
    def out_info(self) -> Any:
        """Tree of `ShapeDtypeStruct` of the result."""
        structs = map(_struct, self._variant.closed.out_avals, self._shardings)
        return tree.unflatten(self.out_tree, structs)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Indices of the leaves that a call gives away."""
        return self._signature.donated(self._call)


class _ArgInfo(NamedTuple):
    aval: ShapedArray
    donated: bool


@public
class ArgInfo(_ArgInfo):
    """What is known of an argument: `shape`, `dtype`, the `aval`, and whether it is donated.

    Example:
      >>> lowered = ev.jit(lambda x, y: x + y, donate_argnums=1).lower(jnp.ones(3), jnp.ones(3))
      >>> [(info.shape, info.donated) for info in lowered.args_info[0]]
      [((3,), False), ((3,), True)]
    """

    __slots__ = ()

    shape: Any = property(lambda self: self.aval.shape)
    dtype: Any = property(lambda self: self.aval.dtype)


_PLATFORMS = {
    None: None, "cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu",
}  # fmt: skip

CompilerOptions = dict[str, bool | int | float | str]
"""XLA flags by name, without leading dashes."""


def _struct(aval, sharding):
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=sharding)


@public
class Traced(Stage):
    """A function traced for the types of certain arguments.

    Attributes:
      jaxpr: the closed jaxpr.
      fun_name: the function's name.

    Example:
      >>> traced = ev.jit(lambda x: 2 * x).trace(ev.ShapeDtypeStruct((3,), "float32"))
      >>> traced.jaxpr, traced.out_avals
      ({ lambda ; a:f32[3]. let b:f32[3] = mul 2.0:f32[] a in (b,) }, ShapedArray(float32[3]))
    """

    @property
    def out_avals(self) -> Any:
        """Tree of the result's avals."""
        return tree.unflatten(self.out_tree, self._variant.closed.out_avals)

    @property
    def jaxpr(self) -> Any:
        """The closed jaxpr, with what the function captured as its constants."""
        captured = self._variant.captured
        shardings = self._places.known(self._call)
        if any(shardings):
            # Types are told to a jaxpr of its own: the variant serves arrays however they lie.
            captured = captured._replace(jaxpr=captured.jaxpr.replace())
            tell_types(captured, shardings)
        return ClosedJaxpr(captured.jaxpr, captured.consts)

    @property
    def fun_name(self) -> str:
        """The function's name."""
        return self._variant.name

    def lower(self, *, lowering_platforms: Any = None) -> Any:
        """Return the `Lowered`; several platforms at once are not supported yet.

        Args:
          lowering_platforms: a tuple of one of "cpu", "gpu", "cuda", "rocm" and "tpu", for a
            program to look at; by default what it would run on.

        Raises:
          ValueError: there is no such platform.
          InconclusiveDimensionOperation: sizes are symbolic, for which only `export` has programs.
        """
        sizes = [n for aval in self._variant.captured.jaxpr.in_avals for n in aval.shape]
        symbolic = next(filter(dims.is_dim, sizes), None)
        if symbolic is not None:
            raise errors.user_error(
                errors.InconclusiveDimensionOperation,
                f"lower: {self._variant.name} is traced for the symbolic size {symbolic}, and a "
                "program is compiled for sizes that are numbers.",
                fix="use `export.export`, whose programs are compiled for the sizes of each call.",
                anchor="symbolic-shapes",
            )
        if lowering_platforms is not None and len(lowering_platforms) > 1:
            raise errors.user_error(
                NotImplementedError,
                f"lower: cannot lower for {len(lowering_platforms)} platforms at once.",
                fix="name one platform.",
            )
        platform = lowering_platforms[0] if lowering_platforms else None
        if platform not in _PLATFORMS:
            raise errors.user_error(
                ValueError,
                f"lower: there is no platform {platform!r}.",
                fix=f"name one of {', '.join(map(repr, filter(None, _PLATFORMS)))}.",
            )
        lowered_for = _PLATFORMS[platform]
        return Lowered(self._variant, self._call, self._signature, self._places, lowered_for)


@public
class Lowered(Stage):
    """A function lowered for the types of certain arguments.

    What XLA runs is StableHLO from here on, and what cannot be lowered has said so. A program that
    the native engine takes is a tape; its StableHLO is written when somebody asks to see it.

    Example:
      >>> lowered = ev.jit(jnp.sin).lower(jnp.ones(3))
      >>> "stablehlo.sine" in lowered.as_text(), lowered.out_info
      (True, ShapeDtypeStruct(shape=(3,), dtype=float32))
    """

    def __init__(
        self, variant: Any, call: Any, signature: Any, places: Any, platform: str | None = None
    ) -> None:
        super().__init__(variant, call, signature, places)
        self._platform = platform
        program = variant.program
        self._mesh = self._places.complete(
            program.whole, program.mesh, variant.consts, self.out_tree, variant.closed.out_avals
        )
        if platform is not None or program.choice().engine != "native":
            runtime.xla().lower(program.jaxpr, program.name, program.kept_donated, platform)

    @cached_property
    def _lowering(self):
        """The program as its text shows it: divided over the mesh that arrays are laid out on."""
        program = self._variant.program
        made = runtime.xla().Lowering(
            program.jaxpr, program.name, program.kept_donated, self._platform
        )
        if not self._mesh or not self._mesh.axis_sizes():
            return made
        return made.over(*program.layout_over(self._mesh, self._places))

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the program as text; one over a mesh says, in Shardy's words, how arrays lie.

        Args:
          dialect: "stablehlo" (the default) or "hlo"; or "triton" for the kernels that a
            program for a GPU calls, see `pallas_call`.
          debug_info: whether StableHLO is printed with locations: named scopes, operations and
            the user's lines.
        """
        return runtime.xla().lowered_text(self._lowering, dialect, debug_info)

    def compiler_ir(self, dialect: Any = None) -> Any:
        """Return the program as jaxlib's object.

        Args:
          dialect: "stablehlo" (the default) for an MLIR module, "hlo" for an `XlaComputation`.
        """
        return runtime.xla().lowered_ir(self._lowering, dialect)

    def compile(
        self, compiler_options: CompilerOptions | None = None, *, device_assignment: Any = None
    ) -> Compiled:
        """Compile for the default device, by the engine that a call takes; returns a `Compiled`.

        Args:
          compiler_options: XLA flags by name, on top of those given to `jit`; XLA runs the program
            then.
          device_assignment: devices to run on; must be None, `jit(device=)` names the one.
        """
        if device_assignment is not None:
            raise errors.user_error(
                NotImplementedError,
                "compile: device_assignment is not supported.",
                fix="name the device at `jit(f, device=device)`.",
            )
        here = runtime.default_device().platform if self._platform else None
        if self._platform != here:
            raise errors.user_error(
                ValueError,
                f"compile: {self._variant.name} was lowered for {self._platform}, but runs on "
                f"{here} here.",
                fix="lower it without `lowering_platforms`, or compile it where there is such a "
                "device.",
            )
        program = self._variant.program
        if compiler_options:
            program = program.with_options(compiler_options)
        return Compiled(self._variant, self._call, self._signature, program, self._places)

    def cost_analysis(self) -> Any:
        """Return XLA's estimates for the unoptimised program: flops, bytes accessed, ..."""
        program = self._variant.program
        return runtime.xla().cost_of_text(program.jaxpr, program.name, program.kept_donated)


@public
class Compiled(Stage):
    """A compiled function for the types of certain arguments; call it with such arguments.

    Example:
      >>> compiled = ev.jit(lambda x: 2 * x).lower(jnp.ones(3)).compile()
      >>> compiled(jnp.arange(3.0))
      Array([0., 2., 4.], dtype=float32)
      >>> compiled(jnp.arange(4.0))
      Traceback (most recent call last):
          ...
      TypeError: <lambda>: compiled for x of type f32[3], called with f32[4]...
    """

    def __init__(
        self, variant: Any, call: Any, signature: Any, program: Any, places: Any = None
    ) -> None:
        super().__init__(variant, call, signature, places)
        self._program = program
        self._place = self._partition = None
        self._mesh = self._places.complete(
            program.whole, program.mesh, variant.consts, self.out_tree, variant.closed.out_avals
        )
        if self._mesh is not None:
            self._partition = program.over(self._mesh, self._places.divisions)
        runner = program.runner()
        if self._partition is None and runner.anywhere:
            self._place = program.device or runtime.default_device()
            runner.executable(self._place)

    @tracebacks.shortened
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run; static arguments are left out.

        Raises:
          TypeError: the types or the structure of the arguments differ.
          ValueError: an argument is committed to another place.
        """
        leaves, treedef = tree.flatten((args, kwargs))
        if treedef != self.in_tree:
            raise errors.user_error(
                TypeError,
                f"{self._variant.name}: compiled for arguments of structure {self.in_tree}, "
                f"called with {treedef}.",
                fix="call it with the structure it was compiled for, static arguments left out.",
                anchor="aot-mismatch",
            )
        if any(isinstance(x, Tracer) for x in leaves):
            raise errors.user_error(
                TypeError,
                f"{self._variant.name}: a compiled program cannot be transformed, but was called "
                f"with traced values.",
                fix="transform or call the jitted function instead of the compiled one.",
                anchor="aot-mismatch",
            )
        avals = self._variant.captured.jaxpr.in_avals
        for i, (x, want) in enumerate(zip(leaves, avals, strict=True)):
            have = aval_of(x)
            if (have.shape, have.dtype) != (want.shape, want.dtype):
                name = self._signature.leaf_names(self._call)[i]
                raise errors.user_error(
                    TypeError,
                    f"{self._variant.name}: compiled for {name} of type {want.str_short()}, "
                    f"called with {have.str_short()}.",
                    fix="convert the argument, or compile for its type.",
                    anchor="aot-mismatch",
                )
        if self._mesh is not None:
            names = functools.partial(self._signature.leaf_names, self._call)
            leaves = self._places.enter(leaves, names)
        outs = self._program.run((*self._variant.consts, *leaves))
        if self._mesh is not None:
            outs = self._places.leave(outs)
        return tree.unflatten(self.out_tree, outs)

    call = __call__

    @cached_property
    def _device(self):
        return self._place or runtime.devices("cpu")[0]  # where tapes run

    @property
    def _executable(self):
        """XLA's executable, which a tape gets only when somebody asks what XLA makes of it.

        What is laid out over a mesh is the program that each of its devices runs.
        """
        if self._partition is None and self._mesh is not None and self._mesh.axis_sizes():
            self._partition = self._program.divided_over(self._mesh, self._places)
        return self._partition or self._program.by_xla().executable(self._device)

    @property
    def input_shardings(self) -> Any:
        """Tree of where the arguments have to be: over a mesh, or on the device of the program."""
        return tree.unflatten(self.in_tree, self._placed("inputs", self.in_tree))

    @property
    def output_shardings(self) -> Any:
        """Tree of where the results are."""
        return tree.unflatten(self.out_tree, self._placed("outputs", self.out_tree))

    def _placed(self, side, treedef):
        if self._mesh is not None:
            return getattr(self._places, side)
        return [SingleDeviceSharding(self._device)] * treedef.num_leaves

    @property
    def input_formats(self) -> Any:
        """Tree of how the arguments lie in memory, row-major, and where."""
        return self._formats("inputs", self.in_tree, self._variant.captured.jaxpr.in_avals)

    @property
    def output_formats(self) -> Any:
        """Tree of how the results lie in memory, and where."""
        return self._formats("outputs", self.out_tree, self._variant.captured.jaxpr.out_avals)

    def _formats(self, side, treedef, avals):
        placed = zip(avals, self._placed(side, treedef), strict=True)
        return tree.unflatten(treedef, [Format(row_major(a.ndim), s) for a, s in placed])

    def as_text(self) -> str:
        """Return the program as XLA optimised it; of a mesh the one that each device runs."""
        return self._executable.text()

    def cost_analysis(self) -> Any:
        """Return XLA's estimates: flops, bytes accessed, ..."""
        return self._executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Return the sizes of arguments, outputs, temporaries and code, in bytes."""
        return self._executable.memory_analysis()

    def runtime_executable(self) -> Any:
        """Return XLA's executable."""
        return self._executable
