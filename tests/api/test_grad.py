"""grad and value_and_grad: which arguments, which values, which errors."""

import gc
import math
import weakref

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.support.runtime import lends_buffers

X = np.float32([1, 2, 3])


def loss(x):
    return jnp.sum(jnp.sin(x) * x)


SLOPE = np.cos(X) * X + np.sin(X)


def product(x, y):
    return jnp.sin(x) * y


# ------------------------------------------------------------------ arguments


@pytest.mark.parametrize(
    ("argnums", "want"),
    [
        (0, np.cos(1) * 2), (1, np.sin(1)), (-1, np.sin(1)), ((0,), (np.cos(1) * 2,)),
        ((0, 1), (np.cos(1) * 2, np.sin(1))), ([1, 0], (np.sin(1), np.cos(1) * 2)),
        (np.int64(1), np.sin(1)), (range(2), (np.cos(1) * 2, np.sin(1))),
    ],
)  # fmt: skip
def test_argnums(argnums, want):
    found = ev.grad(product, argnums)(1.0, 2.0)
    assert type(found) is (tuple if isinstance(want, tuple) else ev.Array)
    np.testing.assert_allclose(found, want, rtol=1e-6)


@pytest.mark.parametrize("n", [2, -3])
def test_argnums_beyond_the_arguments(n):
    with pytest.raises(TypeError, match=rf"grad\(product\): argnums names argument {n}, but the "):
        ev.grad(product, n)(1.0, 2.0)


def test_arguments_by_name_are_not_counted():
    np.testing.assert_allclose(ev.grad(product)(1.0, y=2.0), np.cos(1) * 2, rtol=1e-6)
    with pytest.raises(TypeError, match="the call has 0 positional arguments"):
        ev.grad(product)(x=1.0, y=2.0)


@pytest.mark.parametrize("argnums", ["x", 0.0, (0, "x")])
def test_argnums_are_integers(argnums):
    with pytest.raises(TypeError, match="argnums must be an int or a tuple of ints"):
        ev.grad(product, argnums)(1.0, 2.0)


@pytest.mark.parametrize("x", [X, jnp.asarray(X), X.astype(np.float64)])
def test_arrays_of_any_origin(x):
    np.testing.assert_allclose(ev.grad(loss)(x), SLOPE, rtol=1e-6)


def test_trees():
    def f(params, x):
        return jnp.sum(params["w"] * x) + params["rest"][0] ** 2

    grads = ev.grad(f)({"w": X, "rest": (3.0, 5.0), "none": None}, X)
    assert ev.tree.structure(grads) == ev.tree.structure({"w": 0, "rest": (0, 0), "none": None})
    np.testing.assert_allclose(grads["w"], X)
    assert [float(g) for g in grads["rest"]] == [6, 0]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "complex64"])
def test_gradients_have_the_dtype_of_the_argument(dtype):
    x = jnp.ones(3, dtype)
    grad = ev.grad(lambda x: jnp.real(x * x).astype("float32").sum())(x)
    assert (grad.dtype, grad.shape) == (x.dtype, x.shape)


@pytest.mark.parametrize(("x", "weak"), [(1.0, True), (np.float32(1), False)])
def test_gradients_are_as_weakly_typed_as_the_value(x, weak):
    assert ev.grad(jnp.sin)(x).weak_type is weak
    assert ev.grad(lambda x: x * 2)(x).weak_type is weak


def test_functions_keep_their_names():
    assert ev.grad(product).__name__ == ev.value_and_grad(product).__name__ == "product"


# ------------------------------------------------------------------ results


def test_value_and_grad():
    value, grad = ev.value_and_grad(loss)(X)
    np.testing.assert_allclose(value, np.sum(np.sin(X) * X), rtol=1e-6)
    np.testing.assert_allclose(grad, SLOPE, rtol=1e-6)


def test_aux():
    def f(x):
        return loss(x), {"x": x, "y": jnp.sin(x), "n": 3, "text": "as it is"}

    (value, aux), grad = ev.value_and_grad(f, has_aux=True)(X)
    assert (type(value), type(aux["x"]), type(aux["y"])) == (ev.Array,) * 3
    np.testing.assert_allclose(aux["y"], np.sin(X), rtol=1e-6)
    assert (aux["n"], aux["text"]) == (3, "as it is")
    again, aux = ev.grad(f, has_aux=True)(X)
    np.testing.assert_array_equal(grad, again)
    assert aux["text"] == "as it is"


