"""Collectives in the places where they may stand: transformed, in jaxprs, under several vmaps.

What each computes is in `tests/specs/collective.py`.
"""

import functools

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.support.gradcheck import check_grads

X = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)
SQUARE = np.arange(27.0, dtype=np.float32).reshape(3, 3, 3)
TOTAL = np.array([5.0, 7.0, 9.0], np.float32)

LINEAR = {
    "psum": lax.psum,
    "pmean": lax.pmean,
    "ppermute": functools.partial(lax.ppermute, perm=[(0, 1), (2, 0)]),
    "pshuffle": functools.partial(lax.pshuffle, perm=[2, 0, 1]),
    "pbroadcast": functools.partial(lax.pbroadcast, source=1),
    "all_gather": functools.partial(lax.all_gather, axis=1),
    "all_gather_tiled": functools.partial(lax.all_gather, axis=1, tiled=True),
    "psum_scatter": functools.partial(lax.psum_scatter, scatter_dimension=1),
    "psum_scatter_tiled": functools.partial(lax.psum_scatter, tiled=True),
    "all_to_all": functools.partial(lax.all_to_all, split_axis=1, concat_axis=0),
    "all_to_all_tiled": functools.partial(
        lax.all_to_all, split_axis=0, concat_axis=1, tiled=True
    ),
}  # fmt: skip
over_linear = pytest.mark.parametrize("name", LINEAR)
COLLECTIVES = LINEAR | {"pmax": lax.pmax, "pmin": lax.pmin}
over_all = pytest.mark.parametrize("name", COLLECTIVES)


def named(fun, name="i", **options):
    """Return `fun` mapped over an axis of that name."""
    return ev.vmap(fun, axis_name=name, **options)


def along(name):
    """Return a collective of one example's value."""
    return functools.partial(COLLECTIVES[name], axis_name="i")


