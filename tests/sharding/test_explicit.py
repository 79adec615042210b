"""Under an explicit mesh: types in traces say how values lie, and what is open is asked for."""

import functools
import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.errors import ShardingTypeError
from evertrace.sharding import AxisType, NamedSharding, auto_axes, reshard
from evertrace.sharding import PartitionSpec as P


@pytest.fixture(scope="module")
def mesh():
    with ev.simulate_devices(8):
        yield ev.make_mesh((4, 2), ("x", "y"))


@pytest.fixture
def in_force(mesh):
    with ev.set_mesh(mesh):
        yield mesh


def placed(*spec, shape=(8, 8)):
    size = int(np.prod(shape))
    return ev.device_put(np.arange(size, dtype=np.float32).reshape(shape), P(*spec))


def struct(x):
    return ev.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)


WAYS = {
    "eager": lambda f, *xs: f(*xs),
    "jit": lambda f, *xs: ev.jit(f)(*xs),
    "nested": lambda f, *xs: ev.jit(ev.jit(f))(*xs),
    "lower": lambda f, *xs: ev.jit(f).lower(*xs),
    "make_jaxpr": lambda f, *xs: ev.make_jaxpr(f)(*xs),
    "eval_shape": lambda f, *xs: ev.eval_shape(f, *map(struct, xs)),
}


def typed(x, text):
    """Return `x`, whose type prints so."""
    assert str(ev.typeof(x)) == f"float32[{text}]"
    return x


@ev.custom_jvp
def doubled(x):
    return typed(x, "8@x,8@y") * 2


doubled.defjvp(lambda primals, tangents: (doubled(*primals), tangents[0] * 2))

