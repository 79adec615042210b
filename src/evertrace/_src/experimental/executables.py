"""Compiled functions as bytes: for another process with the same devices and the same XLA.

The bytes hold XLA's executable, and how its parameters and results belong to the arguments and
results of the function. What is loaded is a traced function whose one equation is the executable.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from evertrace._src import errors, tree
from evertrace._src.api.tracing import jit
from evertrace._src.arrays.array import Array, from_host
from evertrace._src.control.exported import PortableProgram, call_exported_p
from evertrace._src.core.aval import ShapeDtypeStruct
from evertrace._src.engines import runtime
from evertrace._src.engines.xla.executable import revive
from evertrace._src.engines.xla.lower import physical_aval
from evertrace._src.export.container import (
    COMPILED,
    aval_from_json,
    aval_to_json,
    pack,
    refused,
    unpack,
)
from evertrace._src.export.hostile import MalformedError, check_compiled
from evertrace._src.jit.program import Program
from evertrace._src.jit.stages import Compiled
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.serialize_executable")


def _error(cls, what, fix):
    return errors.user_error(cls, what, fix=fix, anchor="export")


@public
def serialize(compiled: Any) -> tuple[bytes, Any, Any]:
    """Return a compiled function as bytes, and the trees of its arguments and results.

    XLA's code is written, whichever engine runs the function here.

    Args:
      compiled: what ``jit(f).lower(...).compile()`` returned.

    Returns:
      ``(bytes, in_tree, out_tree)``, the arguments of `deserialize_and_load`. Arrays that the
      function captured are among the bytes; trees may hold classes, so they are left to the caller.

    Raises:
      TypeError: it is given something else.
      ValueError: the program calls Python functions back.

    Example:
      >>> from evertrace.experimental import serialize_executable
      >>> compiled = ev.jit(lambda x: 2 * x).lower(jnp.ones(3)).compile()
      >>> data, in_tree, out_tree = serialize_executable.serialize(compiled)
      >>> loaded = serialize_executable.deserialize_and_load(data, in_tree, out_tree)
      >>> loaded(jnp.arange(3.0))
      Array([0., 2., 4.], dtype=float32)
    """
    if not isinstance(compiled, Compiled):
        raise _error(
            TypeError,
            f"serialize: expected a compiled function, got {type(compiled).__name__}.",
            "compile it first, by `jit(f).lower(...).compile()`.",
        )
    program, executable, consts = compiled._program, compiled._executable, compiled._variant.consts
    if executable.calls_back:
        raise _error(
            ValueError,
            f"serialize: {program.name} calls Python functions back.",
            "take the callbacks (`debug.print` is one) out of it.",
        )
    # What a result or a parameter of the program can be, by number: captured arrays and literals,
    # then the arguments.
    literals = [x for kind, x in program.sources if kind == "literal"]
    arrays = [*consts, *[Array(x.aval, np.asarray(x.val)) for x in literals]]
    n, literal_numbers = len(consts), itertools.count(len(consts))
    numbers = [*range(n), *range(len(arrays), len(arrays) + len(program.whole.invars) - n)]
    outputs = [
        ["computed", x]
        if kind == "computed"
        else ["given", numbers[x[0]] if kind == "input" else next(literal_numbers)]
        for kind, x in program.sources
    ]
    description = {
        "name": program.name,
        "outputs": outputs,
        "parameters": [numbers[i] for i in program.kept],
        "in_avals": _to_json(program.whole.in_avals[n:]),
        "out_avals": _to_json(program.out_avals),
        "raw_avals": _to_json(executable.output_avals),
        "arrays": _to_json(x.aval for x in arrays),
        "donated": [i - n for i in program.donated],
    }
    contents = [np.ascontiguousarray(x._contents()).tobytes() for x in arrays]
    data = pack(
        description, [executable.serialize(), executable.input_text.encode(), *contents], COMPILED
    )
    return bytes(data), compiled.in_tree, compiled.out_tree


def _to_json(avals):
    return list(map(aval_to_json, avals))


@public
def deserialize_and_load(
    serialized: Any, in_tree: Any, out_tree: Any, backend: Any = None, execution_devices: Any = None
) -> Compiled:
    """Return the compiled function that `serialize` wrote.

    Only load what you trust: an executable is machine code.

    Args:
      serialized: the bytes.
      in_tree: as `serialize` returned it.
      out_tree: likewise.
      backend: must be None; a device says which it is.
      execution_devices: a sequence of the one device to run on, which has to be of the kind that
        the function was compiled for; by default the default device.

    Returns:
      A `Compiled`.

    Raises:
      ValueError: the bytes are others or damaged, or there is not one device.
      evertrace.errors.JaxRuntimeError: XLA cannot load them here: it is another version, or another
        device.

    Example:
      >>> from evertrace.experimental.serialize_executable import deserialize_and_load, serialize
      >>> compiled = ev.jit(jnp.sin).lower(jnp.ones(2)).compile()
      >>> deserialize_and_load(*serialize(compiled))(jnp.zeros(2))
      Array([0., 0.], dtype=float32)
    """
    if backend is not None or (execution_devices is not None and len(execution_devices) != 1):
        raise _error(
            ValueError,
            "deserialize_and_load: a program is loaded for one device.",
            "leave out `backend`, and pass the device as `execution_devices=[device]`.",
        )
    description, avals, arrays, raw, text = _read(serialized)
    for what, of, expected in (
        ("in_tree", in_tree, len(avals["in_avals"])),
        ("out_tree", out_tree, len(description["outputs"])),
    ):
        _check_tree(what, of, expected)
    parameters = description["parameters"]
    opaque = PortableProgram(description["name"], (), (), (), tuple(avals["out_avals"]))

    def loaded(*args, **kwargs):
        given = [*arrays, *tree.leaves((args, kwargs))]
        computed = call_exported_p.bind(*[given[i] for i in parameters], program=opaque)
        sources = {"given": given, "computed": computed}
        return tree.unflatten(out_tree, [sources[kind][i] for kind, i in description["outputs"]])

    loaded.__name__ = description["name"]
    args, kwargs = tree.unflatten(in_tree, map(_struct, avals["in_avals"]))
    device = execution_devices[0] if execution_devices else runtime.default_device()
    jitted: Any = jit(loaded, device=device)
    traced = jitted.trace(*args, **kwargs)
    n = len(traced._variant.consts)
    donated = tuple(n + i for i in description["donated"])
    program = Program(traced._variant.program.whole, opaque.name, donated=donated, device=device)
    if len(program.kept) != len(parameters):
        raise refused(COMPILED, "have an argument that nothing reads")
    program.by_xla().executables[device] = revive(
        raw, text, device=device, output_avals=avals["raw_avals"]
    )
    return Compiled(traced._variant, traced._call, traced._signature, program)


def _read(serialized):
    """Return description, types, captured arrays, executable and text; all but the code checked."""
    description, programs = unpack(serialized, COMPILED)
    try:
        check_compiled(description, programs)
        avals = {name: list(map(aval_from_json, description[name])) for name in _AVALS}
        for aval, raw in zip(avals["out_avals"], avals["raw_avals"], strict=True):
            if physical_aval(aval) != (raw.shape, raw.dtype):
                raise MalformedError("the type of a result")
        raw, text, *contents = programs
        arrays = [_array(data, aval) for data, aval in zip(contents, avals["arrays"], strict=True)]
        return description, avals, arrays, raw, text.decode()
    except (MalformedError, UnicodeDecodeError) as error:
        raise refused(COMPILED, f"do not describe a function ({error})") from None


def _check_tree(name, structure, leaves):
    """Check that a tree is one, and has a leaf for each argument or result."""
    if not isinstance(structure, tree.PyTreeDef) or structure.num_leaves != leaves:
        found = getattr(structure, "num_leaves", type(structure).__name__)
        raise _error(
            ValueError,
            f"deserialize_and_load: {leaves} arrays belong to {name}, which has {found}.",
            "pass the trees that `serialize` returned with these bytes.",
        )


_AVALS = ("in_avals", "out_avals", "raw_avals", "arrays")


def _struct(aval):
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


def _array(data, aval):
    shape, dtype = physical_aval(aval)
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise MalformedError("the bytes of an array")
    return from_host(np.frombuffer(data, dtype).reshape(shape), aval)
