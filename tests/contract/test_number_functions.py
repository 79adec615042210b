"""Functions of Python numbers: those of `math`, sums, minima, and those of many numbers."""

import cmath
import fractions
import math
import statistics
from collections import deque
from statistics import stdev

import pytest

import evertrace.numpy as jnp
from evertrace import lax
from tests.contract.compare import Record, X, case, raised

pytestmark = pytest.mark.engine


@case(traces=1)
def test_math_functions_are_recorded(jit):
    s = Record(t=1)

    def step(x):
        s.t += 1
        s.rate = 0.5 * (1 + math.cos(math.pi * s.t / 100))
        s.more = [math.sqrt(s.t), math.exp(-s.t), math.log(s.t, 2), math.hypot(s.t, 3.0)]
        return x * s.rate

    step = jit(step)
    for _ in range(4):
        yield step(X), s


@case(traces=1)
def test_sums_are_pythons(jit):
    s = Record(tenths=[0.1] * 10, n=3, huge=[1e16, 1.0, -1e16])

    def f(x):
        s.sums = [sum(s.tenths), sum(k * 3 for k in s.tenths), sum([0.1] * 9 + s.tenths[:1])]
        s.more = [sum([s.n, *s.tenths], start=0.3), sum([s.n, 2, True]), sum([]), sum(s.huge)]
        s.complex = [sum(k * 1j for k in s.tenths), sum(s.tenths, 0j)]
        s.arrays = sum([*s.tenths, x, 0.1, x])
        s.functions = [sum, math.cos, type]
        return x * sum(s.sums)

    f = jit(f)
    for s.tenths in ([0.1] * 10, [0.3] * 10, [0.7, 0.1] * 5):
        yield (
            f(X),
            s,
            [fn is want for fn, want in zip(s.functions, [sum, math.cos, type], strict=True)],
        )


@case(at_most=2)
def test_sums_of_other_numbers(jit):
    s = Record(tenths=[0.1] * 10)
    f = jit(lambda x: x * float(sum([*s.tenths, fractions.Fraction(1, 3), 0.1, *s.tenths])))
    for s.tenths in ([0.1] * 10, [0.3] * 10, [0.1] * 10):
        yield f(X)


@case()
def test_what_cannot_be_summed(jit):
    s = Record(k=2.5)
    for call in (lambda: sum([s.k, "a"]), lambda: sum([s.k], "a"), lambda: sum(s.k)):
        yield raised(jit(lambda x, call=call: x * call()), X)


@case(at_most=3)
def test_math_functions_that_demand(jit):
    s = Record(t=1.5)

    def f(x):
        s.out = [math.isnan(s.t), math.floor(s.t), math.ceil(s.t), cmath.phase(complex(s.t))]
        return x * math.floor(s.t)

    f = jit(f)
    for s.t in (1.5, 2.5, 1.5):
        yield f(X), s


@case(traces=1)
def test_sums_minima_and_maxima(jit):
    s = Record(ks=[3, 1, 2])
    f = jit(lambda x: x * sum(s.ks) + min(s.ks) - max(s.ks[0], 0) + max(5, 4))
    yield f(X)
    s.ks = [30, 10, 20]
    yield f(X)


@case(traces=2)
def test_a_number_in_the_function_of_a_reduction_is_demanded(jit):
    s = Record(floor=2.0)

    def step(x):
        return lax.reduce(x, -jnp.inf, lambda a, b: lax.max(lax.max(a, b), s.floor), (0,))

    step = jit(step)
    for floor in (2.0, 2.0, 5.0):
        s.floor = floor
        yield step(X), step(X * 3)


OF_MANY = {
    "math.fsum": lambda s: math.fsum(s.v),
    "math.fsum of products": lambda s: math.fsum(a * b for a, b in zip(s.v, s.w, strict=True)),
    "math.dist": lambda s: math.dist(s.v, s.w),
    "math.prod": lambda s: (math.prod(s.v), math.prod(s.w, start=s.n)),
    "cmath": lambda s: (cmath.sqrt(s.v[0]), cmath.exp(complex(s.n, s.v[1]))),
    "statistics.fmean": lambda s: (statistics.fmean(s.v), statistics.fmean(s.d)),
    "statistics.mean": lambda s: (statistics.mean(s.v), statistics.mean([s.n, s.n + 2])),
    "statistics.variance": lambda s: (statistics.variance(s.v), stdev(s.w)),
    "statistics.median": lambda s: statistics.median(s.v),
    "statistics.quantiles": lambda s: statistics.quantiles(s.v),
    "statistics.covariance": lambda s: statistics.covariance(s.v, s.w),
    "statistics.linear_regression": lambda s: statistics.linear_regression(s.v, s.w),
}


@pytest.mark.parametrize("fn", OF_MANY.values(), ids=list(OF_MANY))
def test_function_of_many_numbers_is_one_program(fn):
    @case(traces=1)
    def program(jit):
        s = Record(v=[1.5, 2.5, 3.0], w=(2.0, 3.0, 4.5), d=deque([1.0, 2.0], 3), n=3, out=None)

        def step(x):
            s.out = fn(s)
            return x

        step = jit(step)
        for i in range(5):
            s.v[i % 3] += 0.25 * i
            s.w, s.n = (i + 1.0, 3.0, 2.25 * i), s.n + 1
            s.d[0] = i / 2
            yield step(X), s.out

    program()


@case()
def test_error_of_a_function_of_many_numbers(jit):
    s = Record(v=[1.0, 2.0])
    step = jit(lambda x: x * statistics.harmonic_mean(s.v))
    yield step(X)
    s.v[0] = -1.0
    yield raised(step, X)
    s.v[0] = 3.0
    yield step(X)


@case(at_most=3)
def test_list_that_a_function_makes_has_another_length(jit):
    s = Record(n=8, out=None)

    def step(x):
        s.out = f"{s.n} {s.n + 1}".split("9")
        return x

    step = jit(step)
    for s.n in (8, 18, 3, 4):
        yield step(X), s


@case(traces=2)
def test_function_that_was_replaced_in_its_module(jit):
    s = Record(v=[1.0, 2.0])
    step = jit(lambda x: x * statistics.fmean(s.v))
    yield step(X)
    original = statistics.fmean
    statistics.fmean = lambda values: 7.0
    try:
        yield step(X)
    finally:
        statistics.fmean = original
    yield step(X)
