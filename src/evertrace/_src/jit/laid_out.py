"""How what is traced is laid out over a mesh, for those few that ask while they are traced.

Types do not say it, so that a program serves arrays however they lie. Whoever asks makes it a fact
that the trace depends on: the sharding of each input that the answer comes from is guarded.
"""

from typing import Any

from evertrace._src.arrays.array import Array
from evertrace._src.core.divisions import (
    division_of_number,
    open_division,
    over_mesh,
    with_dimensions,
)
from evertrace._src.core.jaxpr import Literal, Var
from evertrace._src.core.placement import Sharding
from evertrace._src.core.propagation import divide
from evertrace._src.core.tracer import Tracer, state
from evertrace._src.ops.sharding_constraint import sharding_constraint_p
from evertrace._src.transforms.batching import BatchTracer
from evertrace._src.transforms.staging import Stage


def sharding_behind(x):
    """Return the sharding over a mesh of an array, also of a traced one; None where it has none.

    Returns:
      The sharding, and whether it is known: not so of what `vmap` is given. What a loop carries
      lies as it does before the first turn.
    """
    while isinstance(x, Tracer):
        inner = x.concrete()
        if inner is None:
            break
        x = inner
    if type(x) is Array:
        return getattr(x, "_sharding", None), True
    if type(x) is Var and isinstance(x._trace, Stage) and not x._trace.closed:
        return _Walk(x._trace).sharding_of(x)
    return None, type(x) is Literal


def sharding_of_type(x):
    """Return `sharding_behind`; of one example of `vmap`, what is left of the batch's."""
    if not isinstance(x, BatchTracer):
        return sharding_behind(x)
    batch, is_known = sharding_of_type(x.value)
    if batch is None:
        return None, is_known
    division = batch.spec_division(x.value.aval.ndim)
    rest = division[: x.dim] + division[x.dim + 1 :]
    return batch.divided(with_dimensions(division, rest)), is_known


def _sharding_behind_input(value) -> tuple[Any, bool]:
    """Return `sharding_behind` of what an input stands for, which may be known to be a sharding."""
    if value is None or isinstance(value, Sharding):
        return value, True
    return sharding_behind(value)


class _Walk:
    """From a variable back through the equations of its stage, to inputs and constants.

    Variables are known by their identity: while they are traced they can be keys of nothing.
    """

    def __init__(self, stage):
        self._makers = {id(v): eqn for eqn in stage.eqns for v in eqn.outvars}
        self._values = {id(v): x for v, x in stage.captured.values() if type(v) is Var}
        self._behind = dict(zip(map(id, stage.invars), stage.behind, strict=False))
        self._known, self._like, self._certain = {}, None, True

    def sharding_of(self, var):
        """Return the sharding of a variable, and whether it is known."""
        self._read(var)
        like = self._like
        return None if like is None else like.divided(self._known[id(var)]), self._certain

    def _read(self, var):
        """Find the division of a variable and of all that it is computed from."""
        todo = [var]
        while todo:
            v = todo[-1]
            eqn = self._makers.get(id(v))
            if id(v) in self._known:
                todo.pop()
            elif eqn is None:
                self._known[id(todo.pop())] = self._source(v)
            elif _is_laid_out_by(eqn):  # whatever it was before
                self._known[id(todo.pop())] = self._division(v, eqn.params["sharding"])
            else:
                before = [x for x in eqn.invars if not self._is_known(x)]
                todo.extend(before)
                if not before:
                    found = self._divided(eqn)
                    self._known.update(zip(map(id, eqn.outvars), found, strict=True))

    def _is_known(self, x):
        return type(x) is Literal or id(x) in self._known

    def _divided(self, eqn):
        """Return the divisions of the results of an equation."""
        if _is_constraint(eqn):
            self._like = self._like or eqn.params["sharding"]
        operands, results = [x.aval for x in eqn.invars], [v.aval for v in eqn.outvars]
        found = None
        if self._like is not None:
            divisions = [
                division_of_number(x.aval, x.val) if type(x) is Literal else self._known[id(x)]
                for x in eqn.invars
            ]
            sizes = self._like.axis_sizes()
            found = divide(eqn.primitive, operands, divisions, results, eqn.params, sizes, eqn.src)
        return [open_division(aval) for aval in results] if found is None else found

    def _source(self, var):
        """Return the division of an input or a constant."""
        lead = 0
        if id(var) in self._values:
            sharding, known = sharding_behind(self._values[id(var)])
        elif id(var) in self._behind:
            value, lead = self._behind[id(var)]
            sharding, known = _sharding_behind_input(value)
        elif state.recorder is not None:
            sharding, known = state.recorder.sharding_of(var)
        else:
            sharding, known = None, False
        self._certain = self._certain and known
        if sharding is None or not hasattr(sharding, "spec_division"):
            return open_division(var.aval)
        return self._division(var, sharding, lead)

    def _division(self, var, sharding, lead=0):
        """Return the division of what lies so, without the dimensions that lead."""
        like = self._like = self._like or sharding
        division = sharding.spec_division(var.aval.ndim + lead)
        division = with_dimensions(division, division[lead:])
        return over_mesh(division, sharding.axis_sizes(), like.axis_sizes())


def _is_constraint(eqn):
    """Whether an equation lays its operand out over a mesh of devices."""
    return eqn.primitive is sharding_constraint_p and eqn.params["sharding"].division(0) is not None


def _is_laid_out_by(eqn):
    if eqn.primitive is not sharding_constraint_p or eqn.params["unconstrained_dims"]:
        return False
    return hasattr(eqn.params["sharding"], "spec_division")
