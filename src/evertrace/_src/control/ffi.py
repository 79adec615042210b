"""Calls of foreign functions: handlers of XLA's foreign function interface, by their names.

Only a compiled program can call one, so an eager call is a program of one operation.
"""

import dataclasses
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.control.scan import bind_scan
from evertrace._src.core import engine
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.effects import NO_EFFECTS, Effect
from evertrace._src.core.primitive import AS_IS, Primitive, undefined
from evertrace._src.ops.callback import batched_operands
from evertrace._src.support import Cache
from evertrace._src.transforms.staging import close_jaxpr, stage

FOREIGN = frozenset({Effect("FFI")})

_programs = Cache("programs of one foreign call", 512)


class Constant:
    """A number or an array as an attribute: equal to one of the same dtype, shape and bytes.

    Python has ``1 == True == 1.0``, and a handler tells them apart.

    Args:
      value: an ndarray.
    """

    __slots__ = ("_key", "value")

    def __init__(self, value):
        self.value = value
        self._key = value.dtype, value.shape, value.tobytes()

    def __eq__(self, other):
        return type(other) is Constant and self._key == other._key

    def __hash__(self):
        return hash(self._key)

    def __repr__(self):
        return repr(self.value if self.value.ndim else self.value[()])


@dataclasses.dataclass(frozen=True)
class Fields:
    """A dictionary as an attribute: pairs of a name and an attribute."""

    items: tuple


def _eager(*args, **params):
    """Compile and run a program of one call."""
    key = (*[x.aval for x in args], *params.values())
    jaxpr = _programs.get(key)
    if jaxpr is None:
        staged = stage(lambda *xs: ffi_call_p.bind(*xs, **params), [x.aval for x in args])
        jaxpr = _programs.put(key, staged.jaxpr)
    return engine.backend().call_jaxpr(close_jaxpr(jaxpr), args, name=params["target_name"])


def _no_tangents(tangents, primals, outs, *, target_name, result_avals, **_):
    """Refuse to push tangents through a handler, unless no result could have one."""
    if any(map(is_inexact, result_avals)):
        raise errors.user_error(
            ValueError,
            f"ffi_call: the derivative of {target_name!r}, a foreign function, is unknown.",
            fix="give the function around it a derivative with `custom_jvp` or `custom_vjp`, or "
            "pass its arguments through `stop_gradient`.",
            anchor="callback-derivative",
        )
    return [None] * len(outs)


def _batch(size, args, dims, *, result_avals, vmap_method, input_output_aliases, **params):
    if vmap_method is None:
        raise errors.user_error(
            NotImplementedError,
            f"ffi_call: vmap needs to know how {params['target_name']!r} treats a batch, and "
            "vmap_method is None.",
            fix='pass vmap_method="sequential" to call it once per example, or "expand_dims" or '
            '"broadcast_all" if it takes leading dimensions.',
            anchor="callback-vmap",
        )
    params["vmap_method"] = vmap_method
    args = batched_operands(vmap_method, size, args, dims)
    if vmap_method.startswith("sequential"):
        params |= {"result_avals": result_avals, "input_output_aliases": input_output_aliases}
        return _one_by_one(size, args, dims, params), [0] * len(result_avals)
    avals = tuple(a.update(shape=(size, *a.shape)) for a in result_avals)
    # The memory of an operand that has no batch cannot become that of a result.
    aliases = tuple((i, o) for i, o in input_output_aliases if dims[i] is not None)
    outs = ffi_call_p.bind(*args, result_avals=avals, input_output_aliases=aliases, **params)
    return outs, [0] * len(outs)


def _one_by_one(size, args, dims, params):
    """Call a handler once per example, in a loop; batched operands have the batch in front."""
    consts = [x for x, d in zip(args, dims, strict=True) if d is None]
    xs = [x for x, d in zip(args, dims, strict=True) if d is not None]

    def call(*values):
        given = iter(values[: len(consts)]), iter(values[len(consts) :])
        return ffi_call_p.bind(*[next(given[d is not None]) for d in dims], **params)

    avals = [x.aval for x in consts] + [x.aval.update(shape=x.aval.shape[1:]) for x in xs]
    unroll = size if params["vmap_method"] == "sequential_unrolled" else 1
    body = stage(call, avals).jaxpr
    return bind_scan(body, consts, [], xs, length=size, reverse=False, unroll=unroll)


ffi_call_p = Primitive(
    "ffi_call",
    multiple_results=True,
    physical=AS_IS,
    eager=_eager,
    jvp=_no_tangents,
    batch=_batch,
    abstract=lambda *avals, result_avals, **_: result_avals,
    effects=lambda *, has_side_effect, **_: FOREIGN if has_side_effect else NO_EFFECTS,
    transpose=undefined("a foreign function is not known to be linear"),
)


def attribute(where, name, value) -> Any:
    """Return an attribute as something hashable: text, `Constant`, `Fields` or a tuple of them.

    Raises:
      TypeError: handlers cannot be given such a thing.
    """
    if isinstance(value, dict):
        return Fields(tuple((k, attribute(where, name, v)) for k, v in value.items()))
    if isinstance(value, tuple | list):
        return tuple(attribute(where, name, v) for v in value)
    if isinstance(value, str | bytes):
        return value.decode() if isinstance(value, bytes) else str(value)
    if isinstance(value, bool):
        return Constant(np.asarray(bool(value)))
    if isinstance(value, int):
        return Constant(np.asarray(int(value), np.int64))
    if isinstance(value, float):
        return Constant(np.asarray(float(value), np.float64))
    if isinstance(value, np.ndarray | np.generic) and np.asarray(value).dtype.kind in "biufV":
        return Constant(np.array(value))
    raise errors.user_error(
        TypeError,
        f"{where}: attribute {name!r} is of type {type(value).__name__}.",
        fix="give Python numbers, text, NumPy numbers and arrays, or tuples or dicts of them; "
        "pass arrays that are computed as arguments.",
        anchor="callback",
    )
