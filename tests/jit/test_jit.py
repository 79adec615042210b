"""jit as users call it: what it takes, what it gives, what it refuses."""

import dataclasses
import functools

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.control.call import jit_p
from evertrace.sharding import SingleDeviceSharding

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("rules")]
X = np.float32([1, 2, 3])


def square(x):
    """Square a number."""
    return x * x


SQUARES = X**2


# ------------------------------------------------------------------ what it takes


@pytest.mark.parametrize(
    "made",
    [
        lambda: ev.jit(square),
        lambda: ev.jit()(square),
        lambda: ev.jit(static_argnums=())(square),
        lambda: ev.jit(ev.jit(square)),
        lambda: ev.jit(functools.partial(square)),
        lambda: ev.jit(Squarer()),
        lambda: ev.jit(Squarer().__call__),
        lambda: ev.jit(square, inline=True),
        lambda: ev.jit(square, keep_unused=True),
        lambda: ev.jit(square, device=ev.devices()[0]),
        lambda: ev.jit(square, backend="cpu"),
        lambda: ev.jit(square, in_shardings=SingleDeviceSharding(ev.devices()[0])),
        lambda: ev.jit(square, out_shardings=SingleDeviceSharding(ev.devices()[0])),
        lambda: ev.jit(square, in_shardings=(SingleDeviceSharding(ev.devices()[0]),)),
        lambda: ev.jit(square, compiler_options={"xla_cpu_enable_fast_math": True}),
    ],
)
def test_every_way_to_make_one(made):
    f = made()
    for _ in range(2):
        out = f(X)
        assert type(out) is ev.Array
        np.testing.assert_array_equal(out, SQUARES)


class Squarer:
    """A callable object, with attributes that must not hide those of the jitted function."""

    def __init__(self):
        self._call = self._fun = self.trace = self.lower = None

    def __call__(self, x):
        return square(x)


@pytest.mark.parametrize(
    ("argument", "dtype", "weak"),
    [
        (1.5, "float32", True),
        (3, "int32", True),
        (True, "bool", False),
        (1j, "complex64", True),
        (np.float64(2), "float32", False),
        (np.arange(3), "int32", False),
        (np.float16([1]), "float16", False),
    ],
)
def test_arguments_that_are_no_arrays_yet(argument, dtype, weak):
    out = ev.jit(jnp.positive)(argument)
    assert type(out) is ev.Array
    assert (out.dtype.name, out.weak_type) == (dtype, weak)
    np.testing.assert_array_equal(out, argument)


def test_trees_go_in_and_come_out():
    def f(d, *rest, flag=None):
        return {"sum": d["a"] + rest[0][1], "none": None, "nested": [(flag,), rest]}

    out = ev.jit(f)({"a": 1.0}, [2.0, 3.0], flag=True)
    assert ev.tree.map(float, out) == {"sum": 4.0, "none": None, "nested": [(1.0,), ([2.0, 3.0],)]}


@pytest.mark.parametrize("result", [None, (), {}, [None, ()]])
def test_results_without_arrays(result):
    assert ev.jit(lambda x: result)(X) == result


def test_it_looks_like_the_function():
    f = ev.jit(square)
    assert (f.__name__, f.__doc__, f.__wrapped__) == ("square", "Square a number.", square)
    assert repr(f) == "<jitted function square(x)>"


def test_attributes_of_the_function_are_there():
    def f(x):
        return x

    f.version = 3
    assert ev.jit(f).version == 3


def test_as_a_static_method_and_on_a_class():
    class Model:
        @staticmethod
        @ev.jit
        def scale(x):
            return 2 * x

        @classmethod
        def twice(cls, x):
            return cls.scale(cls.scale(x))

    assert float(Model().scale(1.0)) == 2
    assert float(ev.jit(Model.twice)(1.0)) == 4


def test_a_static_self_binds_like_a_method():
    class Model:
        @functools.partial(ev.jit, static_argnums=0)
        def double(self, x):
            return 2 * x

    assert float(Model().double(1.0)) == 2


def test_a_self_that_is_a_tree_is_traced():
    @ev.tree_util.register_dataclass
    @dataclasses.dataclass
    class Point:
        x: object

        @ev.jit
        def scaled(self, s):
            return Point(self.x * s)

    assert float(Point(2.0).scaled(3.0).x) == 6


# ------------------------------------------------------------------ what it refuses


@pytest.mark.parametrize("fun", [5, "f", X])
def test_only_callables_are_jitted(fun):
    with pytest.raises(TypeError, match="jit: expected a function, got a value of type"):
        ev.jit(fun)


def test_options_that_mean_nothing_say_so():
    with pytest.raises(TypeError, match=r"jit: abstracted_axes is \{0: 1\}"):
        ev.jit(square, abstracted_axes={0: 1})
    with pytest.raises(RuntimeError, match="Unknown backend moon"):
        ev.jit(square, backend="moon")


def test_an_unknown_compiler_option_is_named():
    with pytest.raises(Exception, match="xla_moon"):
        ev.jit(square, compiler_options={"xla_moon": True})(X)


