"""What kernels use: their place in the grid, conditions and loops, memory, and small arithmetic."""

import contextlib
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from evertrace._src import config, errors, tree
from evertrace._src.arrays.array import Array
from evertrace._src.arrays.interop import as_array
from evertrace._src.core.aval import ShapedArray
from evertrace._src.debug import callback as callbacks
from evertrace._src.experimental.checkify import check as checkify
from evertrace._src.lax.branches import cond
from evertrace._src.lax.loops import fori_loop
from evertrace._src.numpy import shape as shapes
from evertrace._src.ops.structural import full
from evertrace._src.pallas import kernel
from evertrace._src.pallas.blocks import poison
from evertrace._src.pallas.kernel import KernelRef, new_memory
from evertrace._src.pallas.specs import public
from evertrace._src.ref.functions import new_ref


@public
def program_id(axis: Any) -> Any:
    """Return the index of the present step along an axis of the grid.

    Args:
      axis: int.

    Returns:
      A traced int32 scalar.

    Raises:
      ValueError: the grid has no such axis, or no kernel is being traced.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> def count(o_ref):
      ...     o_ref[0] = pl.program_id(0) * 10 + pl.num_programs(0)
      >>> one = pl.BlockSpec((1,), lambda i: i)
      >>> pl.pallas_call(count, grid=3, out_specs=one, out_shape=jnp.zeros(3, int))()
      Array([ 3, 13, 23], dtype=int32)
    """
    return kernel.program_id(operator.index(axis))


@public
def num_programs(axis: Any) -> Any:
    """Return the size of an axis of the grid, an int.

    Args:
      axis: int.

    Raises:
      ValueError: the grid has no such axis, or no kernel is being traced.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> def sizes(o_ref):
      ...     o_ref[0] = pl.num_programs(0) * 10 + pl.num_programs(1)
      >>> pl.pallas_call(sizes, grid=(3, 2), out_shape=jnp.zeros(1, int))()
      Array([32], dtype=int32)
    """
    return kernel.num_programs(operator.index(axis))


@public
def when(condition: Any, /) -> Callable[..., Any]:
    """Return a decorator that calls a function, now, if a condition holds.

    Args:
      condition: a boolean scalar, traced or not.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> def total(x_ref, o_ref):
      ...     @pl.when(pl.program_id(0) == 0)
      ...     def begin():
      ...         o_ref[0] = 0
      ...
      ...     o_ref[0] += x_ref[...].sum()
      >>> blocks = pl.BlockSpec((4,), lambda i: i)
      >>> pl.pallas_call(total, grid=2, in_specs=[blocks], out_shape=jnp.zeros(1, int))(
      ...     jnp.arange(8)
      ... )
      Array([28], dtype=int32)
    """

    def decorate(fun):
        if isinstance(condition, (bool, np.bool_)):
            if condition:
                fun()
            return
        cond(condition, _without_result(fun), lambda: None)

    return decorate


def _without_result(fun):
    @functools.wraps(fun)
    def run():
        fun()

    return run


@public
def loop(
    lower: Any, upper: Any, *, init_carry: Any = None, step: Any = 1, unroll: Any = None
) -> Callable[..., Any]:
    """Return a decorator that calls a function in a loop, now.

    Args:
      lower: first index, an integer scalar.
      upper: end of the range, an integer scalar.
      init_carry: the initial carry, a tree of arrays; None for none.
      step: a positive integer.
      unroll: as for `lax.fori_loop`.

    Returns:
      A decorator of a function ``(i)`` or ``(i, carry) -> carry`` that returns the last carry.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> def squares(o_ref):
      ...     @pl.loop(0, 4)
      ...     def _(i):
      ...         o_ref[i] = i * i
      >>> pl.pallas_call(squares, out_shape=jnp.zeros(4, int))()
      Array([0, 1, 4, 9], dtype=int32)
    """
    count = cdiv(upper - lower, step)

    def decorate(fun):
        def body(i, carry):
            i = lower + i * step
            if init_carry is None:
                fun(i)
                return None
            return fun(i, carry)

        zero = 0 if isinstance(count, int) else as_array(count).astype(count.dtype) * 0
        return fori_loop(zero, count, body, init_carry, unroll=unroll)

    return decorate


