"""pure_callback and io_callback: eager, compiled, transformed, in order, and when they fail."""

import gc
import threading
import weakref

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import errors, lax
from evertrace.experimental import io_callback

pytestmark = pytest.mark.usefixtures("rules")

X = np.float32([1, 2, 3])
SCALAR = ev.ShapeDtypeStruct((), np.float32)
VECTOR = ev.ShapeDtypeStruct((3,), np.float32)


def as_it_is(fun):
    """Leave a function uncompiled."""
    return fun


both = pytest.mark.parametrize("run", [as_it_is, ev.jit], ids=["eager", "jit"])


def sine(x):
    return ev.pure_callback(np.sin, VECTOR, x)


# ------------------------------------------------------------------ values


@both
def test_value(run):
    np.testing.assert_array_equal(run(sine)(X), np.sin(X))


@both
def test_trees_in_and_out(run):
    def callback(a, *, b):
        return {"sum": np.asarray(a["x"] + b), "twice": (2 * np.asarray(b),)}

    shapes = {"sum": VECTOR, "twice": (VECTOR,)}
    out = run(lambda x: ev.pure_callback(callback, shapes, {"x": x}, b=x + 1))(X)
    np.testing.assert_array_equal(out["sum"], 2 * X + 1)
    np.testing.assert_array_equal(out["twice"][0], 2 * X + 2)


@both
def test_arguments_are_arrays_that_may_be_kept(run):
    kept = []
    run(lambda x: io_callback(kept.append, None, x * 2))(X)
    run(lambda x: io_callback(kept.append, None, x * 3))(X)
    assert [type(x) for x in kept] == [ev.Array, ev.Array]
    np.testing.assert_array_equal(kept[0], 2 * X)


@both
def test_operands_and_results_in_any_memory_order(run):
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    shape = ev.ShapeDtypeStruct((3, 2), np.float32)
    out = run(lambda a: ev.pure_callback(lambda x: np.asfortranarray(x), shape, a.T) + 1)(a)
    np.testing.assert_array_equal(out, a.T + 1)


@both
def test_memory_of_the_callback_may_be_written_to_later(run):
    memory = np.zeros(3, np.float32)
    fun = run(lambda: ev.pure_callback(lambda: memory, VECTOR))
    out = fun()
    memory[:] = 7
    np.testing.assert_array_equal(out, np.zeros(3))


@both
def test_64_bit_results_are_rounded(run):
    out = run(lambda x: ev.pure_callback(lambda x: np.float64(x) / 3, VECTOR, x))(X)
    np.testing.assert_array_equal(out, (np.float64(X) / 3).astype(np.float32))


@both
def test_no_results(run):
    calls = []
    out = run(lambda x: io_callback(lambda x: calls.append(float(x)), None, x))(2.0)
    assert out is None
    assert calls == [2.0]


@both
def test_random_keys_as_operands(run):
    def callback(key):
        return np.asarray(ev.random.key_data(key))

    words = ev.ShapeDtypeStruct((2,), np.uint32)
    out = run(lambda seed: ev.pure_callback(callback, words, ev.random.key(seed)))(7)
    np.testing.assert_array_equal(out, [0, 7])


def test_callback_is_traced_under_no_transformation():
    def callback(x):
        return float(jnp.sum(x)) * np.ones(3)  # a concrete value, in every thread

    np.testing.assert_array_equal(
        ev.jit(lambda x: ev.pure_callback(callback, VECTOR, x))(X), [6.0] * 3
    )


def test_printed_form():
    text = str(ev.make_jaxpr(lambda x: ev.pure_callback(np.sin, VECTOR, x))(X))
    assert "callback=sin" in text
    assert "result_avals=(ShapedArray(float32[3]),)" in text


# ------------------------------------------------------------------ effects


@both
def test_only_pure_callbacks_are_removed_and_by_jaxs_rules_only(run):
    calls = []

    def fun(x):
        io_callback(lambda x: calls.append("io"), None, x)
        return x

    run(fun)(X)
    assert calls == ["io"]

    def unused(x):
        ev.pure_callback(lambda x: calls.append("pure") or x, VECTOR, x)
        return x

    ev.jit(unused, strict=True)(X)
    assert calls == ["io"]
    with ev.strict(False):
        ev.jit(unused)(X)
    assert calls == ["io", "pure"]