def test_missing_and_extra_arguments_are_pythons_error():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        ev.jit(square)()
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        ev.jit(square)(1, 2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        ev.jit(square)(1, y=2)


def test_errors_of_the_function_pass_through():
    @ev.jit
    def fails(x):
        raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            fails(X)
    assert fails.cache_info().currsize == 0


# ------------------------------------------------------------------ nesting


def test_nested_jits_stay_calls_unless_inlined():
    called, inlined = ev.jit(square), ev.jit(square, inline=True)
    assert [e.primitive for e in ev.make_jaxpr(called)(X).eqns] == [jit_p]
    assert [e.primitive.name for e in ev.make_jaxpr(inlined)(X).eqns] == ["mul"]
    np.testing.assert_array_equal(ev.jit(lambda x: inlined(called(x)))(X), X**4)


def test_recursion_over_a_static_argument():
    @functools.partial(ev.jit, static_argnums=0)
    def power(n, x):
        return x if n == 1 else x * power(n - 1, x)

    np.testing.assert_array_equal(power(4, X), X**4)


def test_in_every_nesting_with_transformations():
    f = ev.jit(lambda x: jnp.sin(x) * x)
    g = ev.jit(ev.vmap(ev.jit(ev.grad(lambda x: ev.jit(f)(x)))))
    np.testing.assert_allclose(g(X), np.cos(X) * X + np.sin(X), rtol=1e-6)
    h = ev.grad(lambda x: ev.vmap(ev.jit(ev.grad(f)))(x).sum())
    np.testing.assert_allclose(h(X), 2 * np.cos(X) - np.sin(X) * X, rtol=1e-5)


def test_a_closure_over_an_outer_tracer():
    def f(x):
        inner = ev.jit(lambda y: x * y)
        return inner(2.0) + inner(3.0)

    np.testing.assert_array_equal(ev.jit(f)(X), 5 * X)
    np.testing.assert_array_equal(ev.vmap(f)(X), 5 * X)
    assert float(ev.grad(f)(1.0)) == 5
    assert float(ev.grad(ev.jit(f))(1.0)) == 5
    out, tangent = ev.jvp(ev.jit(f), (1.0,), (2.0,))
    assert (float(out), float(tangent)) == (5, 10)


def test_a_closure_is_not_confused_with_the_next_one(rules):
    """What a traced function captured belongs to that one outer trace."""
    inner = []

    @ev.jit
    def use(y):
        return inner[0] * y

    def outer(x):
        inner[:] = [x]
        return use(2.0)

    assert [float(ev.grad(outer)(1.0)), float(ev.jit(outer)(3.0))] == [2, 6]
    if rules == "strict":
        assert [float(x) for x in ev.vmap(outer)(X)] == [2, 4, 6]
    else:  # one list cannot hold an element for each example
        with pytest.raises(ev.errors.UnexpectedTracerError, match="depends on the mapped axis"):
            ev.vmap(outer)(X)


def test_disable_jit_runs_python():
    @ev.jit
    def f(x):
        return x if x > 1 else -x

    x = jnp.float32(2)
    with ev.disable_jit():
        assert float(f(x)) == 2
    with pytest.raises(ev.errors.TracerBoolConversionError):
        f(x)


# ------------------------------------------------------------------ values


def test_outputs_that_are_inputs_or_constants_need_no_compiler():
    c = jnp.arange(3.0)
    f = ev.jit(lambda x, y: (y, 2.5, x, c, y))
    x, y = jnp.ones(2), jnp.zeros(4)
    outs = f(x, y)
    assert outs[0] is y
    assert outs[2] is x
    assert float(outs[1]) == 2.5
    assert outs[3] is c
    (program,) = {v.program for v in (*f._strict.variants.all(), *f._contract.variants.all())}
    assert program.trivial
    assert not program.executables


def test_an_output_computed_once_may_be_returned_twice():
    def f(x):
        y = x * 2
        return y, x, y, 1

    a, b, c, d = ev.jit(f)(X)
    np.testing.assert_array_equal(a, 2 * X)
    np.testing.assert_array_equal(c, 2 * X)
    np.testing.assert_array_equal(b, X)
    assert int(d) == 1


def test_large_constants_are_inputs_not_text():
    w = jnp.ones((200, 300))
    f = ev.jit(lambda x: x + w)
    assert len(f.lower(w).as_text()) < 2000
    np.testing.assert_array_equal(f(w), np.full((200, 300), 2))


def test_numpy_arguments_may_be_changed_after_the_call():
    f = ev.jit(lambda x: x + 1)
    x = np.zeros(1_000_000, np.float32)
    out = f(x)
    x[:] = 5
    assert float(out.max()) == 1


def test_results_that_are_computed_do_not_alias_arguments_and_views_do_as_without_jit(rules):
    x = np.zeros(4, np.float32)
    for f, is_view in (
        (lambda x: x[:], True),
        (lambda x: x.reshape(2, 2), True),
        (lambda x: x * 1, False),
        (jnp.asarray, False),
    ):
        x[:] = 0
        out = ev.jit(f)(x)
        x[:] = 5
        shows = is_view and rules == "contract"
        np.testing.assert_array_equal(out, np.full(out.shape, 5 if shows else 0))


def test_unused_arguments_are_not_passed_unless_kept():
    def f(x, unused):
        return x * 2

    y = np.ones((2, 3), np.float32)
    assert "tensor<2x3xf32>" not in ev.jit(f).lower(X, y).as_text()
    kept = ev.jit(f, keep_unused=True)
    assert "tensor<2x3xf32>" in kept.lower(X, y).as_text()
    np.testing.assert_array_equal(kept(X, y), 2 * X)


def test_empty_arrays_and_scalars():
    f = ev.jit(lambda x, s: (x * s, s))
    out, s = f(np.zeros((0, 3), np.float32), 2)
    assert out.shape == (0, 3)
    assert int(s) == 2


def test_x64_is_part_of_the_signature():
    f = ev.jit(lambda x: x * 2)
    assert f(1.5).dtype == np.float32
    with ev.enable_x64():
        assert f(1.5).dtype == np.float64
    assert f(1.5).dtype == np.float32