def check(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def cotangents(out):
    """Return a cotangent that differs in all elements."""
    return jnp.cos(jnp.arange(out.size, dtype=out.dtype)).reshape(out.shape)


# ------------------------------------------------------------------ transformations


@over_all
def test_derivatives_inside_of_vmap_are_those_outside(name):
    fun = along(name)
    out, pull = ev.vjp(named(fun), SQUARE)
    ct = cotangents(out)
    inside = named(lambda x, ct: ev.vjp(fun, x)[1](ct)[0])(SQUARE, ct)
    check(inside, pull(ct)[0])
    t = jnp.sin(SQUARE)
    check(
        named(lambda x, t: ev.jvp(fun, (x,), (t,))[1])(SQUARE, t),
        ev.jvp(named(fun), (SQUARE,), (t,))[1],
    )


@over_all
def test_jit_inside_outside_and_eager_agree(name):
    expected = named(along(name))(SQUARE)
    check(named(ev.jit(along(name)))(SQUARE), expected)
    check(ev.jit(named(along(name)))(SQUARE), expected)


@over_linear
def test_transpose_is_staged_in_inner_jits(name):
    fun = along(name)
    ct = cotangents(named(fun)(SQUARE))
    pull = ev.jit(lambda x, ct: ev.vjp(ev.jit(fun), x)[1](ct)[0])
    check(named(pull)(SQUARE, ct), ev.vjp(named(fun), SQUARE)[1](ct)[0])


@over_all
def test_other_axes_only_add_a_dimension(name):
    xs = np.stack([SQUARE, SQUARE[::-1] * 2], 2)
    expected = np.stack([named(along(name))(xs[:, :, i]) for i in range(2)])
    inner = ev.vmap(named(along(name)), in_axes=2)
    outer = named(ev.vmap(along(name), in_axes=1))
    outer_jitted = named(ev.vmap(ev.jit(along(name)), in_axes=1))
    check(inner(xs), expected)
    check(jnp.moveaxis(outer(xs), 1, 0), expected)
    check(jnp.moveaxis(outer_jitted(xs), 1, 0), expected)


@over_all
def test_the_same_value_for_all_examples(name):
    fun, x = along(name), SQUARE[0]
    copies = np.stack([x] * 3)
    expected = named(fun)(copies)
    check(named(fun, in_axes=None, axis_size=3)(x), expected)
    check(named(ev.jit(fun), in_axes=None, axis_size=3)(x), expected)


def test_second_derivatives():
    def energy(x):
        return (lax.psum(x**2, "i") * x).sum()

    found = named(ev.hessian(energy))(X)
    # With T the sum of all x and S that of all squares, the gradient of the sum of all energies is
    # S + 2 T x. Its derivative moves all examples at once: dS = 2 T, dT = 2.
    check(found, [np.diag(4 * TOTAL + 4 * x) for x in X])


def test_unmapped_results_of_collectives_may_be_returned_unmapped():
    check(named(lambda x: lax.psum(x, "i"), out_axes=None)(X), TOTAL)


# ------------------------------------------------------------------ control flow


def test_scan():
    def fun(x):
        return lax.scan(lambda s, y: (s + lax.psum(y, "i") * s, lax.axis_index("i") * y), x[0], x)

    carry, ys = named(fun)(X)
    check(carry, X[:, 0] * np.prod(1 + TOTAL))
    check(ys, [X[0] * 0, X[1]])
    check(named(ev.grad(lambda x: fun(x)[0] + fun(x)[1].sum()))(X)[0], [880.0, 300.0, 240.0])


def test_scan_without_mapped_operands():
    def fun(x):
        return lax.scan(lambda s, y: (s, y + lax.axis_index("i")), 0.0, jnp.ones(2))[1]

    check(named(fun)(X), [[1.0, 1.0], [2.0, 2.0]])


def test_cond():
    check(named(lambda x: lax.cond(True, lambda: lax.psum(x, "i"), lambda: x))(X), [TOTAL, TOTAL])
    chosen = named(lambda x: lax.cond(x[0] > 2, lambda x: lax.psum(x, "i"), lambda x: x * 10, x))(X)
    check(chosen, [X[0] * 10, TOTAL])
    index = lambda p: lax.cond(p, lambda: lax.axis_index("i"), lambda: 7)  # noqa: E731
    check(named(index, in_axes=None, axis_size=2)(True), [0, 1])


def test_while_loop():
    def fun(x):
        return lax.while_loop(
            lambda s: lax.pmax(s.sum(), "i") < 100, lambda s: s * 2 + lax.axis_index("i"), x
        )

    check(named(fun)(X), [X[0] * 8, X[1] * 8 + 7])


def test_checkpoint():
    def fun(x):
        return jnp.sin(lax.psum(x * x, "i")).sum()

    check(named(ev.grad(ev.checkpoint(fun)))(X), named(ev.grad(fun))(X))


@ev.custom_vjp
def _squares(x):
    return lax.psum(x * x, "i")


_squares.defvjp(
    lambda x: (_squares(x), x), lambda x, ct: (lax.pmean(ct, "i") * x * lax.axis_index("i"),)
)


@ev.custom_jvp
def _squares_too(x):
    return lax.psum(x * x, "i")


_squares_too.defjvp(lambda p, t: (_squares_too(*p), lax.psum(2 * t[0] * p[0], "i")))


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit], ids=["eager", "jit"])
def test_custom_rules(wrap):
    squares, squares_too = wrap(_squares), wrap(_squares_too)
    check(named(squares)(X), [(X * X).sum(0)] * 2)
    check(named(ev.grad(lambda x: squares(x).sum()))(X), [X[0] * 0, X[1]])
    check(ev.grad(lambda x: named(squares)(x).sum())(X), [X[0] * 0, X[1]])
    check(named(ev.grad(lambda x: squares_too(x).sum()))(X), X * 4)
    check(ev.grad(lambda x: named(squares_too)(x).sum())(X), X * 4)


# ------------------------------------------------------------------ names and sizes


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ("i", [TOTAL, TOTAL]),
        ("j", [[6.0] * 3, [15.0] * 3]),
        (("i", "j"), [[21.0] * 3] * 2),
        (["j", "i"], [[21.0] * 3] * 2),
    ],
)
def test_several_axes(axes, expected):
    for jit in (lambda f: f, ev.jit):
        check(named(named(jit(lambda x: lax.psum(x, axes)), "j"))(X), expected)


