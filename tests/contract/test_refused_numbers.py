"""Code in C that takes Python's own numbers only: its errors are not the function's."""

import contextlib
import decimal
import json
import marshal
import os
import pickle
import random
import time
from datetime import timedelta

import numpy as np
import pytest

import evertrace as ev
from evertrace.errors import ImpurityError, OpaqueStateError
from tests.contract.compare import Record, X, case

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    "of", [lambda n: marshal.dumps([n]), lambda n: decimal.Decimal((0, (n, 1), -n))]
)
def test_code_in_c_that_finds_no_number_in_something_has_the_number(of):
    @case()
    def program(jit):
        s = Record(n=1, made=None)

        def f(x):
            s.n += 1
            s.made = of(s.n)
            return x * s.n

        f = jit(f)
        yield f(X), s
        yield f(X), s

    program()


class Encoder(json.JSONEncoder):
    """Encodes anything."""

    def default(self, o):
        return f"an {type(o).__name__}"


REFUSING = {
    "json.dumps": lambda s: json.dumps({"n": s.n, "v": [s.v]}),
    "json.dumps, what else there is as text": lambda s: json.dumps({"n": s.n}, default=str),
    "json.dumps, an encoder": lambda s: json.dumps([s.n, {1}], cls=Encoder),
    "an encoder that is kept": lambda s: "".join(Encoder().iterencode([s.n, {1}])),
    "an attribute of a number": lambda s: setattr(s.n, "seen", 1),
    "timedelta": lambda s: timedelta(seconds=s.v),
    "Decimal": lambda s: decimal.Decimal(s.v),
    "Decimal of a tuple": lambda s: decimal.Decimal((0, (s.n,), -1)),
    "marshal": lambda s: marshal.dumps((s.n, s.v)),
    "pickle": lambda s: pickle.dumps([s.n, s.v]),
    "what no number is": lambda s: memoryview(s.n),
    "a call of a number": lambda s: s.n(),
    "a sum with a text": lambda s: s.n + "a",
    "an item of a number": lambda s: s.n[0],
    "an error of the function's own": lambda s: own_error(s.n),
}


def own_error(n):
    raise TypeError(f"no {n}")


def by_except(s, call):
    try:
        s.made = call(s)
    except Exception as error:
        s.made = error


def by_any_except(s, call):
    s.made = "an error"
    try:
        s.made = call(s)
    except:  # noqa: E722
        s.given = 1


def by_a_with(s, call):
    s.made = "an error"
    with contextlib.suppress(TypeError, AttributeError):
        s.made = call(s)


def by_a_return(s, call):
    def made():
        try:
            s.made = call(s)
        finally:
            return 3  # noqa: B012

    s.given = made()


@pytest.mark.parametrize("how", [by_except, by_any_except, by_a_with, by_a_return])
@pytest.mark.parametrize("what", REFUSING)
def test_error_of_code_that_takes_no_stand_in_is_caught_if_python_catches_it(what, how):
    @case(at_most=2)
    def program(jit):
        s = Record(n=1, v=0.5, made=None, given=None)

        def f(x):
            s.n, s.v = s.n + 1, s.v * 2
            how(s, REFUSING[what])
            return x * s.n

        f = jit(f)
        yield f(X), s
        yield f(X), s

    program()


@pytest.mark.parametrize("how", [by_except, by_any_except, by_a_return])
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: os.listdir("."), "os.listdir: a compiled call would not do this again"),
        (lambda s: next(s.batches), "s.batches is a list_iterator|batches"),
    ],
)
def test_refusal_that_the_function_catches_is_raised_at_its_end(call, message, how):
    s = Record(n=1, made=None, given=None, batches=iter([1.0, 2.0]))

    def f(x):
        s.n += 1
        how(s, call)
        return x * s.n

    with pytest.raises((ImpurityError, OpaqueStateError), match=message):
        ev.jit(f)(X)
    assert (s.n, s.made, s.given) == (1, None, None)


@case(traces=1)
def test_error_that_is_caught_and_about_no_number_makes_no_number_a_constant(jit):
    s = Record(n=1, seen=None)

    def f(x):
        s.n += 1
        try:
            s.n += len(object())
        except TypeError:
            s.seen = {}
        try:
            own_error(s.n)
        except TypeError:
            s.n += 10
        return x * s.n

    f = jit(f)
    for _ in range(3):
        yield f(X), s


