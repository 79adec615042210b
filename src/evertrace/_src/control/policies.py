"""Policies of `checkpoint`: which values are kept, and programs split by them.

A policy is a function ``(primitive, *avals of the operands, **params)`` that says of an operation
whether its results are kept: `Saveable` (or True), `Recompute` (or False), or an `Offloadable`.
"""

import types
from typing import Any, NamedTuple

from evertrace._src.control.bodies import unused, with_zeros
from evertrace._src.control.call import jit_p
from evertrace._src.control.cond import cond_p
from evertrace._src.control.scan import scan_p, stacked
from evertrace._src.core.factors import pointwise
from evertrace._src.core.primitive import JOINTLY, Primitive
from evertrace._src.ops.conv import conv_general_dilated_p
from evertrace._src.ops.dot import dot_general_p
from evertrace._src.ops.structural import move_batch_dim
from evertrace._src.support import set_module
from evertrace._src.transforms.staging import close_jaxpr


def _name_batch(size, args, dims, *, name):
    """Examples are in front, so that who asks for the values by name knows where."""
    return name_p.bind(move_batch_dim(args[0], dims[0], 0, size), name=name), 0


name_p: Primitive = Primitive(
    "name",
    moves=True,
    factors=pointwise,
    abstract=lambda x, *, name: x,
    host=lambda x, *, name: x,
    linear=JOINTLY,
    jvp=lambda tangents, primals, out, *, name: tangents[0],  # the name is the value's alone
    transpose=lambda ct, x, *, name: [ct],
    batch=_name_batch,
    physical=lambda avals, *, name: {"name": name},
)

# ---------------------------------------------------------------- answers


class _Answer:
    """One of the answers of a policy that say nothing more."""

    name: Any

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


Saveable: _Answer = _Answer("Saveable")
Recompute: _Answer = _Answer("Recompute")


@set_module("evertrace.ad_checkpoint")
class Offloadable(NamedTuple):
    """The answer of a policy that a value may be kept in another memory.

    There is one memory here: the value is kept where it is.

    Attributes:
      src: the memory that it is in, such as ``"device"``.
      dst: the memory that it would wait in, such as ``"pinned_host"``.

    Example:
      >>> from evertrace.ad_checkpoint import Offloadable
      >>> Offloadable(src="device", dst="pinned_host")
      Offloadable(src='device', dst='pinned_host')
    """

    src: str
    dst: str


def _keeps(policy, eqn):
    """Whether a policy keeps the results of an equation."""
    found = policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
    return found is Saveable or (found is not Recompute and bool(found))


# ---------------------------------------------------------------- policies


@set_module("evertrace.checkpoint_policies")
def everything_saveable(*_, **__):
    """Keep all intermediate values, as if there were no checkpoint."""
    return True


@set_module("evertrace.checkpoint_policies")
def nothing_saveable(*_, **__):
    """Keep nothing but the inputs; the default."""
    return False


@set_module("evertrace.checkpoint_policies")
def dots_saveable(prim, *_, **__):
    """Keep the results of matrix products and convolutions, which cost most to compute again."""
    return prim in (dot_general_p, conv_general_dilated_p)


@set_module("evertrace.checkpoint_policies")
def dots_with_no_batch_dims_saveable(prim, *_, **params):
    """Keep the results of matrix products without batch dims: those of weights, not of scores."""
    return prim is dot_general_p and not any(params["dimension_numbers"][1])


@set_module("evertrace.checkpoint_policies")
def offload_dot_with_no_batch_dims(offload_src, offload_dst):
    """Return a policy that offloads matrix products without batch dims, see `Offloadable`."""

    def policy(prim, *avals, **params):
        keeps = dots_with_no_batch_dims_saveable(prim, *avals, **params)
        return Offloadable(offload_src, offload_dst) if keeps else Recompute

    return policy


def _by_name(answer):
    """Return a policy that asks ``answer(name)`` of values with a `checkpoint_name`."""
    return lambda prim, *_, **params: answer(params["name"]) if prim is name_p else Recompute


@set_module("evertrace.checkpoint_policies")
def save_only_these_names(*names_which_can_be_saved):
    """Return a policy that keeps the values with these names (see `checkpoint_name`) only."""
    return _by_name(frozenset(names_which_can_be_saved).__contains__)


@set_module("evertrace.checkpoint_policies")
def save_any_names_but_these(*names_not_to_save):
    """Return a policy that keeps the values with a name, but for these names."""
    refused = frozenset(names_not_to_save)
    return _by_name(lambda name: name not in refused)