def test_places_along_several_axes():
    places = [[0, 1, 2], [3, 4, 5]]
    both = ("i", "j")

    def on_both(fun, x=X):
        return named(named(fun, "j"))(x)

    check(on_both(lambda x: lax.axis_index(both)), places)
    check(on_both(lambda x: lax.axis_index(("j", "i"))), [[0, 2, 4], [1, 3, 5]])
    assert on_both(lambda x: lax.all_gather(x, both)).tolist() == [[X.ravel().tolist()] * 3] * 2
    assert on_both(lambda x: lax.all_gather(x[None], both, tiled=True))[1, 1].tolist() == [
        1.0,
        2.0,
        3.0,
        4.0,
        5.0,
        6.0,
    ]
    weights = jnp.arange(6.0)
    check(on_both(lambda x: lax.psum_scatter(x * weights, both)), np.multiply(places, 21.0))
    check(
        on_both(lambda x: lax.psum_scatter(x * weights, both, tiled=True)),
        np.multiply(places, 21.0)[..., None],
    )
    check(
        on_both(lambda x: lax.all_to_all(x * weights, both, 0, 0)),
        np.arange(6.0).reshape(2, 3, 1) * X.ravel(),
    )


def test_inner_axis_hides_an_outer_one_of_the_same_name():
    check(named(named(lambda x: lax.psum(x, "i")))(X), [[6.0] * 3, [15.0] * 3])


def test_sizes_are_python_numbers():
    def fun(x):
        for size in (lax.psum(1, "i"), lax.axis_size("i")):
            assert type(size) is int
        assert lax.psum(1.5, "i") == 1.5 * lax.axis_size(("i",))
        assert lax.pmean(1, "i") == 1.0
        return jnp.zeros(lax.axis_size("i"))

    assert named(fun)(X).shape == (2, 2)
    assert named(ev.jit(fun))(X).shape == (2, 2)


@pytest.mark.usefixtures("rules")
def test_a_jitted_function_is_traced_once_per_size_and_name():
    @ev.jit
    def share(x):
        return x / lax.psum(1, "i")

    for _ in range(2):
        check(named(share)(np.ones(2)), [0.5] * 2)
        check(named(share)(np.ones(4)), [0.25] * 4)
    assert share.cache_info().misses == 2
    with pytest.raises(NameError, match="unbound axis name: i"):
        share(1.0)


def test_dtypes():
    assert named(lambda x: lax.psum(x > 1, "i"))(X).dtype == np.int32
    assert named(lambda x: lax.pmean(x.astype(int), "i"))(X).dtype == np.float32
    assert named(lambda x: lax.axis_index("i"))(X).dtype == np.int32


def test_trees():
    out = named(lambda x: lax.psum({"a": x, "b": (x, 1)}, "i"))(X)
    check(out["a"][0], TOTAL)
    check(out["b"][1], [2, 2])


def test_unused_collectives_are_dropped():
    def fun(x):
        return ev.jit(lambda x: (lax.psum(x, "i"), x))(x)[1]

    assert "reduce_sum" not in ev.jit(named(fun)).lower(X).as_text()


def test_random_keys_move_too():
    keys = ev.random.split(ev.random.key(0), 3)
    moved = named(lambda k: lax.pshuffle(k, "i", [2, 0, 1]))(keys)
    assert (ev.random.key_data(moved) == ev.random.key_data(keys)[jnp.array([2, 0, 1])]).all()


# ------------------------------------------------------------------ printed form


