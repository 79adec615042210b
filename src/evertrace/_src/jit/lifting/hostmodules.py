"""Pure functions of numbers during a trace: `sum`, and what is in `math`, `cmath`, `statistics`.

They would ask each number for its value. What stands for them records the call where they are given
the host's numbers, one by one or in lists: a mean of numbers that change is one program.
"""

import collections
import functools
import math
import operator
import sys
import types
from typing import Any, NamedTuple

from evertrace._src.jit.lifting import asking
from evertrace._src.jit.lifting.host import (
    NUMBERS,
    is_computed,
    is_operand,
    op,
    plain,
    with_keywords,
)
from evertrace._src.jit.lifting.hostarray import HostArray
from evertrace._src.jit.lifting.inplace import Calling, ModuleInPlace
from evertrace._src.tracebacks import in_place_of_python

_NAMES = ("math", "cmath", "statistics")
_FUNCTIONS = frozenset({types.FunctionType, types.BuiltinFunctionType})
_SEQUENCES = frozenset({list, tuple, collections.deque})


class _OfSequences(NamedTuple):
    """A function some of whose arguments are sequences, given item by item.

    Attributes:
      fn: the function.
      shape: per argument, the type and length of the sequence, or None.
    """

    fn: Any
    shape: tuple[Any, ...]

    def __call__(self, *items):
        args, rest = [], iter(items)
        for shape in self.shape:
            kind, count = shape or (None, 1)
            taken = [next(rest) for _ in range(count)]
            args.append(taken[0] if kind is None else kind(taken))
        return self.fn(*args)


def _known(x):
    """Return a NumPy scalar for its stand-in, of which `complex(1, z)` takes the real part."""
    return x.contents() if type(x) is HostArray and x.is_scalar and x.is_known else x


def _recording(fn, copied=functools.WRAPPER_ASSIGNMENTS):
    """Return a function that does what `fn` does, and records it where it meets host values."""

    @in_place_of_python
    def stand_in(*args, **kwargs):
        args = [list(x) if hasattr(type(x), "__next__") else x for x in args]
        items, shape = [], []
        for x in (*args, *kwargs.values()):
            is_sequence = type(x) in _SEQUENCES
            items += x if is_sequence else (x,)
            shape.append((type(x), len(x)) if is_sequence else None)
        if not any(map(is_computed, items)) or not all(map(is_operand, items)):
            return fn(*map(_known, args), **kwargs)
        of_args, _ = with_keywords(fn, args, kwargs)
        return op(_OfSequences(of_args, tuple(shape)) if any(shape) else of_args, *items)

    return functools.update_wrapper(stand_in, fn, copied, updated=())


def _applying(fn):
    """Return what does as `map` and `filter` do, with what is called in place of a function."""

    def apply(function, /, *iterables, **kwargs):
        return fn(asking.to_be_called(function), *iterables, **kwargs)

    return apply


asking.conversions.update({kind.__name__: _recording(kind, ()) for kind in (int, float, complex)})
asking.conversions.update({fn.__name__: _applying(fn) for fn in (map, filter)})


def _operator_of(method):
    """Return what is called in place of an operator of a number, which knows no stand-ins.

    It would say `NotImplemented` of them.
    """
    is_operator = type(method.__self__) in NUMBERS and method.__name__ in _OPERATORS
    return _of_plain(method) if is_operator else None


def _of_plain(operator):
    """Return what calls an operator with the values of what stands for numbers."""

    @in_place_of_python
    def stand_in(*args):
        return operator(*[plain(x) if is_computed(x) else x for x in args])

    return functools.update_wrapper(stand_in, operator, ("__name__", "__qualname__"), updated=())


def in_place_of_operator(found):
    """Return what stands for an operator, of a number or of its type; other values as they are."""
    if type(found) is types.MethodWrapperType:
        made = asking.operators(found)
        return found if made is None else Calling(found, made)
    return _of_types.get(found, found) if type(found) is types.WrapperDescriptorType else found


def _operator_loaded(name, owner):
    """Return the operator of a value as a value."""
    return in_place_of_operator(getattr(owner, name))


def _operator_called(name, owner):
    """Return the operator of a value as it is to be called."""
    return asking.to_be_called(getattr(owner, name))


_ARITHMETIC = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "and", "or", "xor"),
    *("lshift", "rshift"),
)
_OPERATORS = frozenset(
    f"__{name}__"
    for name in (
        *("eq", "ne", "lt", "le", "gt", "ge"),
        *_ARITHMETIC,
        *[f"r{name}" for name in _ARITHMETIC],
    )
)
asking.operators = _operator_of
_of_types = {
    entry: Calling(entry, _of_plain(entry))
    for kind in (int, float, complex, bool)
    for name, entry in vars(kind).items()
    if name in _OPERATORS
}
asking.functions.update({entry: made.called for entry, made in _of_types.items()})
asking.functions[functools.reduce] = _applying(functools.reduce)
asking.libraries.add(functools)
asking.methods.update({name: functools.partial(_operator_called, name) for name in _OPERATORS})
asking.loaded.update({name: functools.partial(_operator_loaded, name) for name in _OPERATORS})


def _total(*numbers):
    return sum(numbers[1:], numbers[0])


@functools.wraps(sum)
@in_place_of_python
def _sum(iterable, /, start=0):
    """Sum the numbers that come first at once: from Python 3.12 on it is not done by adding."""
    if type(start) not in NUMBERS:
        return sum(iterable, start)
    items, numbers = iter(iterable), [start]
    for x in items:
        if type(x) not in NUMBERS:
            return functools.reduce(operator.add, items, op(_total, *numbers) + x)
        numbers.append(x)
    return op(_total, *numbers)


_stand_ins: dict[Any, Any] = {sum: Calling(sum, _sum)}


class _Module:
    """What stands for a module.

    Attributes:
      entry: its names when this was made.
      stand_in: what user code gets for it.
    """

    def __init__(self, module):
        self.entry = dict(vars(module))
        self.stand_in = ModuleInPlace(module)
        public = getattr(module, "__all__", self.entry)
        for name, fn in self.entry.items():
            is_own = type(fn) in _FUNCTIONS and fn.__module__ == module.__name__
            if is_own and name in public:
                _stand_ins[fn] = Calling(fn, _recording(fn))
                setattr(self.stand_in, name, _stand_ins[fn])


_modules: dict[str, _Module] = {}


def module_stand_in(module):
    """Return what stands for a module of pure functions that nobody has changed, or None."""
    name = module.__name__
    if name not in _NAMES or sys.modules.get(name) is not module:
        return None
    made = _modules.get(name)
    if made is None:
        made = _modules[name] = _Module(module)
    return made.stand_in if vars(module) == made.entry else None


def stand_in_of(function):
    """Return what stands for a pure function of numbers during a trace, else None.

    The function itself is its stand-in's ``__wrapped__``.
    """
    if type(function) not in _FUNCTIONS:
        return None
    home = function.__module__
    if home in _NAMES and home not in _modules and home in sys.modules:
        module_stand_in(sys.modules[home])
    return _stand_ins.get(function)


module_stand_in(math)  # before anybody has changed it
