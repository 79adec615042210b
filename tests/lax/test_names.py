"""Sinks, the hidden generator, constraints in jaxprs, and sums that must not be narrow."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from evertrace import numpy as enp
from evertrace.errors import DTypeError, ShapeError

X = np.arange(1.0, 4.0, dtype=np.float32)


def names(fun, *args):
    """Return the names of the operations that a function is traced to, those inside included."""
    found = []

    def visit(jaxpr):
        for eqn in jaxpr.eqns:
            found.append(eqn.primitive.name)
            if "jaxpr" in eqn.params:
                inner = eqn.params["jaxpr"]
                visit(getattr(inner, "jaxpr", inner))

    visit(ev.make_jaxpr(fun)(*args).jaxpr)
    return found


# ---------------------------------------------------------------- dce_sink


def sunk(x, **options):
    """Return something that the sine does not reach."""
    lax.dce_sink({"sine": lax.sin(x)}, **options)
    return x * 2


@pytest.mark.parametrize(
    ("fun", "sinks"),
    [
        (sunk, 1),
        (ev.jit(sunk), 1),
        (lambda x: ev.jvp(sunk, (x,), (x,)), 2),
        (ev.grad(lambda x: sunk(x).sum()), 1),
        (ev.vmap(sunk), 0),
        (lambda x: lax.scan(lambda c, y: (c, sunk(y)), 0.0, x), 1),
    ],
)
def test_a_sink_stays_as_in_jax(fun, sinks):
    assert names(fun, X).count("dce_sink") == sinks


@pytest.mark.engine
@pytest.mark.parametrize("prevented", [False, True])
def test_xla_keeps_what_it_is_asked_to_keep(prevented):
    compiled = ev.jit(lambda x: sunk(x, prevent_mlir_dce=prevented)).lower(X).compile()
    assert ("sine" in compiled.as_text()) is prevented
    np.testing.assert_array_equal(compiled(X), X * 2)


def test_a_sink_returns_nothing():
    assert lax.dce_sink((1.0, X)) is None


# ---------------------------------------------------------------- rng_uniform


@pytest.mark.parametrize("dtype", ["int8", "uint32", "bfloat16", "float32"])
@pytest.mark.parametrize("how", ["eager", pytest.param("jit", marks=pytest.mark.engine)])
def test_numbers_are_spread_between_the_bounds(dtype, how):
    def draw(a, b):
        return lax.rng_uniform(a, b, (4000,))

    run = ev.jit(draw) if how == "jit" else draw
    a, b = enp.array(2, dtype), enp.array(6, dtype)
    first, second = (np.asarray(run(a, b), np.float64) for _ in range(2))
    assert first.min() >= 2
    assert first.max() <= 6
    # Six standard deviations of the mean are at most 0.12.
    np.testing.assert_allclose(first.mean(), 3.5 if "int" in dtype else 4.0, atol=0.12)
    assert (first != second).any()


@pytest.mark.parametrize(
    ("error", "bounds", "text"),
    [
        (ShapeError, (X, np.float32(1)), "rng_uniform: the bounds must be scalars"),
        (DTypeError, (0, 1.0), "rng_uniform: operands must have the same dtype"),
        (DTypeError, (False, True), "rng_uniform: does not accept dtype bool"),
        (DTypeError, (0j, 1j), "rng_uniform: does not accept dtype complex64"),
        (DTypeError, (np.int8(0), np.int8(1)), "rng_uniform: XLA does not draw"),
    ],
)
def test_bounds_that_cannot_be_drawn_between(error, bounds, text):
    if "XLA" in text:
        bounds = [enp.array(x, "int4") for x in bounds]
    with pytest.raises(error, match=text):
        lax.rng_uniform(*bounds, (2,))


def test_a_draw_has_no_derivative():
    with pytest.raises(NotImplementedError, match="hidden generator"):
        ev.grad(lambda a: lax.rng_uniform(a, 2.0, ()))(1.0)
    with pytest.raises(NotImplementedError, match="scalar bounds"):
        ev.vmap(lambda a: lax.rng_uniform(a, 9.0, ()))(X)


def test_a_size_must_not_be_negative():
    with pytest.raises(ShapeError, match="rng_uniform: shape"):
        lax.rng_uniform(0.0, 1.0, (-1,))


# ---------------------------------------------------------------- with_sharding_constraint


def test_jaxprs_show_constraints():
    here = ev.sharding.SingleDeviceSharding(ev.devices()[0])

    def f(x):
        return lax.with_sharding_constraint(x, here)

    (eqn,) = ev.make_jaxpr(f)(X).eqns
    assert eqn.primitive is lax.sharding_constraint_p
    assert eqn.params["sharding"] == here
    assert names(ev.grad(lambda x: f(x).sum()), X).count("sharding_constraint") == 2
    eqn = ev.make_jaxpr(ev.vmap(ev.vmap(f), in_axes=1))(enp.ones((2, 3, 4))).eqns[0]
    assert eqn.params["unconstrained_dims"] == {0, 1}


@pytest.mark.parametrize("dims", [{2}, {-1}, (((0,), (0,)),)], ids=str)
def test_constraints_leave_dimensions_open_that_are_there(dims):
    bind = lax.sharding_constraint_p.bind
    mesh = ev.make_mesh((1,), ("x",))
    over = ev.NamedSharding(mesh, ev.sharding.PartitionSpec("x"))
    with pytest.raises(ShapeError, match=r"unconstrained_dims .* shape \(2, 3\)"):
        bind(enp.ones((2, 3)), sharding=over, unconstrained_dims=dims)
    with pytest.raises(ShapeError, match=r"unconstrained_dims .* shape \(2, 3\)"):
        ev.make_jaxpr(lambda x: bind(x, sharding=over, unconstrained_dims=dims))(enp.ones((2, 3)))


def test_constraints_are_for_keys_too():
    here = ev.sharding.SingleDeviceSharding(ev.devices()[0])
    key = ev.random.key(1)
    kept = ev.jit(lambda k: lax.with_sharding_constraint(k, here))(key)
    np.testing.assert_array_equal(ev.random.key_data(kept), ev.random.key_data(key))


# ---------------------------------------------------------------- allow_f16_reductions


def narrow_sum(x):
    """Sum in the dtype of the operand."""
    return lax.reduce_sum(x, (0,))


def spread_first(x):
    """Have a derivative that sums in 16 bits."""
    return (lax.broadcast(x, (3,))).astype("float32").sum()


@pytest.mark.parametrize(
    "fun", [narrow_sum, ev.jit(narrow_sum), ev.grad(spread_first), ev.jit(ev.grad(spread_first))]
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_sums_are_refused_on_request(fun, dtype):
    x = enp.ones(3 if fun in (narrow_sum,) or "narrow" in repr(fun) else (), dtype)
    assert fun(x) == 3  # so that the type is known by now
    with ev.allow_f16_reductions(False), pytest.raises(ValueError, match="summed in 16 bits"):
        fun(x)
    assert fun(x) == 3


def test_other_sums_are_not():
    with ev.allow_f16_reductions(False):
        assert enp.ones(3, "bfloat16").sum() == 3  # in 32 bits
        assert narrow_sum(np.ones(3, np.int16)) == 3
        assert enp.ones(3, "bfloat16").max() == 1


# ---------------------------------------------------------------- the rest


@pytest.mark.parametrize(
    ("shape", "index", "axis", "text"),
    [
        ((3,), 5, 0, "index 5 is out of range for dimension 0 of size 3.*from -3 to 2"),
        ((2, 3), -4, -1, "index -4 is out of range for dimension 1 of size 3"),
        ((0,), 0, 0, "index 0 is out of range for dimension 0 of size 0"),
    ],
)
def test_an_index_that_is_not_there_is_named(shape, index, axis, text):
    with pytest.raises(IndexError, match=f"(?s)index_in_dim: {text}"):
        lax.index_in_dim(enp.ones(shape), index, axis)


def test_vmap_takes_what_it_has_no_use_for():
    np.testing.assert_array_equal(ev.vmap(lambda x: 2 * x, sum_match=True)(X), 2 * X)
