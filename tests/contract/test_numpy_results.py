"""NumPy arrays and scalars that jitted calls return or store: what plain Python would give.

A *view* of an array of the call is a view of that very array: what anyone writes to the one later
shows in the other. What the call makes is exact, in NumPy's own dtype, and one object wherever it
is found. Where nothing is shared and a dtype of ours holds it, a result is an array of ours.
"""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.test_numpy_writes import CONTENTS, MASK, NUMBERS

pytestmark = pytest.mark.engine

HAS_OWN = {
    "bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32",
    "complex64",
}  # fmt: skip
"""Dtypes that arrays of ours have, too."""


class Box:
    """Keeps what a program stores."""


def pair(dtype, k=0):
    """Return two equal arrays of a dtype, of two rows, for plain Python and for `jit`."""
    contents = np.roll(CONTENTS[dtype], k)
    return contents.copy().reshape(2, 3), contents.copy().reshape(2, 3)


def same(found, plain):
    """Check that two values are the same, of one type or an array of ours for NumPy's."""
    if isinstance(plain, list | tuple):
        assert type(found) is type(plain)
        for x, y in zip(found, plain, strict=True):
            same(x, y)
        return
    if type(found) is not type(plain):
        assert type(found) is ev.Array
    found = np.asarray(found)
    assert found.dtype == np.asarray(plain).dtype
    assert found.shape == np.shape(plain)
    if found.dtype.kind in "fc":  # NaNs, and long doubles, have bits that mean nothing
        np.testing.assert_array_equal(found, plain)
    else:
        assert found.tobytes() == np.asarray(plain).tobytes(), f"{found} is not {plain}"


# ---------------------------------------------------------------- views


VIEWS = {
    "itself": lambda a, n: a,
    "a slice": lambda a, n: a[:, 1:],
    "all of it": lambda a, n: a[:],
    "reversed": lambda a, n: a[::-1, ::-1],
    "a row": lambda a, n: a[1],
    "a row, counted": lambda a, n: a[n],
    "a slice, counted": lambda a, n: a[:, n : n + 2],
    "a row of a row": lambda a, n: a[0][1:],
    "T": lambda a, n: a.T,
    "reshape": lambda a, n: a.reshape(3, 2),
    "ravel": lambda a, n: a.ravel(),
    "a column of T": lambda a, n: a.T[0],
    "swapaxes": lambda a, n: a.swapaxes(0, 1),
    "a new axis": lambda a, n: a[None],
    "an item of 0 axes": lambda a, n: a[0, 1, ...],
    "numpy.asarray": lambda a, n: np.asarray(a),
    "numpy.asarray, a slice": lambda a, n: np.asarray(a)[1:],
    "numpy.reshape": lambda a, n: np.reshape(a, 6),
    "numpy.transpose": lambda a, n: np.transpose(a),
    "numpy.broadcast_to": lambda a, n: np.broadcast_to(a, (2, 2, 3)),
    "the bytes": lambda a, n: a.view(np.uint8),
}
TAKEN = {
    "returned": (lambda view, box: view, lambda found, box: found),
    "stored": (lambda view, box: setattr(box, "kept", view), lambda found, box: box.kept),
    "returned in a list, and stored": (
        lambda view, box: setattr(box, "kept", view) or [view, 1],
        lambda found, box: found[0],
    ),
    "in an object that is returned": (
        lambda view, box: setattr(made := Box(), "kept", view) or made,
        lambda found, box: found.kept,
    ),
}


