"""Nested calls of jitted functions that stay calls, for the option quick_compile."""

from evertrace._src import tree
from evertrace._src.control.bodies import as_arrays, share_results, stage_body
from evertrace._src.control.call import call
from evertrace._src.control.lifted import RunState
from evertrace._src.core.tracer import Tracer
from evertrace._src.support import merge, partition


def kept_call(fun, args, kwargs, name):
    """Call a function within the trace of another one as an equation of its own.

    What it reads is captured, what it changes an extra output. Traced values in its result have to
    be leaves of a tree, since they become outputs; everything else in the result stays as it is.

    Args:
      fun: the function.
      args: its positional arguments, any objects.
      kwargs: its keyword arguments.
      name: of the function.
    """
    changed, results = RunState(f"jit({name})"), []

    def run():
        leaves, treedef = tree.flatten(fun(*args, **kwargs))
        is_out = [isinstance(x, Tracer) for x in leaves]
        kept, given = partition(is_out, leaves)
        results.append((treedef, is_out, kept))
        return given

    body = stage_body(
        changed.watch(run), tree.structure(()), [], where=f"jit({name})", finish=changed.finish
    )
    outs = as_arrays(call(body.jaxpr, body.captured, name))
    unchanged = dict(zip(map(id, body.jaxpr.invars), body.captured, strict=True))
    outs = [unchanged.get(id(var), out) for var, out in zip(body.jaxpr.outvars, outs, strict=True)]
    outs = share_results(outs, body.jaxpr.outvars)
    ((treedef, is_out, kept),) = results
    count = body.out_tree.num_leaves
    changed.put(outs[count:])
    return tree.unflatten(treedef, merge(is_out, kept, outs[:count]))
