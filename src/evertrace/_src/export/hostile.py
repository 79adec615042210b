"""Bytes that somebody else may have written: what can be checked of them before they are used.

The digest of a container tells damage, not malice: whoever forges bytes computes it anew. So the
description is compared with what `Exported.serialize` can have written. Programs are XLA's own
bytes, whose reader takes them on trust; `read_elsewhere` has a process of their own read them.
"""

import base64
import binascii
import sys
from typing import Any, cast

from evertrace._src import dtypes, errors
from evertrace._src.control.exported import FAMILIES
from evertrace._src.export import container, jax_format
from evertrace._src.export.flatbuffer import MalformedBuffer
from evertrace._src.export.jax_format import NO_TANGENT
from evertrace._src.lazy import LazyModule

json: Any = LazyModule("json")
subprocess: Any = LazyModule("subprocess")

_KINDS = ("tuple", "list", "dict", "none", "custom")
_MOST_LEVELS = 200  # of trees
_LARGEST = 1 << 62
_LONGEST = 1000  # texts of sizes


class MalformedError(Exception):
    """What a description has that nobody wrote so; says what."""


def unpacked(blob: Any) -> tuple[list[Any], list[bytes]]:
    """Return what bytes of evertrace or of JAX hold: checked descriptions, and programs.

    Raises:
      ValueError: neither has written them.
      TypeError: they are no bytes.
    """
    if isinstance(blob, bytes | bytearray | memoryview) and not container.is_ours(blob):
        try:
            descriptions, programs = jax_format.unpack(bytes(blob))
        except MalformedBuffer as error:
            why = f"are not those of an exported function: in JAX's format they have {error}"
            raise container.refused(container.EXPORTED, why) from None
    else:
        descriptions, programs = container.unpack(blob)
    try:
        check_description(descriptions, programs)
    except MalformedError as error:
        why = f"are not those of an exported function, which has {error} where they have none"
        raise container.refused(container.EXPORTED, why) from None
    return descriptions, programs


def check_description(descriptions, programs):
    """Check what JSON holds of an exported function and its derivatives.

    Raises:
      MalformedError: `Exported.serialize` has not written it.
    """
    _expect(_is_list(descriptions) and descriptions, "a list of programs")
    for data in descriptions:
        _expect(isinstance(data, dict), "a description")
        _expect(isinstance(data.get("name"), str), "a name")
        _expect(type(data.get("calling_convention")) is int, "a calling convention")
        platforms, checks = data.get("platforms"), data.get("checks")
        known = _is_list(platforms) and platforms and all(_is_text(p) for p in platforms)
        _expect(known and set(platforms) <= set(FAMILIES), "platforms")
        _expect(_is_list(checks) and all(map(_is_text, checks)), "checks")
        is_symbolic = _check_sizes(data.get("sizes"))
        _check_layout(data)
        for avals, structure in (("in_avals", "in_tree"), ("out_avals", "out_tree")):
            _expect(_is_list(data.get(avals)), "types")
            for aval in data[avals]:
                _check_aval(aval, is_symbolic)
            leaves = _count_leaves(data.get(structure), 0)
            has_custom = leaves is None  # how many leaves these have is up to the user's code
            _expect(has_custom or leaves == len(data[avals]), "a type for each leaf")
        if data.get("jax") is not None:
            _check_jax(data, is_symbolic)
    _expect(sum(map(modules_of, descriptions)) == len(programs), "so many programs")


def modules_of(data):
    """Return how many programs belong to a description: JAX writes one for all platforms."""
    return len(data["platforms"]) if data.get("jax") is None else 1


def _check_jax(data, is_symbolic):
    """Check how a program of JAX's is called."""
    jax = data["jax"]
    _expect(isinstance(jax, dict), "a call of JAX's")
    for name, ours in (("ins", "in_avals"), ("outs", "out_avals")):
        _expect(_is_list(jax.get(name)), "types")
        for aval in jax[name]:
            _check_aval(aval, is_symbolic, dtypes_too=(NO_TANGENT,))
        _expect([x for x in jax[name] if x[1] != NO_TANGENT] == data[ours], "these types")
    _expect(_are_places(jax.get("kept"), len(jax["ins"])), "the arguments that are kept")
    for name in ("ordered_effects", "unordered_effects"):
        _expect(_is_list(jax.get(name)) and all(map(_is_text, jax[name])), "effects")
    _expect(type(jax.get("devices")) is int and jax["devices"] > 0, "devices")
    _expect(type(jax.get("needs_refining")) is bool, "a program")


def check_compiled(data, contents):
    """Check what JSON holds of a compiled function: which array each number means.

    Args:
      data: the description.
      contents: the bytes: of the executable, its text, and of the captured arrays.

    Raises:
      MalformedError: `serialize` has not written it.
    """
    _expect(isinstance(data, dict) and isinstance(data.get("name"), str), "a description")
    for name in ("in_avals", "out_avals", "raw_avals", "arrays"):
        _expect(_is_list(data.get(name)), "types")
        for aval in data[name]:
            _check_aval(aval)
    inputs, captured = len(data["in_avals"]), len(data["arrays"])
    _expect(len(contents) == 2 + captured, "so many arrays")
    given, computed = captured + inputs, len(data["out_avals"])
    _expect(len(data["raw_avals"]) == computed, "a type for each result")
    _expect(_are_places(data.get("parameters"), given), "parameters")
    _expect(_are_places(data.get("donated"), inputs), "donated arguments")
    outputs = cast("Any", data.get("outputs"))
    _expect(_is_list(outputs), "results")
    for output in outputs:
        _expect(_is_list(output) and len(output) == 2, "a result")
        kind, place = output
        _expect(kind in ("given", "computed"), "a result")
        _expect(_are_places([place], given if kind == "given" else computed), "a result")


