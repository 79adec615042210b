"""Callbacks: operations that call a Python function on the host while the program runs.

The idea: one flat callable stands in the params of all three primitives. It takes concrete arrays
and returns what the user's function returned; `call_back` runs it for every engine, and lets no
result pass that is not of exactly the promised shape and dtype. An engine that compiles never sees
anything but `call_back`.

Vectorisation asks for no loop in the program: a callback of a batch that calls the user's function
once per example is just another callback, `EachExample`. So is one in `shard_map`, which each
device of the mesh calls: it knows the axis of the mesh, by which a divided program lets them.

A callback that a jitted function binds is made anew at each call, on the objects of that call: the
program holds an `OfThisCall`, and its first operand says which of the calls in progress this is.

By JAX's rules `pure_callback` has no effect: it may run any number of times, or never. The others
have one, and run exactly once per execution, in the order of the program. So does a pure one in a
program with any of them, as far as it runs: it may read what they change. In a function that keeps
the contract it has the effect `CALL`: plain Python calls it, and who knows what it leaves behind.
"""

import contextlib
import functools
from typing import Any

import numpy as np

from evertrace._src import errors, source, tree
from evertrace._src.arrays.array import Array
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.effects import NO_EFFECTS, Effect
from evertrace._src.core.primitive import AS_IS, Primitive, undefined
from evertrace._src.core.tracer import EVAL, set_trace
from evertrace._src.doors import door
from evertrace._src.ops.slicing import slice_in_dim
from evertrace._src.ops.structural import move_batch_dim, squeeze


class _HostEffect(Effect):
    """The effect of a Python function that each device calls."""

    __slots__ = ()

    each_device = True


IO, ORDERED_IO = _HostEffect("IO"), _HostEffect("OrderedIO", ordered=True)
CALL = Effect("Call")


@door
class DebugEffect(_HostEffect):
    """The effect of being looked at.

    Example:
      >>> ev.make_jaxpr(lambda x: ev.debug.print("{}", x))(1.0).effects
      frozenset({Debug})
    """

    __slots__ = ()

    def __init__(self):
        super().__init__("Debug")


@door
class OrderedDebugEffect(_HostEffect):
    """The effect of being looked at in a certain order.

    Example:
      >>> ev.make_jaxpr(lambda x: ev.debug.print("{}", x, ordered=True))(1.0).effects
      frozenset({OrderedDebug})
    """

    __slots__ = ()

    def __init__(self):
        super().__init__("OrderedDebug", ordered=True)


DEBUG, ORDERED_DEBUG = DebugEffect(), OrderedDebugEffect()

CALL_EFFECTS = frozenset({IO, ORDERED_IO, CALL, DEBUG, ORDERED_DEBUG})
"""The effects of callbacks, which are called in the order of the program."""

VMAP_METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)

# NumPy computes in 64 bits what it is not told to compute in 32; such results are rounded.
_NARROWER = {
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.complex64),
}


# ---------------------------------------------------------------- calling


def called(name, fun, args, kwargs, src):
    """Return what a user's function gives; that it does not take these arguments is worded."""
    try:
        return fun(*args, **kwargs)
    except TypeError as error:
        traceback = error.__traceback__
        if traceback is not None and traceback.tb_next is not None:  # raised by what it does
            raise
        raise errors.user_error(
            TypeError,
            f"{name}: {_name_of(fun)} cannot be called with what it was given: {error}.",
            fix="pass the callback what it takes.",
            anchor="callback",
            src=src,
        ) from None


