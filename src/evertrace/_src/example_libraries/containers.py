"""Optimizers as triples of functions, and how the rule for an array becomes one for a tree.

An optimizer makes a state from parameters, a state from the number of a step, gradients and a
state, and gives the parameters back. Its rule is written for one array; `optimizer` applies it to
each leaf of the parameters. A state holds the leaves of each array's state in a list of its own,
and the structures beside them, so it is a tree that `jit`, `scan` and `grad` take.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from evertrace._src import errors
from evertrace._src import tree as trees
from evertrace._src.arrays.array import Array
from evertrace._src.doors import doors_for_results
from evertrace._src.numpy import products, ufuncs
from evertrace._src.numpy.elementary import real, where
from evertrace._src.support import set_module, unzip2

T = TypeVar("T")

public = set_module("evertrace.example_libraries.optimizers")


# ---------------------------------------------------------------- states


@public
class OptimizerState(NamedTuple):
    """The state of an optimizer, a node of trees whose children are in `packed_state`.

    Args:
      packed_state: for each leaf of the parameters the list of leaves of its state.
      tree_def: structure of the parameters.
      subtree_defs: for each leaf of the parameters the structure of its state.

    Example:
      >>> opt = ev.example_libraries.optimizers.momentum(0.1, 0.9)
      >>> opt.init_fn({"w": jnp.ones(2)}).packed_state
      ([Array([1., 1.], dtype=float32), Array([0., 0.], dtype=float32)],)
    """

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


trees.register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structures, children: OptimizerState(*children, *structures),
)

Params = Any
State = Any
Updates = Any
Step = int

InitFn = Callable[[Params], OptimizerState]
ParamsFn = Callable[[OptimizerState], Params]
UpdateFn = Callable[[Step, Updates, OptimizerState], OptimizerState]


@public
class Optimizer(NamedTuple):
    """The three functions of an optimizer.

    Args:
      init_fn: ``init_fn(params)`` returns the first state.
      update_fn: ``update_fn(step, grads, state)`` returns the next one; `grads` has the structure
        of the parameters, `step` counts from 0.
      params_fn: ``params_fn(state)`` returns the parameters.

    Example:
      >>> init, update, params = ev.example_libraries.optimizers.sgd(0.5)
      >>> params(update(0, jnp.array([1.0, 2.0]), init(jnp.ones(2))))
      Array([0.5, 0. ], dtype=float32)
    """

    init_fn: InitFn
    update_fn: UpdateFn
    params_fn: ParamsFn


def _check_structure(what, expected, found, fix):
    """Raise an error unless two structures are the same."""
    if found != expected:
        raise errors.user_error(
            TypeError,
            f"optimizer: {what}: expected {expected}, got {found}.",
            fix=fix,
            anchor="tree-structure",
        )


@public
def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Make optimizers of trees from optimizers of one array; a decorator.

    Args:
      opt_maker: returns three functions: ``init(x)`` gives a state, any tree of arrays;
        ``update(step, grad, state)`` another state of that structure; ``get(state)`` gives x.

    Returns:
      A function with the parameters of `opt_maker` that returns an `Optimizer`. Its ``update_fn``
      raises TypeError where gradients have another structure than the parameters, or a state
      changes its structure.

    Example:
      >>> @ev.example_libraries.optimizers.optimizer
      ... def signs(size):
      ...     return lambda x: x, lambda i, g, x: x - size * jnp.sign(g), lambda x: x
      >>> opt = signs(0.5)
      >>> opt.params_fn(opt.update_fn(0, {"w": -3.0}, opt.init_fn({"w": 1.0})))
      {'w': Array(1.5, dtype=float32, weak_type=True)}
    """

    @doors_for_results
    @functools.wraps(opt_maker)
    def tree_opt_maker(*args, **kwargs):
        init, update, get = opt_maker(*args, **kwargs)

        def init_fn(params):
            leaves, tree_def = trees.flatten(params)
            packed, structures = unzip2(trees.flatten(init(x)) for x in leaves)
            return OptimizerState(tuple(packed), tree_def, tuple(structures))

        def update_fn(step, grads, opt_state):
            gradients, found = trees.flatten(grads)
            _check_structure(
                "gradients must have the structure of the parameters",
                opt_state.tree_def,
                found,
                "differentiate by what `params_fn` returns.",
            )
            packed = []
            structures = opt_state.subtree_defs
            for grad, state, structure in zip(
                gradients, _states(opt_state), structures, strict=True
            ):
                new_leaves, new_structure = trees.flatten(update(step, grad, state))
                _check_structure(
                    "an update must keep the structure of the state",
                    structure,
                    new_structure,
                    f"let the update in `{opt_maker.__name__}` return what its init returns.",
                )
                packed.append(new_leaves)
            return opt_state._replace(packed_state=tuple(packed))

        def params_fn(opt_state):
            return opt_state.tree_def.unflatten(get(state) for state in _states(opt_state))

        return Optimizer(init_fn, update_fn, params_fn)

    return tree_opt_maker


