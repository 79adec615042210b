"""Programs in JAX's calling convention: their calls, and evertrace's programs in it."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from evertrace._src.control.exported import PortableProgram
from evertrace._src.core.aval import ShapedArray, is_inexact
from evertrace._src.engines import runtime
from evertrace._src.export import container, jax_format, symbolic
from evertrace._src.export.jax_format import NO_TANGENT


@dataclasses.dataclass(frozen=True, eq=False)
class JaxCall:
    """How a program that JAX has exported is called.

    Attributes:
      description: what the bytes say of it, as JSON; see `jax_format`.
      ins, outs: type of each argument and result, and whether evertrace has it. It has no
        cotangents of integers, which are booleans in JAX's programs.
    """

    description: Any
    ins: Sequence[tuple[ShapedArray, bool]]
    outs: Sequence[tuple[ShapedArray, bool]]

    @classmethod
    def from_json(cls, description: Any, scope: Any) -> "JaxCall":
        """Return what a description that was checked says."""
        ins = [_from_json(data, scope) for data in description["ins"]]
        return cls(description, ins, [_from_json(data, scope) for data in description["outs"]])

    def filled(self, values: Any) -> "JaxCall":
        """Return the call for values of the variables in its sizes."""

        def fill(pairs):
            return [(symbolic.filled_aval(aval, values), is_ours) for aval, is_ours in pairs]

        return JaxCall(self.description, fill(self.ins), fill(self.outs))

    @property
    def has_effects(self) -> bool:
        """Whether calls are to be kept, and stay in their order."""
        return bool(self.description["ordered_effects"] or self.description["unordered_effects"])

    def adapted(self, program: PortableProgram) -> PortableProgram:
        """Return a program whose one module JAX has written as one that evertrace can call."""
        platforms, said = program.platforms, self.description

        def adapt(blob, place, family):
            exchange = runtime.xla().exchange
            call = exchange.ForeignCall(
                self.ins,
                self.outs,
                said["kept"],
                len(said["ordered_effects"]),
                self.has_effects,
                place if len(platforms) > 1 else None,
                said["needs_refining"],
            )
            return exchange.imported(blob, program.name, call, family)

        modules = program.modules * len(platforms)
        return dataclasses.replace(
            program, modules=modules, adapt=adapt, has_effects=self.has_effects
        )


def _from_json(data, scope):
    shape, dtype, weak_type = data
    if dtype != NO_TANGENT:
        return container.aval_from_json(data, scope), True
    aval = container.aval_from_json([shape, "bool", weak_type], scope)
    return aval, False


# ---------------------------------------------------------------- for JAX


def for_jax(orders: Sequence[Any], descriptions: Sequence[Any]) -> tuple[list[Any], list[bytes]]:
    """Return what `jax_format.pack` takes for an `Exported` and its derivatives.

    JAX's derivatives take a cotangent for each result and return one for each argument: arrays of
    dtype ``float0`` for what is no number that varies.

    Args:
      orders: the function, and the derivatives of each order.
      descriptions: as evertrace's bytes have them.

    Raises:
      NotImplementedError: JAX's format cannot express a program.
    """
    described, programs, ins, outs = [], [], [], []
    for exported, data in zip(orders, descriptions, strict=True):
        if not described:
            ins = [(aval, True) for aval in exported.in_avals]
            outs = [(aval, True) for aval in exported.out_avals]
        else:
            ins, outs = ins + list(map(_cotangent, outs)), list(map(_cotangent, ins))
            leaves = jax_format.flat_tree(len(ins), takes_keywords=True)
            data = {**data, "in_tree": leaves, "out_tree": jax_format.flat_tree(len(outs))}
        if exported._foreign is None:
            data, program = _for_jax(exported, data, ins, outs)
        else:
            program = exported._modules[0]
        described.append(data)
        programs.append(program)
    return described, programs


def _cotangent(pair):
    aval, is_ours = pair
    if is_ours and is_inexact(aval):
        return pair
    return ShapedArray(aval.shape, np.dtype(bool)), False


def _for_jax(exported, data, ins, outs):
    """Return the description and the program of one of evertrace's functions."""
    exchange, scope = runtime.xla().exchange, exported._scope
    axes = () if exported._layout is None else exported._layout.sizes
    given = exchange.Given(exported.fun_name, exported._modules, ins, outs, scope, axes)
    jax = {
        "ins": list(map(_to_json, ins)),
        "outs": list(map(_to_json, outs)),
        "kept": [i for i, (_, is_ours) in enumerate(ins) if is_ours],
        "ordered_effects": [],
        "unordered_effects": [],
        "devices": exported.nr_devices,
        "needs_refining": scope is not None or len(exported.platforms) > 1,
    }
    convention = max(jax_format.CALLING_CONVENTIONS)
    return {**data, "jax": jax, "calling_convention": convention}, exchange.exported(given)


def _to_json(pair):
    aval, is_ours = pair
    shape, dtype, _ = container.aval_to_json(aval)
    return [shape, dtype if is_ours else NO_TANGENT, False]
