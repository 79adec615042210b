"""Which arguments are static, donated or traced, and what they are called."""

import functools
import inspect
import pydoc
import sys
import typing

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.jit.signature import Signature

pytestmark = pytest.mark.usefixtures("rules")
X = np.float32([1, 2, 3])


def power(x, n):
    return lax.integer_pow(x, n)


CUBES = X**3


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1},
        {"static_argnums": (1,)},
        {"static_argnums": [-1]},
        {"static_argnums": np.int64(1)},
        {"static_argnames": "n"},
        {"static_argnames": ("n",)},
        {"static_argnames": ["n"]},
        {"static_argnums": 1, "static_argnames": "n"},
        {"static_argnums": (1, 1)},
    ],
)
@pytest.mark.parametrize("by_name", [False, True])
def test_static_arguments_by_number_and_by_name(options, by_name):
    f = ev.jit(power, **options)
    np.testing.assert_array_equal(f(X, n=3) if by_name else f(X, 3), CUBES)


@pytest.mark.parametrize(
    ("fun", "options", "args", "kwargs"),
    [
        (lambda x, *, n: power(x, n), {"static_argnames": "n"}, (X,), {"n": 3}),
        (lambda x, **k: power(x, k["n"]), {"static_argnames": "n"}, (X,), {"n": 3}),
        (lambda x, *rest: power(x, rest[1]), {"static_argnums": 2}, (X, 1.0, 3), {}),
        (lambda n, x: power(x, n), {"static_argnums": 0}, (3, X), {}),
        (lambda n, x, m: power(x, n + m), {"static_argnums": (0, 2)}, (1, X, 2), {}),
        (lambda x, n=3: power(x, n), {"static_argnums": 1}, (X,), {}),
        (lambda x, n=3: power(x, n), {"static_argnames": "n"}, (X,), {}),
        (functools.partial(power, n=3), {}, (X,), {}),
        (functools.partial(power, n=2), {"static_argnames": "n"}, (X,), {"n": 3}),
    ],
)
def test_static_arguments_of_any_kind(fun, options, args, kwargs):
    np.testing.assert_array_equal(ev.jit(fun, **options)(*args, **kwargs), CUBES)


def test_a_variadic_function_takes_any_number():
    f = ev.jit(lambda *args, **kwargs: (args, kwargs), static_argnums=())
    assert ev.tree.map(int, f(1, 2, b=3, a=4)) == ((1, 2), {"a": 4, "b": 3})


BAD = [
    ({"static_argnums": 2}, ValueError, "static_argnums has 2, but the function takes 2 pos"),
    ({"static_argnums": -3}, ValueError, "static_argnums has -3"),
    ({"donate_argnums": 7}, ValueError, "donate_argnums has 7"),
    ({"static_argnames": "m"}, ValueError, "static_argnames has 'm', but the function has no such"),
    ({"donate_argnames": "m"}, ValueError, "donate_argnames has 'm'"),
    ({"static_argnums": 1.5}, TypeError, "static_argnums must be an int or a sequence of ints"),
    ({"static_argnums": "1"}, TypeError, "static_argnums must be an int"),
    ({"static_argnames": 1}, TypeError, "static_argnames must be a str or a sequence of strs"),
    ({"static_argnames": [1]}, TypeError, "static_argnames must be a str"),
    ({"static_argnums": 0, "donate_argnums": 0}, ValueError, "cannot be static and donated"),
    ({"static_argnums": 0, "donate_argnames": "x"}, ValueError, "cannot be static and donated"),
]


@pytest.mark.parametrize(("options", "error", "text"), BAD)
def test_bad_roles_are_refused_at_once(options, error, text):
    with pytest.raises(error, match=text):
        ev.jit(power, **options)


def test_a_static_value_must_be_hashable(rules):
    name = {"strict": "1", "contract": "n"}[rules]
    with pytest.raises(ValueError, match=f"the static argument {name} is not hashable") as caught:
        ev.jit(power, static_argnums=1)(X, [3])
    message = str(caught.value)
    assert "a value of type list (unhashable type: 'list')" in message
    assert "Fix: pass a hashable value, such as a tuple instead of a list" in message
    assert " static-hashable`" in message
    with pytest.raises(ValueError, match="static argument n is not hashable"):
        ev.jit(power, static_argnames="n")(X, n={})


def test_a_traced_value_is_no_static_one_unless_it_is_pythons(rules):
    inner = ev.jit(power, static_argnums=1)
    outer = ev.jit(lambda n: inner(X, n))
    if rules == "strict":
        with pytest.raises(ValueError, match="the static argument 1 is not hashable"):
            outer(3)
    else:
        np.testing.assert_array_equal(outer(3), CUBES)
        np.testing.assert_array_equal(outer(2), X**2)


def test_leaves_have_the_names_that_users_write():
    def f(params, x, *rest, key=None, **more):
        """The parameters are what matters."""

    signature = Signature(f, 1, None, None, None)
    params = {"w": [1.0, 2.0], "b": 3.0}
    call = signature.flatten((params, 4.0, 5.0, 6.0), {"key": 7.0, "z": {"k": 8.0}})
    assert signature.leaf_names(call) == [
        "params['b']",
        "params['w'][0]",
        "params['w'][1]",
        "rest[0]",
        "rest[1]",
        "key",
        "z['k']",
    ]


def test_functions_without_a_signature_work():
    f = ev.jit(max, static_argnums=())  # a builtin: positions have no names
    signature = Signature(max, None, None, 0, None)
    call = signature.flatten((1.0, 2.0), {})
    assert signature.donated(call) == (0,)
    assert signature.leaf_names(call) == ["argument 0", "argument 1"]
    assert f.__name__ == "max"


