"""NumPy's scalars and arrays that are made of the host's numbers while a function is traced.

`np.float32(n)`, `np.sqrt(n)`, `np.mean([n, v])`, `np.full(3, v)` and their kind are recorded like
arithmetic, and give what stands for a NumPy scalar or array: the prologue makes it anew at each
call. It is a `HostArray`, so beside arrays it is an input; with numbers and others of its own kind
it is computed with on the host, by NumPy. What shape and dtype an array has is a demand.

NumPy asks each number in a list for its value, so code that is traced is rewritten to call the
functions here, see `asking`.
"""

import functools
import types
from typing import Any, NamedTuple

import numpy as np

from evertrace._src.jit.lifting import asking
from evertrace._src.jit.lifting.host import (
    ABSENT,
    Host,
    as_operand,
    is_computed,
    op,
)
from evertrace._src.jit.lifting.hostarray import HostArray, aval_of_numpy
from evertrace._src.jit.lifting.hostprogram import contents_of
from evertrace._src.jit.lifting.inplace import replaces
from evertrace._src.jit.lifting.numpykind import is_entered, items_in
from evertrace._src.jit.lifting.prologue import STAND_INS
from evertrace._src.tracebacks import in_place_of_python

_SCALARS = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128, np.longlong, np.ulonglong,
)  # fmt: skip


def provide(recorder):
    """Have a trace's prologue make stand-ins of what of NumPy it computes."""
    recorder.prologue.numpy = functools.partial(_stand_in, recorder)


def _stand_in(recorder, slot, value):
    """Return the stand-in of a NumPy scalar or array in a slot of the prologue."""
    prologue, name = recorder.prologue, f"numpy.{type(value).__name__}(...)"

    def as_input(aval):
        return recorder.inputs.of_slot(slot, aval, name)

    if type(value) is np.ndarray:
        at = Host(prologue, slot, value)
        if slot not in prologue.late_names:
            prologue.demand(_layout_of, at)
        made = HostArray.made(value, as_input, lambda: prologue.demand(contents_of, at))
        recorder.effects.drawn.append(made.captured)
    else:
        made = HostArray(
            value,
            aval_of_numpy(value),
            as_input,
            lambda: prologue.demand(contents_of, made),
            _unused,
        )
        recorder.effects.arrays.append(made)
    made.prologue, made.slot = prologue, slot
    return made


def _unused(*_):
    """Stand for what is asked of arrays only."""


def _layout_of(x):
    return x.shape, x.dtype.str


def _constructor(kind):
    """Return what is called in place of a scalar type of NumPy's."""

    def make(*args, **kwargs):
        is_one = len(args) == 1 and not kwargs
        return op(kind, *args) if is_one and is_computed(args[0]) else kind(*args, **kwargs)

    return functools.update_wrapper(make, kind, ("__name__", "__qualname__", "__doc__"), updated=())


def _in_place_of(name, kind):
    """Return what gives the type of a module of NumPy's, or whatever else has such an attribute."""

    def get(owner):
        found = getattr(owner, name)
        return asking.constructors[kind] if found is kind else found

    return get


class _Call(NamedTuple):
    """A call of a function with what is computed, which it is applied to, in it.

    Attributes:
      fn: the function.
      args, kwargs: its arguments: constants, `_Sequence`s, `_HOLE` for what is computed.
    """

    fn: Any
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]

    @property
    def __name__(self):
        return f"numpy.{self.fn.__name__}"

    def __call__(self, *computed):
        rest = iter(computed)
        args = [_filled(x, rest) for x in self.args]
        return self.fn(*args, **{k: _filled(x, rest) for k, x in self.kwargs})


class _Sequence(NamedTuple):
    """A list or tuple of arguments."""

    kind: type
    items: tuple[Any, ...]


_HOLE: Any = type("Hole", (), {"__repr__": lambda self: "...", "__slots__": ()})()
_CONSTANTS = (type, np.dtype, type(Ellipsis))


def _filled(x, computed):
    if x is _HOLE:
        return next(computed)
    return x.kind([_filled(item, computed) for item in x.items]) if type(x) is _Sequence else x


class _Unknown(Exception):
    """That something among the arguments of a call is no constant and not computed."""


def _with_holes(x, computed, within=()):
    """Return an argument with holes for what is computed, which is appended to a list."""
    if is_computed(x):
        computed.append(x)
        return _HOLE
    if type(x) in (list, tuple) and is_entered(x, within):
        within = (*within, x)
        return _Sequence(type(x), tuple([_with_holes(item, computed, within) for item in x]))
    if isinstance(x, _CONSTANTS):
        return x
    operand = as_operand(x)
    if operand is ABSENT:
        raise _Unknown
    computed.append(operand)
    return _HOLE


def _holds_computed(x):
    return any(map(is_computed, items_in(x)))


def _recording(fn):
    """Return what is called in place of a function of NumPy's."""

    @in_place_of_python
    def call(*args, **kwargs):
        if not any(map(_holds_computed, (*args, *kwargs.values()))) or "out" in kwargs:
            return fn(*args, **kwargs)
        computed: list[Any] = []
        try:
            of_args = tuple([_with_holes(x, computed) for x in args])
            of_kwargs = tuple([(k, _with_holes(x, computed)) for k, x in kwargs.items()])
        except _Unknown:
            return fn(*args, **kwargs)
        if isinstance(fn, np.ufunc) and not kwargs and all(x is _HOLE for x in of_args):
            return op(fn, *computed)
        return op(_Call(fn, of_args, of_kwargs), *computed)

    return functools.update_wrapper(call, fn, ("__name__", "__doc__"), updated=())


_FUNCTIONS = (np.ufunc, types.BuiltinFunctionType, types.FunctionType, type(np.sum))
_LEFT = frozenset({
    "array2string", "array_repr", "array_str", "asmatrix", "bmat", "busday_count", "busday_offset",
    "copyto", "datetime_as_string", "datetime_data", "empty", "empty_like", "fill_diagonal",
    "from_dlpack", "frombuffer", "fromfile", "fromfunction", "fromiter", "frompyfunc", "fromregex",
    "fromstring", "genfromtxt", "geterr", "geterrcall", "getbufsize", "is_busday", "load",
    "loadtxt", "may_share_memory", "mat", "nested_iters", "place", "put", "put_along_axis",
    "putmask", "save", "savetxt", "savez", "savez_compressed", "set_numeric_ops", "setbufsize",
    "seterr", "seterrcall", "shares_memory",
})  # fmt: skip
"""Functions of NumPy's that write to something, read something, or depend on settings."""


for _kind in _SCALARS:
    STAND_INS[_kind] = lambda prologue, slot, value: prologue.numpy(slot, value)
    asking.constructors[_kind] = _constructor(_kind)
    replaces(asking.constructors[_kind], _kind)
asking.methods.update(
    {
        name: _in_place_of(name, kind)
        for name, kind in vars(np).items()
        if type(kind) is type and kind in asking.constructors
    }
)
STAND_INS[np.ndarray] = lambda prologue, slot, value: prologue.numpy(slot, value)
asking.libraries.update((np, np.linalg))
asking.function_kinds(*_FUNCTIONS)
for _module in (np, np.linalg):
    for _name, _fn in vars(_module).items():
        if isinstance(_fn, _FUNCTIONS) and _name[0] != "_" and _name not in _LEFT:
            asking.functions[_fn] = _recording(_fn)
            replaces(asking.functions[_fn], _fn)
