"""Donated arguments lend their memory to the results and cannot be used again."""

import ctypes

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.errors import DeletedArrayError

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("rules")]
X = np.arange(3, dtype=np.float32)
increment = ev.jit(lambda x: x + 1, donate_argnums=0)


def computed():
    """Return an array that is a result of a compiled program, not host memory."""
    return ev.jit(lambda x: x * 1)(X)


@pytest.mark.parametrize("make", [computed, lambda: jnp.asarray(X)])
def test_a_donated_array_is_deleted(make):
    x = make()
    np.testing.assert_array_equal(increment(x), X + 1)
    assert x.is_deleted()
    assert repr(x) == "Array(f32[3], deleted)"
    assert (x.shape, x.dtype) == ((3,), X.dtype)


USES = [
    lambda x: x + 1, np.asarray, lambda x: x.block_until_ready(), lambda x: float(x[0]),
    lambda x: ev.jit(jnp.sin)(x), lambda x: increment(x), lambda x: ev.grad(jnp.sum)(x),
    lambda x: ev.vmap(jnp.sin)(x), str, list,
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", [computed, lambda: jnp.asarray(X)])
def test_use_after_donation_is_an_error_that_says_so(use, make):
    x = make()
    increment(x)
    with pytest.raises(DeletedArrayError) as caught:
        use(x)
    message = str(caught.value)
    assert "the array of type f32[3] has been deleted or donated to a call" in message
    assert "Fix: use the result of that call instead, or drop it from `donate_argnums`" in message
    assert "test_donation.py" in message


@pytest.mark.parametrize("make", [computed, lambda: jnp.asarray(X)])
def test_views_of_host_memory_stay_valid(make):
    x = make()
    view = np.asarray(x)
    np.testing.assert_array_equal(increment(x), X + 1)
    np.testing.assert_array_equal(view, X)
    assert x.is_deleted()


def test_donation_by_name_and_of_trees():
    f = ev.jit(lambda p, x: ev.tree.map(lambda a: a + x, p), donate_argnames="p")
    p, x = {"w": computed(), "b": [computed()]}, computed()
    out = f(p, x)
    np.testing.assert_array_equal(out["b"][0], 2 * X)
    assert [a.is_deleted() for a in ev.tree.leaves(p)] == [True, True]
    assert not x.is_deleted()
    p = {"w": computed(), "b": [computed()]}
    f(x=x, p=p)
    assert all(a.is_deleted() for a in ev.tree.leaves(p))


def test_memory_is_reused_by_the_result():
    x = ev.jit(lambda x: x * 1, engine="xla")(np.zeros(1 << 16, np.float32))
    pointer = x._buffer.unsafe_buffer_pointer()
    increment = ev.jit(lambda x: x + 1, donate_argnums=0, engine="xla")
    assert increment(x)._buffer.unsafe_buffer_pointer() == pointer


def test_a_donated_argument_that_passes_through_is_a_new_array():
    f = ev.jit(lambda x: x, donate_argnums=0)
    for make in (computed, lambda: jnp.asarray(X)):
        x = make()
        y = f(x)
        assert x.is_deleted()
        np.testing.assert_array_equal(y, X)
        np.testing.assert_array_equal(f(y), X)


def test_a_donated_argument_that_also_passes_through():
    x = computed()
    y, z = ev.jit(lambda x: (x + 1, x), donate_argnums=0)(x)
    np.testing.assert_array_equal(y, X + 1)
    np.testing.assert_array_equal(z, X)


@pytest.mark.filterwarnings("ignore:Some donated buffers")  # there is one result for two
@pytest.mark.parametrize("donated", [0, 1, (0, 1)])
@pytest.mark.parametrize("make", [computed, lambda: jnp.asarray(X)])
def test_one_array_passed_twice(donated, make):
    x = make()
    f = ev.jit(lambda x, y: x + y, donate_argnums=donated)
    np.testing.assert_array_equal(f(x, x), 2 * X)
    assert x.is_deleted()


def test_a_donated_argument_that_nothing_needs():
    x = computed()
    assert float(ev.jit(lambda x, y: y * 2, donate_argnums=0)(x, 1.0)) == 2
    assert x.is_deleted()


def test_numpy_arrays_and_scalars_are_not_touched():
    x = X.copy()
    np.testing.assert_array_equal(increment(x), X + 1)
    np.testing.assert_array_equal(x, X)
    assert float(increment(1.0)) == 2


def test_a_copy_on_the_same_device_is_not_deleted():
    x = jnp.asarray(X)
    y = ev.device_put(x, ev.devices()[0])
    increment(x)
    np.testing.assert_array_equal(y, X)


def test_inside_other_transformations_nothing_is_given_away():
    x = computed()
    np.testing.assert_array_equal(ev.jit(lambda x: increment(x) * x)(x), (X + 1) * X)
    np.testing.assert_array_equal(ev.grad(lambda x: increment(x).sum())(x), np.ones(3))
    np.testing.assert_array_equal(ev.vmap(increment)(x), X + 1)
    assert not x.is_deleted()


def test_a_training_loop():
    step = ev.jit(lambda p, g: p - 0.5 * g, donate_argnums=0)
    p = jnp.ones(3)
    for _ in range(3):
        p = step(p, 2 * p)
    np.testing.assert_array_equal(p, np.zeros(3))


def test_delete_is_a_donation_to_nobody():
    x = computed()
    x.delete()
    assert x.is_deleted()
    x.delete()
    with pytest.raises(DeletedArrayError):
        np.asarray(x)


def test_compiled_programs_donate_too():
    x = computed()
    compiled = increment.lower(x).compile()
    assert not x.is_deleted()
    np.testing.assert_array_equal(compiled(x), X + 1)
    assert x.is_deleted()


UNUSABLE = {
    "of another shape": (lambda x, y: (x + y).sum(), (0,), "float32[3]"),
    "of another dtype": (lambda x, y: (x + y).astype(int), (0,), "float32[3]"),
    "two for one result": (lambda x, y: x + y, (0, 1), "float32[3]"),
    "two for none": (lambda x, y: (x + y).sum(), (0, 1), "float32[3]), ShapedArray(float32[3]"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_by_jaxs_rules_it_is_said_what_no_result_is_like(name):
    fun, donated, types = UNUSABLE[name]
    with ev.strict(), pytest.warns(UserWarning, match="^Some donated") as caught:
        ev.jit(fun, donate_argnums=donated)(computed(), computed())
    (warning,) = caught
    said = f"Some donated buffers were not usable: ShapedArray({types}). "
    assert str(warning.message).startswith(said)


USABLE = {
    "alike": (lambda x, y: (x + y, x * y), (0, 1)),
    "not needed": (lambda x, y: y.sum(), (0,)),
    "none is donated": (lambda x, y: (x + y).sum(), ()),
}


@pytest.mark.parametrize("name", USABLE)
def test_nothing_is_said_where_there_is_nothing_to_gain(name):
    fun, donated = USABLE[name]
    with ev.strict():
        ev.jit(fun, donate_argnums=donated)(computed(), computed())  # warnings are errors


NUMPYS = {
    "a number": lambda: jnp.array(0.0),
    "a list": lambda: jnp.array([1.0, 2.0]),
    "a copy": lambda: jnp.array(np.ones(5, np.float32)),
    "many": lambda: jnp.zeros(100_000),
}


@pytest.mark.parametrize("name", NUMPYS)
def test_memory_that_numpy_has_allocated_is_reused(name, needs_native):
    f = ev.jit(lambda x: x + 1, donate_argnums=0, engine="native")
    x = NUMPYS[name]()
    pointer, before = x.unsafe_buffer_pointer(), np.asarray(x).copy()
    for i in range(3):
        x = f(x)
        assert x.unsafe_buffer_pointer() == pointer
        np.testing.assert_array_equal(x, before + 1 + i)


def test_the_address_is_of_all_elements():
    x = jnp.zeros(1000)
    memory = (ctypes.c_float * 1000).from_address(x.unsafe_buffer_pointer())
    np.testing.assert_array_equal(np.frombuffer(memory, np.float32), np.asarray(x))
    assert np.asarray(x).ctypes.data == x.unsafe_buffer_pointer()


HELD = {"it": lambda x: x, "a view of it": lambda x: x[1:], "its memory": memoryview}


@pytest.mark.parametrize("hold", HELD)
def test_memory_of_numpys_that_is_held_is_not_written_to(hold, needs_native):
    f = ev.jit(lambda x: x + 1, donate_argnums=0, engine="native")
    x = jnp.array([1.0, 2.0, 3.0])
    held = HELD[hold](np.asarray(x))
    before = np.array(held)
    np.testing.assert_array_equal(f(x), [2, 3, 4])
    np.testing.assert_array_equal(np.asarray(held), before)
