from evertrace._src.nn.activations import celu as celu
from evertrace._src.nn.activations import elu as elu
from evertrace._src.nn.activations import gelu as gelu
from evertrace._src.nn.activations import glu as glu
from evertrace._src.nn.activations import hard_sigmoid as hard_sigmoid
from evertrace._src.nn.activations import hard_silu as hard_silu
from evertrace._src.nn.activations import hard_swish as hard_swish
from evertrace._src.nn.activations import hard_tanh as hard_tanh
from evertrace._src.nn.activations import identity as identity
from evertrace._src.nn.activations import leaky_relu as leaky_relu
from evertrace._src.nn.activations import log1mexp as log1mexp
from evertrace._src.nn.activations import log_sigmoid as log_sigmoid
from evertrace._src.nn.activations import mish as mish
from evertrace._src.nn.activations import relu as relu
from evertrace._src.nn.activations import relu6 as relu6
from evertrace._src.nn.activations import selu as selu
from evertrace._src.nn.activations import sigmoid as sigmoid
from evertrace._src.nn.activations import silu as silu
from evertrace._src.nn.activations import soft_sign as soft_sign
from evertrace._src.nn.activations import softplus as softplus
from evertrace._src.nn.activations import sparse_plus as sparse_plus
from evertrace._src.nn.activations import sparse_sigmoid as sparse_sigmoid
from evertrace._src.nn.activations import squareplus as squareplus
from evertrace._src.nn.activations import swish as swish
from evertrace._src.nn.activations import tanh as tanh
from evertrace._src.nn.attention import dot_product_attention as dot_product_attention
from evertrace._src.nn.normalization import log_softmax as log_softmax
from evertrace._src.nn.normalization import logmeanexp as logmeanexp
from evertrace._src.nn.normalization import logsumexp as logsumexp
from evertrace._src.nn.normalization import one_hot as one_hot
from evertrace._src.nn.normalization import softmax as softmax
from evertrace._src.nn.normalization import standardize as standardize
from evertrace._src.nn.quantized import (
    get_scaled_dot_general_config as get_scaled_dot_general_config,
)
from evertrace._src.nn.quantized import scaled_dot_general as scaled_dot_general
from evertrace._src.nn.scaled import scaled_matmul as scaled_matmul

from . import initializers as initializers
