"""Host scalars do what numbers do, and their program does it again for other numbers."""

import copy
import decimal
import fractions
import math
import operator
import pickle
import struct
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evertrace._src.core.tracer import Tracer
from evertrace._src.jit.lifting.host import (
    Host,
)
from evertrace._src.jit.lifting.hostmodules import module_stand_in, stand_in_of
from evertrace._src.jit.lifting.hostprogram import RAISES, Redrawn, bits
from evertrace._src.jit.lifting.prologue import Prologue
from evertrace._src.jit.lifting.standins import type_stand_in
from evertrace.errors import ImpurityError

math_stand_in = module_stand_in(math)

# ---------------------------------------------------------------- programs against plain Python

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, divmod, operator.and_, operator.or_, operator.lshift, operator.lt, operator.ge,
    operator.eq, math.atan2, math.hypot, math.isclose,
]  # fmt: skip
UNARY = [
    operator.neg, abs, round, math.floor, math.trunc, operator.invert, int, float, bool, str,
    math.sin, math.sqrt, math.frexp, complex, repr, "{:.3g}".format,
    lambda x: x.as_integer_ratio(), lambda x: x.is_integer(), lambda x: x.real,
    lambda x: x.bit_length(),
]  # fmt: skip

INTEGERS = st.integers(-4, 4) | st.sampled_from([2**63, -(2**70), 10**400])
FLOATS = st.floats(-4, 4, width=16) | st.sampled_from([0.0, -0.0, math.nan, math.inf, 1e308])
NUMBERS = INTEGERS | FLOATS
STEPS = st.lists(
    st.tuples(st.sampled_from(UNARY), st.integers(0), st.none())
    | st.tuples(st.sampled_from(BINARY), st.integers(0), st.integers(0) | NUMBERS),
    min_size=1,
    max_size=12,
)


def is_number(x):
    return type(x) is Host or type(x) in (int, float, complex)


def calculate(steps, leaves):
    """Run a random program: numbers join the pool, everything else is noted."""
    pool, seen = list(leaves), []
    for fn, i, j in steps:
        fn = stand_in_of(fn) or fn if type(pool[0]) is Host else fn
        args = [pool[i % len(pool)]]
        if j is not None:
            args.append(pool[j % len(pool)] if type(j) is int and j >= 0 else j)
        if fn in (operator.pow, operator.lshift) and abs(args[1].real) > 64:
            continue  # plain Python would take for ever
        try:
            result = fn(*args)
        except Exception as error:
            seen.append(type(error))  # the text may name the reflected operator
            continue
        parts = result if type(result) is tuple else (result,)
        pool.extend(filter(is_number, parts))
        seen.extend(part for part in parts if not is_number(part))
    return pool, seen


@given(STEPS, st.lists(NUMBERS, min_size=2, max_size=2), st.lists(NUMBERS, min_size=2, max_size=2))
def test_a_program_gives_what_python_gives_or_does_not_match(steps, first, second):
    prologue = Prologue()
    pool, seen = calculate(steps, map(prologue.leaf, first))
    plain_pool, plain_seen = calculate(steps, first)
    assert bits(tuple(x.present if type(x) is Host else x for x in pool)) == bits(tuple(plain_pool))
    assert seen == plain_seen

    hosts = [x for x in pool if type(x) is Host]
    program = prologue.freeze([x.slot for x in hosts])
    assert isinstance(repr(program), str)
    slots = program.run(first)
    assert slots is not None
    assert bits(tuple(slots[x.slot] for x in hosts)) == bits(tuple(x.present for x in hosts))

    if list(map(type, first)) != list(map(type, second)):
        return  # the leaves' own guards differ
    slots = program.run(second)
    if slots is not None:
        plain_pool, plain_seen = calculate(steps, second)
        found = tuple(slots[x.slot] if type(x) is Host else x for x in pool)
        assert bits(found) == bits(tuple(plain_pool))
        assert seen == plain_seen


# ---------------------------------------------------------------- what is recorded


@pytest.fixture
def prologue():
    return Prologue()


def demands(prologue):
    return prologue.freeze().describe({i: "n" for i in prologue.leaves[:1]})