class FlatCallback:
    """A user's function of trees as a function of flat arrays.

    Args:
      name: of the construct, for errors.
      fun: the function.
      in_tree: structure of its ``(args, kwargs)``.
      static: pairs (index, value) of the leaves that are no arrays, in order.

    Attributes:
      effects: that a call has although its primitive has none.
    """

    __slots__ = ("effects", "fun", "in_tree", "name", "src", "static")

    def __init__(self, name, fun, in_tree, static=()):
        self.name, self.fun, self.in_tree, self.static = name, fun, in_tree, static
        self.effects = NO_EFFECTS
        self.src = source.user_source()

    def keep_contract(self):
        """Have a pure one called where plain Python calls it, but for what changes nothing."""
        if self.name == "pure_callback" and not isinstance(self.fun, np.ufunc):
            self.effects = frozenset({CALL})

    def __call__(self, *arrays):
        """Return the function's result, a tree."""
        return self.called(self.fun, [value for _, value in self.static], arrays)

    def called(self, fun, static, arrays):
        """Return what a function gives for flat arrays, and values in the places of `static`."""
        leaves = list(arrays)
        for (i, _), value in zip(self.static, static, strict=True):
            leaves.insert(i, value)
        args, kwargs = tree.unflatten(self.in_tree, leaves)
        return called(self.name, fun, args, kwargs, self.src)

    def __repr__(self):
        return _name_of(self.fun)


class WrappedFailures(FlatCallback):
    """A callback in a program that JAX's rules made: its exceptions come as JAX's error."""

    __slots__ = ()

    def called(self, fun, static, arrays):
        """Return what the function gives; its exception is the cause of a `JaxRuntimeError`."""
        try:
            return super().called(fun, static, arrays)
        except Exception as error:
            kind = f"{type(error).__module__}.{type(error).__qualname__}"
            raise errors.user_error(
                errors.JaxRuntimeError,
                f"INTERNAL: CpuCallback error calling callback: {self.name} of {self!r}\n"
                f"{kind}: {error}",
                fix="see what it raised, above: that is this error's `__cause__`.",
                anchor="callback",
                src=self.src,
            ) from error


def _name_of(fun):
    """Return a callable's name for people, whatever the user's code does that is asked for it."""
    while type(fun) is functools.partial:
        fun = fun.func
    with contextlib.suppress(Exception):
        if type(fun.__name__) is str:
            return fun.__name__
    return type(fun).__name__


in_progress: dict[int, Any] = {}
"""The calls of jitted functions that may call back, by number.

Each is a function of an `OfThisCall` and the traced values that this closes over, and gives a
context manager: of a tuple of the function and the static values of this call's callback.
"""


class OfThisCall:
    """What a jitted program holds of a callback: how each call of it makes its own.

    Its operands are the number of the call, the traced values that the callback closes over, and
    then those of the callback.

    Args:
      callback: the `FlatCallback` of the call that is traced, of which only the form is kept.
      recipe: how its function and static values are made (see `jit.lifting.callbacks`).
      extras: how many traced values it closes over.
    """

    __slots__ = ("effects", "extras", "form", "name", "recipe", "shown", "src")

    def __init__(self, callback, recipe, extras):
        self.recipe, self.extras, self.effects = recipe, extras, callback.effects
        self.name, self.src, self.shown = callback.name, callback.src, repr(callback)
        places = tuple([(i, None) for i, _ in callback.static])
        self.form = FlatCallback(callback.name, None, callback.in_tree, places)

    def __call__(self, number, *arrays):
        """Return the result of this call's callback, a tree."""
        call = in_progress[int(np.ravel(number._contents())[0])]  # one for each example, maybe
        with call(self, arrays[: self.extras]) as (fun, *static):
            return self.form.called(fun, static, arrays[self.extras :])

    def __repr__(self):
        return self.shown


class WhereChosen(FlatCallback):
    """A callback with one more operand, the first: a boolean, whether to call the other one.

    Args:
      callback: the other one, which returns nothing.
    """

    __slots__ = ("callback",)

    def __init__(self, callback):
        self.callback, self.effects = callback, callback.effects
        self.name, self.src = callback.name, callback.src

    def __call__(self, *arrays):
        """Call the other one, or not."""
        chosen, *arrays = arrays
        return self.callback(*arrays) if chosen._contents().all() else None

    def __repr__(self):
        return repr(self.callback)


