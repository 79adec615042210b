"""The bytes of JAX's exported functions, as descriptions like those of `container`.

What JAX writes is a FlatBuffer (its schema is `jax/_src/export/serialization.fbs`) with one
program in it. The program takes more than the arguments, and not all of them: that is in a
description under ``jax``, see `description_of`.
"""

import base64
from typing import Any

from evertrace._src import errors
from evertrace._src.export import flatbuffer
from evertrace._src.export.flatbuffer import MalformedBuffer, Table, Writer

CALLING_CONVENTIONS = (9, 10)
"""JAX's numbers of how its programs take arguments, those that are read; the last is written."""

_WRITTEN_AS = 3
"""The number of the format that JAX's releases write, whatever it is."""

_MOST_LEVELS = 200
_MOST_ORDERS = 64

# The fields of the tables, by their places in the schema.
# fmt: off
(_VERSION, _NAME, _IN_TREE, _IN_AVALS, _OUT_TREE, _OUT_AVALS, _DEVICES_SHORT, _IN_SHARDINGS,
 _OUT_SHARDINGS, _PLATFORMS, _ORDERED, _UNORDERED, _CHECKS, _MODULE, _CONVENTION, _KEPT, _GLOBAL,
 _VJP, _DEVICES, _AVALS, _MESHES, _NAMED, _IN_IDXS, _OUT_IDXS, _IN_SHARDING_IDXS,
 _OUT_SHARDING_IDXS) = range(26)
_KIND, _CHILDREN, _KEYS, _CUSTOM_NAME, _CUSTOM_DATA = range(5)  # of a tree
_SHAPE, _DTYPE, _MEMORY = 1, 2, 3
_KINDS = ("leaf", "none", "tuple", "list", "dict", "custom")
_DTYPES = {
    "bool": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "uint8": 5, "uint16": 6, "uint32": 7,
    "uint64": 8, "float16": 9, "float32": 10, "float64": 11, "complex64": 12, "complex128": 13,
    "bfloat16": 14, "int4": 15, "uint4": 16, "float8_e4m3b11fnuz": 17, "float8_e4m3fn": 18,
    "float8_e4m3fnuz": 19, "float8_e5m2": 20, "float8_e5m2fnuz": 21, "float0": 22,
    "float8_e4m3": 23, "float8_e3m4": 24, "float8_e8m0fnu": 25, "float4_e2m1fn": 26,
}
_KEY_DTYPES = {"threefry2x32": 27, "rbg": 28, "unsafe_rbg": 29}
# fmt: on
_AXIS_TYPES = ("", "Auto", "Explicit", "Manual")
_NAMES: dict[int, Any] = {
    **{number: name for name, number in _DTYPES.items()},
    **{number: ["key", impl] for impl, number in _KEY_DTYPES.items()},
}
NO_TANGENT = "float0"
"""Dtype of cotangents of integers, which evertrace's exported functions do not have."""


def unpack(blob: bytes) -> tuple[list[Any], list[bytes]]:
    """Return the descriptions of an exported function and its derivatives, and their programs.

    Raises:
      MalformedBuffer: JAX has not written it.
    """
    descriptions, programs = [], []
    table: Table | None = flatbuffer.read(blob)
    while table is not None:
        if len(programs) > _MOST_ORDERS:
            raise MalformedBuffer("derivatives without end")
        descriptions.append(_description(table, is_derivative=bool(programs)))
        programs.append(_needed(table.blob(_MODULE), "a program"))
        table = table.table(_VJP)
    return descriptions, programs


def _description(table, is_derivative):
    avals = [_aval(t) for t in table.tables(_AVALS)]
    # Earlier releases have no indices.
    ins = _picked(avals, table.numbers(_IN_IDXS, "I")) or [
        _aval(t) for t in table.tables(_IN_AVALS)
    ]
    outs = _picked(avals, table.numbers(_OUT_IDXS, "I")) or [
        _aval(t) for t in table.tables(_OUT_AVALS)
    ]
    ordered = [_needed(t.text(0), "an effect") for t in table.tables(_ORDERED)]
    unordered = [_needed(t.text(0), "an effect") for t in table.tables(_UNORDERED)]
    found = {
        "name": _needed(table.text(_NAME), "a name"),
        "platforms": table.texts(_PLATFORMS),
        "checks": [_check(t) for t in table.tables(_CHECKS)],
        "calling_convention": table.number(_CONVENTION, "H"),
        "in_tree": _tree(_needed(table.table(_IN_TREE), "a tree"), 0),
        "out_tree": _tree(_needed(table.table(_OUT_TREE), "a tree"), 0),
        "in_avals": [x for x in ins if x[1] != NO_TANGENT],
        "out_avals": [x for x in outs if x[1] != NO_TANGENT],
        "sizes": None,
        "jax": {
            "ins": ins,
            "outs": outs,
            "kept": table.numbers(_KEPT, "H"),
            "ordered_effects": ordered,
            "unordered_effects": unordered,
            "devices": table.number(_DEVICES, "I") or table.number(_DEVICES_SHORT, "h"),
            "needs_refining": bool(table.number(_GLOBAL, "B")),
        },
    }
    if any(isinstance(n, str) for shape, *_ in [*ins, *outs] for n in shape):
        found["sizes"] = {"constraints": [], "least": 1}
    found["layout"] = _layout(table, ins, outs)
    if is_derivative:  # its trees are flat, and leaves without contents are left out
        found["in_tree"] = flat_tree(len(found["in_avals"]), takes_keywords=True)
        found["out_tree"] = flat_tree(len(found["out_avals"]))
    return found


