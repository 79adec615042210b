"""Ahead-of-time compilation in steps: `Traced`, `Lowered`, `Compiled`."""

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import aval_of
from evertrace._src.core.aval import ShapeDtypeStruct
from evertrace._src.core.jaxpr import ClosedJaxpr
from evertrace._src.core.tracer import Tracer
from evertrace._src.engines import registry
from evertrace._src.support import set_module

public = set_module("evertrace.stages")


class Stage:
    """What all stages know of the call they were made for.

    Attributes:
      in_tree: treedef of ``(args, kwargs)``, static arguments left out.
      out_tree: treedef of the result.
    """

    def __init__(self, variant, call, signature):
        self._variant, self._call, self._signature = variant, call, signature

    @property
    def in_tree(self):
        """Treedef of ``(args, kwargs)`` without the static arguments."""
        return self._call.treedef

    @property
    def out_tree(self):
        """Treedef of the result."""
        return self._variant.out_tree

    @property
    def in_avals(self):
        """Tree of the arguments' avals."""
        return tree.unflatten(self.in_tree, self._variant.captured.jaxpr.in_avals)

    @property
    def args_info(self):
        """Tree of the arguments' `ShapeDtypeStruct`s."""
        return tree.map(_struct, self.in_avals)

    @property
    def out_info(self):
        """Tree of `ShapeDtypeStruct` of the result."""
        return tree.unflatten(self.out_tree, map(_struct, self._variant.closed.out_avals))

    @property
    def donate_argnums(self):
        """Indices of the leaves that a call gives away."""
        return self._signature.donated(self._call)


def _struct(aval):
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


@public
class Traced(Stage):
    """A function traced for the types of certain arguments.

    Attributes:
      jaxpr: the closed jaxpr.
      fun_name: the function's name.
    """

    @property
    def jaxpr(self):
        """The closed jaxpr, with what the function captured as its constants."""
        captured = self._variant.captured
        return ClosedJaxpr(captured.jaxpr, captured.consts)

    @property
    def fun_name(self):
        """The function's name."""
        return self._variant.name

    def lower(self, *, lowering_platforms=None):
        """Return the `Lowered`; several platforms at once are not supported yet."""
        if lowering_platforms is not None and len(lowering_platforms) > 1:
            raise NotImplementedError("lower: one platform at a time")
        return Lowered(self._variant, self._call, self._signature)


@public
class Lowered(Stage):
    """A function lowered to StableHLO for the types of certain arguments."""

    def __init__(self, variant, call, signature):
        super().__init__(variant, call, signature)
        program = variant.program
        registry.lower(program.jaxpr, program.name, program.kept_donated)

    def as_text(self, dialect=None, *, debug_info=False):
        """Return the program as text.

        Args:
          dialect: "stablehlo" (the default) or "hlo".
          debug_info: accepted for compatibility; locations are not part of the text.
        """
        del debug_info
        program = self._variant.program
        return registry.lowered_text(program.jaxpr, program.name, program.kept_donated, dialect)

    def compile(self, compiler_options=None):
        """Compile for the default device; returns a `Compiled`."""
        program = self._variant.program
        if compiler_options:
            program = program.with_options(compiler_options)
        return Compiled(self._variant, self._call, self._signature, program)

    def cost_analysis(self):
        """Return XLA's estimates for the unoptimised program: flops, bytes accessed, ..."""
        program = self._variant.program
        return registry.cost_of_text(program.jaxpr, program.name, program.kept_donated)


@public
class Compiled(Stage):
    """A compiled function for the types of certain arguments; call it with such arguments."""

    def __init__(self, variant, call, signature, program):
        super().__init__(variant, call, signature)
        self._program = program
        self._device = program.device or registry.default_device()
        self._executable = program.executable(self._device)

    def __call__(self, *args, **kwargs):
        """Run; static arguments are left out. Raises TypeError where the types differ."""
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
        outs = self._program.run((*self._variant.consts, *leaves))
        return tree.unflatten(self.out_tree, outs)

    def as_text(self):
        """Return the program as XLA optimised it."""
        return self._executable.text()

    def cost_analysis(self):
        """Return XLA's estimates: flops, bytes accessed, ..."""
        return self._executable.cost_analysis()

    def memory_analysis(self):
        """Return the sizes of arguments, outputs, temporaries and code, in bytes."""
        return self._executable.memory_analysis()

    def runtime_executable(self):
        """Return the engine's executable."""
        return self._executable
