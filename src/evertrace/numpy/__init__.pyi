from evertrace._src.arrays.array import Array as ndarray
from evertrace._src.numpy.calculus import diff as diff
from evertrace._src.numpy.calculus import ediff1d as ediff1d
from evertrace._src.numpy.calculus import gradient as gradient
from evertrace._src.numpy.calculus import interp as interp
from evertrace._src.numpy.calculus import trapezoid as trapezoid
from evertrace._src.numpy.calculus import unwrap as unwrap
from evertrace._src.numpy.comparison import allclose as allclose
from evertrace._src.numpy.comparison import array_equal as array_equal
from evertrace._src.numpy.comparison import array_equiv as array_equiv
from evertrace._src.numpy.comparison import isclose as isclose
from evertrace._src.numpy.convolution import convolve as convolve
from evertrace._src.numpy.convolution import correlate as correlate
from evertrace._src.numpy.creation import arange as arange
from evertrace._src.numpy.creation import array as array
from evertrace._src.numpy.creation import asarray as asarray
from evertrace._src.numpy.creation import astype as astype
from evertrace._src.numpy.creation import copy as copy
from evertrace._src.numpy.creation import empty as empty
from evertrace._src.numpy.creation import empty_like as empty_like
from evertrace._src.numpy.creation import eye as eye
from evertrace._src.numpy.creation import from_dlpack as from_dlpack
from evertrace._src.numpy.creation import full as full
from evertrace._src.numpy.creation import full_like as full_like
from evertrace._src.numpy.creation import identity as identity
from evertrace._src.numpy.creation import ones as ones
from evertrace._src.numpy.creation import ones_like as ones_like
from evertrace._src.numpy.creation import zeros as zeros
from evertrace._src.numpy.creation import zeros_like as zeros_like
from evertrace._src.numpy.cumulative import cumprod as cumprod
from evertrace._src.numpy.cumulative import cumsum as cumsum
from evertrace._src.numpy.cumulative import cumulative_prod as cumulative_prod
from evertrace._src.numpy.cumulative import cumulative_sum as cumulative_sum
from evertrace._src.numpy.divisors import gcd as gcd
from evertrace._src.numpy.divisors import lcm as lcm
from evertrace._src.numpy.dtype_names import ComplexWarning as ComplexWarning
from evertrace._src.numpy.dtype_names import bfloat16 as bfloat16
from evertrace._src.numpy.dtype_names import bool_ as bool
from evertrace._src.numpy.dtype_names import bool_ as bool_
from evertrace._src.numpy.dtype_names import can_cast as can_cast
from evertrace._src.numpy.dtype_names import cdouble as cdouble
from evertrace._src.numpy.dtype_names import character as character
from evertrace._src.numpy.dtype_names import complex64 as complex64
from evertrace._src.numpy.dtype_names import complex128 as complex128
from evertrace._src.numpy.dtype_names import complex_ as complex_
from evertrace._src.numpy.dtype_names import complexfloating as complexfloating
from evertrace._src.numpy.dtype_names import csingle as csingle
from evertrace._src.numpy.dtype_names import double as double
from evertrace._src.numpy.dtype_names import dtype as dtype
from evertrace._src.numpy.dtype_names import e as e
from evertrace._src.numpy.dtype_names import euler_gamma as euler_gamma
from evertrace._src.numpy.dtype_names import finfo as finfo
from evertrace._src.numpy.dtype_names import flexible as flexible
from evertrace._src.numpy.dtype_names import float4_e2m1fn as float4_e2m1fn
from evertrace._src.numpy.dtype_names import float6_e2m3fn as float6_e2m3fn
from evertrace._src.numpy.dtype_names import float6_e3m2fn as float6_e3m2fn
from evertrace._src.numpy.dtype_names import float8_e3m4 as float8_e3m4
from evertrace._src.numpy.dtype_names import float8_e4m3 as float8_e4m3
from evertrace._src.numpy.dtype_names import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from evertrace._src.numpy.dtype_names import float8_e4m3fn as float8_e4m3fn
from evertrace._src.numpy.dtype_names import float8_e4m3fnuz as float8_e4m3fnuz
from evertrace._src.numpy.dtype_names import float8_e5m2 as float8_e5m2
from evertrace._src.numpy.dtype_names import float8_e5m2fnuz as float8_e5m2fnuz
from evertrace._src.numpy.dtype_names import float8_e8m0fnu as float8_e8m0fnu
from evertrace._src.numpy.dtype_names import float16 as float16
from evertrace._src.numpy.dtype_names import float32 as float32
from evertrace._src.numpy.dtype_names import float64 as float64
from evertrace._src.numpy.dtype_names import float_ as float_
from evertrace._src.numpy.dtype_names import floating as floating
from evertrace._src.numpy.dtype_names import generic as generic
from evertrace._src.numpy.dtype_names import iinfo as iinfo
from evertrace._src.numpy.dtype_names import inexact as inexact
from evertrace._src.numpy.dtype_names import inf as inf
from evertrace._src.numpy.dtype_names import int1 as int1
from evertrace._src.numpy.dtype_names import int2 as int2
from evertrace._src.numpy.dtype_names import int4 as int4
from evertrace._src.numpy.dtype_names import int8 as int8
from evertrace._src.numpy.dtype_names import int16 as int16
from evertrace._src.numpy.dtype_names import int32 as int32
from evertrace._src.numpy.dtype_names import int64 as int64
from evertrace._src.numpy.dtype_names import int_ as int_
from evertrace._src.numpy.dtype_names import integer as integer
from evertrace._src.numpy.dtype_names import isdtype as isdtype
from evertrace._src.numpy.dtype_names import issubdtype as issubdtype
from evertrace._src.numpy.dtype_names import nan as nan
from evertrace._src.numpy.dtype_names import newaxis as newaxis
from evertrace._src.numpy.dtype_names import number as number
from evertrace._src.numpy.dtype_names import object_ as object_
from evertrace._src.numpy.dtype_names import pi as pi
from evertrace._src.numpy.dtype_names import promote_types as promote_types
from evertrace._src.numpy.dtype_names import result_type as result_type
from evertrace._src.numpy.dtype_names import signedinteger as signedinteger
from evertrace._src.numpy.dtype_names import single as single
from evertrace._src.numpy.dtype_names import uint as uint
from evertrace._src.numpy.dtype_names import uint1 as uint1
from evertrace._src.numpy.dtype_names import uint2 as uint2
from evertrace._src.numpy.dtype_names import uint4 as uint4
from evertrace._src.numpy.dtype_names import uint8 as uint8
from evertrace._src.numpy.dtype_names import uint16 as uint16
from evertrace._src.numpy.dtype_names import uint32 as uint32
from evertrace._src.numpy.dtype_names import uint64 as uint64
from evertrace._src.numpy.dtype_names import unsignedinteger as unsignedinteger
from evertrace._src.numpy.einsum import einsum as einsum
from evertrace._src.numpy.einsum import einsum_path as einsum_path
from evertrace._src.numpy.elementary import angle as angle
from evertrace._src.numpy.elementary import around as around
from evertrace._src.numpy.elementary import ceil as ceil
from evertrace._src.numpy.elementary import clip as clip
from evertrace._src.numpy.elementary import conj as conj
from evertrace._src.numpy.elementary import conjugate as conjugate
from evertrace._src.numpy.elementary import deg2rad as deg2rad
from evertrace._src.numpy.elementary import degrees as degrees
from evertrace._src.numpy.elementary import floor as floor
from evertrace._src.numpy.elementary import fmax as fmax
from evertrace._src.numpy.elementary import fmin as fmin
from evertrace._src.numpy.elementary import heaviside as heaviside
from evertrace._src.numpy.elementary import hypot as hypot
from evertrace._src.numpy.elementary import i0 as i0
from evertrace._src.numpy.elementary import imag as imag
from evertrace._src.numpy.elementary import iscomplex as iscomplex
from evertrace._src.numpy.elementary import isfinite as isfinite
from evertrace._src.numpy.elementary import isinf as isinf
from evertrace._src.numpy.elementary import isnan as isnan
from evertrace._src.numpy.elementary import isneginf as isneginf
from evertrace._src.numpy.elementary import isposinf as isposinf
from evertrace._src.numpy.elementary import isreal as isreal
from evertrace._src.numpy.elementary import nan_to_num as nan_to_num
from evertrace._src.numpy.elementary import positive as positive
from evertrace._src.numpy.elementary import rad2deg as rad2deg
from evertrace._src.numpy.elementary import radians as radians
from evertrace._src.numpy.elementary import real as real
from evertrace._src.numpy.elementary import rint as rint
from evertrace._src.numpy.elementary import round as round
from evertrace._src.numpy.elementary import sinc as sinc
from evertrace._src.numpy.elementary import trunc as trunc
from evertrace._src.numpy.elementary import where as where
from evertrace._src.numpy.floats import copysign as copysign
from evertrace._src.numpy.floats import frexp as frexp
from evertrace._src.numpy.floats import ldexp as ldexp
from evertrace._src.numpy.floats import modf as modf
from evertrace._src.numpy.floats import signbit as signbit
from evertrace._src.numpy.floats import spacing as spacing
from evertrace._src.numpy.functional import apply_along_axis as apply_along_axis
from evertrace._src.numpy.functional import apply_over_axes as apply_over_axes
from evertrace._src.numpy.functional import choose as choose
from evertrace._src.numpy.functional import fromfunction as fromfunction
from evertrace._src.numpy.functional import piecewise as piecewise
from evertrace._src.numpy.functional import select as select
from evertrace._src.numpy.functional import vectorize as vectorize
from evertrace._src.numpy.grids import diag as diag
from evertrace._src.numpy.grids import diag_indices as diag_indices
from evertrace._src.numpy.grids import diag_indices_from as diag_indices_from
from evertrace._src.numpy.grids import diagflat as diagflat
from evertrace._src.numpy.grids import index_exp as index_exp
from evertrace._src.numpy.grids import indices as indices
from evertrace._src.numpy.grids import ix_ as ix_
from evertrace._src.numpy.grids import mask_indices as mask_indices
from evertrace._src.numpy.grids import meshgrid as meshgrid
from evertrace._src.numpy.grids import mgrid as mgrid
from evertrace._src.numpy.grids import ogrid as ogrid
from evertrace._src.numpy.grids import ravel_multi_index as ravel_multi_index
from evertrace._src.numpy.grids import s_ as s_
from evertrace._src.numpy.grids import tri as tri
from evertrace._src.numpy.grids import tril as tril
from evertrace._src.numpy.grids import tril_indices as tril_indices
from evertrace._src.numpy.grids import tril_indices_from as tril_indices_from
from evertrace._src.numpy.grids import triu as triu
from evertrace._src.numpy.grids import triu_indices as triu_indices
from evertrace._src.numpy.grids import triu_indices_from as triu_indices_from
from evertrace._src.numpy.grids import unravel_index as unravel_index
from evertrace._src.numpy.histograms import bincount as bincount
from evertrace._src.numpy.histograms import histogram as histogram
from evertrace._src.numpy.histograms import histogram2d as histogram2d
from evertrace._src.numpy.histograms import histogram_bin_edges as histogram_bin_edges
from evertrace._src.numpy.histograms import histogramdd as histogramdd
from evertrace._src.numpy.indexing import diagonal as diagonal
from evertrace._src.numpy.indexing import take as take
from evertrace._src.numpy.indexing import take_along_axis as take_along_axis
from evertrace._src.numpy.insertion import append as append
from evertrace._src.numpy.insertion import delete as delete
from evertrace._src.numpy.insertion import insert as insert
from evertrace._src.numpy.inspection import array_repr as array_repr
from evertrace._src.numpy.inspection import array_str as array_str
from evertrace._src.numpy.inspection import get_printoptions as get_printoptions
from evertrace._src.numpy.inspection import iscomplexobj as iscomplexobj
from evertrace._src.numpy.inspection import isrealobj as isrealobj
from evertrace._src.numpy.inspection import isscalar as isscalar
from evertrace._src.numpy.inspection import iterable as iterable
from evertrace._src.numpy.inspection import load as load
from evertrace._src.numpy.inspection import ndim as ndim
from evertrace._src.numpy.inspection import printoptions as printoptions
from evertrace._src.numpy.inspection import save as save
from evertrace._src.numpy.inspection import savez as savez
from evertrace._src.numpy.inspection import set_printoptions as set_printoptions
from evertrace._src.numpy.inspection import shape as shape
from evertrace._src.numpy.inspection import size as size
from evertrace._src.numpy.joining import array_split as array_split
from evertrace._src.numpy.joining import block as block
from evertrace._src.numpy.joining import c_ as c_
from evertrace._src.numpy.joining import column_stack as column_stack
from evertrace._src.numpy.joining import concat as concat
from evertrace._src.numpy.joining import concatenate as concatenate
from evertrace._src.numpy.joining import dsplit as dsplit
from evertrace._src.numpy.joining import dstack as dstack
from evertrace._src.numpy.joining import hsplit as hsplit
from evertrace._src.numpy.joining import hstack as hstack
from evertrace._src.numpy.joining import r_ as r_
from evertrace._src.numpy.joining import split as split
from evertrace._src.numpy.joining import stack as stack
from evertrace._src.numpy.joining import vsplit as vsplit
from evertrace._src.numpy.joining import vstack as vstack
from evertrace._src.numpy.namespace_info import API_VERSION as __array_api_version__
from evertrace._src.numpy.namespace_info import array_namespace_info as __array_namespace_info__
from evertrace._src.numpy.nanreductions import nanargmax as nanargmax
from evertrace._src.numpy.nanreductions import nanargmin as nanargmin
from evertrace._src.numpy.nanreductions import nancumprod as nancumprod
from evertrace._src.numpy.nanreductions import nancumsum as nancumsum
from evertrace._src.numpy.nanreductions import nanmax as nanmax
from evertrace._src.numpy.nanreductions import nanmean as nanmean
from evertrace._src.numpy.nanreductions import nanmin as nanmin
from evertrace._src.numpy.nanreductions import nanprod as nanprod
from evertrace._src.numpy.nanreductions import nanstd as nanstd
from evertrace._src.numpy.nanreductions import nansum as nansum
from evertrace._src.numpy.nanreductions import nanvar as nanvar
from evertrace._src.numpy.nonzeros import argwhere as argwhere
from evertrace._src.numpy.nonzeros import flatnonzero as flatnonzero
from evertrace._src.numpy.nonzeros import nonzero as nonzero
from evertrace._src.numpy.packing import packbits as packbits
from evertrace._src.numpy.packing import unpackbits as unpackbits
from evertrace._src.numpy.padding import pad as pad
from evertrace._src.numpy.polynomial import poly as poly
from evertrace._src.numpy.polynomial import polyadd as polyadd
from evertrace._src.numpy.polynomial import polyder as polyder
from evertrace._src.numpy.polynomial import polydiv as polydiv
from evertrace._src.numpy.polynomial import polyfit as polyfit
from evertrace._src.numpy.polynomial import polyint as polyint
from evertrace._src.numpy.polynomial import polymul as polymul
from evertrace._src.numpy.polynomial import polysub as polysub
from evertrace._src.numpy.polynomial import polyval as polyval
from evertrace._src.numpy.polynomial import roots as roots
from evertrace._src.numpy.polynomial import vander as vander
from evertrace._src.numpy.products import cross as cross
from evertrace._src.numpy.products import dot as dot
from evertrace._src.numpy.products import inner as inner
from evertrace._src.numpy.products import kron as kron
from evertrace._src.numpy.products import matmul as matmul
from evertrace._src.numpy.products import matvec as matvec
from evertrace._src.numpy.products import outer as outer
from evertrace._src.numpy.products import tensordot as tensordot
from evertrace._src.numpy.products import trace as trace
from evertrace._src.numpy.products import vdot as vdot
from evertrace._src.numpy.products import vecdot as vecdot
from evertrace._src.numpy.products import vecmat as vecmat
from evertrace._src.numpy.quantiles import median as median
from evertrace._src.numpy.quantiles import nanmedian as nanmedian
from evertrace._src.numpy.quantiles import nanpercentile as nanpercentile
from evertrace._src.numpy.quantiles import nanquantile as nanquantile
from evertrace._src.numpy.quantiles import percentile as percentile
from evertrace._src.numpy.quantiles import quantile as quantile
from evertrace._src.numpy.reading import frombuffer as frombuffer
from evertrace._src.numpy.reading import fromfile as fromfile
from evertrace._src.numpy.reading import fromiter as fromiter
from evertrace._src.numpy.reading import fromstring as fromstring
from evertrace._src.numpy.reductions import all as all
from evertrace._src.numpy.reductions import amax as amax
from evertrace._src.numpy.reductions import amin as amin
from evertrace._src.numpy.reductions import any as any
from evertrace._src.numpy.reductions import argmax as argmax
from evertrace._src.numpy.reductions import argmin as argmin
from evertrace._src.numpy.reductions import count_nonzero as count_nonzero
from evertrace._src.numpy.reductions import max as max
from evertrace._src.numpy.reductions import mean as mean
from evertrace._src.numpy.reductions import min as min
from evertrace._src.numpy.reductions import prod as prod
from evertrace._src.numpy.reductions import ptp as ptp
from evertrace._src.numpy.reductions import sum as sum
from evertrace._src.numpy.repeating import repeat as repeat
from evertrace._src.numpy.repeating import resize as resize
from evertrace._src.numpy.repeating import roll as roll
from evertrace._src.numpy.repeating import tile as tile
from evertrace._src.numpy.search import compress as compress
from evertrace._src.numpy.search import digitize as digitize
from evertrace._src.numpy.search import extract as extract
from evertrace._src.numpy.search import searchsorted as searchsorted
from evertrace._src.numpy.sets import intersect1d as intersect1d
from evertrace._src.numpy.sets import isin as isin
from evertrace._src.numpy.sets import setdiff1d as setdiff1d
from evertrace._src.numpy.sets import setxor1d as setxor1d
from evertrace._src.numpy.sets import union1d as union1d
from evertrace._src.numpy.sets import unique as unique
from evertrace._src.numpy.sets import unique_all as unique_all
from evertrace._src.numpy.sets import unique_counts as unique_counts
from evertrace._src.numpy.sets import unique_inverse as unique_inverse
from evertrace._src.numpy.sets import unique_values as unique_values
from evertrace._src.numpy.shape import atleast_1d as atleast_1d
from evertrace._src.numpy.shape import atleast_2d as atleast_2d
from evertrace._src.numpy.shape import atleast_3d as atleast_3d
from evertrace._src.numpy.shape import broadcast_arrays as broadcast_arrays
from evertrace._src.numpy.shape import broadcast_shapes as broadcast_shapes
from evertrace._src.numpy.shape import broadcast_to as broadcast_to
from evertrace._src.numpy.shape import expand_dims as expand_dims
from evertrace._src.numpy.shape import flip as flip
from evertrace._src.numpy.shape import fliplr as fliplr
from evertrace._src.numpy.shape import flipud as flipud
from evertrace._src.numpy.shape import matrix_transpose as matrix_transpose
from evertrace._src.numpy.shape import moveaxis as moveaxis
from evertrace._src.numpy.shape import permute_dims as permute_dims
from evertrace._src.numpy.shape import ravel as ravel
from evertrace._src.numpy.shape import reshape as reshape
from evertrace._src.numpy.shape import rollaxis as rollaxis
from evertrace._src.numpy.shape import rot90 as rot90
from evertrace._src.numpy.shape import squeeze as squeeze
from evertrace._src.numpy.shape import swapaxes as swapaxes
from evertrace._src.numpy.shape import transpose as transpose
from evertrace._src.numpy.shape import trim_zeros as trim_zeros
from evertrace._src.numpy.shape import unstack as unstack
from evertrace._src.numpy.sorting import argpartition as argpartition
from evertrace._src.numpy.sorting import argsort as argsort
from evertrace._src.numpy.sorting import lexsort as lexsort
from evertrace._src.numpy.sorting import partition as partition
from evertrace._src.numpy.sorting import sort as sort
from evertrace._src.numpy.sorting import sort_complex as sort_complex
from evertrace._src.numpy.spaced import geomspace as geomspace
from evertrace._src.numpy.spaced import linspace as linspace
from evertrace._src.numpy.spaced import logspace as logspace
from evertrace._src.numpy.statistics import average as average
from evertrace._src.numpy.statistics import corrcoef as corrcoef
from evertrace._src.numpy.statistics import cov as cov
from evertrace._src.numpy.ufunc_class import frompyfunc as frompyfunc
from evertrace._src.numpy.ufunc_class import ufunc as ufunc
from evertrace._src.numpy.ufunc_objects import add as add
from evertrace._src.numpy.ufunc_objects import bitwise_and as bitwise_and
from evertrace._src.numpy.ufunc_objects import bitwise_or as bitwise_or
from evertrace._src.numpy.ufunc_objects import bitwise_xor as bitwise_xor
from evertrace._src.numpy.ufunc_objects import logaddexp as logaddexp
from evertrace._src.numpy.ufunc_objects import logaddexp2 as logaddexp2
from evertrace._src.numpy.ufunc_objects import logical_and as logical_and
from evertrace._src.numpy.ufunc_objects import logical_or as logical_or
from evertrace._src.numpy.ufunc_objects import logical_xor as logical_xor
from evertrace._src.numpy.ufunc_objects import maximum as maximum
from evertrace._src.numpy.ufunc_objects import minimum as minimum
from evertrace._src.numpy.ufunc_objects import multiply as multiply
from evertrace._src.numpy.ufunc_objects import negative as negative
from evertrace._src.numpy.ufunc_objects import subtract as subtract
from evertrace._src.numpy.ufuncs import abs as abs
from evertrace._src.numpy.ufuncs import absolute as absolute
from evertrace._src.numpy.ufuncs import acos as acos
from evertrace._src.numpy.ufuncs import acosh as acosh
from evertrace._src.numpy.ufuncs import arccos as arccos
from evertrace._src.numpy.ufuncs import arccosh as arccosh
from evertrace._src.numpy.ufuncs import arcsin as arcsin
from evertrace._src.numpy.ufuncs import arcsinh as arcsinh
from evertrace._src.numpy.ufuncs import arctan as arctan
from evertrace._src.numpy.ufuncs import arctan2 as arctan2
from evertrace._src.numpy.ufuncs import arctanh as arctanh
from evertrace._src.numpy.ufuncs import asin as asin
from evertrace._src.numpy.ufuncs import asinh as asinh
from evertrace._src.numpy.ufuncs import atan as atan
from evertrace._src.numpy.ufuncs import atan2 as atan2
from evertrace._src.numpy.ufuncs import atanh as atanh
from evertrace._src.numpy.ufuncs import bitwise_count as bitwise_count
from evertrace._src.numpy.ufuncs import bitwise_invert as bitwise_invert
from evertrace._src.numpy.ufuncs import bitwise_left_shift as bitwise_left_shift
from evertrace._src.numpy.ufuncs import bitwise_not as bitwise_not
from evertrace._src.numpy.ufuncs import bitwise_right_shift as bitwise_right_shift
from evertrace._src.numpy.ufuncs import cbrt as cbrt
from evertrace._src.numpy.ufuncs import cos as cos
from evertrace._src.numpy.ufuncs import cosh as cosh
from evertrace._src.numpy.ufuncs import divide as divide
from evertrace._src.numpy.ufuncs import divmod as divmod
from evertrace._src.numpy.ufuncs import equal as equal
from evertrace._src.numpy.ufuncs import exp as exp
from evertrace._src.numpy.ufuncs import exp2 as exp2
from evertrace._src.numpy.ufuncs import expm1 as expm1
from evertrace._src.numpy.ufuncs import fabs as fabs
from evertrace._src.numpy.ufuncs import float_power as float_power
from evertrace._src.numpy.ufuncs import floor_divide as floor_divide
from evertrace._src.numpy.ufuncs import fmod as fmod
from evertrace._src.numpy.ufuncs import greater as greater
from evertrace._src.numpy.ufuncs import greater_equal as greater_equal
from evertrace._src.numpy.ufuncs import invert as invert
from evertrace._src.numpy.ufuncs import left_shift as left_shift
from evertrace._src.numpy.ufuncs import less as less
from evertrace._src.numpy.ufuncs import less_equal as less_equal
from evertrace._src.numpy.ufuncs import log as log
from evertrace._src.numpy.ufuncs import log1p as log1p
from evertrace._src.numpy.ufuncs import log2 as log2
from evertrace._src.numpy.ufuncs import log10 as log10
from evertrace._src.numpy.ufuncs import logical_not as logical_not
from evertrace._src.numpy.ufuncs import mod as mod
from evertrace._src.numpy.ufuncs import nextafter as nextafter
from evertrace._src.numpy.ufuncs import not_equal as not_equal
from evertrace._src.numpy.ufuncs import pow as pow
from evertrace._src.numpy.ufuncs import power as power
from evertrace._src.numpy.ufuncs import reciprocal as reciprocal
from evertrace._src.numpy.ufuncs import remainder as remainder
from evertrace._src.numpy.ufuncs import right_shift as right_shift
from evertrace._src.numpy.ufuncs import sign as sign
from evertrace._src.numpy.ufuncs import sin as sin
from evertrace._src.numpy.ufuncs import sinh as sinh
from evertrace._src.numpy.ufuncs import sqrt as sqrt
from evertrace._src.numpy.ufuncs import square as square
from evertrace._src.numpy.ufuncs import tan as tan
from evertrace._src.numpy.ufuncs import tanh as tanh
from evertrace._src.numpy.ufuncs import true_divide as true_divide
from evertrace._src.numpy.updates import fill_diagonal as fill_diagonal
from evertrace._src.numpy.updates import place as place
from evertrace._src.numpy.updates import put as put
from evertrace._src.numpy.updates import put_along_axis as put_along_axis
from evertrace._src.numpy.variance import std as std
from evertrace._src.numpy.variance import var as var
from evertrace._src.numpy.windows import bartlett as bartlett
from evertrace._src.numpy.windows import blackman as blackman
from evertrace._src.numpy.windows import hamming as hamming
from evertrace._src.numpy.windows import hanning as hanning
from evertrace._src.numpy.windows import kaiser as kaiser

