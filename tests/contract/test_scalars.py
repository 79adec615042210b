"""Python numbers stay Python: host scalars, their prologue, and the demands that become guards."""

import decimal
import fractions
import json
import math
import operator
from datetime import timedelta

import pytest

import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case, module, raised

pytestmark = pytest.mark.engine


@case(traces=1)
def test_arithmetic_is_pythons(jit):
    s = Record(i=7, f=0.1, c=1j)

    def step(x):
        s.sums = [s.i + 1, 1 + s.i, s.i - s.f, s.i * s.f, s.c + s.i, s.i / 2, s.i // 2, s.i % 4]
        s.bits = [s.i << 3, s.i >> 1, s.i & 5, s.i | 8, s.i ^ 1, ~s.i, -s.i, +s.f, abs(-s.f)]
        s.more = [s.i**2, s.i**-1, 2**s.i, pow(s.i, 2, 5), divmod(s.i, 3), round(s.f * 3, 1)]
        return x * s.i

    step = jit(step)
    for s.i, s.f in ((7, 0.1), (12, 2.5), (3, -1e300)):
        yield step(X), s


@case(traces=1)
def test_double_precision_is_kept(jit):
    s = Record(t=0, rate=0.1)

    def step(x):
        s.t += 1
        s.rate = s.rate * 0.9**s.t
        return x * s.rate

    step = jit(step)
    for _ in range(5):
        yield step(X), s


@case(traces=1)
def test_big_integers(jit):
    s = Record(n=3)

    def step(x):
        s.n = s.n**2 + 1
        return x * (s.n % 11)

    step = jit(step)
    for _ in range(8):
        yield step(X), s


@case(traces=1)
def test_result_beyond_every_dtype_stays_an_int(jit):
    f = jit(lambda n: n * 2**90)
    yield f(3), type(f(3)) is int


@case(at_most=2)
def test_in_place_operators(jit):
    s = Record(a=5, b=2.0)

    def step():
        s.a += 2
        s.a *= 3
        s.a -= 1
        s.a //= 2
        s.b /= 4
        s.b **= 2

    step = jit(step)
    for _ in range(3):
        yield step(), s


@case(traces=2)
def test_condition_is_a_guard_on_its_result(jit):
    s = Record(t=0, limit=3)

    def step(x):
        s.t += 1
        return x if s.t > s.limit else -x

    step = jit(step)
    for _ in range(6):
        yield step(X), s
    s.limit = 100
    yield step(X), s


@case(traces=3)
def test_range_makes_a_variant_per_length(jit):
    def f(x, n):
        for i in range(n):
            x = x * 2 + i
        return x

    f = jit(f)
    for n in (1, 2, 3, 2, 1):
        yield f(X, n)


@case(at_most=3)
def test_while_on_a_number(jit):
    s = Record(n=6)

    def f(x):
        n = s.n
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            x = x + n
        return x

    f = jit(f)
    for s.n in (6, 1, 6):
        yield f(X), s


@case(traces=2)
def test_number_in_a_shape(jit):
    f = jit(lambda x, n: jnp.zeros((n, 3)) + x)
    yield f(X, 2), f(X, 4), f(X, 2)


@case(traces=1)
def test_number_as_a_list_index(jit):
    layers = [jnp.ones(3), jnp.arange(3.0)]
    f = jit(lambda x, i: x * layers[i])
    yield f(X, 0), f(X, 1), f(X, 0)


@case(traces=2)
def test_number_in_a_slice_of_an_array(jit):
    f = jit(lambda x, n: x[:n])
    yield f(X, 1), f(X, 2), f(X, 1)


@case(traces=2)
def test_number_as_an_axis(jit):
    f = jit(lambda x, axis: x.sum(axis=axis))
    x = jnp.ones((2, 3))
    yield f(x, 0), f(x, 1), f(x, 0)


@case(traces=1)
def test_number_as_a_dict_key(jit):
    table = {1: 10.0, 2: 20.0}
    f = jit(lambda x, k: x * table[k])
    yield f(X, 1), f(X, 2), f(X, 1)
    table[1] = 5.0
    yield f(X, 1)


@case(traces=2)
def test_number_as_the_key_of_an_array(jit):
    table = {1: X, 2: X * 2}
    f = jit(lambda x, k: x * table[k])
    yield f(X, 1), f(X, 2), f(X, 1)


@case(at_most=3)
def test_number_in_a_string(jit):
    table = {"w1": 1.0, "w2": 2.0}
    f = jit(lambda x, k: x * table[f"w{k}"] + len(str(k)) + len(f"{k:>3}") + len(repr(k)))
    yield f(X, 1), f(X, 2), f(X, 1)


@case(traces=1)
def test_comparison_gives_a_real_bool(jit):
    s = Record(n=3)

    def f(x):
        flag = s.n > 2
        s.flags = [flag, flag is True, s.n == 3, not s.n]
        return x

    f = jit(f)
    yield f(X), s


@case(traces=2)
def test_chained_comparison_and_boolean_operators(jit):
    s = Record(n=3, k=0)
    f = jit(lambda x: x + 1 if 1 < s.n <= 5 and (s.k or s.n) else x - 1)
    for s.n in (3, 5, 9, 2, 10):
        yield f(X)


@case(traces=1)
def test_types_look_like_pythons(jit):
    def f(x, n, k):
        real = isinstance(n, int) and not isinstance(n, float) and isinstance(k, (float, str))
        exact = type(n) is int and type(k) is float and type(n) in (int, bool)
        named = type(n).__name__ == "int" and n.__class__ is int
        return x * n * k if real and exact and named else x

    f = jit(f)
    yield f(X, 2, 3.0), f(X, 5, 7.0)


@case(traces=1)
def test_methods_of_numbers(jit):
    s = Record(i=10, f=2.5)

    def f(x):
        s.seen = [s.i.real, s.i.imag, s.f.conjugate(), s.i.numerator]
        return x * s.f.real

    f = jit(f)
    for s.i in (10, 12):
        yield f(X), s


@case(at_most=3)
def test_methods_of_numbers_that_demand(jit):
    s = Record(i=10, f=2.5)

    def f(x):
        s.seen = [s.i.bit_length(), s.f.is_integer(), s.f.as_integer_ratio(), s.f.hex()]
        return x * s.i.bit_length()

    f = jit(f)
    for s.f in (2.5, 4.0, 2.5):
        yield f(X), s


@case(traces=1)
def test_conversions(jit):
    s = Record(i=7, f=2.75)

    def f(x):
        s.out = [int(s.f), float(s.i), complex(s.f), math.trunc(s.f), bool(s.i), round(s.f)]
        s.more = [complex(s.i, s.f), complex(imag=s.f, real=1), int(s.i / 2) + 1, float(-s.i)]
        s.each = [[float(k) for k in (s.i, s.f)], list(map(lambda k: int(k), (s.i, s.f)))]
        s.plain = [float("2.5"), int("ff", 16), int("ff", base=16), complex("1j"), int(7.5)]
        s.types = [isinstance(s.i, int), type(float(s.i)) is float, type(int(s.f)) is int, int]
        return x * float(s.i) + int(s.f)

    f = jit(f)
    for s.i, s.f in ((7, 2.75), (8, 3.25), (9, -2.75), (2**60, 1e9)):
        yield f(X), s


@case(at_most=3)
def test_conversions_that_fail(jit):
    def f(x, v):
        try:
            return x * int(v)
        except (ValueError, OverflowError) as error:
            return x - len(str(error))

    f = jit(f)
    for v in (1.5, math.inf, 2.5, math.nan, 3.5, -math.inf):
        yield f(X, v)


@case(traces=2)
def test_a_conversion_that_is_the_users_own(jit):
    user = module(
        """
        def float(k):
            return k + 0.5

        def f(x, k):
            return x * float(k) + (lambda: float(-k))()
        """
    )
    f = jit(user.f)
    for k in (1, 2, 3):
        yield f(X, k)
    del user.float
    for k in (1, 2, 3):
        yield f(X, k)


@case(at_most=3)
def test_sign_of_zero_is_seen(jit):
    s = Record(k=0.0)

    def f(x):
        s.sign = math.copysign(1.0, s.k)
        s.angle = math.atan2(s.k, -1.0)
        return x * s.k

    f = jit(f)
    for s.k in (0.0, -0.0, 0.0, -0.0):
        yield f(X), s


@case(at_most=2)
def test_sign_of_zero_as_a_guard(jit):
    s = Record(k=0.0)
    f = jit(lambda x: x + 1 if str(s.k) == "0.0" else x - 1)
    for s.k in (0.0, -0.0, 0.0):
        yield f(X)


@case(at_most=2)
def test_nan_matches_itself(jit):
    s = Record(k=math.nan)

    def f(x):
        if s.k != s.k:
            return x
        return x * s.k

    f = jit(f)
    for s.k in (math.nan, 2.0, float("nan"), math.inf):
        yield f(X)


@case(at_most=2)
def test_nan_is_carried(jit):
    s = Record(k=math.nan)

    def step(x):
        s.k = s.k + 1
        return jnp.isnan(x * s.k)

    step = jit(step)
    for s.k in (math.nan, -math.inf, 2.0):
        yield step(X), s


@case(at_most=3)
def test_zero_division_is_caught(jit):
    s = Record(n=2)

    def f(x):
        try:
            return x * (1 / s.n)
        except ZeroDivisionError:
            return x

    f = jit(f)
    for s.n in (2, 0, 4, 0):
        yield f(X)


@case()
def test_zero_division_leaves(jit):
    s = Record(n=2, calls=0)

    def f(x):
        return x * (1 // s.n)

    f = jit(f)
    yield f(X)
    s.n = 0
    yield raised(f, X)
    s.n = 4
    yield f(X)


@case()
def test_errors_of_arithmetic_are_pythons(jit):
    s = Record(k=-1.0)
    for fun in (math.sqrt, lambda k: k << 1, lambda k: 1e300 ** (k * -9), lambda k: 1 // (k + 1)):
        f = jit(lambda x: x * fun(s.k))  # noqa: B023
        yield raised(f, X)


@case(traces=2)
def test_dead_branch_is_not_evaluated(jit):
    s = Record(n=0, table={})

    def f(x):
        if s.n:
            return x / (1 // s.n)
        return x

    f = jit(f)
    for s.n in (0, 1, 0):
        yield f(X)


@case(at_most=2)
def test_key_is_looked_up_only_where_it_is(jit):
    s = Record(table={"a": 1.0}, name="a")
    f = jit(lambda x: x * s.table[s.name] if s.name in s.table else x)
    yield f(X)
    del s.table["a"]
    yield f(X)
    s.table["a"] = 2.0
    yield f(X)


@case(traces=1)
def test_number_meets_arrays_as_a_weak_scalar(jit):
    s = Record(k=2)

    def f(x):
        return x * s.k, x.astype("float16") * s.k, x.astype(int) + s.k, jnp.where(x > s.k, x, s.k)

    f = jit(f)
    for s.k in (2, 3, 100):
        yield f(X)


@case(traces=1)
def test_number_as_an_array_function_s_argument(jit):
    s = Record(low=0.5, high=2.5)
    f = jit(lambda x: jnp.clip(x, s.low, s.high) + jnp.sin(s.low) + jnp.asarray(s.high))
    for s.low in (0.5, 1.5):
        yield f(X)


@case(traces=1)
def test_array_built_of_numbers(jit):
    s = Record(ks=[1.0, 2.0, 3.0])
    f = jit(lambda x: x * jnp.asarray(s.ks) + jnp.array([s.ks[0], 1.0, 2.0]))
    yield f(X)
    s.ks = [4.0, 5.0, 6.0]
    yield f(X)


@case(traces=1)
def test_operator_module(jit):
    s = Record(k=2)
    f = jit(lambda x: x * operator.add(s.k, 1) + operator.neg(s.k) ** operator.pow(s.k, 2))
    for s.k in (2, 3):
        yield f(X)


@case(at_most=4)
def test_code_that_refuses_host_scalars(jit):
    s = Record(n=2)

    def f(x):
        s.text = json.dumps({"n": s.n, "k": [s.n, 1.5]})
        s.delta = timedelta(seconds=s.n).total_seconds()
        return x * s.n

    f = jit(f)
    for s.n in (2, 3, 2):
        yield f(X), s


@case(at_most=4)
def test_fractions_and_decimals(jit):
    s = Record(n=2, d=decimal.Decimal("1.5"))

    def f(x):
        third = fractions.Fraction(s.n, 3)
        return x * float(third) + float(s.d)

    f = jit(f)
    for s.n in (2, 4, 2):
        yield f(X)
    s.d = decimal.Decimal("2.5")
    yield f(X)


@case(at_most=2)
def test_bool_is_not_an_int(jit):
    f = jit(lambda x, n: x + 1 if n is True else x * n)
    yield f(X, 1), f(X, True), f(X, 1)


@case(traces=1)
def test_complex_numbers(jit):
    s = Record(z=1 + 2j)

    def step(x):
        s.z = s.z * 1j + s.z.real
        return x * s.z

    step = jit(step)
    for _ in range(3):
        yield step(X), s


@case(at_most=4)
def test_number_as_a_default_and_a_set_element(jit):
    s = Record(k=1, seen={1, 2})
    f = jit(lambda x: x + 1 if s.k in s.seen else x)
    for s.k in (1, 3, 1):
        yield f(X)
    s.seen.add(3)
    s.k = 3
    yield f(X)


@case(traces=1)
def test_number_is_stored_in_a_container_inside(jit):
    s = Record(n=1, out=None)

    def f(x):
        s.n += 1
        s.out = {"n": s.n, "list": [s.n, 2 * s.n], "pair": (s.n, x)}

    f = jit(f)
    for _ in range(3):
        yield f(X), s
    yield type(s.out["list"][0]) is int


@case(traces=1)
def test_learning_rate_schedule(jit):
    class Cosine:
        def __init__(self, base, steps):
            self.base, self.steps, self.t = base, steps, 0

        def __call__(self):
            self.t += 1
            return self.base * 0.5 * (1 + math.cos(math.pi * self.t / self.steps))

    schedule = Cosine(0.1, 50)
    s = Record(w=jnp.ones(3))

    def step(g):
        s.w = s.w - schedule() * g

    step = jit(step)
    for _ in range(12):
        yield step(X), s, schedule


@case(traces=3)
def test_warmup_schedule_has_one_variant_a_phase(jit):
    class Schedule:
        t = 0

        def rate(self):
            self.t += 1
            if self.t < 3:
                return self.t / 3
            if self.t < 6:
                return 1.0
            return 0.5

    schedule = Schedule()
    schedule.t = 0
    f = jit(lambda x: x * schedule.rate())
    for _ in range(9):
        yield f(X), schedule