@both
@pytest.mark.parametrize("ordered", [False, True])
def test_effects_happen_in_the_order_of_the_program(run, ordered):
    seen = []

    def note(i):
        io_callback(lambda i: seen.append(int(i)), None, i, ordered=ordered)

    def turn(i, x):
        note(10 + i)
        return x + ev.jit(lambda y: (note(20 + i), y)[1])(x)

    def fun(x):
        note(0)
        x = lax.fori_loop(0, 2, turn, x)
        x = lax.cond(x > 0, lambda x: (note(30), x)[1], lambda x: x, x)
        x = lax.while_loop(lambda x: x < 20, lambda x: (note(40), 2 * x)[1], x)
        x, _ = lax.scan(lambda c, i: (turn(i, c), None), x, jnp.arange(2), unroll=2)
        note(50)
        return x

    run(fun)(4.0)
    assert seen == [0, 10, 20, 11, 21, 30, 40, 10, 20, 11, 21, 50]


@both
def test_effects_in_the_condition_of_a_loop(run):
    seen = []

    def goes_on(i):
        io_callback(lambda i: seen.append(("condition", int(i))), None, i)
        return i < 1

    def turn(i):
        io_callback(lambda i: seen.append(("turn", int(i))), None, i)
        return i + 1

    run(lambda i: lax.while_loop(goes_on, turn, i))(0)
    assert seen == [("condition", 0), ("turn", 0), ("condition", 1)]


def test_effects_have_happened_when_the_call_returns():
    seen = []
    fun = ev.jit(lambda x: io_callback(lambda x: seen.append(1), None, x))
    for count in range(1, 4):
        fun(X)
        assert len(seen) == count
    ev.effects_barrier()


def test_results_carry_state():
    state = iter(range(100))
    draw = ev.jit(lambda: io_callback(lambda: np.int32(next(state)), ev.ShapeDtypeStruct((), int)))
    assert [int(draw()) for _ in range(3)] == [0, 1, 2]


# ------------------------------------------------------------------ vmap


@both
@pytest.mark.parametrize(
    ("method", "shapes"),
    [
        ("sequential", [((), ())] * 3),
        ("sequential_unrolled", [((), ())] * 3),
        ("expand_dims", [((3,), (1,))]),
        ("broadcast_all", [((3,), (3,))]),
        ("legacy_vectorized", [((3,), ())]),
    ],
)
def test_vmap_methods(run, method, shapes):
    seen = []

    def callback(x, y):
        seen.append((x.shape, y.shape))
        return np.add(x, y)

    def fun(x, y):
        return ev.pure_callback(callback, SCALAR, x, y, vmap_method=method)

    np.testing.assert_array_equal(run(ev.vmap(fun, (0, None)))(X, 2.0), X + 2)
    assert seen == shapes


@both
@pytest.mark.parametrize("method", ["sequential", "expand_dims"])
def test_vmap_of_vmap(run, method):
    a = np.arange(6, dtype=np.float32).reshape(2, 3)

    def fun(x):
        return ev.pure_callback(np.square, SCALAR, x, vmap_method=method)

    np.testing.assert_array_equal(run(ev.vmap(ev.vmap(fun), 1, 1))(a), a * a)


def test_vmap_of_an_empty_batch():
    fun = ev.vmap(lambda x: ev.pure_callback(np.sin, VECTOR, x, vmap_method="sequential"))
    assert fun(np.zeros((0, 3), np.float32)).shape == (0, 3)


@both
def test_vmap_of_io_callback_calls_once_per_example(run):
    seen = []

    def callback(x):
        seen.append(float(x))
        return x + 1

    np.testing.assert_array_equal(
        run(ev.vmap(lambda x: io_callback(callback, SCALAR, x)))(X), X + 1
    )
    assert seen == [1, 2, 3]


def test_vmap_without_a_method():
    with pytest.raises(NotImplementedError, match="vmap_method is None"):
        ev.vmap(lambda x: ev.pure_callback(np.sin, SCALAR, x))(X)


