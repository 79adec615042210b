"""Sizes that users declare to change, by `abstracted_axes` and `dims`."""

from typing import Any

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.test_open_sizes import assert_same, rows


@pytest.mark.parametrize(
    "axes", [{0: "n"}, ({0: "n"}, {0: "n"}), ("n", None), (("n",), ("n",)), [{0: "n"}, ("n",)]]
)
def test_declared_axes_are_open_from_the_first_call_on(axes):
    f: Any = ev.jit(lambda x, y: jnp.tanh(x).sum(1) + y, abstracted_axes=axes)
    for n in (7, 3, 9, 4, 2):
        assert_same(f(rows(n), jnp.ones(n)), jnp.tanh(rows(n)).sum(1) + 1)
    assert f.cache_info().misses == 1
    assert "x: f32[n,4], y: f32[n]" in str(f.explain())


def test_declared_axes_that_code_sees_or_that_differ_are_numbers():
    f: Any = ev.jit(lambda x, y: (x * len(x)).sum() + y.sum(), abstracted_axes={0: "n"})
    for n, m in ((3, 3), (4, 4), (3, 5), (1, 1), (2, 1)):
        assert_same(f(rows(n), rows(m)), (rows(n) * n).sum() + rows(m).sum())


@pytest.mark.parametrize(
    "dims", [{"x": {0: "n"}, "y": ("n",)}, "x: n, ...; y: n", "x: n, 4; y: n", "x:n,_;y:n"]
)
def test_sizes_are_declared_by_names_of_arguments(dims):
    f: Any = ev.jit(lambda x, y: x["a"].sum(1) + y * len(y), dims=dims)
    for n in (7, 3, 9, 4, 2):
        assert_same(f({"a": rows(n)}, jnp.ones(n)), rows(n).sum(1) + n)
    assert f.cache_info().misses == 1


@pytest.mark.parametrize("first", [3, 4])
def test_axes_that_are_declared_to_be_of_one_size_are(first):
    f: Any = ev.jit(lambda x, y: x["a"].sum() + y.sum(), dims="x: n, ...; y: ..., n")
    f({"a": rows(first)}, jnp.ones((2, first)))
    says = r"dims says that axis 0 of x\['a'\] and axis -1 of y are of one size, n,"
    for n, m in ((3, 5), (3, 1), (1, 4)):
        with pytest.raises(ValueError, match=rf"{says} and they are of sizes {n} and {m}."):
            f({"a": rows(n)}, jnp.ones((2, m)))
    assert_same(f({"a": rows(7)}, jnp.ones((2, 7))), rows(7).sum() + 14)
    assert f.cache_info().currsize == 2


@pytest.mark.parametrize(
    "dims",
    ["x: 2*b; y: b + 1", "x: b * 2, 4; y: 1+b, ...", {"x": {0: "2*b"}, "y": ("b + 1",)}],
)
def test_sizes_are_declared_as_multiples_of_others(dims):
    f: Any = ev.jit(lambda x, y: x.reshape(2, -1, 4).sum(0) + jnp.diff(y)[:, None], dims=dims)
    for n in (3, 7, 2, 20):
        x, y = rows(2 * n), rows(n + 1, 1)[:, 0]
        assert_same(f(x, y), x.reshape(2, n, 4).sum(0) + jnp.diff(y)[:, None])
    assert f.cache_info().misses == 1
    assert "x: f32[2*b,4], y: f32[b + 1]; b >= 2" in str(f.explain())
    for n in (1, 0):  # what is 0 or 1 has programs of its own
        assert f(rows(2 * n), jnp.ones(n + 1)).shape == (n, 4)
    assert f.cache_info().misses == 3


