"""Where a Python number is an argument of our functions: another one is no other program.

`test_numbers_that_change` walks all tables of `tests.oracle` and makes each number in them one that
changes between four calls. What is traced anew for each is in `SPECIALISED`, with the reason.
"""

import contextlib
import functools
import re
import warnings

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import errors, lax, random
from tests.contract.changing import slots
from tests.oracle.cases import record
from tests.oracle.registry import TABLES

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
    "insert": lambda n: jnp.insert(X.reshape(8, 8), n, X[:3, None], axis=0),
    "insert into a vector": lambda n: jnp.insert(X, n, 7),
    "delete": lambda n: jnp.delete(X.reshape(4, 16), n, axis=1),
    "trace": lambda n: jnp.trace(X.reshape(8, 4, 2), n, 0, 2),
    "eye": lambda n: jnp.eye(4, 5, n),
    "tri": lambda n: jnp.tri(4, k=n),
    "tril": lambda n: jnp.tril(X.reshape(4, 16), n),
    "triu": lambda n: jnp.triu(X.reshape(16, 4), n),
    "reduce": lambda n: lax.reduce(X, n, lax.add, (0,)),
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


@pytest.mark.parametrize("name", STEPS)
def test_numbers_are_as_without_jit_in_64_bits(name):
    use = STEPS[name]
    with ev.enable_x64(True):
        step = ev.jit(use)
        step.clear_cache()
        for n in (1, 2, 0, -1, -65, 100, 255, 2**31 - 1, -(2**31), 2**63, -(2**70)):
            assert_same(outcome(step, n), outcome(use, n))


def test_explanations_name_the_number_and_not_what_is_done_to_it():
    jitted = ev.jit(lambda n: lax.dynamic_slice(X, (n,), (4,))[n + 1])
    jitted(1)
    text = str(jitted.explain())
    assert "n: i32[] weak" in text
    assert "n + 1: i32[] weak" in text
    assert "_place" not in text


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


# ---------------------------------------------------------------- everything that is public

SKIPPED = frozenset({
    "debug", "devices", "errors", "example_libraries", "experimental", "export", "generator",
    "jaxprs", "names", "ref", "rnn", "sharding", "smoke", "tree",
})  # fmt: skip
"""Tables without numbers that could change: of names, errors, places, of what has state."""


def leaves(result):
    found = []
    structure = record(ev, result, found)
    return structure, [(np.asarray(x.value), x.dtype) for x in found]


def kinds(found):
    structure, arrays = found
    text = [x.item() if x.dtype.kind == "U" else x.shape for x, _ in arrays]
    return structure, text, [dtype for _, dtype in arrays]


def plain(slot):
    """Return the call of a slot, and up to four numbers with what it gives, of one type."""
    found = []
    try:
        use = slot.make()
    except Exception:
        return None, []
    for n in slot.values():
        with contextlib.suppress(Exception):
            found.append((n, leaves(use(n))))
        if found and kinds(found[-1][1]) != kinds(found[0][1]):
            return use, []
        if len(found) == 4:
            break
    return use, found


def agree(got, want):
    for (x, _), (y, _) in zip(got[1], want[1], strict=True):
        if y.dtype.kind in "fc":
            np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-3)
        elif y.dtype.kind != "V":
            np.testing.assert_array_equal(x, y)


def judged(slot):
    """Return how many programs the calls of a slot make: 0 if none can be, as in JAX."""
    use, calls = plain(slot)
    if len(calls) < 2:
        return None
    traced = ev.jit(use)
    traced.clear_cache()
    misses = traced.cache_info().misses
    for n, want in calls:
        try:
            got = leaves(traced(n))
        except (errors.ConcretizationTypeError, errors.TracerArrayConversionError):
            return 0  # of arrays: what they hold decides a shape, or is asked for by NumPy
        agree(got, want)
    return traced.cache_info().misses - misses


