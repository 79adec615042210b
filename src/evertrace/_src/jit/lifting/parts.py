"""Values of the library that are made of others: how each kind is taken apart and made again.

One row of a table is all that a kind needs. `HELD` are kinds that never change but may hold what
does (a `slice`, an `itemgetter`, a `property`): they are lifted, guarded and made again by their
parts. `MADE` are kinds that only a trace of its own can make again: views, iterators, buffers.
"""

import array
import collections
import functools
import gc
import inspect
import io
import itertools
import operator
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from evertrace._src.jit.lifting.reached import is_default


class Kind(NamedTuple):
    """How values of a type are taken apart.

    Attributes:
      take: function (value) -> a tuple of its parts, or None where it cannot be made again.
      make: function (*parts) -> such a value.
      names: of the attributes that the parts are, where they are attributes.
    """

    take: Callable[[Any], tuple | None]
    make: Callable[..., Any]
    names: tuple[str, ...] = ()


def parts_of(value) -> Any:
    """Return the parts of a value of one of the kinds of `HELD`."""
    return HELD[type(value)].take(value)


def _by_attributes(make, *names):
    return Kind(lambda value: tuple([getattr(value, a) for a in names]), make, names)


def _by_arguments(kind):
    """Return the `Kind` of a type that says itself by which arguments it is made."""
    return Kind(lambda value: value.__reduce__()[1], kind)


def _take_methodcaller(value):
    fn, args = value.__reduce__()
    if isinstance(fn, functools.partial):  # it has arguments by name
        return (*fn.args, *args), fn.keywords
    return args, {}


HELD: dict[type, Kind] = {
    slice: _by_attributes(slice, "start", "stop", "step"),
    operator.itemgetter: _by_arguments(operator.itemgetter),
    operator.attrgetter: _by_arguments(operator.attrgetter),
    operator.methodcaller: Kind(
        _take_methodcaller, lambda args, kwargs: operator.methodcaller(*args, **kwargs)
    ),
    staticmethod: _by_attributes(staticmethod, "__func__"),
    classmethod: _by_attributes(classmethod, "__func__"),
    property: _by_attributes(property, "fget", "fset", "fdel", "__doc__"),
    types.GenericAlias: _by_attributes(types.GenericAlias, "__origin__", "__args__"),
}
"""Kinds that never change: what they hold decides all that they do."""


def is_structure(kind):
    """Whether a type is one like `time.struct_time`, a tuple that only its own type can make."""
    found = issubclass(kind, tuple) and hasattr(kind, "n_sequence_fields")
    if found and kind not in HELD:
        HELD[kind] = MADE[kind] = _by_arguments(kind)
    return found


def layout(buffer):
    """Return the type of a buffer and how its bytes are read: the format, and the shape."""
    kind = type(buffer)
    if kind is memoryview:
        return kind, (buffer.format, buffer.shape, buffer.strides, buffer.readonly)
    return kind, getattr(buffer, "typecode", None)


# ------------------------------------------------------------------------ what a trace has made


def _take_builtin(value):
    """Take a method of a value in C apart, unless the value's own class has replaced it."""
    owner, name = value.__self__, value.__name__
    return (owner, name) if getattr(owner, name, None) == value else None


def _take_method(value):
    """Take a bound method apart: by its name where that is how it is found."""
    owner, fun = value.__self__, value.__func__
    name = getattr(fun, "__name__", "")
    found = next((vars(c)[name] for c in type(owner).__mro__ if name in vars(c)), None)
    return (name if found is fun else fun), owner


def _make_method(fun, owner):
    if type(fun) is str:
        fun = next(vars(c)[fun] for c in type(owner).__mro__ if fun in vars(c))
    return types.MethodType(fun, owner)


def _take_memoryview(value):
    """Take a view apart that shows all of its buffer as that is."""
    return (value.obj,) if layout(memoryview(value.obj)) == layout(value) else None


def _take_reference(ref):
    return None if ref() is None else (ref(), ref.__callback__)


def _take_weak_method(ref):
    """Take a `WeakMethod` apart, whose own callback holds the user's."""
    inner = ref.__callback__
    cells = dict(zip(inner.__code__.co_freevars, inner.__closure__, strict=True))
    return None if ref() is None else (ref(), cells["callback"].cell_contents)


def held_by(partial):
    """Return what a `functools.partial` calls, and with what."""
    return partial.func, partial.args, partial.keywords


def is_changed(partial, held):
    """Whether a partial, by `__setstate__`, holds something else than it did."""
    return any(a is not b for a, b in zip(held_by(partial), held, strict=True))


def own_dict(partial: Any) -> Any:
    """Return the attributes of a `functools.partial`, None if it has no dict for them.

    Who asks it for its `__dict__` gives it one, and a partial of it is then no longer made flat.
    """
    return partial.__reduce__()[2][-1]


def make_partial(fun, args, keywords, attributes):
    """Make a `functools.partial` that holds just this: its constructor may take `fun` apart."""
    made: Any = functools.partial(fun)
    made.__setstate__((fun, args, keywords, attributes))
    return made


def _take_partial(value):
    return *held_by(value), own_dict(value)


def _take_cached(value):
    """Take a cached function apart; one that was called has kept values of the trace."""
    if value.cache_info().currsize:
        return None
    parameters = value.cache_parameters()
    return value.__wrapped__, parameters["maxsize"], parameters["typed"]


def _make_cached(fun, maxsize, typed):
    return functools.lru_cache(maxsize, typed)(fun)


