"""What `in_shardings` and `out_shardings` of `jit` do: arguments and results laid out over a mesh.

Arguments are laid out before a call; what lies so already is left alone, which C++ sees by itself.
Results are by constraints at the end of the program, so that no call has to look at them.
"""

import itertools
import operator
from typing import Any

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.divisions import OtherAxis, open_division, over_mesh
from evertrace._src.core.placement import Sharding, as_sharding, carried, shared
from evertrace._src.core.propagation import divide_jaxpr
from evertrace._src.engines import placing
from evertrace._src.jit.divided import sharding_of
from evertrace._src.ops.sharding_constraint import is_of_type, lay_out


def is_over_mesh(placement):
    """Whether a leaf of shardings is one over a mesh, or a spec for the mesh in force."""
    if hasattr(placement, "on_context_mesh"):
        return True
    return isinstance(placement, Sharding) and carried(placement).division(0) is not None


class Placements:
    """How the arguments and the results of one jitted function are laid out.

    Args:
      in_shardings: a sharding, or a tree of them (None: as it comes) that is a prefix of the tuple
        of arguments.
      out_shardings: likewise, of what the function returns.
    """

    def __init__(self, in_shardings, out_shardings):
        self.of_arguments, self.of_results = tree.map(_shared, (in_shardings, out_shardings))

    def enter(self, name, signature, args, kwargs):
        """Return the positional arguments of a call, and what arrays inside of them are laid out.

        Containers and objects stay the caller's own, and so does what the function writes to them.

        Returns:
          The arguments, in place of an array one that is laid out; and a dict: id of an array that
          an argument holds -> it laid out.

        Raises:
          ValueError: an array is committed to another place, or cannot be divided so, or is to be
            laid out in two ways.
        """
        moved: dict[int, Any] = {}
        if self.of_arguments is None:
            return args, moved
        call, leaves, wanted = self._entered(name, signature, args, kwargs)
        if all(map(operator.is_, leaves, call.leaves)):
            return args, moved
        entered, shardings = list(args), {}
        for i, rows in _by_argument(signature, args, call.leaves, leaves, wanted):
            for x, laid, sharding in rows:
                if x is args[i]:
                    entered[i] = laid
                elif x is not laid and isinstance(x, (Array, np.ndarray)):
                    moved[id(x)] = laid
                    if shardings.setdefault(id(x), sharding) != sharding:
                        raise _twice_error(name, x, shardings[id(x)], sharding)
        return tuple(entered), moved

    def call(self, fun, name, signature, args, kwargs):
        """Call a function of ``(args, kwargs)`` on copies of containers, whose arrays are laid out.

        That is for calls whose arguments no recorder finds: within a trace, or without any.

        Raises:
          NotImplementedError: the function has changed a copy.
        """
        given, copies = list(args), {}
        if self.of_arguments is not None:
            call, leaves, _ = self._entered(name, signature, args, kwargs)
            for i, pairs in _by_argument(signature, args, call.leaves, leaves):
                if not all([x is laid for x, laid in pairs]):
                    given[i] = tree.unflatten(tree.structure(args[i]), [laid for _, laid in pairs])
                    copies[i] = _contents(given[i])
        out = fun(tuple(given), kwargs)
        for i, before in copies.items():
            after = _contents(given[i])
            if len(after) != len(before) or not all(map(operator.is_, after, before)):
                raise _change_error(name, i)
        return out

    def copied(self, name, signature, args, kwargs):
        """Return the arguments of a call made by JAX's rules, where containers are copies anyway.

        Raises:
          ValueError: as `enter`.
        """
        if self.of_arguments is None:
            return args, kwargs
        call, leaves, _ = self._entered(name, signature, args, kwargs)
        if all(map(operator.is_, leaves, call.leaves)):
            return args, kwargs
        return signature.unflatten(call, leaves)

    def held(self, name, signature, args, kwargs):
        """Return what C++ compares to see that `enter` leaves arguments like these alone.

        Returns:
          For each argument that is to be laid out: its index, the spec of its tree, and for each
          leaf the sharding that it has, None where any will do. None where `enter` has to see them.
        """
        if self.of_arguments is None:
            return ()
        call, leaves, wanted = self._entered(name, signature, args, kwargs)
        if not all(map(operator.is_, leaves, call.leaves)):
            return None
        found = []
        for i, pairs in _by_argument(signature, args, leaves, wanted):
            if any([s is not None for _, s in pairs]):
                spec = tree.structure(args[i]).spec
                hash(spec)  # as a key: the static data of its nodes stays as it is
                shardings = [None if s is None else leaf._sharding for leaf, s in pairs]
                found.append((i, spec, tuple(shardings)))
        return tuple(found)

    def _entered(self, name, signature, args, kwargs):
        """Return a call taken apart, its leaves laid out, and what is wanted of each."""
        call = signature.flatten(args, kwargs)
        where = f"jit({name}) in_shardings"
        shardings = tree.flatten_axes(where, call.treedef, (self.of_arguments, None))
        leaves = [
            leaf
            if s is None or _lies(leaf, s)
            else _argument(where, leaf, s, lambda i=i: signature.leaf_names(call)[i])
            for i, (leaf, s) in enumerate(zip(call.leaves, shardings, strict=True))
        ]
        return call, leaves, shardings

    def leave(self, name, out):
        """Return the result of a call, laid out; where it is traced, by the program."""
        leaves, treedef = tree.flatten(out)
        where = f"jit({name}) out_shardings"
        shardings = tree.flatten_axes(where, treedef, self.of_results)
        leaves = [
            leaf if s is None or _lies(leaf, s) else _placed(where, leaf, s)
            for leaf, s in zip(leaves, shardings, strict=True)
        ]
        return tree.unflatten(treedef, leaves)


