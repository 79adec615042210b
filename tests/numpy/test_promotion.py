"""How arguments become operands: dtypes, weak types, shapes, and what is refused."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src import config
from evertrace._src.core.jaxpr import Literal
from evertrace._src.numpy import promotion

DTYPES = ["bool", "int8", "int32", "uint8", "uint32", "bfloat16", "float16", "float32", "complex64"]


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", DTYPES)
def test_the_common_dtype_is_that_of_the_lattice(left, right):
    x, y = jnp.ones(2, left), jnp.ones(2, right)
    a, b = promotion.promote("f", x, y)
    assert a.dtype == b.dtype == jnp.result_type(x, y)


@pytest.mark.parametrize(
    ("dtype", "scalar", "expected", "weak"),
    [
        ("float16", 1, "float16", False),
        ("float16", 2.5, "float16", False),
        ("int8", 1, "int8", False),
        ("int8", 2.5, "float32", True),
        ("int32", 2j, "complex64", True),
        ("float32", 2j, "complex64", False),
        ("bool", 1, "int32", True),
        ("bool", True, "bool", False),
    ],
)
def test_python_scalars_give_way_to_arrays(dtype, scalar, expected, weak):
    for out in (
        jnp.maximum(jnp.ones(2, dtype), scalar) if scalar != 2j else None,
        jnp.multiply(jnp.ones(2, dtype), scalar),
    ):
        if out is not None:
            assert (out.dtype, out.weak_type) == (np.dtype(expected), weak)


def test_python_scalars_become_literals():
    x = jnp.ones(3)
    operands = promotion.promote("f", x, 2)
    assert operands[0] is x
    assert type(operands[1]) is Literal
    assert operands[1].val == np.float32(2)


@pytest.mark.parametrize(("value", "expected"), [(1000, -24), (-1, -1), (2**31 - 1, -1)])
def test_integers_of_the_default_width_wrap_around(value, expected):
    assert int(jnp.int8(0) + value) == expected


def test_integers_beyond_the_default_width_do_not_fit():
    with pytest.raises(OverflowError):
        jnp.arange(3) + 2**40
    assert int(jnp.uint32(0) + 3_000_000_000) == 3_000_000_000


def test_operands_of_equal_avals_need_no_equation():
    x = jnp.ones((2, 3))
    eqns = ev.make_jaxpr(lambda x: x + x)(x).eqns
    assert [e.primitive.name for e in eqns] == ["add"]


@pytest.mark.parametrize(
    ("left", "right"), [((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 1, 4), (3, 1)), ((0, 3), (1, 3))]
)
def test_shapes_broadcast_as_in_numpy(left, right):
    a, b = np.ones(left, np.float32), np.full(right, 2, np.float32)
    np.testing.assert_array_equal(jnp.asarray(a) + jnp.asarray(b), a + b)


def test_rank_0_stays_rank_0_beside_arrays():
    eqns = ev.make_jaxpr(lambda x, s: x * s)(jnp.ones((2, 3)), jnp.float32(2)).eqns
    assert [e.primitive.name for e in eqns] == ["mul"]


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(ev.errors.ShapeError, match=r"add: shapes \(3, 4\) and \(3,\)"):
        jnp.ones((3, 4)) + jnp.ones(3)


@pytest.mark.parametrize("bad", [None, [1, 2], (1,), "a", object(), {}])
def test_what_is_no_array_is_refused(bad):
    with pytest.raises(TypeError, match="add requires ndarray or scalar arguments"):
        jnp.add(jnp.ones(2), bad)


def test_numpy_strings_are_refused():
    with pytest.raises(TypeError, match="is not an array type"):
        jnp.add(jnp.ones(2), np.array(["a", "b"]))


@pytest.mark.parametrize("function", [jnp.positive, jnp.floor, jnp.abs, jnp.real, jnp.trunc])
def test_results_never_share_memory_with_numpy_arguments(function):
    given = np.array([1, 2], np.uint8)
    out = function(given)
    given[0] = 100
    assert int(out[0]) == 1


def test_objects_with_a_jax_array_method_are_arrays():
    class Wrapped:
        def __jax_array__(self):
            return jnp.arange(3)

    np.testing.assert_array_equal(jnp.add(Wrapped(), 1), [1, 2, 3])
    np.testing.assert_array_equal(jnp.arange(3) * Wrapped(), [0, 1, 4])


def test_the_mode_is_part_of_a_plan():
    x = jnp.int32(1)
    assert (x + 1.5).dtype == np.float32
    with ev.enable_x64():
        assert (x + 1.5).dtype == np.float64
    with ev.numpy_dtype_promotion("strict"), pytest.raises(ev.errors.TypePromotionError):
        x + jnp.float32(1)
    assert (x + jnp.float32(1)).dtype == np.float32


def test_rank_promotion_can_be_forbidden():
    x, y = jnp.ones((2, 3)), jnp.ones(3)
    with ev.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="different ranks"):
        x + y
    for _ in range(2):
        with ev.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="different ranks"):
            jnp.add(x, y)
    assert config.current().promotion[2] == "allow"
    assert (x + y).shape == (2, 3)


@pytest.mark.parametrize(
    "truth",
    [
        lambda z: z.astype(bool),
        lambda z: jnp.logical_not(jnp.logical_not(z)),
        lambda z: jnp.logical_and(z, True),
        lambda z: jnp.where(z, True, False),
        lambda z: jnp.array([x.any() for x in z]),
    ],
)
@pytest.mark.parametrize("engine", ["eager", "auto", "xla"])
def test_a_complex_number_is_true_if_either_part_is(truth, engine):
    z = jnp.array([0, 1j, 1, 1 + 1j, complex("nanj"), -0.0])
    f = truth if engine == "eager" else ev.jit(truth, engine=engine)
    assert f(z).tolist() == np.asarray(z).astype(bool).tolist()


def test_lax_drops_the_imaginary_part_before_it_asks():
    z = jnp.array([0, 1j, 1])
    assert lax.convert_element_type(z, bool).tolist() == [False, False, True]
