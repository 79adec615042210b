"""Layouts that are wished for: where a program is divided, the partitioner hears of them."""

from evertrace._src import errors
from evertrace._src.engines.xla.lower import lowering
from evertrace._src.engines.xla.text import shardy
from evertrace._src.ops.sharding_constraint import sharding_constraint_p


@lowering.define(sharding_constraint_p)
def _sharding_constraint(b, out, x, *, sharding, unconstrained_dims):
    rank, sizes = len(out.shape), b.module.sizes
    if not sizes or not hasattr(sharding, "spec_division"):
        return x
    said = sharding.spec_division(rank - len(unconstrained_dims))
    if tuple(sharding.axis_sizes().items()) != sizes:
        raise _two_meshes_error(sizes, sharding)
    rest = iter(said)
    division = [() if d in unconstrained_dims else next(rest) for d in range(rank)]
    # A dimension that nothing divides after those that the sharding speaks of is left whole.
    attribute = shardy(division, rank, unconstrained_dims)
    return b.op("sdy.sharding_constraint", [x], out, {"sharding": attribute})


def _two_meshes_error(sizes, sharding):
    return errors.user_error(
        ValueError,
        f"with_sharding_constraint: {sharding} is on another mesh than the program's arguments, "
        f"whose axes are {dict(sizes)}.",
        fix="use one mesh, or move the arguments to the other one with `device_put` before.",
        anchor="mesh",
    )
