"""vmap: which axes, which sizes, what comes out where, and the errors."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import errors, lax

A = np.arange(6, dtype=np.float32).reshape(2, 3)
X = np.float32([1, 2, 3])


def loop(f, *columns):
    """Return what vmap means: the stacked results of the single calls."""
    results = [f(*row) for row in zip(*columns, strict=True)]
    return ev.tree.map(lambda *leaves: np.stack(leaves), *results)


# ------------------------------------------------------------------ in_axes


@pytest.mark.parametrize(
    ("in_axes", "args", "want"),
    [
        (0, (A,), A * 2),
        (1, (A,), A.T * 2),
        (-1, (A,), A.T * 2),
        (-2, (A,), A * 2),
        ((0,), (A,), A * 2),
        ([0], (A,), A * 2),
        ((np.int64(0),), (A,), A * 2),
    ],
)
def test_axes_of_one_argument(in_axes, args, want):
    np.testing.assert_array_equal(ev.vmap(lambda x: x * 2, in_axes)(*args), want)


@pytest.mark.parametrize(
    ("in_axes", "x", "y", "want"),
    [
        ((0, None), A, X, A * X),
        ((None, 0), X, A, A * X),
        ((1, 0), A, X, A.T * X[:, None]),
        ((0, 0), X, X, X * X),
        ((0, None), X, 2.0, X * 2),
        (0, X, X, X * X),
    ],
)
def test_axes_of_two_arguments(in_axes, x, y, want):
    np.testing.assert_array_equal(ev.vmap(lambda x, y: x * y, in_axes)(x, y), want)


@pytest.mark.parametrize("number", [2, 2.0, 2j, True])
def test_numbers_that_are_not_mapped_are_what_they_are(number):
    def scaled(x, options):
        assert type(options["by"]) is type(number)
        return x * options["by"]

    f = ev.vmap(scaled, in_axes=(0, None))
    np.testing.assert_array_equal(f(X, {"by": number}), X * number)


@pytest.mark.parametrize("around", [lambda f: f, ev.jit, ev.jit(strict=True)])
def test_a_condition_on_a_number_that_is_not_mapped_is_one_of_python(around):
    def scaled(x, by):
        return x * by if by > 1.0 else x

    f = around(lambda x: ev.vmap(scaled, in_axes=(0, None))(x, 2.0))
    np.testing.assert_array_equal(f(X), 2 * X)


def test_what_is_not_mapped_need_not_be_an_array():
    f = ev.vmap(lambda x, act, names: act(x) * len(names["a"]), (0, None, None))
    np.testing.assert_array_equal(f(X, jnp.negative, {"a": "xyz"}), -3 * X)
    with pytest.raises(TypeError, match=r"argument 1 of type function is not an array"):
        ev.vmap(lambda x, act: act(x))(X, lambda x: x)
    with pytest.raises(TypeError, match=r"argument 0 of type str is not an array"):
        ev.vmap(lambda name, act: name, (0, None))("x", jnp.sin)


@pytest.mark.parametrize(
    "in_axes",
    [
        ({"w": 0, "b": None}, 0),
        [{"w": 0, "b": None}, 0],
        ({"w": 0, "b": None}, [0, 0]),
    ],
)
def test_axes_may_be_a_tree_prefix(in_axes):
    f = ev.vmap(lambda p, xs: p["w"] * xs[0] + xs[1] + p["b"], in_axes)
    np.testing.assert_array_equal(f({"w": X, "b": 1.0}, [X, X]), X * X + X + 1)


def test_a_container_of_which_nothing_is_mapped():
    f = ev.vmap(lambda p, x: p["a"] * x + p["b"], (None, 0))
    np.testing.assert_array_equal(f({"a": 2.0, "b": 1.0}, X), 2 * X + 1)


def test_keyword_arguments_are_mapped_over_their_first_axis():
    np.testing.assert_array_equal(ev.vmap(lambda x, *, k: x + k)(X, k=X), 2 * X)
    with pytest.raises(ValueError, match=r"axis 0 of an argument of type f32\[\]"):
        ev.vmap(lambda x, *, k: x + k)(X, k=1.0)


def test_defaults_are_not_mapped():
    np.testing.assert_array_equal(ev.vmap(lambda x, y=2.0: x * y)(X), 2 * X)


def test_axis_size():
    assert ev.vmap(lambda: jnp.ones(2), axis_size=3)().shape == (3, 2)
    np.testing.assert_array_equal(ev.vmap(lambda x: x, None, axis_size=2)(X), [X, X])
    np.testing.assert_array_equal(ev.vmap(lambda x: x, axis_size=3)(X), X)
    with pytest.raises(ValueError, match=r"has size 3 along axis 0; axis_size is 4\."):
        ev.vmap(lambda x: x, axis_size=4)(X)


# ------------------------------------------------------------------ out_axes


@pytest.mark.parametrize(
    ("out_axes", "shape"), [(0, (3, 4, 5)), (1, (4, 3, 5)), (-1, (4, 5, 3)), (-3, (3, 4, 5))]
)
def test_out_axes_place_the_axis(out_axes, shape):
    f = ev.vmap(lambda x: x * jnp.ones((4, 5)), out_axes=out_axes)
    assert f(X).shape == shape
    np.testing.assert_array_equal(np.moveaxis(f(X), out_axes, 0)[:, 0, 0], X)


def test_out_axes_may_be_a_tree_prefix():
    f = ev.vmap(lambda x: {"a": (x, x + A), "b": x}, out_axes={"a": (0, -1), "b": 0})
    out = f(X)
    assert ev.tree.map(jnp.shape, out) == {"a": ((3,), (2, 3, 3)), "b": (3,)}
    assert ev.vmap(lambda x: (x, x), out_axes=(0, 0))(X)[1].shape == (3,)


def test_outputs_that_are_not_mapped():
    out = ev.vmap(lambda x: (x, 1.0, A), out_axes=(0, None, None))(X)
    assert out[1].shape == ()
    np.testing.assert_array_equal(out[2], A)
    out = ev.vmap(lambda x: (1.0, A))(X)
    np.testing.assert_array_equal(out[0], [1, 1, 1])
    assert out[1].shape == (3, 2, 3)


@pytest.mark.parametrize("result", [None, (), {"a": None}])
def test_results_without_arrays(result):
    assert ev.vmap(lambda x: result)(X) == result


# ------------------------------------------------------------------ meaning


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jnp.sin(x).sum(),
        lambda x: x @ np.ones((3, 2), np.float32),
        lambda x: jnp.sort(-x),
        lambda x: x[::-1][1:],
        lambda x: ev.grad(lambda y: (y * y * x).sum())(x),
        lambda x: ev.jvp(jnp.exp, (x,), (x,))[1],
        lambda x: ev.jit(lambda y: y * x[0])(x),
        lambda x: lax.cond(x[0] > 1, jnp.sin, jnp.cos, x),
        lambda x: lax.scan(lambda c, y: (c + y, c * y), 0.0, x)[1],
        lambda x: lax.while_loop(lambda c: c.sum() < 50, lambda c: c * 2 + 1, x),
    ],
)
def test_it_means_a_loop(f):
    np.testing.assert_allclose(ev.vmap(f)(A), loop(f, A), rtol=1e-6)
    np.testing.assert_allclose(ev.jit(ev.vmap(f))(A), loop(f, A), rtol=1e-6)
    np.testing.assert_allclose(ev.vmap(f, 1)(A.T), loop(f, A), rtol=1e-6)


def test_nested():
    outer = ev.vmap(ev.vmap(lambda x, y: x * y, (None, 0)), (0, None))
    np.testing.assert_array_equal(outer(X, X), np.outer(X, X))
    both = ev.vmap(ev.vmap(lambda x: x + 1), 1, 1)
    np.testing.assert_array_equal(both(A), A + 1)
    np.testing.assert_array_equal(ev.vmap(ev.vmap(ev.vmap(jnp.sin)))(A[None]), jnp.sin(A)[None])


def test_closures_over_outer_batches():
    f = ev.vmap(lambda x: ev.vmap(lambda y: x * y)(X))
    np.testing.assert_array_equal(f(X), np.outer(X, X))


def test_a_custom_rule_may_close_over_the_batch():
    def f(a):
        scaled = ev.custom_jvp(lambda x: a * x)
        scaled.defjvps(lambda t, out, x: a * t)
        return scaled(a + 1)

    np.testing.assert_array_equal(ev.vmap(f)(X), X * (X + 1))
    np.testing.assert_array_equal(ev.jit(ev.vmap(f))(X), X * (X + 1))


def test_inside_and_around_derivatives():
    f = ev.vmap(lambda x: x * x)
    np.testing.assert_array_equal(ev.grad(lambda x: f(x).sum())(X), 2 * X)
    np.testing.assert_array_equal(ev.vmap(ev.grad(lambda x: x * x))(X), 2 * X)
    np.testing.assert_array_equal(ev.jvp(f, (X,), (X,))[1], 2 * X * X)
    np.testing.assert_array_equal(ev.vjp(f, X)[1](X)[0], 2 * X * X)
    np.testing.assert_array_equal(ev.linearize(f, X)[1](X), 2 * X * X)


def test_python_control_flow_on_values_that_are_not_mapped():
    def f(x, n):
        return x if n > 2 else f(x * 2, n + 1)

    np.testing.assert_array_equal(ev.vmap(f, (0, None))(X, jnp.int32(0)), 8 * X)


def test_python_control_flow_on_mapped_values_is_an_error():
    with pytest.raises(ev.errors.TracerBoolConversionError, match=r"belongs to vmap\(<lambda>\)"):
        ev.vmap(lambda x: x if x > 0 else -x)(X)


def test_an_empty_batch():
    assert ev.vmap(lambda x: x.sum())(np.zeros((0, 3), np.float32)).shape == (0,)


def test_one_example_has_no_batch_axis():
    shapes = []
    ev.vmap(lambda x, y: shapes.append((x.shape, y.shape)) or x, (1, None))(A, A)
    assert shapes == [((2,), (2, 3))]


def test_functions_keep_their_names():
    assert ev.vmap(jnp.sin).__name__ == "sin"


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("options", "args", "error", "text"),
    [
        ({}, (X, A), ValueError,
         r"the mapped axes differ in size: argument 0 of type f32\[3\] has size 3 along axis 0; "
         r"argument 1 of type f32\[2,3\] has size 2 along axis 0\."),
        ({}, ({"w": X}, A), ValueError, r"argument 0\['w'\] of type f32\[3\] has size 3"),
        ({"in_axes": 1}, (X, X), ValueError,
         r"in_axes names axis 1 of an argument of type f32\[3\], which has 1 dimensions"),
        ({"in_axes": -2}, (X, X), ValueError, "in_axes names axis -2"),
        ({}, (1.0, X), ValueError, r"axis 0 of an argument of type f32\[\], which has 0 dim"),
        ({"in_axes": None}, (X, X), ValueError, "no argument is mapped"),
        ({"in_axes": (0,)}, (X, X), ValueError, "in_axes has 1 entries, the call has 2 positional"),
        ({"in_axes": "a"}, (X, X), TypeError, "in_axes must be ints, None, or trees of them"),
        ({"in_axes": (0, 1.5)}, (X, X), TypeError, "got 1.5"),
        ({"in_axes": ({"a": 0}, 0)}, ({"b": X}, X), ValueError, "in_axes is not a tree prefix"),
        ({"out_axes": None}, (X, X), ValueError, "out_axes is None for an output that depends on"),
        ({"out_axes": 1}, (X, X), ValueError, "out_axes names axis 1 of an output with 1 dim"),
        ({"out_axes": (0, 0)}, (X, X), ValueError, "out_axes is not a tree prefix"),
        ({}, ("a", X), TypeError, "argument 0 of type str is not an array"),
    ],
)  # fmt: skip
def test_errors(options, args, error, text):
    with pytest.raises(error, match=text):
        ev.vmap(lambda x, y: x, **options)(*args)


def test_errors_name_the_function_the_line_and_the_cure():
    with pytest.raises(ValueError, match="differ in size") as caught:
        ev.vmap(jnp.add)(X, A)
    message = str(caught.value)
    assert message.startswith("vmap(add): ")
    assert "test_vmap.py" in message
    assert "pass None in in_axes for arguments that are not mapped" in message
    assert " vmap-axes`" in message


def test_keywords_are_named_in_errors():
    with pytest.raises(ValueError, match=r"argument k of type f32\[2,3\] has size 2"):
        ev.vmap(lambda x, k: x)(X, k=A)


def test_results_must_be_arrays():
    with pytest.raises(TypeError, match=r"vmap\(<lambda>\): the function returned a str"):
        ev.vmap(lambda x: "a")(X)


def test_the_function_must_be_callable():
    with pytest.raises(TypeError, match="vmap: expected a function"):
        ev.vmap(X)


@pytest.mark.parametrize("transform", [lambda f: f, ev.jit], ids=["eager", "jit"])
def test_tangents_of_integers_are_mapped_too(transform, rules):
    def loss(p, x):
        return (p["w"] * x).sum() * p["n"]

    p = {"w": jnp.ones(3), "n": jnp.asarray(2)}
    grads = ev.vmap(ev.grad(loss, allow_int=True), (None, 0), {"w": 0, "n": 0})
    found = transform(grads)(p, jnp.ones((4, 3)))
    assert found["n"].dtype == ev.float0
    assert found["n"].shape == (4,)
    assert found["w"].shape == (4, 3)


def test_the_mesh_axis_of_a_mapped_axis_may_be_named():
    """On one device there is nothing to divide: the result is the same."""
    double = ev.vmap(lambda x: 2 * x, spmd_axis_name="rows")
    np.testing.assert_array_equal(double(jnp.arange(3)), [0, 2, 4])


def test_structural_operations_leave_the_batch_dimension_where_it_is():
    def f(x):
        return jnp.concatenate([jnp.broadcast_to(x[:, None], (3, 2)), x[:, None]], axis=1)

    batched = ev.vmap(f, in_axes=1, out_axes=1)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(batched(x), np.stack([x, x, x], 2))
    assert "transpose" not in str(ev.make_jaxpr(batched)(x))
    turned = ev.make_jaxpr(ev.vmap(jnp.transpose, in_axes=1))(np.ones((2, 3, 4), np.float32))
    assert str(turned).count("transpose") == 1


@pytest.mark.parametrize("transform", [ev.vmap, ev.grad, ev.jit, ev.jacfwd, ev.checkpoint])
def test_names_of_callable_objects_may_be_anything(transform):
    class Doubled:
        def __init__(self):
            self.__name__ = self.__qualname__ = self.__annotations__ = None

        def __call__(self, x):
            return 2 * x

    found = transform(Doubled())
    x = jnp.ones(2) if transform is ev.vmap else jnp.float32(1)
    np.testing.assert_array_equal(found(x), 2 * np.ones(x.shape))


def test_a_tracer_shows_the_whole_batch_by_jaxs_name():
    seen = []
    ev.vmap(lambda x: seen.append(x.val) or x)(jnp.arange(3.0))
    assert jnp.array_equal(seen[0], jnp.arange(3.0))


@pytest.mark.parametrize("transform", [ev.vmap, ev.grad, ev.jacfwd, ev.make_jaxpr])
def test_results_made_by_hand_of_what_is_no_type_are_no_arrays(transform):
    with pytest.raises(TypeError, match=r"the function returned a \w+ at result, which is not an"):
        transform(lambda x: ev.core.Literal(x, 1.0))(jnp.ones(3))


@pytest.mark.quotes_lines
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x: x.reshape(4, 4), r"of shape \(3,\) \(size 3\) into shape \(4, 4\)"),
        (lambda x: lax.slice(x, (0,), (9,)), r"\(0,\) to \(9,\) .* shape \(3,\)"),
        (lambda x: lax.dynamic_slice(x, (0,), (9,)), r"shape \(9,\) .* shape \(3,\)"),
        (lambda x: lax.squeeze(x, (0,)), r"dimensions \(0,\) of shape \(3,\)"),
        (lambda x: lax.pad(x, 0.0, [(1, 1, 0)] * 2), r"\(\(1, 1, 0\), \(1, 1, 0\)\) .* \(3,\)"),
    ],
    ids=["reshape", "slice", "dynamic_slice", "squeeze", "pad"],
)
@pytest.mark.parametrize("around", [lambda f: f, ev.jit, ev.vmap], ids=["vmap", "jit", "vmap2"])
def test_what_is_wrong_with_one_example_is_said_of_one_example(function, shapes, around):
    x = jnp.ones((5, 2, 3)) if around is ev.vmap else jnp.ones((2, 3))
    with pytest.raises(errors.EvertraceError, match=shapes) as caught:
        around(ev.vmap(function))(x)
    assert "called from vmap(<lambda>)" in str(caught.value)
