"""debug.print and debug.callback: what is printed, how often, in which order."""

import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import debug, lax

X = np.float32([1, 2, 3])


def as_it_is(fun):
    """Leave a function uncompiled."""
    return fun


both = pytest.mark.parametrize("run", [as_it_is, ev.jit], ids=["eager", "jit"])


@pytest.fixture
def printed(capsys):
    """Return a function that returns the lines printed so far."""
    return lambda: capsys.readouterr().out.splitlines()


def noisy_square(x):
    debug.print("x = {}", x)
    return x * x


# ------------------------------------------------------------------ formats


@both
@pytest.mark.parametrize(
    ("fmt", "args", "kwargs", "want"),
    [
        ("plain", (), {}, "plain"),
        ("{} {y}", (X,), {"y": 3}, "[1. 2. 3.] 3"),
        ("{0} {0} {1:.2f}", (1, 2.0), {}, "1 1 2.00"),
        ("{{{x}}}", (), {"x": True}, "{True}"),
        ("{x!r}", (), {"x": X}, "Array([1., 2., 3.], dtype=float32)"),
        ("{x.shape} {x[1]}", (), {"x": X}, "(3,) 2.0"),
        ("{} {} {}", ("text", None, ["b", ()]), {}, "text None ['b', ()]"),
        ("{:>{width}}", (7,), {"width": "4"}, "   7"),
    ],
)
def test_formats(run, printed, fmt, args, kwargs, want):
    run(lambda: debug.print(fmt, *args, **kwargs))()
    assert printed() == [want]


@both
def test_print_options_of_the_call(run, printed):
    with np.printoptions(precision=2):
        fun = run(lambda x: debug.print("{}", x))
        fun(X / 3)
    fun(X / 7)
    assert printed()[0] == "[0.33 0.67 1.  ]"


@both
def test_random_keys(run, printed):
    run(lambda: debug.print("{}", ev.random.key(3)))()
    assert printed() == ["Array((), dtype=key<fry>) overlaying:", "[0 3]"]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (("{} {}", X), {}, r"{1} in '{} {}' is not given"),
        (("{y}",), {"x": X}, r"{y} in '{y}' is not given, {x} is given but not used"),
        (("no fields", X), {}, r"{0} is given but not used in 'no fields'"),
    ],
)
def test_fields_and_arguments_must_match(args, kwargs, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        debug.print(*args, **kwargs)


def test_format_must_be_a_string():
    with pytest.raises(TypeError, match="the format must be a string, got int"):
        debug.print(3)


# ------------------------------------------------------------------ transformations


@both
def test_once_per_call(run, printed):
    fun = run(noisy_square)
    fun(2.0)
    fun(3.0)
    assert printed() == ["x = 2.0", "x = 3.0"]


@both
def test_derivatives_pass_it_by(run, printed):
    assert run(ev.grad(noisy_square))(2.0) == 4
    assert run(lambda x: ev.jvp(noisy_square, (x,), (1.0,)))(3.0) == (9, 6)
    assert run(lambda x: ev.linearize(noisy_square, x)[1](1.0))(4.0) == 8
    assert printed() == ["x = 2.0", "x = 3.0", "x = 4.0"]


@both
def test_nothing_to_print_where_only_the_transpose_runs(run, printed):
    def double(x):
        debug.print("{}", x)
        return 2 * x

    np.testing.assert_array_equal(run(lambda ct: ev.linear_transpose(double, X)(ct)[0])(X), 2 * X)
    assert printed() == []


@both
def test_once_per_example(run, printed):
    run(ev.vmap(noisy_square))(X)
    assert printed() == ["x = 1.0", "x = 2.0", "x = 3.0"]
    run(ev.vmap(lambda x: debug.print("unbatched")))(X)
    assert printed() == ["unbatched"]


@both
def test_vmap_of_grad_with_an_unbatched_argument(run, printed):
    def fun(x, y):
        debug.print("{} {}", x, y, ordered=True)
        return x * x * y

    run(ev.vmap(ev.grad(fun), (0, None)))(X, 2.0)
    assert printed() == ["1.0 2.0", "2.0 2.0", "3.0 2.0"]


@both
def test_derivative_of_a_scan(run, printed):
    def turn(c, x):
        debug.print("{}", c)
        return c * x * jnp.cos(0.0), c

    fun = run(ev.grad(lambda c: lax.scan(turn, c, X)[0]))
    assert fun(1.0) == 6
    assert printed() == ["1.0", "1.0", "2.0"]


@both
def test_derivative_of_a_checkpoint_prints_in_both_computations(run, printed):
    assert run(ev.grad(ev.checkpoint(lambda x: noisy_square(jnp.sin(x)))))(0.0) == 0
    assert printed() == ["x = 0.0", "x = 0.0"]


@both
def test_batched_choices_print_in_both_branches(run, printed):
    def choose(x):
        return lax.cond(x > 2, lambda: debug.print("big {}", x), lambda: debug.print("small {}", x))

    run(choose)(3.0)
    assert printed() == ["big 3.0"]
    run(ev.vmap(choose))(X[1:])
    assert printed() == ["small 2.0", "small 3.0", "big 2.0", "big 3.0"]


def test_loops_that_begin_interpreted_and_end_compiled(printed):
    def turn(i):
        debug.print("{}", i)
        return i + 1

    lax.while_loop(lambda i: i < 3000, turn, 0)
    assert printed() == [str(i) for i in range(3000)]


# ------------------------------------------------------------------ debug.callback


@both
def test_callback_gets_trees_and_other_objects(run):
    seen = []

    def look(x, what, *, tree):
        seen.append((np.asarray(x).tolist(), what, float(tree["a"][0])))
        return "dropped"

    assert run(lambda x: debug.callback(look, x, "name", tree={"a": [x[0], None]}))(X) is None
    assert seen == [([1, 2, 3], "name", 1.0)]


@both
def test_failing_callback(run):
    def refuse(x):
        raise KeyError("not today")

    with pytest.raises(KeyError, match="not today"):
        run(lambda x: debug.callback(refuse, x))(X)


def test_callback_must_be_callable():
    with pytest.raises(TypeError, match="callable"):
        debug.callback("look", X)


def test_printed_form():
    text = str(ev.make_jaxpr(lambda x: debug.callback(print, x, ordered=True))(X))
    assert "debug_callback[callback=print effect=OrderedDebug partitioned=False] a" in text
