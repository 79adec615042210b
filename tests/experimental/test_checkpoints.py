"""Trees of arrays on disk: what is saved is loaded, on any mesh, or an error says why not."""

import hashlib
import json
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import random
from evertrace.experimental.array_serialization.pytree_serialization import (
    load,
    load_pytreedef,
    save,
)
from evertrace.sharding import PartitionSpec as P


class Point(NamedTuple):
    x: object
    y: object


def tree_of(scale=1.0):
    """Return a tree of arrays of many kinds."""
    return {
        "weights": jnp.arange(12.0).reshape(3, 4) * scale,
        "layers": [(jnp.ones(3, jnp.bfloat16), None), (np.arange(3, dtype="int8"), jnp.bool_(1))],
        "narrow": jnp.arange(5).astype("int4"),
        "float8": jnp.ones(2, "float8_e4m3fn"),
        "complex": jnp.ones(2) * 1j,
        "empty": jnp.zeros((0, 3)),
        "key": random.key(3),
        "keys": random.split(random.key(4, impl="rbg"), (2, 3)),
        "step": 7,
    }


def bits(x):
    """Return dtype, shape and bytes of an array."""
    dtype = str(x.dtype) if hasattr(x, "dtype") else "int32"
    if dtype.startswith("key"):
        x = random.key_data(x)
    x = np.asarray(x, None if dtype.startswith("key") else dtype)
    return dtype, x.shape, x.tobytes()


def same(a, b):
    """Whether two trees have the same arrays, to the bit."""
    one, other = (list(map(bits, ev.tree.leaves(t))) for t in (a, b))
    return ev.tree.structure(a) == ev.tree.structure(b) and one == other


def text_of(*args, **kwargs):
    """Return the first line of what `load` raises, without the folder's name."""
    with pytest.raises(ValueError, match=r"load") as caught:
        load(*args, **kwargs)
    return str(caught.value).split("\n")[0].replace(str(args[0]) + "/", "")


def test_what_is_saved_is_loaded(tmp_path):
    state = tree_of()
    save(state, tmp_path / "deep" / "down")
    assert same(load(tmp_path / "deep" / "down"), state)
    described = load_pytreedef(tmp_path / "deep" / "down")
    want = ev.eval_shape(lambda t: t, {**state, "step": jnp.int32(7)})
    assert described == want


def test_a_new_one_takes_the_place_of_the_one_before(tmp_path):
    for scale in (1.0, 2.0):
        save(tree_of(scale), tmp_path)
        assert same(load(tmp_path), tree_of(scale))
        assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(ValueError, match=r"^save: there is a checkpoint in "):
        save(1, tmp_path, overwrite=False)
    assert same(load(tmp_path), tree_of(2.0))


class Killed(BaseException):
    """What stands for the end of the process."""


