"""Writes into NumPy arrays of every dtype and layout: exact, or an error that says why not.

Each cell of the tables is one program, run plainly and with `jit` on arrays of the same contents,
several times. What it leaves in the array has to agree bit by bit, for contents of which no 32-bit
image could be faithful. `REFUSED` names the cells that are errors, with a part of the text.
"""

import operator

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

pytestmark = pytest.mark.engine

# ---------------------------------------------------------------- contents

FLOATS = [0.1, -1.5, 1 / 3, 100.25, 2.0, 7.0]
BIG = [5, 2**40 + 1, -(2**62) + 3, 7, 2**31, -9]

CONTENTS = {
    "bool": np.array([True, False, True, True, False, False]),
    "int8": np.array([5, -128, 127, 0, 3, -4], np.int8),
    "int16": np.array([5, -(2**15), 2**15 - 1, 0, 3, -4], np.int16),
    "int32": np.array([5, -(2**31), 2**31 - 1, 0, 3, -4], np.int32),
    "int64": np.array(BIG),
    "uint8": np.array([5, 255, 0, 9, 3, 250], np.uint8),
    "uint16": np.array([5, 2**16 - 1, 0, 9, 3, 250], np.uint16),
    "uint32": np.array([5, 2**32 - 1, 0, 9, 3, 250], np.uint32),
    "uint64": np.array([5, 2**64 - 1, 0, 2**53 + 1, 3, 250], np.uint64),
    "float16": np.array(FLOATS, np.float16),
    "float32": np.array(FLOATS, np.float32),
    "float64": np.array([0.1, 1e300, -1e-300, np.nan, np.inf, 1 / 3]),
    "longdouble": np.array(FLOATS, np.longdouble) / 3,
    "complex64": np.array(FLOATS, np.complex64) * 1j,
    "complex128": np.array([0.1 + 1e300j, 1e-300, 2j, 3.5, -0.1j, 1 / 3]),
    "datetime64": np.array(["2020-01-01", "NaT", "1999-12-31", "2030-06-01"] * 2, "M8[ns]")[:6],
    "timedelta64": np.array([1, 2**40, -5, 0, 3, 9], "m8[ns]"),
    "str": np.array(["a", "bcd", "", "xy", "z", "q"]),
    "bytes": np.array([b"a", b"bcd", b"", b"xy", b"z", b"q"]),
    "structured": np.array([(k, k / 3) for k in range(6)], [("n", "i8"), ("x", "f8")]),
    "big-endian int64": np.array(BIG, ">i8"),
    "big-endian float64": np.array([0.1, 1e300, -1e-300, 5.0, np.inf, 1 / 3], ">f8"),
}