def _layout(table, ins, outs):
    """Return how leaves lie over a mesh, as `placed` has it; None where nothing is said."""
    meshes = [_mesh(t) for t in table.tables(_MESHES)]
    named = [_named_sharding(t, meshes) for t in table.tables(_NAMED)]
    sides, axes = [], None
    for avals, field in ((ins, _IN_SHARDING_IDXS), (outs, _OUT_SHARDING_IDXS)):
        places = table.numbers(field, "I") or [0] * len(avals)
        if len(places) != len(avals) or any(i > len(named) for i in places):
            raise MalformedBuffer("the number of a sharding that there is none of")
        specs = []
        for i, aval in zip(places, avals, strict=True):
            mesh, spec = named[i - 1] if i else (axes, None)
            if axes is not None and mesh != axes:
                raise MalformedBuffer("two meshes, of which one is read")
            axes = mesh
            if aval[1] != NO_TANGENT:
                specs.append(spec)
        sides.append(specs)
    return axes and {"axes": axes, "inputs": sides[0], "outputs": sides[1]}


def _mesh(table):
    kinds = table.numbers(2, "b")
    if any(not 0 < kind < len(_AXIS_TYPES) for kind in kinds):
        raise MalformedBuffer("an axis of a kind that is not known")
    sizes, names = table.numbers(0, "I"), table.texts(1)
    if not len(sizes) == len(names) == len(kinds):
        raise MalformedBuffer("a mesh that is none")
    return [[n, size, _AXIS_TYPES[k]] for n, size, k in zip(names, sizes, kinds, strict=True)]


def _named_sharding(table, meshes):
    """Return the axes of the mesh, and the spec as `placed` has it."""
    mesh, spec = table.number(3, "I"), _needed(table.table(1), "a spec")
    if mesh >= len(meshes):
        raise MalformedBuffer("the number of a mesh that there is none of")
    entries = [t.texts(0) for t in spec.tables(0)]
    return meshes[mesh], [[(e if e[1:] else e[0]) if e else None for e in entries], spec.texts(2)]


def flat_tree(count: int, takes_keywords: bool = False) -> dict[str, Any]:
    """Return the JSON of a tuple of leaves, or of the arguments that it is."""
    leaves = {"kind": "tuple", "children": ["*"] * count}
    if not takes_keywords:
        return leaves
    return {"kind": "tuple", "children": [leaves, {"kind": "dict", "children": [], "keys": []}]}


def _needed(x, what) -> Any:
    if x is None:
        raise MalformedBuffer(f"{what} that is missing")
    return x


def _picked(avals, places):
    if any(i >= len(avals) for i in places):
        raise MalformedBuffer("the number of a type that there is none of")
    return [avals[i] for i in places]


def _aval(table):
    dtype = _NAMES.get(table.number(_DTYPE, "b"))
    if table.number(_KIND, "b") != 0 or dtype is None:
        raise MalformedBuffer("a type that is none of an array")
    shape = [int(n) if n.isascii() and n.isdigit() else n for n in table.texts(_SHAPE)]
    return [shape, dtype, False]


def _check(table):
    kind = table.number(_KIND, "b")
    if kind == 1:
        return f"custom_call:{_needed(table.text(1), 'a target')}"
    if kind != 0:
        raise MalformedBuffer("a safety check that is not known")
    return "platform"


def _tree(table, level):
    """Return the JSON of a tree, as `trees` has it."""
    number = table.number(_KIND, "b")
    if not 0 <= number < len(_KINDS) or level > _MOST_LEVELS:
        raise MalformedBuffer("a tree that is none")
    kind = _KINDS[number]
    if kind == "leaf":
        return "*"
    found = {"kind": kind, "children": [_tree(t, level + 1) for t in table.tables(_CHILDREN)]}
    if kind == "dict":
        found["keys"] = table.texts(_KEYS)
    if kind == "custom":
        found["name"] = _needed(table.text(_CUSTOM_NAME), "the name of a type")
        found["aux"] = base64.b64encode(table.blob(_CUSTOM_DATA) or b"").decode()
    return found


# ---------------------------------------------------------------- writing


def pack(descriptions: list[Any], programs: list[bytes]) -> bytearray:
    """Return the bytes of descriptions like those that `unpack` returns, and of their programs.

    Raises:
      ValueError: a type or an effect is none that JAX's format has.
    """
    writer, table = Writer(), None
    for data, program in reversed(list(zip(descriptions, programs, strict=True))):
        table = _write(writer, data, program, table)
    assert table is not None
    return writer.finished(table)


