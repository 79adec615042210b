"""Where a Python number is an argument of our functions: another one is no other program."""

import warnings

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random

X = jnp.arange(64)

STEPS = {
    "fold_in": lambda n: random.key_data(random.fold_in(random.key(0), n)),
    "key": lambda n: random.key_data(random.key(n)),
    "PRNGKey": lambda n: random.PRNGKey(n),
    "dynamic_slice": lambda n: lax.dynamic_slice(X, (n,), (4,)),
    "dynamic_slice of two": lambda n: lax.dynamic_slice(X.reshape(8, 8), (n, X[1]), (2, 2)),
    "dynamic_slice_in_dim": lambda n: lax.dynamic_slice_in_dim(X, n, 3),
    "dynamic_update_slice": lambda n: lax.dynamic_update_slice(X, X[:4], (n,)),
    "dynamic_index_in_dim": lambda n: lax.dynamic_index_in_dim(X, n),
    "dynamic_update_index_in_dim": lambda n: lax.dynamic_update_index_in_dim(X, 1, n, 0),
    "from the front": lambda n: lax.dynamic_slice(X, (n,), (4,), allow_negative_indices=False),
    "roll": lambda n: jnp.roll(X, n),
    "roll along axes": lambda n: jnp.roll(X.reshape(8, 8), (n, -n), (0, 1)),
    "index": lambda n: X[n],
    "index beside a slice": lambda n: X.reshape(4, 4, 4)[n, 1:3],
    "index beside an array": lambda n: X.reshape(8, 8)[n, X[:3]],
    "set": lambda n: X.at[n].set(7),
    "add": lambda n: X.reshape(8, 8).at[1:3, n].add(5),
    "get": lambda n: X.at[n].get(mode="fill", fill_value=-1),
    "add to floats": lambda n: lax.add(jnp.ones(3), n),
    "add to integers": lambda n: lax.add(X, n),
    "add to bytes": lambda n: lax.add(X.astype("uint8"), n),
    "add to words": lambda n: lax.add(X.astype("uint32"), n),
    "add to complex numbers": lambda n: lax.add(1j * X, n),
}

EDGES = [0, -1, -64, -65, 63, 64, 100, -200, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40]
EDGES += [-(2**31), -(2**31) - 1, 2**63, -(2**63), 2**64, 2**70, True, False]


def outcome(fun, n):
    try:
        return np.asarray(fun(n))
    except Exception as error:
        return type(error), str(error).partition("\n")[0]


def assert_same(got, want):
    if isinstance(want, np.ndarray) and isinstance(got, np.ndarray):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    else:
        assert got == want


@pytest.mark.parametrize("name", STEPS)
def test_a_step_counter_is_one_program(name):
    use = STEPS[name]
    step = ev.jit(use)
    step.clear_cache()
    for n in range(1, 9):
        assert_same(outcome(step, n), outcome(use, n))
    assert step.cache_info().misses == 1


@pytest.mark.parametrize("name", STEPS)
def test_numbers_at_the_edges_are_as_without_jit(name):
    use = STEPS[name]
    step = ev.jit(use)
    step.clear_cache()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.errors.RetraceWarning)
        for n in [1, *EDGES]:
            assert_same(outcome(step, n), outcome(use, n))


class History:
    def __init__(self):
        self.n, self.log = 0, np.zeros(16, np.float32)
        self.table, self.rows = np.arange(16.0), np.arange(32).reshape(8, 4)


def log(self, x):
    self.log[self.n] = x.sum()
    self.n += 1


def read(self, x):
    self.n += 1
    return x * self.table[self.n] + self.rows[-self.n, 1]


def read_rows(self, x):
    self.n += 1
    return x + self.rows[self.n, 1:] + self.rows[..., self.n % 4][:3] + self.rows[None, self.n, 1:]


def write_rows(self, x):
    self.rows[self.n] = self.n
    self.rows[..., self.n % 4] = 7
    self.n += 1


def catch(self, x):
    self.n += 3
    try:
        return x * self.table[self.n]
    except IndexError as error:
        self.log[0] = len(str(error))
        return x


@pytest.mark.parametrize(
    ("step", "traces"), [(log, 1), (read, 1), (read_rows, 1), (write_rows, 1), (catch, 3)]
)
def test_numpy_arrays_are_indexed_by_a_step_counter(step, traces):
    jitted, mine, theirs = ev.jit(step), History(), History()
    jitted.clear_cache()
    for _ in range(7):
        got, want = jitted(mine, jnp.ones(3)), step(theirs, jnp.ones(3))
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
        for x, y in zip(vars(mine).values(), vars(theirs).values(), strict=True):
            assert type(x) is type(y)
            np.testing.assert_array_equal(x, y)
    assert jitted.cache_info().misses <= traces
    if step is not catch:
        mine.n = theirs.n = 100
        assert outcome(lambda _: jitted(mine, X[:3]), 0) == outcome(
            lambda _: step(theirs, X[:3]), 0
        )


def test_a_row_that_a_number_picks_is_demanded_where_it_is_stored():
    def keep(self, x):
        self.row = self.rows[self.n]
        return x * np.float32(self.row.sum())

    history, jitted = History(), ev.jit(keep)
    for history.n in (0, 1, 2, 1):
        np.testing.assert_array_equal(jitted(history, 1.0), history.rows[history.n].sum())
        assert history.row.base is not None
        assert np.shares_memory(history.row, history.rows)
