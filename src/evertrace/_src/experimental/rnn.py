"""Long short-term memory: recurrent layers with weights laid out as cuDNN has them.

One implementation, a scan per layer and direction, serves every platform. With the weights of a
layer in four blocks of rows, for the gates ``i, f, g, o``::

    i, f, g, o = split(W_ih @ x + b_ih + W_hh @ h + b_hh)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)

Source: Hochreiter, Schmidhuber, Long short-term memory, Neural Computation 9 (8), 1997; with
forget gates by Gers, Schmidhuber, Cummins, Neural Computation 12 (10), 2000.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evertrace._src import errors
from evertrace._src.api.autodiff import vjp
from evertrace._src.api.formula import formula
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.lax.loops import scan
from evertrace._src.nn.activations import sigmoid
from evertrace._src.numpy import ufuncs
from evertrace._src.numpy.arguments import static_int
from evertrace._src.numpy.creation import arange, zeros, zeros_like
from evertrace._src.numpy.elementary import where
from evertrace._src.numpy.joining import concatenate, split, stack
from evertrace._src.numpy.products import matmul
from evertrace._src.numpy.promotion import aligned
from evertrace._src.numpy.shape import swapaxes
from evertrace._src.numpy.ufuncs import tanh
from evertrace._src.random.continuous import uniform
from evertrace._src.support import set_module

public = set_module("evertrace.experimental.rnn")


def _shapes(input_size, hidden_size, num_layers, bidirectional):
    """Return the shapes of the parts of the weights in their order, as a list of two groups.

    Each group has a pair per layer and direction: matrices ``W_ih, W_hh``, or biases
    ``b_ih, b_hh``.
    """
    directions = 2 if bidirectional else 1
    gates = 4 * hidden_size
    sizes = [input_size if i == 0 else hidden_size * directions for i in range(num_layers)]
    sizes = [size for size in sizes for _ in range(directions)]
    matrices = [((gates, size), (gates, hidden_size)) for size in sizes]
    return [matrices, [((gates,), (gates,)) for _ in sizes]]


def _parts(weights, *sizes):
    """Return the parts of flat weights, in the groups and pairs of `_shapes`."""
    total = get_num_params_in_lstm(*sizes)
    if weights.shape != (total,):
        raise errors.user_error(
            ValueError,
            f"lstm: weights of shape {weights.shape} are not ({total},).",
            fix="make them with `init_lstm_weight` for the same sizes.",
            anchor="shape",
        )
    start = 0

    def take(shape):
        nonlocal start
        first, start = start, start + math.prod(shape)
        return weights[first:start].reshape(shape)

    return [[[take(shape) for shape in pair] for pair in group] for group in _shapes(*sizes)]


@public
def get_num_params_in_lstm(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> int:
    """Return the number of weights, biases included.

    Args:
      input_size: features of the input.
      hidden_size: features of the state.
      num_layers: layers, each on the outputs of the one before.
      bidirectional: whether each layer reads the sequence in both directions.

    Example:
      >>> from evertrace.experimental import rnn
      >>> rnn.get_num_params_in_lstm(2, 3, 1, bidirectional=False)
      84
    """
    layers = static_int("get_num_params_in_lstm", "num_layers", num_layers)
    # All layers but the first are alike, and there may be any number of them.
    first, both = (
        sum(math.prod(shape) for group in groups for pair in group for shape in pair)
        for groups in (_shapes(input_size, hidden_size, n, bidirectional) for n in (1, 2))
    )
    return first + (layers - 1) * (both - first) if layers > 0 else 0


@public
def init_lstm_weight(
    rng: Any, input_size: Any, hidden_size: Any, num_layers: Any, bidirectional: Any
) -> Array:
    """Return random weights, uniform between plus and minus ``1 / sqrt(hidden_size)``.

    Args:
      rng: a key.
      input_size: features of the input.
      hidden_size: features of the state.
      num_layers: layers, each on the outputs of the one before.
      bidirectional: whether each layer reads the sequence in both directions.

    Returns:
      float32 ``[n]``.

    Example:
      >>> from evertrace.experimental import rnn
      >>> rnn.init_lstm_weight(random.key(0), 2, 3, 1, False).shape
      (84,)
    """
    n = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    bound = math.sqrt(1 / hidden_size)
    return uniform(rng, (n,), np.float32, minval=-bound, maxval=bound)


@public
def unpack_lstm_weights(
    weights: Any, input_size: Any, hidden_size: Any, num_layers: Any, bidirectional: Any
) -> tuple[dict[int, Any], ...]:
    """Return the matrices and biases of flat weights.

    Args:
      weights: ``[n]``: the matrices ``W_ih, W_hh`` of all layers and directions, then their
        biases ``b_ih, b_hh``.
      input_size: features of the input.
      hidden_size: features of the state.
      num_layers: layers, each on the outputs of the one before.
      bidirectional: whether each layer reads the sequence in both directions.

    Returns:
      Four dicts ``W_ih, W_hh, b_ih, b_hh``; the key counts layers and, within them, directions.

    Example:
      >>> from evertrace.experimental import rnn
      >>> W_ih, W_hh, b_ih, b_hh = rnn.unpack_lstm_weights(jnp.ones(84), 2, 3, 1, False)
      >>> W_ih[0].shape, W_hh[0].shape, b_ih[0].shape
      ((12, 2), (12, 3), (12,))
    """
    groups = _parts(weights, input_size, hidden_size, num_layers, bidirectional)
    return tuple(
        {i: pair[which] for i, pair in enumerate(group)} for group in groups for which in (0, 1)
    )


@public
def swap_lstm_gates(
    weights: Any, input_size: Any, hidden_size: Any, num_layers: Any, bidirectional: Any
) -> Array:
    """Return weights with the last two gates, ``g`` and ``o``, in each other's place.

    Args:
      weights: ``[n]``, see `unpack_lstm_weights`.
      input_size: features of the input.
      hidden_size: features of the state.
      num_layers: layers, each on the outputs of the one before.
      bidirectional: whether each layer reads the sequence in both directions.

    Example:
      >>> from evertrace.experimental import rnn
      >>> rnn.swap_lstm_gates(jnp.arange(16), 1, 1, 1, False)
      Array([ 0,  1,  3,  2,  4,  5,  7,  6,  8,  9, 11, 10, 12, 13, 15, 14],      dtype=int32)
    """
    swapped = []
    for group in _parts(weights, input_size, hidden_size, num_layers, bidirectional):
        for part in (part for pair in group for part in pair):
            i, f, g, o = split(part, 4)
            swapped += [x.ravel() for x in (i, f, o, g)]
    return concatenate(swapped)


@public
def lstm(
    x: Any,
    h_0: Any,
    c_0: Any,
    weights: Any,
    seq_lengths: Any,
    input_size: Any,
    hidden_size: Any,
    num_layers: Any,
    dropout: Any,
    bidirectional: Any,
    precision: Any = None,
) -> tuple[Array, Array, Array]:
    """Apply layers of long short-term memory to sequences.

    Args:
      x: ``[batch, time, input_size]``.
      h_0: ``[layers * directions, batch, hidden_size]``, the state at the beginning: of each
        layer, forwards and then backwards.
      c_0: likewise, the cells.
      weights: ``[n]``, see `unpack_lstm_weights`.
      seq_lengths: int ``[batch]``; outputs after the end of a sequence are zero, and the state
        stays as it is there.
      input_size: features of the input.
      hidden_size: features of the state.
      num_layers: layers, each on the outputs of the one before.
      bidirectional: whether each layer reads the sequence in both directions.
      dropout: between layers; must be 0.
      precision: of the products, as for `jax.lax.dot_general`.

    Returns:
      ``y`` ``[batch, time, hidden_size * directions]``, the outputs of the last layer, and
      ``h_n`` and ``c_n``, the states at the end, like `h_0`.

    Raises:
      NotImplementedError: for dropout.
      ValueError: `weights` have another size.

    JAX's needs a GPU and cuDNN. This one runs anywhere, and can be differentiated in both modes.

    Example:
      >>> from evertrace.experimental import rnn
      >>> weights = rnn.init_lstm_weight(random.key(0), 2, 3, 1, False)
      >>> state = jnp.zeros((1, 4, 3))
      >>> lengths = jnp.full(4, 5)
      >>> y, h, c = rnn.lstm(
      ...     jnp.ones((4, 5, 2)), state, state, weights, lengths, 2, 3, 1, 0.0, False
      ... )
      >>> y.shape, h.shape
      ((4, 5, 3), (1, 4, 3))
    """
    out, _ = lstm_fwd(
        x,
        h_0,
        c_0,
        weights,
        seq_lengths,
        input_size,
        hidden_size,
        num_layers,
        dropout,
        bidirectional,
        precision,
    )
    return out


@public
def lstm_fwd(
    x: Any,
    h_0: Any,
    c_0: Any,
    w: Any,
    seq_lengths: Any,
    input_size: Any,
    hidden_size: Any,
    num_layers: Any,
    dropout: Any,
    bidirectional: Any,
    precision: Any,
) -> Any:
    """Apply `lstm` and return what `lstm_bwd` needs.

    Args:
      x: as of `lstm`, and so are the others.
      h_0: state at the beginning.
      c_0: likewise, the cells.
      w: the weights.
      seq_lengths: of the sequences.
      input_size: features of the input.
      hidden_size: features of the state.
      num_layers: layers, each on the outputs of the one before.
      dropout: must be 0.
      bidirectional: whether each layer reads the sequence in both directions.
      precision: of the products.

    Returns:
      What `lstm` returns, and the residuals ``(x, h_0, c_0, w, seq_lengths, y, reserve)``. Nothing
      is reserved: `lstm_bwd` computes anew what it needs.

    Example:
      >>> from evertrace.experimental import rnn
      >>> state, w = jnp.zeros((1, 4, 3)), jnp.ones(84)
      >>> options = 2, 3, 1, 0.0, False, None
      >>> out, residuals = rnn.lstm_fwd(
      ...     jnp.ones((4, 5, 2)), state, state, w, jnp.full(4, 5), *options
      ... )
      >>> out[0].shape, len(residuals)
      ((4, 5, 3), 7)
    """
    operands = [as_array(a, "lstm") for a in (x, h_0, c_0, w, seq_lengths)]
    y, h_n, c_n, reserve = rnn_fwd_p.bind(
        *operands,
        input_size=input_size,
        hidden_size=hidden_size,
        num_layers=num_layers,
        dropout=dropout,
        bidirectional=bidirectional,
        precision=precision,
    )
    return (y, h_n, c_n), (*operands, y, reserve)


@public
def lstm_bwd(
    input_size: Any,
    hidden_size: Any,
    num_layers: Any,
    dropout: Any,
    bidirectional: Any,
    precision: Any,
    residuals: Any,
    gradients: Any,
) -> Any:
    """Return the gradients of `lstm`, given those by its results.

    Args:
      input_size: as of `lstm`, and so are the next ones.
      hidden_size: features of the state.
      num_layers: layers, each on the outputs of the one before.
      dropout: must be 0.
      bidirectional: whether each layer reads the sequence in both directions.
      precision: of the products.
      residuals: what `lstm_fwd` returned.
      gradients: by ``y``, ``h_n`` and ``c_n``.

    Returns:
      Gradients by ``x``, ``h_0``, ``c_0`` and ``w``, and zeros for the lengths.

    Example:
      >>> from evertrace.experimental import rnn
      >>> x, state, options = jnp.ones((4, 5, 2)), jnp.zeros((1, 4, 3)), (2, 3, 1, 0.0, False, None)
      >>> out, kept = rnn.lstm_fwd(x, state, state, jnp.ones(84), jnp.full(4, 5), *options)
      >>> [g.shape for g in rnn.lstm_bwd(*options, kept, out)]
      [(4, 5, 2), (1, 4, 3), (1, 4, 3), (84,), (4,)]
    """
    x, h_0, c_0, w, seq_lengths, y, reserve = residuals
    found = rnn_bwd_p.bind(
        *map(as_array, gradients),
        x,
        h_0,
        c_0,
        w,
        y,
        reserve,
        seq_lengths,
        input_size=input_size,
        hidden_size=hidden_size,
        num_layers=num_layers,
        dropout=dropout,
        bidirectional=bidirectional,
        precision=precision,
    )
    return (*found, zeros_like(seq_lengths))


@formula("rnn_fwd", multiple_results=True)
def rnn_fwd_p(
    x,
    h_0,
    c_0,
    w,
    seq_lengths,
    *,
    input_size,
    hidden_size,
    num_layers,
    dropout,
    bidirectional,
    precision,
):
    parts = unpack_lstm_weights(w, input_size, hidden_size, num_layers, bidirectional)
    _check_dropout(dropout)
    out = _layers(x, h_0, c_0, parts, seq_lengths, num_layers, bidirectional, precision)
    return (*out, zeros((0,), np.float32))


@formula("rnn_bwd", multiple_results=True)
def rnn_bwd_p(
    dy,
    dh_n,
    dc_n,
    x,
    h_0,
    c_0,
    w,
    y,
    reserve,
    seq_lengths,
    **options,
):
    def forward(x, h_0, c_0, w):
        return tuple(rnn_fwd_p.bind(x, h_0, c_0, w, seq_lengths, **options)[:3])

    return vjp(forward, x, h_0, c_0, w)[1]((dy, dh_n, dc_n))


@public
def rnn_abstract_eval(
    x_aval: Any,
    h_0_aval: Any,
    c_0_aval: Any,
    w_aval: Any,
    seq_lengths_aval: Any,
    input_size: Any,
    hidden_size: Any,
    num_layers: Any,
    dropout: Any,
    bidirectional: Any,
    cudnn_allow_tf32: Any,
) -> Any:
    """Return the types of the results of `rnn_fwd_p`.

    Args:
      x_aval: types of the operands, arrays of the shapes that `lstm` describes.
      h_0_aval: of the state.
      c_0_aval: of the cells.
      w_aval: of the weights.
      seq_lengths_aval: of the lengths.
      input_size: as of `lstm`, and so are the next ones.
      hidden_size: features of the state.
      num_layers: layers, each on the outputs of the one before.
      dropout: must be 0.
      bidirectional: whether each layer reads the sequence in both directions.
      cudnn_allow_tf32: of no effect.

    Returns:
      Types of ``y``, ``h_n``, ``c_n``, and of the reserve, which is empty.

    Example:
      >>> from evertrace.experimental import rnn
      >>> arrays = jnp.ones((4, 5, 2)), *[jnp.ones((1, 4, 3))] * 2, jnp.ones(84), jnp.ones(4, int)
      >>> rnn.rnn_abstract_eval(*map(ev.typeof, arrays), 2, 3, 1, 0.0, False, True)[0]
      ShapedArray(float32[4,5,3])
    """
    del cudnn_allow_tf32
    return rnn_fwd_p.abstract(
        x_aval,
        h_0_aval,
        c_0_aval,
        w_aval,
        seq_lengths_aval,
        input_size=input_size,
        hidden_size=hidden_size,
        num_layers=num_layers,
        dropout=dropout,
        bidirectional=bidirectional,
        precision=None,
    )


@public
def rnn_bwd_abstract_eval(
    dy_aval: Any,
    dhn_aval: Any,
    dcn_aval: Any,
    x_aval: Any,
    h0_aval: Any,
    c0_aval: Any,
    w_aval: Any,
    y_aval: Any,
    reserve_space_aval: Any,
    seq_lengths_aval: Any,
    input_size: Any,
    hidden_size: Any,
    num_layers: Any,
    dropout: Any,
    bidirectional: Any,
    cudnn_allow_tf32: Any,
) -> Any:
    """Return the types of the results of `rnn_bwd_p`: of the operands that it differentiates by.

    Args:
      dy_aval: types of the operands: gradients by ``y``,
      dhn_aval: by ``h_n``,
      dcn_aval: by ``c_n``,
      x_aval: the input,
      h0_aval: the state,
      c0_aval: the cells,
      w_aval: the weights,
      y_aval: the output,
      reserve_space_aval: the reserve,
      seq_lengths_aval: the lengths.
      input_size: of no effect, as the next ones.
      hidden_size: likewise.
      num_layers: likewise.
      dropout: likewise.
      bidirectional: likewise.
      cudnn_allow_tf32: likewise.

    Returns:
      Types of the gradients by ``x``, ``h_0``, ``c_0`` and ``w``: their own.

    Example:
      >>> from evertrace.experimental import rnn
      >>> operands = [ev.typeof(jnp.ones(n)) for n in range(10)]
      >>> rnn.rnn_bwd_abstract_eval(*operands, 2, 3, 1, 0.0, False, True)[0]
      ShapedArray(float32[3])
    """
    return x_aval, h0_aval, c0_aval, w_aval


@public
def lstm_ref(
    x: Any,
    h_0: Any,
    c_0: Any,
    W_ih: Any,
    W_hh: Any,
    b_ih: Any,
    b_hh: Any,
    seq_lengths: Any,
    input_size: Any,
    hidden_size: Any,
    num_layers: Any,
    dropout: Any,
    bidirectional: Any,
) -> tuple[Array, Array, Array]:
    """Apply `lstm` with the weights in parts.

    Args:
      x: ``[batch, time, input_size]``.
      h_0: ``[layers * directions, batch, hidden_size]``.
      c_0: likewise.
      W_ih: as `unpack_lstm_weights` returns it, and so are the next three.
      W_hh: for the state.
      b_ih: of `W_ih`.
      b_hh: of `W_hh`.
      seq_lengths: int ``[batch]``.
      input_size: not used; the weights tell.
      hidden_size: likewise.
      num_layers: layers, each on the outputs of the one before.
      dropout: must be 0.
      bidirectional: whether each layer reads the sequence in both directions.

    Returns:
      ``y, h_n, c_n``, see `lstm`.

    Raises:
      NotImplementedError: for dropout.

    Example:
      >>> from evertrace.experimental import rnn
      >>> weights = rnn.init_lstm_weight(random.key(0), 2, 3, num_layers=1, bidirectional=False)
      >>> parts = rnn.unpack_lstm_weights(weights, 2, 3, num_layers=1, bidirectional=False)
      >>> x, h, c = jnp.ones((5, 4, 2)), jnp.zeros((1, 5, 3)), jnp.zeros((1, 5, 3))
      >>> y, h, c = rnn.lstm_ref(x, h, c, *parts, jnp.full(5, 4), 2, 3, 1, 0.0, False)
      >>> y.shape, h.shape, bool(jnp.array_equal(y[:, -1], h[0]))
      ((5, 4, 3), (1, 5, 3), True)
    """
    del input_size, hidden_size
    _check_dropout(dropout)
    parts = W_ih, W_hh, b_ih, b_hh
    return _layers(x, h_0, c_0, parts, seq_lengths, num_layers, bidirectional, None)


def _check_dropout(dropout):
    if dropout != 0:
        raise errors.user_error(
            NotImplementedError,
            f"lstm: dropout is {dropout}, and there is no key to draw it from.",
            fix="pass 0, and drop outputs between calls with `num_layers=1`.",
            anchor="random-key",
        )


def _layers(x, h_0, c_0, parts, seq_lengths, num_layers, bidirectional, precision):
    """Apply all layers; `parts` are the four of `unpack_lstm_weights`."""
    xs = swapaxes(x, 0, 1)  # time first
    inside = ufuncs.less(*aligned(arange(len(xs))[:, None], seq_lengths))
    directions = 2 if bidirectional else 1
    last_h, last_c = [], []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            i = layer * directions + direction
            weights = [part[i] for part in parts]
            state = h_0[i], c_0[i]
            (h, c), ys = _layer(xs, inside, state, weights, direction == 1, precision)
            outputs.append(ys)
            last_h.append(h)
            last_c.append(c)
        xs = concatenate(outputs, axis=-1)
    return swapaxes(xs, 0, 1), stack(last_h), stack(last_c)


def _layer(xs, inside, state, weights, reverse, precision):
    """Apply one layer in one direction, to arrays with time first."""
    W_ih, W_hh, b_ih, b_hh = weights
    projected = ufuncs.add(*aligned(matmul(xs, W_ih.T, precision=precision), b_ih))

    def step(carry, given):
        h, c = carry
        x, valid = given
        gates = ufuncs.add(*aligned(x + matmul(h, W_hh.T, precision=precision), b_hh))
        i, f, g, o = split(gates, 4, axis=-1)
        new_c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        new_h = sigmoid(o) * tanh(new_c)
        kept = where(valid, new_h, h), where(valid, new_c, c)
        return kept, where(valid, new_h, 0)

    return scan(step, state, (projected, inside[..., None]), reverse=reverse)