# ------------------------------------------------------------------------ memory


@public
def run_scoped(f: Any, *types: Any, collective_axes: Any = (), **kw_types: Any) -> Any:
    """Call a function of refs of new memory, whose contents are undefined, and return its result.

    Args:
      f: the function.
      *types: types of memory, such as ``pl.ANY((8, 128), "float32")``.
      collective_axes: without effect.
      **kw_types: likewise, for keyword arguments.

    Raises:
      TypeError: what is given is no type of memory.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> def body(x_ref, o_ref):
      ...     def doubled(memory):
      ...         memory[...] = x_ref[...] * 2
      ...         return memory[::-1]
      ...
      ...     o_ref[...] = pl.run_scoped(doubled, pl.ANY((3,), "float32"))
      >>> pl.pallas_call(body, out_shape=jnp.zeros(3))(jnp.arange(3.0))
      Array([4., 2., 0.], dtype=float32)
    """
    del collective_axes
    args, kwargs = tree.map(functools.partial(new_memory, "run_scoped"), (types, kw_types))
    return f(*args, **kwargs)


@public
def with_scoped(*types: Any, collective_axes: Any = (), **kw_types: Any) -> Callable[..., Any]:
    """Return a decorator for `run_scoped`: new memory follows the arguments of each call.

    Args:
      *types: types of memory, such as ``pl.ANY((8,), "float32")``.
      collective_axes: without effect.
      **kw_types: likewise, for keyword arguments.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> def body(x_ref, o_ref):
      ...     @pl.with_scoped(pl.ANY((3,), "float32"))
      ...     def run(factor, memory):
      ...         memory[...] = x_ref[...] * factor
      ...         o_ref[...] = memory[::-1]
      ...
      ...     run(3)
      >>> pl.pallas_call(body, out_shape=jnp.zeros(3))(jnp.arange(3.0))
      Array([6., 3., 0.], dtype=float32)
    """

    def decorate(f):
        def run(*args):
            return run_scoped(functools.partial(f, *args), *types, **kw_types)

        return run

    return decorate


@public
def run_state(f: Any) -> Callable[..., Any]:
    """Return a function of arrays that a function of refs makes by changing them.

    Args:
      f: function of a tree of refs that returns nothing.

    Returns:
      A function of a tree of arrays that returns what the refs hold in the end.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> def rotate(refs):
      ...     x_ref, y_ref = refs
      ...     x_ref[...], y_ref[...] = y_ref[...], -x_ref[...]
      >>> pl.run_state(rotate)((jnp.ones(2), jnp.zeros(2)))
      (Array([0., 0.], dtype=float32), Array([-1., -1.], dtype=float32))
    """

    def run(arrays):
        refs = tree.map(lambda x: KernelRef(as_array(x, "run_state")), arrays)
        f(refs)
        return tree.map(lambda ref: ref.read(), refs, is_leaf=lambda x: isinstance(x, KernelRef))

    return run


@public
def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Array:
    """Return an array of undefined contents: NaN, the least integer, or False.

    Args:
      shape: of the array.
      dtype: of its elements.
      out_sharding: must be None.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.empty((2,), "float32")
      Array([nan, nan], dtype=float32)
    """
    if out_sharding is not None:
        raise errors.unsupported("empty", "out_sharding", out_sharding)
    aval = ShapedArray(tuple(shape), dtype)
    return as_array(full(aval, poison(aval.dtype)))


@public
def empty_like(x: Any) -> Any:
    """Return an array of undefined contents like another, or a tree of them.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.empty_like(jnp.arange(2))
      Array([-2147483648, -2147483648], dtype=int32)
    """
    return tree.map(lambda leaf: empty(leaf.shape, leaf.dtype), x)


@public
def empty_ref_like(x: Any) -> Any:
    """Return a `Ref` of undefined contents like an array, or a tree of them.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.empty_ref_like(jnp.zeros(2))
      Ref([nan, nan], dtype=float32)
    """
    return tree.map(lambda leaf: new_ref(empty(leaf.shape, leaf.dtype)), x)


