"""Compiled functions are written as bytes, and run again here and in another process."""

import json
import pickle
import random as random_numbers
import subprocess
import sys

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import export, random
from evertrace._src.export import container
from evertrace.experimental.serialize_executable import deserialize_and_load, serialize

CAPTURED = jnp.arange(3.0)


def several(x, other):
    return {
        "computed": x * CAPTURED + other["b"],
        "argument": other["b"],
        "captured": CAPTURED,
        "literal": 2.5,
        "key": random.fold_in(other["key"], 1),
    }


def nothing(x):
    return x, 3


ARGUMENTS = {
    several: (jnp.ones(3), {"b": jnp.arange(3), "key": random.key(3)}),
    nothing: (jnp.ones((2, 0)),),
    jnp.sort: (jnp.array([3.0, 1.0, 2.0]),),
    jnp.linalg.inv: (2 * jnp.eye(2),),
}


def same(found, expected):
    for a, b in zip(ev.tree.leaves(found), ev.tree.leaves(expected), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if jnp.issubdtype(a.dtype, ev.dtypes.prng_key):
            a, b = map(random.key_data, (a, b))
        np.testing.assert_array_equal(a, b)
    assert ev.tree.structure(found) == ev.tree.structure(expected)


@pytest.mark.parametrize("fun", ARGUMENTS, ids=lambda f: f.__name__)
def test_what_is_loaded_computes_the_same(fun):
    args = ARGUMENTS[fun]
    compiled = ev.jit(fun).lower(*args).compile()
    data, in_tree, out_tree = serialize(compiled)
    assert isinstance(data, bytes)
    loaded = deserialize_and_load(data, in_tree, out_tree)
    same(loaded(*args), compiled(*args))
    assert (loaded.in_tree, loaded.out_tree) == (in_tree, out_tree)
    assert loaded.in_avals == compiled.in_avals
    assert loaded.as_text().startswith("HloModule")
    again = deserialize_and_load(*serialize(loaded))
    same(again(*args), compiled(*args))


def test_by_name_and_donated():
    def fun(x, *, y):
        return x + y

    compiled = ev.jit(fun, donate_argnames="y").lower(jnp.ones(3), y=jnp.ones(3)).compile()
    loaded = deserialize_and_load(*serialize(compiled), execution_devices=ev.devices()[:1])
    y = jnp.arange(3.0) + 0
    assert loaded(jnp.ones(3), y=y).tolist() == [1, 2, 3]
    assert y.is_deleted()


def test_in_another_process(tmp_path):
    compiled = ev.jit(lambda x: jnp.sin(x) * CAPTURED, engine="xla").lower(jnp.ones(3)).compile()
    path = tmp_path / "executable"
    path.write_bytes(pickle.dumps(serialize(compiled)))
    program = (
        "import pickle, pathlib, sys, numpy as np\n"
        "from evertrace.experimental.serialize_executable import deserialize_and_load\n"
        "loaded = deserialize_and_load(*pickle.loads(pathlib.Path(sys.argv[1]).read_bytes()))\n"
        "print(loaded(np.ones(3, 'float32')).tolist())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == str(compiled(jnp.ones(3)).tolist()), run.stderr


COMPILED = ev.jit(jnp.sin).lower(jnp.ones(2)).compile()
DATA, *TREES = serialize(COMPILED)
MISTAKES = {
    "no compiled function": (lambda: serialize(jnp.sin), TypeError, "got .*[Ff]unction"),
    "callbacks": (
        lambda: serialize(ev.jit(lambda x: ev.debug.print("{}", x)).lower(1.0).compile()),
        ValueError, "calls Python functions back",
    ),
    "no bytes": (lambda: deserialize_and_load(3, *TREES), TypeError, "type int"),
    "other bytes": (lambda: deserialize_and_load(b"abc", *TREES), ValueError, "not those of a c"),
    "damaged": (lambda: deserialize_and_load(DATA[:-1], *TREES), ValueError, "damaged"),
    "exported": (
        lambda: deserialize_and_load(export.export(ev.jit(jnp.sin))(1.0).serialize(), *TREES),
        ValueError, "not those of a compiled function",
    ),
    "compiled": (lambda: export.deserialize(DATA), ValueError, "not those of an exported function"),
    "backend": (lambda: deserialize_and_load(DATA, *TREES, "cpu"), ValueError, "one device"),
    "two devices": (
        lambda: deserialize_and_load(DATA, *TREES, None, [1, 2]), ValueError, "one device",
    ),
    "another type": (
        lambda: deserialize_and_load(DATA, *TREES)(jnp.ones(3)), TypeError, r"called with f32\[3\]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    run, cls, text = MISTAKES[name]
    with pytest.raises(cls, match=text):
        run()


def changed(change):
    """The bytes with another description, under a digest of their own."""
    description, programs = container.unpack(DATA, container.COMPILED)
    change(description, programs)
    return bytes(container.pack(description, programs, container.COMPILED))


FORGED = {
    "no name": lambda d, p: d.pop("name"),
    "no types": lambda d, p: d.update(out_avals=None),
    "another type": lambda d, p: d.update(raw_avals=[[[3], "float32", False]]),
    "a type too many": lambda d, p: d.update(raw_avals=d["raw_avals"] * 2),
    "no parameter": lambda d, p: d.update(parameters=[7]),
    "a parameter twice": lambda d, p: d.update(parameters=[0, 0]),
    "no argument": lambda d, p: d.update(donated=[-1]),
    "no result": lambda d, p: d.update(outputs=[["computed", 1]]),
    "no such result": lambda d, p: d.update(outputs=[["made", 0]]),
    "no numbers": lambda d, p: d.update(outputs=[["computed", "0"]]),
    "an array that is not there": lambda d, p: d.update(arrays=[[[2], "float32", False]]),
    "an array of other bytes": lambda d, p: (
        d.update(arrays=[[[2], "float32", False]], parameters=[1]), p.append(b"1234"),
    ),
    "no programs": lambda d, p: p.clear(),
    "no text": lambda d, p: p.__setitem__(1, b"\xff"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_descriptions_that_nobody_wrote(name):
    with pytest.raises(ValueError, match=r"the bytes (do not describe a function|have an arg)"):
        deserialize_and_load(changed(FORGED[name]), *TREES)


def test_programs_that_are_given_less_than_they_read():
    loaded = deserialize_and_load(changed(lambda d, p: d.update(parameters=[])), *TREES)
    with pytest.raises(ev.errors.JaxRuntimeError, match="expected 1"):
        loaded(jnp.ones(2))


@pytest.mark.parametrize(
    ("trees", "name"),
    [
        ((TREES[1], TREES[1]), "in_tree, which has 1"),
        ((TREES[0], ev.tree.structure((1, 2))), "out_tree, which has 2"),
        ((TREES[0], "a tree"), "out_tree, which has str"),
    ],
)
def test_trees_of_something_else(trees, name):
    data, in_tree, out_tree = serialize(ev.jit(lambda x, y: x + y).lower(1.0, 2.0).compile())
    del in_tree, out_tree
    data = data if "in_tree" in name else DATA
    with pytest.raises(ValueError, match=name):
        deserialize_and_load(data, *trees)


def test_mutated_descriptions_are_refused_or_compute_the_same():
    rng = random_numbers.Random(0)
    expected = COMPILED(jnp.ones(2))

    def mutate(description, programs):
        text = json.dumps(description)
        at = rng.randrange(len(text))
        description.clear()
        try:
            found = json.loads(text[:at] + rng.choice('0123456789"[]{},:-tf') + text[at + 1 :])
        except ValueError:
            found = {}
        description.update(found if type(found) is dict else {})

    for _ in range(300):
        try:
            loaded = deserialize_and_load(changed(mutate), *TREES)
        except (ValueError, ev.errors.JaxRuntimeError):
            continue
        try:
            np.testing.assert_allclose(loaded(jnp.ones(2)), expected, rtol=1e-6)
        except (TypeError, ev.errors.JaxRuntimeError):
            continue
