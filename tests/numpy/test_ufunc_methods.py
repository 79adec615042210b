"""`ufunc` objects: calls, methods against NumPy's, `frompyfunc`, and transformations of them."""

import copy
import pickle

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.support.gradcheck import check_grads

OBJECTS = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "logaddexp", "logaddexp2", "logical_and",
    "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative", "subtract",
]  # fmt: skip
BINARY = [name for name in OBJECTS if name != "negative"]

FLOATS = np.array([[0.5, -1.0, 2.0], [1.5, 3.0, -0.25]], np.float32)
INTS = np.array([[6, 3, 5], [7, 0, 2]], np.int32)


def data(name):
    return INTS if name.startswith(("bitwise", "logical")) else FLOATS


def check(ours, theirs, dtype=None):
    got = np.asarray(ours)
    assert dtype is None or got.dtype == dtype
    np.testing.assert_allclose(got, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_describe_themselves_as_numpys(name):
    ours, theirs = getattr(jnp, name), getattr(np, name)
    assert isinstance(ours, jnp.ufunc)
    assert (ours.nin, ours.nout, ours.__name__) == (theirs.nin, theirs.nout, name)
    assert ours.nargs == ours.nin
    assert repr(ours) == f"<jnp.ufunc {name!r}>"
    assert ours.identity == theirs.identity or name == "bitwise_and"
    assert ours.__doc__


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_reduce(name, axis):
    x = data(name)
    for keepdims in (False, True):
        want = (
            getattr(np, name).reduce(x, axis=axis, keepdims=keepdims)
            if (axis is not None or name != "subtract")
            else np.subtract.reduce(x.ravel()).reshape((1, 1) if keepdims else ())
        )
        check(getattr(jnp, name).reduce(x, axis, keepdims=keepdims), want)


@pytest.mark.parametrize("name", BINARY)
def test_reduce_with_initial_and_where(name):
    x, mask = data(name), np.array([[True, False, True], [True, True, False]])
    initial = x.dtype.type(1)
    want = getattr(np, name).reduce(x, axis=1, initial=initial, where=mask)
    check(getattr(jnp, name).reduce(x, 1, initial=initial, where=mask), want)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_accumulate(name, axis):
    x = data(name)
    check(getattr(jnp, name).accumulate(x, axis), getattr(np, name).accumulate(x, axis))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("indices", [[0], [0, 2], [2, 0, 1], [1, 1, 0]])
def test_reduceat(name, indices):
    x = data(name)
    want = getattr(np, name).reduceat(x, indices, axis=1)
    check(getattr(jnp, name).reduceat(x, np.array(indices), axis=1), want)


@pytest.mark.parametrize("name", BINARY)
def test_outer(name):
    x, y = data(name), data(name)[0]
    check(getattr(jnp, name).outer(x, y), getattr(np, name).outer(x, y))


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("index", [0, np.array([0, 0, 1]), (slice(None), 1)])
def test_at_changes_an_element_as_often_as_it_is_named(name, index):
    x = data(name)
    values = () if name == "negative" else (x.dtype.type(3),)
    want = x.copy()
    with np.errstate(all="ignore"):
        getattr(np, name).at(want, index, *values)
    check(getattr(jnp, name).at(x, index, *values, inplace=False), want, x.dtype)


DTYPES = [
    ("add", "reduce", "int8", np.int32), ("add", "reduce", "bool", np.int32),
    ("add", "accumulate", "int8", np.int8), ("logical_and", "reduce", "float32", np.bool_),
    ("maximum", "reduce", "bool", np.bool_), ("maximum", "accumulate", "int8", np.int8),
    ("subtract", "reduce", "uint8", np.uint8), ("logical_or", "reduce", "int8", np.bool_),
]  # fmt: skip


@pytest.mark.parametrize(("name", "method", "given", "dtype"), DTYPES)
def test_dtypes(name, method, given, dtype):
    x = jnp.ones(3, given)
    assert getattr(getattr(jnp, name), method)(x).dtype == dtype
    assert getattr(getattr(jnp, name), method)(x, dtype="float32").dtype == np.float32


EMPTY = [
    ("add", 0),
    ("multiply", 1),
    ("logaddexp", -np.inf),
    ("logical_and", True),
    ("bitwise_or", 0),
]


@pytest.mark.parametrize(("name", "want"), EMPTY)
def test_reductions_of_nothing_are_the_identity(name, want):
    x = jnp.zeros((0,), "int32" if "_" in name else "float32")
    assert getattr(jnp, name).reduce(x) == want
    assert getattr(jnp, name).accumulate(x).shape == (0,)


def test_frompyfunc_maps_a_function_of_scalars():
    both = jnp.frompyfunc(lambda x, y: (x + y, x * y), 2, 2)
    total, product = both(INTS, 2)
    check(total, INTS + 2)
    check(product, INTS * 2)
    near = jnp.frompyfunc(lambda x, y: x + 0.5 * (y - x), 2, 1)
    want = FLOATS[:, 0]
    for column in FLOATS.T[1:]:
        want = want + 0.5 * (column - want)
    check(near.reduce(FLOATS, axis=1), want)
    check(near.accumulate(FLOATS, axis=1)[:, -1], want)
    check(near.at(FLOATS[0], np.array([0, 0]), 1.5, inplace=False), [1.25, -1, 2])


def test_methods_under_transformations():
    f = jnp.frompyfunc(lambda x, y: x * y + x, 2, 1)
    x = jnp.asarray(FLOATS)
    for method in (f.reduce, f.accumulate, lambda v: f.reduceat(v, np.array([0, 1]))):
        check(ev.jit(method)(x), method(x))
        check(ev.vmap(method)(x), np.stack([method(row) for row in x]))
        with ev.enable_x64(True):
            check_grads(method, (jnp.asarray(FLOATS, np.float64),), order=2)


def test_jit_sees_the_state_that_a_users_function_reads():
    scale = [2.0]
    f = jnp.frompyfunc(lambda x, y: x + scale[0] * y, 2, 1)
    g = ev.jit(lambda x: f.reduce(x))
    x = jnp.ones(3)
    assert g(x) == 5
    scale[0] = 3.0
    assert g(x) == 7


def test_objects_are_values():
    assert pickle.loads(pickle.dumps(jnp.add)) is jnp.add
    assert copy.deepcopy(jnp.maximum) is jnp.maximum
    assert jnp.frompyfunc(np.hypot, 2, 1) == jnp.frompyfunc(np.hypot, 2, 1)
    assert jnp.frompyfunc(np.hypot, 2, 1) != jnp.frompyfunc(np.hypot, 2, 1, identity=0)
    assert len({jnp.add, jnp.add, jnp.subtract}) == 2
    mine = pickle.loads(pickle.dumps(jnp.frompyfunc(np.hypot, 2, 1)))
    assert mine == jnp.frompyfunc(np.hypot, 2, 1)
    with pytest.raises(AttributeError):
        jnp.add.nin = 3


X = jnp.asarray(FLOATS)
ERRORS = [
    (lambda: jnp.add(X, X, out=X), NotImplementedError, "add: .* no `out` argument"),
    (lambda: jnp.sin(X, where=True), NotImplementedError, "sin: .* `where` argument"),
    (lambda: jnp.logaddexp(X, X, out=X), NotImplementedError, "logaddexp: .* `out`"),
    (lambda: jnp.add.reduce(X, out=X), NotImplementedError, "add.reduce: .* `out`"),
    (lambda: jnp.negative.reduce(X), ValueError, r"negative.reduce: only .* not of 1 and 1"),
    (lambda: jnp.negative.outer(X, X), ValueError, "negative.outer: only"),
    (lambda: jnp.subtract.reduce(X, (0, 1)), NotImplementedError, "takes one axis or None"),
    (lambda: jnp.subtract.reduce(X, 2), ValueError, "subtract.reduce: axis 2 is out of bounds"),
    (lambda: jnp.maximum.reduce(X, where=X > 0), ValueError, "does not have an identity"),
    (lambda: jnp.subtract.reduce(X[:0]), ValueError, "which has no identity"),
    (lambda: jnp.maximum.accumulate(X, None), ValueError, "does not allow multiple axes"),
    (lambda: jnp.add.at(X, 0, 1), NotImplementedError, r"(?s)in place.*inplace=False"),
    (lambda: jnp.add.at(X, 0, inplace=False), TypeError, "and nothing else"),
    (lambda: jnp.negative.at(X, 0, 1, inplace=False), TypeError, "elements and values"),
    (lambda: jnp.add.reduceat(X, np.array([0, 5])), IndexError, "for an axis of size 2"),
    (lambda: jnp.add.reduceat(X, np.array([0.5])), ValueError, "must be a vector of integers"),
    (lambda: jnp.add.reduce([1, 2]), TypeError, "add.reduce requires ndarray or scalar"),
    (lambda: jnp.frompyfunc(3, 2, 1), TypeError, "func must be callable, got 3"),
    (lambda: jnp.frompyfunc(max, 2, 1)(X), TypeError, "max: takes 2 arguments, got 1"),
]


@pytest.mark.parametrize(("call", "kind", "match"), ERRORS)
def test_mistakes(call, kind, match):
    with pytest.raises(kind, match=match):
        call()