def test_arithmetic_demands_nothing(prologue):
    n = prologue.leaf(3)
    total = 0.9**n * 2 + n // 2 - divmod(n, 2)[1] + abs(-n) + round(n / 7, 2) + pow(n, 2, 5)
    assert type(total) is Host
    program = prologue.freeze([total.slot])
    assert not any("==" in line for line in program.describe())
    for n in 3, 4, 1000:
        plain = 0.9**n * 2 + n // 2 - divmod(n, 2)[1] + abs(-n) + round(n / 7, 2) + pow(n, 2, 5)
        assert program.run([n])[total.slot] == plain


def test_a_comparison_is_a_bool_and_a_demand_of_that_bool_only(prologue):
    n, limit = prologue.leaf(3), prologue.leaf(5)
    assert (n > limit) is False
    program = prologue.freeze()
    assert program.describe({n.slot: "self.n", limit.slot: "self.limit"}) == [
        "self.n > self.limit == False"
    ]
    assert program.run([5, 5]) is not None
    assert program.run([6, 5]) is None


def test_the_same_question_is_asked_once(prologue):
    n = prologue.leaf(3)
    for _ in range(3):
        assert n + 1 > 2
        range(n)
    assert demands(prologue) == ["(n + 1) > 2 == True", "n == 3"]


def test_the_same_operation_has_one_slot(prologue):
    n = prologue.leaf(3)
    assert (n * 2).slot == (n * 2).slot
    assert (n * 2).slot != (n * 2.0).slot
    assert (n * 0.0).slot != (n * -0.0).slot


@pytest.mark.parametrize(
    ("ask", "line"),
    [
        (lambda n: [None] * 9 and range(9)[n], "n == 3"),
        (lambda n: {3: "three"}[n], "n == 3"),
        (lambda n: f"{n:03d}", "format(n, '03d') == '003'"),
        (lambda n: operator.mod("%d", n), "int(n) == 3"),
        (lambda n: np.zeros(n).shape, "n == 3"),
        (lambda n: np.asarray(n).dtype, "n == 3"),
        (lambda n: bool(n), "bool(n) == True"),
        (lambda n: math.erf(n), "float(n) == 3.0"),
        (lambda n: struct.pack("d", n), "float(n) == 3.0"),
        (lambda n: "ab" * n, "n == 3"),
        (lambda n: fractions.Fraction(n) > 1, ".numerator * 1) > "),
        (lambda n: n.to_bytes(2, byteorder="big"), "to_bytes"),
        (lambda n: sorted([n, 1]) and None, "n > 1 == True"),
    ],
)
def test_who_asks_for_the_value_makes_a_demand(prologue, ask, line):
    assert ask(prologue.leaf(3)) == ask(3)
    assert any(line in found for found in demands(prologue))
    assert prologue.freeze().run([3]) is not None
    assert prologue.freeze().run([0]) is None


def test_numbers_are_compared_bit_by_bit(prologue):
    x = prologue.leaf(0.0)
    prologue.demand(float, x)
    program = prologue.freeze()
    assert program.run([0.0]) is not None
    assert program.run([-0.0]) is None
    nan = Prologue()
    nan.demand(float, nan.leaf(math.nan))
    assert nan.freeze().run([math.nan]) is not None
    assert nan.freeze().run([1.0]) is None


def test_the_type_of_a_result_is_guarded(prologue):
    n = prologue.leaf(2)
    squared = n**n
    program = prologue.freeze([squared.slot])
    assert program.run([3])[squared.slot] == 27
    assert program.run([-2]) is None  # a float