def test_vmap_of_an_ordered_io_callback():
    with pytest.raises(ValueError, match="the examples of a vmap have no order"):
        ev.vmap(lambda x: io_callback(np.sin, SCALAR, x, ordered=True))(X)


# ------------------------------------------------------------------ derivatives


@both
@pytest.mark.parametrize("call", [ev.pure_callback, io_callback])
def test_no_derivative(run, call):
    with pytest.raises(ValueError, match="the derivative of sin, a Python function") as caught:
        run(ev.grad(lambda x: call(np.sin, SCALAR, x)))(2.0)
    assert "in <lambda>" in str(caught.value)  # the line of the callback, not of grad
    with pytest.raises(ValueError, match="the derivative of sin"):
        ev.jvp(lambda x: call(np.sin, SCALAR, x), (2.0,), (1.0,))


@both
def test_derivative_by_custom_rule(run):
    @ev.custom_jvp
    def sine(x):
        return ev.pure_callback(np.sin, SCALAR, x, vmap_method="expand_dims")

    sine.defjvps(lambda dx, out, x: jnp.cos(x) * dx)
    np.testing.assert_allclose(run(ev.grad(sine))(2.0), np.cos(2.0), rtol=1e-6)
    np.testing.assert_allclose(run(ev.vmap(ev.grad(sine)))(X), np.cos(X), rtol=1e-6)


@both
def test_constants_and_integer_results_need_no_derivative(run):
    def fun(x):
        count = ev.pure_callback(lambda x: np.int32(2), ev.ShapeDtypeStruct((), np.int32), x)
        return x * count * ev.pure_callback(np.sin, SCALAR, lax.stop_gradient(x))

    np.testing.assert_allclose(run(ev.grad(fun))(2.0), 2 * np.sin(2.0), rtol=1e-6)


def test_not_linear():
    with pytest.raises(errors.NotLinearError):
        ev.linear_transpose(sine, X)(X)


# ------------------------------------------------------------------ failures


@both
@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (np.zeros(2, np.float32), errors.ShapeError, r"shape \(2,\) where f32\[3\] was promised"),
        (np.zeros((1, 3)), errors.ShapeError, r"shape \(1, 3\) where f32\[3\] was promised"),
        (np.zeros(3, np.int32), errors.DTypeError, r"dtype int32 where f32\[3\] was promised"),
        (np.zeros(3, np.complex64), errors.DTypeError, "dtype complex64"),
        ("abc", errors.ShapeError, r"shape \(\)"),
        ((X, X), ValueError, r"returned 2 arrays, 1 were promised: f32\[3\]"),
        (None, ValueError, "returned 0 arrays"),
    ],
)
def test_wrong_results(run, result, error, message):
    with pytest.raises(error, match=message) as caught:
        run(lambda x: ev.pure_callback(lambda x: result, VECTOR, x) + 1)(X)
    assert "in <lambda>" in str(caught.value)  # the line of the call, not of the program


@both
@pytest.mark.parametrize("call", [ev.pure_callback, io_callback])
def test_exceptions_reach_the_caller_as_they_are(run, call):
    class Mine(Exception):
        pass

    def refuse(x):
        raise Mine("not today")

    with ev.strict(False), pytest.raises(Mine, match="not today"):
        run(lambda x: call(refuse, VECTOR, x) + 1)(X)
    np.testing.assert_array_equal(run(sine)(X), np.sin(X))  # nothing is broken by it


@pytest.mark.parametrize("vmapped", [False, True])
@pytest.mark.parametrize("call", [ev.pure_callback, io_callback])
def test_exceptions_are_the_cause_of_jaxs_error_where_jaxs_rules_hold(call, vmapped):
    class Mine(Exception):
        pass

    def refuse(x):
        raise Mine("not today")

    def asks(x):
        options = {"vmap_method": "sequential"} if call is ev.pure_callback else {}
        return call(refuse, ev.ShapeDtypeStruct((), np.float32), x, **options) + 1

    asked = ev.jit(ev.vmap(asks) if vmapped else asks, strict=True)
    argument = X if vmapped else X[0]
    for _ in range(2):  # traced, and found
        with pytest.raises(
            errors.JaxRuntimeError, match=r"INTERNAL.*\n.*Mine: not today"
        ) as caught:
            asked(argument)
        assert type(caught.value.__cause__) is Mine
    assert asked.cache_info().misses == 1


