"""Primitives that a class describes: each transformation asks the rule that there is for it."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import hijax

X, Y = np.float32([1.0, 2.0, 3.0]), np.float32([0.5, -1.0, 4.0])


class Product(hijax.VJPHiPrimitive):
    """sin(x) * y, which notes the rules that are asked."""

    asked: list = []  # noqa: RUF012 - of all

    def __init__(self, *avals):
        self.in_avals, self.out_aval, self.params = avals, avals[0], {}
        super().__init__()

    def expand(self, x, y):
        return jnp.sin(x) * y


class Forward(Product):
    def jvp(self, primals, tangents):
        self.asked.append("jvp")
        (x, y), (dx, dy) = primals, map(hijax.instantiate_zeros, tangents)
        return self(x, y), jnp.cos(x) * dx * y + jnp.sin(x) * dy


class Reverse(Product):
    def vjp_fwd(self, nzs_in, x, y):
        self.asked.append("vjp_fwd")
        return self(x, y), (x, y)

    def vjp_bwd_retval(self, residuals, ct):
        x, y = residuals
        return jnp.cos(x) * y * ct, jnp.sin(x) * ct


class Both(Reverse, Forward):
    pass


class Accumulating(Product):
    def vjp_fwd(self, nzs_in, x, y):
        return self(x, y), (x if nzs_in[1] else None, (x, y) if nzs_in[0] else None)

    def vjp_bwd(self, residuals, ct, x_acc, y_acc):
        for_y, for_x = residuals
        if for_x is not None:
            x_acc.accum(jnp.cos(for_x[0]) * for_x[1] * ct / 2)
            x_acc.accum(jnp.cos(for_x[0]) * for_x[1] * ct / 2)
        if for_y is not None:
            y_acc.accum(jnp.sin(for_y) * ct)


class Linearized(Product):
    def lin(self, nzs_in, x, y):
        self.asked.append("lin")
        return self(x, y), (jnp.cos(x) * y, jnp.sin(x))

    def linearized(self, residuals, dx, dy):
        by_x, by_y = residuals
        return by_x * hijax.instantiate_zeros(dx) + by_y * hijax.instantiate_zeros(dy)


class FromJvp(Forward):
    lin, linearized = hijax.linearize_from_jvp
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_lin


class Recomputed(Forward):
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_jvp


class FromLin(Linearized):
    jvp = hijax.jvp_from_lin
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_lin


REVERSE = [Forward, Reverse, Both, Accumulating, Linearized, FromJvp, Recomputed, FromLin]
FORWARD = [Forward, Both, FromJvp, Recomputed, FromLin]


def call(kind):
    return lambda x, y: kind(ev.typeof(x), ev.typeof(y))(x, y)


def plain(x, y):
    return jnp.sin(x) * y


def check(found, expected):
    ev.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6), found, expected
    )


@pytest.mark.engine
@pytest.mark.parametrize("kind", REVERSE)
@pytest.mark.parametrize(
    "wrap",
    [lambda f: f, ev.jit, lambda f: ev.jit(f, engine="xla"), ev.checkpoint],
    ids=["eager", "jit", "xla", "checkpoint"],
)
def test_reverse_mode_by_each_kind_of_rule(kind, wrap):
    f = call(kind)
    for argnums in (0, 1, (0, 1)):
        given = wrap(ev.grad(lambda x, y: wrap(f)(x, y).sum(), argnums))(X, Y)
        check(given, ev.grad(lambda x, y: plain(x, y).sum(), argnums)(X, Y))


@pytest.mark.parametrize("kind", REVERSE)
def test_vectorised_reverse_mode_where_some_arguments_are_shared(kind):
    f = call(kind)
    for in_axes in ((0, 0), (0, None), (None, 0)):
        x, y = (X if in_axes[0] == 0 else X[0]), (Y if in_axes[1] == 0 else Y[0])
        check(ev.vmap(f, in_axes)(x, y), ev.vmap(plain, in_axes)(x, y))
        check(
            ev.vmap(ev.grad(f, (0, 1)), in_axes)(x, y),
            ev.vmap(ev.grad(plain, (0, 1)), in_axes)(x, y),
        )
        found, expected = (
            ev.grad(lambda x, y, g=g, a=in_axes: ev.vmap(g, a)(x, y).sum(), (0, 1))(x, y)
            for g in (f, plain)
        )
        check(found, expected)
    found, expected = (
        ev.vmap(ev.vmap(ev.grad(g, (0, 1)), (0, None)), (None, 0))(X, Y) for g in (f, plain)
    )
    check(found, expected)


@pytest.mark.parametrize("kind", FORWARD)
def test_forward_mode_and_derivatives_of_higher_order(kind):
    f = call(kind)
    check(ev.jvp(f, (X, Y), (Y, X)), ev.jvp(plain, (X, Y), (Y, X)))
    check(ev.jvp(lambda x: f(x, Y), (X,), (Y,)), ev.jvp(lambda x: plain(x, Y), (X,), (Y,)))
    check(ev.vmap(ev.jacfwd(f))(X, Y), ev.vmap(ev.jacfwd(plain))(X, Y))
    check(ev.hessian(f)(X[0], Y[0]), ev.hessian(plain)(X[0], Y[0]))


@pytest.mark.parametrize("kind", [*FORWARD, Linearized])
def test_linear_maps_are_applied_by_the_rule_for_tangents(kind):
    f = call(kind)
    out, linear = ev.linearize(f, X, Y)
    want, expected = ev.linearize(plain, X, Y)
    check((out, linear(Y, X)), (want, expected(Y, X)))
    check(
        ev.vmap(linear)(np.stack([Y, X]), np.stack([X, X])),
        ev.vmap(expected)(np.stack([Y, X]), np.stack([X, X])),
    )


@pytest.mark.parametrize(
    ("kind", "transform", "rules"),
    [
        (Both, lambda f: ev.jvp(f, (X, Y), (X, Y)), ["jvp"]),
        (Both, lambda f: ev.grad(lambda x: f(x, Y).sum())(X), ["vjp_fwd"]),
        (FromJvp, lambda f: ev.grad(lambda x: f(x, Y).sum())(X), ["jvp"]),
        (FromLin, lambda f: ev.grad(lambda x: f(x, Y).sum())(X), ["lin"]),
    ],
)
def test_which_rule_is_asked(kind, transform, rules):
    Product.asked.clear()
    transform(call(kind))
    assert Product.asked == rules


def test_a_call_is_one_equation_and_equal_objects_are_one():
    jaxpr = ev.make_jaxpr(call(Both))(X, Y)
    assert str(jaxpr).split("\n")[1].strip() == "c:f32[3] = call_hi_primitive[_prim=Both[{}]] a b"
    aval = ev.typeof(X)
    assert Both(aval, aval) == Both(aval, aval)
    assert hash(Both(aval, aval)) == hash(Both(aval, aval))
    assert Both(aval, aval) != Reverse(aval, aval)


class Point(NamedTuple):
    x: object
    y: object


class Split(hijax.VJPHiPrimitive):
    def __init__(self, aval, *, scale):
        self.in_avals, self.out_aval = (aval,), {"a": aval.x, "b": (aval.x, aval.y)}
        self.params = {"scale": scale}
        super().__init__()

    def expand(self, point):
        return {"a": self.scale * point.x**2, "b": (jnp.sin(point.x), jnp.cos(point.y))}

    def vjp_fwd(self, nzs_in, point):
        assert (nzs_in[0].x, nzs_in[0].y) == (True, True)
        return self(point), point

    def vjp_bwd_retval(self, point, ct):
        assert type(ct["b"][1]) is hijax.Zero
        x = 2 * self.scale * point.x * ct["a"] + jnp.cos(point.x) * ct["b"][0]
        return (Point(x, None),)


def test_trees_of_arrays_static_params_and_known_zeros():
    def f(point):
        out = Split(ev.tree.map(ev.typeof, point), scale=3.0)(point)
        return (out["a"] + out["b"][0]).sum()

    def expected(point):
        return (3.0 * point.x**2 + jnp.sin(point.x)).sum()

    check(ev.jit(f)(Point(X, Y)), expected(Point(X, Y)))
    check(ev.grad(f)(Point(X, Y)), ev.grad(expected)(Point(X, Y)))


class Sums(hijax.VJPHiPrimitive):
    """Adds up a vector, a batch of them by a rule of its own, whose result says so."""

    def __init__(self, aval):
        self.in_avals, self.params = (aval,), {}
        self.out_aval = aval.update(shape=())
        super().__init__()

    def expand(self, x):
        return x.sum()

    def batch(self, axis_data, args, in_dims):
        (x,), (dim,) = args, in_dims
        assert x.shape[dim] == axis_data.size
        return jnp.moveaxis(x, dim, 0).sum(1) + 100, 0


@pytest.mark.parametrize("axis", [0, 1])
def test_a_class_may_say_how_a_batch_is_computed(axis):
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    found = ev.vmap(lambda x: Sums(ev.typeof(x))(x), axis)(x)
    np.testing.assert_array_equal(found, x.sum(1 - axis) + 100)


class Clipped(hijax.VJPHiPrimitive):
    """Its residuals are an array and a setting that the backward rule asks for by `if`."""

    def __init__(self, aval, limit):
        self.in_avals, self.out_aval, self.params = (aval,), aval, {"limit": limit}
        super().__init__()

    def expand(self, x):
        return x * x

    def vjp_fwd(self, nzs_in, x):
        return self(x), {"x": x, "is_clipped": self.limit > 0}

    def vjp_bwd_retval(self, residuals, ct):
        dx = 2 * residuals["x"] * ct
        return (jnp.clip(dx, -self.limit, self.limit) if residuals["is_clipped"] else dx,)


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(("limit", "wanted"), [(0, 2 * X), (3, np.minimum(2 * X, 3))])
def test_numbers_among_residuals_stay_numbers(wrap, limit, wanted):
    found = wrap(ev.grad(lambda x: Clipped(ev.typeof(x), limit)(x).sum()))(X)
    np.testing.assert_array_equal(found, wanted)


class Nothing(hijax.VJPHiPrimitive):
    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), aval, {}
        super().__init__()


class Narrow(Nothing):
    def expand(self, x):
        return x.astype("float16")


class Wrong(Nothing):
    def expand(self, x):
        return x, x


class Unset(hijax.VJPHiPrimitive):
    pass


class Plain(Nothing):
    def expand(self, x):
        return x


class HalfReverse(Plain):
    def vjp_fwd(self, nzs_in, x):
        return self(x), None


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda: Nothing(ev.typeof(X))(X), "Nothing: the class has no `expand`"),
        (lambda: Narrow(ev.typeof(X))(X), "Narrow: `expand` returns f16"),
        (lambda: Wrong(ev.typeof(X))(X), "Wrong: `expand` returns the structure"),
        (Unset, "Unset: `self.in_avals` is not set"),
        (lambda: Plain(ev.typeof(X))(X[:2]), "Plain: it was made for arguments of types"),
        (lambda: Plain(ev.typeof(X))(X, X), "Plain: it was made for arguments of types"),
        (lambda: ev.jvp(Plain(ev.typeof(X)), (X,), (X,)), "Plain: the class has no `jvp`"),
        (lambda: ev.vjp(Plain(ev.typeof(X)), X)[1](X), "Plain: the class has no `vjp_fwd`"),
        (
            lambda: ev.vjp(HalfReverse(ev.typeof(X)), X)[1](X),
            "HalfReverse: the class has no `vjp_bwd_retval`",
        ),
    ],
)
def test_what_is_missing_is_named(run, text):
    with pytest.raises((NotImplementedError, TypeError, AttributeError)) as caught:
        run()
    assert str(caught.value).startswith(text)
    assert "Fix: " in str(caught.value)


# ------------------------------------------------------------------------ types above arrays


@dataclasses.dataclass(frozen=True)
class Scaled:
    """Integers and a scale for each row."""

    values: Any
    scale: Any


@dataclasses.dataclass(frozen=True)
class ScaledType(hijax.HiType):
    shape: tuple

    def lo_ty(self):
        shapes = (self.shape, jnp.int8), (self.shape[:-1], jnp.float32)
        return [ev.core.ShapedArray(*facts) for facts in shapes]

    def lower_val(self, value):
        return [value.values, value.scale]

    def raise_val(self, values, scale):
        return Scaled(values, scale)

    def to_tangent_aval(self):
        return ev.core.ShapedArray(self.shape, jnp.float32)

    def __str__(self):
        return f"scaled{list(self.shape)}"


hijax.register_hitype(Scaled, lambda x: ScaledType(x.values.shape))


class Scale(hijax.VJPHiPrimitive):
    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), ScaledType(aval.shape), {}
        super().__init__()

    def expand(self, x):
        scale = jnp.max(jnp.abs(x), -1) / 127
        return Scaled(jnp.round(x / scale[..., None]).astype(jnp.int8), scale)

    def vjp_fwd(self, nzs_in, x):
        return self(x), None

    def vjp_bwd_retval(self, _, ct):
        return (ct,)


class Times(hijax.VJPHiPrimitive):
    """The product of an array and scaled integers, with twice its gradient."""

    def __init__(self, aval, scaled):
        self.in_avals, self.params = (aval, scaled), {}
        self.out_aval = ev.core.ShapedArray(scaled.shape, jnp.float32)
        super().__init__()

    def expand(self, x, scaled):
        return x * scaled.values * scaled.scale[..., None]

    def vjp_fwd(self, nzs_in, x, scaled):
        return self(x, scaled), (x if nzs_in[1] else None, scaled)

    def vjp_bwd_retval(self, residuals, ct):
        x, scaled = residuals
        return 2 * times(ct, scaled), None if x is None else x * ct


def scale(x):
    return Scale(ev.typeof(x))(x)


def times(x, scaled):
    return Times(ev.typeof(x), ev.typeof(scaled))(x, scaled)


ROWS = np.float32([[127, -127, 0], [254, 2, -2]])


@pytest.mark.parametrize("how", [lambda fun: fun, ev.jit], ids=["eager", "jit"])
def test_values_above_arrays_come_and_go(how):
    made = how(scale)(ROWS)
    assert type(made) is Scaled
    assert ev.typeof(made) == ScaledType((2, 3))
    assert jnp.array_equal(made.scale, [1, 2])
    assert jnp.array_equal(how(times)(jnp.ones((2, 3)), made), ROWS)
    assert jnp.array_equal(how(lambda x: times(x, scale(ROWS)))(jnp.ones((2, 3))), ROWS)


def test_values_above_arrays_are_mapped_scanned_and_carried():
    many = ev.vmap(scale, out_axes=hijax.MappingSpec())(jnp.stack([ROWS, 2 * ROWS]))
    assert ev.typeof(many) == ScaledType((2, 2, 3))
    ones = jnp.ones((2, 3))
    doubled = ev.vmap(times, in_axes=(None, hijax.MappingSpec()))(ones, many)
    assert jnp.array_equal(doubled, [ROWS, 2 * ROWS])

    def step(kept, scaled):
        return scale(times(ones, kept) + times(ones, scaled)), times(ones, kept)

    last, outs = ev.lax.scan(step, scale(ROWS), many)
    assert jnp.array_equal(times(ones, last), 4 * ROWS)
    assert jnp.array_equal(outs, [ROWS, 2 * ROWS])


@pytest.mark.parametrize("around", [lambda fun: fun, ev.jit, ev.vmap], ids=["", "jit", "vmap"])
def test_gradients_beside_values_above_arrays_are_those_of_the_rule(around):
    scaled = scale(ROWS)
    gradient = around(ev.grad(lambda x: jnp.sum(times(x, scaled))))
    x = jnp.ones((1, 2, 3) if around is ev.vmap else (2, 3))
    assert jnp.array_equal(gradient(x).reshape(2, 3), 2 * ROWS)
    batched = ev.grad(lambda xs: jnp.sum(ev.vmap(lambda x: times(x, scaled))(xs)))
    assert jnp.array_equal(batched(jnp.ones((4, 2, 3)))[1], 2 * ROWS)


def test_values_above_arrays_are_divided_by_specs_of_their_own():
    class Rows(hijax.HiPspec):
        def to_lo(self):
            return ev.P("rows"), ev.P("rows")

    mesh = ev.make_mesh((1,), ("rows",))
    made = ev.shard_map(scale, mesh=mesh, in_specs=ev.P("rows"), out_specs=Rows())(ROWS)
    back = ev.shard_map(times, mesh=mesh, in_specs=(ev.P("rows"), Rows()), out_specs=ev.P("rows"))
    assert jnp.array_equal(back(jnp.ones((2, 3)), made), ROWS)


FACTORS = np.arange(6, dtype=np.float32).reshape(2, 3)


def scaled_loss(x):
    return jnp.sum(times(FACTORS, scale(x)))


@pytest.mark.engine
@pytest.mark.parametrize(
    "wrap",
    [lambda f: f, ev.jit, lambda f: ev.jit(f, engine="xla")],
    ids=["eager", "jit", "xla"],
)
@pytest.mark.parametrize("inner", [lambda f: f, ev.jit], ids=["", "of jit"])
def test_gradients_go_through_values_above_arrays(wrap, inner):
    assert jnp.array_equal(wrap(ev.grad(inner(scaled_loss)))(ROWS), FACTORS)


def test_gradients_with_respect_to_values_above_arrays_are_their_tangents():
    value, gradient = ev.value_and_grad(lambda scaled: jnp.sum(times(FACTORS, scaled)))(scale(ROWS))
    assert (float(value), type(gradient)) == (
        float((FACTORS * ROWS).sum()),
        type(X * ev.numpy.ones(3)),
    )
    assert jnp.array_equal(gradient, FACTORS)
    by_x, by_both = ev.jit(ev.grad(lambda x, pair: jnp.sum(times(x, pair[0])) * pair[1], (0, 1)))(
        FACTORS, (scale(ROWS), 2.0)
    )
    assert jnp.array_equal(by_x, 4 * ROWS)
    assert jnp.array_equal(by_both[0], 2 * FACTORS)
    out, pull = ev.vjp(times, FACTORS, scale(ROWS))
    assert jnp.array_equal(pull(jnp.ones_like(out))[1], FACTORS)


def test_vectorised_and_repeated_derivatives_through_values_above_arrays():
    rows = np.stack([ROWS, 2 * ROWS])
    assert jnp.array_equal(ev.vmap(ev.grad(scaled_loss))(rows), np.stack([FACTORS, FACTORS]))

    def penalty(x):
        return jnp.sum(ev.grad(lambda y: jnp.sum(times(y * y, scale(x))))(FACTORS))

    # The rule of Times says twice its gradient, so the one of that is twice the outer factor.
    assert jnp.array_equal(ev.grad(penalty)(ROWS), 4 * FACTORS)


def test_a_result_that_a_jitted_function_returns_has_its_tangent():
    loss = ev.grad(lambda x: jnp.sum(times(FACTORS, ev.jit(scale)(x))))
    assert jnp.array_equal(loss(ROWS), FACTORS)


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda: ev.jvp(scaled_loss, (ROWS,), (ROWS,)), "Scale: derivatives do not go through"),
        (lambda: ev.linearize(scaled_loss, ROWS)[1](ROWS), "Scale: derivatives do not go through"),
        (
            lambda: ev.grad(lambda x: jnp.sum(ev.jit(times)(FACTORS, scale(x))))(ROWS),
            "jit: derivatives do not go through values of types above arrays",
        ),
        (
            lambda: ev.grad(lambda x: jnp.sum(scale(x).values * 1.0))(ROWS),
            "convert_element_type: derivatives do not go through",
        ),
        (
            lambda: ev.grad(lambda xs: jnp.sum(ev.vmap(lambda x: times(FACTORS, scale(x)))(xs)))(
                np.stack([ROWS, ROWS])
            ),
            "Scale: derivatives do not go through",
        ),
    ],
    ids=["jvp", "linearize", "jit", "attributes", "vmap"],
)
def test_where_derivatives_do_not_go_through_values_above_arrays_is_said(run, text):
    with pytest.raises(NotImplementedError, match=f"^{text}.*") as caught:
        run()
    assert "Fix: " in str(caught.value)


def test_an_argument_of_another_type_above_arrays_is_refused():
    prim = Times(ev.typeof(jnp.ones(3)), ScaledType((3,)))
    with pytest.raises(TypeError, match=r"got \S*, scaled\[2, 3\]"):
        prim(jnp.ones(3), scale(ROWS))


class Box:
    """A value that can be written to, by operations alone: what it holds, and its structure."""

    def __init__(self, value):
        self.leaves, self.treedef = ev.tree.flatten(value)

    def cur_qdd(self):
        return tuple(map(ev.typeof, self.leaves)), self.treedef


class BoxType(hijax.MutableHiType):
    pass


hijax.register_hitype(Box, lambda box: BoxType())


class Get(hijax.HiPrimitive):
    multiple_results = True

    def impl(self, box):
        return box.leaves


class Set(hijax.HiPrimitive):
    multiple_results = True

    def impl(self, box, *leaves, treedef):
        box.leaves, box.treedef = list(leaves), treedef
        return []


def add(box, x):
    types, treedef = ev.experimental.cur_qdd(box)
    leaves = [y + x for y in Get("get").bind(box)]
    assert [y.shape for y in leaves] == [a.shape for a in types]
    Set("set").bind(box, *leaves, treedef=treedef)


def repeated(box, x):
    def body(_, item):
        add(box, item)
        return None, item

    lax.scan(body, None, jnp.stack([x, x]))


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit])
@pytest.mark.parametrize(("write", "times"), [(add, 1), (repeated, 2)])
def test_values_that_can_be_written_to_are_changed_by_operations_on_them(wrap, write, times):
    box, run = Box({"a": jnp.array(1.0), "b": jnp.array(2.0)}), wrap(write)
    for turn in (1, 2):
        assert run(box, jnp.array(3.0)) is None
        assert list(map(float, box.leaves)) == [1 + 3 * times * turn, 2 + 3 * times * turn]
    assert type(ev.typeof(box)) is BoxType


class ReadBox(Box):
    """One that may also stand for an array."""

    def __jax_array__(self):
        return self.leaves[0]


@pytest.mark.parametrize("f", [lambda box: box, lambda box: (1.0, ReadBox(box))])
def test_values_that_can_be_written_to_are_no_results_by_jaxs_rules(f):
    box = ReadBox(jnp.array(1.0))
    assert ev.jit(lambda: box)() is box
    with pytest.raises(TypeError, match=r"a (Read)?Box at result(?s:.*)Fix: pass on what it"):
        ev.jit(lambda x: f(box), strict=True)(1.0)


def test_values_that_can_be_written_to_are_no_arguments_by_jaxs_rules():
    box = ReadBox(jnp.array(1.0))
    assert ev.jit(lambda box: jnp.add(box, 1.0))(box) == 2
    with pytest.raises(
        ValueError, match=r"an argument is a ReadBox, which can be written to(?s:.*)Fix: call it in"
    ):
        ev.jit(lambda box: jnp.add(box, 1.0), strict=True)(box)


def test_values_that_can_be_written_to_are_leaves():
    box = ReadBox(jnp.array(1.0))
    assert ev.tree.leaves({"a": box}) == [box]
    assert ev.tree.map(lambda x: x, box) is box


def test_what_is_missing_of_values_that_can_be_written_to_is_named():
    with pytest.raises(TypeError, match=r"^cur_qdd: nothing is noted of a value of class int\."):
        hijax.cur_qdd(1)
    with pytest.raises(NotImplementedError, match=r"^read: the class has no `impl`"):
        hijax.HiPrimitive("read").bind()


class Halves(hijax.VJPHiPrimitive):
    """Twice its argument, part by part."""

    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), aval, {}
        super().__init__()

    def expand(self, x):
        return ev.shard_map(lambda part: part * 2, out_specs=self.out_aval.sharding.spec)(x)


@pytest.mark.engine
@pytest.mark.parametrize("strict", [False, True])
def test_arguments_and_results_lie_as_their_types_say(strict):
    def double(x):
        return Halves(ev.typeof(x))(x)

    with ev.simulate_devices(4), ev.set_mesh(ev.make_mesh((4,), ("a",))), ev.strict(strict):
        x = ev.device_put(np.arange(8, dtype=np.float32), ev.P("a"))
        for run in (double, ev.jit(double)):
            assert str(ev.typeof(run(x))) == "float32[8@a]"
            np.testing.assert_array_equal(run(x), 2 * np.asarray(x))
        text = ev.jit(double).lower(x).compile().as_text()
        assert "f32[2]" in text
        assert "all-" not in text


def test_what_lies_nowhere_is_known_to_lie_whole_under_the_mesh_of_another_device():
    device = ev.sharding.AbstractDevice("gpu", 1, "cuda")
    kinds = (ev.sharding.AxisType.Explicit,)
    mesh = ev.sharding.AbstractMesh((4,), ("a",), kinds, abstract_device=device)
    with ev.sharding.use_abstract_mesh(mesh):
        text = ev.jit(lambda x: Halves(ev.typeof(x))(x)).lower(jnp.ones((8, 4))).as_text()
    assert "stablehlo.multiply" in text
