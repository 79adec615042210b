"""Typed functions that do not promote, control flow, and the primitives under them."""

from evertrace._src.control.checkpoint import optimization_barrier as optimization_barrier
from evertrace._src.control.checkpoint import optimization_barrier_p as optimization_barrier_p
from evertrace._src.control.composite import composite as composite
from evertrace._src.control.cond import cond_p as cond_p
from evertrace._src.control.linear import linear_solve_p as linear_solve_p
from evertrace._src.control.loop import while_p as while_p
from evertrace._src.control.reduction import reduce_p as reduce_p
from evertrace._src.control.reduction import reduce_window_p as reduce_window_p
from evertrace._src.control.reduction import select_and_scatter_p as select_and_scatter_p
from evertrace._src.control.scan import scan_p as scan_p
from evertrace._src.dtypes.kinds import dtype as dtype
from evertrace._src.lax.associative import associative_scan as associative_scan
from evertrace._src.lax.bit_generator import RandomAlgorithm as RandomAlgorithm
from evertrace._src.lax.bit_generator import rng_bit_generator as rng_bit_generator
from evertrace._src.lax.bit_generator import rng_uniform as rng_uniform
from evertrace._src.lax.bits import bitwise_and as bitwise_and
from evertrace._src.lax.bits import bitwise_not as bitwise_not
from evertrace._src.lax.bits import bitwise_or as bitwise_or
from evertrace._src.lax.bits import bitwise_xor as bitwise_xor
from evertrace._src.lax.bits import clz as clz
from evertrace._src.lax.bits import mulhi as mulhi
from evertrace._src.lax.bits import population_count as population_count
from evertrace._src.lax.bits import shift_left as shift_left
from evertrace._src.lax.bits import shift_right_arithmetic as shift_right_arithmetic
from evertrace._src.lax.bits import shift_right_logical as shift_right_logical
from evertrace._src.lax.branches import cond as cond
from evertrace._src.lax.branches import switch as switch
from evertrace._src.lax.collective import all_gather as all_gather
from evertrace._src.lax.collective import all_to_all as all_to_all
from evertrace._src.lax.collective import axis_index as axis_index
from evertrace._src.lax.collective import axis_size as axis_size
from evertrace._src.lax.collective import pbroadcast as pbroadcast
from evertrace._src.lax.collective import pmax as pmax
from evertrace._src.lax.collective import pmean as pmean
from evertrace._src.lax.collective import pmin as pmin
from evertrace._src.lax.collective import ppermute as ppermute
from evertrace._src.lax.collective import pshuffle as pshuffle
from evertrace._src.lax.collective import psum as psum
from evertrace._src.lax.collective import psum_scatter as psum_scatter
from evertrace._src.lax.collective import pswapaxes as pswapaxes
from evertrace._src.lax.compare import eq as eq
from evertrace._src.lax.compare import ge as ge
from evertrace._src.lax.compare import gt as gt
from evertrace._src.lax.compare import is_finite as is_finite
from evertrace._src.lax.compare import le as le
from evertrace._src.lax.compare import lt as lt
from evertrace._src.lax.compare import ne as ne
from evertrace._src.lax.conv import ConvDimensionNumbers as ConvDimensionNumbers
from evertrace._src.lax.conv import (
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
)
from evertrace._src.lax.conv import conv as conv
from evertrace._src.lax.conv import conv_dimension_numbers as conv_dimension_numbers
from evertrace._src.lax.conv import conv_general_dilated as conv_general_dilated
from evertrace._src.lax.conv import conv_general_dilated_local as conv_general_dilated_local
from evertrace._src.lax.conv import conv_general_dilated_patches as conv_general_dilated_patches
from evertrace._src.lax.conv import conv_general_permutations as conv_general_permutations
from evertrace._src.lax.conv import conv_general_shape_tuple as conv_general_shape_tuple
from evertrace._src.lax.conv import conv_shape_tuple as conv_shape_tuple
from evertrace._src.lax.conv import conv_transpose as conv_transpose
from evertrace._src.lax.conv import conv_transpose_shape_tuple as conv_transpose_shape_tuple
from evertrace._src.lax.conv import conv_with_general_padding as conv_with_general_padding
from evertrace._src.lax.convert import bitcast_convert_type as bitcast_convert_type
from evertrace._src.lax.convert import convert_element_type as convert_element_type
from evertrace._src.lax.convert import reduce_precision as reduce_precision
from evertrace._src.lax.convert import stop_gradient as stop_gradient
from evertrace._src.lax.creation import broadcasted_iota as broadcasted_iota
from evertrace._src.lax.creation import empty as empty
from evertrace._src.lax.creation import full as full
from evertrace._src.lax.creation import full_like as full_like
from evertrace._src.lax.creation import iota as iota
from evertrace._src.lax.cumulative import cumlogsumexp as cumlogsumexp
from evertrace._src.lax.cumulative import cummax as cummax
from evertrace._src.lax.cumulative import cummin as cummin
from evertrace._src.lax.cumulative import cumprod as cumprod
from evertrace._src.lax.cumulative import cumsum as cumsum
from evertrace._src.lax.dot import DotAlgorithm as DotAlgorithm
from evertrace._src.lax.dot import DotAlgorithmPreset as DotAlgorithmPreset
from evertrace._src.lax.dot import DotDimensionNumbers as DotDimensionNumbers
from evertrace._src.lax.dot import Precision as Precision
from evertrace._src.lax.dot import PrecisionLike as PrecisionLike
from evertrace._src.lax.dot import batch_matmul as batch_matmul
from evertrace._src.lax.dot import dot as dot
from evertrace._src.lax.dot import dot_general as dot_general
from evertrace._src.lax.dot import scaled_dot as scaled_dot
from evertrace._src.lax.elementwise import RoundingMethod as RoundingMethod
from evertrace._src.lax.elementwise import abs as abs
from evertrace._src.lax.elementwise import add as add
from evertrace._src.lax.elementwise import ceil as ceil
from evertrace._src.lax.elementwise import clamp as clamp
from evertrace._src.lax.elementwise import complex as complex
from evertrace._src.lax.elementwise import conj as conj
from evertrace._src.lax.elementwise import div as div
from evertrace._src.lax.elementwise import floor as floor
from evertrace._src.lax.elementwise import imag as imag
from evertrace._src.lax.elementwise import max as max
from evertrace._src.lax.elementwise import min as min
from evertrace._src.lax.elementwise import mul as mul
from evertrace._src.lax.elementwise import neg as neg
from evertrace._src.lax.elementwise import nextafter as nextafter
from evertrace._src.lax.elementwise import real as real
from evertrace._src.lax.elementwise import rem as rem
from evertrace._src.lax.elementwise import round as round
from evertrace._src.lax.elementwise import sign as sign
from evertrace._src.lax.elementwise import sub as sub
from evertrace._src.lax.fft import FftType as FftType
from evertrace._src.lax.fft import fft as fft
from evertrace._src.lax.fft import fft_p as fft_p
from evertrace._src.lax.functions import AccuracyMode as AccuracyMode
from evertrace._src.lax.functions import Tolerance as Tolerance
from evertrace._src.lax.functions import acos as acos
from evertrace._src.lax.functions import acosh as acosh
from evertrace._src.lax.functions import asin as asin
from evertrace._src.lax.functions import asinh as asinh
from evertrace._src.lax.functions import atan as atan
from evertrace._src.lax.functions import atan2 as atan2
from evertrace._src.lax.functions import atanh as atanh
from evertrace._src.lax.functions import cbrt as cbrt
from evertrace._src.lax.functions import cos as cos
from evertrace._src.lax.functions import cosh as cosh
from evertrace._src.lax.functions import exp as exp
from evertrace._src.lax.functions import exp2 as exp2
from evertrace._src.lax.functions import expm1 as expm1
from evertrace._src.lax.functions import integer_pow as integer_pow
from evertrace._src.lax.functions import log as log
from evertrace._src.lax.functions import log1p as log1p
from evertrace._src.lax.functions import logistic as logistic
from evertrace._src.lax.functions import pow as pow
from evertrace._src.lax.functions import reciprocal as reciprocal
from evertrace._src.lax.functions import rsqrt as rsqrt
from evertrace._src.lax.functions import sin as sin
from evertrace._src.lax.functions import sinh as sinh
from evertrace._src.lax.functions import sqrt as sqrt
from evertrace._src.lax.functions import square as square
from evertrace._src.lax.functions import tan as tan
from evertrace._src.lax.functions import tanh as tanh
from evertrace._src.lax.identity import broadcast_like as broadcast_like
from evertrace._src.lax.identity import dce_sink as dce_sink
from evertrace._src.lax.identity import shape_as_value as shape_as_value
from evertrace._src.lax.identity import stage as stage
from evertrace._src.lax.identity import with_sharding_constraint as with_sharding_constraint
from evertrace._src.lax.indexing import GatherDimensionNumbers as GatherDimensionNumbers
from evertrace._src.lax.indexing import GatherScatterMode as GatherScatterMode
from evertrace._src.lax.indexing import ScatterDimensionNumbers as ScatterDimensionNumbers
from evertrace._src.lax.indexing import gather as gather
from evertrace._src.lax.indexing import index_take as index_take
from evertrace._src.lax.indexing import scatter as scatter
from evertrace._src.lax.indexing import scatter_add as scatter_add
from evertrace._src.lax.indexing import scatter_apply as scatter_apply
from evertrace._src.lax.indexing import scatter_max as scatter_max
from evertrace._src.lax.indexing import scatter_min as scatter_min
from evertrace._src.lax.indexing import scatter_mul as scatter_mul
from evertrace._src.lax.indexing import scatter_sub as scatter_sub
from evertrace._src.lax.loops import fori_loop as fori_loop
from evertrace._src.lax.loops import map as map
from evertrace._src.lax.loops import scan as scan
from evertrace._src.lax.loops import while_loop as while_loop
from evertrace._src.lax.padding import padtype_to_pads as padtype_to_pads
from evertrace._src.lax.platform import platform_dependent as platform_dependent
from evertrace._src.lax.ragged import RaggedDotDimensionNumbers as RaggedDotDimensionNumbers
from evertrace._src.lax.ragged import ragged_dot as ragged_dot
from evertrace._src.lax.ragged import ragged_dot_general as ragged_dot_general
from evertrace._src.lax.reduce import argmax as argmax
from evertrace._src.lax.reduce import argmin as argmin
from evertrace._src.lax.reduce import reduce as reduce
from evertrace._src.lax.reduce import reduce_and as reduce_and
from evertrace._src.lax.reduce import reduce_max as reduce_max
from evertrace._src.lax.reduce import reduce_min as reduce_min
from evertrace._src.lax.reduce import reduce_or as reduce_or
from evertrace._src.lax.reduce import reduce_prod as reduce_prod
from evertrace._src.lax.reduce import reduce_sum as reduce_sum
from evertrace._src.lax.reduce import reduce_window as reduce_window
from evertrace._src.lax.reduce import reduce_window_shape_tuple as reduce_window_shape_tuple
from evertrace._src.lax.reduce import reduce_xor as reduce_xor
from evertrace._src.lax.select import select as select
from evertrace._src.lax.select import select_n as select_n
from evertrace._src.lax.shapes import broadcast_shapes as broadcast_shapes
from evertrace._src.lax.slicing import concatenate as concatenate
from evertrace._src.lax.slicing import dynamic_index_in_dim as dynamic_index_in_dim
from evertrace._src.lax.slicing import dynamic_slice as dynamic_slice
from evertrace._src.lax.slicing import dynamic_slice_in_dim as dynamic_slice_in_dim
from evertrace._src.lax.slicing import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from evertrace._src.lax.slicing import dynamic_update_slice as dynamic_update_slice
from evertrace._src.lax.slicing import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
from evertrace._src.lax.slicing import index_in_dim as index_in_dim
from evertrace._src.lax.slicing import pad as pad
from evertrace._src.lax.slicing import slice as slice
from evertrace._src.lax.slicing import slice_in_dim as slice_in_dim
from evertrace._src.lax.slicing import split as split
from evertrace._src.lax.slicing import stack as stack
from evertrace._src.lax.slicing import tile as tile
from evertrace._src.lax.slicing import unstack as unstack
from evertrace._src.lax.solves import custom_linear_solve as custom_linear_solve
from evertrace._src.lax.solves import custom_root as custom_root
from evertrace._src.lax.sort import approx_max_k as approx_max_k
from evertrace._src.lax.sort import approx_min_k as approx_min_k
from evertrace._src.lax.sort import sort as sort
from evertrace._src.lax.sort import sort_key_val as sort_key_val
from evertrace._src.lax.sort import top_k as top_k
from evertrace._src.lax.special import bessel_i0e as bessel_i0e
from evertrace._src.lax.special import bessel_i1e as bessel_i1e
from evertrace._src.lax.special import betainc as betainc
from evertrace._src.lax.special import digamma as digamma
from evertrace._src.lax.special import erf as erf
from evertrace._src.lax.special import erf_inv as erf_inv
from evertrace._src.lax.special import erfc as erfc
from evertrace._src.lax.special import igamma as igamma
from evertrace._src.lax.special import igamma_grad_a as igamma_grad_a
from evertrace._src.lax.special import igammac as igammac
from evertrace._src.lax.special import lgamma as lgamma
from evertrace._src.lax.special import polygamma as polygamma
from evertrace._src.lax.special import random_gamma_grad as random_gamma_grad
from evertrace._src.lax.special import zeta as zeta
from evertrace._src.lax.structural import broadcast as broadcast
from evertrace._src.lax.structural import broadcast_in_dim as broadcast_in_dim
from evertrace._src.lax.structural import broadcast_to_rank as broadcast_to_rank
from evertrace._src.lax.structural import collapse as collapse
from evertrace._src.lax.structural import expand_dims as expand_dims
from evertrace._src.lax.structural import reshape as reshape
from evertrace._src.lax.structural import rev as rev
from evertrace._src.lax.structural import squeeze as squeeze
from evertrace._src.lax.structural import transpose as transpose
from evertrace._src.ops.bit_generator import rng_bit_generator_p as rng_bit_generator_p
from evertrace._src.ops.bits import and_p as and_p
from evertrace._src.ops.bits import clz_p as clz_p
from evertrace._src.ops.bits import mulhi_p as mulhi_p
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
from evertrace._src.ops.gamma import igamma_grad_a_p as igamma_grad_a_p
from evertrace._src.ops.gamma import igamma_p as igamma_p
from evertrace._src.ops.gamma import igammac_p as igammac_p
from evertrace._src.ops.gamma import random_gamma_grad_p as random_gamma_grad_p
from evertrace._src.ops.gamma import regularized_incomplete_beta_p as regularized_incomplete_beta_p
from evertrace._src.ops.indexing import gather_p as gather_p
from evertrace._src.ops.indexing import scatter_add_p as scatter_add_p
from evertrace._src.ops.indexing import scatter_max_p as scatter_max_p
from evertrace._src.ops.indexing import scatter_min_p as scatter_min_p
from evertrace._src.ops.indexing import scatter_mul_p as scatter_mul_p
from evertrace._src.ops.indexing import scatter_p as scatter_p
from evertrace._src.ops.indexing import scatter_sub_p as scatter_sub_p
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
from evertrace._src.ops.sink import dce_sink_p as dce_sink_p
from evertrace._src.ops.slicing import concatenate_p as concatenate_p
from evertrace._src.ops.slicing import pad_p as pad_p
from evertrace._src.ops.slicing import slice_p as slice_p
from evertrace._src.ops.slicing import split_p as split_p
from evertrace._src.ops.slicing import stack_p as stack_p
from evertrace._src.ops.slicing import tile_p as tile_p
from evertrace._src.ops.slicing import unstack_p as unstack_p
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
from evertrace._src.ops.windows import reduce_window_max_p as reduce_window_max_p
from evertrace._src.ops.windows import reduce_window_min_p as reduce_window_min_p
from evertrace._src.ops.windows import reduce_window_sum_p as reduce_window_sum_p
from evertrace._src.ops.windows import select_and_gather_add_p as select_and_gather_add_p
from evertrace._src.ops.windows import select_and_scatter_add_p as select_and_scatter_add_p