def test_aux_is_not_differentiated():
    f = ev.grad(lambda x: (x * 2, jnp.exp(x)), has_aux=True)
    assert float(ev.grad(lambda x: f(x)[1])(0.0)) == 1
    assert float(ev.grad(lambda x: f(x)[0])(0.0)) == 0


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (lambda x: x.sum(), r"it returned an array f32\[\]"),
        (lambda x: (x.sum(), 1, 2), "it returned a tuple of 3"),
        (lambda x: {"loss": x.sum()}, "it returned a value of type dict"),
        (lambda x: None, "it returned a value of type NoneType"),
    ],
)
def test_aux_needs_a_pair(result, text):
    with pytest.raises(TypeError, match=text) as caught:
        ev.grad(result, has_aux=True)(X)
    assert "with has_aux=True the function must return a pair (output, aux)" in str(caught.value)


@pytest.mark.parametrize("constant", [2.0, np.float32(2), jnp.float32(2)])
def test_a_constant_has_gradient_zero(constant):
    np.testing.assert_array_equal(ev.grad(lambda x: constant)(X), np.zeros(3))


def test_an_input_that_is_returned():
    assert float(ev.grad(lambda x: x)(3.0)) == 1
    assert [float(g) for g in ev.grad(lambda x, y: y, (0, 1))(3.0, 4.0)] == [0, 1]


# ------------------------------------------------------------------ dtypes


def test_integers_need_allow_int():
    with pytest.raises(TypeError, match="requires real- or complex-valued inputs, got int32") as e:
        ev.grad(lambda x: x * 2.0)(1)
    assert "`1.0` instead of `1`" in str(e.value)
    grads = ev.grad(lambda d: d["x"] * d["n"], allow_int=True)({"x": 2.0, "n": 3, "b": True})
    assert float(grads["x"]) == 3
    assert grads["n"].dtype == grads["b"].dtype == ev.dtypes.float0
    assert grads["n"].shape == ()


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (lambda x: x.astype(np.int32), r"must be real-valued, it is i32\[\]"),
        (lambda x: x > 0, r"must be real-valued, it is bool\[\]"),
        (lambda x: x * 1j, r"must be real-valued, it is c64\[\]"),
    ],
)
def test_the_output_must_be_real(result, text):
    with pytest.raises(TypeError, match=text):
        ev.grad(result)(jnp.float32(1))


def test_holomorphic_functions():
    f = ev.grad(lambda z: jnp.sin(z) * z, holomorphic=True)
    z = 1 + 2j
    np.testing.assert_allclose(f(z), np.cos(z) * z + np.sin(z), rtol=1e-6)
    with pytest.raises(TypeError, match="holomorphic=True inputs must be complex, got float32"):
        f(1.0)
    with pytest.raises(TypeError, match=r"must be complex with holomorphic=True, it is f32\[\]"):
        ev.grad(lambda z: z.real, holomorphic=True)(z)


def test_real_functions_of_complex_numbers():
    """The gradient is the conjugate of the direction of steepest ascent, as in JAX."""
    z = 3 + 4j
    np.testing.assert_allclose(ev.grad(jnp.abs)(z), (3 - 4j) / 5, rtol=1e-6)
    np.testing.assert_allclose(ev.grad(lambda z: z.imag)(z), -1j)
    np.testing.assert_allclose(ev.grad(lambda z: (z * z.conj()).real)(z), 6 - 8j, rtol=1e-6)


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (lambda x: x, r"the function must return a scalar, it returned an array of shape \(3,\)"),
        (lambda x: (x.sum(),), "must return one scalar, it returned a tree of 1 arrays"),
        (lambda x: {"a": x, "b": x}, "must return one scalar, it returned a tree of 2 arrays"),
        (lambda x: None, "must return one scalar, it returned a tree of 0 arrays"),
        (lambda x: "a", "the function returned a str at result, which is not an array"),
    ],
)
def test_the_output_must_be_a_scalar(result, text):
    with pytest.raises(TypeError, match=text) as caught:
        ev.grad(result)(X)
    assert str(caught.value).startswith("grad(<lambda>): ")
    assert "test_grad.py" in str(caught.value)


def test_arguments_must_be_arrays():
    with pytest.raises(TypeError, match=r"grad\(product\): argument 1\['k'\] of type str is not"):
        ev.grad(product, argnums=1)(1.0, {"k": "a"})