NUMBERS_ONLY = frozenset({"special", "stats"})
"""Tables of many functions that take all arrays alike: numbers are not put in their place."""

FAST = frozenset({"creation", "general", "indexing", "lax", "nn", "numpy"})
"""Tables that are walked each time; the others in the whole run."""

UNEQUAL = {
    "lax.gather: slice_sizes[]": "the size of a dimension that is dropped is 1; 0 is not refused",
    "lax.polygamma: m as float": "of an order that is no integer, XLA gives NaN",
}
"""Places whose plain results are not those of a compiled program, numbers or not."""

SPECIALISED = {
    "an axis": """
        0: array.cumsum
        axes: numpy.fft.fftshift numpy.fft.ifftshift scipy.fft.dctn scipy.fft.idctn
            scipy.signal.fftconvolve
        axes[]: numpy.fft.fft2 numpy.fft.fftn numpy.fft.fftshift numpy.fft.ifft2
            numpy.fft.ifftn numpy.fft.ifftshift numpy.fft.irfft2 numpy.fft.irfftn
            numpy.fft.rfft2 numpy.fft.rfftn numpy.linalg.tensorsolve numpy.permute_dims
            scipy.fft.dctn scipy.fft.idctn scipy.signal.fftconvolve
        axes[][]: numpy.linalg.tensordot
        axis: array.argsort lax.associative_scan lax.cumlogsumexp lax.cumsum
            lax.dynamic_update_index_in_dim lax.dynamic_update_slice_in_dim lax.split nn.glu
            nn.softmax nn.standardize numpy.add.accumulate numpy.argsort numpy.average
            numpy.bitwise_and.accumulate numpy.bitwise_or.accumulate
            numpy.bitwise_xor.accumulate numpy.cumprod numpy.cumsum numpy.expand_dims
            numpy.fft.fft numpy.fft.ifft numpy.flip numpy.gradient numpy.linalg.cross
            numpy.linalg.norm numpy.linalg.vecdot numpy.logaddexp.accumulate
            numpy.logaddexp2.accumulate numpy.logical_and.accumulate
            numpy.logical_or.accumulate numpy.logical_xor.accumulate
            numpy.maximum.accumulate numpy.min numpy.minimum.accumulate
            numpy.multiply.accumulate numpy.nancumprod numpy.nancumsum numpy.put_along_axis
            numpy.repeat numpy.roll numpy.sort numpy.split numpy.stack
            numpy.subtract.accumulate numpy.take_along_axis numpy.var random.permutation
            scipy.fft.dct scipy.fft.idct scipy.integrate.trapezoid scipy.signal.csd
            scipy.signal.detrend scipy.signal.stft scipy.signal.welch
            scipy.special.log_softmax scipy.special.softmax scipy.stats.rankdata
        axis[]: nn.log_softmax numpy.add.reduce numpy.any numpy.linalg.norm
            numpy.linalg.vector_norm numpy.max numpy.mean numpy.roll numpy.std numpy.sum
            scipy.special.softmax
        dimension: lax.broadcasted_iota lax.sort
        freq_axis: scipy.signal.istft
        in_axes[]: vmap
        out_axes[]: vmap
        scatter_dims_to_operand_dims[]: lax.ScatterDimensionNumbers
        start_index_map[]: lax.GatherDimensionNumbers
        time_axis: scipy.signal.istft
    """,
    "a size, or what decides one": """
        0[]: array.reshape lax.broadcast_shapes numpy.broadcast_shapes
        1[]: lax.broadcast_shapes numpy.broadcast_shapes
        a: random.choice
        a[]: numpy.size
        a[][]: numpy.shape
        bp: scipy.signal.detrend
        bp[]: scipy.signal.detrend
        k: lax.top_k
        n_max: scipy.special.sph_harm_y
        nfft: scipy.signal.istft
        noverlap: scipy.signal.csd scipy.signal.welch
        offset: numpy.linalg.diagonal
        pad_width: numpy.pad
        repeats: numpy.repeat
        shape: numpy.full
        shape[]: numpy.reshape
        slice_sizes[]: lax.dynamic_slice
        start: numpy.arange
        window as float: scipy.signal.csd scipy.signal.istft scipy.signal.stft
            scipy.signal.welch
        window as int: scipy.signal.csd scipy.signal.istft scipy.signal.stft
            scipy.signal.welch
        window[]: scipy.signal.csd scipy.signal.stft scipy.signal.welch
        window_dilation[]: lax.reduce_window
        window_dimensions[]: lax.reduce_window
        window_strides[]: lax.conv lax.reduce_window
    """,
    "which argument is meant": """
        argnums: fwd_and_bwd grad
        argnums[]: fwd_and_bwd grad jacobian
        donate_argnums: jit
        static_argnums: checkpoint jit
    """,
    "which computation is done": """
        0: array.round at.round
        algorithm: lax.rng_bit_generator
        alpha: lax.linalg.symmetric_product
        batch_size: lax.map
        beta: lax.linalg.symmetric_product
        d: scipy.special.multigammaln
        decimals: numpy.around numpy.round
        exponent_bits: lax.reduce_precision
        fill_value: at.get
        index: lax.index_in_dim
        kth: numpy.argpartition numpy.partition
        mantissa_bits: lax.reduce_precision
        max_iterations: lax.linalg.qdwh
        max_squarings: scipy.linalg.expm
        n: numpy.linalg.matrix_power
        nout: numpy.frompyfunc
        num_keys: lax.sort
        optimize[][]: numpy.einsum
        ord: numpy.linalg.matrix_norm numpy.linalg.norm numpy.linalg.vector_norm
        order: scipy.ndimage.map_coordinates
        p: numpy.linalg.cond
        precision: lax.dot_general
        rounding_method: lax.round
        shape[]: ShapeDtypeStruct
        series_order: scipy.special.log_ndtr
        trans: scipy.linalg.lu_solve scipy.linalg.solve_triangular
        type: scipy.fft.dct scipy.fft.dctn scipy.fft.idct scipy.fft.idctn scipy.linalg.eigh
        unroll: lax.fori_loop lax.scan
        version: lax.composite
        y: lax.integer_pow
    """,
    "a shape, although JAX takes traced numbers here": """
        shape[]: lax.shape_as_value numpy.unravel_index
    """,
}
"""Why a number makes a program each: parameters, and the functions that have them.

JAX does not take a traced number there either, but for the last group.
"""


