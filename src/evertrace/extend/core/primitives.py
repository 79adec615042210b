"""The primitives that stand in jaxprs, under JAX's names.

A few of JAX's never do so here, and are only there to be compared with: a call of a jitted
function is always `jit_p`, tokens and placements are no operations, references are no arrays.
"""

from typing import Any

from evertrace._src import lazy
from evertrace._src.api.extending_values import never_staged as _never_staged
from evertrace._src.control.call import jit_p as jit_p
from evertrace._src.control.checkpoint import remat_p as remat_p
from evertrace._src.control.cond import cond_p as cond_p
from evertrace._src.control.custom_jvp import custom_jvp_call_p as custom_jvp_call_p
from evertrace._src.control.custom_vjp import custom_lin_p as custom_lin_p
from evertrace._src.control.custom_vjp import custom_vjp_call_p as custom_vjp_call_p
from evertrace._src.control.linear import linear_solve_p as linear_solve_p
from evertrace._src.control.loop import while_p as while_p
from evertrace._src.control.policies import name_p as name_p
from evertrace._src.control.reduction import reduce_p as reduce_p
from evertrace._src.control.reduction import reduce_window_p as reduce_window_p
from evertrace._src.control.reduction import select_and_scatter_p as select_and_scatter_p
from evertrace._src.control.scan import scan_p as scan_p
from evertrace._src.ops.bit_generator import rng_bit_generator_p as rng_bit_generator_p
from evertrace._src.ops.bits import and_p as and_p
from evertrace._src.ops.bits import clz_p as clz_p
from evertrace._src.ops.bits import not_p as not_p
from evertrace._src.ops.bits import or_p as or_p
from evertrace._src.ops.bits import population_count_p as population_count_p
from evertrace._src.ops.bits import shift_left_p as shift_left_p
from evertrace._src.ops.bits import shift_right_arithmetic_p as shift_right_arithmetic_p
from evertrace._src.ops.bits import shift_right_logical_p as shift_right_logical_p
from evertrace._src.ops.bits import xor_p as xor_p
from evertrace._src.ops.collective import all_gather_p as all_gather_p
from evertrace._src.ops.collective import all_to_all_p as all_to_all_p
from evertrace._src.ops.collective import axis_index_p as axis_index_p
from evertrace._src.ops.collective import pmax_p as pmax_p
from evertrace._src.ops.collective import pmin_p as pmin_p
from evertrace._src.ops.collective import ppermute_p as ppermute_p
from evertrace._src.ops.collective import psum_p as psum_p
from evertrace._src.ops.compare import eq_p as eq_p
from evertrace._src.ops.compare import eq_to_p as eq_to_p
from evertrace._src.ops.compare import ge_p as ge_p
from evertrace._src.ops.compare import gt_p as gt_p
from evertrace._src.ops.compare import is_finite_p as is_finite_p
from evertrace._src.ops.compare import le_p as le_p
from evertrace._src.ops.compare import le_to_p as le_to_p
from evertrace._src.ops.compare import lt_p as lt_p
from evertrace._src.ops.compare import lt_to_p as lt_to_p
from evertrace._src.ops.compare import ne_p as ne_p
from evertrace._src.ops.conv import conv_general_dilated_p as conv_general_dilated_p
from evertrace._src.ops.convert import bitcast_convert_type_p as bitcast_convert_type_p
from evertrace._src.ops.convert import convert_element_type_p as convert_element_type_p
from evertrace._src.ops.convert import copy_p as copy_p
from evertrace._src.ops.convert import reduce_precision_p as reduce_precision_p
from evertrace._src.ops.convert import stop_gradient_p as stop_gradient_p
from evertrace._src.ops.creation import iota_p as iota_p
from evertrace._src.ops.cumulative import cumlogsumexp_p as cumlogsumexp_p
from evertrace._src.ops.cumulative import cummax_p as cummax_p
from evertrace._src.ops.cumulative import cummin_p as cummin_p
from evertrace._src.ops.cumulative import cumprod_p as cumprod_p
from evertrace._src.ops.cumulative import cumsum_p as cumsum_p
from evertrace._src.ops.dot import dot_general_p as dot_general_p
from evertrace._src.ops.dynamic import dynamic_slice_p as dynamic_slice_p
from evertrace._src.ops.dynamic import dynamic_update_slice_p as dynamic_update_slice_p
from evertrace._src.ops.elementwise import abs_p as abs_p
from evertrace._src.ops.elementwise import acos_p as acos_p
from evertrace._src.ops.elementwise import acosh_p as acosh_p
from evertrace._src.ops.elementwise import add_any_p as add_jaxvals_p
from evertrace._src.ops.elementwise import add_p as add_p
from evertrace._src.ops.elementwise import asin_p as asin_p
from evertrace._src.ops.elementwise import asinh_p as asinh_p
from evertrace._src.ops.elementwise import atan2_p as atan2_p
from evertrace._src.ops.elementwise import atan_p as atan_p
from evertrace._src.ops.elementwise import atanh_p as atanh_p
from evertrace._src.ops.elementwise import cbrt_p as cbrt_p
from evertrace._src.ops.elementwise import ceil_p as ceil_p
from evertrace._src.ops.elementwise import clamp_p as clamp_p
from evertrace._src.ops.elementwise import complex_p as complex_p
from evertrace._src.ops.elementwise import conj_p as conj_p
from evertrace._src.ops.elementwise import cos_p as cos_p
from evertrace._src.ops.elementwise import cosh_p as cosh_p
from evertrace._src.ops.elementwise import div_p as div_p
from evertrace._src.ops.elementwise import exp2_p as exp2_p
from evertrace._src.ops.elementwise import exp_p as exp_p
from evertrace._src.ops.elementwise import expm1_p as expm1_p
from evertrace._src.ops.elementwise import floor_p as floor_p
from evertrace._src.ops.elementwise import imag_p as imag_p
from evertrace._src.ops.elementwise import integer_pow_p as integer_pow_p
from evertrace._src.ops.elementwise import log1p_p as log1p_p
from evertrace._src.ops.elementwise import log_p as log_p
from evertrace._src.ops.elementwise import logistic_p as logistic_p
from evertrace._src.ops.elementwise import max_p as max_p
from evertrace._src.ops.elementwise import min_p as min_p
from evertrace._src.ops.elementwise import mul_p as mul_p
from evertrace._src.ops.elementwise import neg_p as neg_p
from evertrace._src.ops.elementwise import nextafter_p as nextafter_p
from evertrace._src.ops.elementwise import pow_p as pow_p
from evertrace._src.ops.elementwise import real_p as real_p
from evertrace._src.ops.elementwise import rem_p as rem_p
from evertrace._src.ops.elementwise import round_p as round_p
from evertrace._src.ops.elementwise import rsqrt_p as rsqrt_p
from evertrace._src.ops.elementwise import sign_p as sign_p
from evertrace._src.ops.elementwise import sin_p as sin_p
from evertrace._src.ops.elementwise import sinh_p as sinh_p
from evertrace._src.ops.elementwise import sqrt_p as sqrt_p
from evertrace._src.ops.elementwise import square_p as square_p
from evertrace._src.ops.elementwise import sub_p as sub_p
from evertrace._src.ops.elementwise import tan_p as tan_p
from evertrace._src.ops.elementwise import tanh_p as tanh_p
from evertrace._src.ops.fft import fft_p as fft_p
from evertrace._src.ops.gamma import igamma_grad_a_p as igamma_grad_a_p
from evertrace._src.ops.gamma import igamma_p as igamma_p
from evertrace._src.ops.gamma import igammac_p as igammac_p
from evertrace._src.ops.gamma import regularized_incomplete_beta_p as regularized_incomplete_beta_p
from evertrace._src.ops.indexing import gather_p as gather_p
from evertrace._src.ops.indexing import scatter_add_p as scatter_add_p
from evertrace._src.ops.indexing import scatter_max_p as scatter_max_p
from evertrace._src.ops.indexing import scatter_min_p as scatter_min_p
from evertrace._src.ops.indexing import scatter_mul_p as scatter_mul_p
from evertrace._src.ops.indexing import scatter_p as scatter_p
from evertrace._src.ops.linalg.orthogonal import householder_product_p as householder_product_p
from evertrace._src.ops.linalg.orthogonal import qr_p as qr_p
from evertrace._src.ops.linalg.solving import cholesky_p as cholesky_p
from evertrace._src.ops.linalg.solving import lu_p as lu_p
from evertrace._src.ops.linalg.solving import triangular_solve_p as triangular_solve_p
from evertrace._src.ops.linalg.solving import tridiagonal_solve_p as tridiagonal_solve_p
from evertrace._src.ops.linalg.spectral import eig_p as eig_p
from evertrace._src.ops.linalg.spectral import eigh_p as eigh_p
from evertrace._src.ops.linalg.spectral import hessenberg_p as hessenberg_p
from evertrace._src.ops.linalg.spectral import schur_p as schur_p
from evertrace._src.ops.linalg.spectral import svd_p as svd_p
from evertrace._src.ops.linalg.spectral import tridiagonal_p as tridiagonal_p
from evertrace._src.ops.random import random_bits_p as random_bits_p
from evertrace._src.ops.random import random_fold_in_p as random_fold_in_p
from evertrace._src.ops.random import random_seed_p as random_seed_p
from evertrace._src.ops.random import random_split_p as random_split_p
from evertrace._src.ops.random import threefry2x32_p as threefry2x32_p
from evertrace._src.ops.reduce import argmax_p as argmax_p
from evertrace._src.ops.reduce import argmin_p as argmin_p
from evertrace._src.ops.reduce import reduce_and_p as reduce_and_p
from evertrace._src.ops.reduce import reduce_max_p as reduce_max_p
from evertrace._src.ops.reduce import reduce_min_p as reduce_min_p
from evertrace._src.ops.reduce import reduce_or_p as reduce_or_p
from evertrace._src.ops.reduce import reduce_prod_p as reduce_prod_p
from evertrace._src.ops.reduce import reduce_xor_p as reduce_xor_p
from evertrace._src.ops.rng_uniform import rng_uniform_p as rng_uniform_p
from evertrace._src.ops.select import select_n_p as select_n_p
from evertrace._src.ops.sharding_constraint import sharding_constraint_p as sharding_constraint_p
from evertrace._src.ops.slicing import concatenate_p as concatenate_p
from evertrace._src.ops.slicing import slice_p as slice_p
from evertrace._src.ops.slicing import split_p as split_p
from evertrace._src.ops.sort import sort_p as sort_p
from evertrace._src.ops.sort import top_k_p as top_k_p
from evertrace._src.ops.special import bessel_i0e_p as bessel_i0e_p
from evertrace._src.ops.special import bessel_i1e_p as bessel_i1e_p
from evertrace._src.ops.special import digamma_p as digamma_p
from evertrace._src.ops.special import erf_inv_p as erf_inv_p
from evertrace._src.ops.special import erf_p as erf_p
from evertrace._src.ops.special import erfc_p as erfc_p
from evertrace._src.ops.special import lgamma_p as lgamma_p
from evertrace._src.ops.special import polygamma_p as polygamma_p
from evertrace._src.ops.special import zeta_p as zeta_p
from evertrace._src.ops.structural import broadcast_in_dim_p as broadcast_in_dim_p
from evertrace._src.ops.structural import reduce_sum_p as reduce_sum_p
from evertrace._src.ops.structural import reshape_p as reshape_p
from evertrace._src.ops.structural import rev_p as rev_p
from evertrace._src.ops.structural import squeeze_p as squeeze_p
from evertrace._src.ops.structural import transpose_p as transpose_p
from evertrace._src.ops.windows import pad_p as pad_p
from evertrace._src.ops.windows import reduce_window_max_p as reduce_window_max_p
from evertrace._src.ops.windows import reduce_window_min_p as reduce_window_min_p
from evertrace._src.ops.windows import reduce_window_sum_p as reduce_window_sum_p
from evertrace._src.ops.windows import select_and_gather_add_p as select_and_gather_add_p
from evertrace._src.ops.windows import select_and_scatter_add_p as select_and_scatter_add_p

