"""Mutable arrays: reading, writing, their types, what they refuse."""

import copy
import pickle

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.ref import addupdate, get, swap

pytestmark = pytest.mark.engine


def make(shape=(3, 4), dtype="float32"):
    """Return a ref of 0, 1, 2, ... and the same as a NumPy array."""
    want = np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)
    return ev.new_ref(want), want


INDICES = {
    "all": ...,
    "int": 1,
    "negative": -1,
    "two": (2, -3),
    "slice": slice(1, None),
    "strided": (slice(None), slice(0, 4, 2)),
    "ellipsis": (..., 1),
    "empty": (),
    "nothing": slice(3, 3),
    "array": np.array([2, 0]),
    "arrays": (np.array([0, 2]), np.array([1, 3])),
    "array and slice": (np.array([0, 2]), slice(1, 3)),
    "mask": np.array([True, False, True]),
}
JITTED = ["plainly", "jitted"]


def run(how, fun, *args):
    """Call a function, jitted or not."""
    return (ev.jit(fun) if how == "jitted" else fun)(*args)


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("how", JITTED)
@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_reads_and_writes_where_numpy_does(how, index):
    ref, want = make()

    def program(ref):
        before = ref[index]
        ref[index] = -before
        ref[index] += 10.0
        return before

    before = run(how, program, ref)
    np.testing.assert_array_equal(before, want[index])
    want[index] = -want[index]
    want[index] += 10
    np.testing.assert_array_equal(ref[...], want)


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("how", JITTED)
@pytest.mark.parametrize("i", [-7, -1, 0, 2, 3, 7])
def test_traced_ints_are_moved_inside(how, i):
    ref, want = make((3,))

    def program(ref, i):
        ref[i] = 9.0
        return ref[i]

    assert run(how, program, ref, jnp.int32(i)) == 9
    want[np.clip(i + 3 * (i < 0), 0, 2)] = 9
    np.testing.assert_array_equal(ref[...], want)


@pytest.mark.parametrize("how", JITTED)
def test_swap_returns_what_was_there(how):
    ref, want = make()
    old = run(how, lambda ref: swap(ref, 1, jnp.zeros(4)), ref)
    np.testing.assert_array_equal(old, want[1])
    np.testing.assert_array_equal(get(ref, 1), np.zeros(4))


@pytest.mark.parametrize("how", JITTED)
def test_addupdate_adds_once_per_occurrence(how):
    ref, want = make((4,))
    index = np.array([1, 1, 3])
    run(how, lambda ref: addupdate(ref, index, jnp.ones(3)), ref)
    np.add.at(want, index, 1)
    np.testing.assert_array_equal(ref[...], want)
    addupdate(ref, None, jnp.ones(4))
    np.testing.assert_array_equal(ref[...], want + 1)


@pytest.mark.parametrize("how", JITTED)
def test_views_read_and_write_their_part(how):
    ref, want = make()

    def program(ref):
        view = ref.at[1:].at[:, 2]
        view[...] *= 10.0
        view.at[0][...] += 1.0
        return view[...], jnp.zeros(view.shape)

    part, zeros = run(how, program, ref)
    want[1:, 2] *= 10
    want[1, 2] += 1
    np.testing.assert_array_equal(ref[...], want)
    np.testing.assert_array_equal(part, want[1:, 2])
    assert zeros.shape == (2,)


def test_an_array_that_was_read_stays_as_it_was():
    ref, want = make()
    read = ref[...]
    ref[0] = jnp.zeros(4)
    np.testing.assert_array_equal(read, want)


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (1.0, "Ref{float32[]}", "Ref(1., dtype=float32, weak_type=True)"),
        (
            np.zeros((2, 3), "int8"),
            "Ref{int8[2,3]}",
            "Ref([[0, 0, 0],\n     [0, 0, 0]], dtype=int8)",
        ),
        (True, "Ref{bool[]}", "Ref(True, dtype=bool)"),
    ],
)
def test_types_and_texts(value, type_, text):
    ref = ev.new_ref(value)
    assert str(ref.aval) == str(ev.typeof(ref)) == type_
    assert " ".join(repr(ref).split()) == " ".join(text.split())
    assert (ref.shape, ref.ndim, ref.size) == (np.shape(value), np.ndim(value), np.size(value))
    assert ref.aval == ev.ref.AbstractRef(ref[...].aval)
    assert hash(ref.aval) == hash(ev.new_ref(value).aval)


def test_writes_keep_the_type():
    ref = ev.new_ref(1.0)
    ref[...] = jnp.float32(2)
    assert (ref.weak_type, ref.dtype) == (True, np.float32)
    ref = ev.new_ref(jnp.zeros((), "bfloat16"))
    ref[...] = 2.5
    assert (ref[...].weak_type, ref.dtype.name, float(ref[...])) == (False, "bfloat16", 2.5)


INTEGERS = ["int8", "uint8", "int32"]


