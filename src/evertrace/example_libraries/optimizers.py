"""Optimizers: triples of functions that make, update and read a state."""

from evertrace._src import lazy
from evertrace._src.example_libraries.containers import Array as Array
from evertrace._src.example_libraries.containers import InitFn as InitFn
from evertrace._src.example_libraries.containers import JoinPoint as JoinPoint
from evertrace._src.example_libraries.containers import Optimizer as Optimizer
from evertrace._src.example_libraries.containers import OptimizerState as OptimizerState
from evertrace._src.example_libraries.containers import Params as Params
from evertrace._src.example_libraries.containers import ParamsFn as ParamsFn
from evertrace._src.example_libraries.containers import State as State
from evertrace._src.example_libraries.containers import Step as Step
from evertrace._src.example_libraries.containers import UpdateFn as UpdateFn
from evertrace._src.example_libraries.containers import Updates as Updates
from evertrace._src.example_libraries.containers import clip_grads as clip_grads
from evertrace._src.example_libraries.containers import l2_norm as l2_norm
from evertrace._src.example_libraries.containers import optimizer as optimizer
from evertrace._src.example_libraries.containers import pack_optimizer_state as pack_optimizer_state
from evertrace._src.example_libraries.containers import (
    unpack_optimizer_state as unpack_optimizer_state,
)
from evertrace._src.example_libraries.optimizers import adagrad as adagrad
from evertrace._src.example_libraries.optimizers import adam as adam
from evertrace._src.example_libraries.optimizers import adamax as adamax
from evertrace._src.example_libraries.optimizers import momentum as momentum
from evertrace._src.example_libraries.optimizers import nesterov as nesterov
from evertrace._src.example_libraries.optimizers import rmsprop as rmsprop
from evertrace._src.example_libraries.optimizers import rmsprop_momentum as rmsprop_momentum
from evertrace._src.example_libraries.optimizers import sgd as sgd
from evertrace._src.example_libraries.optimizers import sm3 as sm3
from evertrace._src.example_libraries.schedules import Schedule as Schedule
from evertrace._src.example_libraries.schedules import constant as constant
from evertrace._src.example_libraries.schedules import exponential_decay as exponential_decay
from evertrace._src.example_libraries.schedules import inverse_time_decay as inverse_time_decay
from evertrace._src.example_libraries.schedules import make_schedule as make_schedule
from evertrace._src.example_libraries.schedules import piecewise_constant as piecewise_constant
from evertrace._src.example_libraries.schedules import polynomial_decay as polynomial_decay

lazy.refuse_others(__name__)

__all__ = [
    "Array", "InitFn", "JoinPoint", "Optimizer", "OptimizerState", "Params", "ParamsFn",
    "Schedule", "State", "Step", "UpdateFn", "Updates", "adagrad", "adam", "adamax",
    "clip_grads", "constant", "exponential_decay", "inverse_time_decay", "l2_norm",
    "make_schedule", "momentum", "nesterov", "optimizer", "pack_optimizer_state",
    "piecewise_constant", "polynomial_decay", "rmsprop", "rmsprop_momentum", "sgd", "sm3",
    "unpack_optimizer_state",
]  # fmt: skip