OF_NUMPY = {
    "json.dumps": lambda v: json.dumps({"v": v, "all": [v]}),
    "Decimal": decimal.Decimal,
    "timedelta": lambda v: timedelta(seconds=v),
    "a method of float's": float.hex,
    "time.gmtime": lambda v: time.gmtime(v).tm_sec,
    "in what a library catches": lambda v: json.dumps(v, default=str),
}


@pytest.mark.parametrize("what", OF_NUMPY)
@pytest.mark.parametrize("how", [lambda s, call: setattr(s, "made", call(s)), by_except])
def test_code_in_c_that_takes_a_scalar_of_numpy_for_a_number_has_it(what, how):
    @case(at_most=2)
    def program(jit):
        s = Record(v=np.float64(2.5), made=None)

        def f(x):
            how(s, lambda s: OF_NUMPY[what](s.v))
            return x

        f = jit(f)
        for v in (2.5, 3.25, 2.5):
            s.v = np.float64(v)
            yield f(X), s

    program()


@case(traces=1)
def test_scalar_of_numpy_beside_one_that_code_in_c_takes_stays_a_number(jit):
    s = Record(v=np.float64(2.5), w=np.float64(1.0), made=None)

    def f(x):
        s.made = decimal.Decimal(s.v)
        return x * s.w

    f = jit(f)
    for w in (1.0, 3.0, 4.0):
        s.w = np.float64(w)
        yield f(X), s


OF_ARRAY = {
    "an element": lambda a: a[0],
    "a part of a complex number": lambda a: (a * 1j)[1].imag,
    "a sum": lambda a: a.sum(),
    "one by one": lambda a: list(a)[1],
    "a function's": lambda a: np.max(a),
}


@pytest.mark.parametrize("what", OF_NUMPY)
@pytest.mark.parametrize("scalar", OF_ARRAY)
@pytest.mark.parametrize("how", [lambda s, call: setattr(s, "made", call(s)), by_except])
def test_code_in_c_that_takes_a_scalar_of_an_array_for_a_number_has_it(what, scalar, how):
    @case(at_most=2)
    def program(jit):
        s = Record(a=np.array([2.5, 1.25]), made=None)

        def f(x):
            how(s, lambda s: OF_NUMPY[what](OF_ARRAY[scalar](s.a)))
            return x * s.a[1]

        f = jit(f)
        for v in (2.5, 3.25, 2.5):
            s.a = np.array([v, 1.25])
            yield f(X), s

    program()


LATE = {
    "timedelta": lambda d: timedelta(hours=d.integer()),
    "timedelta of a sum": lambda d: timedelta(hours=2 + d.integer()),
    "product with a timedelta": lambda d: timedelta(hours=1) * d.integer(),
    "Decimal": lambda d: decimal.Decimal(d.real()),
    "timedelta of a scalar of NumPy": lambda d: timedelta(hours=d.scalar()),
    "timedelta of an element": lambda d: timedelta(hours=d.array()[1]),
    "json.dumps": lambda d: json.dumps([d.real()]),
}


class Drawing:
    """Draws numbers of all kinds."""

    def __init__(self):
        self.python, self.numpy = random.Random(1), np.random.default_rng(1)

    def integer(self):
        return self.python.randint(0, 3)

    def real(self):
        return self.python.random()

    def scalar(self):
        return self.numpy.random()

    def array(self):
        return self.numpy.random(3)

    def state(self):
        return self.python.getstate(), self.numpy.bit_generator.state


@pytest.mark.parametrize("what", LATE)
@pytest.mark.parametrize("how", [lambda s, call: setattr(s, "made", call(s)), by_except])
@pytest.mark.quotes_lines
def test_code_in_c_that_takes_no_number_drawn_at_each_call_is_refused(what, how):
    drawing = Drawing()
    before = drawing.state()

    def f(x):
        how(Record(n=1, made=None), lambda s: LATE[what](drawing))
        return x

    with pytest.raises(ImpurityError, match="is another one at each call") as caught:
        ev.jit(f)(X)
    assert "self.python." in str(caught.value) or "self.numpy." in str(caught.value)
    assert "Fix: call it outside and pass the result in" in str(caught.value)
    assert drawing.state() == before


@pytest.mark.parametrize("how", [lambda s, call: setattr(s, "made", call(s)), by_except])
def test_error_of_code_in_c_beside_a_draw_is_pythons(how):
    @case(at_most=3)
    def program(jit):
        s = Record(n=1, made=None, drawing=Drawing())

        def f(x):
            first = s.drawing.real()
            how(s, lambda s: timedelta(hours="one"))
            return x * first * s.n

        f = jit(f)
        for s.n in (1, 2, 3):
            try:
                yield f(X), s
            except TypeError as error:
                yield str(error)

    program()