@pytest.mark.parametrize("transform", [ev.grad, ev.value_and_grad])
def test_the_function_must_be_callable(transform):
    with pytest.raises(TypeError, match="grad: expected a function, got a value of") as caught:
        transform(loss(X))
    assert "Fix: pass the function itself: `grad(f)(x)`, not `grad(f(x))`." in str(caught.value)


def test_reduce_axes_is_not_supported():
    with pytest.raises(NotImplementedError, match="reduce_axes"):
        ev.grad(loss, reduce_axes=("batch",))


# ------------------------------------------------------------------ nesting


def cubic(x):
    return x * x * x


@pytest.mark.parametrize(
    "third",
    [
        lambda f: ev.grad(ev.grad(ev.grad(f))),
        lambda f: ev.jit(ev.grad(ev.grad(ev.grad(f)))),
        lambda f: ev.grad(ev.jit(ev.grad(ev.jit(ev.grad(ev.jit(f)))))),
        lambda f: lambda x: ev.vmap(ev.grad(ev.grad(ev.grad(f))))(jnp.reshape(x, 1))[0],
        lambda f: ev.jit(
            lambda x: ev.vmap(ev.jit(ev.grad(ev.grad(ev.grad(f)))))(jnp.reshape(x, 1))[0]
        ),
        lambda f: ev.jacfwd(ev.jacrev(ev.jacfwd(f))),
        lambda f: lambda x: ev.jvp(ev.grad(ev.grad(f)), (x,), (1.0,))[1],
        lambda f: ev.grad(lambda x: ev.jvp(ev.grad(f), (x,), (1.0,))[1]),
        lambda f: ev.grad(lambda x: ev.linearize(ev.grad(f), x)[1](1.0)),
        lambda f: ev.grad(lambda x: ev.vjp(ev.grad(f), x)[1](1.0)[0]),
    ],
)
@pytest.mark.parametrize(("f", "want"), [(cubic, 6.0), (jnp.exp, np.exp(0.5))])
def test_third_derivatives(third, f, want):
    np.testing.assert_allclose(third(f)(0.5), want, rtol=1e-5)


def test_closures_over_outer_values_are_not_confused():
    """d/dx [x * d/dy (x y)] at y = x is 2 x: the inner derivative must not see the outer one."""

    def outer(x):
        return x * ev.grad(lambda y: x * y)(x)

    assert float(ev.grad(outer)(3.0)) == 6
    assert float(ev.jit(ev.grad(outer))(3.0)) == 6
    assert float(ev.grad(ev.jit(outer))(3.0)) == 6
    assert [float(g) for g in ev.vmap(ev.grad(outer))(X)] == [2, 4, 6]


def test_one_argument_closed_over_and_differentiated():
    x = jnp.float32(2)
    assert float(ev.grad(lambda y: x * y)(x)) == 2
    assert float(ev.grad(lambda y: y * y)(x)) == 4


def test_python_control_flow_on_values():
    def collatz_like(x):
        steps = 0
        while x < 10:
            x = x * x if x > 2 else x * 3
            steps += 1
        return x * steps

    # 1.5 -> 4.5 -> 20.25: (3 x)^2 * 2
    assert float(collatz_like(1.5)) == 40.5
    assert float(ev.grad(collatz_like)(1.5)) == 54
    assert float(ev.grad(ev.grad(collatz_like))(1.5)) == 36
    assert float(ev.jvp(collatz_like, (1.5,), (1.0,))[1]) == 54
    found = ev.vmap(lambda s: ev.grad(lambda x: collatz_like(x) * 1.0)(1.5) * s)(X)
    np.testing.assert_array_equal(found, 54 * X)


@pytest.mark.parametrize("transform", [ev.jit, ev.vmap])
def test_control_flow_on_traced_values_is_an_error(transform):
    def f(x):
        return x if x > 0 else -x

    with pytest.raises(ev.errors.TracerBoolConversionError):
        transform(ev.grad(f))(X if transform is ev.vmap else 1.0)


def test_what_has_no_derivative_can_be_read_while_differentiating():
    seen = []

    def f(x):
        y = x * 2
        constant = lax.stop_gradient(y)
        seen.append((int(y), bool(y), f"{y:.1f}", float(constant), np.asarray(constant).item()))
        return y

    assert float(ev.grad(f)(1.5)) == 2
    assert float(ev.jvp(f, (1.5,), (1.0,))[1]) == 2
    assert seen == [(3, True, "3.0", 3.0, 3.0)] * 2


