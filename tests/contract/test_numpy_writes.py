"""Writes into NumPy arrays of every dtype and layout: exact, or an error that says why not.

Each cell of the tables is one program, run plainly and with `jit` on arrays of the same contents,
several times. What it leaves in the array has to agree bit by bit, for contents of which no 32-bit
image could be faithful. `REFUSED` names the cells that are errors, with a part of the text.
"""

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


def agree(program, make, *args, calls=3):
    """Check that a program does to arrays what it does plainly; `make` makes one for each call."""
    jitted = ev.jit(program)
    for k in range(calls):
        plain, ours = make(k), make(k)
        wanted, found = program(plain, *args), jitted(ours, *args)
        assert ours.dtype == plain.dtype
        assert ours.tobytes() == plain.tobytes(), f"call {k}: {ours} is not {plain}"
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
    donated = ev.jit(lambda a: a, donate_argnums=0)(a)
    assert type(donated) is ev.Array
    assert a.tolist() == [0, 1, 2]
