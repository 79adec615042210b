"""The docstrings of elementwise functions: what all have in common, and an example for each."""

from evertrace._src.numpy.promotion import bool_dtype, common_dtype, inexact_dtype, numeric_dtype

_PREPARED = {  # what happens to one operand, and to two
    common_dtype: ("", ", and dtypes are promoted to one"),
    inexact_dtype: (
        "; integers and booleans become floats",
        ", and dtypes are promoted to a floating one",
    ),
    numeric_dtype: ("; booleans become integers", ", and dtypes are promoted to one of numbers"),
    bool_dtype: ("; what is not 0 is true", "; what is not 0 is true"),
}

_UNARY = """\
Args:
  x: array or scalar{prepared}.
  out: must be None.
  where: must be None.

Returns:
  Array of the shape of `x`.

Raises:
  TypeError: `x` is no array, for instance a list, which NumPy would take.
  DTypeError: the function is not defined for its dtype."""

_BINARY = """\
Args:
  x: array or scalar.
  y: array or scalar. Shapes broadcast{prepared}.
  out: must be None.
  where: must be None.

Returns:
  Array of the common shape.

Raises:
  TypeError: an operand is no array, for instance a list, which NumPy would take.
  ShapeError: the shapes do not broadcast.
  DTypeError: the function is not defined for the common dtype."""


def documented(name, summary, promotion, is_binary):
    """Return the docstring of an elementwise function.

    Args:
      name: of the function.
      summary: what it returns.
      promotion: how its operands are prepared.
      is_binary: whether it has two of them.
    """
    prepared = _PREPARED[promotion.dtype_rule][is_binary]
    text = (_BINARY if is_binary else _UNARY).format(prepared=prepared)
    example = _EXAMPLES.get(name)
    return f"{summary}\n\n{text}" + (f"\n\nExample:\n{example}" if example else "")


def _read(table):
    """Split a table into the examples below each name."""
    found, name = {}, ""
    for line in table.strip().split("\n"):
        if line.startswith(" "):
            found[name].append(line)
        else:
            name = line
            found[name] = []
    return {name: "\n".join(lines) for name, lines in found.items()}