def with_rule(f):
    f.defjvp(lambda n, xs, tangents: (f(*xs, n), tangents[0]))
    return f


@pytest.mark.skipif(sys.version_info < (3, 14), reason="Python itself evaluates annotations")
@pytest.mark.parametrize(
    "run",
    [
        lambda f: ev.jit(f)(X, 2),
        lambda f: ev.jit(f, static_argnames="n")(X, n=2),
        lambda f: ev.jit(functools.partial(f, n=2))(X),
        lambda f: ev.checkpoint(f)(X, 2),
        lambda f: with_rule(ev.custom_jvp(f, nondiff_argnames=["n"]))(X, n=2),
        lambda f: jnp.vectorize(f)(x=X, n=2),
        lambda f: lax.scan(f, X, length=1)[1][0],
    ],
)
def test_annotations_are_not_evaluated(run):
    def f(x: only_type_checkers_know.Array, n) -> defined_further_down:  # noqa: F821
        return (x, x * 2) if n is None else x * n

    assert "n)" in repr(ev.jit(f))
    np.testing.assert_array_equal(run(f), 2 * X)


class Params:
    weights: float


def annotated(x: Params, /, y: "Params | None" = None, *, scale: float = 1.0) -> tuple[float, int]:
    """Say something of Params."""


LOOKS = {
    "annotations": lambda f: f.__annotations__,
    "their program": lambda f: getattr(f, "__annotate__", None),
    "hints": typing.get_type_hints,
    "evaluated": lambda f: inspect.get_annotations(f, eval_str=True),
    "signature": inspect.signature,
    "bound": lambda f: inspect.signature(f).bind(1, scale=2).arguments,
    "document": inspect.getdoc,
    "source": inspect.getsource,
    "wrapped": lambda f: functools.wraps(f)(lambda *args: args).__annotations__,
    "hints of wrapped": lambda f: typing.get_type_hints(functools.wraps(f)(lambda *args: args)),
    "signature of wrapped": lambda f: inspect.signature(functools.wraps(f)(lambda *args: args)),
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("decorate", [ev.jit, ev.custom_jvp, ev.custom_vjp, ev.checkpoint, ev.vmap])
def test_it_looks_like_the_function(decorate, look):
    found = LOOKS[look](decorate(annotated))
    assert found == LOOKS[look](annotated)
    assert "Params" in str(found) or look in ("their program", "bound")


def test_help_shows_what_it_shows_of_the_function():
    def after_the_title(f):
        return pydoc.render_doc(f, renderer=pydoc.plaintext).partition("\n\n")[2]

    assert "y:" in after_the_title(annotated)
    assert after_the_title(ev.jit(annotated)) == after_the_title(annotated)


@pytest.mark.parametrize("decorate", [ev.jit, ev.custom_jvp, ev.custom_vjp])
def test_annotations_are_not_those_of_the_class(decorate):
    decorated = decorate(lambda x: x)
    assert decorated.__annotations__ == {}
    assert type(decorated).__annotations__ == {}
    decorated.__annotations__ = {"x": Params}
    assert typing.get_type_hints(decorated) == {"x": Params}


@pytest.mark.parametrize(
    ("options", "leaves"),
    [
        ({"donate_argnums": 0}, (0, 1)),
        ({"donate_argnums": (0, 2)}, (0, 1, 2)),
        ({"donate_argnames": "y"}, (2,)),
        ({"donate_argnames": ("y", "p")}, (0, 1, 2)),
        ({"donate_argnums": -1}, (2,)),
        ({}, ()),
    ],
)
@pytest.mark.parametrize("by_name", [False, True])
def test_donated_leaves(options, leaves, by_name):
    def f(p, n, y):
        """Take `n` as static."""

    roles = [options.get("donate_argnums"), options.get("donate_argnames")]
    signature = Signature(f, 1, None, *roles)
    args, kwargs = ({"a": 1.0, "b": 2.0}, 5), {}
    if by_name:
        kwargs["y"] = 3.0
    else:
        args += (3.0,)
    assert signature.donated(signature.flatten(args, kwargs)) == leaves


def test_a_jitted_function_has_the_signature_of_the_function_for_all_who_ask():
    f = ev.jit(lambda x, y=2: x)
    for follow in (True, False):
        assert str(inspect.signature(f, follow_wrapped=follow)) == "(x, y=2)"
    f.__signature__ = inspect.signature(lambda z: z)
    assert str(inspect.signature(f)) == "(z)"
    assert not hasattr(type(f), "__signature__")


class Wrapper:
    """An object that calls a function, whose signature it says is its own."""

    def __init__(self, fun):
        self.fun = fun
        functools.update_wrapper(self, fun)

    def __call__(self, *args, **kwargs):
        return self.fun(*args, **kwargs)


def test_a_callable_object_has_the_signature_of_what_it_wraps(rules):
    def scale(x, factor, doubled):
        return x * factor * 2 if doubled else x * factor

    place = ev.sharding.SingleDeviceSharding(ev.devices()[0])
    options = {"in_shardings": (place, None), "static_argnames": "doubled"}
    f = ev.jit(Wrapper(scale), **options)
    assert (f(3.0, 2.0, True), f(3.0, 2.0, doubled=False)) == (12, 6)
    with pytest.raises(ValueError, match="has 'absent', but the function has no such argument"):
        ev.jit(Wrapper(scale), static_argnames="absent")
