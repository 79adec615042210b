"""Recurrent layers with weights laid out as cuDNN has them."""

from evertrace._src.experimental.rnn import get_num_params_in_lstm as get_num_params_in_lstm
from evertrace._src.experimental.rnn import init_lstm_weight as init_lstm_weight
from evertrace._src.experimental.rnn import lstm as lstm
from evertrace._src.experimental.rnn import lstm_ref as lstm_ref
from evertrace._src.experimental.rnn import swap_lstm_gates as swap_lstm_gates
from evertrace._src.experimental.rnn import unpack_lstm_weights as unpack_lstm_weights
from evertrace._src.nn.activations import sigmoid as sigmoid
from evertrace._src.numpy.ufuncs import tanh as tanh

__all__ = [
    "get_num_params_in_lstm", "init_lstm_weight", "lstm", "lstm_ref", "sigmoid", "swap_lstm_gates",
    "tanh", "unpack_lstm_weights",
]  # fmt: skip
