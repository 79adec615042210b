"""The classes of evertrace's errors and warnings; `errors` words them.

Every class derives from the built-in error a Python programmer would catch, and its docstring shows
a program that fails and one that works.
"""

# EvertraceError < Exception
#   JAXTypeError < TypeError               a traced value was used as what it is not
#     ConcretizationTypeError              a value was needed where only its type is known
#       TracerBoolConversionError          ... as the condition of an if, while or assert
#     TracerArrayConversionError           ... as a NumPy array
#     TracerIntegerConversionError         ... as a Python integer
#     UnexpectedTracerError                a tracer was used after its trace had ended
#       LeakedTracerError                  ... found by the leak checker
#     KeyReuseError                        a random key was consumed twice
#   JAXIndexError < IndexError             a traced value was used in an index
#     NonConcreteBooleanIndexError         ... as a mask whose values are not known
#   ShapeError < TypeError, ValueError     shapes do not fit
#     InconclusiveDimensionOperation       ... or it cannot be decided for symbolic sizes
#   ShardingTypeError < TypeError, ValueError   operands are divided along different axes
#   AxisError < TypeError, ValueError, IndexError   an axis is out of range or given twice
#   DTypeError < TypeError, ValueError     an operation does not take this dtype
#   NotLinearError < TypeError             a function to be transposed is not linear
#   TypePromotionError < ValueError        dtypes have no common dtype
#   JaxprTypeError < TypeError             a jaxpr is ill-formed
#   DeletedArrayError < RuntimeError       an array was used after its memory was given away
#   RetraceError < RuntimeError            a function was traced more often than allowed
#   ImpurityError < RuntimeError           a traced function did what cannot be repeated
#   OpaqueStateError < TypeError           a traced function reads state that cannot be seen
#   JaxRuntimeError < RuntimeError         an engine failed while compiling or running
#   PeerLostError < RuntimeError           a process that programs are shared with is gone
#   PeerMismatchError < RuntimeError       a process starts another program than the others
# EvertraceWarning < UserWarning
#   RetraceWarning                         the same function is traced again and again
#   PerformanceWarning                     the program works, but slower than it needs to
#   CacheWarning                           the cache of programs on disk cannot be used

from evertrace._src.support import set_module

public = set_module("evertrace.errors")


@public
class EvertraceError(Exception):
    """Any error that evertrace raises on purpose.

    Each is an error of Python's as well, by which it may be caught.

    Example:
      >>> try:
      ...     jnp.ones(2) + jnp.ones(3)
      ... except ev.errors.EvertraceError as error:
      ...     print(type(error).__name__, isinstance(error, ValueError))
      ShapeError True
    """

    _in_plain = True  # whether the plain function, without `jit`, would have met it, too


@public
class EvertraceWarning(UserWarning):
    """Any warning that evertrace issues.

    Example:
      >>> import warnings
      >>> with warnings.catch_warnings():
      ...     warnings.simplefilter("error", ev.errors.EvertraceWarning)  # as errors, in a block
      ...     total = jnp.ones(3).sum()
    """


@public
class JAXTypeError(EvertraceError, TypeError):
    """A traced value was used as something it is not; the subclasses say which.

    Example:
      >>> try:
      ...     ev.jit(lambda x: int(x.sum()))(jnp.ones(4))
      ... except ev.errors.JAXTypeError as error:
      ...     print(type(error).__name__)
      ConcretizationTypeError
    """


@public
class JAXIndexError(EvertraceError, IndexError):
    """A traced value was used in an index that cannot take it; the subclasses say which.

    Example:
      >>> try:
      ...     ev.jit(lambda x: x[x > 0])(jnp.ones(4))
      ... except ev.errors.JAXIndexError as error:
      ...     print(type(error).__name__)
      NonConcreteBooleanIndexError
    """


@public
class ConcretizationTypeError(JAXTypeError):
    """A concrete value was needed where tracing knows only a shape and a dtype.

    While a function is traced its array arguments stand for every array of their type, so nothing
    in the function can depend on the numbers in them. Shapes are the usual case, since a compiled
    program has fixed ones. A Python number can be asked; or take a shape that is large enough, and
    mask what is not wanted.

    Example:
      >>> ramp = ev.jit(lambda n: jnp.arange(n) / n)
      >>> ramp(jnp.asarray(3))
      Traceback (most recent call last):
        ...
      evertrace.errors.ConcretizationTypeError: arange: stop must be known while tracing...
      >>> ramp(4)
      Array([0.  , 0.25, 0.5 , 0.75], dtype=float32)
    """

    _in_plain = False


