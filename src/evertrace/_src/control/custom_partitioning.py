"""Operations of which users say how devices share them.

Such an operation means a jaxpr. What it is laid out as, and what each device does of it where a
program is divided, its *sharing* says, which `experimental.custom_partitioning` makes:

  divide(sizes, operands, divisions, results) -> divisions    of avals, over a mesh of such sizes
  on_parts(mesh, operands, divisions, results) -> arrays      the operation as one of parts
"""

from evertrace._src.control import call
from evertrace._src.core import engine
from evertrace._src.core.divisions import Axes, open_division
from evertrace._src.core.jaxpr import Literal, subjaxprs
from evertrace._src.core.primitive import Primitive, undefined
from evertrace._src.core.propagation import divide
from evertrace._src.core.tracer import state
from evertrace._src.transforms.staging import close_jaxpr, restage


def _divide(divisions, divide_jaxpr, *, jaxpr, sharing, **_):
    sizes = divide_jaxpr.mesh_sizes
    if getattr(sizes, "mesh", None) is None:
        return divide_jaxpr(jaxpr, divisions)
    operands = [v.aval for v in jaxpr.jaxpr.invars]
    return sharing.divide(sizes, operands, list(map(tuple, divisions)), jaxpr.out_avals)


def _eager(*args, **params):
    def once(*operands):
        return custom_partitioning_p.bind(*operands, **params)

    whole = restage(once, [v.aval for v in params["jaxpr"].jaxpr.invars])
    return engine.backend().call_jaxpr(close_jaxpr(whole), args, name=params["name"])


def _as_call(rule):
    """Return a rule of `jit`: derivatives and batches are calls of what the operation means."""
    return lambda *args, jaxpr, name, **_: rule(*args, jaxpr=jaxpr, name=name)


custom_partitioning_p: Primitive = Primitive(
    "custom_partitioning",
    divide=_divide,
    multiple_results=True,
    cache_types=False,
    show=("name", "jaxpr"),
    abstract=lambda *avals, jaxpr, **_: jaxpr.out_avals,
    effects=lambda *, jaxpr, **_: jaxpr.effects,
    eager=_eager,
    jvp_call=_as_call(call.jit_p.jvp_call),
    linearize=_as_call(call.jit_p.linearize),
    batch_call=_as_call(call.jit_p.batch_call),
    transpose=undefined("derivatives are calls"),
)


def shared_out(jaxpr, divisions, mesh):
    """Return a program in which such operations are those of the devices' parts.

    Those in loops and branches stay as they are, and the compiler divides what they mean.

    Args:
      jaxpr: the program, without constvars.
      divisions: of its inputs.
      mesh: over which the program is divided.
    """
    if not _has_any(jaxpr):
        return jaxpr
    sizes = Axes(mesh.shape_tuple, mesh=mesh)

    def run(*args):
        return _run(jaxpr, args, divisions, sizes)[0]

    return restage(run, [v.aval for v in jaxpr.invars])


def _has_any(jaxpr):
    if "custom_partitioning" not in jaxpr.cache:
        jaxpr.cache["custom_partitioning"] = any(
            eqn.primitive is custom_partitioning_p or any(map(_has_any, subjaxprs(eqn.params)))
            for eqn in jaxpr.eqns
        )
    return jaxpr.cache["custom_partitioning"]


def _run(jaxpr, args, divisions, sizes):
    """Evaluate a jaxpr; returns its outputs and their divisions."""
    known = dict(zip(map(id, jaxpr.invars), zip(args, divisions, strict=True), strict=True))

    def read(atom):
        if type(atom) is Literal:
            return atom, open_division(atom.aval)
        return known[id(atom)]

    previous = state.src
    try:
        for eqn in jaxpr.eqns:
            state.src, prim = eqn.src, eqn.primitive
            pairs = list(map(read, eqn.invars))
            operands, before = [x for x, _ in pairs], [d for _, d in pairs]
            if prim is call.jit_p and _has_any(eqn.params["jaxpr"].jaxpr):
                outs, after = _run(eqn.params["jaxpr"].jaxpr, operands, before, sizes)
            else:
                avals = [x.aval for x in eqn.invars], [v.aval for v in eqn.outvars]
                after = divide(prim, avals[0], before, avals[1], eqn.params, sizes, eqn.src)
                if prim is custom_partitioning_p:
                    plain = list(map(tuple, before))
                    sharing = eqn.params["sharing"]
                    outs = sharing.on_parts(sizes.mesh, operands, plain, avals[1])
                else:
                    outs = state.trace.process(prim, operands, eqn.params)
                    outs = outs if prim.multiple_results else [outs]
            found = zip(outs, after, strict=True)
            known.update(zip(map(id, eqn.outvars), found, strict=True))
    finally:
        state.src = previous
    results = list(map(read, jaxpr.outvars))
    return [x for x, _ in results], [d for _, d in results]
