"""Composites, functions by platform, scaled and local products, and what returns its argument."""

import numpy as np
import pytest

import evertrace as ev
from evertrace import lax
from evertrace import numpy as enp
from evertrace.errors import ShapeError

X = np.arange(1.0, 5.0, dtype=np.float32)

# ---------------------------------------------------------------- composites

tangent = lax.composite(lambda x: lax.sin(x) / lax.cos(x), "my.tangent", version=2)


def scaled(x, *, factor, label="a", table=()):
    """Multiply by an attribute."""
    return {"out": x * factor}


@pytest.mark.engine
def test_a_composite_is_in_the_program_by_its_name():
    text = ev.jit(tangent).lower(X).as_text()
    assert 'stablehlo.composite "my.tangent"' in text
    assert "version = 2" in text
    np.testing.assert_allclose(ev.jit(tangent)(X), np.tan(X), rtol=1e-5)
    np.testing.assert_allclose(tangent(X), np.tan(X), rtol=1e-5)


@pytest.mark.engine
def test_attributes_are_written_into_the_program():
    made = lax.composite(scaled, "my.scale")
    attributes = {"factor": 2.5, "label": 'a "b"', "table": np.arange(2, dtype=np.int32)}
    program = ev.jit(lambda x: made(x, **attributes))
    text = program.lower(X).as_text()
    for part in ("factor = 2.5", r"a \22b\22", "dense<[0, 1]> : tensor<2xi32>"):
        assert part in text
    np.testing.assert_array_equal(program(X)["out"], X * np.float32(2.5))


def test_transformations_see_the_decomposition():
    np.testing.assert_allclose(
        ev.grad(lambda x: tangent(x).sum())(X), 1 / np.cos(X) ** 2, rtol=1e-4
    )
    np.testing.assert_allclose(ev.vmap(tangent)(X), np.tan(X), rtol=1e-5)
    assert "composite" not in str(ev.make_jaxpr(ev.vmap(tangent))(X))


def test_a_decomposition_may_use_values_from_outside():
    def f(x, y):
        return lax.composite(lambda x: x * y, "my.product")(x)

    np.testing.assert_allclose(ev.grad(f, argnums=1)(3.0, 4.0), 3.0)


# ---------------------------------------------------------------- platforms


def choose(x):
    """Return something else on each platform."""
    return lax.platform_dependent(
        x, cpu=lambda x: 2 * x, cuda=lambda x: 3 * x, default=lambda x: -x
    )


@pytest.mark.engine
def test_the_platform_chooses():
    for run in (choose, ev.jit(choose), ev.vmap(choose)):
        np.testing.assert_array_equal(run(X), 2 * X)
    np.testing.assert_array_equal(ev.grad(lambda x: choose(x).sum())(X), np.full(4, 2.0))
    other = ev.jit(lambda x: lax.platform_dependent(x, tpu=lambda x: x, default=lambda x: -x))
    np.testing.assert_array_equal(other(X), -X)


# ---------------------------------------------------------------- products


def test_blocks_are_scaled():
    x, y = np.ones((2, 4), np.float32), np.ones((4, 3), np.float32)
    found = lax.scaled_dot(
        x,
        y,
        lhs_scale=np.array([[1, 2], [3, 4]], np.float32),
        rhs_scale=np.full((4, 3), 0.5, np.float32),
        preferred_element_type=np.float32,
    )
    np.testing.assert_array_equal(found, np.repeat([[3.0], [7.0]], 3, axis=1))


def test_each_place_has_its_kernel():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 6)).astype(np.float32)
    kernels = rng.standard_normal((4, 6, 5)).astype(np.float32)
    found = lax.conv_general_dilated_local(x, kernels, (1,), "VALID", (2,))
    expected = np.stack(
        [
            np.einsum("ni,oi->no", x[:, :, p : p + 2].reshape(2, 6), kernels[:, :, p])
            for p in range(5)
        ],
        axis=-1,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_cotangents_are_summed_in_the_dtype_of_their_operand():
    ones = np.ones((1, 300), np.float32)

    def f(x):
        numbers = (((0,), (0,)), ((), ()))
        return lax.dot_general(x, ones, numbers, preferred_element_type="bfloat16").sum()

    np.testing.assert_array_equal(ev.grad(f)(np.ones((1, 2), np.float32)), np.full((1, 2), 300.0))


# ---------------------------------------------------------------- narrow integers

NARROW = ("int2", "uint2", "int4", "uint4")
WRAPPING = {
    "neg": lambda x, y: -x,
    "not": lambda x, y: ~x,
    "shift_left": lambda x, y: x << 1,
    "sum": lambda x, y: x + y,
    "product": lambda x, y: x * y,
}


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", WRAPPING)
@pytest.mark.engine
def test_narrow_integers_wrap_around(name, dtype):
    fun, width = WRAPPING[name], int(dtype[-1])
    low = 0 if dtype.startswith("u") else -(2 ** (width - 1))
    values = np.arange(low, low + 2**width)
    x, y = (grid.reshape(-1) for grid in np.meshgrid(values, values))
    expected = (fun(x, y) - low) % 2**width + low
    operands = [enp.asarray(v).astype(dtype) for v in (x, y)]
    for run in (fun, ev.jit(fun)):
        np.testing.assert_array_equal(np.asarray(run(*operands)).astype(int), expected)


# ---------------------------------------------------------------- errors

WRONG = {
    "no decomposition": (lambda: lax.composite(3, "my.number"), TypeError, "got int"),
    "traced attribute": (
        lambda: ev.vmap(lambda k: lax.composite(scaled, "my.scale")(1.0, factor=k))(X),
        TypeError, "'factor' of 'my.scale' is a traced value",
    ),
    "no platform": (
        lambda: lax.platform_dependent(X, tpu=lambda x: x), NotImplementedError, "only for 'tpu'",
    ),
    "no function": (lambda: lax.platform_dependent(X), TypeError, "no function"),
    "scale": (
        lambda: lax.scaled_dot(X[None], X[:, None], lhs_scale=X[None, :3]), ShapeError, "lhs_scale",
    ),
    "like": (lambda: lax.broadcast_like(X, X[None, :3]), ShapeError, r"\(4,\) does not"),
    "stage": (lambda: lax.stage("a"), TypeError, "stage: str"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_what_is_wrong(name):
    wrong, cls, message = WRONG[name]
    with pytest.raises(cls, match=message):
        wrong()