def test_a_function_that_jaxs_rules_call_within_the_users_is_the_users():
    def refuse(x):
        raise KeyError("not today")

    inner = ev.jit(lambda x: ev.pure_callback(refuse, VECTOR, x), strict=True)
    with ev.strict(False), pytest.raises(KeyError, match="not today"):
        ev.jit(lambda x: inner(x) + 1)(X)


def test_bad_arguments():
    with pytest.raises(ValueError, match="vmap_method is 'no'"):
        ev.pure_callback(np.sin, VECTOR, X, vmap_method="no")
    with pytest.raises(TypeError, match="str is not an array type"):
        ev.pure_callback(np.sin, VECTOR, "x")
    with pytest.raises(TypeError, match="result_shape_dtypes has a leaf of type float"):
        ev.pure_callback(np.sin, 1.0, X)
    with pytest.raises(TypeError, match="callable"):
        ev.pure_callback(3, VECTOR, X)
    with pytest.raises(errors.DTypeError, match="cannot return elements of key"):
        ev.pure_callback(np.sin, ev.random.key(0), X)


# ------------------------------------------------------------------ evertrace inside of callbacks


@both
def test_callbacks_may_compute_with_evertrace(run):
    inner = ev.jit(lambda x: jnp.sin(x) @ jnp.ones((3, 3), np.float32))

    def callback(x):
        return inner(x) + jnp.cos(x)

    fun = run(
        lambda x: ev.pure_callback(callback, VECTOR, x) + ev.pure_callback(callback, VECTOR, 2 * x)
    )
    want = sum(np.sin(x).sum() + np.cos(x) for x in (X, 2 * X))
    np.testing.assert_allclose(fun(X), want, rtol=1e-6)


def test_callbacks_of_several_threads():
    inner = ev.jit(jnp.sin)
    fun = ev.jit(lambda x: ev.pure_callback(inner, VECTOR, x))
    outs = [None] * 4

    def work(i):
        outs[i] = [np.asarray(fun(X + i)) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, out in enumerate(outs):
        np.testing.assert_allclose(out, [np.sin(X + i)] * 5, rtol=1e-6)


def test_callbacks_of_tapes_in_callbacks(needs_native):
    inner = ev.jit(sine, engine="native")
    for engine in ("native", "xla"):
        fun = ev.jit(lambda x: ev.pure_callback(inner, VECTOR, x), engine=engine)
        np.testing.assert_allclose(fun(X), np.sin(X), rtol=1e-6)


def test_callbacks_of_xlas_programs_in_callbacks_of_such_are_refused():
    inner = ev.jit(sine, engine="xla")
    fun = ev.jit(lambda x: ev.pure_callback(inner, VECTOR, x), engine="xla")
    with pytest.raises(RuntimeError, match="another compiled program with callbacks of its own"):
        fun(X)
    with ev.disable_jit():
        np.testing.assert_array_equal(fun(X), np.sin(X))


def test_callbacks_live_as_long_as_the_jitted_function():
    def callback(x):
        return x

    alive = weakref.ref(callback)
    fun = ev.jit(lambda x, callback=callback: ev.pure_callback(callback, VECTOR, x))
    fun(X)
    del callback
    gc.collect()
    np.testing.assert_array_equal(fun(X), X)
    del fun
    gc.collect()
    ev.jit(jnp.sin, engine="xla")(X)  # jaxlib lets go of objects when it is called next
    assert alive() is None


@pytest.mark.parametrize("run", [lambda f: f, ev.jit, lambda f: ev.jit(f, strict=True)])
def test_what_a_callback_is_given_is_of_its_dtype_alone(run):
    seen = []

    def note(x, y):
        seen.extend([x.weak_type, y.weak_type, str(x)])
        return x

    asked = run(lambda x: ev.pure_callback(note, ev.ShapeDtypeStruct((), "float32"), x, 2 * x))
    assert float(asked(1.0)) == 1
    assert seen[:3] == [False, False, "1.0"]
