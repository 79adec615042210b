"""Evertrace: composable transformations of numerical Python programs, compiled by XLA.

JAX's names with JAX's meaning, traced in microseconds. ``import evertrace as ev`` and
``import evertrace.numpy as jnp``.
"""

import importlib
from typing import TYPE_CHECKING

from evertrace._src.api.autodiff import grad as grad
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
from evertrace._src.api.environment import copy_to_host_async as copy_to_host_async
from evertrace._src.api.environment import host_count as host_count
from evertrace._src.api.environment import host_id as host_id
from evertrace._src.api.environment import host_ids as host_ids
from evertrace._src.api.environment import live_arrays as live_arrays
from evertrace._src.api.environment import print_environment_info as print_environment_info
from evertrace._src.api.environment import process_indices as process_indices
from evertrace._src.api.jacobians import hessian as hessian
from evertrace._src.api.jacobians import jacfwd as jacfwd
from evertrace._src.api.jacobians import jacobian as jacobian
from evertrace._src.api.jacobians import jacrev as jacrev
from evertrace._src.api.passes import fwd_and_bwd as fwd_and_bwd
from evertrace._src.api.scopes import ensure_compile_time_eval as ensure_compile_time_eval
from evertrace._src.api.scopes import make_user_context as make_user_context
from evertrace._src.api.scopes import named_call as named_call
from evertrace._src.api.scopes import named_scope as named_scope
from evertrace._src.api.scopes import typeof as typeof
from evertrace._src.api.tracing import eval_shape as eval_shape
from evertrace._src.api.tracing import jit as jit
from evertrace._src.api.tracing import make_jaxpr as make_jaxpr
from evertrace._src.api.vectorize import vmap as vmap
from evertrace._src.arrays.array import Array as Array
from evertrace._src.config import allow_f16_reductions as allow_f16_reductions
from evertrace._src.config import check_tracer_leaks as check_tracer_leaks
from evertrace._src.config import checking_leaks as checking_leaks
from evertrace._src.config import config as config
from evertrace._src.config import debug_infs as debug_infs
from evertrace._src.config import debug_key_reuse as debug_key_reuse
from evertrace._src.config import debug_nans as debug_nans
from evertrace._src.config import default_device as default_device
from evertrace._src.config import default_matmul_precision as default_matmul_precision
from evertrace._src.config import default_prng_impl as default_prng_impl
from evertrace._src.config import disable_jit as disable_jit
from evertrace._src.config import enable_checks as enable_checks
from evertrace._src.config import enable_custom_prng as enable_custom_prng
from evertrace._src.config import enable_x64 as enable_x64
from evertrace._src.config import engine as engine
from evertrace._src.config import explain_cache_misses as explain_cache_misses
from evertrace._src.config import explain_retraces as explain_retraces
from evertrace._src.config import impurity as impurity
from evertrace._src.config import legacy_prng_key as legacy_prng_key
from evertrace._src.config import log_compiles as log_compiles
from evertrace._src.config import no_execution as no_execution
from evertrace._src.config import no_retrace as no_retrace
from evertrace._src.config import no_tracing as no_tracing
from evertrace._src.config import numpy_dtype_promotion as numpy_dtype_promotion
from evertrace._src.config import numpy_rank_promotion as numpy_rank_promotion
from evertrace._src.config import quick_compile as quick_compile
from evertrace._src.config import softmax_custom_jvp as softmax_custom_jvp
from evertrace._src.config import strict as strict
from evertrace._src.config import thread_guard as thread_guard
from evertrace._src.config import threefry_partitionable as threefry_partitionable
from evertrace._src.config import transfer_guard as transfer_guard
from evertrace._src.config import transfer_guard_device_to_device as transfer_guard_device_to_device
from evertrace._src.config import transfer_guard_device_to_host as transfer_guard_device_to_host
from evertrace._src.config import transfer_guard_host_to_device as transfer_guard_host_to_device
from evertrace._src.control.closure import closure_convert as closure_convert
from evertrace._src.control.closure import custom_gradient as custom_gradient
from evertrace._src.control.custom_jvp import custom_jvp as custom_jvp
from evertrace._src.control.custom_vjp import custom_vjp as custom_vjp
from evertrace._src.control.policies import checkpoint_policies as checkpoint_policies
from evertrace._src.core import engine as _engine
from evertrace._src.core import operators as _operators
from evertrace._src.core.aval import ShapeDtypeStruct as ShapeDtypeStruct
from evertrace._src.dtypes import float0 as float0