@public
class TracerBoolConversionError(ConcretizationTypeError):
    """A traced array was used as a condition: ``if``, ``while``, ``assert``, ``and``, ``not``.

    Python has to know now which branch to take, but the array has its value only when the compiled
    program runs. Choose between values with `where`, between computations with `cond`, and loop
    with `while_loop`. A condition on something static (a shape, a dtype, a Python value) is fine.

    Example:
      >>> ev.jit(lambda x: x if x > 0 else 0.0)(jnp.asarray(2.0))
      Traceback (most recent call last):
        ...
      evertrace.errors.TracerBoolConversionError: bool (an array as the condition of if, ...
      >>> ev.jit(lambda x: jnp.where(x > 0, x, 0.0))(jnp.asarray(2.0))
      Array(2., dtype=float32, weak_type=True)
    """


@public
class TracerArrayConversionError(JAXTypeError):
    """A traced array was handed to code that wants a NumPy array.

    NumPy computes at once, on numbers that a traced array does not have yet. Use the function of
    the same name in `evertrace.numpy`; where a library really must see numbers, `pure_callback`.

    Example:
      >>> ev.jit(lambda x: np.sqrt(x))(jnp.ones(2))
      Traceback (most recent call last):
        ...
      evertrace.errors.TracerArrayConversionError: __array__ (an array handed to NumPy): ...
      >>> ev.jit(lambda x: jnp.sqrt(x))(jnp.ones(2))
      Array([1., 1.], dtype=float32)
    """

    _in_plain = False
    _lent = 0  # id of the tracer that was asked for a buffer


@public
class TracerIntegerConversionError(JAXTypeError):
    """A traced integer was used as a Python integer, e.g. to index a list or to call `range`.

    The program is compiled before the integer is known. Index an array instead of a list, or pass
    a Python integer.

    Example:
      >>> pick = ev.jit(lambda i, choices: choices[i])
      >>> pick(jnp.asarray(1), [10, 20])
      Traceback (most recent call last):
        ...
      evertrace.errors.TracerIntegerConversionError: __index__ (an array as a Python integer: ...
      >>> pick(jnp.asarray(1), jnp.asarray([10, 20]))
      Array(20, dtype=int32)
    """

    _in_plain = False