@set_module("evertrace.checkpoint_policies")
def save_anything_except_these_names(*names_not_to_save):
    """Return a policy that keeps all values, but for those with these names."""
    refused = frozenset(names_not_to_save)
    return lambda prim, *_, **params: prim is not name_p or params["name"] not in refused


@set_module("evertrace.checkpoint_policies")
def save_and_offload_only_these_names(
    *, names_which_can_be_saved, names_which_can_be_offloaded, offload_src, offload_dst
):
    """Return a policy that keeps values with names of one set and offloads those of another."""
    saved, offloaded = frozenset(names_which_can_be_saved), frozenset(names_which_can_be_offloaded)
    both = Offloadable(offload_src, offload_dst)
    return _by_name(
        lambda name: Saveable if name in saved else both if name in offloaded else Recompute
    )


@set_module("evertrace.checkpoint_policies")
def save_from_both_policies(policy_1, policy_2):
    """Return a policy that keeps what either of two policies keeps."""

    def policy(prim, *avals, **params):
        first = policy_1(prim, *avals, **params)
        return policy_2(prim, *avals, **params) if first is Recompute or not first else first

    return policy


checkpoint_policies: Any = types.SimpleNamespace(
    checkpoint_dots=dots_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    dots_saveable=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_anything_except_these_names=save_anything_except_these_names,
    save_from_both_policies=save_from_both_policies,
    save_only_these_names=save_only_these_names,
)
"""The policies that `checkpoint` knows, under JAX's names."""


# ---------------------------------------------------------------- programs


def split_saved(jaxpr, policy):
    """Split a program by a policy, the bodies of its calls and scans included.

    Args:
      jaxpr: a jaxpr without constvars.
      policy: the policy.

    Returns:
      A jaxpr that maps the inputs to the outputs and the kept values, and one that maps the inputs
      and the kept values to the outputs again.
    """
    first, again, saved = [], [], []
    for eqn in jaxpr.eqns:
        inside = _split_body(eqn, policy)
        if inside is not None:
            kept = inside[2]
            first.append(inside[0])
            again.append(inside[1])
        else:
            kept = eqn.outvars if _keeps(policy, eqn) else []
            first.append(eqn)
            again += [] if kept else [eqn]
        saved += kept
    names = None if jaxpr.names is None else jaxpr.names + [None] * len(saved)
    return (
        jaxpr.replace(outvars=jaxpr.outvars + saved, eqns=first),
        jaxpr.replace(invars=jaxpr.invars + saved, eqns=again, names=names),
    )


def _split_body(eqn, policy):
    """Split a call, branch or scan; returns both equations and the kept variables.

    Returns None if nothing is kept. A scan returns what each turn keeps as further ys, and reads it
    again as further xs; a branch returns zeros for what the others keep.
    """
    params = eqn.params
    if eqn.primitive is cond_p:
        bodies = [b.jaxpr for b in params["branches"]]
    elif eqn.primitive in (jit_p, scan_p):
        bodies = [params["jaxpr"].jaxpr]
    else:
        return None
    firsts, agains, avals = _aligned([split_saved(body, policy) for body in bodies], bodies)
    if not avals:
        return None
    if eqn.primitive is scan_p:
        avals = [stacked(aval, params["length"]) for aval in avals]
    kept = [unused(aval) for aval in avals]
    return (
        eqn.replace(outvars=eqn.outvars + kept, params=params | _bodies(eqn, firsts)),
        eqn.replace(invars=eqn.invars + kept, params=params | _bodies(eqn, agains)),
        kept,
    )


def _bodies(eqn, jaxprs):
    """Return the params that hold an equation's bodies, with these."""
    closed = tuple(map(close_jaxpr, jaxprs))
    return {"branches": closed} if eqn.primitive is cond_p else {"jaxpr": closed[0]}


def _aligned(pairs, bodies):
    """Give split bodies all of each other's kept values; returns both kinds, and their avals."""
    own = [first.out_avals[len(b.outvars) :] for (first, _), b in zip(pairs, bodies, strict=True)]
    avals = [aval for found in own for aval in found]
    firsts, agains, start = [], [], 0
    for (first, again), body, mine in zip(pairs, bodies, own, strict=True):
        n, end = len(body.outvars), start + len(mine)
        present = [i - start + n if start <= i < end else None for i in range(len(avals))]
        firsts.append(with_zeros(first, [*range(n), *present], [*body.out_avals, *avals]))
        inputs = again.invars[len(body.invars) :]
        before, after = map(unused, avals[:start]), map(unused, avals[end:])
        agains.append(again.replace(invars=[*body.invars, *before, *inputs, *after], names=None))
        start = end
    return firsts, agains, avals