@pytest.mark.parametrize("dtype", CONTENTS)
@pytest.mark.parametrize("take", TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_is_one_of_the_array_of_that_call(view, take, dtype):
    give, find = take

    def program(a, n, box):
        return give(view(a, n), box)

    jitted = ev.jit(program)
    for k in range(2):
        (plain, ours), boxes = pair(dtype, k), (Box(), Box())
        wanted = find(program(plain, 0, boxes[0]), boxes[0])
        found = find(jitted(ours, 0, boxes[1]), boxes[1])
        same(found, wanted)
        assert type(found) is np.ndarray
        assert (found is ours) == (wanted is plain)
        assert (found.strides, found.flags.writeable) == (wanted.strides, wanted.flags.writeable)
        assert np.may_share_memory(found, ours)
        if boxes[1].__dict__:
            assert found is boxes[1].kept
        plain[:], ours[:] = plain[::-1].copy(), plain[::-1].copy()
        same(found, wanted)


@pytest.mark.parametrize("dtype", [k for k in NUMBERS if k != "longdouble"])
@pytest.mark.parametrize("index", ["int", "array"])
def test_a_view_at_an_index_that_changes_is_one_program(dtype, index):
    kind = {"int": int, "array": jnp.asarray}[index]
    jitted = ev.jit(lambda a, i: (a[i], a[i, 1:]))
    for i in (0, 1, -1, 0):
        _, a = pair(dtype)
        for found, wanted in zip(jitted(a, kind(i)), (a[i], a[i, 1:]), strict=True):
            assert found.__array_interface__ == wanted.__array_interface__
    assert jitted.cache_info().misses == 1


def test_a_view_at_a_traced_index_is_numpys_where_the_index_is_known():
    table = np.arange(6.0).reshape(3, 2) * 2.0**40
    read = ev.jit(lambda i: table[i])
    with pytest.raises(IndexError, match="out of bounds"):
        read(jnp.int32(3))
    assert np.shares_memory(read(jnp.int32(2)), table)
    assert ev.vmap(read)(jnp.arange(2)).tolist() == table[:2].tolist()


def test_what_was_written_shows_in_views():
    def step(a):
        view = a[1]
        view[0] = 2.0**70 + 1
        a[0] = view
        return view, a[:, 0]

    plain, ours = pair("float64")
    jitted = ev.jit(step)
    for _ in range(2):
        wanted, found = step(plain), jitted(ours)
        same(found, wanted)
        assert all(np.shares_memory(x, ours) for x in found)


def test_a_view_of_a_copy_in_another_order_is_refused():
    names = np.array(["a", "b", "c", "d"])[::2]
    with pytest.raises(TypeError, match="would share memory") as caught:
        ev.jit(lambda: names[1:])()
    assert "copy it" in str(caught.value)
    assert ev.jit(lambda: names[1:].copy())().tolist() == ["c"]


# ---------------------------------------------------------------- what a call makes


MADE = {
    "copy": lambda a: a.copy(),
    "chosen": lambda a: a[[1, 0, 0]],
    "by a mask": lambda a: a.ravel()[MASK],
    "an element": lambda a: a[0, 1],
    "numpy.sort": lambda a: np.sort(a.ravel()[1:3]),
    "numpy.concatenate": lambda a: np.concatenate([a, a[::-1]]),
    "equal": lambda a: a == a[0, 0],
    "numpy.zeros_like": lambda a: np.zeros_like(a),
    "a view of a copy": lambda a: a.copy()[1:],
}
OF_NUMBERS = {
    "+": lambda a: a + a[0, 0],
    "sum": lambda a: a.sum(0),
    "max": lambda a: (a.max(), a.min()),
    "where": lambda a: np.where(a == a[0, 0], a, 0),
    "numpy.maximum": lambda a: np.maximum(a, a[0]),
}
COMPUTED = [(k, f, d) for d in CONTENTS for k, f in MADE.items()]
COMPUTED += [(k, f, d) for d in NUMBERS for k, f in OF_NUMBERS.items()]


@pytest.mark.parametrize(
    ("program", "dtype"), [x[1:] for x in COMPUTED], ids=[f"{x[0]}-{x[2]}" for x in COMPUTED]
)
def test_what_a_call_makes_is_exact(program, dtype):
    jitted = ev.jit(lambda a: program(a))
    for k in range(2):
        plain, ours = pair(dtype, k)
        with np.errstate(all="ignore"):
            wanted = program(plain)
        found = jitted(ours)
        same(found, wanted)
        results = found if type(found) is tuple else (found,)
        for x, y in zip(results, wanted if type(wanted) is tuple else (wanted,), strict=True):
            assert (type(x) is ev.Array) == (y.dtype in {CONTENTS[d].dtype for d in HAS_OWN})
            assert not np.may_share_memory(np.asarray(x), ours)


@pytest.mark.parametrize("make", [lambda a: a * 2, lambda a: a.copy(), lambda a: np.array([2**40])])
@pytest.mark.parametrize("dtype", ["int64", "int32", "float64", "float32"])
def test_what_is_stored_and_returned_is_one_object(make, dtype):
    @ev.jit
    def step(box, a):
        box.kept = make(a)
        box.part = box.kept[:1]
        return box.kept, box.part, {"kept": box.kept}

    last = None
    for _ in range(2):
        box, (plain, ours) = Box(), pair(dtype)
        kept, part, also = step(box, ours)
        assert kept is box.kept is also["kept"] is not last
        assert part is box.part
        same(kept, make(plain))
        kept[:1] = 7
        assert part.ravel()[0] == 7
        last = kept


SCALARS = [np.int64(2**40 + 1), np.uint64(2**64 - 1), np.float64(1e300), np.complex128(1e300j)]


@pytest.mark.parametrize("value", [*SCALARS, np.str_("a"), np.datetime64("2020-01-01")])
def test_a_scalar_that_no_array_of_ours_holds_stays_numpys(value):
    box = Box()
    jitted = ev.jit(lambda x: setattr(box, "kept", x) or (x, [x]))
    for _ in range(2):
        found, (inner,) = jitted(value)
        assert type(found) is type(inner) is type(box.kept) is type(value)
        assert found == inner == box.kept == value


@pytest.mark.parametrize("value", [*SCALARS, np.float32(0.1), np.True_])
@pytest.mark.parametrize(
    "convert", [lambda v, n: complex(v), lambda v, n: complex(v, n), lambda v, n: complex(n, v)]
)
def test_complex_numbers_are_made_of_numpys_scalars(convert, value):
    def step(box, v, n):
        box.kept = convert(v, n)

    plain, ours, jitted = Box(), Box(), ev.jit(step)
    for n in (2, 3):
        step(plain, value, n), jitted(ours, value, n)
        assert type(ours.kept) is complex
        assert ours.kept == plain.kept


def test_what_numpys_scalars_do_not_have_is_an_error_in_pythons_words():
    with pytest.raises(TypeError, match="complex128 doesn't define __round__"):
        round(np.complex128(1j))
    with pytest.raises(TypeError, match="complex128 doesn't define __round__"):
        ev.jit(lambda x: round(x))(np.complex128(1j))


def test_scalars_are_arrays_where_ours_hold_them():
    for value in (np.float32(1.5), np.int8(3), np.bool_(True)):
        found = ev.jit(lambda x: x)(value)
        assert type(found) is ev.Array
        assert found.dtype == value.dtype


def test_with_64_bits_what_is_computed_is_an_array_of_ours():
    with ev.enable_x64(True):
        a = np.array([2**40, 1])
        found = ev.jit(lambda a: (a * 2, a[0], a[:1]))(a)
    assert [type(x) for x in found] == [ev.Array, ev.Array, np.ndarray]
    assert found[0].tolist() == [2**41, 2]
    assert found[2].base is a


def test_a_donated_array_is_not_shared():
    for a in (np.arange(3.0) + 2.0**40, np.arange(3, dtype=np.float32)):
        before = a.copy()
        found = ev.jit(lambda a: (a, a[1:]), donate_argnums=0)(a)
        a[:] = 0
        assert found[0].tolist() == before.tolist()
        assert found[1].tolist() == before[1:].tolist()
