"""In which memory of the devices results are: a kind of memory, beside how they are laid out.

What is computed is in the memory of its operands, which has to be one; `device_put` and
`out_shardings` name another. A CPU has one memory, so that is all that it is there.
"""

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.core.jaxpr import Literal, subjaxprs
from evertrace._src.ops.sharding_constraint import sharding_constraint_p


def in_memory(sharding, kind):
    """Return the sharding in a memory of that kind."""
    return sharding if sharding.memory_kind == kind else sharding.with_memory_kind(kind)


def check_operands(prim, args):
    """Raise if operands of an eager operation are in different memories.

    Args:
      prim: the primitive.
      args: arrays and literals.

    Raises:
      ValueError: they are.
    """
    kinds = [x.sharding.memory_kind if type(x) is Array and x._committed else None for x in args]
    _check(prim, kinds, None)


def of_results(jaxpr, shardings):
    """Return the kind of memory of each result of a program.

    Args:
      jaxpr: the program.
      shardings: of its inputs; None for those that are laid out over no mesh.

    Raises:
      ValueError: operands of an operation are in different memories.
    """
    known = {
        v: s.memory_kind for v, s in zip(jaxpr.invars, shardings, strict=True) if s is not None
    }
    if not _names_another(jaxpr) and set(known.values()) <= {"device"}:
        return ["device"] * len(jaxpr.outvars)

    def read(atom):
        return None if type(atom) is Literal else known.get(atom)

    for eqn in jaxpr.eqns:
        kinds = [read(x) for x in eqn.invars]
        if _puts(eqn):
            kind = eqn.params["sharding"].memory_kind
        elif any([True for _ in subjaxprs(eqn.params)]):
            kind = next((k for k in kinds if k is not None), None)
        else:
            kind = _check(eqn.primitive, kinds, eqn.src)
        known.update([(v, kind) for v in eqn.outvars])
    return [read(x) or "device" for x in jaxpr.outvars]


def _puts(eqn):
    """Whether an equation lays an array out over devices, and so says in which memory."""
    if eqn.primitive is not sharding_constraint_p:
        return False
    sharding = eqn.params["sharding"]
    return sharding is not None and sharding.division(0) is not None


def _names_another(jaxpr):
    """Whether an equation of a program asks for another memory than the ordinary one; kept."""
    if "other memory" not in jaxpr.cache:
        jaxpr.cache["other memory"] = any(
            [_puts(eqn) and eqn.params["sharding"].memory_kind != "device" for eqn in jaxpr.eqns]
        )
    return jaxpr.cache["other memory"]


def _check(prim, kinds, src):
    """Return the kind that all have, None where none is known; raise if there are two."""
    found = [(i, kind) for i, kind in enumerate(kinds) if kind is not None]
    for i, kind in found[1:]:
        first, other = found[0]
        if kind != other:
            raise errors.user_error(
                ValueError,
                f"{prim.name}: operand {first} is in memory {other!r}, operand {i} in {kind!r}.",
                fix="put them in the same one: `device_put(x, "
                "x.sharding.with_memory_kind(y.sharding.memory_kind))`.",
                anchor="devices",
                src=src,
            )
    return found[0][1] if found else None
