"""Plans of calls with lists, with results of several arrays, with indices, and without arrays."""

import warnings

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import errors
from evertrace._src.engines.host.plans import MOST_CONSTANT
from evertrace._src.numpy import indexing, updates

pytestmark = pytest.mark.usefixtures("needs_native")

X = jnp.array([3.0, -1.0, 2.0, 0.5])
A = jnp.arange(12.0).reshape(3, 4)
PLACES = jnp.array([2, 0, -1])


def same(got, want):
    """Assert that two trees have the same structure, avals and bits."""
    leaves, treedef = ev.tree.flatten(got)
    others, wanted = ev.tree.flatten(want)
    assert treedef == wanted
    for x, y in zip(leaves, others, strict=True):
        assert x.aval is y.aval
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


CALLS = {
    "a list": (jnp.concatenate, lambda x, a: ([x, x * 2, a[0]],)),
    "a tuple": (jnp.stack, lambda x, a: ((x, a[1]), 1)),
    "nested lists": (jnp.block, lambda x, a: ([[a, a], [a, a * 2]],)),
    "a list of results": (jnp.split, lambda x, a: (x, 2)),
    "a tuple of results": (jnp.histogram, lambda x, a: (x, 3)),
    "a named tuple of results": (jnp.linalg.slogdet, lambda x, a: (a[:, :3] + jnp.eye(3),)),
    "more slots than a plan has": (jnp.interp, lambda x, a: (x, jnp.arange(4.0), a[2])),
    "a product and more": (jnp.cov, lambda x, a: (a,)),
    "a scan": (jnp.polyval, lambda x, a: (x, a)),
    "a system": (jnp.linalg.solve, lambda x, a: (a[:, :3] + 5 * jnp.eye(3), a)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_all_kinds(name):
    function, make = CALLS[name]
    function._forget_plans()
    first, second = make(X, A), make(X + 1, A * 2)
    want = [function(*args) for args in (first, second)]  # by the plan, from the first call on
    assert function._num_plans() == 1
    same([function(*args) for args in (first, second)], want)
    host = function.__wrapped__(*second)
    for x, y in zip(ev.tree.leaves(host), ev.tree.leaves(want[1]), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-6, atol=1e-5)


def test_lists_are_read_at_each_call():
    items = [X, X]
    for _ in range(2):
        np.testing.assert_array_equal(jnp.stack(items), np.stack([X, items[1]]))
        items[1] = items[1] + 1
    items.append(items)
    for _ in range(2):
        with pytest.raises((TypeError, ValueError, RecursionError)):
            jnp.stack(items)


INDICES = {
    "an array": PLACES, "an array in a tuple": (PLACES,), "two arrays": (PLACES, PLACES),
    "an axis and an array": (slice(None), PLACES), "an int and an array": (1, PLACES),
    "a step and an array": (slice(None, None, -1), PLACES),
    "a new axis": (None, PLACES), "all and an array": (..., PLACES), "a traced int": jnp.array(1),
}  # fmt: skip


@pytest.mark.parametrize("name", INDICES)
def test_indices(name):
    index = INDICES[name]
    parts = index if type(index) is tuple else (index,)
    host = tuple([np.asarray(i) if isinstance(i, ev.Array) else i for i in parts])
    for f in (indexing._general, updates._update):
        f._forget_plans()
    for a in (A, A + 1):
        np.testing.assert_array_equal(a[index], np.asarray(a)[host])
        changed = np.array(a)
        changed[host] = 7.5
        np.testing.assert_array_equal(a.at[index].set(7.5), changed)
        np.testing.assert_array_equal(a.at[index].set(8.5), np.where(changed == 7.5, 8.5, changed))
        np.add.at(changed := np.array(a), host, 2)
        np.testing.assert_array_equal(a.at[index].add(2.0), changed)
    assert indexing._general._num_plans() == 1
    assert updates._update._num_plans() == 2  # whatever number is written


def test_masks_have_no_plans():
    indexing._general._forget_plans()
    for mask in ([True] * 4, [False, True, True, False], [False] * 4, [True] * 4):
        mask = np.array(mask)
        np.testing.assert_array_equal(X[jnp.asarray(mask)], np.asarray(X)[mask])
        want = np.where(mask, 1, X)
        np.testing.assert_array_equal(X.at[jnp.asarray(mask)].set(1.0), want)
    assert indexing._general._num_plans() == 0


def test_what_looks_at_contents_has_no_plan():
    jnp.bincount._forget_plans()
    for x in ([1, 1], [0, 3], [1, 1]):
        np.testing.assert_array_equal(jnp.bincount(jnp.array(x)), np.bincount(x))
    assert jnp.bincount._num_plans() == 0


@pytest.mark.parametrize(
    ("function", "args"),
    [(jnp.zeros, (3,)), (jnp.arange, (2, 9, 3)), (jnp.eye, (3, 2)), (jnp.linspace, (0, 1, 5)),
     (jnp.full, ((2, 2), 1.5)), (jnp.tril_indices, (3,)), (jnp.hanning, (5,))],
)  # fmt: skip
def test_functions_of_no_array(function, args):
    function._forget_plans()
    calls = [function(*args) for _ in range(3)]
    assert function._num_plans() == 1
    same(calls[1], calls[0])
    for x in ev.tree.leaves(calls[1]):
        x.delete()  # no other array has its memory
    same([calls[2], function(*args)], [calls[0]] * 2)


def test_large_results_of_no_array_are_not_kept():
    jnp.ones._forget_plans()
    for n in (MOST_CONSTANT, MOST_CONSTANT + 1) * 3:
        assert float(jnp.ones(n).sum()) == n
    assert jnp.ones._num_plans() == 1


def test_the_dtype_of_what_has_no_array_follows_the_options():
    for _ in range(3):
        with ev.enable_x64(True):
            assert jnp.zeros(3).dtype == jnp.arange(3.0).dtype == np.float64
        assert jnp.zeros(3).dtype == jnp.arange(3.0).dtype == np.float32


def test_numbers_that_change_cost_no_plans():
    jnp.roll._forget_plans()
    for i in range(100):
        np.testing.assert_array_equal(jnp.roll(X, i), np.roll(X, i))
    assert jnp.roll._num_plans() == 32
    for _ in range(2):
        jnp.roll(X, 77)
    assert jnp.roll._num_plans() == 33


def test_mistakes_and_warnings_come_each_time():
    for _ in range(3):
        with pytest.raises(errors.ShapeError, match="concatenate"):
            jnp.concatenate([X, A])
        with pytest.warns(FutureWarning, match="cannot hold them all"):
            PLACES.at[PLACES].set(1.5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            PLACES.at[PLACES].set(1)


@pytest.mark.parametrize("name", ["where", "logical_and", "logical_or", "logical_xor"])
def test_a_number_as_a_condition_is_read_at_each_call(name):
    rest = (X, 0 * X) if name == "where" else (X,)
    for n in (1, 2, 0, 3, 0.0, 0.5):
        want = getattr(np, name)(n, *map(np.asarray, rest))
        np.testing.assert_array_equal(getattr(jnp, name)(n, *rest), want)


FLOATS = ["float32", "float64", "complex64", "complex128", "bfloat16", "float16"]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1, 7, 1), (5, 10, 10), (3, 90, 17), (40, 33, 40)])
def test_products_have_the_same_bits_however_they_are_asked_for(dtype, shape):
    m, k, n = shape
    with ev.enable_x64(True):
        x, y = (ev.random.normal(ev.random.key(i), (m, k) if i else (k, n)) for i in (1, 0))
        x, y = x.astype(dtype), y.astype(dtype)
        wanted = ev.jit(jnp.matmul, engine="native")(x, y)
        same(jnp.matmul(x, y), wanted)
        same(ev.lax.dot(x, y), wanted)
        same(ev.lax.dot(x.T.copy().T, y), wanted)