def test_several_axes_of_one_size_are_declared():
    f: Any = ev.jit(lambda x: x @ x.T, dims="x: n, n")
    for n in (3, 5, 2):
        assert_same(f(rows(n, n)), rows(n, n) @ rows(n, n).T)
    assert f.cache_info().misses == 1
    with pytest.raises(ValueError, match="axis 0 of x and axis 1 of x are of one size, n, and th"):
        f(rows(3, 4))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((5,), (2,)), r"axis 0 of x is of size 2\*b, and it is of size 5\."),
        (((6,), (4,)), r"axis 0 of x is of size 2\*b and axis 0 of y of size b, and they are of "
                       r"sizes 6 and 4\."),
        (((0,), (1,)), r"axis 0 of x is of size 2\*b and axis 0 of y of size b, and they are of "
                       r"sizes 0 and 1\."),
    ],
)  # fmt: skip
def test_sizes_that_are_not_as_declared_are_named(shapes, message):
    f: Any = ev.jit(lambda x, y: x.sum() + y.sum(), dims="x: 2*b; y: b")
    f(jnp.ones(6), jnp.ones(3))
    with pytest.raises(ValueError, match=rf"jit\(<lambda>\): dims says that {message}") as error:
        f(*map(jnp.ones, shapes))
    assert "Fix: pass a" in str(error.value)
    assert f(jnp.ones(8), jnp.ones(4)) == 12


@pytest.mark.parametrize(
    "size",
    ["b*t", "b^2", "floordiv(b, 2)", "max(b, 2)", "2*b + c", "b - b", "-b", "3 + 4", "b - 2*b"],
)
def test_sizes_that_do_not_tell_one_variable_are_refused(size):
    for dims in (f"x: {size}", {"x": {0: size}}):
        with pytest.raises(ValueError, match="is no multiple of one variable plus or min") as error:
            ev.jit(lambda x: x, dims=dims)
        assert f"jit: dims has the size {size!r}," in str(error.value)
        assert "Fix: write sizes as `b`, `2*b` or `2*b + 1`, and give any other" in str(error.value)


@pytest.mark.parametrize("size", ["2*", "(b", "2 b", "0a", "b +", "b)"])
def test_sizes_that_are_no_expressions_are_shown(size):
    with pytest.raises(ValueError, match=r"jit: the size in dims .*: expected .*, got ") as error:
        ev.jit(lambda x: x, dims=f"x: {size}")
    assert "Fix: write sizes as `b`, `2*b + 1`" in str(error.value)


def test_last_axes_are_declared_behind_dots():
    f: Any = ev.jit(lambda x: x.sum(-1) / x.shape[-1], dims="x: ..., n")
    for n in (7, 3, 9):
        assert_same(f(rows(2, n)), rows(2, n).sum(-1) / n)
    assert f.cache_info().misses == 1


@pytest.mark.parametrize(
    "dims", ["x", "x: ..., ...", "x: b,, c", {"x": 3}, {"x y": {0: "n"}}, {}, 3]
)
def test_dims_that_are_declared_wrongly_are_named(dims):
    with pytest.raises(TypeError, match=r"jit: dims is .*\n(.*\n)*  Fix: name axes of arguments"):
        ev.jit(lambda x: x, dims=dims)


def test_dims_of_what_is_no_argument_are_refused():
    with pytest.raises(ValueError, match=r"jit: dims has 'y', but the function has no such argum"):
        ev.jit(lambda x: x, dims="x: n; y: n")
    assert ev.jit(lambda **arrays: arrays["y"], dims="y: n")(y=jnp.ones(2)).shape == (2,)


def test_sizes_are_declared_in_one_way():
    with pytest.raises(TypeError, match="both abstracted_axes and dims say which sizes change"):
        ev.jit(lambda x: x, dims="x: n", abstracted_axes={0: "n"})


@pytest.mark.parametrize("axes", ["n", 0, {0: 1}, {"n": 0}, {0: "a b"}, [0], [{0: "n"}, 3]])
def test_axes_that_are_declared_wrongly_are_named(axes):
    with pytest.raises(TypeError, match="jit: abstracted_axes is "):
        ev.jit(lambda x: x, abstracted_axes=axes)