@public
def debug_print(fmt: Any, *args: Any) -> None:
    """Print from a kernel, at each of its steps.

    Args:
      fmt: a format string.
      *args: scalars and arrays for it.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> def body(o_ref):
      ...     pl.debug_print("step {}", pl.program_id(0))
      ...     o_ref[...] = jnp.zeros(1)
      >>> _ = pl.pallas_call(body, grid=2, out_shape=jnp.zeros(1))()
      step 0
      step 1
    """
    callbacks.print(fmt, *args)


@public
def debug_check(condition: Any, message: Any) -> None:
    """Check that something holds in a kernel, where `enable_debug_checks` is set.

    `checkify` around the call returns the first error; without it nothing happens.

    Args:
      condition: a boolean scalar.
      message: what to say where it is False.

    Example:
      >>> from evertrace.experimental import checkify, pallas as pl
      >>> def body(x_ref, o_ref):
      ...     pl.debug_check(x_ref[0] > 0, "not positive")
      ...     o_ref[...] = jnp.log(x_ref[...])
      >>> x = jnp.array([-1.0])
      >>> with pl.enable_debug_checks():
      ...     error, _ = checkify.checkify(pl.pallas_call(body, out_shape=x))(x)
      >>> error.get().split(" (")[0]
      'not positive'
    """
    if config.current().pallas_enable_debug_checks:
        checkify.debug_check(condition, message)


@public
def enable_debug_checks(new_val: Any = True) -> contextlib.AbstractContextManager[None]:
    """Have kernels make the checks of `debug_check`, in this thread for a ``with`` block.

    Args:
      new_val: whether they do.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> with pl.enable_debug_checks(True):
      ...     ev.config.pallas_enable_debug_checks
      True
    """
    return config.override(pallas_enable_debug_checks=new_val)


# ------------------------------------------------------------------------ arithmetic and hints


@public
def cdiv(a: Any, b: Any) -> Any:
    """Return ``a / b``, rounded up: how many blocks of `b` elements make an array of `a`.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.cdiv(10, 4)
      3
    """
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    return (a + (b - 1)) // b


@public
def align_to(a: Any, alignment: Any) -> Any:
    """Return the least multiple of `alignment` that is not below `a`.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.align_to(10, 4)
      12
    """
    return cdiv(a, alignment) * alignment


@public
def next_power_of_2(x: Any) -> int:
    """Return the least power of two that is not below `x`.

    Args:
      x: an int that is not negative.

    Raises:
      ValueError: `x` is negative.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> [pl.next_power_of_2(n) for n in (0, 1, 5, 8)]
      [1, 1, 8, 8]
    """
    if x < 0:
        raise errors.user_error(
            ValueError,
            f"next_power_of_2: {x} is negative.",
            fix="pass a size.",
            anchor="choice",
        )
    return 1 << max(x - 1, 0).bit_length()


@public
def strides_from_shape(shape: Any) -> tuple[int, ...]:
    """Return by how many elements the places of an array differ, per dimension.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.strides_from_shape((2, 3, 4))
      (12, 4, 1)
    """
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


@public
def broadcast_to(a: Any, shape: Any) -> Array:
    """Return an array broadcast to a shape, as `numpy.broadcast_to` does.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.broadcast_to(jnp.arange(2), (2, 2))
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    return shapes.broadcast_to(a, shape)


@public
def reciprocal(x: Any, *, approx: Any = False, full_range: Any = True) -> Any:
    """Return ``1 / x``.

    Args:
      x: array.
      approx: for accelerators, without effect.
      full_range: likewise.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.reciprocal(jnp.array([2.0, 4.0]))
      Array([0.5 , 0.25], dtype=float32)
    """
    del approx, full_range
    return 1 / x


@public
def multiple_of(x: Any, values: Any) -> Any:
    """Return `x`, of which compilers for accelerators may know that it is a multiple of `values`.

    Example:
      >>> from evertrace.experimental import pallas as pl
      >>> pl.multiple_of(jnp.int32(16), 8)
      Array(16, dtype=int32)
    """
    del values
    return x
