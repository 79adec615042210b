"""Arrays as Python objects: text, copies, memory lent to other libraries, places."""

import copy
import io
import pickle
import re
import zipfile

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import errors, random
from evertrace._src.dtypes import kinds
from tests.support.runtime import lends_buffers


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: jnp.arange(3.0), "Array([0., 1., 2.], dtype=float32)"),
        (lambda: jnp.asarray(2), "Array(2, dtype=int32, weak_type=True)"),
        (lambda: jnp.bfloat16(1.5), "Array(1.5, dtype=bfloat16)"),
        (lambda: jnp.zeros((0, 3)), "Array([], shape=(0, 3), dtype=float32)"),
        (lambda: jnp.ones((2, 2)), "Array([[1., 1.],\n       [1., 1.]], dtype=float32)"),
    ],
)
def test_repr(make, text):
    assert repr(make()) == text


def test_str_is_that_of_the_contents():
    assert str(jnp.arange(3)) == "[0 1 2]"
    assert f"{jnp.arange(3)}" == "[0 1 2]"
    assert jnp.array_repr(jnp.asarray([1 / 3]), precision=2) == "Array([0.33], dtype=float32)"


def test_long_arrays_are_cut_short():
    assert "..." in repr(jnp.arange(2000))
    assert "..." not in repr(jnp.arange(1000))


def test_copies_and_pickles():
    x = jnp.arange(6.0).reshape(2, 3)
    assert copy.copy(x) is x
    np.testing.assert_array_equal(copy.deepcopy(x), x)
    for value in (x, jnp.asarray(1.0), jnp.bfloat16(2)):
        back = pickle.loads(pickle.dumps(value))
        assert back.aval is value.aval
        np.testing.assert_array_equal(np.asarray(back), np.asarray(value))


def test_arrays_are_not_hashable():
    with pytest.raises(TypeError, match="unhashable"):
        hash(jnp.ones(2))


def test_numpy_sees_the_memory_and_cannot_change_it():
    x = jnp.arange(3)
    view = np.asarray(x)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 7
    assert np.asarray(x).ctypes.data == x.unsafe_buffer_pointer()
    mine = np.array(x)
    mine[0] = 7
    assert int(x[0]) == 0
    assert np.asarray(x, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, np.float64, copy=False)


def test_numpy_functions_take_arrays():
    assert isinstance(np.sin(jnp.ones(2)), np.ndarray)
    np.testing.assert_array_equal(np.stack([jnp.ones(2), jnp.zeros(2)]), [[1, 1], [0, 0]])
    for value in (np.ones(2) + jnp.ones(2), np.float64(1) * jnp.ones(2)):
        assert isinstance(value, ev.Array)
        assert value.dtype == np.float32


def test_dlpack_there_and_back():
    x = jnp.arange(6.0).reshape(2, 3)
    there = np.from_dlpack(x)
    assert not there.flags.writeable
    np.testing.assert_array_equal(there, x)
    np.testing.assert_array_equal(jnp.from_dlpack(np.array(x)), x)
    assert x.__dlpack_device__()[0] == 1


@lends_buffers
def test_buffers():
    lent = memoryview(jnp.arange(6.0).reshape(2, 3))
    assert lent.readonly
    assert lent.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert bytes(jnp.asarray([1, 2], "uint8")) == b"\x01\x02"
    assert io.BytesIO(ev.jit(jnp.negative)(jnp.int8(1))).getvalue() == b"\xff"
    assert memoryview(jnp.array(jnp.ones(2))).tolist() == [1, 1]  # of an array that is gone


@lends_buffers
def test_buffers_are_not_lent_without_contents():
    with pytest.raises(errors.DTypeError, match=r"^__buffer__ .*: random keys are no numbers"):
        memoryview(random.key(0))
    with pytest.raises((BufferError, ValueError), match="buffer"):
        memoryview(jnp.ones(2, "bfloat16"))
    x = jnp.ones(2)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        memoryview(x)


@pytest.mark.parametrize(
    ("lend", "what"),
    [
        (np.asarray, "__array__ \\(an array handed to NumPy\\)"),
        (np.from_dlpack, "__dlpack__ \\(an array handed to another library\\)"),
        (jnp.from_dlpack, "__dlpack__ \\(an array handed to another library\\)"),
        (lambda key: key.__buffer__(0), "__buffer__ \\(an array handed to what takes buffers\\)"),
    ],
)
def test_keys_are_lent_to_nobody(lend, what):
    text = f"^{what}: random keys are no numbers, got key<fry>"
    with pytest.raises(errors.DTypeError, match=text):
        lend(random.key(0))


