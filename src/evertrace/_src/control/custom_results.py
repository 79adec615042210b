"""Further results of functions with custom rules, for who derives such a function from another.

A function that returns something beside its results needs rules that know of it. The user's rules
compute none of it: what they leave out is given by `extra`, a function of nothing that returns
arrays, and nothing depends on it.
"""

from evertrace._src.control.custom_jvp import custom_jvp_call_p
from evertrace._src.control.custom_vjp import custom_vjp_call_p
from evertrace._src.control.custom_vmap import custom_vmap_call_p


def _pad_jvp(params, extra):
    def jvp(primals, tangents):
        outs, out_tangents = params["jvp"](primals, tangents)
        return [*outs, *extra()], [*out_tangents, *[None] * len(extra())]

    return {"jvp": jvp}


def _pad_vjp(params, extra):
    def fwd(*args):
        outs, residuals = params["fwd"](*args)
        return [*outs, *extra()], residuals

    def bwd(residuals, cts):
        return params["bwd"](residuals, cts[: len(cts) - len(extra())])

    return {"fwd": fwd, "bwd": bwd}


def _pad_vmap(params, extra):
    def rule(size, batched, args):
        outs, out_batched = params["rule"](size, batched, args)
        return [*outs, *extra()], [*out_batched, *[False] * len(extra())]

    return {"rule": rule}


PADDED = {
    custom_jvp_call_p: _pad_jvp,
    custom_vjp_call_p: _pad_vjp,
    custom_vmap_call_p: _pad_vmap,
}
"""By primitive, ``(params, extra) -> params`` of rules that return `extra` as further results."""
