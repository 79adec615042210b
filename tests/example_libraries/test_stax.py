"""Layers: a network that learns, what agrees with NumPy, keys that are split, and errors."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import random
from evertrace.example_libraries import optimizers, stax
from tests.support.gradcheck import check_grads

KEY = random.key(0)


@pytest.mark.usefixtures("rules")
def test_a_network_learns_exclusive_or():
    init, predict = stax.serial(stax.Dense(8), stax.Tanh, stax.Dense(2), stax.LogSoftmax)
    inputs = jnp.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    labels = ev.nn.one_hot(jnp.array([0, 1, 1, 0]), 2)
    opt = optimizers.adam(0.05)
    shape, params = init(KEY, (-1, 2))
    assert shape == (-1, 2)

    def loss(params):
        return -jnp.mean(jnp.sum(predict(params, inputs) * labels, axis=1))

    @ev.jit
    def step(i, state):
        return opt.update_fn(i, ev.grad(loss)(opt.params_fn(state)), state)

    state = opt.init_fn(params)
    before = loss(params)
    for i in range(100):
        state = step(i, state)
    trained = opt.params_fn(state)
    assert loss(trained) < 0.05 < 0.5 < before
    np.testing.assert_array_equal(predict(trained, inputs).argmax(1), [0, 1, 1, 0])


LAYERS = {
    "dense": (stax.Dense(3), (2, 4)),
    "convolution": (stax.Conv(3, (2, 2), (2, 1), "SAME"), (2, 5, 4, 1)),
    "transposed": (stax.ConvTranspose(3, (2, 2), (2, 1)), (2, 3, 4, 1)),
    "batch": (stax.BatchNorm((0, 1)), (3, 4, 2)),
    "largest": (stax.MaxPool((2, 2), (2, 2)), (2, 4, 4, 1)),
    "sums": (stax.SumPool((2, 2), padding="SAME"), (2, 4, 4, 1)),
    "means": (stax.AvgPool((2, 2), (2, 2), "SAME"), (2, 5, 4, 1)),
    "flat": (stax.Flatten, (2, 3, 2)),
    "branches": (
        stax.serial(
            stax.FanOut(2), stax.parallel(stax.Dense(2), stax.Identity), stax.FanInConcat()
        ),
        (2, 3),
    ),
    "by shape": (stax.shape_dependent(lambda shape: stax.Dense(shape[-1] + 1)), (2, 3)),
}


def drawn(shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.usefixtures("rules")
def test_layers_have_the_shape_they_tell_and_compile_to_the_same(name):
    (init, apply), shape = LAYERS[name]
    told, params = init(KEY, shape)
    out = apply(params, drawn(shape))
    assert out.shape == told
    np.testing.assert_allclose(ev.jit(apply)(params, drawn(shape)), out, rtol=1e-5, atol=1e-5)
    unknown, again = init(KEY, (-1, *shape[1:]))
    assert unknown == (-1, *told[1:])
    for x, y in zip(ev.tree.leaves(again), ev.tree.leaves(params), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_have_the_derivatives_of_differences(name):
    (init, apply), shape = LAYERS[name]
    with ev.enable_x64():
        _, params = init(KEY, shape)
        leaves, treedef = ev.tree.flatten((params, drawn(shape).astype(np.float64)))
        check_grads(lambda *leaves: apply(*treedef.unflatten(leaves)), leaves, order=1)


def test_pools_by_hand():
    x = np.array([1.0, 5.0, 2.0, 4.0], np.float32)[None, :, None]
    expected = {
        stax.MaxPool: [5, 5, 4, 4],
        stax.SumPool: [6, 7, 6, 4],
        stax.AvgPool: [3, 3.5, 3, 4],
    }
    for pool, want in expected.items():
        np.testing.assert_array_equal(pool((2,), padding="SAME")[1]((), x)[0, :, 0], want)


def test_batches_are_normalised_over_negative_axes_too():
    x = drawn((3, 4, 2))
    init, apply = stax.BatchNorm(axis=(0, -1), epsilon=0.0)
    _, (beta, gamma) = init(KEY, x.shape)
    assert beta.shape == gamma.shape == (4,)
    want = (x - x.mean((0, 2), keepdims=True)) / x.std((0, 2), keepdims=True)
    np.testing.assert_allclose(apply((beta, 2 * gamma), x), 2 * want, atol=1e-5)


def test_dropped_elements_are_made_up_for():
    _, apply = stax.Dropout(0.25)
    out = np.asarray(apply((), jnp.ones(10_000), rng=KEY))
    assert set(out.tolist()) == {0.0, 4.0}
    assert abs(out.mean() - 1) < 0.05


def test_layers_side_by_side_drop_different_elements():
    _, apply = stax.parallel(stax.Dropout(0.5), stax.Dropout(0.5))
    first, second = apply(((), ()), [jnp.ones(64)] * 2, rng=KEY)
    assert (first != second).any()


def test_without_training_nothing_is_dropped_and_no_key_needed():
    np.testing.assert_array_equal(stax.Dropout(0.5, mode="test")[1]((), jnp.ones(3)), 1)


IMAGES = jnp.ones((1, 4, 4, 1))
ERRORS = {
    "no key": (
        lambda: stax.serial(stax.Dropout(0.5))[1]([()], jnp.ones(3)),
        ValueError,
        r"Dropout: apply_fun needs a key(.*\n)+  Fix: call apply_fun\(params, inputs, rng=key\)",
    ),
    "a window of another rank": (
        lambda: stax.MaxPool((2,), padding="SAME")[1]((), IMAGES),
        ev.errors.ShapeError,
        r"window \(2,\), strides \(1,\) and layout 'N.C' do not fit .* \(1, 4, 4, 1\)",
    ),
    "a kernel of another rank": (
        lambda: stax.Conv(2, (3,)),
        ev.errors.ShapeError,
        r"a kernel HWIO has 2 dimensions in space, got filter_shape \(3,\)",
    ),
    "too few inputs": (
        lambda: stax.parallel(stax.Relu, stax.Relu)[1](((), ()), [IMAGES]),
        ValueError,
        "parallel: got 1 inputs for 2 layers",
    ),
    "a layer that was not made": (
        lambda: stax.serial(stax.Dense(3), stax.MaxPool),
        TypeError,
        r"serial: layer 1 must be a pair (.*\n)+  Fix: call what makes the layer",
    ),
    "an axis that is not there": (
        lambda: stax.BatchNorm()[0](KEY, (2, 3)),
        ev.errors.AxisError,
        "BatchNorm: axis 2 is out of bounds for array of dimension 2",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_mistakes_are_explained(name):
    call, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        call()