READS = {
    "float": lambda x: float(x[0]) * x[0],
    "complex": lambda x: (complex(x[0]) * x[0]).real,
    "item": lambda x: x[0].item() * x[0],
    "tolist": lambda x: sum(x.tolist()) * x[0],
    "asarray": lambda x: jnp.sum(np.asarray(x) * x),
    "a copy": lambda x: jnp.sum(jnp.asarray(np.array(x, np.float64))),
    "a scalar type": lambda x: np.float32(x[0]) * x[0],
    "a function of NumPy": lambda x: np.dot(x, x),
    "a ufunc": lambda x: jnp.sum(jnp.asarray(np.sin(x))),
    "a function of math": lambda x: math.exp(x[0]),
    "the result of a loop": lambda x: float(lax.fori_loop(0, 2, lambda i, c: c * 2.0, x[0])),
}


def _hvp(f):
    return lambda x: ev.jvp(ev.grad(f), (x,), (x,))


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(
    "derive",
    [ev.grad, lambda f: lambda x: ev.jvp(f, (x,), (x,)), lambda f: lambda x: ev.vjp(f, x), _hvp],
    ids=["grad", "jvp", "vjp", "hvp"],
)
def test_nothing_that_has_a_derivative_is_read_without_a_word(derive, read):
    errors = ev.errors.ConcretizationTypeError, ev.errors.TracerArrayConversionError
    with pytest.raises(errors, match="no derivative flows through what is read of it") as caught:
        derive(READS[read])(X)
    assert "(<lambda>) differentiates by this f32[" in str(caught.value)
    assert "read `lax.stop_gradient(x)`" in str(caught.value)


@lends_buffers
def test_no_bytes_of_what_has_a_derivative_are_read():
    with pytest.raises(ev.errors.TracerArrayConversionError, match="no derivative flows through"):
        ev.grad(lambda x: jnp.sum(jnp.asarray(memoryview(x))))(X)


def test_what_numpy_only_compares_can_be_read():
    def f(x):
        assert np.array_equal(x, X)  # which says False where it gets an error
        assert np.array_equiv(x, X)
        assert np.allclose(x, X)
        np.testing.assert_allclose(x, X)
        np.testing.assert_array_equal(x, X)
        return jnp.sum(x * np.isclose(x, X))

    assert ev.grad(f)(X).tolist() == [1, 1, 1]
    assert float(ev.jvp(f, (X,), (X,))[1]) == 6


def test_what_has_left_its_derivative_can_be_read():
    kept = []
    ev.grad(lambda x: kept.append(x * 2) or x)(1.5)
    assert float(kept[0]) == 3
    inner = []
    ev.grad(lambda x: ev.grad(lambda y: inner.append(y) or y * 2.0)(1.0) * x + float(inner[0]))(2.0)
    assert float(inner[0]) == 1


def test_stop_gradient():
    assert float(ev.grad(lambda x: x * lax.stop_gradient(x))(3.0)) == 3


def test_nothing_flows_through_integers():
    assert float(ev.grad(lambda x: jnp.floor(x).astype(int).astype(float) * x)(2.5)) == 2


# ------------------------------------------------------------------ memory


class Watched:
    """Sees arrays come and go."""

    def __init__(self):
        self.refs = []

    def __call__(self, x):
        self.refs.append(weakref.ref(x))
        return x

    def alive(self):
        return sum(ref() is not None for ref in self.refs)


def test_intermediate_values_die_with_the_call():
    watched = Watched()

    def f(x):
        for _ in range(5):
            x = watched(jnp.sin(x))
        return x.sum()

    gc.disable()
    try:
        ev.grad(f)(X)
        assert watched.alive() == 0
        ev.grad(lambda x: ev.grad(f)(x).sum())(X)
        assert watched.alive() == 0
        ev.vjp(f, X)[1](1.0)
        gc.collect()
        assert watched.alive() == 0
    finally:
        gc.enable()


def test_values_that_no_rule_reads_are_not_kept():
    """Addition needs no operand to be transposed: the sum's arguments may go at once."""
    sizes = []

    def f(x):
        first = x * 2
        value = weakref.ref(first.value)
        second = first + 1
        del first
        sizes.append(value() is None)
        return second.sum()

    ev.grad(f)(jnp.asarray(X))
    assert sizes == [True]
