"""The process of JAX: exports programs of `tests.export.exchange`, and calls those it is given.

Started by `exchanged_with_jax` with an interpreter that has JAX and `flatbuffers`; the request and
the answer are pickles on the standard streams. Nothing of evertrace is imported here.
"""

import os
import pickle
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import jax.export
from jax._src import core, effects
from jax.interpreters import mlir

from tests.export import exchange


def _ordered_effect():
    """Return a function that has an ordered effect, of a kind that is made here."""

    class Written(effects.Effect):
        """Nothing is written."""

        def __eq__(self, other):
            return isinstance(other, Written)

        def __hash__(self):
            return hash(Written)

    effects.lowerable_effects.add_type(Written)
    effects.ordered_effects.add_type(Written)
    primitive, effect = core.Primitive("written"), Written()
    primitive.def_effectful_abstract_eval(lambda x: (x, {effect}))

    def lower(ctx, x):
        ctx.set_tokens_out(ctx.tokens_in)
        return [x]

    mlir.register_lowering(primitive, lower)
    return lambda module, x: primitive.bind(x) * 2


def _result(ask, *args):
    try:
        return ask(*args)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _export(name):
    program = exchange.EXCHANGED[name]
    exported = exchange.exported(jax, program)
    try:
        found = exchange.results(jax, exported, program)
    except Exception as error:  # not for this platform, say
        found = f"{type(error).__name__}: {error}"
    return bytes(exported.serialize(vjp_order=program.vjp)), found


def _run(name, blob):
    return exchange.results(jax, jax.export.deserialize(bytearray(blob)), exchange.EXCHANGED[name])


def main() -> None:
    """Answer one request: names to export, and name -> bytes to call."""
    answers, sys.stdout = os.fdopen(os.dup(1), "wb"), sys.stderr
    request = pickle.load(sys.stdin.buffer)
    exchange.register(jax)
    exchange._with_effect = _ordered_effect()
    exported = {name: _result(_export, name) for name in request["export"]}
    run = {name: _result(_run, name, blob) for name, blob in request["run"].items()}
    pickle.dump({"export": exported, "run": run}, answers)


if __name__ == "__main__":
    main()