def where_chosen(callback):
    """Return the callback that is told by one more operand, a boolean, whether to call this one."""
    if type(callback) is not EachExample:
        return WhereChosen(callback)
    return EachExample(
        where_chosen(callback.callback),
        callback.size,
        [None, *callback.avals],
        callback.result_avals,
        callback.axis,
        callback.is_shared,
    )


class EachExample:
    """A callback of a batch that calls another one once per example.

    Args:
      callback: the callback of one example.
      size: of the batch.
      avals: per operand, the aval of one example if the operand has a leading batch dim, or None.
      result_avals: of one example's results, or None if there are none to keep.
      axis: the axis of a mesh whose devices the examples are, None of an ordinary batch.
      is_shared: whether the devices are taken to give the same results.
    """

    __slots__ = (
        *("avals", "axis", "callback", "effects", "is_shared", "name", "result_avals", "size"),
        "src",
    )

    def __init__(self, callback, size, avals, result_avals, axis=None, is_shared=False):
        self.callback, self.size, self.avals = callback, size, avals
        self.result_avals, self.axis, self.is_shared = result_avals, axis, is_shared
        self.name, self.src, self.effects = callback.name, callback.src, callback.effects

    def __call__(self, *arrays):
        """Return the examples' results, stacked."""
        stacks = [np.empty((self.size, *a.shape), a.dtype) for a in self.result_avals or ()]
        for i in range(self.size):
            results = call_back(self.callback, self.result_avals, self._example(i, arrays))
            for stack, result in zip(stacks, results, strict=True):
                stack[i] = result
                if self.is_shared and result.tobytes() != stack[0].tobytes():
                    raise self._differing_error(i)
        return stacks

    def _example(self, i, arrays):
        return [
            x if aval is None else Array(aval, np.asarray(x._contents()[i]))
            for x, aval in zip(arrays, self.avals, strict=True)
        ]

    def levels(self):
        """Return the callbacks of batches from this one inwards, one for each leading dim."""
        inner = self.callback.levels() if type(self.callback) is EachExample else ()
        return (self, *inner)

    def of_one_device(self, avals, result_avals):
        """Return the callback of one device's part, in which axes of a mesh have size 1.

        Args:
          avals: of the part's operands.
          result_avals: of its results, or None.
        """
        inner = [
            aval if example is None else aval.update(shape=aval.shape[1:])
            for aval, example in zip(avals, self.avals, strict=True)
        ]
        inner_results = None
        if result_avals is not None:
            inner_results = tuple([a.update(shape=a.shape[1:]) for a in result_avals])
        callback = self.callback
        if type(callback) is EachExample:
            callback = callback.of_one_device(inner, inner_results)
        examples = [
            None if example is None else aval
            for aval, example in zip(inner, self.avals, strict=True)
        ]
        size = self.size if self.axis is None else 1
        return EachExample(callback, size, examples, inner_results)

    def _differing_error(self, number):
        return errors.user_error(
            ValueError,
            f"{self.name}: {self.callback!r} gave device {number} along {self.axis!r} something "
            "else than the first one, for operands that are the same on all.",
            fix=f"pass it what differs, e.g. `lax.axis_index({self.axis!r})`, or pass "
            "`check_vma=False` to `shard_map`, which then takes results for different ones.",
            anchor="callback",
            src=self.src,
        )

    def __repr__(self):
        return f"each({self.callback!r})"


def _strong(x):
    """Return an array as of its dtype alone: a callback is given numbers, not literals."""
    return Array(x.aval.strip_weak_type(), x._contents()) if x.aval.weak_type else x


def call_back(callback, result_avals, arrays):
    """Call a callback now.

    Args:
      callback: a `FlatCallback` or `EachExample`.
      result_avals: of the results it promised, or None if whatever it returns is dropped.
      arrays: concrete arrays.

    Returns:
      The results as fresh C-ordered ndarrays of exactly these avals.
    """
    with set_trace(EVAL):
        result = callback(*map(_strong, arrays))
    if result_avals is None:
        return []
    leaves = tree.leaves(result)
    if len(leaves) != len(result_avals):
        raise errors.user_error(
            ValueError,
            f"{callback.name}: {callback!r} returned {len(leaves)} arrays, "
            f"{len(result_avals)} were promised: {_types(result_avals)}.",
            fix="return a tree of arrays like result_shape_dtypes.",
            anchor="callback",
            src=callback.src,
        )
    return [_exact(callback, x, aval) for x, aval in zip(leaves, result_avals, strict=True)]


