"""Exported programs are XLA's. That this is known here keeps all other rules from being loaded."""

from evertrace._src.control.exported import call_exported_p
from evertrace._src.engines.native.emit import NotNative, emission


@emission.define(call_exported_p)
def _call_exported(e, eqn, xs):
    raise NotNative("call_exported has no native kernel")