@pytest.mark.parametrize("to", ["bool", *INTEGERS, "float16", "float32", "complex64"])
@pytest.mark.parametrize("value", ["bool", *INTEGERS, "float16", "float32", "complex64"])
def test_dtypes_that_may_be_written(to, value):
    ref = ev.new_ref(jnp.zeros(2, to))
    if to == value or (to in INTEGERS and value in INTEGERS):
        ref[0] = jnp.ones((), value)
        assert ref.dtype == to
    else:
        text = f"set: a value of dtype {value} does not go into a Ref of dtype {to}"
        with pytest.raises(ValueError, match=text):
            ref[0] = jnp.ones((), value)


FROZEN = "Ref: this mutable array has been frozen or freed"
REFUSED = {
    "shape": (
        lambda r: r.swap(0, jnp.ones(3)),
        ValueError,
        r"shape \(3,\) does not go into a part of shape \(4,\)",
    ),
    "broadcasting": (
        lambda r: r.swap(..., 1.0),
        ValueError,
        r"shape \(\) .* there is no broadcasting",
    ),
    "int into float": (
        lambda r: r.swap((0, 0), 1),
        ValueError,
        "dtype int32 does not go into a Ref of dtype float32",
    ),
    "added shape": (
        lambda r: addupdate(r, 0, 1.0),
        ValueError,
        r"addupdate: a value of shape \(\)",
    ),
    "bounds": (
        lambda r: r[3],
        IndexError,
        r"index 3 is out of bounds for a mutable array of shape \(3, 4\)",
    ),
    "bounds below": (
        lambda r: r.swap((0, -5), 0.0),
        IndexError,
        r"index \(0, -5\) is out of bounds",
    ),
    "too many": (lambda r: r[0, 0, 0], IndexError, "Too many indices"),
    "text": (lambda r: r["a"], Exception, "a"),
    "operation": (
        lambda r: jnp.sin(r),
        TypeError,
        r"a Ref is a place for an array, not an array \(Ref\{float32\[3,4\]\}\)",
    ),
    "operator": (lambda r: r + 1, TypeError, "unsupported operand"),
    "numpy": (lambda r: np.asarray(r), TypeError, "numpy.asarray: a Ref is a place"),
    "truth": (lambda r: bool(r), TypeError, "bool: a Ref is a place"),
    "rows": (lambda r: list(r), TypeError, "not iterable"),
    "a ref in a ref": (lambda r: ev.new_ref(r), TypeError, "a Ref is a place"),
    "a list": (lambda r: ev.new_ref([1, 2]), TypeError, "new_ref: list is not an array type"),
    "kind": (lambda r: ev.new_ref(1.0, kind="any"), ValueError, "new_ref: there is no kind"),
    "memory": (
        lambda r: ev.new_ref(1.0, memory_space="vmem"),
        NotImplementedError,
        "new_ref: memory_space='vmem' is not supported",
    ),
    "no type": (
        lambda r: ev.empty_ref(3),
        TypeError,
        "empty_ref: expected something with a shape and a dtype",
    ),
    "an array to get": (lambda r: get(r[...], 0), ValueError, "get: expected a Ref, got an array"),
    "an array to freeze": (lambda r: ev.freeze(r[...]), ValueError, "freeze: expected a Ref"),
    "a view to free": (lambda r: ev.free_ref(r.at[0]), ValueError, "free_ref: expected a Ref"),
    "read after freeze": (lambda r: (ev.freeze(r), r[0]), ValueError, FROZEN),
    "write after freeze": (lambda r: (ev.freeze(r), swap(r, 0, jnp.ones(4))), ValueError, FROZEN),
    "freeze after free": (lambda r: (ev.free_ref(r), ev.freeze(r)), ValueError, FROZEN),
}


@pytest.mark.parametrize("how", JITTED)
@pytest.mark.parametrize(("use", "error", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(how, use, error, text):
    ref, want = make()
    with pytest.raises(error, match=text):
        run(how, use, ref)
    if how == "jitted":  # a trace that failed leaves nothing behind
        np.testing.assert_array_equal(ref[...], want)


def test_freeze_returns_the_contents():
    ref, want = make()
    np.testing.assert_array_equal(ev.freeze(ref), want)
    assert repr(ref) == "Ref(freed)"


def test_empty_ref_has_the_type():
    ref = ev.empty_ref(ev.ShapeDtypeStruct((2, 3), "int32"))
    assert str(ref.aval) == "Ref{int32[2,3]}"


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_copies_are_other_refs(copied):
    ref, want = make()
    other = copied(ref)
    ref[0] = jnp.zeros(4)
    assert isinstance(other, ev.Ref)
    assert other != ref
    np.testing.assert_array_equal(other[...], want)


def test_refs_are_leaves_and_no_arrays():
    ref, _ = make()
    assert ev.tree.leaves({"a": ref, "b": [ref]}) == [ref, ref]
    assert not isinstance(ref, ev.Array)


@pytest.mark.parametrize("made", [lambda x: ev.Ref(x), ev.jit(lambda x: ev.Ref(x))])
@pytest.mark.parametrize("value", ["text", [1.0], None], ids=["text", "list", "object"])
def test_the_class_makes_no_refs_of_what_is_no_array(made, value):
    with pytest.raises(TypeError, match=r"not made by its class\.[\s\S]*`ev\.new_ref\(x\)`"):
        made(object() if value is None else value)