def _exact(callback, leaf, aval):
    """Return one result as memory of the promised type, or raise."""
    value = np.asarray(leaf._contents() if type(leaf) is Array else leaf)
    if value.shape != aval.shape:
        raise _mismatch(errors.ShapeError, callback, f"shape {value.shape}", aval)
    if value.dtype != aval.dtype and _NARROWER.get(value.dtype) != aval.dtype:
        raise _mismatch(errors.DTypeError, callback, f"dtype {value.dtype}", aval)
    return np.array(value, aval.dtype, order="C")


def _mismatch(cls, callback, found, aval):
    return errors.user_error(
        cls,
        f"{callback.name}: {callback!r} returned an array of {found} where {_types([aval])} was "
        "promised.",
        fix="return what result_shape_dtypes says, e.g. by `numpy.asarray(result, dtype)`, or "
        "change result_shape_dtypes.",
        anchor="callback",
        src=callback.src,
    )


def _types(avals):
    return ", ".join(a.str_short() for a in avals) or "none"


def _call_now(callback, result_avals, operands):
    """Run a callback on the concrete operands of an eager operation."""
    arrays = [x if type(x) is Array else Array(x.aval, np.asarray(x._contents())) for x in operands]
    results = call_back(callback, result_avals, arrays)
    return [Array(a, x) for a, x in zip(result_avals or (), results, strict=True)]


# ---------------------------------------------------------------- vectorisation


def batched_operands(vmap_method, size, args, dims):
    """Return operands with the batch in front, those without one as a method wants them."""
    if vmap_method in ("expand_dims", "broadcast_all"):
        new = size if vmap_method == "broadcast_all" else 1
        return [move_batch_dim(x, d, 0, new) for x, d in zip(args, dims, strict=True)]
    return [
        x if d is None else move_batch_dim(x, d, 0, size) for x, d in zip(args, dims, strict=True)
    ]


def _each_example(axis, args, dims, callback, result_avals, is_shared=False):
    """Return the callback of a batch that runs once per example, and its operands."""
    avals = []
    for x, d in zip(args, dims, strict=True):
        shape = x.aval.shape
        avals.append(None if d is None else x.aval.update(shape=shape[:d] + shape[d + 1 :]))
    moved = batched_operands("sequential", axis.size, args, dims)
    name = axis.name if axis.of_mesh else None
    return EachExample(callback, axis.size, avals, result_avals, name, is_shared), moved


def _batched(avals, size):
    return tuple(a.update(shape=(size, *a.shape)) for a in avals)


# ---------------------------------------------------------------- pure_callback and io_callback


def _no_tangents(tangents, primals, outs, *, callback, result_avals, **_):
    """Refuse to push tangents through a callback, unless no result could have one."""
    if any(map(is_inexact, result_avals)):
        raise errors.user_error(
            ValueError,
            f"{callback.name}: the derivative of {callback!r}, a Python function that is called "
            "back, is unknown.",
            fix="give the function around it a derivative with `custom_jvp` or `custom_vjp`, or "
            "pass its arguments through `stop_gradient`.",
            anchor="callback-derivative",
            src=callback.src,
        )
    return [None] * len(outs)