def _are_places(numbers, count):
    """Whether these are different places in a list of so many."""
    are_places = _is_list(numbers) and all(type(i) is int and 0 <= i < count for i in numbers)
    return are_places and len(set(numbers)) == len(numbers)


def _expect(holds, what):
    if not holds:
        raise MalformedError(what)


def _is_list(x):
    return type(x) is list


def _is_text(x):
    return isinstance(x, str)


def _check_sizes(data):
    """Check what is declared of symbolic sizes; whether there are any."""
    if data is None:
        return False
    _expect(isinstance(data, dict) and type(data.get("least")) is int, "sizes")
    constraints: Any = data.get("constraints")
    _expect(_is_list(constraints) and all(map(_is_size, constraints)), "constraints")
    return True


def _is_size(x):
    return isinstance(x, str) and len(x) <= _LONGEST


def _check_layout(data):
    """Check what is said of devices: axes of a mesh, and for each leaf a spec that names them."""
    layout = data.get("layout")
    if layout is None:
        return
    _expect(isinstance(layout, dict) and _is_list(layout.get("axes")), "a layout")
    sizes = {}
    for axis in layout["axes"]:
        _expect(_is_list(axis) and len(axis) == 3, "an axis")
        name, size, kind = axis
        known = _is_text(name) and name not in sizes and type(size) is int and 0 < size < _LARGEST
        _expect(known and kind in ("Auto", "Explicit", "Manual"), "an axis")
        sizes[name] = size
    for side, avals in (("inputs", "in_avals"), ("outputs", "out_avals")):
        specs: Any = layout.get(side)
        _expect(_is_list(specs) and len(specs) == len(data[avals]), "a spec for each leaf")
        for spec, aval in zip(specs, data[avals], strict=True):
            if spec is not None:
                _check_spec(spec, sizes, aval)


def _check_spec(spec, sizes, aval):
    _expect(_is_list(spec) and len(spec) == 2 and all(map(_is_list, spec)), "a spec")
    entries, unreduced = spec
    _expect(len(entries) <= len(aval[0]), "a spec of so many dimensions")
    parts = [e if _is_list(e) else [e] for e in entries if e is not None and e is not True]
    named = [name for part in (*parts, unreduced) for name in part]
    known = all(_is_text(name) and name in sizes for name in named)
    _expect(known and len(set(named)) == len(named), "a spec of its axes")


def _check_aval(data, is_symbolic=False, dtypes_too=()):
    _expect(_is_list(data) and len(data) == 3, "a type of an array")
    shape, name, weak_type = data
    sizes = _is_list(shape) and all(
        (is_symbolic and _is_size(n)) or (type(n) is int and 0 <= n < _LARGEST) for n in shape
    )
    _expect(sizes and type(weak_type) is bool, "a shape")
    try:
        if _is_text(name) and name in dtypes_too:
            return
        if _is_list(name):
            _expect(len(name) == 2 and name[0] == "key" and _is_text(name[1]), "a dtype")
            dtypes.KeyType(name[1])
        else:
            _expect(_is_text(name), "a dtype")
            dtypes.as_dtype(name)
    except (TypeError, ValueError, KeyError) as error:
        raise MalformedError("a dtype") from error


def _count_leaves(data, level):
    """Return how many leaves the JSON of a tree has, None where the user's code says so."""
    if data == "*":
        return 1
    _expect(isinstance(data, dict) and level < _MOST_LEVELS, "a tree")
    kind, children = data.get("kind"), cast("Any", data.get("children"))
    _expect(kind in _KINDS and _is_list(children), "a node of a tree")
    counts = [_count_leaves(child, level + 1) for child in children]
    if kind == "dict":
        keys = cast("Any", data.get("keys"))
        texts = _is_list(keys) and all(map(_is_text, keys))
        _expect(texts and len(set(keys)) == len(keys) == len(children), "keys of a dict")
    if kind == "none":
        _expect(not children, "None without children")
    if kind == "custom":
        _expect(_is_text(data.get("name")) and _is_base64(data.get("aux")), "a node of a type")
        return None
    return None if None in counts else sum(counts)


def _is_base64(text):
    try:
        base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error):
        return False
    return True


_READ = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from evertrace._src.engines import runtime
program, compat = sys.stdin.buffer.read(), runtime.xla().compat
if sys.argv[2] == "text":
    compat.parse_module(program.decode())
else:
    compat.portable_text(program)
"""


def read_elsewhere(name, program, seconds, kind="bytes"):
    """Have XLA read a program in a process of its own, which may crash or never end.

    Args:
      name: of the function.
      program: the bytes.
      seconds: how long it may take.
      kind: "text" for a program that is no portable bytes but their text.

    Raises:
      ValueError: it cannot be read.
    """
    command = [sys.executable, "-c", _READ, json.dumps(sys.path), kind]
    try:
        done = subprocess.run(command, input=program, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise _unreadable(name, f"takes more than {seconds:g} seconds for") from error
    if done.returncode < 0:
        raise _unreadable(name, f"crashes on (signal {-done.returncode})")
    if done.returncode > 0:
        raise _unreadable(name, "cannot read")


def _unreadable(name, does):
    return errors.user_error(
        ValueError,
        f"deserialize: the installed XLA {does} the program of {name}.",
        fix="use bytes from a source that you trust, written by a release that is not newer.",
        anchor="export",
    )
