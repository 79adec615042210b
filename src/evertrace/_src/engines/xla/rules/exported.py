"""StableHLO of exported programs: their own functions, under names that are free."""

from evertrace._src import errors
from evertrace._src.control.exported import call_exported_p
from evertrace._src.engines.xla import compat, portable, solvers
from evertrace._src.engines.xla.lower import lowering


@lowering.define(call_exported_p)
def _call_exported(b, outs, *operands, program):
    attrs = {"callee": f"@{_include(b.module, program)}"}
    tokens = [b.effect_token()] if program.has_effects else []
    results = b.op("func.call", [*tokens, *operands], [*[None] * len(tokens), *outs], attrs)
    return b.take_token(tokens, results)


def _include(module, program):
    """Add the functions of a program to a module, once; returns the name of its main one."""
    found = module.names.get(program)
    if found is None:
        blob = program.module_for(module.platform)
        fresh = {}

        def rename(name):
            fresh[name] = module._fresh(f"{program.name}_{name}")
            return fresh[name]

        try:
            texts = portable.functions(blob, rename, _axes_of_call(module, program))
        except compat.BackendError as error:
            raise errors.user_error(
                ValueError,
                f"export: the installed XLA cannot read the program of {program.name} ({error}).",
                fix="install a jaxlib as new as the one that exported it, or export it again.",
                anchor="export",
            ) from error
        module.functions += texts.values()
        found = module.names[program] = fresh["main"]
        for text in texts.values():
            solvers.prepare(text)
    return found


def _axes_of_call(module, program):
    """Return what each axis of a program's mesh is called in a module; None where it has no mesh.

    Raises:
      ValueError: the mesh of the module has other axes.
    """
    if not module.sizes:
        return None
    names = [(old, new) for (old, _), (new, _) in zip(program.axes, module.sizes, strict=False)]
    if program.axes and [n for _, n in program.axes] != [n for _, n in module.sizes]:
        raise errors.user_error(
            ValueError,
            f"export: {program.name} was exported for a mesh of the axes {dict(program.axes)}, and "
            f"is called in a program that is divided over one of {dict(module.sizes)}.",
            fix="use one mesh, or call it in a program of its own.",
            anchor="export",
        )
    return dict(names)