def _pure_batch(axis, args, dims, *, callback, result_avals, sharding, vmap_method):
    size = axis.size
    if vmap_method is None and not axis.of_mesh:
        raise errors.user_error(
            NotImplementedError,
            "pure_callback: vmap needs to know how the callback treats a batch, and vmap_method is "
            "None.",
            fix='pass vmap_method="sequential" to call it once per example, or "expand_dims" or '
            '"broadcast_all" if it takes leading dimensions.',
            anchor="callback-vmap",
        )
    if vmap_method is None or axis.of_mesh or vmap_method.startswith("sequential"):
        callback, args = _each_example(axis, args, dims, callback, result_avals)
    else:
        number = args[:1] if type(callback) is OfThisCall else []  # it has no examples
        n = len(number)
        args = [*number, *batched_operands(vmap_method, size, args[n:], dims[n:])]
    outs = pure_callback_p.bind(
        *args,
        callback=callback,
        result_avals=_batched(result_avals, size),
        sharding=sharding,
        vmap_method=vmap_method,
    )
    return outs, [0] * len(outs)


pure_callback_p = Primitive(
    "pure_callback",
    multiple_results=True,
    cache_types=False,
    physical=AS_IS,
    abstract=lambda *avals, result_avals, **_: result_avals,
    effects=lambda *, callback, **_: callback.effects,
    eager=lambda *xs, callback, result_avals, **_: _call_now(callback, result_avals, xs),
    jvp=_no_tangents,
    transpose=undefined("a Python function is not known to be linear"),
    batch_call=_pure_batch,
)


def refuse_io(where, jaxprs):
    """Refuse an `io_callback` in what is computed of examples that it is not meant for, too."""
    if any(effect in (IO, ORDERED_IO) for jaxpr in jaxprs for effect in jaxpr.effects):
        raise errors.user_error(
            NotImplementedError,
            f"{where}: an io_callback in it would be called for all examples of a vmap or parts of "
            "a shard_map, also those whose condition says otherwise.",
            fix="call it always, with the condition as an argument, or loop over the examples with "
            "`scan` or `lax.map`.",
            anchor="callback-vmap",
        )


def _io_batch(axis, args, dims, *, callback, ordered, result_avals, sharding):
    if ordered and not axis.of_mesh:
        raise errors.user_error(
            ValueError,
            "io_callback: the examples of a vmap have no order, so an ordered callback cannot be "
            "mapped.",
            fix="pass ordered=False, or loop over the examples with `scan` or `lax.map`.",
            anchor="callback-vmap",
        )
    is_shared = axis.tells and all(d is None for d in dims)
    callback, args = _each_example(axis, args, dims, callback, result_avals, is_shared)
    outs = io_callback_p.bind(
        *args,
        callback=callback,
        ordered=ordered,
        result_avals=_batched(result_avals, axis.size),
        sharding=sharding,
    )
    if is_shared:
        return [squeeze(slice_in_dim(x, 0, 1, 0), (0,)) for x in outs], [None] * len(outs)
    return outs, [0] * len(outs)


io_callback_p = Primitive(
    "io_callback",
    multiple_results=True,
    cache_types=False,
    physical=AS_IS,
    abstract=lambda *avals, result_avals, **_: result_avals,
    effects=lambda *, ordered, **_: frozenset({ORDERED_IO if ordered else IO}),
    eager=lambda *xs, callback, result_avals, **_: _call_now(callback, result_avals, xs),
    jvp=_no_tangents,
    transpose=undefined("a Python function is not known to be linear"),
    batch_call=_io_batch,
)


# ---------------------------------------------------------------- debug_callback


def _debug_batch(axis, args, dims, *, callback, effect, partitioned):
    callback, args = _each_example(axis, args, dims, callback, None)
    return debug_callback_p.bind(
        *args, callback=callback, effect=effect, partitioned=partitioned
    ), []


# It looks on: tangents and cotangents pass it by.
debug_callback_p = Primitive(
    "debug_callback",
    multiple_results=True,
    cache_types=False,
    physical=AS_IS,
    abstract=lambda *avals, **_: (),
    effects=lambda *, effect, **_: frozenset({effect}),
    eager=lambda *xs, callback, **_: _call_now(callback, None, xs),
    jvp=lambda tangents, primals, outs, **_: [],
    transpose=lambda cts, *operands, **_: [None] * len(operands),
    batch_call=_debug_batch,
)