from . import fft as fft
from . import linalg as linalg

__all__ = [
    "ComplexWarning", "__array_api_version__", "__array_namespace_info__", "abs", "absolute",
    "acos", "acosh", "add", "all", "allclose", "amax", "amin", "angle", "any", "append",
    "apply_along_axis", "apply_over_axes", "arange", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "argmax", "argmin", "argpartition", "argsort", "argwhere",
    "around", "array", "array_equal", "array_equiv", "array_repr", "array_split", "array_str",
    "asarray", "asin", "asinh", "astype", "atan", "atan2", "atanh", "atleast_1d", "atleast_2d",
    "atleast_3d", "average", "bartlett", "bfloat16", "bincount", "bitwise_and", "bitwise_count",
    "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "blackman", "block", "bool", "bool_", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "c_", "can_cast", "cbrt", "cdouble", "ceil", "character", "choose", "clip",
    "column_stack", "complex64", "complex128", "complex_", "complexfloating", "compress", "concat",
    "concatenate", "conj", "conjugate", "convolve", "copy", "copysign", "corrcoef", "correlate",
    "cos", "cosh", "count_nonzero", "cov", "cross", "csingle", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "deg2rad", "degrees", "delete", "diag", "diag_indices",
    "diag_indices_from", "diagflat", "diagonal", "diff", "digitize", "divide", "divmod", "dot",
    "double", "dsplit", "dstack", "dtype", "e", "ediff1d", "einsum", "einsum_path", "empty",
    "empty_like", "equal", "euler_gamma", "exp", "exp2", "expand_dims", "expm1", "extract", "eye",
    "fabs", "fft", "fill_diagonal", "finfo", "flatnonzero", "flexible", "flip", "fliplr", "flipud",
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3",
    "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu", "float16", "float32", "float64", "float_", "float_power", "floating",
    "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp", "from_dlpack", "frombuffer",
    "fromfile", "fromfunction", "fromiter", "frompyfunc", "fromstring", "full", "full_like", "gcd",
    "generic", "geomspace", "get_printoptions", "gradient", "greater", "greater_equal", "hamming",
    "hanning", "heaviside", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd",
    "hsplit", "hstack", "hypot", "i0", "identity", "iinfo", "imag", "index_exp", "indices",
    "inexact", "inf", "inner", "insert", "int1", "int2", "int4", "int8", "int16", "int32", "int64",
    "int_", "integer", "interp", "intersect1d", "invert", "isclose", "iscomplex", "iscomplexobj",
    "isdtype", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal", "isrealobj",
    "isscalar", "issubdtype", "iterable", "ix_", "kaiser", "kron", "lcm", "ldexp", "left_shift",
    "less", "less_equal", "lexsort", "linalg", "linspace", "load", "log", "log1p", "log2", "log10",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor",
    "logspace", "mask_indices", "matmul", "matrix_transpose", "matvec", "max", "maximum", "mean",
    "median", "meshgrid", "mgrid", "min", "minimum", "mod", "modf", "moveaxis", "multiply", "nan",
    "nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean",
    "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar",
    "ndarray", "ndim", "negative", "newaxis", "nextafter", "nonzero", "not_equal", "number",
    "object_", "ogrid", "ones", "ones_like", "outer", "packbits", "pad", "partition", "percentile",
    "permute_dims", "pi", "piecewise", "place", "poly", "polyadd", "polyder", "polydiv", "polyfit",
    "polyint", "polymul", "polysub", "polyval", "positive", "pow", "power", "printoptions", "prod",
    "promote_types", "ptp", "put", "put_along_axis", "quantile", "r_", "rad2deg", "radians",
    "ravel", "ravel_multi_index", "real", "reciprocal", "remainder", "repeat", "reshape", "resize",
    "result_type", "right_shift", "rint", "roll", "rollaxis", "roots", "rot90", "round", "s_",
    "save", "savez", "searchsorted", "select", "set_printoptions", "setdiff1d", "setxor1d",
    "shape", "sign", "signbit", "signedinteger", "sin", "sinc", "single", "sinh", "size", "sort",
    "sort_complex", "spacing", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract",
    "sum", "swapaxes", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "trace",
    "transpose", "trapezoid", "tri", "tril", "tril_indices", "tril_indices_from", "trim_zeros",
    "triu", "triu_indices", "triu_indices_from", "true_divide", "trunc", "ufunc", "uint", "uint1",
    "uint2", "uint4", "uint8", "uint16", "uint32", "uint64", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "unpackbits", "unravel_index",
    "unsignedinteger", "unstack", "unwrap", "vander", "var", "vdot", "vecdot", "vecmat",
    "vectorize", "vsplit", "vstack", "where", "zeros", "zeros_like",
]  # fmt: skip