from . import errors as errors
from . import tree as tree

if TYPE_CHECKING:
    from evertrace._src.api.alias import as_jax as as_jax
    from evertrace._src.ref.functions import empty_ref as empty_ref
    from evertrace._src.ref.functions import free_ref as free_ref
    from evertrace._src.ref.functions import freeze as freeze
    from evertrace._src.ref.functions import new_ref as new_ref
    from evertrace._src.ref.ref import Ref as Ref
    from evertrace._src.sharding.assembly import (
        make_array_from_callback as make_array_from_callback,
    )
    from evertrace._src.sharding.assembly import (
        make_array_from_process_local_data as make_array_from_process_local_data,
    )
    from evertrace._src.sharding.assembly import (
        make_array_from_single_device_arrays as make_array_from_single_device_arrays,
    )
    from evertrace._src.sharding.assembly import reshard as reshard
    from evertrace._src.sharding.layout import NamedSharding as NamedSharding
    from evertrace._src.sharding.layout import P as P
    from evertrace._src.sharding.maps import pmap as pmap
    from evertrace._src.sharding.maps import shard_map as shard_map
    from evertrace._src.sharding.maps import smap as smap
    from evertrace._src.sharding.mesh import make_mesh as make_mesh
    from evertrace._src.sharding.mesh import set_mesh as set_mesh

    from . import debug as debug
    from . import dtypes as dtypes
    from . import example_libraries as example_libraries
    from . import experimental as experimental
    from . import export as export
    from . import ffi as ffi
    from . import image as image
    from . import lax as lax
    from . import nn as nn
    from . import numpy as numpy
    from . import random as random
    from . import ref as ref
    from . import scipy as scipy
    from . import tree_util as tree_util

__version__ = "0.1.0"

remat = checkpoint

# The two places where a low layer reaches a high one, each imported on first use.
_engine.resolver = lambda: importlib.import_module("evertrace._src.engines.registry")
_operators.resolver = lambda: importlib.import_module("evertrace._src.numpy.methods")

_LAZY = frozenset({
    "ad_checkpoint", "core", "custom_batching", "custom_derivatives", "debug", "distributed",
    "dlpack", "dtypes", "example_libraries", "experimental", "export", "extend", "ffi",
    "flatten_util", "image", "interpreters", "lax", "memory", "monitoring", "nn", "numpy", "ops",
    "profiler", "random", "ref", "scipy", "sharding", "stages", "test_util", "tree_util", "typing",
})  # fmt: skip

# Functions above the array layer, which `import evertrace` does not load: name -> module.
_LAZY_NAMES = {
    "Device": "engines.xla.client", "NamedSharding": "sharding.layout", "P": "sharding.layout",
    "as_jax": "api.alias", "Ref": "ref.ref", "Shard": "arrays.array", "ds": "numpy.dslice",
    "empty_ref": "ref.functions",
    "free_ref": "ref.functions", "freeze": "ref.functions",
    "make_array_from_callback": "sharding.assembly",
    "make_array_from_process_local_data": "sharding.assembly",
    "make_array_from_single_device_arrays": "sharding.assembly", "make_mesh": "sharding.mesh",
    "new_ref": "ref.functions", "pmap": "sharding.maps", "reshard": "sharding.assembly",
    "set_mesh": "sharding.mesh", "shard_map": "sharding.maps", "smap": "sharding.maps",
}  # fmt: skip


def __getattr__(name):
    if name in _LAZY_NAMES:
        module = importlib.import_module(f"{__name__}._src.{_LAZY_NAMES[name]}")
        return getattr(module, name)
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | _LAZY | set(_LAZY_NAMES))
