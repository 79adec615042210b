"""Bytes of exported functions that somebody forged: a clear error, never a raw one or a crash."""

import copy
import hashlib
import random

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import export
from evertrace._src.export import container, hostile


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
