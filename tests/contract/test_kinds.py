"""What a value is of, as user code asks, and what classes hold under other names than the code's.

The types of arrays, NumPy's and ours; members of enumerations that nobody names; slots that a class
has given away.
"""

import enum
import functools

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case

pytestmark = pytest.mark.engine

VALUES = (
    1, 0.5, True, None, 1j, np.float32(2), np.int32(2), np.float64(2), np.bool_(True), np.ones(3),
    jnp.float32(2), jnp.ones(3),
)  # fmt: skip

QUESTIONS = {
    "isinstance of ours": lambda v: isinstance(v, jnp.ndarray),
    "isinstance of two": lambda v: isinstance(v, (ev.Array, float)),
    "isinstance of NumPy's": lambda v: isinstance(v, np.ndarray),
    "isinstance of NumPy's scalars": lambda v: isinstance(v, np.generic),
    "is ours": lambda v: type(v) is ev.Array,
    "is a float": lambda v: type(v) is float,
    "in a tuple": lambda v: type(v) in (ev.Array, np.ndarray, int),
    "name": lambda v: len(type(v).__name__),
    "module": lambda v: len(type(v).__module__),
    "key": lambda v: {ev.Array: 1, np.float32: 2, int: 3}.get(type(v), 0),
    "subclass": lambda v: issubclass(type(v), ev.Array),
    "match": lambda v: _matched(v),
    "dispatch": lambda v: dispatched(v),
}


def _matched(v):
    match v:
        case jnp.ndarray():
            return 1
        case np.ndarray():
            return 2
        case int():
            return 3
    return 4


@functools.singledispatch
def dispatched(v):
    return 0


for _i, _kind in enumerate((int, float, np.ndarray, np.float32, ev.Array), 1):
    dispatched.register(_kind, lambda v, i=_i: i)


class Holder:
    def __init__(self, v):
        self.v = v


@pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning")
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_the_type_of_what_changes(question):
    """An attribute, an argument and a global that are of another type at each call."""
    held = Holder(None)

    def f(s, x, v):
        return x * question(s.v) + question(v) * 10

    jitted = ev.jit(f)
    for v in VALUES:
        held.v = v
        for w in (v, 1, X):
            np.testing.assert_array_equal(jitted(held, X, w), f(held, X, w))


def test_the_type_of_what_is_computed():
    """A traced array is an array to the user's code, whatever computes it."""
    jitted = ev.jit(lambda x: (x, type(x * 2) is ev.Array, type(x).__name__ == "Array"))
    assert all(jitted(X)[1:])
    kinds = []
    ev.jit(lambda x: ev.vmap(lambda y: kinds.append(isinstance(y, jnp.ndarray)))(x))(X)
    assert kinds == [True]


def test_under_strict_rules_the_type_is_that_of_a_tracer():
    kinds = []
    ev.jit(lambda x: kinds.append(type(x)), strict=True)(X)
    assert issubclass(kinds[0], ev.core.Tracer)


WAYS = {
    "named": lambda tone: tone.HIGH.gain,
    "iterated": lambda tone: sum(t.gain for t in tone),
    "reversed": lambda tone: sum(2 * t.gain + t.rank for t in reversed(tone)),
    "unpacked": lambda tone: next(iter(tone)).gain,
    "by value": lambda tone: tone((2, 1.5)).gain,
    "by name": lambda tone: tone["HIGH"].gain,
    "compared": lambda tone: max(tone, key=lambda t: t.gain).gain,
    "mapped": lambda tone: sum(map(lambda t: t.gain * t.rank, tone)),
    "zipped": lambda tone: next(zip(tone, (1, 2), strict=True))[0].gain,
    "members": lambda tone: tone.__members__["HIGH"].gain,
    "new attribute": lambda tone: sum(getattr(t, "extra", 1) for t in tone),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_members_of_an_enumeration_that_change(way):
    @case()
    def program(jit):
        class Tone(enum.Enum):
            HIGH = (2, 1.5)
            LOW = (1, 0.5)

            def __init__(self, rank, gain):
                self.rank, self.gain = rank, gain

        f = jit(lambda x: x * way(Tone))
        yield f(X)
        Tone.HIGH.gain = 9.0
        yield f(X)
        Tone.LOW.extra = 3
        yield f(X)
        Tone.LOW.gain, Tone.LOW.rank = 10.0, 4
        yield f(X)

    program()


@pytest.mark.parametrize("given", ["property", "value"])
def test_a_slot_that_a_class_has_given_away(given):
    """No name leads to what is in it."""

    @case()
    def program(jit):
        class Slim:
            __slots__ = ("k", "v")

            def __init__(self):
                self.k, self.v = 3, 1

        s = Slim()
        f = jit(lambda x, s: (x * s.v + s.k, s))
        handed_on = jit(lambda x, s: (x, s))
        yield f(X, s)[0], handed_on(X, s)[1] is s
        Slim.k = property(lambda self: self.v * 2) if given == "property" else 2
        yield f(X, s)[0], handed_on(X, s)[1] is s, jit(lambda x, s: x * s.v - s.k)(X, s)
        s.v = 5
        yield f(X, s)[0], s.k, s.v

    program()


def test_an_error_of_pythons_own_calls_an_array_an_array():
    for f in (lambda x: x + None, lambda x: None @ x, lambda x: x["a"].b, lambda x: x()):
        errors = []
        for g in (f, ev.jit(f)):
            with pytest.raises(TypeError) as caught:
                g(X)
            errors.append(str(caught.value).partition("\n")[0])
        assert errors[0] == errors[1]


@case(traces=1)
def test_class_of_a_traced_array_is_that_of_arrays(jit):
    s = Record(seen=None)

    def kind_of(x):
        return x.__class__

    def f(x):
        y = x * 2
        s.seen = x.__class__, kind_of(y).__name__, y.__class__ is type(x), s.__class__ is Record
        return (x + 1 if x.__class__ is ev.Array else x - 1), x.__class__.__mro__[0].__name__ == ""

    f = jit(f)
    for _ in range(2):
        yield f(X), s
