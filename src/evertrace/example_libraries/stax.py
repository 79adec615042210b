"""Layers of neural networks: pairs of functions that draw parameters and apply them."""

from evertrace._src import lazy
from evertrace._src.example_libraries.combinators import FanInConcat as FanInConcat
from evertrace._src.example_libraries.combinators import FanInSum as FanInSum
from evertrace._src.example_libraries.combinators import FanOut as FanOut
from evertrace._src.example_libraries.combinators import parallel as parallel
from evertrace._src.example_libraries.combinators import serial as serial
from evertrace._src.example_libraries.combinators import shape_dependent as shape_dependent
from evertrace._src.example_libraries.layers import BatchNorm as BatchNorm
from evertrace._src.example_libraries.layers import Conv as Conv
from evertrace._src.example_libraries.layers import Conv1DTranspose as Conv1DTranspose
from evertrace._src.example_libraries.layers import ConvTranspose as ConvTranspose
from evertrace._src.example_libraries.layers import Dense as Dense
from evertrace._src.example_libraries.layers import Dropout as Dropout
from evertrace._src.example_libraries.layers import Elu as Elu
from evertrace._src.example_libraries.layers import Exp as Exp
from evertrace._src.example_libraries.layers import Gelu as Gelu
from evertrace._src.example_libraries.layers import GeneralConv as GeneralConv
from evertrace._src.example_libraries.layers import GeneralConvTranspose as GeneralConvTranspose
from evertrace._src.example_libraries.layers import Identity as Identity
from evertrace._src.example_libraries.layers import LeakyRelu as LeakyRelu
from evertrace._src.example_libraries.layers import LogSoftmax as LogSoftmax
from evertrace._src.example_libraries.layers import Relu as Relu
from evertrace._src.example_libraries.layers import Selu as Selu
from evertrace._src.example_libraries.layers import Sigmoid as Sigmoid
from evertrace._src.example_libraries.layers import Softmax as Softmax
from evertrace._src.example_libraries.layers import Softplus as Softplus
from evertrace._src.example_libraries.layers import Tanh as Tanh
from evertrace._src.example_libraries.layers import elementwise as elementwise
from evertrace._src.example_libraries.layers import glorot as glorot
from evertrace._src.example_libraries.layers import logsoftmax as logsoftmax
from evertrace._src.example_libraries.layers import randn as randn
from evertrace._src.example_libraries.pooling import AvgPool as AvgPool
from evertrace._src.example_libraries.pooling import Flatten as Flatten
from evertrace._src.example_libraries.pooling import MaxPool as MaxPool
from evertrace._src.example_libraries.pooling import SumPool as SumPool

lazy.refuse_others(__name__)

__all__ = [
    "AvgPool", "BatchNorm", "Conv", "Conv1DTranspose", "ConvTranspose", "Dense", "Dropout",
    "Elu", "Exp", "FanInConcat", "FanInSum", "FanOut", "Flatten", "Gelu", "GeneralConv",
    "GeneralConvTranspose", "Identity", "LeakyRelu", "LogSoftmax", "MaxPool", "Relu", "Selu",
    "Sigmoid", "Softmax", "Softplus", "SumPool", "Tanh", "elementwise", "glorot", "logsoftmax",
    "parallel", "randn", "serial", "shape_dependent",
]  # fmt: skip