LAYOUTS = {
    "contiguous": lambda a: a.copy(),
    "every second": lambda a: np.repeat(a, 2)[::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
}

MASK = np.array([True, False, True, False, False, True])
PLACES = np.array([5, 5, 1])

NUMBERS = [k for k in CONTENTS if CONTENTS[k].dtype.kind in "biufc"]
REALS = [k for k in NUMBERS if CONTENTS[k].dtype.kind in "iuf"]
TRACED = [k for k in NUMBERS if k != "longdouble"]


def bits(a):
    """Return the bytes of an array that count: a longdouble of 80 bits is padded with any."""
    size = 10 if a.dtype == np.longdouble and np.finfo(a.dtype).nmant == 63 else a.itemsize
    return np.frombuffer(a.tobytes(), np.uint8).reshape(-1, a.itemsize)[:, :size].tobytes()


def agree(program, make, *args, calls=3):
    """Check that a program does to arrays what it does plainly; `make` makes one for each call."""
    jitted = ev.jit(program)
    for k in range(calls):
        plain, ours = make(k), make(k)
        wanted, found = program(plain, *args), jitted(ours, *args)
        assert ours.dtype == plain.dtype
        assert bits(ours) == bits(plain), f"call {k}: {ours} is not {plain}"
        assert (found is ours) == (wanted is plain)
    return jitted


# ---------------------------------------------------------------- constants of the array's own


def set_item(a):
    a[0] = a.flat[1] if a.dtype.kind == "V" else a[1]


def set_slice(a):
    a[1:4] = a[2:5]


def set_mask(a, mask=MASK):
    a[mask] = a[4]


def set_places(a):
    a[[0, 2]] = a[5]


def set_array(a, index=PLACES):
    a[index] = a[:3]


def set_all(a):
    a[...] = a[3]


def fill(a):
    a.fill(a[2])


def copy_to(a):
    np.copyto(a, a[1])


def copy_where(a, mask=MASK):
    np.copyto(a, a[1], where=mask)


def through_a_view(a):
    view = a[1:]
    view[1:3] = a[0]


def through_a_matrix(a):
    view = a.reshape(2, 3)
    view[1] = view[0]


MOVES = [
    set_item, set_slice, set_mask, set_places, set_array, set_all, fill, copy_to, copy_where,
    through_a_view,
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", CONTENTS)
@pytest.mark.parametrize("program", MOVES, ids=lambda f: f.__name__)
def test_moving_elements_is_exact(program, dtype, layout):
    agree(program, lambda k: LAYOUTS[layout](np.roll(CONTENTS[dtype], k)))


@pytest.mark.parametrize("dtype", TRACED)
@pytest.mark.parametrize("program", MOVES, ids=lambda f: f.__name__)
def test_moving_numbers_is_one_program(program, dtype):
    jitted = agree(program, lambda k: np.roll(CONTENTS[dtype], k))
    assert jitted.cache_info().misses == 1


def test_writes_through_a_reshape_depend_on_the_layout():
    contents = np.arange(6.0) / 3
    jitted = agree(through_a_matrix, lambda k: contents + k)
    agree(through_a_matrix, lambda k: np.repeat(contents, 2)[::2])
    assert jitted.cache_info().misses == 2


# ---------------------------------------------------------------- identity


RETURNED = {
    "an argument": lambda a, table: a,
    "in a tuple": lambda a, table: (a, 1.0, a),
    "in a dict in a list": lambda a, table: [{"a": a}, table],
    "a captured array": lambda a, table: table,
    "written to": lambda a, table: (a.fill(1), a)[1],
}


@pytest.mark.parametrize("dtype", ["float64", "int8", "str", "datetime64", "longdouble"])
@pytest.mark.parametrize("program", RETURNED.values(), ids=RETURNED)
def test_a_returned_array_is_that_array(program, dtype):
    table = CONTENTS[dtype].copy()
    jitted = ev.jit(lambda a: program(a, table))
    for _ in range(2):
        a = CONTENTS[dtype].copy()
        wanted, found = ev.tree.leaves(program(a, table)), ev.tree.leaves(jitted(a))
        for x, y in zip(wanted, found, strict=True):
            assert x is y or not isinstance(x, np.ndarray)


def test_what_an_object_returns_of_its_own_is_that():
    class Model:
        def __init__(self):
            self.table, self.names = np.arange(3.0), np.array(["a", "b"])

        @ev.jit
        def read(self):
            return self.table, self.names

        @ev.jit
        def swap(self, other):
            self.table, other = other, self.table
            return other

    m = Model()
    for _ in range(2):
        table, names = m.read()
        assert table is m.table
        assert names is m.names
        new = np.ones(3)
        assert m.swap(new) is table
        assert m.table is new


def test_by_strict_rules_and_inside_transformations_results_are_arrays():
    a = np.arange(3.0)
    with ev.strict():
        assert type(ev.jit(lambda a: a)(a)) is ev.Array
    assert type(ev.vmap(ev.jit(lambda x: x))(a)) is ev.Array
    assert ev.vmap(ev.jit(lambda x: a))(jnp.ones(2)).shape == (2, 3)
    assert ev.jit(ev.grad(lambda a: jnp.sum(a * a)))(a).tolist() == [0, 2, 4]
    assert ev.jit(lambda x: ev.lax.scan(lambda c, x: (c, x), 0, x)[1])(a).tolist() == [0, 1, 2]
    donated = ev.jit(lambda a: a, donate_argnums=0)(a.astype(np.float32))
    assert type(donated) is ev.Array
    assert a.tolist() == [0, 1, 2]


# ---------------------------------------------------------------- values that come from elsewhere


def value_of(dtype):
    """Return a number that a dtype holds and no narrower one."""
    kind = np.dtype(CONTENTS[dtype].dtype).kind
    return {"b": True, "i": 3, "u": 3, "f": 0.1, "c": 0.1 + 0.3j}[kind]


FROM = {
    "a number": lambda a, v, b, x: operator.setitem(a, 0, v),
    "a number to a slice": lambda a, v, b, x: operator.setitem(a, slice(1, 4), v),
    "a number to a mask": lambda a, v, b, x: operator.setitem(a, MASK, v),
    "a number to places": lambda a, v, b, x: operator.setitem(a, [0, 2], v),
    "a number to all": lambda a, v, b, x: a.fill(v),
    "an array": lambda a, v, b, x: operator.setitem(a, slice(None), b),
    "part of an array": lambda a, v, b, x: operator.setitem(a, slice(2), b[3:5]),
    "an array, by copyto": lambda a, v, b, x: np.copyto(a, b),
    "an array, where": lambda a, v, b, x: np.copyto(a, b, where=MASK),
    "an array, by putmask": lambda a, v, b, x: np.putmask(a, MASK, b),
    "a number, by put": lambda a, v, b, x: a.put([1, 5], v),
    "ours": lambda a, v, b, x: operator.setitem(a, slice(3), x),
    "one of ours": lambda a, v, b, x: operator.setitem(a, 4, x[1]),
}


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("program", FROM.values(), ids=FROM)
def test_what_is_written_is_exact(program, dtype):
    contents = CONTENTS[dtype]
    x = jnp.asarray(np.array([1, 0, 1], np.complex64 if contents.dtype.kind == "c" else np.int8))

    def write(a, v, b):
        program(a, v, b, x)

    jitted = ev.jit(write)
    if dtype == "longdouble" and program in (FROM["ours"], FROM["one of ours"]):
        with pytest.raises(ev.errors.EvertraceError):
            jitted(contents.copy(), 1, contents)
        return
    for k, v in enumerate([value_of(dtype)] * 2 + [value_of(dtype) * 1]):
        plain, ours, b = np.roll(contents, k), np.roll(contents, k), contents[::-1].copy()
        write(plain, v, b), jitted(ours, v, b)
        assert bits(ours) == bits(plain), f"call {k}: {ours} is not {plain}"


COMPUTED = {
    "a += v": lambda a, b: operator.iadd(a, 3),
    "a *= v": lambda a, b: operator.imul(a, 2),
    "a -= b": lambda a, b: operator.isub(a, b),
    "a[1:4] *= 2": lambda a, b: operator.imul(a[1:4], 2),
    "a[::2] += b[::2]": lambda a, b: operator.iadd(a[::2], b[::2]),
    "a.sort()": lambda a, b: a.sort(),
    "add(out=a)": lambda a, b: np.add(a, b, out=a),
    "negative(out=a)": lambda a, b: np.negative(a, out=a),
    "clip(out=a)": lambda a, b: a.clip(1, 5, out=a),
    "a[:] = b * 2 - a": lambda a, b: operator.setitem(a, slice(None), b * 2 - a),
    "a[a > b] = 0": lambda a, b: operator.setitem(a, a > b, 0),
    "a[0] = a[1] + a[2]": lambda a, b: operator.setitem(a, 0, a[1] + a[2]),
}


@pytest.mark.parametrize("dtype", [k for k in REALS if k != "longdouble"])
@pytest.mark.parametrize("program", COMPUTED.values(), ids=COMPUTED)
def test_what_numpy_computes_and_writes_is_exact(program, dtype):
    contents = CONTENTS[dtype]

    def write(a, b):
        program(a, b)

    jitted = ev.jit(write)
    for k in range(3):
        plain, ours, b = np.roll(contents, k), np.roll(contents, k), contents[::-1].copy()
        with np.errstate(all="ignore"):
            write(plain, b)
        jitted(ours, b)
        np.testing.assert_array_equal(ours, plain, strict=True)


def test_one_program_writes_numbers_that_change():
    def write(a, b, v):
        a[0] = v
        a[1:3] += v
        b[v] = 2.0**0.5 * v

    jitted = ev.jit(write)
    for v in range(1, 5):
        plain, ours = [(CONTENTS["int64"].copy(), CONTENTS["float64"].copy()) for _ in range(2)]
        write(*plain, v), jitted(*ours, v)
        for x, y in zip(plain, ours, strict=True):
            assert x.tobytes() == y.tobytes()
    assert jitted.cache_info().misses == 1


def test_writes_are_repeated_in_their_order():
    def write(a, x):
        before = a[1]
        a[1] = x[0]
        view = a[1:4]
        view[0] += 2.0
        a[2:] = view[0]
        view[1] = before
        return jnp.sum(jnp.asarray(a))

    jitted = ev.jit(write)
    for k in range(3):
        plain, ours = CONTENTS["big-endian float64"][[0, 2, 3, 5]] + np.full((2, 4), k)
        x = jnp.ones(2) * k
        wanted, found = write(plain, x), jitted(ours, x)
        assert ours.tobytes() == plain.tobytes()
        np.testing.assert_allclose(found, wanted)


def test_arrays_that_come_to_share_memory_are_refused():
    def write(a, b, x):
        a[0] = x[0]
        return b * 1

    jitted, a, b = ev.jit(write), np.zeros(3), np.zeros(3)
    for _ in range(2):
        assert jitted(a, b, jnp.ones(2)).tolist() == [0, 0, 0]
    assert jitted.cache_info().misses == 1
    a[:] = 0
    with pytest.raises(ev.errors.ImpurityError, match="a, which is written to, shares memory"):
        jitted(a, a[:], jnp.ones(2))
    assert a.tolist() == [0, 0, 0]
    assert jitted(a, a, jnp.ones(2)).tolist() == [1, 0, 0]


def test_loops_write_exactly():
    def write(a, x):
        def body(i, total):
            a[i] = a[i] * 2 + 1
            return total + x[0]

        return ev.lax.fori_loop(0, 3, body, 0.0)

    a = CONTENTS["int64"].copy()
    ev.jit(write)(a, jnp.ones(2))
    assert a.tolist() == [v * 2 + 1 for v in BIG[:3]] + BIG[3:]


# ---------------------------------------------------------------- what is read, stored, computed


STORED = {
    "sum": lambda a: a.sum(),
    "numpy.sum": np.sum,
    "mean": lambda a: a.mean(),
    "product by a number": lambda a: a * 3,
    "quotient": lambda a: a // 7,
    "difference of scalars": lambda a: a[1] - a[0],
    "comparison": lambda a: a > 2**40,
    "itself": lambda a: a,
    "an element": lambda a: a[1],
    "a view": lambda a: a[1:3],
    "a cast": lambda a: a.astype("int64"),
    "a maximum": lambda a: np.maximum(a, 7),
    "in a list": lambda a: [a.max(), {"least": a.min()}],
}


@pytest.mark.parametrize(
    "dtype", ["int8", "int32", "uint32", "int64", "uint64", "big-endian int64"]
)
@pytest.mark.parametrize("program", STORED.values(), ids=STORED)
def test_what_is_stored_is_exact(program, dtype):
    class Box:
        pass

    def store(box, a):
        box.kept = program(a)

    contents, jitted = CONTENTS[dtype], ev.jit(store)
    for k in range(3):
        plain, ours, a = Box(), Box(), np.roll(contents, k)
        with np.errstate(all="ignore"):
            store(plain, a)
        jitted(ours, a)
        pairs = zip(ev.tree.leaves(plain.kept), ev.tree.leaves(ours.kept), strict=True)
        for x, y in pairs:
            assert type(x) is type(y)
            np.testing.assert_array_equal(y, x, strict=True)


def test_integers_that_no_dtype_of_ours_holds_are_what_they_are_without_jit():
    f, x = ev.jit(lambda x, n: x * n), jnp.ones(2)
    for n in (3, 2**31, 2**70, -(2**31) - 1, 4):
        assert f(x, n).tolist() == (x * n).tolist()
    with pytest.raises(OverflowError, match="too large to convert to int32"):
        f(jnp.arange(2), 2**31)
    assert f(jnp.arange(2, dtype=jnp.uint32), 2**31).tolist() == [0, 2**31]


def test_wide_arrays_enter_programs_that_are_transformed():
    table = np.array([2**40, 5])
    f = ev.jit(lambda x: x * (table // 2**38))
    assert ev.vmap(f)(jnp.ones((3, 2))).tolist() == [[4, 0]] * 3
    assert ev.grad(lambda x: jnp.sum(f(x)))(jnp.ones(2)).tolist() == [4, 0]
    assert (
        ev.jit(lambda x: ev.lax.scan(lambda c, x: (c, f(x)), 0, x)[1])(jnp.ones((3, 2))).tolist()
        == [[4, 0]] * 3
    )


def test_differences_of_large_numbers_keep_their_digits():
    times = np.array([1.7e9, 1.7e9 + 0.25, 1.7e9 + 3])
    start, ticks = np.float64(1.7e9), np.array([2**40, 2**40 + 5])
    f = ev.jit(lambda x, t: (x * (t - start), x * (ticks[1] - ticks[0])))
    elapsed, five = f(jnp.float32(2), times)
    assert elapsed.tolist() == [0, 0.5, 6]
    assert float(five) == 10


def test_ours_reads_what_was_written():
    def f(a):
        a[0] = 2**40
        a[1] = 3
        return jnp.asarray(a // 2**38), jnp.asarray(a)

    a = np.array([5, 6, 7])
    quotient, image = ev.jit(f)(a)
    assert a.tolist() == [2**40, 3, 7]
    assert quotient.tolist() == [4, 0, 0]
    assert image.tolist() == [0, 3, 7]  # as without `jit`: conversion keeps the last 32 bits


# ---------------------------------------------------------------- what is refused


def frozen():
    """Return an array that is read-only."""
    a = np.arange(3.0)
    a.flags.writeable = False
    return a


REFUSED = {
    "a read-only array": (lambda a: a.fill(1), frozen, ValueError, "destination is read-only"),
    "a number out of range": (
        lambda a: operator.setitem(a, 0, 300),
        lambda: np.zeros(3, np.uint8),
        OverflowError,
        "out of bounds for uint8",
    ),
    "a complex number": (
        lambda a: operator.setitem(a, 0, 1j),
        lambda: np.zeros(3),
        TypeError,
        "complex",
    ),
    "a text": (
        lambda a: operator.setitem(a, 0, "one"),
        lambda: np.zeros(3),
        ValueError,
        "could not convert string",
    ),
    "an index": (
        lambda a: operator.setitem(a, 5, 1),
        lambda: np.zeros(3),
        IndexError,
        "index 5 is out of bounds",
    ),
    "places": (lambda a: a.take([0, 9]), lambda: np.zeros(3), IndexError, "index 9 is out of"),
    "a cast": (
        lambda a: operator.iadd(a, 0.5),
        lambda: np.zeros(3, int),
        TypeError,
        "Cannot cast ufunc 'add' output",
    ),
    "out=, a cast": (
        lambda a: np.add(a, 0.5, out=a),
        lambda: np.zeros(3, int),
        TypeError,
        "Cannot cast ufunc 'add' output",
    ),
    "out=, a shape": (
        lambda a: np.add(a, np.ones((2, 3)), out=a),
        lambda: np.zeros(3),
        ValueError,
        "non-broadcastable output operand",
    ),
    "copyto, a cast": (
        lambda a: np.copyto(a, np.ones(3)),
        lambda: np.zeros(3, int),
        TypeError,
        "Cannot cast array data",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused_with_the_line(name):
    program, make, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        program(make())
    a = make()
    with pytest.raises(error, match=text) as caught:
        ev.jit(program)(a)
    assert "test_numpy_writes.py:" in str(caught.value)
    assert "Fix: " in str(caught.value)
    assert a.tolist() == make().tolist()


ONLY_WITH_JIT = {
    "shape": (lambda a: setattr(a, "shape", (3, 1)), AttributeError, "attributes of a NumPy array"),
    "real": (lambda a: setattr(a, "real", 1.0), AttributeError, "attributes of a NumPy array"),
    "add.at": (lambda a: np.add.at(a, [0, 0], 1), TypeError, "cannot be written to this way"),
    "place": (lambda a: np.place(a, a > 0, [5]), TypeError, "cannot be written to this way"),
    "out= with where=": (
        lambda a: np.add(a, 1, out=a, where=MASK[:3]),
        TypeError,
        "cannot be written to this way",
    ),
    "a view of another dtype": (
        lambda a: operator.setitem(a.view(np.int64), 0, 1),
        TypeError,
        "view of another dtype",
    ),
}


@pytest.mark.parametrize("name", ONLY_WITH_JIT)
def test_what_cannot_be_made_again_is_refused(name):
    program, error, text = ONLY_WITH_JIT[name]
    a = np.arange(3.0)
    with pytest.raises(error, match=text) as caught:
        ev.jit(lambda a: program(a))(a)
    assert "test_numpy_writes.py:" in str(caught.value)
    assert "docs numpy-writes`" in str(caught.value)
    assert a.tolist() == [0, 1, 2]


def test_an_array_that_has_become_read_only_is_refused_and_nothing_changes():
    class Run:
        def __init__(self):
            self.n, self.a = 0, np.arange(3.0)

        @ev.jit
        def step(self, x):
            self.n += 1
            self.a[0] = x[0]

    run = Run()
    run.step(jnp.ones(2))
    run.a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        run.step(jnp.zeros(2))
    assert (run.n, run.a.tolist()) == (1, [1, 1, 2])


def test_read_only_texts_are_refused_by_numpy():
    a = np.array(["a", "b"])
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ev.jit(lambda a: operator.setitem(a, 0, "c"))(a)
    assert a.tolist() == ["a", "b"]


def test_a_file_in_memory_is_read_but_not_written(tmp_path):
    a = np.memmap(tmp_path / "a", "f8", "w+", shape=(2,))
    f = ev.jit(lambda a: a * 2)
    for a[0] in (1, 3):
        assert f(a).tolist() == [2 * a[0], 0]
    with pytest.raises(TypeError, match="immutable"):
        ev.jit(lambda a: operator.setitem(a, 0, 5))(a)


@pytest.mark.parametrize("kind", [np.ma.MaskedArray, np.matrix, np.recarray])
def test_kinds_of_arrays_with_rules_of_their_own_are_refused_by_name(kind):
    made = {
        np.ma.MaskedArray: lambda: np.ma.array([1.0, 2.0], mask=[0, 1]),
        np.matrix: lambda: np.arange(4.0).reshape(2, 2).view(np.matrix),
        np.recarray: lambda: np.zeros(2, [("x", "f8")]).view(np.recarray),
    }[kind]()
    with pytest.raises(ev.errors.OpaqueStateError, match=kind.__name__):
        ev.jit(lambda a: a * 2)(made)
