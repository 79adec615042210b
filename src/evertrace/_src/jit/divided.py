"""How the results of what is traced ahead of time lie, along the axes that types speak of.

A call finds out from its arguments; what is only traced has shardings, too, in its arguments or in
what stands for them, and what disagrees is as wrong there.
"""

from evertrace._src import dims
from evertrace._src.arrays.array import Array
from evertrace._src.core.aval import LaidOutType, ShapeDtypeStruct
from evertrace._src.core.divisions import Axes, loose_division, with_dimensions
from evertrace._src.core.jaxpr import subjaxprs
from evertrace._src.core.propagation import divide_jaxpr
from evertrace._src.ops.sharding_constraint import mesh_in
from evertrace._src.transforms.staging import hoist_consts


def sharding_of(x):
    """Return the sharding over a mesh of an array, or of what stands for one; None for others."""
    if type(x) is Array:
        return getattr(x, "_sharding", None)
    found = x.sharding if type(x) is ShapeDtypeStruct else None
    return found if hasattr(found, "spec_division") else None


def shardings_of_results(captured, shardings):
    """Return for each result its sharding on the mesh without devices, None where there is none.

    Args:
      captured: the `Captured` call.
      shardings: of its arguments, over a mesh; None for others.

    Raises:
      ShardingTypeError: operands are divided along two explicit axes where they are one factor, or
        one is yet to be summed and the operation is not linear in it.
    """
    return _divided(captured, shardings, None)


def tell_types(captured, shardings):
    """Have a jaxpr know the types of its variables along explicit axes, for people who look at it.

    Args:
      captured: the `Captured` call, whose jaxpr nobody else has.
      shardings: of its arguments, as in `shardings_of_results`, which is returned.
    """
    seen = {}
    results = _divided(captured, shardings, seen)
    like = next((s for s in results if s is not None), None)
    if like is not None:
        told = captured.jaxpr.cache["types"] = {}
        explicit, jaxprs = like.axis_sizes().explicit, [captured.jaxpr]
        for jaxpr in jaxprs:
            jaxprs += [inner for eqn in jaxpr.eqns for inner in subjaxprs(eqn.params)]
            outs = [v for eqn in jaxpr.eqns for v in eqn.outvars]
            for v in (*jaxpr.constvars, *jaxpr.invars, *outs):
                if id(v) in seen:
                    sharding = _by_type(like, seen[id(v)], explicit)
                    told[id(v)] = LaidOutType(v.aval, sharding.abstract(v.aval.ndim))
    return results


def _divided(captured, shardings, seen):
    jaxpr = captured.jaxpr
    known = [*map(sharding_of, captured.consts), *shardings]
    like = next((s for s in (*known, mesh_in(jaxpr)) if s and s.axis_sizes().explicit), None)
    if like is None or any([dims.is_dim(n) for v in jaxpr.invars for n in v.aval.shape]):
        return [None] * len(jaxpr.outvars)
    jaxpr = hoist_consts(jaxpr)
    sizes = Axes(like.axis_sizes(), like.axis_sizes().explicit, like.mesh, seen)
    divisions = [
        loose_division(v.aval)
        if s is None or s.axis_sizes() != sizes
        else s.spec_division(v.aval.ndim)
        for s, v in zip(known, jaxpr.invars, strict=True)
    ]
    pairs = zip(divide_jaxpr(jaxpr, divisions, sizes), jaxpr.outvars, strict=True)
    return [_by_type(like, d, sizes.explicit).abstract(x.aval.ndim) for d, x in pairs]


def _by_type(like, division, explicit):
    """Return the sharding that a type has: other axes than explicit ones are not in it."""
    dimensions = [tuple([a for a in axes if a in explicit]) for axes in division]
    return like.divided(with_dimensions(division, dimensions))
