"""Bytes of exported functions that somebody forged: a clear error, never a raw one or a crash."""

import copy
import hashlib
import random

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import export
from evertrace._src.export import container, flatbuffer, hostile, jax_format
from tests.export import exchange, exchanged

exchange.register(ev)


def exported(**kwargs):
    def f(x, rest):
        return {"y": x * rest[0], "z": (rest[1], None)}

    x = ev.ShapeDtypeStruct((3,), "float32")
    return export.export(ev.jit(f), **kwargs)(x, [x, ev.ShapeDtypeStruct((), "int32")])


@pytest.fixture(scope="module")
def parts():
    return container.unpack(exported().serialize(vjp_order=1))


VALUES = [
    None,
    True,
    -1,
    0,
    1,
    2**63,
    2**80,
    1.5,
    "",
    "*",
    "cpu",
    "float32",
    [],
    {},
    ["*"],
    {"a": 1},
]


def places(data, path=()):
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items if isinstance(data, (dict, list)) else ():
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


def mutated(rng, description):
    """A description in which something is another value, is missing, or is there twice."""
    data = [copy.deepcopy(description)]
    *path, last = rng.choice([(0, *p) for p in places(description)])
    where = data
    for key in path:
        where = where[key]
    kind = rng.randrange(3)
    if kind == 0 or not path:
        where[last] = rng.choice(VALUES)
    elif kind == 1:
        del where[last]
    elif isinstance(where, list):
        where.insert(last, copy.deepcopy(where[last]))
    else:
        where[rng.choice(["kind", "children", "name", "extra"])] = copy.deepcopy(where[last])
    return data[0]


def test_mutated_descriptions_are_refused_in_words(parts):
    description, programs = parts
    rng = random.Random(0)
    told = [outcome(mutated(rng, description), programs) for _ in range(3000)]
    assert all(text is None or text.startswith("deserialize: ") for text in told)
    assert 0 < told.count(None) < 600  # names, checks and what nobody reads may be anything


def outcome(description, programs):
    """What is said of a description with a right digest; None if it is taken."""
    try:
        export.deserialize(container.pack(description, programs))
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    "body",
    [b"", b"[", b"[]", b"{}", b"[1, 2, 3]", b"[[], [-1]]", b"[[], [1e9]]", b"\xff", b"[" * 100_000],
)
def test_bodies_that_are_no_description(body):
    digest = hashlib.sha256(body).digest()
    head = container._HEADER.pack(b"EVTEXPRT", container.FORMAT, len(body), len(body), digest)
    with pytest.raises(ValueError, match="are not those of an exported function"):
        export.deserialize(head + body)


def test_error_says_what_is_missing(parts):
    description, programs = parts
    bad = copy.deepcopy(description)
    bad[0]["in_avals"][0][1] = "float33"
    with pytest.raises(ValueError, match="which has a dtype where they have none"):
        export.deserialize(container.pack(bad, programs))


def test_verified_bytes_are_read():
    again = export.deserialize(exported().serialize(), verify=True)
    out = again.call(jnp.ones(3), [jnp.arange(3.0), 2])
    np.testing.assert_array_equal(out["y"], [0, 1, 2])


def test_verified_programs_that_xla_cannot_read(parts):
    description, programs = parts
    blob = container.pack(description, [b"junk", *programs[1:]])
    with pytest.raises(ValueError, match=r"the installed XLA .* the program of f"):
        export.deserialize(blob, verify=True)


@pytest.mark.parametrize(
    ("reads", "message"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", r"crashes on \(signal 11\)"),
        ("import time; time.sleep(60)", "takes more than 0.5 seconds for"),
    ],
    ids=["crash", "endless"],
)
def test_reader_that_crashes_or_never_ends_does_so_elsewhere(monkeypatch, parts, reads, message):
    # No program is known on which each release's reader does so.
    monkeypatch.setattr(hostile, "_READ", reads)
    with pytest.raises(ValueError, match=message):
        export.deserialize(container.pack(*parts), verify=0.5)


# -------------------------------------------------------------------------------- JAX's format


def damaged(rng, blob):
    """Bytes in which some are others, are missing, or are there twice."""
    data = bytearray(blob)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(data)) if data else 0
        kind = rng.randrange(5)
        if kind == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            data[at : at + 4] = rng.choice([0, 1, 4, 255, 2**31, 2**32 - 1]).to_bytes(4, "little")
        elif kind == 2:
            del data[at : at + rng.choice([1, 4, 100])]
        elif kind == 3:
            data[at:at] = data[at : at + rng.choice([1, 4, 100])]
        else:
            data = data[: at + 1]
    return bytes(data)


@pytest.mark.parametrize("name", ["trees", "nodes", "sizes", "integers", "two devices"])
def test_damaged_bytes_of_jax_are_refused_in_words(name):
    blob = exchanged.recorded()[name]["jax"]
    rng = random.Random(name)
    told = [said(damaged(rng, blob)) for _ in range(1500)]
    assert all(text is None or "\n  Fix: " in text for text in told)
    assert 0 < told.count(None) < 1200  # names and programs may be anything


def said(blob):
    """What is said of bytes; None if they are taken."""
    try:
        export.deserialize(blob)
    except (ValueError, ev.errors.InconclusiveDimensionOperation) as error:
        return str(error)
    return None


def test_parts_that_are_shared_without_end_are_refused():
    w = flatbuffer.Writer()
    tree = w.table({0: ("b", 0)})
    for _ in range(100):
        tree = w.table({0: ("b", 2), 1: w.vector([tree, tree])})
    with pytest.raises(flatbuffer.MalformedBuffer, match="more parts than there is room for"):
        jax_format._tree(flatbuffer.read(bytes(w.finished(tree))), 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kept": [0, 7]}, "which has the arguments that are kept where they have none"),
        ({"kept": [0, 0]}, "which has the arguments that are kept where they have none"),
        ({"devices": 0}, "which has devices where they have none"),
        ({"ins": [[[4], "float32", False]] * 2}, "which has a type for each leaf where"),
        ({"ins": [[["-1"], "float32", False]]}, "which has no size '-1'"),
        ({"ins": [[["b +"], "float32", False]]}, "symbolic size"),
    ],
)
def test_forged_descriptions_of_jax(change, message):
    descriptions, programs = jax_format.unpack(exchanged.recorded()["conv"]["jax"])
    descriptions[0]["jax"].update(change)
    with pytest.raises(ValueError, match=message):
        export.deserialize(jax_format.pack(descriptions, programs))


@pytest.mark.parametrize("program", ["sin", "captured", "integers", "size"])
def test_programs_that_are_others_than_described(program):
    recorded = exchanged.recorded()
    descriptions, _ = jax_format.unpack(recorded["inverse"]["jax"])
    _, programs = jax_format.unpack(recorded[program]["jax"])
    again = export.deserialize(jax_format.pack(descriptions[:1], programs[:1]))
    with pytest.raises(ValueError, match="and not the one that its bytes describe"):
        again.call(jnp.ones((3, 3)))


def test_damaged_programs_of_jax():
    descriptions, programs = jax_format.unpack(exchanged.recorded()["sin"]["jax"])
    blob = jax_format.pack(descriptions[:1], [programs[0][:100]])
    with pytest.raises(ValueError, match="the installed XLA cannot read the program of sin"):
        export.deserialize(blob).call(jnp.ones(4))
    with pytest.raises(ValueError, match=r"the installed XLA .* the program of sin"):
        export.deserialize(blob, verify=True)