@pytest.mark.parametrize(
    ("fun", "text"),
    [
        (lambda x: lax.psum(x, ("i", "j")), "psum[axes=('i', 'j') axis_index_groups=None] a"),
        (lambda x: lax.pmax(x, "i"), "pmax[axes=('i',) axis_index_groups=None] a"),
        (lambda x: lax.ppermute(x, "i", [(0, 1)]), "ppermute[axis_name=('i',) perm=((0, 1),)] a"),
        (lambda x: lax.pbroadcast(x, "i", 1), "pbroadcast[axis_name=i source=1] a"),
        (lambda x: lax.axis_index("j"), "b:i32[] = axis_index[axis_name=j]"),
        (lambda x: lax.psum(3, ("i", "j")), "in (18:i32[],)"),
        (
            lambda x: lax.all_gather(x, "i", axis=1),
            "b:f32[2,2,3] = all_gather[ all_gather_dimension=1 axis_index_groups=None "
            "axis_name=('i',) axis_size=2 tiled=False ] a",
        ),
        (
            ev.grad(lambda x: lax.all_gather(x, "j", tiled=True).sum()),
            ":f32[2,3] = reduce_scatter[ axis_index_groups=None axis_name=('j',) axis_size=3 "
            "scatter_dimension=0 tiled=True ]",
        ),
        (
            lambda x: lax.pswapaxes(x, "j", 1),
            "b:f32[2,3] = all_to_all[ axis_index_groups=None axis_name=j concat_axis=1 "
            "split_axis=1 tiled=False ] a",
        ),
    ],
)
def test_printed_form(fun, text):
    printed = str(ev.make_jaxpr(fun, axis_env=[("i", 2), ("j", 3)])(X))
    assert text in " ".join(printed.split())


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("fun", "error", "text"),
    [
        (lambda x: lax.psum(x, "k"), NameError, r"name: k\. In scope: i \(size 2\)\."),
        (lambda x: lax.axis_index("k"), NameError, "axis_index: unbound axis name: k"),
        (lambda x: lax.axis_size("k"), NameError, "axis_size: unbound axis name: k"),
        (lambda x: lax.ppermute(x, "k", []), NameError, "ppermute: unbound axis name: k"),
        (lambda x: lax.psum(x, ("i", "i")), ValueError, "repeat"),
        (lambda x: lax.psum("a", "i"), TypeError, "psum: str is not an array type"),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (0, 0)]), ValueError, "distinct sources"),
        (lambda x: lax.ppermute(x, "i", [(0, 2)]), ValueError, "from 0 to 1"),
        (lambda x: lax.pshuffle(x, "i", [1, 1]), ValueError, r"\(1, 1\) is no permutation"),
        (lambda x: lax.pbroadcast(x, "i", 2), ValueError, "no example 2 along axis i of size 2"),
        (lambda x: lax.all_gather(x, "i", axis=2), ValueError, "all_gather: dimension 2 is out of"),
        (lambda x: lax.psum_scatter(x, "i"), ValueError, r"size 3 of dimension 0 of f32\[3\] must"),
        (lambda x: lax.psum_scatter(x, "i", tiled=True), ValueError, "a multiple of the size 2"),
        (lambda x: lax.all_to_all(x, "i", 0, 0), ValueError, "equal to the size 2 of axis i"),
        (lambda x: lax.pmax(x + 1j, "i"), TypeError, "pmax: does not accept dtype complex64"),
        (lambda x: lax.psum(x, "i", axis_index_groups=[[0], [0]]), ValueError, "groups of one"),
        (lambda x: lax.pmax(x, "i", axis_index_groups=[[0]]), ValueError, "the places 0 to 1"),
        (lambda x: lax.pcast(x, "i", to="other"), ValueError, "no such `to` as 'other'"),
        (lambda x: lax.pcast(x, "k", to="unreduced"), NameError, "pcast: unbound axis name: k"),
        (lambda x: lax.pcast(x, "k", to="varying"), NameError, "pcast: unbound axis name: k"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit], ids=["eager", "jit"])
def test_errors(wrap, fun, error, text):
    with pytest.raises(error, match=text):
        named(wrap(fun))(X)


def test_names_are_bound_by_vmap_only():
    with pytest.raises(NameError, match=r"psum: unbound axis name: i\. In scope: none"):
        lax.psum(X, "i")
    with pytest.raises(NameError, match="unbound axis name: i"):
        ev.vmap(lambda x: lax.psum(x, "i"))(X)
    inner = named(lambda x: x)
    with pytest.raises(NameError, match="unbound axis name: i"):
        lax.psum(inner(X), "i")


GROUPS = [[0, 3], [2, 1]]
FOUR = np.arange(8, dtype=np.float32).reshape(4, 2) ** 2


def within(*rows):
    """Return the rows of FOUR that each example of GROUPS gets: those of its group, in order."""
    return np.stack([FOUR[list(row)] for row in rows])


MINE = within((0, 3), (2, 1), (2, 1), (0, 3))


