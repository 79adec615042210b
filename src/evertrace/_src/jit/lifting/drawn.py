"""The random generators that a call draws from, put back to where they were if it does not end.

A call that raises, or is refused, has changed nothing; so it has drawn nothing. To read a state
takes microseconds (the Mersenne twister's is 625 words), and most draws cannot fail: so states are
read only where something may.
"""

import contextlib
import functools
import operator
import pickle

from evertrace._src.jit.lifting import values

_KINDS = (("random", "Random"), ("numpy.random", "Generator"), ("numpy.random", "RandomState"))

_TOTAL = frozenset({
    operator.add, operator.sub, operator.mul, operator.neg, operator.pos, operator.abs,
})  # fmt: skip

_OF_ANY_TYPE = frozenset({"choice", "choices", "sample", "shuffle"})
_OF_OPERANDS = frozenset({operator.getitem, operator.pow, pow})


def is_generator(cls):
    """Whether instances of a class are generators; those of subclasses may do anything."""
    return cls in values.loaded_types(_KINDS)


def may_stop(step):
    """Whether a late step raises for some of the numbers drawn, or gives another type."""
    fn = _called(step)
    return fn.__name__ in _OF_ANY_TYPE if _is_draw(fn) else fn not in _TOTAL


def may_differ(step):
    """Whether a late step may well give a result of another type than it gave."""
    fn = _called(step)
    return fn.__name__ in _OF_ANY_TYPE if _is_draw(fn) else fn in _OF_OPERANDS


@contextlib.contextmanager
def put_back_if_stopped(steps, slots):
    """Put what late steps draw from back to where it is now if the block raises."""
    found = {id(x): x for step in steps for x in _generators(step, slots)}
    states = [_putter(x) for x in found.values()]
    try:
        yield
    except BaseException:
        for put_back in states:
            put_back()
        raise


def states(steps, slots):
    """Return the states of what late steps draw from, in order, to be compared."""
    return [pickle.dumps(_state(x)) for step in steps for x in _generators(step, slots)]


def _called(step):
    fn = step.fn
    while hasattr(fn, "real"):  # of a function with keywords, or that changes what it is given
        fn = fn.real
    return fn


def _is_draw(fn):
    owner = getattr(fn, "__self__", None)
    kind = type(owner) if owner is not None else getattr(fn, "__objclass__", None)
    name = getattr(fn, "__name__", "")
    kinds = values.loaded_types(_KINDS)
    return kind in kinds or any(getattr(cls, name, None) is fn for cls in kinds)


def _generators(step, slots):
    """Return the generators that a step draws from: whose method it is, or which it is given."""
    given = (getattr(_called(step), "__self__", None), *[slots[i] for i in step.args])
    return [x for x in given if is_generator(type(x))]


def _putter(generator):
    """Return a function that puts a generator back to the state that it has now."""
    state = _state(generator)
    if hasattr(generator, "getstate"):
        return functools.partial(generator.setstate, state)
    if hasattr(generator, "get_state"):
        return functools.partial(generator.set_state, state)
    return functools.partial(setattr, generator.bit_generator, "state", state)


def _state(generator):
    if hasattr(generator, "getstate"):
        return generator.getstate()
    if hasattr(generator, "get_state"):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state