_EXAMPLES = _read("""
add
  >>> jnp.add(jnp.array([[1], [2]]), jnp.array([10, 20]))
  Array([[11, 21],
         [12, 22]], dtype=int32)
  >>> jnp.add.reduce(jnp.array([[1, 2], [3, 4]]), axis=1)
  Array([3, 7], dtype=int32)
subtract
  >>> jnp.subtract(jnp.array([5, 7]), jnp.array([1, 2.5]))
  Array([4. , 4.5], dtype=float32)
  >>> jnp.subtract.at(jnp.array([10, 20]), jnp.array([0, 0]), 1, inplace=False)
  Array([ 8, 20], dtype=int32)
multiply
  >>> jnp.multiply(jnp.array([1, 2, 3]), 10)
  Array([10, 20, 30], dtype=int32)
  >>> jnp.multiply.outer(jnp.array([1, 2]), jnp.array([3, 4]))
  Array([[3, 4],
         [6, 8]], dtype=int32)
divide
  >>> jnp.divide(jnp.array([1, 2, 3]), 2)
  Array([0.5, 1. , 1.5], dtype=float32)
negative
  >>> jnp.negative(jnp.array([1, -2]))
  Array([-1,  2], dtype=int32)
square
  >>> jnp.square(jnp.array([1 + 1j, 2]))
  Array([0.+2.j, 4.+0.j], dtype=complex64)
absolute
  >>> jnp.absolute(jnp.array([-2, 3])), jnp.absolute(3 + 4j)
  (Array([2, 3], dtype=int32), Array(5., dtype=float32, weak_type=True))
fabs
  >>> jnp.fabs(jnp.array([-2, 3]))
  Array([2., 3.], dtype=float32)
sign
  >>> jnp.sign(jnp.array([-2.5, 0.0, 7.0]))
  Array([-1.,  0.,  1.], dtype=float32)
reciprocal
  >>> jnp.reciprocal(jnp.array([2, 4]))
  Array([0.5 , 0.25], dtype=float32)
floor_divide
  >>> jnp.floor_divide(jnp.array([7, -7]), 2)
  Array([ 3, -4], dtype=int32)
fmod
  >>> jnp.fmod(jnp.array([7, -7]), 3)
  Array([ 1, -1], dtype=int32)
remainder
  >>> jnp.remainder(jnp.array([7, -7]), 3)
  Array([1, 2], dtype=int32)
float_power
  >>> jnp.float_power(jnp.array([2, 3]), -1)
  Array([0.5       , 0.33333334], dtype=float32)
maximum
  >>> jnp.maximum(jnp.array([1.0, 5.0, jnp.nan]), 3)
  Array([ 3.,  5., nan], dtype=float32)
  >>> jnp.maximum.accumulate(jnp.array([1, 3, 2, 5]))
  Array([1, 3, 3, 5], dtype=int32)
minimum
  >>> jnp.minimum(jnp.array([1.0, 5.0, jnp.nan]), 3)
  Array([ 1.,  3., nan], dtype=float32)
exp
  >>> jnp.exp(jnp.array([0, 1]))
  Array([1.      , 2.718282], dtype=float32)
exp2
  >>> jnp.exp2(jnp.array([-1, 3]))
  Array([0.5, 8. ], dtype=float32)
expm1
  >>> jnp.expm1(jnp.array([1e-3, 1.0]))
  Array([1.0005003e-03, 1.7182819e+00], dtype=float32)
log
  >>> jnp.log(jnp.array([1.0, 2.0, 0.0]))
  Array([0.       , 0.6931472,      -inf], dtype=float32)
log1p
  >>> jnp.log1p(jnp.array([1e-3, 1.0]))
  Array([0.0009995, 0.6931472], dtype=float32)
log2
  >>> jnp.log2(jnp.array([1, 8]))
  Array([0., 3.], dtype=float32)
log10
  >>> jnp.log10(jnp.array([1, 1000]))
  Array([0., 3.], dtype=float32)
sqrt
  >>> jnp.sqrt(jnp.array([4.0, 2.0, -1.0]))
  Array([2.       , 1.4142135,       nan], dtype=float32)
cbrt
  >>> jnp.cbrt(jnp.array([8.0, -1.0]))
  Array([ 2., -1.], dtype=float32)
sin
  >>> jnp.sin(jnp.array([0.0, jnp.pi / 6, jnp.pi / 2]))
  Array([0. , 0.5, 1. ], dtype=float32)
cos
  >>> jnp.cos(jnp.array([0.0, jnp.pi]))
  Array([ 1., -1.], dtype=float32)
tan
  >>> jnp.tan(jnp.array([0.0, jnp.pi / 4]))
  Array([0., 1.], dtype=float32)
arcsin
  >>> jnp.arcsin(jnp.array([0.5, 1.0, 2.0]))
  Array([0.5235988, 1.5707964,       nan], dtype=float32)
arccos
  >>> jnp.arccos(jnp.array([1.0, 0.5, 2.0]))
  Array([0.       , 1.0471976,       nan], dtype=float32)
arctan
  >>> jnp.arctan(jnp.array([1.0, jnp.inf]))
  Array([0.7853982, 1.5707964], dtype=float32)
arctan2
  >>> jnp.arctan2(jnp.array([1.0, 1.0, -1.0]), jnp.array([1.0, -1.0, -1.0]))
  Array([ 0.7853981,  2.3561945, -2.3561945], dtype=float32)
sinh
  >>> jnp.sinh(jnp.array([0.0, 1.0]))
  Array([0.       , 1.1752012], dtype=float32)
cosh
  >>> jnp.cosh(jnp.array([0.0, 1.0]))
  Array([1.       , 1.5430807], dtype=float32)
tanh
  >>> jnp.tanh(jnp.array([0.5, 50.0]))
  Array([0.4621172, 1.       ], dtype=float32)
arcsinh
  >>> jnp.arcsinh(jnp.array([0.0, 1.0]))
  Array([0.       , 0.8813736], dtype=float32)
arccosh
  >>> jnp.arccosh(jnp.array([1.0, 2.0, 0.5]))
  Array([0.      , 1.316958,      nan], dtype=float32)
arctanh
  >>> jnp.arctanh(jnp.array([0.5, 1.0, 2.0]))
  Array([0.54930615,        inf,        nan], dtype=float32)
nextafter
  >>> jnp.nextafter(1.0, 2.0) - 1.0
  Array(1.1920929e-07, dtype=float32, weak_type=True)
equal
  >>> jnp.equal(jnp.array([1, 2, 3]), jnp.array([1.0, 2.5, 3.0]))
  Array([ True, False,  True], dtype=bool)
not_equal
  >>> jnp.not_equal(jnp.array([1.0, jnp.nan]), jnp.array([1.0, jnp.nan]))
  Array([False,  True], dtype=bool)
less
  >>> jnp.less(jnp.array([1, 2, 3]), 2)
  Array([ True, False, False], dtype=bool)
less_equal
  >>> jnp.less_equal(jnp.array([1, 2, 3]), 2)
  Array([ True,  True, False], dtype=bool)
greater
  >>> jnp.greater(jnp.array([1, 2, 3]), 2)
  Array([False, False,  True], dtype=bool)
greater_equal
  >>> jnp.greater_equal(jnp.array([1, 2, 3]), 2)
  Array([False,  True,  True], dtype=bool)
logical_and
  >>> jnp.logical_and(jnp.array([0, 1, 2]), True)
  Array([False,  True,  True], dtype=bool)
logical_or
  >>> jnp.logical_or(jnp.array([0, 1, 2]), jnp.array([0.0, 0.0, 0.5]))
  Array([False,  True,  True], dtype=bool)
logical_xor
  >>> jnp.logical_xor(jnp.array([0, 1, 2]), True)
  Array([ True, False, False], dtype=bool)
logical_not
  >>> jnp.logical_not(jnp.array([0, 1, 2]))
  Array([ True, False, False], dtype=bool)
bitwise_and
  >>> jnp.bitwise_and(jnp.array([5, 6]), 3)
  Array([1, 2], dtype=int32)
bitwise_or
  >>> jnp.bitwise_or(jnp.array([5, 6]), 3)
  Array([7, 7], dtype=int32)
bitwise_xor
  >>> jnp.bitwise_xor(jnp.array([5, 6]), 3)
  Array([6, 5], dtype=int32)
bitwise_not
  >>> jnp.bitwise_not(jnp.array([0, 5])), jnp.bitwise_not(jnp.array([True, False]))
  (Array([-1, -6], dtype=int32), Array([False,  True], dtype=bool))
left_shift
  >>> jnp.left_shift(jnp.array([1, 3]), 4)
  Array([16, 48], dtype=int32)
right_shift
  >>> jnp.right_shift(jnp.array([40, -40]), 3)
  Array([ 5, -5], dtype=int32)
bitwise_count
  >>> jnp.bitwise_count(jnp.array([0, 7, -8]))
  Array([0, 3, 1], dtype=uint8)
floor
  >>> jnp.floor(jnp.array([1.7, -1.7]))
  Array([ 1., -2.], dtype=float32)
ceil
  >>> jnp.ceil(jnp.array([1.2, -1.2]))
  Array([ 2., -1.], dtype=float32)
isnan
  >>> jnp.isnan(jnp.array([1.0, jnp.nan, jnp.inf]))
  Array([False,  True, False], dtype=bool)
isfinite
  >>> jnp.isfinite(jnp.array([1.0, jnp.nan, jnp.inf]))
  Array([ True, False, False], dtype=bool)
isinf
  >>> jnp.isinf(jnp.array([1.0, jnp.nan, -jnp.inf]))
  Array([False, False,  True], dtype=bool)
deg2rad
  >>> jnp.deg2rad(jnp.array([90, 180]))
  Array([1.5707964, 3.1415927], dtype=float32)
rad2deg
  >>> jnp.rad2deg(jnp.array([jnp.pi / 2, jnp.pi]))
  Array([ 90., 180.], dtype=float32)
positive
  >>> jnp.positive(jnp.array([-1, 2]))
  Array([-1,  2], dtype=int32)
""")
