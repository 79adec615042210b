"""Recurrent layers with weights laid out as cuDNN has them."""

from evertrace._src import lazy
from evertrace._src.experimental.rnn import get_num_params_in_lstm as get_num_params_in_lstm
from evertrace._src.experimental.rnn import init_lstm_weight as init_lstm_weight
from evertrace._src.experimental.rnn import lstm as lstm
from evertrace._src.experimental.rnn import lstm_bwd as lstm_bwd
from evertrace._src.experimental.rnn import lstm_fwd as lstm_fwd
from evertrace._src.experimental.rnn import lstm_ref as lstm_ref
from evertrace._src.experimental.rnn import rnn_abstract_eval as rnn_abstract_eval
from evertrace._src.experimental.rnn import rnn_bwd_abstract_eval as rnn_bwd_abstract_eval
from evertrace._src.experimental.rnn import rnn_bwd_p as rnn_bwd_p
from evertrace._src.experimental.rnn import rnn_fwd_p as rnn_fwd_p
from evertrace._src.experimental.rnn import swap_lstm_gates as swap_lstm_gates
from evertrace._src.experimental.rnn import unpack_lstm_weights as unpack_lstm_weights
from evertrace._src.nn.activations import sigmoid as sigmoid
from evertrace._src.numpy.ufuncs import tanh as tanh

lazy.refuse_others(__name__)

__all__ = [
    "get_num_params_in_lstm", "init_lstm_weight", "lstm", "lstm_bwd", "lstm_fwd", "lstm_ref",
    "rnn_abstract_eval", "rnn_bwd_abstract_eval", "rnn_bwd_p", "rnn_fwd_p", "sigmoid",
    "swap_lstm_gates", "tanh", "unpack_lstm_weights",
]  # fmt: skip