@pytest.mark.parametrize("step", range(6))
def test_who_is_killed_while_saving_has_changed_nothing(tmp_path, monkeypatch, step):
    save(tree_of(1.0), tmp_path)
    left = [step]

    def dies(function):
        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return function(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in ("fsync", "replace"):
            patch.setattr(os, name, dies(getattr(os, name)))
        done = False
        try:
            save(tree_of(2.0), tmp_path)
            done = True
        except Killed:
            pass
    replaced = step >= 4  # the file, the manifest, the folder, then the replacement
    assert done is (step >= 5)
    assert same(load(tmp_path), tree_of(2.0 if replaced else 1.0))
    save(tree_of(3.0), tmp_path)
    assert len(list(tmp_path.iterdir())) == 2, "what was left behind is gone"


def files(folder):
    """Return the files of a checkpoint."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_damage_is_found_wherever_it_is(tmp_path):
    state = {"a": jnp.arange(4.0), "b": (jnp.ones(2, jnp.int32), random.key(0))}
    save(state, tmp_path)
    assert len(files(tmp_path)) == 2
    for path in files(tmp_path):
        whole = path.read_bytes()
        harmless = b" \n"
        for place in range(0, len(whole), 5):
            damaged = bytes([whole[place] ^ 0x41])
            if whole[place] in harmless and path.suffix == ".json":
                continue  # JSON has the same meaning
            path.write_bytes(whole[:place] + damaged + whole[place + 1 :])
            with pytest.raises(ValueError, match=r"^load: "):
                load(tmp_path)
        for size in (0, 1, 7, 8, 9, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:size])
            with pytest.raises(ValueError, match=r"^load: "):
                load(tmp_path)
        path.unlink()
        with pytest.raises(ValueError, match=r"^load: "):
            load(tmp_path)
        path.write_bytes(whole)
    assert same(load(tmp_path), state)


def no_such_piece(leaf):
    leaf["pieces"][0]["name"] = "elsewhere"


# name: what is done to the manifest, whose digest is then right again
HOSTILE = {
    "a folder elsewhere": lambda m: m.update(folder="../other"),
    "a file elsewhere": lambda m: m["files"][0].__setitem__(0, "../../00000.safetensors"),
    "a file that is not named": lambda m: m["leaves"][0]["pieces"][0].update(file="x"),
    "a huge array": lambda m: m["leaves"][0].update(shape=[1 << 40]),
    "a huge piece": lambda m: m["leaves"][0].update(
        shape=[1 << 40], pieces=[{**m["leaves"][0]["pieces"][0], "shape": [1 << 40]}]
    ),
    "objects": lambda m: m["leaves"][0].update(dtype="object"),
    "a class": lambda m: m["leaves"][0].update(dtype="datetime64[s]"),
    "no pieces": lambda m: m["leaves"][0].update(pieces=[]),
    "a piece twice": lambda m: m["leaves"][0].update(pieces=m["leaves"][0]["pieces"] * 2),
    "a negative size": lambda m: m["leaves"][0].update(shape=[-4]),
    "a size that is no number": lambda m: m["leaves"][0].update(shape=["4"]),
    "another piece": lambda m: no_such_piece(m["leaves"][0]),
    "no generator": lambda m: m["leaves"][0].update(key="os.system"),
    "fewer leaves": lambda m: m["leaves"].pop(),
    "a list": lambda m: m.update(leaves={"a": 1}),
    "another format": lambda m: m.update(format="evertrace checkpoint 2"),
    "a tree of no kind": lambda m: m.update(tree={"kind": "os.system", "children": []}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_manifests_are_refused(tmp_path, name):
    save((jnp.arange(4.0), jnp.ones(2)), tmp_path)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["sha256"]
    HOSTILE[name](manifest)
    digest = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps({**manifest, "sha256": digest}))
    with pytest.raises(ValueError, match=r"^load: "):
        load(tmp_path)


def test_other_readers_of_the_format_read_the_files(tmp_path):
    save({"w": jnp.arange(6, dtype=jnp.float32).reshape(2, 3)}, tmp_path)
    (path,) = tmp_path.glob("data-*/*.safetensors")
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    del header["__metadata__"]
    assert header == {"['w'][0:2,0:3]": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
    np.testing.assert_array_equal(np.frombuffer(data[8 + length :], "f4"), np.arange(6))


def test_types_of_nodes_that_nobody_can_write(tmp_path):
    save(Point(jnp.ones(2), {"a": 3.0}), tmp_path)
    assert text_of(tmp_path) == (
        f"load: {tmp_path} holds a tree with nodes of types that are not known, whose leaves are "
        ".x, .y['a']; shardings has none."
    )
    like = Point(jnp.zeros(2), {"a": 0.0})
    assert same(load(tmp_path, like), Point(jnp.ones(2), {"a": jnp.float32(3)}))
    assert same(load(tmp_path, Point(None, {"a": None})), load(tmp_path, like))


def test_what_is_there_is_not_what_is_wanted(tmp_path):
    save({"w": jnp.ones((2, 3))}, tmp_path)
    like = ev.ShapeDtypeStruct((3, 2), "float32")
    assert text_of(tmp_path, {"w": like}) == (
        "load: ['w'] is of shape (2, 3) and dtype float32, and shape (3, 2) and dtype float32 was "
        "asked for."
    )
    assert text_of(tmp_path, {"v": None}).startswith("load shardings")
    assert "there is no checkpoint in" in text_of(tmp_path / "nowhere")
    with ev.enable_x64(True):
        save(jnp.ones(2, "float64"), tmp_path)
    assert "float64, which there is only with 64 bits" in text_of(tmp_path)
    with pytest.raises(TypeError, match=r"^save: "):
        save({"a": object()}, tmp_path)


MESHES = """
import sys, numpy as np, evertrace as ev, evertrace.numpy as jnp
from evertrace import random
from evertrace.experimental.array_serialization.pytree_serialization import load, save
from evertrace.sharding import NamedSharding, PartitionSpec as P
ev.config.update("num_cpu_devices", 8)
whole = np.arange(64.0, dtype=np.float32).reshape(8, 8)
grids = [ev.make_mesh(shape, ("x", "y")) for shape in ((4, 2), (2, 4), (8, 1), (1, 3))]
specs = [P("x", "y"), P("y", "x"), P(("x", "y")), P(None, "x"), P()]
count = 0
for one in grids[:3]:
    for spec in specs:
        x = ev.device_put(whole, NamedSharding(one, spec))
        keys = ev.device_put(random.split(random.key(0), 8), NamedSharding(one, P("x")))
        save([x, keys], sys.argv[1])
        for other in grids[:3]:
            wanted = NamedSharding(other, specs[count % len(specs)])
            y, found = load(sys.argv[1], [wanted, NamedSharding(other, P("y"))])
            assert y.sharding == wanted and found.sharding.spec == P("y")
            np.testing.assert_array_equal(y, whole)
            words = [np.asarray(random.key_data(k)) for k in (found, keys)]
            np.testing.assert_array_equal(*words)
            count += 1
with ev.set_mesh(grids[0]):
    assert load(sys.argv[1], [P("y"), None])[0].sharding.spec == P("y")
try:
    load(sys.argv[1], NamedSharding(grids[3], P("y")))
except ValueError as error:
    print(count, str(error).split("\\n")[0])
"""


def test_any_mesh_reads_what_any_other_has_written(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MESHES, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout == (
        "45 load: [0]: P('y',) divides dimension 0 of an array of shape (8, 8) into 3 parts, "
        "and its size 8 is no multiple of that.\n"
    ), done.stderr


def test_a_sharding_over_one_device(tmp_path):
    save({"a": jnp.ones(4)}, tmp_path)
    mesh = ev.make_mesh((1,), ("x",))
    found = load(tmp_path, ev.NamedSharding(mesh, P("x")))
    assert found["a"].sharding.spec == P("x")
    placed = load(tmp_path, ev.sharding.SingleDeviceSharding(ev.devices()[0]))
    assert placed["a"].committed