from . import linalg as linalg

__all__ = [
    "AccuracyMode", "ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "DotAlgorithm",
    "DotAlgorithmPreset", "DotDimensionNumbers", "FftType", "GatherDimensionNumbers",
    "GatherScatterMode", "Precision", "PrecisionLike", "RaggedDotDimensionNumbers",
    "RandomAlgorithm", "RoundingMethod", "ScatterDimensionNumbers", "Tolerance", "abs", "abs_p",
    "acos", "acos_p", "acosh", "acosh_p", "add", "add_p", "all_gather", "all_gather_p",
    "all_to_all", "all_to_all_p", "and_p", "approx_max_k", "approx_min_k", "argmax", "argmax_p",
    "argmin", "argmin_p", "asin", "asin_p", "asinh", "asinh_p", "associative_scan", "atan", "atan2",
    "atan2_p", "atan_p", "atanh", "atanh_p", "axis_index", "axis_index_p", "axis_size",
    "batch_matmul", "bessel_i0e", "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p",
    "bitcast_convert_type", "bitcast_convert_type_p", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "broadcast", "broadcast_in_dim", "broadcast_in_dim_p", "broadcast_like",
    "broadcast_shapes", "broadcast_to_rank", "broadcasted_iota", "cbrt", "cbrt_p", "ceil", "ceil_p",
    "clamp", "clamp_p", "clz", "clz_p", "collapse", "complex", "complex_p", "composite",
    "concatenate", "concatenate_p", "cond", "cond_p", "conj", "conj_p", "conv",
    "conv_dimension_numbers", "conv_general_dilated", "conv_general_dilated_local",
    "conv_general_dilated_p", "conv_general_dilated_patches", "conv_general_permutations",
    "conv_general_shape_tuple", "conv_shape_tuple", "conv_transpose", "conv_transpose_shape_tuple",
    "conv_with_general_padding", "convert_element_type", "convert_element_type_p", "copy_p", "cos",
    "cos_p", "cosh", "cosh_p", "cumlogsumexp", "cumlogsumexp_p", "cummax", "cummax_p", "cummin",
    "cummin_p", "cumprod", "cumprod_p", "cumsum", "cumsum_p", "custom_linear_solve", "custom_root",
    "dce_sink", "dce_sink_p", "digamma", "digamma_p", "div", "div_p", "dot", "dot_general",
    "dot_general_p", "dtype", "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim",
    "dynamic_slice_p", "dynamic_update_index_in_dim", "dynamic_update_slice",
    "dynamic_update_slice_in_dim", "dynamic_update_slice_p", "empty", "eq", "eq_p", "eq_to_p",
    "erf", "erf_inv", "erf_inv_p", "erf_p", "erfc", "erfc_p", "exp", "exp2", "exp2_p", "exp_p",
    "expand_dims", "expm1", "expm1_p", "fft", "fft_p", "floor", "floor_p", "fori_loop", "full",
    "full_like", "gather", "gather_p", "ge", "ge_p", "gt", "gt_p", "imag", "imag_p", "index_in_dim",
    "index_take", "integer_pow", "integer_pow_p", "iota", "iota_p", "is_finite", "is_finite_p",
    "le", "le_p", "le_to_p", "lgamma", "lgamma_p", "linear_solve_p", "log", "log1p", "log1p_p",
    "log_p", "logistic", "logistic_p", "lt", "lt_p", "lt_to_p", "map", "max", "max_p", "min",
    "min_p", "mul", "mul_p", "mulhi", "mulhi_p", "ne", "ne_p", "neg", "neg_p", "nextafter",
    "nextafter_p", "not_p", "optimization_barrier", "optimization_barrier_p", "or_p", "pad",
    "pad_p", "padtype_to_pads", "pbroadcast", "platform_dependent", "pmax", "pmax_p", "pmean",
    "pmin", "pmin_p", "polygamma", "polygamma_p", "population_count", "population_count_p", "pow",
    "pow_p", "ppermute", "ppermute_p", "pshuffle", "psum", "psum_p", "psum_scatter", "pswapaxes",
    "ragged_dot", "ragged_dot_general", "real", "real_p", "reciprocal", "reduce", "reduce_and",
    "reduce_and_p", "reduce_max", "reduce_max_p", "reduce_min", "reduce_min_p", "reduce_or",
    "reduce_or_p", "reduce_p", "reduce_precision", "reduce_precision_p", "reduce_prod",
    "reduce_prod_p", "reduce_sum", "reduce_sum_p", "reduce_window", "reduce_window_max_p",
    "reduce_window_min_p", "reduce_window_p", "reduce_window_shape_tuple", "reduce_window_sum_p",
    "reduce_xor", "reduce_xor_p", "rem", "rem_p", "reshape", "reshape_p", "rev", "rev_p",
    "rng_bit_generator", "rng_bit_generator_p", "rng_uniform", "rng_uniform_p", "round", "round_p",
    "rsqrt", "rsqrt_p", "scaled_dot", "scan", "scan_p", "scatter", "scatter_add", "scatter_add_p",
    "scatter_apply", "scatter_max", "scatter_max_p", "scatter_min", "scatter_min_p", "scatter_mul",
    "scatter_mul_p", "scatter_p", "scatter_sub", "scatter_sub_p", "select",
    "select_and_gather_add_p", "select_and_scatter_add_p", "select_and_scatter_p", "select_n",
    "select_n_p",
    "shape_as_value", "sharding_constraint_p", "shift_left", "shift_left_p",
    "shift_right_arithmetic", "shift_right_arithmetic_p", "shift_right_logical",
    "shift_right_logical_p", "sign", "sign_p", "sin", "sin_p", "sinh", "sinh_p", "slice",
    "slice_in_dim", "slice_p", "sort", "sort_key_val", "sort_p", "split", "split_p", "sqrt",
    "sqrt_p", "square", "square_p", "squeeze", "squeeze_p", "stack", "stack_p", "stage",
    "stop_gradient", "stop_gradient_p", "sub", "sub_p", "switch", "tan", "tan_p", "tanh", "tanh_p",
    "tile", "tile_p", "top_k", "top_k_p", "transpose", "transpose_p", "unstack", "unstack_p",
    "while_loop", "while_p", "with_sharding_constraint", "xor_p", "zeta", "zeta_p",
]  # fmt: skip