class CompiledPlacements:
    """Where the arguments and the results of a program lie that is compiled ahead of time.

    Args:
      name: of the function.
      placements: the `Placements` of the jitted function, or None.
      call: the `FlatCall` that it was traced for.

    Attributes:
      inputs: for each leaf of the arguments its sharding over the mesh, None where there is none.
      outputs: likewise of the result, once it is complete.
      divisions: of all that the program takes, and `asked` for each leaf of the result what
        `out_shardings` say, None for nothing.
    """

    def __init__(self, name, placements, call):
        self._name = name
        self._of_results = None if placements is None else placements.of_results
        of_arguments = None if placements is None else placements.of_arguments
        where = f"jit({name}) in_shardings"
        given = tree.flatten_axes(where, call.treedef, (of_arguments, None))
        self.outputs: Any = None
        self._mesh: Any = None
        self.inputs: list[Any] = []
        for x, s in zip(call.leaves, given, strict=True):
            # An array that lies over no mesh is not asked where it is, which loads XLA.
            own = "_sharding" if type(x) is Array else "sharding"
            found = getattr(x, own, None) if s is None else s
            self.inputs.append(_checked(where, x, found) if is_over_mesh(found) else None)

    def known(self, call):
        """Return for each leaf of the arguments its sharding, also over a mesh without devices."""
        return [s or sharding_of(x) for s, x in zip(self.inputs, call.leaves, strict=True)]

    def complete(self, jaxpr, mesh, consts, out_tree, out_avals):
        """Find out where the results lie, and replicate what nothing lays out over the mesh.

        Args:
          jaxpr: the program.
          mesh: a sharding over the mesh that it names itself, or None.
          consts: the arrays that are its first arguments.
          out_tree: structure of the result.
          out_avals: types of its leaves.

        Returns:
          A sharding over the mesh, or None where nothing is laid out over any.
        """
        if self.outputs is not None:  # it was lowered before
            return self._mesh
        wanted = self.wanted(out_tree, out_avals)
        captured = [getattr(x, "_sharding", None) for x in consts]
        like = next((s for s in (*self.inputs, *captured, mesh, *wanted) if s is not None), None)
        self._mesh = like
        if like is None:
            return None
        given = [s for s in (*self.inputs, *captured, mesh, *wanted) if s is not None]
        placed = [s for s in given if not is_of_type(s)]
        for s in placed[1:]:
            devices = placed[0].device_list()
            placing.check_asked(f"jit({self._name})", devices, {s.device_list(): s})
        avals, sizes = [v.aval for v in jaxpr.invars], like.axis_sizes()
        known = [
            open_division(aval)
            if s is None
            else over_mesh(s.spec_division(aval.ndim), s.axis_sizes(), sizes)
            for s, aval in zip((*captured, *self.inputs), avals, strict=True)
        ]
        divisions = divide_jaxpr(jaxpr, known, sizes)
        self.asked = wanted
        self.divisions = [
            open_division(aval) if any(type(a) is OtherAxis for axes in d for a in axes) else d
            for d, aval in zip(known, avals, strict=True)
        ]
        replicated = like.divided(())
        self.inputs = [replicated if s is None else s for s in self.inputs]
        self.outputs = [
            like.divided(d) if s is None else s for s, d in zip(wanted, divisions, strict=True)
        ]
        return like

    def wanted(self, out_tree, out_avals):
        """Return for each leaf of the result what `out_shardings` say of it, None for nothing."""
        where = f"jit({self._name}) out_shardings"
        given = tree.flatten_axes(where, out_tree, self._of_results)
        return [
            s if s is None else _checked(where, aval, s)
            for s, aval in zip(given, out_avals, strict=True)
        ]

    def enter(self, leaves, names):
        """Return the leaves of a call's arguments, laid out; `names` is asked for theirs.

        Raises:
          ValueError: one is committed to another place than it was compiled for.
        """
        where = f"jit({self._name}) compiled"
        return [
            _argument(where, leaf, s, lambda i=i: names()[i])
            for i, (leaf, s) in enumerate(zip(leaves, self.inputs, strict=True))
        ]

    def leave(self, outs):
        """Return the leaves of a call's result, laid out."""
        return [lay_out(x, s) for x, s in zip(outs, self.outputs, strict=True)]


