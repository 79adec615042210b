"""Tracing one call of a function into a jaxpr."""

from typing import Any, NamedTuple

from evertrace._src import errors, tree
from evertrace._src.arrays.interop import as_operand
from evertrace._src.core.jaxpr import Jaxpr
from evertrace._src.core.tracer import Tracer
from evertrace._src.transforms.staging import stage_open


class Captured(NamedTuple):
    """A traced call.

    Attributes:
      jaxpr: captured values are its constvars, the call's leaves its inputs.
      consts: the captured values.
      out_tree: treedef of the result.
    """

    jaxpr: Jaxpr
    consts: list
    out_tree: Any

    @property
    def depends_on_trace(self):
        """Whether it captured tracers, and so is good for this one call only."""
        return any(isinstance(x, Tracer) for x in self.consts)


def capture(fun, signature, call, avals, name):
    """Trace ``fun`` on the arguments of `call`, with avals in place of its leaves."""
    out_tree = None

    def flat_fun(*leaves):
        nonlocal out_tree
        args, kwargs = signature.unflatten(call, leaves)
        outs, out_tree = flatten_result(fun(*args, **kwargs), name)
        return outs

    names = signature.leaf_names(call)
    jaxpr, consts = stage_open(flat_fun, avals, name=name, names=names)
    return Captured(jaxpr, consts, out_tree)


def flatten_result(result, name):
    """Return a function's result as flat operands and their treedef."""
    leaves, treedef = tree.flatten(result)
    try:
        return [as_operand(x) for x in leaves], treedef
    except TypeError:
        raise _bad_result(result, name) from None


def _bad_result(result, name):
    for path, leaf in tree.flatten_with_path(result)[0]:
        try:
            as_operand(leaf)
        except TypeError:
            return errors.user_error(
                TypeError,
                f"{name}: the function returned a {type(leaf).__name__} at result"
                f"{tree.keystr(path)}, which is not an array.",
                fix="return arrays, scalars, or trees of them.",
                anchor="not-an-array",
            )
    return TypeError(f"{name}: the result holds a value that is not an array")


def function_name(fun):
    """Return the name of a callable for people."""
    while hasattr(fun, "func"):  # partial
        fun = fun.func
    return getattr(fun, "__name__", None) or type(fun).__name__
