"""`experimental.rnn`: JAX's `lstm_ref` and the layout of its weights."""

from tests.oracle.cases_experimental import using

SIZES = ("2, 3, 1, False", "2, 3, 1, True", "2, 3, 2, True", "4, 1, 3, False")
LENGTHS = ("[4, 4]", "[4, 2]", "[1, 3]", "[0, 4]")


def _ref(sizes, lengths):
    """Write the call of `lstm_ref` on fixed numbers."""
    size, hidden, layers, both = sizes.split(", ")
    rows = int(layers) * (2 if both == "True" else 1)
    state = f"jnp.cos(jnp.arange({rows * 2 * int(hidden)}.).reshape({rows}, 2, {hidden}))"
    x = f"jnp.sin(jnp.arange({2 * 4 * int(size)}.).reshape(2, 4, {size}))"
    weights = f"jnp.sin(jnp.arange(float(m.get_num_params_in_lstm({sizes}))) * 7)"
    parts = f"*m.unpack_lstm_weights({weights}, {sizes})"
    return (
        f"m.lstm_ref({x}, {state}, -{state}, {parts}, seq_lengths=jnp.array({lengths}), "
        f"input_size={size}, hidden_size={hidden}, num_layers={layers}, dropout=0.0, "
        f"bidirectional={both})"
    )


def _texts():
    for sizes in SIZES:
        count = f"m.get_num_params_in_lstm({sizes})"
        yield count
        yield f"m.init_lstm_weight(ev.random.key(3), {sizes})"
        yield f"m.swap_lstm_gates(jnp.arange({count}), {sizes})"
        yield f"m.unpack_lstm_weights(jnp.arange({count}), {sizes})"
        for lengths in LENGTHS:
            yield _ref(sizes, lengths)
    call = _ref(SIZES[2], LENGTHS[1])
    yield call.replace("dropout=0.0", "dropout=0.5")
    total = f"lambda s: sum(a.sum() for a in {call.replace('jnp.cos(', 's * jnp.cos(')})"
    yield f"ev.grad({total})(jnp.float32(0.5))"


CASES = [using("rnn", text, tolerance=64.0) for text in _texts()]

DIFFERENCES = {
    str(case): "a sequence of length 0 leaves the state as it is; JAX's reads its last padding"
    for case in CASES
    if LENGTHS[3] in str(case)
}
