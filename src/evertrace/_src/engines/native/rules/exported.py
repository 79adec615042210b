"""Exported programs: what they were made of, where this process has exported them."""

from evertrace._src.control.exported import call_exported_p
from evertrace._src.engines.native.emit import NotNative, emission


@emission.define(call_exported_p)
def _call_exported(e, eqn, xs):
    program = eqn.params["program"]
    if program.source is None:
        raise NotNative("call_exported of a program in bytes has no native kernel")
    program.place_for("cpu")  # an error if it may not run here
    jaxpr, arrays = program.source
    return e.inline(jaxpr, (*map(e.constant, arrays), *xs))