# Functions of an array that is divided along both axes, which look at the types of their values.
TYPES = {
    "argument": lambda a: typed(a, "8@x,8@y"),
    "operations": lambda a: typed(jnp.sin(a).T + typed(a.sum(0), "8@y")[:, None], "8@y,8@x"),
    "scan": lambda a: lax.scan(lambda c, x: (c + typed(x, "8@y"), typed(c, "8@y")), a[0] * 0, a),
    "carry": lambda a: lax.scan(lambda c, _: (typed(c, "8@x,8@y") * 2, None), a, length=2),
    "while": lambda a: lax.while_loop(
        lambda c: typed(c, "8@x,8@y").sum() < 0, lambda c: typed(c * 2, "8@x,8@y"), a
    ),
    "fori": lambda a: lax.fori_loop(0, 2, lambda i, c: typed(c, "8@x,8@y") + 1, a),
    "map": lambda a: lax.map(lambda r: typed(r, "8@y") * 2, a),
    "cond": lambda a: lax.cond(
        a.sum() > 0, lambda v: typed(v, "8@x,8@y"), lambda v: typed(v.T, "8@y,8@x").T, a
    ),
    "closure": lambda a: lax.cond(a.sum() > 0, lambda: typed(a, "8@x,8@y"), lambda: a),
    "loop in a loop": lambda a: lax.fori_loop(
        0, 2, lambda i, c: lax.fori_loop(0, 2, lambda j, d: typed(d, "8@x,8@y") + 1, c), a
    ),
    "checkpoint": lambda a: ev.checkpoint(lambda v: typed(v, "8@x,8@y") * 2)(a),
    "custom_jvp": lambda a: doubled(a),
    "jvp": lambda a: ev.jvp(lambda v: typed(v, "8@x,8@y") * 2, (a,), (a,)),
    "grad": lambda a: ev.grad(lambda v: typed(jnp.sin(v), "8@x,8@y").sum())(a),
    "vmap": lambda a: ev.vmap(lambda r: typed(r, "8@y") * 2)(a),
    "vmap of columns": lambda a: ev.vmap(lambda c: typed(c, "8@x") * 2, 1, 1)(a),
    "vmap of both": lambda a: ev.vmap(ev.vmap(lambda v: typed(v, "")))(a),
    "grad of vmap": lambda a: ev.grad(lambda v: ev.vmap(lambda r: typed(r, "8@y") * 2)(v).sum())(a),
    "like": lambda a: typed(jnp.zeros_like(a), "8@x,8@y") + typed(jnp.full_like(a, 2), "8@x,8@y"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TYPES)
def test_types_in_traces_say_how_values_lie(in_force, name, way):
    a = placed("x", "y", shape=(8, 8))
    if name == "scan":  # over what is whole along it
        a = placed(None, "y")
    WAYS[way](TYPES[name], a)


def test_results_lie_as_their_types_say(in_force):
    def f(a):
        found = jnp.zeros_like(a), a.T * 2, lax.fori_loop(0, 2, lambda i, c: c + 1, a.sum(0))
        return found, [ev.typeof(x) for x in found]

    a = placed("x", "y")
    outs, types = ev.jit(f)(a)
    assert list(map(str, types)) == ["float32[8@x,8@y]", "float32[8@y,8@x]", "float32[8@y]"]
    assert [ev.typeof(x) for x in outs] == types
    eager, _ = f(a)
    assert [ev.typeof(x) for x in eager] == types


def test_another_layout_is_another_trace(in_force):
    @ev.jit
    def f(a):
        return str(ev.typeof(lax.fori_loop(0, 1, lambda i, c: c, a))), jnp.zeros_like(a)

    for spec, text in ((("x",), "8@x,8"), ((None, "y"), "8,8@y"), (("x",), "8@x,8")):
        said, zeros = f(placed(*spec))
        assert said == str(ev.typeof(zeros)) == f"float32[{text}]"


def test_make_jaxpr_shows_types(in_force):
    def f(a, b):
        return lax.scan(lambda c, r: (c * 2, r), jnp.sin(a @ b), b)

    closed = ev.make_jaxpr(f)(placed("x"), placed(None, "y"))
    text = str(closed)
    assert text.startswith("{ lambda ; a:f32[8@x,8] b:f32[8,8@y]. let\n    c:f32[8@x,8@y] = dot_")
    assert re.search(
        r"\{ lambda ; (.):f32\[8@x,8@y\] .:f32\[8@y\]\. let\s+.:f32\[8@x,8@y\] = mul \1 ", text
    )
    assert list(map(str, closed.in_avals)) == ["float32[8@x,8]", "float32[8,8@y]"]
    assert list(map(str, closed.out_avals)) == ["float32[8@x,8@y]", "float32[8,8@y]"]
    again = ev.extend.core.jaxpr_as_fun(closed)(placed("x"), placed(None, "y"))
    assert [str(ev.typeof(x)) for x in again] == list(map(str, closed.out_avals))
    assert "@" not in str(ev.make_jaxpr(jnp.sin)(np.ones(3)))


def test_the_jaxpr_of_a_traced_call_shows_types(in_force):
    @ev.jit
    def f(a):
        return jnp.sin(a) + 1

    for spec, text in ((("x", "y"), "8@x,8@y"), ((), "8,8"), ((None, "y"), "8,8@y")):
        a = placed(*spec)
        assert f(a).sharding.is_equivalent_to(a.sharding, 2)
        for given in (a, struct(a)):
            closed = f.trace(given).jaxpr
            lines = [line.strip() for line in str(closed).split("\n")]
            assert lines[1] == f"b:f32[{text}] = sin a"
            assert str(closed.in_avals[0]) == f"float32[{text}]"


# What is open, and what says it: function of an array divided by rows and one by columns.
OPEN = {
    "product": lambda rows, columns, **said: jnp.matmul(columns, rows, **said),
    "einsum": lambda rows, columns, **said: jnp.einsum("ij,jk->ik", columns, rows, **said),
    "dot_general": lambda rows, columns, **said: lax.dot_general(
        columns, rows, (((1,), (0,)), ((), ())), **said
    ),
    "one axis twice": lambda rows, columns, **said: jnp.matmul(rows, rows.T, **said),
    "merged": lambda rows, columns, **said: jnp.reshape(columns, (64, 1), **said),
    "ravel": lambda rows, columns, **said: jnp.ravel(columns, **said),
    "split": lambda rows, columns, **said: jnp.reshape(rows, (2, 32), **said),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", OPEN)
def test_what_is_open_has_to_be_said(in_force, name, way):
    f, rows, columns = OPEN[name], placed("x"), placed(None, "x")
    with pytest.raises(ShardingTypeError, match="out_sharding=P") as info:
        WAYS[way](f, rows, columns)
    assert "test_explicit.py" in str(info.value)


@pytest.mark.parametrize("way", ["eager", "jit", "nested"])
@pytest.mark.parametrize("name", OPEN)
def test_what_is_said_is_done(in_force, name, way):
    f, rows, columns = OPEN[name], placed("x"), placed(None, "x")
    want = f(np.asarray(rows), np.asarray(columns))
    for spec in (P("y"), P()):
        out = WAYS[way](functools.partial(f, out_sharding=spec), rows, columns)
        free = WAYS[way](auto_axes(f, out_sharding=spec), rows, columns)
        assert out.sharding.is_equivalent_to(NamedSharding(in_force, spec), out.ndim)
        assert free.sharding.is_equivalent_to(out.sharding, out.ndim)
        np.testing.assert_allclose(out, want)
        np.testing.assert_allclose(free, want)
    whole = WAYS[way](lambda r, c: f(reshard(r, P()), reshard(c, P())), rows, columns)
    np.testing.assert_allclose(whole, want)


@pytest.mark.parametrize("way", [lambda f: f, ev.jit])
def test_cotangents_are_not_asked_for(in_force, way):
    x, w = placed("x"), placed(None, "y")
    f = way(ev.grad(lambda w, x: (jnp.sin(x @ w) ** 2).sum()))
    assert str(ev.typeof(f(w, x))) == "float32[8,8@y]"


def test_the_text_of_what_is_open(in_force):
    def f(h, w):
        return h @ w

    for run in (f, ev.jit(f)):
        with pytest.raises(ShardingTypeError) as info:
            run(placed(None, "x"), placed("x"))
        first, *rest = str(info.value).split("\n")
        names = ("h: ", "w: ") if run is not f else ("", "")
        assert first == (
            "dot_general: operand 0, {}f32[8,8@x], and operand 1, {}f32[8@x,8], are divided along "
            "'x' where they are summed over, so it is open how the sum lies."
        ).format(*names)
        assert any(re.search(r"test_explicit\.py:\d+ in f", line) for line in rest)
        assert (
            "  Fix: say how the result lies, `out_sharding=P(...)`, which `auto_axes(f)` takes for "
            "any function, or lay the operand out in another way before, `reshard(x, P(...))`."
        ) in rest
    with pytest.raises(ShardingTypeError) as info:
        ev.eval_shape(lambda v: v.reshape(64), struct(placed(None, "y")))
    assert str(info.value).startswith(
        "reshape: operand 0, v: f32[8,8@y], is divided along 'y' in dimension 1, and the result, "
        "f32[64], cannot be divided so, too.\n"
    )


# What works on dimension 0 in one piece: a function of an array that is divided along it.
FEW = np.array([1, 5, 2])
WHOLE = {
    "gather": lambda a: a[FEW],
    "gather of points": lambda a: a[FEW, FEW],
    "take": lambda a: jnp.take(a, FEW, axis=0),
    "take_along_axis": lambda a: jnp.take_along_axis(a, FEW[:, None], axis=0),
    "scatter": lambda a: a.at[FEW].set(0.0),
    "scatter of one": lambda a: a.at[0].add(1.0),
    "scatter of points": lambda a: a.at[FEW, FEW].multiply(2.0),
    "sort": lambda a: jnp.sort(a, axis=0),
    "argsort": lambda a: jnp.argsort(a, axis=0),
    "median": lambda a: jnp.median(a, axis=0),
    "top_k": lambda a: lax.top_k(a.T, 2)[0],
    "cumsum": lambda a: jnp.cumsum(a, axis=0),
    "cummax": lambda a: lax.cummax(a, axis=0),
    "cumlogsumexp": lambda a: lax.cumlogsumexp(a, axis=0),
    "qr": lambda a: jnp.linalg.qr(a)[1],
    "lu": lambda a: lax.linalg.lu(a)[0],
    "solve": lambda a: lax.linalg.triangular_solve(jnp.eye(8), a, left_side=True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", WHOLE)
def test_what_is_worked_on_in_one_piece_is_not_divided(in_force, name, way):
    with pytest.raises(
        ShardingTypeError, match="which the operation works on in one piece"
    ) as info:
        WAYS[way](WHOLE[name], placed("x"))
    text = str(info.value)
    assert "[8@x" in text or "8@x]" in text
    assert re.search(r"test_explicit\.py:\d+ in <lambda>", text)
    assert "`auto_axes(f)`" in text
    assert "`reshard(x, P(...))`" in text


@pytest.mark.parametrize("way", ["eager", "jit", "nested"])
@pytest.mark.parametrize("name", WHOLE)
def test_it_works_along_other_dimensions_and_where_it_is_said(in_force, name, way):
    f, a = WHOLE[name], placed("x")
    want = f(jnp.asarray(np.asarray(a)))
    for run in (lambda a: f(reshard(a, P())), auto_axes(f, out_sharding=P())):
        np.testing.assert_allclose(WAYS[way](run, a), want, rtol=1e-5)
    with ev.set_mesh(None):
        np.testing.assert_allclose(WAYS[way](f, a), want, rtol=1e-5)


# ... and what works on each row alone, of an array that is divided by rows.
BY_ROWS = {
    "gather": lambda a: a[:, FEW],
    "scatter": lambda a: a.at[:, 0].set(0.0),
    "scatter of few": lambda a: a.at[:, FEW].add(1.0),
    "sort": lambda a: jnp.sort(a, axis=1),
    "top_k": lambda a: lax.top_k(a, 2)[0],
    "cumsum": lambda a: jnp.cumsum(a, axis=1),
    "svd": lambda a: jnp.linalg.svd(a[:, :4].reshape(8, 2, 2), compute_uv=False),
    "gradient": lambda a: ev.grad(lambda v: (v[:, FEW] ** 2).sum() + jnp.sort(v, 1)[:, 0].sum())(a),
}


@pytest.mark.parametrize("way", ["eager", "jit", "nested"])
@pytest.mark.parametrize("name", BY_ROWS)
def test_rows_stay_on_their_devices(in_force, name, way):
    a = placed("x")
    out = WAYS[way](BY_ROWS[name], a)
    assert out.sharding.spec[0] == "x"
    np.testing.assert_allclose(out, BY_ROWS[name](jnp.asarray(np.asarray(a))), rtol=1e-5)


# Parts of a dimension that is divided over four devices: how many elements -> how they lie.
PARTS = {
    "slice": lambda a, n: lax.slice(a, (2, 0), (2 + n, 8)),
    "dynamic_slice": lambda a, n: lax.dynamic_slice(a, (2, 0), (n, 8)),
    "from a number that is traced": lambda a, n: ev.jit(
        lambda a, i: lax.dynamic_slice_in_dim(a, i, n, 0)
    )(a, 2),
    "in a loop": lambda a, n: lax.fori_loop(
        0, 2, lambda i, _: lax.dynamic_slice(a, (i + 1, 0), (n, 8)), jnp.zeros((n, 8))
    ),
    "of each of a batch": lambda a, n: ev.vmap(
        lambda row: lax.dynamic_slice(row, (2,), (n,)), in_axes=1, out_axes=1
    )(a),
}


@pytest.mark.parametrize("way", ["eager", "jit", "nested"])
@pytest.mark.parametrize("name", [n for n in PARTS if n != "in a loop"])
def test_a_part_lies_as_the_whole_does(in_force, name, way):
    out = WAYS[way](lambda a: PARTS[name](a, 4), placed("x", "y"))
    assert str(ev.typeof(out)) == "float32[4@x,8@y]"
    np.testing.assert_array_equal(out, np.asarray(placed("x", "y"))[2:6])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("count", [1, 3])
def test_a_part_that_cannot_lie_so_is_refused(in_force, name, way, count):
    with pytest.raises(ShardingTypeError, match=r"slice: operand 0,.* cannot be divided so, too"):
        WAYS[way](lambda a: PARTS[name](a, count), placed("x"))
    whole = PARTS[name](reshard(placed("x"), P()), count)
    np.testing.assert_array_equal(whole, np.asarray(placed("x"))[2 : 2 + count])


GRADIENTS = {
    "of a part": lambda a: a[:4].sum(),
    "of a part that is made": lambda a: (lax.dynamic_slice(a, (2, 0), (4, 8)) * 2).sum(),
    "of what is gathered": lambda a: reshard(a, P())[jnp.array([0, 1])].sum(),
    "of a sum": lambda a: a.sum() + a[4:, 4:].sum(),
    "of zero": lambda a: jnp.float32(3.0) + 0 * lax.stop_gradient(a).sum(),
}


@pytest.mark.parametrize("way", ["eager", "jit", "nested"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_lie_as_their_primals(in_force, name, way):
    a, alone = placed("x", "y"), jnp.asarray(np.asarray(placed()))
    made = [
        WAYS[way](ev.grad(GRADIENTS[name]), a),
        WAYS[way](ev.value_and_grad(GRADIENTS[name]), a)[1],
        WAYS[way](lambda a: ev.vjp(GRADIENTS[name], a)[1](jnp.float32(1.0))[0], a),
    ]
    for out in made:
        assert str(ev.typeof(out)) == "float32[8@x,8@y]"
        with ev.set_mesh(ev.make_mesh((1,), ("z",))):
            np.testing.assert_array_equal(out, ev.grad(GRADIENTS[name])(alone))


def test_gradients_that_lie_so_are_left_alone(in_force):
    shown = str(ev.make_jaxpr(ev.grad(lambda a: (a * a).sum()))(placed("x", "y")))
    assert "sharding_constraint" not in shown


def test_by_jaxs_rules_gradients_lie_as_the_arguments_of_each_call(in_force):
    def part(a):
        return (a[4:] * 2).sum()

    with ev.strict():
        for grad in ev.jit(ev.grad(part)), ev.jit(lambda a: ev.jit(ev.grad(part))(a * 1)):
            for spec in (P("x"), P(None, "y"), P("x")):
                assert ev.typeof(grad(placed(*spec))) == ev.typeof(placed(*spec))


def test_by_jaxs_rules_a_function_is_traced_for_each_layout_along_explicit_axes(in_force):
    with ev.strict():
        double = ev.jit(lambda v: v * 2)
        for spec in (P("x"), P(None, "y"), P("x")):
            assert ev.typeof(double(placed(*spec))) == ev.typeof(placed(*spec))
        info = double.cache_info()
        assert (info.hits, info.misses) == (1, 2)
        assert "v.sharding: P('x',) -> P(None, 'y')" in str(double.explain())


def test_gradients_of_what_says_nothing_are_left_alone(mesh):
    grads = ev.grad(lambda a, n: (a[:4] * n).sum(), (0, 1))(jnp.ones((8, 8)), 2.0)
    assert [type(g.sharding).__name__ for g in grads] == ["SingleDeviceSharding"] * 2


UPDATES = {
    "of an undivided array": (lambda a: lax.dynamic_update_slice(a, jnp.ones((4, 8)), (0, 0))),
    "divided along one axis": (
        lambda a: lax.dynamic_update_slice(a, placed("x", shape=(4, 8)), (0, 0))
    ),
    "in a place that is traced": (
        lambda a: ev.jit(lambda a, i: lax.dynamic_update_slice_in_dim(a, a[:4, :1], i, 1))(a, 2)
    ),
    "into an undivided array": (
        lambda a: lax.dynamic_update_slice(reshard(a, P("x")), a[:4, :4], (0, 0))
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", UPDATES)
def test_an_update_that_does_not_lie_as_the_whole_is_refused(in_force, name, way):
    with pytest.raises(ShardingTypeError, match=r"both have to lie alike|cannot be divided so"):
        WAYS[way](UPDATES[name], placed("x", "y"))


def test_an_update_lies_as_the_whole(in_force):
    a = placed("x", "y")
    out = ev.jit(lambda a: lax.dynamic_update_slice(a, a[:4] + 1, (4, 0)))(a)
    assert str(ev.typeof(out)) == "float32[8@x,8@y]"
    np.testing.assert_array_equal(out[4:], a[:4] + 1)


JOINED = {
    "concatenate": lambda a, b: jnp.concatenate([a, b], 1),
    "concatenate along what is divided": lambda a, b: jnp.concatenate([a, b]),
    "stack": lambda a, b: jnp.stack([a, b]),
    "where": lambda a, b: jnp.where(a > 0, a, b),
    "select": lambda a, b: lax.select(a > 0, a, b),
    "sort": lambda a, b: lax.sort((a.T, b.T), dimension=1)[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("spec", [(), (None, "y"), ("y",)], ids=str)
@pytest.mark.parametrize("name", JOINED)
def test_what_is_put_together_has_to_lie_alike(in_force, name, spec, way):
    wrong = r"both have to lie alike|which go together|in one piece"
    with pytest.raises(ShardingTypeError, match=wrong):
        WAYS[way](JOINED[name], placed(None, "x"), placed(*spec))


GIVE_ARRAYS = [way for way in WAYS if way not in ("lower", "make_jaxpr")]


@pytest.mark.parametrize("way", GIVE_ARRAYS)
@pytest.mark.parametrize("name", [name for name in JOINED if name != "sort"])
def test_what_lies_alike_is_put_together(in_force, name, way):
    out = WAYS[way](JOINED[name], placed("x", "y"), placed("x", "y") * 2)
    assert {"x", "y"} <= set(out.sharding.spec)


NOWHERE = {
    "a number in where": lambda a: jnp.where(a > 0, a, 0.0),
    "a row in where": lambda a: jnp.where(a > 0, a, jnp.arange(8.0)),
    "zeros in where": lambda a: jnp.where(a > 0, a, jnp.zeros_like(a)),
    "indices in argsort": lambda a: jnp.argsort(reshard(a, P("x")), 1),
    "zeros behind": lambda a: jnp.concatenate([a, jnp.zeros((8, 2))], 1),
    "a gradient": ev.grad(lambda a: jnp.where(a > 0, a, 1.0).sum()),
}


@pytest.mark.parametrize("way", GIVE_ARRAYS)
@pytest.mark.parametrize("name", NOWHERE)
def test_what_nobody_has_laid_out_goes_with_anything(in_force, name, way):
    assert "x" in WAYS[way](NOWHERE[name], placed("x", "y")).sharding.spec


def test_the_text_of_what_is_put_together_and_lies_in_two_ways(in_force):
    with pytest.raises(ShardingTypeError) as info:
        ev.jit(lambda v, w: jnp.concatenate([v, w], 1))(placed("x"), placed())
    first, *rest = str(info.value).split("\n")
    assert first == (
        "concatenate: operand 0, v: f32[8@x,8], is divided along 'x' in dimension 0, and operand "
        "1, w: f32[8,8], along no axis: both have to lie alike."
    )
    assert "  Fix: lay one of them out as the other, `reshard(x, P(...))`." in rest


def test_the_text_of_an_update_that_lies_in_another_way(in_force):
    def write(v, w):
        return lax.dynamic_update_slice(v, w, (0, 0))

    with pytest.raises(ShardingTypeError) as info:
        ev.jit(write)(placed("x", "y"), placed(None, "y", shape=(4, 8)))
    first, *rest = str(info.value).split("\n")
    assert first == (
        "dynamic_update_slice: operand 0, v: f32[8@x,8@y], is divided along 'x' in dimension 0, "
        "and operand 1, w: f32[4,8@y], along no axis: both have to lie alike."
    )
    assert any(re.search(r"test_explicit\.py:\d+ in write", line) for line in rest)
    assert "  Fix: lay one of them out as the other, `reshard(x, P(...))`." in rest


def test_the_text_of_what_is_worked_on_in_one_piece(in_force):
    def ordered(v):
        return jnp.sort(v, axis=0)

    with pytest.raises(ShardingTypeError) as info:
        ev.jit(ordered)(placed("x", "y"))
    first, *rest = str(info.value).split("\n")
    assert first == (
        "sort: operand 0, v: f32[8@x,8@y], is divided along 'x' in dimension 0, which the "
        "operation works on in one piece."
    )
    assert any(re.search(r"test_explicit\.py:\d+ in ordered", line) for line in rest)


def test_who_has_no_such_mesh_in_force_is_not_asked(mesh):
    rows = ev.device_put(np.ones((8, 8), np.float32), NamedSharding(mesh, P("x")))
    assert ev.typeof(rows @ rows.T).sharding.spec == P("x", None)
    auto = ev.make_mesh((4, 2), ("x", "y"), (AxisType.Auto,) * 2)
    with ev.set_mesh(auto):
        divided = ev.device_put(rows, P("x"))
        assert ev.jit(lambda a: a @ a.T)(divided).sharding.spec == P("x")
    with ev.set_mesh(mesh), pytest.raises(ShardingTypeError):  # also after that
        rows @ rows.T
