"""Evertrace: composable transformations of numerical Python programs, compiled by XLA.

JAX's names with JAX's meaning, traced in microseconds. ``import evertrace as ev`` and
``import evertrace.numpy as jnp``.
"""

import importlib
from typing import TYPE_CHECKING

from evertrace._src.api.autodiff import grad as grad
from evertrace._src.api.autodiff import hessian as hessian
from evertrace._src.api.autodiff import jacfwd as jacfwd
from evertrace._src.api.autodiff import jacobian as jacobian
from evertrace._src.api.autodiff import jacrev as jacrev
from evertrace._src.api.autodiff import jvp as jvp
from evertrace._src.api.autodiff import linear_transpose as linear_transpose
from evertrace._src.api.autodiff import linearize as linearize
from evertrace._src.api.autodiff import value_and_grad as value_and_grad
from evertrace._src.api.autodiff import vjp as vjp
from evertrace._src.api.callback import effects_barrier as effects_barrier
from evertrace._src.api.callback import pure_callback as pure_callback
from evertrace._src.api.checkpoint import checkpoint as checkpoint
from evertrace._src.api.devices import block_until_ready as block_until_ready
from evertrace._src.api.devices import clear_caches as clear_caches
from evertrace._src.api.devices import default_backend as default_backend
from evertrace._src.api.devices import device_count as device_count
from evertrace._src.api.devices import device_get as device_get
from evertrace._src.api.devices import device_put as device_put
from evertrace._src.api.devices import devices as devices
from evertrace._src.api.devices import local_device_count as local_device_count
from evertrace._src.api.devices import local_devices as local_devices
from evertrace._src.api.devices import process_count as process_count
from evertrace._src.api.devices import process_index as process_index
from evertrace._src.api.tracing import eval_shape as eval_shape
from evertrace._src.api.tracing import jit as jit
from evertrace._src.api.tracing import make_jaxpr as make_jaxpr
from evertrace._src.api.vectorize import vmap as vmap
from evertrace._src.arrays.array import Array as Array
from evertrace._src.config import checking_leaks as checking_leaks
from evertrace._src.config import config as config
from evertrace._src.config import debug_infs as debug_infs
from evertrace._src.config import debug_nans as debug_nans
from evertrace._src.config import default_device as default_device
from evertrace._src.config import default_matmul_precision as default_matmul_precision
from evertrace._src.config import default_prng_impl as default_prng_impl
from evertrace._src.config import disable_jit as disable_jit
from evertrace._src.config import enable_custom_prng as enable_custom_prng
from evertrace._src.config import enable_x64 as enable_x64
from evertrace._src.config import explain_retraces as explain_retraces
from evertrace._src.config import impurity as impurity
from evertrace._src.config import log_compiles as log_compiles
from evertrace._src.config import no_retrace as no_retrace
from evertrace._src.config import numpy_dtype_promotion as numpy_dtype_promotion
from evertrace._src.config import numpy_rank_promotion as numpy_rank_promotion
from evertrace._src.config import strict as strict
from evertrace._src.config import threefry_partitionable as threefry_partitionable
from evertrace._src.control.checkpoint import checkpoint_policies as checkpoint_policies
from evertrace._src.control.closure import closure_convert as closure_convert
from evertrace._src.control.closure import custom_gradient as custom_gradient
from evertrace._src.control.custom_jvp import custom_jvp as custom_jvp
from evertrace._src.control.custom_vjp import custom_vjp as custom_vjp
from evertrace._src.core import engine as _engine
from evertrace._src.core import operators as _operators
from evertrace._src.core.aval import ShapeDtypeStruct as ShapeDtypeStruct
from evertrace._src.dtypes import float0 as float0

from . import errors as errors
from . import tree as tree

if TYPE_CHECKING:
    from . import debug as debug
    from . import dtypes as dtypes
    from . import experimental as experimental
    from . import lax as lax
    from . import nn as nn
    from . import numpy as numpy
    from . import random as random
    from . import tree_util as tree_util

__version__ = "0.1.0"

remat = checkpoint

# The two places where a low layer reaches a high one, each imported on first use.
_engine.resolver = lambda: importlib.import_module("evertrace._src.engines.registry")
_operators.resolver = lambda: importlib.import_module("evertrace._src.numpy.methods")

_LAZY = frozenset({
    "ad_checkpoint", "core", "custom_derivatives", "debug", "dtypes", "experimental", "extend",
    "flatten_util", "lax", "nn", "numpy", "ops", "random", "sharding", "stages", "tree_util",
    "typing",
})  # fmt: skip


def __getattr__(name):
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | _LAZY)