@pytest.mark.parametrize("args", [(), (1.0,), (3, np.ones(3))], ids=["nothing", "one", "two"])
@pytest.mark.parametrize("called", [ev.Array, ev.jit(lambda *args: ev.Array(*args))])
def test_the_class_makes_no_arrays(called, args):
    with pytest.raises(
        TypeError, match=r"Array: an array is not made by its class[\s\S]*jnp.array"
    ):
        called(*args)


def test_array_namespace_and_type():
    x = jnp.ones(2)
    assert x.__array_namespace__() is jnp
    assert isinstance(x, jnp.ndarray)
    assert isinstance(x, ev.Array)


def test_files(tmp_path):
    jnp.save(tmp_path / "x.npy", jnp.arange(3))
    np.testing.assert_array_equal(jnp.load(tmp_path / "x.npy"), [0, 1, 2])
    jnp.savez(tmp_path / "x.npz", a=jnp.ones(2))
    with jnp.load(tmp_path / "x.npz") as found:
        assert (list(found), found.files) == (["a"], ["a"])
        np.testing.assert_array_equal(found["a"], [1, 1])


@pytest.mark.parametrize("name", [n for n in kinds.NAMES if not n.startswith("float6")])
def test_files_keep_dtypes(tmp_path, name):
    dtype = kinds.named(name)
    for x in (np.ones((2, 3), dtype), np.ones((), dtype), np.ones((2, 3), dtype)[:, ::2]):
        jnp.save(tmp_path / "x.npy", x)
        jnp.savez(tmp_path / "x.npz", x, a=x)
        with ev.enable_x64():
            read = [jnp.load(tmp_path / "x.npy"), *jnp.load(tmp_path / "x.npz").values()]
        for found in read:
            assert (found.dtype, found.shape) == (dtype, x.shape)
            assert np.asarray(found).tobytes() == np.ascontiguousarray(x).tobytes()
        np.load(tmp_path / "x.npy")  # whatever NumPy makes of it, it can read it


@pytest.mark.engine
def test_places():
    x = jnp.ones((2, 3))
    (device,) = x.devices()
    assert x.device is device
    assert x.sharding.device_set == {device}
    (shard,) = x.addressable_shards
    assert (shard.device, shard.index, shard.replica_id) == (device, (slice(None),) * 2, 0)
    np.testing.assert_array_equal(x.addressable_data(0), x)
    assert x.is_fully_addressable
    assert x.is_fully_replicated
    assert x.on_device_size_in_bytes() == 24
    np.testing.assert_array_equal(x.to_device(device), x)


@pytest.mark.engine
def test_results_of_compiled_programs_are_arrays_like_others():
    y = ev.jit(lambda x: x + 1)(jnp.arange(3))
    assert repr(y) == "Array([1, 2, 3], dtype=int32)"
    assert not np.asarray(y).flags.writeable
    np.testing.assert_array_equal(np.from_dlpack(y), [1, 2, 3])
    np.testing.assert_array_equal(y[1:] * 2, [4, 6])


def test_deleted_arrays_say_so():
    x = jnp.ones(2)
    x.delete()
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        x + 1


def test_bfloat16_comes_back_from_a_file(tmp_path):
    x = jnp.array([1.5, -2.0, jnp.inf], jnp.bfloat16)
    jnp.save(tmp_path / "x.npy", x)
    found = jnp.load(tmp_path / "x.npy")
    assert found.dtype == jnp.bfloat16
    np.testing.assert_array_equal(found, x)


def _header(shape):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    ("contents", "error", "text"),
    [
        (np.array([{}], object), ValueError, "load: Object arrays cannot be loaded"),
        (b"\x93NUMPY\x01\x00", ValueError, "load: EOF: reading array header length"),
        (_header("(3000000000000,)"), MemoryError, "load: Unable to allocate 10.9 TiB"),
    ],
    ids=["objects", "damaged", "huge"],
)
def test_what_is_wrong_with_a_member_of_an_archive_is_said_when_it_is_asked_for(
    tmp_path, contents, error, text
):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive, archive.open("a.npy", "w") as file:
        if isinstance(contents, bytes):
            file.write(contents)
        else:
            np.lib.format.write_array(file, contents)
    with (
        jnp.load(tmp_path / "x.npz") as found,
        pytest.raises(error, match=re.escape(text)) as caught,
    ):
        found["a"]
    assert "test_array.py" in str(caught.value)


def test_an_array_that_was_never_made_is_refused():
    # Indexing one read what was not there, and ended the process.
    made = ev.Array.__new__(ev.Array)
    for use in (lambda: made[0], lambda: made + 1, lambda: made.at[0].set(1), lambda: int(made)):
        with pytest.raises((AttributeError, TypeError)):
            use()
