"""Long short-term memory: against a loop in NumPy, and what lengths and directions mean."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import random
from evertrace.experimental import rnn
from tests.support.gradcheck import check_grads

SIZES = {"one layer": (2, 3, 1, False), "both directions": (2, 3, 1, True), "two": (2, 3, 2, True)}
LENGTHS = [4, 2]


def _arguments(sizes, dtype=np.float32):
    size, hidden, layers, both = sizes
    rng = np.random.default_rng(0)
    shape = (layers * (1 + both), 2, hidden)
    arrays = rng.normal(size=(2, 4, size)), rng.normal(size=shape), rng.normal(size=shape)
    weights = rng.normal(size=rnn.get_num_params_in_lstm(*sizes))
    return [x.astype(dtype) for x in (*arrays, weights)]


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _one_by_one(x, h_0, c_0, weights, sizes):
    """Run each sequence alone, step by step."""
    _, hidden, layers, both = sizes
    parts = rnn.unpack_lstm_weights(weights, *sizes)
    directions = 1 + both
    y = np.zeros((*x.shape[:2], hidden * directions))
    h_n, c_n = h_0.copy(), c_0.copy()
    for b, length in enumerate(LENGTHS):
        given = x[b, :length]
        for layer in range(layers):
            outs = np.zeros((length, directions * hidden))
            for d in range(directions):
                k = layer * directions + d
                W_ih, W_hh, b_ih, b_hh = (np.asarray(part[k]) for part in parts)
                h, c = h_0[k, b], c_0[k, b]
                for t in range(length)[:: -1 if d else 1]:
                    i, f, g, o = np.split(W_ih @ given[t] + b_ih + W_hh @ h + b_hh, 4)
                    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
                    h = _sigmoid(o) * np.tanh(c)
                    outs[t, d * hidden : (d + 1) * hidden] = h
                h_n[k, b], c_n[k, b] = h, c
            given = outs
        y[b, :length] = given
    return y, h_n, c_n


@pytest.mark.parametrize("name", SIZES)
def test_values(name):
    sizes = SIZES[name]
    x, h, c, weights = _arguments(sizes)
    found = rnn.lstm(x, h, c, weights, jnp.array(LENGTHS), *sizes[:3], 0.0, sizes[3])
    for have, want in zip(found, _one_by_one(x, h, c, weights, sizes), strict=True):
        np.testing.assert_allclose(have, want, rtol=2e-5, atol=2e-6)


def test_what_is_after_the_end_does_not_count():
    sizes = SIZES["two"]
    x, h, c, weights = _arguments(sizes)
    lengths = jnp.array(LENGTHS)
    changed = x.copy()
    changed[1, 2:] = 100.0
    one, other = (
        rnn.lstm(a, h, c, weights, lengths, *sizes[:3], 0.0, sizes[3]) for a in (x, changed)
    )
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one[0][1, 2:], 0)


def test_reference_takes_the_parts_of_the_weights():
    sizes = SIZES["two"]
    x, h, c, weights = _arguments(sizes)
    lengths = jnp.array(LENGTHS)
    parts = rnn.unpack_lstm_weights(jnp.asarray(weights), *sizes)
    want = rnn.lstm(x, h, c, weights, lengths, *sizes[:3], 0.0, sizes[3])
    found = rnn.lstm_ref(x, h, c, *parts, lengths, *sizes[:3], 0.0, sizes[3])
    for a, b in zip(found, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_gradients_jit_and_vmap():
    sizes = SIZES["both directions"]
    with ev.enable_x64():
        args = [jnp.asarray(x) for x in _arguments(sizes, np.float64)]

        def fun(*xs):
            return rnn.lstm(*xs, jnp.array(LENGTHS), *sizes[:3], 0.0, sizes[3])

        check_grads(fun, args, order=1)
        for a, b in zip(ev.jit(fun)(*args), fun(*args), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        batch = jnp.stack([args[3], args[3] / 2])
        y = ev.vmap(lambda w: fun(*args[:3], w)[0])(batch)
        np.testing.assert_allclose(y[1], fun(*args[:3], batch[1])[0], rtol=1e-12)


def test_gates_swap_back():
    sizes = SIZES["two"]
    weights = rnn.init_lstm_weight(random.key(0), *sizes)
    swapped = rnn.swap_lstm_gates(weights, *sizes)
    assert (swapped != weights).any()
    np.testing.assert_array_equal(rnn.swap_lstm_gates(swapped, *sizes), weights)
    assert abs(weights).max() <= 3**-0.5


def test_usual_mistakes():
    x, h, c, weights = _arguments(SIZES["two"])
    lengths = jnp.array(LENGTHS)
    with pytest.raises(ValueError, match=r"weights of shape \(431,\) are not \(432,\)"):
        rnn.lstm(x, h, c, weights[1:], lengths, 2, 3, 2, 0.0, True)
    with pytest.raises(NotImplementedError, match=r"dropout is 0\.5, and there is no key"):
        rnn.lstm(x, h, c, weights, lengths, 2, 3, 2, 0.5, True)


def test_what_passes_between_the_halves():
    sizes = SIZES["both directions"]
    arguments = [*_arguments(sizes), np.array(LENGTHS)]
    options = (*sizes[:3], 0.0, sizes[3], None)

    def run(*arrays):
        return rnn.lstm(*arrays, arguments[-1], *options)

    out, residuals = rnn.lstm_fwd(*arguments, *options)
    expected, pullback = ev.vjp(run, *map(jnp.asarray, arguments[:4]))
    cts = ev.tree.map(jnp.cos, out)
    *found, of_lengths = rnn.lstm_bwd(*options, residuals, cts)
    for have, want in zip([*out, *found], [*expected, *pullback(cts)], strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)
    assert of_lengths.tolist() == [0, 0]
    eqns = ev.make_jaxpr(run)(*arguments[:4]).eqns
    assert [eqn.primitive for eqn in eqns if eqn.primitive.name.startswith("rnn")] == [
        rnn.rnn_fwd_p
    ]


def test_types_without_values():
    sizes = SIZES["both directions"]
    avals = [ev.typeof(jnp.asarray(x)) for x in (*_arguments(sizes), np.array(LENGTHS))]
    options = (*sizes[:3], 0.0, sizes[3], True)
    found = rnn.rnn_abstract_eval(*avals, *options)
    assert [x.shape for x in found] == [(2, 4, 6), (2, 2, 3), (2, 2, 3), (0,)]
    back = rnn.rnn_bwd_abstract_eval(*found[:3], *avals[:4], found[0], found[3], avals[4], *options)
    assert list(back) == avals[:4]
