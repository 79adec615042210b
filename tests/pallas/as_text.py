"""Functions of arrays whose kernels are run by their text in Triton's language, by NumPy."""

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.core.jaxpr import Literal
from evertrace._src.pallas.call import pallas_call_p
from evertrace._src.pallas.gpu.kernel import triton_text
from tests.pallas import triton_evaluator


def run_as_text(fun, *args):
    """Return what a function of arrays gives if each of its kernels is run by its text."""
    closed = ev.make_jaxpr(fun)(*args)
    leaves = ev.tree_util.tree_leaves(args)
    outs = _run(closed.jaxpr, [*closed.consts, *map(np.asarray, leaves)])
    return ev.tree_util.tree_unflatten(ev.tree_util.tree_structure(ev.eval_shape(fun, *args)), outs)


def _run(jaxpr, values):
    env = dict(zip(map(id, [*jaxpr.constvars, *jaxpr.invars]), values, strict=True))
    for eqn in jaxpr.eqns:
        xs = [v.val if type(v) is Literal else env[id(v)] for v in eqn.invars]
        if eqn.primitive is pallas_call_p and all(eqn.params["grid"].sizes):
            outs = run_kernel(eqn.params, xs)
        elif eqn.primitive.name == "jit":
            outs = _run(eqn.params["jaxpr"].jaxpr, xs)
        else:
            outs = eqn.primitive.bind(*map(jnp.asarray, xs), **eqn.params)
            outs = outs if eqn.primitive.multiple_results else [outs]
        env.update(zip(map(id, eqn.outvars), outs, strict=True))
    return [v.val if type(v) is Literal else env[id(v)] for v in jaxpr.outvars]


def run_kernel(params, operands):
    """Run the text of a kernel, its programs in an order that is none; returns the outputs."""
    grid, count = params["grid"], params["grid"].num_captured
    operands = [np.array(x) for x in operands]
    captured = [jnp.asarray(x).aval for x in operands[:count]]
    text = triton_text(params["jaxpr"].jaxpr, grid, captured, params["name"])
    outs = [np.full(b.aval.shape, _other(b.aval.dtype), b.aval.dtype) for b in grid.outputs]
    for i, o in grid.aliases:
        outs[o] = operands[count + i].copy()
    begins = [outs[o] for _, o in grid.aliases]
    memory = [_memory(x) for x in [*operands, *begins, *outs]]
    order = np.random.default_rng(1).permutation(text.programs)
    triton_evaluator.run(text.ir, memory, text.programs, order)
    return outs


def _memory(x):
    """Return an array as a kernel sees it: in one dimension, booleans as bytes."""
    x = x.reshape(-1)
    assert x.base is not None
    if x.dtype == np.bool_:
        return x.view(np.int8)
    return x.view(f"i{x.dtype.itemsize}") if x.dtype.kind == "u" else x


def _other(dtype):
    return 77 if np.dtype(dtype).kind in "iufV" else True