def _write(w, data, program, vjp):
    """Write an exported function; returns its place."""
    jax = data["jax"]
    avals = [_write_aval(w, x, data["name"]) for x in [*jax["ins"], *jax["outs"]]]
    ins, outs = range(len(jax["ins"])), range(len(jax["ins"]), len(avals))
    fields = {
        _VERSION: ("H", _WRITTEN_AS),
        _NAME: w.text(data["name"]),
        _IN_TREE: _write_tree(w, data["in_tree"]),
        _IN_AVALS: w.vector(avals[: len(ins)]),
        _OUT_TREE: _write_tree(w, data["out_tree"]),
        _OUT_AVALS: w.vector(avals[len(ins) :]),
        _PLATFORMS: w.vector([w.text(p) for p in data["platforms"]]),
        _ORDERED: w.vector([w.table({0: w.text(e)}) for e in jax["ordered_effects"]]),
        _UNORDERED: w.vector([w.table({0: w.text(e)}) for e in jax["unordered_effects"]]),
        _CHECKS: w.vector([_write_check(w, check) for check in data["checks"]]),
        _MODULE: w.blob(program),
        _CONVENTION: ("H", data["calling_convention"]),
        _KEPT: w.numbers("H", jax["kept"]),
        _GLOBAL: ("B", jax["needs_refining"]),
        _DEVICES: ("I", jax["devices"]),
        _AVALS: w.vector(avals),
        **_write_layout(w, data),
        _IN_IDXS: w.numbers("I", ins),
        _OUT_IDXS: w.numbers("I", outs),
    }
    if vjp is not None:
        fields[_VJP] = vjp
    return w.table(fields)


def _write_aval(w, data, name):
    shape, dtype, _ = data
    number = _KEY_DTYPES.get(dtype[1]) if isinstance(dtype, list) else _DTYPES.get(dtype)
    if number is None:
        raise errors.user_error(
            ValueError,
            f"serialize: {name} takes or returns an array of dtype {dtype}, which JAX's format "
            f"does not have.",
            fix="convert it inside of the function that is exported, or write evertrace's format.",
            anchor="export",
        )
    sizes = w.vector([w.text(str(n)) for n in shape])
    return w.table({_KIND: ("b", 0), _SHAPE: sizes, _DTYPE: ("b", number), _MEMORY: ("b", 1)})


def _write_layout(w, data):
    """Write how leaves lie; returns the fields of it."""
    layout, jax = data.get("layout"), data["jax"]
    if layout is None:
        layout = {"axes": [], "inputs": [None] * len(data["in_avals"])}
        layout["outputs"] = [None] * len(data["out_avals"])
    named, mesh = [], [_write_mesh(w, layout["axes"])] if layout["axes"] else []
    places = {}
    for name, side, field in (
        ("ins", "inputs", _IN_SHARDING_IDXS),
        ("outs", "outputs", _OUT_SHARDING_IDXS),
    ):
        given, indices = iter(layout[side]), []
        for aval in jax[name]:
            spec = None if aval[1] == NO_TANGENT else next(given, None)
            if spec is not None:
                named.append(w.table({1: _write_spec(w, spec), 3: ("I", 0)}))
            indices.append(0 if spec is None else len(named))
        places[field] = w.numbers("I", indices)
    return {_MESHES: w.vector(mesh), _NAMED: w.vector(named), **places}


def _write_mesh(w, axes):
    return w.table(
        {
            0: w.numbers("I", [size for _, size, _ in axes]),
            1: w.vector([w.text(name) for name, _, _ in axes]),
            2: w.numbers("b", [_AXIS_TYPES.index(kind) for _, _, kind in axes]),
        }
    )


def _write_spec(w, spec):
    entries, unreduced = spec
    names = [[] if e is None or e is True else e if isinstance(e, list) else [e] for e in entries]
    axes = [w.table({0: w.vector([w.text(n) for n in part])}) for part in names]
    return w.table(
        {
            0: w.vector(axes),
            1: w.vector([]),
            2: w.vector([w.text(n) for n in unreduced]),
        }
    )


def _write_check(w, check):
    kind, _, target = check.partition(":")
    if kind == "custom_call":
        return w.table({0: ("b", 1), 1: w.text(target)})
    return w.table({0: ("b", 0)})


def _write_tree(w, data):
    if data == "*":
        return w.table({_KIND: ("b", 0)})
    fields: dict[int, Any] = {_KIND: ("b", _KINDS.index(data["kind"]))}
    if data["children"]:
        fields[_CHILDREN] = w.vector([_write_tree(w, child) for child in data["children"]])
    if data["kind"] == "dict":
        fields[_KEYS] = w.vector([w.text(key) for key in data["keys"]])
    if data["kind"] == "custom":
        fields[_CUSTOM_NAME] = w.text(data["name"])
        fields[_CUSTOM_DATA] = w.blob(base64.b64decode(data["aux"]))
    return w.table(fields)