def _states(opt_state):
    """Return the state of each leaf of the parameters."""
    packed, _, structures = opt_state
    return [
        structure.unflatten(leaves) for leaves, structure in zip(packed, structures, strict=True)
    ]


# ---------------------------------------------------------------- trees of gradients


@public
def l2_norm(tree: Any) -> Array:
    """Return the root of the sum of the squared absolute values of all elements.

    Args:
      tree: tree of arrays.

    Returns:
      A scalar, real (in JAX complex where a leaf is); of an empty tree 0.

    Example:
      >>> ev.example_libraries.optimizers.l2_norm({"w": jnp.array([3.0, 0.0]), "b": 4.0})
      Array(5., dtype=float32)
    """
    return ufuncs.sqrt(sum(real(products.vdot(x, x)) for x in trees.leaves(tree)))


@public
def clip_grads(grad_tree: T, max_norm: Any) -> T:
    """Return gradients scaled down to a norm of `max_norm`, where theirs is greater.

    Args:
      grad_tree: tree of arrays.
      max_norm: scalar.

    Returns:
      A tree of arrays like `grad_tree`.

    Example:
      >>> ev.example_libraries.optimizers.clip_grads([jnp.array([3.0, 4.0])], 1.0)
      [Array([0.6, 0.8], dtype=float32)]
    """
    norm = l2_norm(grad_tree)
    return trees.map(lambda g: where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


# ---------------------------------------------------------------- states as trees


@public
class JoinPoint:
    """A leaf that holds the state of one leaf of the parameters.

    Args:
      subtree: that state.

    Example:
      >>> list(ev.example_libraries.optimizers.JoinPoint((1.0, 0.0)))
      [(1.0, 0.0)]
    """

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Any:
        """Give the subtree, as what looks at trees by iteration expects."""
        yield self.subtree


@public
def unpack_optimizer_state(opt_state: Any) -> Any:
    """Return a state as a tree like the parameters, to be stored.

    Args:
      opt_state: an `OptimizerState`.

    Returns:
      A tree of `JoinPoint`, each of which holds the state of one leaf.

    Example:
      >>> optimizers = ev.example_libraries.optimizers
      >>> state = optimizers.momentum(0.1, 0.9).init_fn({"w": jnp.float32(1.0)})
      >>> optimizers.unpack_optimizer_state(state)["w"].subtree
      (Array(1., dtype=float32), Array(0., dtype=float32))
    """
    return opt_state.tree_def.unflatten(JoinPoint(state) for state in _states(opt_state))


@public
def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """Return the state of which `unpack_optimizer_state` gave a tree.

    Args:
      marked_pytree: tree of `JoinPoint`.

    Returns:
      An `OptimizerState`.

    Raises:
      TypeError: a leaf is something else.

    Example:
      >>> optimizers = ev.example_libraries.optimizers
      >>> marked = {"w": optimizers.JoinPoint((jnp.float32(1.0), jnp.float32(0.0)))}
      >>> optimizers.momentum(0.1, 0.9).params_fn(optimizers.pack_optimizer_state(marked))
      {'w': Array(1., dtype=float32)}
    """
    points, tree_def = trees.flatten(marked_pytree)
    for point in points:
        if not isinstance(point, JoinPoint):
            raise errors.user_error(
                TypeError,
                "pack_optimizer_state: every leaf must be a JoinPoint, got "
                f"{type(point).__name__}.",
                fix="pass a tree that `unpack_optimizer_state` returned.",
                anchor="tree-structure",
            )
    packed, structures = unzip2(trees.flatten(point.subtree) for point in points)
    return OptimizerState(tuple(packed), tree_def, tuple(structures))
