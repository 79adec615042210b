"""Avals are one object per type, so that identity is equality."""

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.core.aval import ShapedArray, is_inexact

F32 = np.dtype("float32")


@pytest.mark.parametrize(
    "spelling",
    [
        ((2, 3), F32),
        ([2, 3], "float32"),
        ((np.int64(2), 3), np.float32),
        ((True + 1, 3), F32, 0),
    ],
)
def test_one_object_per_type(spelling):
    assert ShapedArray(*spelling) is ShapedArray((2, 3), F32, False)


def test_each_of_the_three_facts_tells_types_apart():
    types = {
        ShapedArray((2,), F32),
        ShapedArray((), F32),
        ShapedArray((2,), "int32"),
        ShapedArray((2,), F32, True),
    }
    assert len(types) == 4


def test_threads_agree_on_one_object():
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda i: ShapedArray((i % 4, 977), F32), range(400)))
    assert len(set(map(id, made))) == 4


def test_copies_and_pickles_are_the_same_object():
    aval = ShapedArray((2, 3), ml_dtypes.bfloat16, True)
    assert copy.copy(aval) is copy.deepcopy(aval) is pickle.loads(pickle.dumps(aval)) is aval


def test_facts_and_text():
    aval = ShapedArray((2, 3), F32)
    assert (aval.shape, aval.dtype, aval.ndim, aval.size, len(aval)) == ((2, 3), F32, 2, 6, 2)
    assert aval.str_short() == "f32[2,3]"
    assert aval.str_short(short_dtypes=False) == "float32[2,3]"
    assert (str(aval), repr(aval)) == ("float32[2,3]", "ShapedArray(float32[2,3])")
    assert repr(aval.update(weak_type=True)) == "ShapedArray(float32[2,3], weak_type=True)"


def test_update_replaces_single_facts():
    aval = ShapedArray((2, 3), F32, True)
    assert aval.update(shape=()) is ShapedArray((), F32, True)
    assert aval.update(dtype=np.dtype("int8")) is ShapedArray((2, 3), "int8", True)
    assert aval.update(weak_type=False) is aval.strip_weak_type() is ShapedArray((2, 3), F32)
    assert aval.update() is aval


def test_len_of_a_scalar_is_an_error():
    with pytest.raises(TypeError, match="without dimensions"):
        len(ShapedArray((), F32))


@pytest.mark.parametrize(
    ("dtype", "inexact"),
    [("float32", True), ("complex64", True), ("bfloat16", True), ("int32", False), ("bool", False)],
)
def test_floating_and_complex_types_carry_tangents(dtype, inexact):
    assert is_inexact(ev.ShapeDtypeStruct((), dtype).aval) is inexact


def test_struct_is_compared_by_value():
    one, same = ev.ShapeDtypeStruct((2,), "float32"), ev.ShapeDtypeStruct([2], F32)
    assert one == same
    assert hash(one) == hash(same)
    assert one != ev.ShapeDtypeStruct((2,), "float32", weak_type=True)
    assert one != ev.ShapeDtypeStruct((3,), "float32")
    assert one != "f32[2]"
    assert (one.ndim, one.size, len(one)) == (1, 2, 2)
    assert repr(one) == "ShapeDtypeStruct(shape=(2,), dtype=float32)"


def test_struct_needs_a_dtype():
    with pytest.raises(ValueError, match="dtype must not be None"):
        ev.ShapeDtypeStruct((2,), None)


def test_avals_die_with_the_last_that_refers_to_them():
    ref = weakref.ref(ShapedArray((7, 1, 9), "int8"))
    assert ref() is ShapedArray((7, 1, 9), "int8")
    for size in range(2000):
        ShapedArray((size, 1, 2), "int8")
    gc.collect()
    assert ref() is None
    held = ShapedArray((7, 1, 9), "int8")
    for size in range(2000):
        ShapedArray((size, 1, 3), "int8")
    assert held is ShapedArray((7, 1, 9), "int8")


def test_avals_of_views_are_those_of_python():
    x = jnp.zeros((3, 1, 11), "int8")
    for _ in range(2):
        for size in range(1, 2000):
            ShapedArray((size, 1, 2), "int8")
        assert x[0].aval is ShapedArray((1, 11), "int8")
        assert [row.aval for row in x] == 3 * [ShapedArray((1, 11), "int8")]


@pytest.mark.parametrize("shape", [(2**61,), (2**31, 2**31), (2**62, 2**62)])
def test_what_no_machine_can_count_is_refused_before_xla_ends_the_process(shape):
    said = r"an array of shape \(.*\) and dtype float32 would take more than 2\*\*63 bytes"
    for make in (lambda: jnp.zeros(shape), ev.jit(lambda: jnp.zeros(shape), engine="xla")):
        with pytest.raises(ValueError, match=said):
            make()


def test_as_large_as_can_be_counted():
    assert ev.eval_shape(lambda: jnp.zeros((2**60,))).shape == (2**60,)
    assert ev.eval_shape(lambda: jnp.zeros((2**62, 0, 2**62))).shape == (2**62, 0, 2**62)