@functools.cache
def places():
    """Return the places for a number in all tables, by table and key, each key in one table."""
    found, owner = {}, {}
    for table in sorted(TABLES.keys() - SKIPPED):
        found[table] = {}
        for slot in slots(TABLES[table]):
            is_first = owner.setdefault(slot.key, table) == table
            if is_first and not (table in NUMBERS_ONLY and slot.in_place_of_array):
                found[table].setdefault(slot.key, []).append(slot)
    return found


def specialised():
    """Return the keys of `SPECIALISED`."""
    keys = set()
    for text in SPECIALISED.values():
        for line in re.sub(r"\n {10,}", " ", text).strip().splitlines():
            parameter, functions = line.strip().split(": ")
            keys |= {f"{function}: {parameter}" for function in functions.split()}
    return keys


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(name, marks=() if name in FAST else pytest.mark.slow)
        for name in sorted(TABLES.keys() - SKIPPED)
    ],
)
def test_numbers_that_change(table):
    traces, many = {}, set()
    for key, found in places()[table].items():
        if key in UNEQUAL:
            continue
        traces[key] = next((n for n in map(judged, found[:3]) if n is not None), 0)
        if traces[key] > 1:
            many.add(key)
    assert many == specialised() & traces.keys()


def test_every_place_of_the_table_exists():
    assert specialised() <= {key for found in places().values() for key in found}
