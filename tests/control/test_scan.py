"""scan, fori_loop, map: values, printed form, residuals, transposition, errors."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from evertrace._src.control import eager
from evertrace._src.core.check import check_jaxpr
from tests.support.runtime import to_numpy

pytestmark = pytest.mark.usefixtures("rules")

XS = np.arange(1, 7, dtype=np.float32) / 4


def running_sum(c, x):
    c = lax.add(c, x)
    return c, lax.mul(c, c)


def expected_running_sum(xs, reverse=False):
    sums = np.cumsum(xs[::-1])[::-1] if reverse else np.cumsum(xs)
    return sums[0 if reverse else -1], sums**2


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 4, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_values(reverse, unroll, compiled):
    def f(xs):
        return lax.scan(running_sum, np.float32(0), xs, reverse=reverse, unroll=unroll)

    last, ys = (ev.jit(f) if compiled else f)(XS)
    want_last, want_ys = expected_running_sum(XS, reverse)
    np.testing.assert_allclose(to_numpy(last), want_last, rtol=1e-6)
    np.testing.assert_allclose(to_numpy(ys), want_ys, rtol=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
def test_length_zero(compiled):
    def f(xs):
        return lax.scan(running_sum, np.float32(3), xs)

    last, ys = (ev.jit(f) if compiled else f)(XS[:0])
    assert to_numpy(last) == 3
    assert ys.shape == (0,)
    assert ys.dtype == np.float32


def test_trees_and_no_xs():
    carry, ys = lax.scan(lambda c, _: ({"n": lax.add(c["n"], 1)}, (c["n"],)), {"n": 0}, length=3)
    assert to_numpy(carry["n"]) == 3
    np.testing.assert_array_equal(to_numpy(ys[0]), [0, 1, 2])


def test_weak_initial_value_takes_the_type_of_the_body():
    last, _ = lax.scan(lambda c, x: (lax.add(as_float(c), x), None), 0, XS)
    assert last.dtype == np.float32
    assert not last.weak_type


def as_float(x):
    return lax.convert_element_type(x, "float32")


def test_large_loops_are_compiled(monkeypatch):
    programs = []
    original = eager.run_compiled
    monkeypatch.setattr(
        "evertrace._src.control.scan.eager.run_compiled",
        lambda *args: programs.append(args[0]) or original(*args),
    )
    small = lax.scan(running_sum, np.float32(0), np.ones(10, np.float32))[0]
    assert not programs
    large = lax.scan(running_sum, np.float32(0), np.ones(5000, np.float32))[0]
    assert len(programs) == 1
    assert (to_numpy(small), to_numpy(large)) == (10, 5000)


def test_loops_within_a_loop_share_one_allowance(monkeypatch):
    programs = []
    original = eager.run_compiled
    monkeypatch.setattr(
        "evertrace._src.control.loop.run_compiled",
        lambda *args: programs.append(args[0]) or original(*args),
    )

    def count_to(n):
        return lax.while_loop(lambda i: lax.lt(i, n), lambda i: lax.add(i, 1), 0)

    out = lax.while_loop(
        lambda s: lax.lt(s[0], 5), lambda s: (lax.add(s[0], 1), count_to(400)), (0, 0)
    )
    assert [int(to_numpy(x)) for x in out] == [5, 400]
    assert programs


def test_printed_form():
    jaxpr = ev.make_jaxpr(lambda x: lax.fori_loop(0, 5, lambda i, c: lax.mul(c, x), x))(1.0)
    assert str(jaxpr) == (
        "{ lambda ; a:f32[]. let\n"
        "    _:i32[] b:f32[] = scan[\n"
        "      jaxpr={ lambda ; c:f32[] d:i32[] e:f32[]. let\n"
        "          f:i32[] = add d 1:i32[]\n"
        "          g:f32[] = mul e c\n"
        "        in (f, g) }\n"
        "      length=5\n"
        "      num_carry=2\n"
        "      num_consts=1\n"
        "      reverse=False\n"
        "      unroll=1\n"
        "    ] a 0:i32[] a\n"
        "  in (b,) }"
    )


def test_residuals_that_do_not_vary_are_not_stacked():
    def loss(x, xs):
        def body(c, row):
            return lax.mul(lax.mul(c, lax.sin(lax.cos(x))), row), None

        return lax.scan(body, x, xs)[0]

    jaxpr = ev.make_jaxpr(ev.grad(loss))(np.float32(0.5), XS).jaxpr
    check_jaxpr(jaxpr)
    first, second = [e for e in jaxpr.eqns if e.primitive.name == "scan"]
    # One stack, of the carry; sin(cos(x)) is a const and xs go to the second scan as they are.
    assert [v.aval.str_short() for v in first.outvars] == ["f32[]", "f32[6]"]
    assert second.params["reverse"]


def test_linear_transpose_with_a_counter_in_the_carry():
    def linear(x):
        return lax.fori_loop(0, 4, lambda i, c: lax.mul(c, as_float(lax.add(i, 1))), x)

    (ct,) = ev.linear_transpose(linear, np.float32(0))(np.float32(2))
    assert to_numpy(ct) == 48


def test_gradient_of_a_compiled_eager_loop():
    xs = np.full(3000, 1 / 3000, np.float32)
    grad = ev.grad(lambda x: lax.scan(lambda c, r: (lax.add(c, lax.mul(c, r)), None), x, xs)[0])
    np.testing.assert_allclose(to_numpy(grad(1.0)), np.e, rtol=1e-3)


def test_map_in_batches():
    xs = np.arange(14, dtype=np.float32).reshape(7, 2)
    for size in (None, 1, 3, 7, 10):
        out = lax.map(lambda x: {"s": lax.reduce_sum(x, (0,))}, xs, batch_size=size)
        np.testing.assert_array_equal(to_numpy(out["s"]), xs.sum(1))


@pytest.mark.parametrize("compiled", [False, True])
def test_fori_with_traced_bounds_is_a_while_loop(compiled):
    def f(n):
        return lax.fori_loop(0, n, lambda i, c: lax.add(c, i), 0)

    out = ev.jit(f)(5) if compiled else f(5)
    assert to_numpy(out) == 10
    assert "while[" in str(ev.make_jaxpr(f)(5))


def test_fori_with_an_empty_range():
    assert to_numpy(lax.fori_loop(5, 2, lambda i, c: lax.add(c, i), 7)) == 7


def test_disable_jit_counts_in_python():
    with ev.disable_jit():
        assert to_numpy(lax.fori_loop(1, 4, lambda i, c: lax.add(c, i), 0)) == 6


def test_disable_jit_runs_the_python_body():
    seen = []

    def body(c, x):
        seen.append(float(to_numpy(x)))
        return lax.add(c, x), lax.neg(x)

    with ev.disable_jit():
        last, ys = lax.scan(body, np.float32(0), XS)
    assert seen == XS.tolist()
    np.testing.assert_allclose(to_numpy(last), XS.sum())
    np.testing.assert_array_equal(to_numpy(ys), -XS)


ERRORS = [
    (
        lambda: lax.scan(lambda c, x: ({"w": np.ones(4, "f4")}, x), {"w": XS}, XS),
        TypeError,
        "scan: the carry component c['w'] has type f32[6] on input but f32[4] on output.",
    ),
    (
        lambda: lax.scan(lambda c, x: (c["w"], x), {"w": XS}, XS),
        TypeError,
        "scan: the carry must keep its structure; at the root it has a node of type dict with keys "
        "['w'] on input and a leaf of type Array on output.",
    ),
    (
        lambda: lax.scan(lambda c, x: (c, x), 0.0, {"a": XS, "b": XS[1:]}),
        ValueError,
        "scan: the number of turns is not clear: x['a'] says 6, x['b'] says 5.",
    ),
    (
        lambda: lax.scan(lambda c, x: (c, x), 0.0, XS, length=4),
        ValueError,
        "scan: the number of turns is not clear: x says 6, `length` says 4.",
    ),
    (
        lambda: lax.scan(lambda c, x: (c, x), 0.0, None),
        ValueError,
        "scan: there are no values to scan over, and `length` is not given.",
    ),
    (
        lambda: lax.scan(lambda c, x: (c, x), 0.0, np.float32(1)),
        ValueError,
        "scan: x is a scalar and cannot be sliced.",
    ),
    (
        lambda: lax.scan(lambda c, x: c, 0.0, XS),
        TypeError,
        "scan: the body must return a pair (carry, y), got PyTreeDef(*).",
    ),
    (
        lambda: lax.scan(lambda c, x: (c, x), 0.0, XS, unroll=0),
        ValueError,
        "scan: `unroll` must be a positive integer or a bool, got 0.",
    ),
    (
        lambda: lax.fori_loop(0, 3, lambda i, value: XS, {"q": 1.0}),
        TypeError,
        "fori_loop: the carry must keep its structure; at [1] it has a node of type dict with keys "
        "['q'] on input and a leaf of type Array on output.",
    ),
    (
        lambda: lax.fori_loop(0, 3, lambda i, value: {"q": XS}, {"q": 1.0}),
        TypeError,
        "fori_loop: the carry component value['q'] has type weak f32[] on input but f32[6] on "
        "output.",
    ),
    (
        lambda: lax.fori_loop(0, 1.5, lambda i, c: c, 0),
        TypeError,
        "fori_loop: bounds must be scalars of one dtype, integers or floats, got lower weak i32[] "
        "and upper weak f32[].",
    ),
]


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit])
def test_bounds_may_be_floats(wrap):
    def f(n):
        return lax.fori_loop(0 * n, n, lambda i, value: (*value[:1], value[1] + i), (1.0, 0.0))[1]

    assert wrap(f)(np.float32(3.0)) == 3
    assert wrap(f)(np.float32(2.5)) == 3  # 0, 1 and 2
    assert lax.fori_loop(0.0, 3.0, lambda i, value: value + i, 0.0) == 3


@pytest.mark.parametrize(("call", "cls", "text"), ERRORS)
def test_errors(call, cls, text):
    with pytest.raises(cls) as caught:
        call()
    lines = str(caught.value).splitlines()
    assert lines[0] == text
    assert lines[1].startswith("  at ")
    assert any(line.startswith("  Fix: ") for line in lines)
