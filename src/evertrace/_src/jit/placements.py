"""What `in_shardings` and `out_shardings` of `jit` do: arguments and results laid out over a mesh.

Virtual devices share the memory of the process, so that both are shardings given to arrays; in a
trace, constraints that the program keeps.
"""

from evertrace._src import errors, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.placement import Sharding
from evertrace._src.ops.sharding_constraint import lay_out


def is_over_mesh(placement):
    """Whether a leaf of shardings is one over a mesh, or a spec for the mesh in force."""
    if hasattr(placement, "on_context_mesh"):
        return True
    return isinstance(placement, Sharding) and placement.division(0) is not None


class Placements:
    """How the arguments and the results of one jitted function are laid out.

    Args:
      in_shardings: a sharding, or a tree of them (None: as it comes) that is a prefix of the tuple
        of arguments.
      out_shardings: likewise, of what the function returns.
    """

    def __init__(self, in_shardings, out_shardings):
        self.of_arguments, self.of_results = in_shardings, out_shardings

    def enter(self, name, signature, args, kwargs):
        """Return the arguments of a call, laid out.

        Raises:
          ValueError: an array is committed to another place, or cannot be divided so.
        """
        if self.of_arguments is None:
            return args, kwargs
        call = signature.flatten(args, kwargs)
        where = f"jit({name}) in_shardings"
        shardings = tree.flatten_axes(where, call.treedef, (self.of_arguments, None))
        leaves = [
            leaf if s is None else _argument(where, i, leaf, s)
            for i, (leaf, s) in enumerate(zip(call.leaves, shardings, strict=True))
        ]
        return signature.unflatten(call, leaves)

    def leave(self, name, out):
        """Return the result of a call, laid out."""
        if self.of_results is None:
            return out
        leaves, treedef = tree.flatten(out)
        where = f"jit({name}) out_shardings"
        shardings = tree.flatten_axes(where, treedef, self.of_results)
        leaves = [
            leaf if s is None else lay_out(as_array(leaf, where), _checked(where, leaf, s))
            for leaf, s in zip(leaves, shardings, strict=True)
        ]
        return tree.unflatten(treedef, leaves)


def _argument(where, i, leaf, sharding):
    x = as_array(leaf, where)
    sharding = _checked(where, x, sharding)
    if type(x) is Array and x._committed:
        if x.sharding.is_equivalent_to(sharding, x.ndim):
            return x
        found, wanted = (getattr(s, "spec", s) for s in (x.sharding, sharding))
        raise errors.user_error(
            ValueError,
            f"{where}: array {i} of the arguments, of shape {x.shape}, is committed to {found}, "
            f"and {wanted} was asked for.",
            fix="move it with `device_put`, or leave its sharding out here (None).",
            anchor="devices",
        )
    return lay_out(x, sharding)


def _checked(where, x, sharding):
    """Return a sharding for what the user gave as one, if it divides the array."""
    if hasattr(sharding, "on_context_mesh"):
        sharding = sharding.on_context_mesh(where)
    sharding.check(where, x.shape)
    return sharding