@public
class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean array was used as an index that selects elements.

    The result would have as many elements as the mask has true entries, and a compiled program
    must know its shapes. Keep the shape and neutralise what the mask excludes. Assigning through a
    mask, ``x.at[x < 0].set(0)`` with a scalar, keeps the shape and is allowed.

    Example:
      >>> ev.jit(lambda x: x[x > 0].sum())(jnp.asarray([-1.0, 2.0]))
      Traceback (most recent call last):
        ...
      evertrace.errors.NonConcreteBooleanIndexError: Array boolean indices must be concrete; ...
      >>> ev.jit(lambda x: jnp.where(x > 0, x, 0).sum())(jnp.asarray([-1.0, 2.0]))
      Array(2., dtype=float32)
    """

    _in_plain = False


@public
class UnexpectedTracerError(JAXTypeError):
    """A tracer was used outside the transformation that made it.

    A tracer stands for a value only while its function is traced. It escapes where a function that
    is traced by strict rules stores it in something that lives longer. Return it instead.

    Example:
      >>> seen = []
      >>> step = ev.jit(lambda x: seen.append(2 * x) or x + 1, strict=True)
      >>> y = step(1.0)
      >>> seen[0] + 1
      Traceback (most recent call last):
        ...
      evertrace.errors.UnexpectedTracerError: add: a traced value f32[] of jit(<lambda>) is used ...
      >>> y, twice = ev.jit(lambda x: (x + 1, 2 * x), strict=True)(1.0)
    """


@public
class LeakedTracerError(UnexpectedTracerError):
    """The leak checker found a tracer that was still referenced when its trace ended.

    With ``ev.checking_leaks()`` the error comes where the tracer escapes, not where it is used.

    Example:
      >>> seen = []
      >>> step = ev.jit(lambda x: seen.append(2 * x) or x + 1, strict=True)
      >>> with ev.checking_leaks():
      ...     step(1.0)
      Traceback (most recent call last):
        ...
      evertrace.errors.LeakedTracerError: jit(<lambda>): a traced value f32[] is still ...
      >>> with ev.checking_leaks():
      ...     y, twice = ev.jit(lambda x: (x + 1, 2 * x), strict=True)(1.0)
    """


@public
class KeyReuseError(JAXTypeError):
    """A random key was consumed twice while ``debug_key_reuse`` was on.

    The same key always gives the same numbers, so two draws from one key are not independent.
    Split the key, once for every draw.

    Example:
      >>> key = random.key(0)
      >>> with ev.debug_key_reuse():
      ...     x, y = random.normal(key), random.normal(key)
      Traceback (most recent call last):
        ...
      evertrace.errors.KeyReuseError: random_bits: the random key was consumed before, ...
      >>> with ev.debug_key_reuse():
      ...     x, y = [random.normal(k) for k in random.split(random.key(0))]
    """


@public
class ShapeError(EvertraceError, TypeError, ValueError):
    """The shapes of the operands do not fit the operation.

    It is both a TypeError and a ValueError, because NumPy and JAX raise one or the other. Shapes
    are aligned at their last axis, where sizes must be equal or 1.

    Example:
      >>> jnp.zeros((3, 4)) + jnp.zeros(3)
      Traceback (most recent call last):
        ...
      evertrace.errors.ShapeError: add: shapes (3, 4) and (3,) do not broadcast.
        ...
      >>> (jnp.zeros((3, 4)) + jnp.zeros(3)[:, None]).shape
      (3, 4)
    """


@public
class InconclusiveDimensionOperation(ShapeError):
    """A question about a symbolic size has no answer that holds for all its values.

    Sizes are symbolic where a program is exported for many of them, see `export.symbolic_shape`.

    Example:
      >>> (b,) = ev.export.symbolic_shape("b")
      >>> b >= 2
      Traceback (most recent call last):
        ...
      evertrace.errors.InconclusiveDimensionOperation: whether b >= 2 is not known for all sizes.
        ...
      >>> (b,) = ev.export.symbolic_shape("b", constraints=("b >= 2",))
      >>> b >= 2
      True
    """


@public
class AxisError(EvertraceError, TypeError, ValueError, IndexError):
    """An axis does not exist in the array, or is given twice.

    An array of rank n has the axes ``-n, ..., n - 1``.

    Example:
      >>> jnp.sum(jnp.zeros((3, 4)), axis=2)
      Traceback (most recent call last):
        ...
      evertrace.errors.AxisError: sum: axis 2 is out of bounds for array of dimension 2.
        ...
      >>> jnp.sum(jnp.zeros((3, 4)), axis=-1)
      Array([0., 0., 0.], dtype=float32)
    """


@public
class DTypeError(EvertraceError, TypeError, ValueError):
    """The operation is not defined for this dtype, or its operands' dtypes differ.

    Functions of `evertrace.lax` do not promote, and some operations are only for some dtypes.
    Convert explicitly, or use the promoting function of `evertrace.numpy`.

    Example:
      >>> lax.add(jnp.int32(1), jnp.float32(2))
      Traceback (most recent call last):
        ...
      evertrace.errors.DTypeError: add: operands must have the same dtype, got int32, float32.
        ...
      >>> jnp.add(jnp.int32(1), jnp.float32(2))
      Array(3., dtype=float32)
    """


@public
class NotLinearError(EvertraceError, TypeError):
    """A function was transposed with respect to an argument in which it is not linear.

    Only linear functions have a transpose. The derivative of a function at a point is linear, and
    `vjp` gives its transpose.

    Example:
      >>> ev.linear_transpose(jnp.sin, 0.0)(1.0)
      Traceback (most recent call last):
        ...
      evertrace.errors.NotLinearError: sin: transposed with respect to an operand in which ...
      >>> _, pull_back = ev.vjp(jnp.sin, 0.0)
      >>> pull_back(1.0)
      (Array(1., dtype=float32, weak_type=True),)
    """


@set_module("evertrace.dtypes")
class TypePromotionError(EvertraceError, ValueError):
    """Two dtypes have no common dtype to which they convert by themselves.

    That is so for 8-bit floats and narrower types, where a silent conversion is rarely meant, and
    for most pairs under ``numpy_dtype_promotion("strict")``. Say which type to compute in.

    Example:
      >>> x = jnp.ones(2, "float8_e4m3fn")
      >>> x + jnp.ones(2, "float32")
      Traceback (most recent call last):
        ...
      evertrace.dtypes.TypePromotionError: promotion: ...
      >>> x.astype("float32") + jnp.ones(2, "float32")
      Array([2., 2.], dtype=float32)
    """


@public
class JaxprTypeError(EvertraceError, TypeError):
    """A jaxpr is ill-formed: an operand is undefined, or a type differs from what a rule says.

    Jaxprs made by tracing are well-formed; those changed by hand may not be.

    Example:
      >>> jaxpr = ev.make_jaxpr(lambda x: x + 1)(1.0).jaxpr
      >>> ev.core.check_jaxpr(jaxpr.replace(eqns=[]))
      Traceback (most recent call last):
        ...
      evertrace.errors.JaxprTypeError: outputs: a variable of type f32[] is used but not defined.
        ...
      >>> ev.core.check_jaxpr(jaxpr)
    """


@public
class DeletedArrayError(EvertraceError, RuntimeError):
    """An array was used after its memory had been given away.

    A donated argument lends its memory to the results, and ``x.delete()`` frees it. Go on with the
    result, or do not donate what is needed again.

    Example:
      >>> x = jnp.ones(2)
      >>> y = ev.jit(lambda x: x + 1, donate_argnums=0)(x)
      >>> x.sum()
      Traceback (most recent call last):
        ...
      evertrace.errors.DeletedArrayError: Array: the array of type f32[2] has been deleted or ...
      >>> y.sum()
      Array(4., dtype=float32)
    """


@public
class RetraceError(EvertraceError, RuntimeError):
    """A function was traced again although that was forbidden.

    ``jit(..., max_traces=n)`` and ``with ev.no_retrace():`` turn a new trace into an error; the
    message says which input differed from what the traced programs expect. Bring the inputs to one
    shape and dtype, or allow as many programs as there are shapes.

    Example:
      >>> double = ev.jit(lambda x: x * 2, max_traces=1)
      >>> y = double(jnp.ones(3))
      >>> double(jnp.ones(2))
      Traceback (most recent call last):
        ...
      evertrace.errors.RetraceError: jit(<lambda>): one trace more than max_traces=1, because ...
      >>> double(jnp.pad(jnp.ones(2), (0, 1)))
      Array([2., 2., 0.], dtype=float32)
    """


@public
class ImpurityError(EvertraceError, RuntimeError):
    """A traced function did something that its compiled program could not do again.

    A compiled call does not run the Python code, so what a function decides by something outside of
    it would be decided once, at the trace, and never again. Pass in what changes from call to call.
    ``ev.impurity("warn")`` and ``ev.impurity("ignore")`` accept the single execution, e.g. of
    ``os.listdir``, but not decisions by the time or by random numbers.

    Example:
      >>> import time
      >>> ev.jit(lambda x: x if time.time() > 0 else -x)(1.0)
      Traceback (most recent call last):
        ...
      evertrace.errors.ImpurityError: time.time at ...
      >>> ev.jit(lambda x, now: jnp.where(now > 0, x, -x))(1.0, time.time())
      Array(1., dtype=float32, weak_type=True)
    """

    _in_plain = False


@public
class OpaqueStateError(EvertraceError, TypeError):
    """A traced function reads an object whose state cannot be seen, so cannot be watched.

    A compiled program is used again only while everything it read is unchanged. Iterators,
    proxies and most objects of C extensions do not show whether they changed. Read the object
    outside and pass in the value.

    Example:
      >>> batches = iter([1.0, 2.0])
      >>> ev.jit(lambda w: w + next(batches))(3.0)
      Traceback (most recent call last):
        ...
      evertrace.errors.OpaqueStateError: jit: global batches is a list_iterator: ...
      >>> ev.jit(lambda w, batch: w + batch)(3.0, next(batches))
      Array(4., dtype=float32, weak_type=True)
    """

    _in_plain = False


@public
class JaxRuntimeError(EvertraceError, RuntimeError):
    """An engine failed to compile or to run a program: out of memory, a lost device, a callback.

    The message begins with the engine's status code.

    Example:
      >>> ev.jit(lambda x: x + 1, compiler_options={"xla_moon": True})(jnp.ones(1))
      Traceback (most recent call last):
        ...
      evertrace.errors.JaxRuntimeError: INVALID_ARGUMENT: No such compile option: 'xla_moon'
        ...
      >>> ev.jit(lambda x: x + 1)(jnp.ones(1))
      Array([2.], dtype=float32)
    """


@public
class ShardingTypeError(EvertraceError, TypeError, ValueError):
    """Operands are divided along different axes of a mesh where they have to be divided alike.

    Along ``Explicit`` axes, which `make_mesh` makes, the types of arrays say how they are divided,
    and nothing is moved between devices that nobody has asked for. Lay one operand out as the
    other, or make the axes ``Auto``: then the compiler moves what it has to.

    Example:
      >>> raise ev.errors.ShardingTypeError("add: f32[8@x] and f32[8@y]")
      Traceback (most recent call last):
        ...
      evertrace.errors.ShardingTypeError: add: f32[8@x] and f32[8@y]
    """


@public
class PeerLostError(EvertraceError, RuntimeError):
    """Another process, without which programs of several processes cannot go on, is gone.

    The message names the process and what is known of its end. It is raised within seconds, by what
    waits for a result or starts the next program; this process itself goes on, and can save what it
    has. Start all processes again, from the last checkpoint.

    Example:
      >>> raise ev.errors.PeerLostError("step: process 1 is gone since 0.1 s")
      Traceback (most recent call last):
        ...
      evertrace.errors.PeerLostError: step: process 1 is gone since 0.1 s
    """


@public
class PeerMismatchError(EvertraceError, RuntimeError):
    """Another process starts another program than this one, or does something else with all others.

    The message says what both do, and where. It is raised in both, instead of having each wait for
    the other one for ever.

    Example:
      >>> raise ev.errors.PeerMismatchError("step: process 1 is in loss(f32[8]), ...")
      Traceback (most recent call last):
        ...
      evertrace.errors.PeerMismatchError: step: process 1 is in loss(f32[8]), ...
    """


@public
class RetraceWarning(EvertraceWarning):
    """A function keeps being traced, each time because the same input has a new value.

    Every trace costs a compilation, and the message names the input and its last values. Make the
    changing thing a traced value, or reduce it to few cases.

    Example:
      >>> import warnings
      >>> def total(x, n):
      ...     return sum(x for _ in range(n))
      >>> with warnings.catch_warnings(record=True, action="always") as caught:
      ...     sums = [ev.jit(total)(2.0, n) for n in range(10)]
      >>> print(str(caught[0].message).split(",")[0])
      jit(total): traced for 9 values of n
      >>> sums = [ev.jit(lambda x, n: n * x)(2.0, n) for n in range(10)]
    """


@public
class PerformanceWarning(EvertraceWarning):
    """The program is right but does something slow that a small change avoids.

    Each number in a container that a jitted function reads is checked at each call. The message
    names the container and the cure: one array, whose numbers may change freely.

    Example:
      >>> import warnings
      >>> weights = [0.5] * 20_000
      >>> with warnings.catch_warnings(record=True, action="always") as caught:
      ...     y = ev.jit(lambda x: x * sum(weights))(1.0)
      >>> caught[0].category.__name__
      'PerformanceWarning'
      >>> weights = jnp.asarray(weights)
      >>> y = ev.jit(lambda x: x * weights.sum())(1.0)
    """


@public
class CacheWarning(EvertraceWarning):
    """The folder of compiled programs cannot be used, so programs are compiled again.

    It is given once in a process for each kind of failure. Choose a folder that only you can write
    to, by the option ``compilation_cache_dir``, or switch the cache off by
    ``enable_compilation_cache``.
    """