def _by_argument(signature, args, *columns):
    """Yield, for each traced positional argument, its number and the rows of its leaves."""
    rows = zip(*columns, strict=True)
    for i, x in enumerate(args):
        if i not in signature.static_nums:
            yield i, list(itertools.islice(rows, tree.structure(x).num_leaves))


def _contents(x):
    """Return all objects that a tree is made of, and those that are attributes of its nodes."""
    found: list[Any] = []

    def note(node):
        found.append(node)
        attributes = getattr(node, "__dict__", None)
        if type(attributes) is dict and not isinstance(node, Array):
            found.extend([y for pair in attributes.items() for y in pair])
        elif isinstance(node, dict):
            found.extend(node)
        return False

    tree.flatten(x, is_leaf=note)
    return found


def _twice_error(name, x, *shardings):
    one, other = [getattr(s, "spec", s) for s in shardings]
    return errors.user_error(
        ValueError,
        f"jit({name}) in_shardings: one array, {x.dtype}{list(x.shape)}, is in two places of the "
        f"arguments, and is to be laid out as {one} and as {other}.",
        fix="pass a copy of it in one place, `jnp.copy(x)`.",
        anchor="devices",
    )


def _change_error(name, i):
    return errors.user_error(
        NotImplementedError,
        f"jit({name}) in_shardings: the function changes argument {i}, and here, where no call of "
        f"`jit` begins, it is given a copy whose arrays are laid out: the change would be lost.",
        fix="return what changes, or leave `in_shardings` to the outermost jitted function.",
        anchor="devices",
    )


def _shared(placement):
    return shared(carried(placement)) if isinstance(placement, Sharding) else placement


def _lies(leaf, sharding):
    """Whether a leaf lies so already."""
    return type(leaf) is Array and getattr(leaf, "_sharding", None) is sharding


def _placed(where, leaf, sharding):
    x = as_array(leaf, where)
    return lay_out(x, _checked(where, x, sharding))


def _argument(where, leaf, sharding, name):
    """Return a leaf of the arguments, laid out; `name` gives its name, for errors."""
    x = as_array(leaf, where)
    sharding = _checked(where, x, sharding)
    if type(x) is Array and x._committed:
        if x.sharding.is_equivalent_to(sharding, x.ndim):
            return x
        found, wanted = (getattr(s, "spec", s) for s in (x.sharding, sharding))
        if found == wanted:  # over another mesh, or in another memory
            found, wanted = x.sharding, sharding
        raise errors.user_error(
            ValueError,
            f"{where}: {name()} of shape {x.shape} is committed to {found}, and {wanted} was asked "
            "for.",
            fix="move it with `device_put`, or ask for the place where it is.",
            anchor="devices",
        )
    return lay_out(x, sharding)


def _checked(where, x, sharding):
    """Return a sharding for what the user gave as one, if it divides the array."""
    sharding = as_sharding(where, sharding)
    sharding.check(where, x.shape)
    return sharding