def _take_lock(value):
    return None if value.locked() else ()


def _take_recursive_lock(value):
    return None if value._is_owned() else ()


def _viewed(make):
    def take(view):
        return (view.mapping,)

    return Kind(take, make)


def _take_proxy(value):
    """Take a proxy of a dict apart; what else one may stand for runs code when it is asked."""
    (mapping,) = gc.get_referents(value)
    return (mapping,) if isinstance(mapping, dict) and "__module__" not in mapping else None


def _take_state(value):
    return None if value.closed else value.__getstate__()


def _with_state(kind):
    def make(*state):
        made = kind()
        made.__setstate__(state)
        return made

    return make


def _take_iterator(value):
    """Take an iterator apart that says where it stands; some no longer do so at their end."""
    make, args, *states = value.__reduce__()
    found = [x for x in states if x is not None]
    return (make, args, *found) if type(make(*args)) is type(value) else None


def make_iterator(make, args, *state):
    """Make an iterator that stands somewhere."""
    made = make(*args)
    for x in state:
        made.__setstate__(x)
    return made


def _take_generator(value):
    """Take a generator apart that has not begun: the function that made it, and its arguments."""
    if inspect.getgeneratorstate(value) != inspect.GEN_CREATED:
        return None
    code, held = value.gi_code, value.gi_frame.f_locals
    found = gc.get_referents(value)
    fun = next((x for x in found if type(x) is types.FunctionType and x.__code__ is code), None)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for i, name in enumerate(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]):
        if is_default(held[name]):
            continue  # the function takes it by itself
        if i == len(args) and i < code.co_argcount:
            args.append(held[name])
        else:
            kwargs[name] = held[name]
    rest = list(code.co_varnames[code.co_argcount + code.co_kwonlyargcount :])
    if code.co_flags & inspect.CO_VARARGS:
        args += held[rest.pop(0)]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs |= held[rest.pop(0)]
    return None if fun is None else (fun, tuple(args), kwargs)


def _make_generator(fun, args, kwargs):
    return fun(*args, **kwargs)


def position_of(iterator):
    """Return in words where an iterator stands, which tells whether it was moved."""
    if type(iterator) is types.GeneratorType:
        frame = iterator.gi_frame
        if frame is None:
            return "at its end"
        held, state = frame.f_locals.values(), [frame.f_lasti]
    elif type(iterator) in MADE:
        _, held, *state = iterator.__reduce__()
    else:  # of `itertools`, of which `count` and `repeat` say it in words
        held, state = gc.get_referents(iterator), [repr(iterator)]
    return ", ".join([*map(_place_in, held), *map(str, state)])


def _place_in(held):
    if type(held) is range:  # what is left, made to be told
        return repr(held)
    if isinstance(held, ITERATORS):
        return position_of(held)
    return f"{id(held)} of {len(held)}" if type(held) is list else str(id(held))


def _iterators():
    """Return an iterator of each kind that says what it goes over and where it stands.

    Those of dicts and sets say only what is left, `itertools`'s no longer do so in Python 3.14.
    """
    return (
        iter([]), iter(()), iter(""), iter("\u00e9"), iter(b""), iter(bytearray()), iter(range(0)),
        iter(range(1 << 70)), iter(array.array("i")), iter(collections.deque()), iter(int, 0),
        reversed([]), reversed(()), reversed(collections.deque()), enumerate(()), zip(),
        map(abs, ()), filter(None, ()),
    )  # fmt: skip


ITERATORS = (
    *{type(x) for x in _iterators()},
    *[x for x in vars(itertools).values() if isinstance(x, type)],
    types.GeneratorType,
)
"""Iterators whose position can be told."""

_DICTS = ({}, collections.OrderedDict())

MADE: dict[type, Kind] = {
    **HELD,
    types.MethodType: Kind(_take_method, _make_method),
    memoryview: Kind(_take_memoryview, memoryview),
    types.BuiltinMethodType: Kind(_take_builtin, getattr),
    types.MethodWrapperType: Kind(_take_builtin, getattr),
    functools.partial: Kind(_take_partial, make_partial),
    type(functools.lru_cache(int)): Kind(_take_cached, _make_cached),
    object: Kind(lambda value: (), object),
    type(threading.Lock()): Kind(_take_lock, threading.Lock),
    type(threading.RLock()): Kind(_take_recursive_lock, threading.RLock),
    weakref.ref: Kind(_take_reference, weakref.ref),
    weakref.KeyedRef: Kind(lambda ref: (ref(), ref.__callback__, ref.key), weakref.KeyedRef),
    weakref.WeakMethod: Kind(_take_weak_method, weakref.WeakMethod),
    types.MappingProxyType: Kind(_take_proxy, types.MappingProxyType),
    **{
        type(view): _viewed(operator.methodcaller(name))
        for d in _DICTS
        for name in ("keys", "values", "items")
        for view in (getattr(d, name)(),)
    },
    bytearray: Kind(lambda value: (bytes(value),), bytearray),
    array.array: Kind(lambda value: (value.typecode, value.tobytes()), array.array),
    types.GeneratorType: Kind(_take_generator, _make_generator),
    io.StringIO: Kind(_take_state, _with_state(io.StringIO)),
    io.BytesIO: Kind(_take_state, _with_state(io.BytesIO)),
    **{type(x): Kind(_take_iterator, make_iterator) for x in _iterators()},
}
"""Kinds whose values, where a trace has made them, are made again by each call."""
