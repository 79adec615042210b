"""debug.inspect: named values, whatever is around the name and around the function."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.ad_checkpoint import checkpoint_name

X = np.float32([1, 2, 3])


def named_square(x):
    return jnp.sin(checkpoint_name(x * x, "square"))


def turn(carry, x):
    carry = checkpoint_name(carry + x, "sum")
    return carry, carry * 2


def scanned(x):
    return lax.scan(turn, 0.0, x)[1]


def counted(x):
    return lax.while_loop(lambda i: i < 5, lambda i: checkpoint_name(i + x, "i"), x)


def branched(x):
    return lax.cond(
        x > 0,
        lambda x: checkpoint_name(x, "h") + checkpoint_name(7, "taken"),
        lambda x: checkpoint_name(-x, "h") * checkpoint_name(x * 3, "other"),
        x,
    )


@ev.custom_vjp
def twice(x):
    return checkpoint_name(x * 2, "inside")


def _twice_fwd(x):
    return twice(x), checkpoint_name(x + 1, "saved")


def _twice_bwd(saved, ct):
    return (checkpoint_name(ct * 2, "cotangent"),)


twice.defvjp(_twice_fwd, _twice_bwd)


class Cell:
    def __init__(self):
        self.total, self.calls = jnp.zeros(()), 0

    @ev.jit
    def add(self, x):
        self.calls += 1
        self.total = checkpoint_name(self.total + x, "total")
        return self.total * self.calls


CASES = {
    "plain": (named_square, X, {"square": X * X}),
    "jit": (ev.jit(named_square), X, {"square": X * X}),
    "grad": (ev.grad(lambda x: named_square(x).sum()), X, {"square": X * X}),
    "jvp": (lambda x: ev.jvp(named_square, (x,), (x,)), X, {"square": X * X}),
    "jacfwd": (ev.jacfwd(named_square), X, {"square": X * X}),
    "hessian": (ev.hessian(lambda x: named_square(x).sum()), X, {"square": X * X}),
    "checkpoint": (ev.checkpoint(named_square), X, {"square": X * X}),
    "vmap": (ev.vmap(named_square), X, {"square": X * X}),
    "vmap of columns": (ev.vmap(named_square, 1), np.stack([X, X + 1]), {
        "square": np.stack([X, X + 1]).T ** 2}),
    "scan": (scanned, X, {"sum": np.cumsum(X)}),
    "grad of scan": (ev.grad(lambda x: scanned(x).sum()), X, {"sum": np.cumsum(X)}),
    "vmap of scan": (ev.vmap(scanned), np.stack([X, -X]), {
        "sum": np.stack([np.cumsum(X), -np.cumsum(X)], 1)}),
    "scan of scan": (lambda x: lax.map(scanned, jnp.stack([x, -x])), X, {
        "sum": np.stack([np.cumsum(X), -np.cumsum(X)])}),
    "map": (lambda x: lax.map(named_square, x), X, {"square": X * X}),
    "while": (counted, 2, {"i": 6}),
    "while without a turn": (counted, 9, {"i": 0}),
    "while without a turn, floats": (counted, 9.5, {"i": np.nan}),
    "branch": (branched, 2.0, {"h": 2.0, "taken": 7, "other": np.nan}),
    "other branch": (branched, -2.0, {"h": 2.0, "taken": 0, "other": -6.0}),
    "branch per example": (ev.vmap(branched), np.float32([2, -2]), {
        "h": [np.float32([-2, 2]), np.float32([2, -2])], "taken": 7, "other": np.float32([6, -6])}),
    "custom rule": (twice, 3.0, {"inside": 6.0}),
    "derivative by rule": (ev.grad(twice), 3.0, {
        "inside": 6.0, "saved": 4.0, "cotangent": 2.0}),
    "tree": (lambda x: checkpoint_name({"a": x, "b": x + 1}, "pair"), X, {"pair": [X, X + 1]}),
    "python loop": (lambda x: [checkpoint_name(x * i, "part") for i in range(3)], 2.0, {
        "part": [0.0, 2.0, 4.0]}),
    "state": (lambda x: Cell().add(x), 2.0, {"total": 2.0}),
    "nothing": (jnp.sin, X, {}),
}  # fmt: skip


def assert_same(got, want):
    assert ev.tree.structure(got) == ev.tree.structure(want)
    ev.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), got, want)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("run", [lambda f: f, ev.jit], ids=["eager", "jit"])
def test_names_and_results(case, run):
    f, x, want = CASES[case]
    result, values = run(ev.debug.inspect(f))(x)
    assert_same(values, want)
    assert_same(result, ev.tree.map(np.asarray, f(x)))


def test_only_what_is_asked_for():
    f = ev.debug.inspect(branched, "h")
    assert list(f(1.0)[1]) == ["h"]
    jaxpr = str(ev.make_jaxpr(f)(1.0))
    assert "nan" not in jaxpr  # what stands for a value of the other branch


def test_transformations_of_the_new_function():
    f = ev.debug.inspect(lambda x: named_square(x).sum())
    _, values = ev.grad(f, has_aux=True)(X)
    np.testing.assert_array_equal(values["square"], X * X)
    _, values = ev.vmap(f)(np.stack([X, -X]))
    np.testing.assert_array_equal(values["square"], np.stack([X * X, X * X]))
    _, values = ev.vmap(ev.debug.inspect(branched))(np.float32([2, -2]))
    want = {"h": [2, 2], "taken": [7, 0], "other": [np.nan, -6]}
    assert_same(values, ev.tree.map(np.asarray, want, is_leaf=lambda x: type(x) is list))
    gradient = ev.grad(lambda x: f(x)[1]["square"].sum())(X)
    np.testing.assert_array_equal(gradient, 2 * X)  # of what is named, too


def test_a_name_costs_nothing_where_nobody_asks():
    def f(x):
        return checkpoint_name(ev.jit(named_square)(x), "sine")

    outs = ev.make_jaxpr(ev.debug.inspect(f, "sine"))(X).eqns[0].outvars
    assert len(outs) == 1  # the program within returns no square


def test_in_a_program_that_is_traced_once():
    traces = []

    @ev.jit
    def f(x):
        traces.append(1)
        return named_square(x)

    g = ev.jit(ev.debug.inspect(f))
    for i in range(3):
        assert float(g(float(i))[1]["square"]) == i * i
    assert g.cache_info().currsize == 1


def test_signature_and_name():
    g = ev.debug.inspect(named_square, "square")
    assert g.__name__ == "named_square"
    assert float(g(x=3.0)[1]["square"]) == 9.0


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: ev.debug.inspect(3), TypeError, "debug.inspect"),
        (lambda: ev.debug.inspect(named_square, X), TypeError, "names are strings, got a value of "
         "type ndarray"),
        (lambda: ev.debug.inspect(named_square, "cube")(X), ValueError, "gives no value the name "
         "'cube'(?s:.*)Fix: name it in the function: `x = checkpoint_name\\(x, \"cube\"\\)`"),
        (lambda: ev.debug.inspect(lambda x: "text")(X), TypeError, "returned a str"),
        (lambda: ev.debug.inspect(lambda x: lax.while_loop(
            lambda x: checkpoint_name(x, "at") < 3, lambda x: x + 1, x))(0), NotImplementedError,
         "'at' is named inside of while"),
    ],
)  # fmt: skip
def test_errors(make, error, text):
    with pytest.raises(error, match=text):
        make()