after_all_p: Any = _never_staged("after_all")
call_p: Any = _never_staged("call")
closed_call_p: Any = _never_staged("closed_call")
create_token_p: Any = _never_staged("create_token")
device_put_p: Any = _never_staged("device_put")
empty2_p: Any = _never_staged("empty2")
get_p: Any = _never_staged("get")
swap_p: Any = _never_staged("swap")

lazy.refuse_others(__name__)

__all__ = [
    "abs_p", "acos_p", "acosh_p", "add_jaxvals_p", "add_p", "after_all_p", "all_gather_p",
    "all_to_all_p", "and_p", "argmax_p", "argmin_p", "asin_p", "asinh_p", "atan2_p", "atan_p",
    "atanh_p", "axis_index_p", "bessel_i0e_p", "bessel_i1e_p", "bitcast_convert_type_p",
    "broadcast_in_dim_p", "call_p", "cbrt_p", "ceil_p", "cholesky_p", "clamp_p",
    "closed_call_p", "clz_p", "complex_p", "concatenate_p", "cond_p", "conj_p",
    "conv_general_dilated_p", "convert_element_type_p", "copy_p", "cos_p", "cosh_p",
    "create_token_p", "cumlogsumexp_p", "cummax_p", "cummin_p", "cumprod_p", "cumsum_p",
    "custom_jvp_call_p", "custom_lin_p", "custom_vjp_call_p", "device_put_p", "digamma_p",
    "div_p", "dot_general_p", "dynamic_slice_p", "dynamic_update_slice_p", "eig_p", "eigh_p",
    "empty2_p", "eq_p", "eq_to_p", "erf_inv_p", "erf_p", "erfc_p", "exp2_p", "exp_p", "expm1_p",
    "fft_p", "floor_p", "gather_p", "ge_p", "get_p", "gt_p", "hessenberg_p",
    "householder_product_p", "igamma_grad_a_p", "igamma_p", "igammac_p", "imag_p",
    "integer_pow_p", "iota_p", "is_finite_p", "jit_p", "le_p", "le_to_p", "lgamma_p",
    "linear_solve_p", "log1p_p", "log_p", "logistic_p", "lt_p", "lt_to_p", "lu_p", "max_p",
    "min_p", "mul_p", "name_p", "ne_p", "neg_p", "nextafter_p", "not_p", "or_p", "pad_p",
    "pmax_p", "pmin_p", "polygamma_p", "population_count_p", "pow_p", "ppermute_p", "psum_p",
    "qr_p", "random_bits_p", "random_fold_in_p", "random_seed_p", "random_split_p", "real_p",
    "reduce_and_p", "reduce_max_p", "reduce_min_p", "reduce_or_p", "reduce_p",
    "reduce_precision_p", "reduce_prod_p", "reduce_sum_p", "reduce_window_max_p",
    "reduce_window_min_p", "reduce_window_p", "reduce_window_sum_p", "reduce_xor_p",
    "regularized_incomplete_beta_p", "rem_p", "remat_p", "reshape_p", "rev_p",
    "rng_bit_generator_p", "rng_uniform_p", "round_p", "rsqrt_p", "scan_p", "scatter_add_p",
    "scatter_max_p", "scatter_min_p", "scatter_mul_p", "scatter_p", "schur_p",
    "select_and_gather_add_p", "select_and_scatter_add_p", "select_and_scatter_p", "select_n_p",
    "sharding_constraint_p", "shift_left_p", "shift_right_arithmetic_p",
    "shift_right_logical_p", "sign_p", "sin_p", "sinh_p", "slice_p", "sort_p", "split_p",
    "sqrt_p", "square_p", "squeeze_p", "stop_gradient_p", "sub_p", "svd_p", "swap_p", "tan_p",
    "tanh_p", "threefry2x32_p", "top_k_p", "transpose_p", "triangular_solve_p", "tridiagonal_p",
    "tridiagonal_solve_p", "while_p", "xor_p", "zeta_p",
]  # fmt: skip