@pytest.mark.engine
@pytest.mark.parametrize(
    ("fun", "want"),
    [
        (lambda x, **kw: lax.psum(x, "i", **kw), MINE.sum(1)),
        (lambda x, **kw: lax.pmean(x, "i", **kw), MINE.mean(1)),
        (lambda x, **kw: lax.pmax(x, "i", **kw), MINE.max(1)),
        (lambda x, **kw: lax.pmin(x, "i", **kw), MINE.min(1)),
        (lambda x, **kw: lax.psum(1, "i", **kw) * x, 2 * FOUR),
        (lambda x, **kw: lax.all_gather(x, "i", **kw), MINE),
        (lambda x, **kw: lax.all_gather(x, "i", tiled=True, **kw), MINE.reshape(4, 4)),
        (lambda x, **kw: lax.psum_scatter(x, "i", **kw), MINE.sum(1)[range(4), [0, 1, 0, 1]]),
        (
            lambda x, **kw: lax.psum_scatter(x, "i", tiled=True, **kw),
            MINE.sum(1)[range(4), [0, 1, 0, 1], None],
        ),
        (
            lambda x, **kw: lax.all_to_all(x, "i", 0, 0, **kw),
            MINE[np.arange(4)[:, None], [[0, 1]], np.array([0, 1, 0, 1])[:, None]],
        ),
        (
            lambda x, **kw: lax.all_to_all(x[:, None], "i", 0, 1, tiled=True, **kw),
            MINE[np.arange(4)[:, None], [[0, 1]], np.array([0, 1, 0, 1])[:, None]][:, None],
        ),
    ],
)
def test_groups_work_among_themselves(fun, want):
    mapped = ev.vmap(lambda x: fun(x, axis_index_groups=GROUPS), axis_name="i")
    for f in (mapped, ev.jit(mapped)):
        np.testing.assert_allclose(f(FOUR), want)
    check_grads(mapped, (FOUR.astype(np.float64) / 50,))


@pytest.mark.engine
def test_ppermute_sends_between_places_along_several_axes():
    perm = [(0, 5), (5, 0), (2, 3)]
    want = np.zeros(6, np.float32)
    for source, to in perm:
        want[to] = 1 + source
    f = ev.vmap(ev.vmap(lambda x: lax.ppermute(x, ("i", "j"), perm), axis_name="j"), axis_name="i")
    x = jnp.arange(1.0, 7.0).reshape(2, 3)
    np.testing.assert_array_equal(f(x), want.reshape(2, 3))
    check_grads(f, (np.ones((2, 3)),))


def test_pcast_varies_with_the_same_values():
    f = ev.vmap(lambda x, s: lax.pcast(s, "i", to="varying"), (0, None), axis_name="i")
    s = {"a": jnp.array([True, False]), "b": 2}
    out = f(jnp.ones(3), s)
    assert (out["a"] == s["a"]).all()
    assert out["a"].shape == (3, 2)
    assert out["b"].dtype == "int32"
    total = ev.grad(lambda s: (f(jnp.ones(3), s) * jnp.arange(3.0)).sum())(1.0)
    assert total == 3


@pytest.mark.engine
def test_rows_go_where_numbers_say():
    rng = np.random.default_rng(0)
    size, k, n, m = 3, 6, 12, 20  # two slices from each to each
    sizes = rng.integers(0, 3, (size, k)).astype(np.int32)
    begin = rng.integers(0, n - 2, (size, k)).astype(np.int32)
    come = sizes.reshape(size, size, 2).transpose(1, 0, 2).reshape(size, k)
    put = (come.cumsum(1) - come).astype(np.int32)
    to = put.reshape(size, size, 2).transpose(1, 0, 2).reshape(size, k)
    rows, output = rng.normal(size=(size, n, 2)), rng.normal(size=(size, m, 2))
    want = output.copy()
    for source in range(size):
        for i in range(k):
            b, count, at = begin[source, i], sizes[source, i], to[source, i]
            want[i // 2, at : at + count] = rows[source, b : b + count]
    numbers = begin, sizes, to, come

    def exchange(rows, output):
        f = functools.partial(lax.ragged_all_to_all, axis_name="i")
        return ev.vmap(f, axis_name="i")(rows, output, *numbers)

    for f in (exchange, ev.jit(exchange)):
        np.testing.assert_array_equal(f(*map(jnp.float32, (rows, output))), np.float32(want))
    check_grads(exchange, (rows, output))


def test_rows_and_numbers_have_to_go_together():
    rows, four = jnp.ones((3, 5)), jnp.zeros((3, 4), "int32")
    f = ev.vmap(functools.partial(lax.ragged_all_to_all, axis_name="i"), axis_name="i")
    with pytest.raises(ValueError, match=r"i32\[4\] along an axis of size 3"):
        f(rows, rows, four, four, four, four)
