"""The wish that an array be laid out over devices in some way: an identity that carries it."""

from evertrace._src.core.primitive import JOINTLY, Primitive


def _batch(size, args, dims, *, sharding, unconstrained_dims):
    """Leave the new dimension open: the sharding goes on speaking of the others, in order."""
    (dim,) = dims
    open_dims = frozenset({dim, *[d + (d >= dim) for d in unconstrained_dims]})
    out = sharding_constraint_p.bind(args[0], sharding=sharding, unconstrained_dims=open_dims)
    return out, dim


# The sharding speaks of the dimensions that are not in `unconstrained_dims`, those of `vmap`.
sharding_constraint_p = Primitive(
    "sharding_constraint",
    linear=JOINTLY,
    batch=_batch,
    abstract=lambda x, *, sharding, unconstrained_dims: x,
    host=lambda x, *, sharding, unconstrained_dims: x,
    transpose=lambda ct, x, **params: [sharding_constraint_p.bind(ct, **params)],
    physical=lambda x, **params: params,
)