def test_an_exception_is_recorded_and_raised(prologue):
    n = prologue.leaf(0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            1 / n
    program = prologue.freeze()
    assert [step.kind for step in program.steps] == [RAISES]
    assert program.describe({n.slot: "n"}) == ["1 / n raises ZeroDivisionError"]
    assert program.run([0]) is not None
    assert program.run([1]) is None


def test_that_nothing_was_raised_is_part_of_the_program(prologue):
    n = prologue.leaf(1)
    1 / n
    n + 1  # cannot fail, so it is left out
    program = prologue.freeze()
    assert len(program.steps) == 1
    assert program.run([0]) is None


def test_operations_after_a_demand_are_not_run_when_it_differs(prologue):
    n = prologue.leaf(1)
    calls = []
    assert n > 0
    prologue.op(lambda x: calls.append(x) or x, n)
    program = prologue.freeze()
    calls.clear()
    assert program.run([-1]) is None
    assert calls == []


def test_results_that_are_no_plain_values_guard_the_operands(prologue):
    n = prologue.leaf(3)
    assert prologue.op(lambda x: {x}, n) == {3}
    assert prologue.op(decimal.Decimal, n) == 3
    assert demands(prologue) == ["n == 3"]


def test_big_integers_stay_exact(prologue):
    n = prologue.leaf(10**30)
    grown = n * n + 1
    assert prologue.freeze([grown.slot]).run([10**40])[grown.slot] == 10**80 + 1


# ---------------------------------------------------------------- late calls


def test_late_calls_are_redone_after_the_match_in_order(prologue):
    drawn = iter([0.5, 3.0, 7.0])
    n = prologue.leaf(2)
    a = prologue.late(lambda: next(drawn), (), 0.25, "draw() at here.py:1")
    b = prologue.late(lambda scale: scale * next(drawn), (n,), 0.75, "draw(n) at here.py:2")
    total = a * n + b
    program = prologue.freeze([total.slot])
    slots = program.run([2])
    assert slots[total.slot] is None
    program.run_late(slots)
    assert slots[total.slot] == 0.5 * 2 + 2 * 3.0
    assert program.describe()[:2] == [
        "draw() at here.py:1, anew at each call",
        "draw(n) at here.py:2, anew at each call",
    ]


@pytest.mark.parametrize("ask", [lambda x: x > 1, int, str, lambda x: range(3)[x], hash, bool])
def test_what_is_late_cannot_be_demanded(prologue, ask):
    draw = prologue.late(lambda: 2, (), 2, "random.random() at here.py:1")
    with pytest.raises(ImpurityError, match=r"random.random\(\) at here.py:1: what the function"):
        ask(draw * 3 + 1)


def test_an_exception_that_depends_on_what_is_late_is_refused(prologue):
    draw = prologue.late(lambda: 0, (), 0, "random.random() at here.py:1")
    with pytest.raises(ImpurityError, match="random"):
        1 / draw


def test_a_late_result_of_another_type_is_another_variants(prologue):
    draw = prologue.late(lambda: -2, (), 2, "random.random() at here.py:1")
    root = draw**0.5
    program = prologue.freeze([root.slot])
    with pytest.raises(Redrawn) as info:
        program.run_late(program.run([]))
    assert (info.value.was, info.value.now) == (float, complex)
    assert isinstance(info.value.__cause__, ImpurityError)


def test_a_late_result_of_a_type_that_nobody_expects_is_an_error(prologue):
    draw = prologue.late(lambda: "", (), 2, "random.random() at here.py:1")
    program = prologue.freeze([draw.slot])
    with pytest.raises(ImpurityError, match="of type int when the function was traced"):
        program.run_late(program.run([]))


# ---------------------------------------------------------------- numbers to their users


def test_host_scalars_look_like_numbers(prologue):
    n, x = prologue.leaf(3), prologue.leaf(2.5)
    assert isinstance(n, int)
    assert isinstance(x, float)
    assert not isinstance(n, float)
    match n:
        case int(k):
            assert k is n
    assert (n.real, n.imag, n.denominator) == (3, 0, 1)
    assert x.hex() == (2.5).hex()
    assert x.is_integer() is False
    assert n.bit_length() + 1 == 3
    assert n.from_bytes(b"\1", "big") == 1
    assert copy.copy(n) is n
    assert copy.deepcopy([n])[0] is n
    with pytest.raises(TypeError, match="cannot pickle a Host"):  # what it wrote would be no number
        pickle.dumps(n)
    assert not hasattr(n, "value")
    with pytest.raises(AttributeError, match="'int' object has no attribute 'shape'"):
        operator.attrgetter("shape")(n)


def test_other_operands_decide_for_themselves(prologue):
    class Theirs:
        def __radd__(self, other):
            return "theirs"

    n = prologue.leaf(3)
    assert n + Theirs() == "theirs"
    assert (n == "3") is False
    assert fractions.Fraction(1, 2) + n == fractions.Fraction(7, 2)
    with pytest.raises(TypeError, match="unsupported operand"):
        n + "3"


@pytest.mark.parametrize("array", [np.float32([1, 2]), np.int8([1, 2]), np.float32(2)])
def test_numpy_takes_the_plain_number(prologue, array):
    x = prologue.leaf(3)
    for found, wanted in [
        (x * array, 3 * array),
        (array - x, array - 3),
        (np.power(array, x), array**3),
    ]:
        np.testing.assert_array_equal(found, wanted, strict=True)
    assert demands(prologue) == ["n == 3"]


def test_an_array_gets_it_as_an_input(prologue):
    n = prologue.leaf(3)
    made = []
    prologue.as_input = lambda host: made.append(host) or "input"
    assert n.__jax_array__() == "input"
    assert made == [n]
    assert demands(prologue) == []
    assert not issubclass(Host, Tracer)


def test_on_another_thread_it_is_its_value(prologue):
    n = prologue.leaf(3)
    found = []
    thread = threading.Thread(target=lambda: found.extend([n + 1, n > 2, n.__jax_array__(), 1 / n]))
    thread.start()
    thread.join()
    assert found == [4, True, 3, 1 / 3]
    assert [type(x) for x in found] == [int, bool, int, float]
    assert prologue.steps == []


def test_after_its_trace_it_is_its_value(prologue):
    n = prologue.leaf(3)
    prologue.closed = True
    assert type(n + 1) is int
    assert type(2.0 * n) is float
    assert hash(n) == 3
    assert n.__jax_array__() == 3
    assert prologue.steps == []
    later = Prologue()
    m = later.leaf(4)
    assert type(n * m) is Host
    assert later.freeze([(n * m).slot]).run([5])[(n * m).slot] == 15


# ---------------------------------------------------------------- stand-ins


def test_math_is_recorded(prologue):
    n = prologue.leaf(3)
    out = (
        math_stand_in.cos(n)
        + math_stand_in.log(n, 2)
        + math_stand_in.pi
        + math_stand_in.factorial(n)
    )
    assert type(out) is Host
    assert math_stand_in.isclose(n, 3.5, abs_tol=1) is True
    mantissa, exponent = math_stand_in.frexp(n)
    program = prologue.freeze([out.slot, mantissa.slot, exponent.slot])
    assert sum("==" in line for line in program.describe()) == 1
    slots = program.run([4])
    assert slots[out.slot] == math.cos(4) + math.log(4, 2) + math.pi + math.factorial(4)
    assert (slots[mantissa.slot], slots[exponent.slot]) == math.frexp(4)
    assert program.run([5]) is None


_NEGATIVE = "math domain error|expected a nonnegative input"  # the latter from Python 3.14 on


def test_math_of_other_arguments_is_left_alone(prologue):
    assert math_stand_in.sqrt(4) == 2.0
    assert math_stand_in.hypot(np.float64(3), 4) == 5
    with pytest.raises(ValueError, match=_NEGATIVE):
        math_stand_in.sqrt(-1)
    with pytest.raises(TypeError):
        math_stand_in.cos("1")
    with pytest.raises(ValueError, match=_NEGATIVE):
        math_stand_in.sqrt(prologue.leaf(-1))


def test_stand_ins_look_like_the_real_ones():
    assert stand_in_of(math.cos) is math_stand_in.cos
    assert stand_in_of(math.cos).__wrapped__ is math.cos
    assert stand_in_of(len) is stand_in_of([]) is stand_in_of(np.cos) is None
    assert math_stand_in.cos.__name__ == math_stand_in.cos.__qualname__ == "cos"
    assert math_stand_in.cos.__doc__ == math.cos.__doc__
    assert dir(math_stand_in) == dir(math)


def test_type_of_a_host_scalar_is_the_type_of_its_value(prologue):
    assert type_stand_in(prologue.leaf(3)) is int
    assert type_stand_in(prologue.leaf(3.0)) is float
    assert type_stand_in(3) is int


def test_type_is_what_it_was_in_every_other_respect():
    made = type_stand_in("Made", (int,), {"two": 2})
    assert type(made) is type
    assert (made.__name__, made.__module__, made.two, made(3)) == ("Made", __name__, 2, 3)
    assert operator.eq(type_stand_in, type)
    assert {type: 1}[type_stand_in] == 1
    assert type_stand_in(int) is type_stand_in
    assert isinstance(int, type_stand_in)
    assert not isinstance(3, type_stand_in)
    assert issubclass(type, type_stand_in)
    assert not issubclass(int, type_stand_in)
    assert repr(type_stand_in) == repr(type)

    class Meta(type_stand_in):
        pass

    class WithMeta(metaclass=Meta):
        pass

    class WithType(metaclass=type_stand_in):
        pass

    assert type(WithMeta) is Meta
    assert isinstance(WithMeta, Meta)
    assert not isinstance(int, Meta)
    assert type(WithType) is type
