"""NumPy scalars made of numbers that change each call: computed on the host, one program."""

import numpy as np
import pytest
from numpy import float32
from numpy import int64 as integer

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case

pytestmark = pytest.mark.engine

CALLS = 30


class Kinds:
    """Types that code calls by other names."""

    real = np.float32


KINDS = Kinds()
KINDS.whole = np.int16


def program_of(made, is_returned):
    """Return a program that keeps, and perhaps returns, what is made of a step and a rate."""

    def program(jit):
        s = Record(n=0, v=0.0, kept=None)

        def step(x):
            s.n += 1
            s.v = s.n / 7
            s.kept = y = made(s.n, s.v)
            return (x * y, y) if is_returned else x

        step = jit(step)
        for _ in range(CALLS):
            yield step(X), s

    return program


ONE_PROGRAM = {
    "float32": lambda n, v: np.float32(v),
    "float64": lambda n, v: np.float64(v) / 3,
    "float16": lambda n, v: np.float16(v),
    "int32": lambda n, v: np.int32(n),
    "int64 past 32 bits": lambda n, v: np.int64(n) * 2**40,
    "uint8": lambda n, v: np.uint8(n),
    "complex64": lambda n, v: abs(np.complex64(v + 1j)),
    "bool": lambda n, v: np.bool_(n),
    "names of their own": lambda n, v: float32(v) + integer(n),
    "mapped": lambda n, v: sum(map(np.float32, [n, v])),
    "functions": lambda n, v: np.sqrt(n) + np.exp(-v) * np.pi,
    "functions of two": lambda n, v: np.hypot(n, v) * np.maximum(n, 5) * np.power(0.9, n),
    "a cosine schedule": lambda n, v: 0.5 * (1 + np.cos(np.pi * n / CALLS)),
    "clip and round": lambda n, v: np.clip(v, 0, 2) + np.round(v, 2),
    "chains": lambda n, v: np.sqrt(np.float32(n) / 3) - np.float64(2) * v,
    "a constant and a number": lambda n, v: np.float32(1.5) * n,
    "back to Python": lambda n, v: float(np.float32(v)) + int(np.floor(v)) + np.float32(v).item(),
    "operators": lambda n, v: -(np.int64(n) % 3) + divmod(np.int64(n), 3)[1] + abs(np.int64(-n)),
    "rounding": lambda n, v: round(np.float64(v), 2),
    "comparisons that are kept": lambda n, v: np.float32(v) > 1,
    "conversions": lambda n, v: np.float64(v).astype(np.float32),
    "texts": lambda n, v: float(f"{np.float32(v):.3f}"),
    "types": lambda n, v: v if isinstance(np.float32(v), np.floating) else 0.0,
    "dtypes": lambda n, v: v if np.float32(v).dtype == np.float32 else 0.0,
    "arrays of one number": lambda n, v: np.array(v) * np.asarray([n]) + np.array(n, np.float32),
    "arrays of numbers": lambda n, v: np.array([n, v, 2.0]) * np.asarray([[n, n], [v, 1]])[1, 0],
    "means": lambda n, v: np.mean([n, v]) + np.sum((n, 2, v)) + np.std([n, v]) + np.median([n, v]),
    "choices": lambda n, v: np.where(np.array([True, False, True]), n, v) + np.max([n, v]),
    "full arrays": lambda n, v: np.full(3, v) + np.full((2, 1), n) + np.full_like(np.zeros(3), v),
    "arrays of constants": lambda n, v: (np.zeros(3) + n) * np.ones(3) / v + np.arange(3.0) ** n,
    "chains of arrays": lambda n, v: np.exp(-v * np.arange(3)) + np.sqrt(np.abs([n, -v, 1])),
    "views and items": lambda n, v: np.array([[n, v], [1, 2]]).T[0][1] * np.array([n, v]).sum(),
    "polynomials": lambda n, v: np.polyval([1, n, 3], v) + np.interp(v, [0, 9], [1, n]),
    "linear algebra": lambda n, v: np.linalg.norm([n, v]) + np.dot([n, v], [1.0, 2.0]),
    "shapes": lambda n, v: np.stack([np.zeros(3), np.tile(v, 3)]) + np.linspace(0, v, 3),
    "lists": lambda n, v: np.array([n, v]).tolist()[1] + np.array([k * v for k in range(3)])[2],
    "types of classes": lambda n, v: Kinds.real(v) + KINDS.real(v) + KINDS.whole(n),
    "beside arrays": lambda n, v: jnp.sqrt(np.float32(v)) + jnp.asarray(np.float64(v)),
}  # fmt: skip


@pytest.mark.parametrize("is_returned", [False, True], ids=["kept", "returned"])
@pytest.mark.parametrize("made", ONE_PROGRAM.values(), ids=list(ONE_PROGRAM))
def test_scalar_of_changing_numbers_is_one_program(made, is_returned):
    case(traces=1)(program_of(made, is_returned))()


DEMANDED = {
    "a branch": (lambda n, v: 1.0 if np.float32(v) > 1 else np.float32(v), 2),
    "the smaller one": (lambda n, v: min(np.float32(v), 2.0), 2),
    "a branch of an array": (
        lambda n, v: v if (np.array([n, v]) > 2).any() else np.float64(0.5),
        3,
    ),
    "an element": (lambda n, v: float(int(np.array([n // 10, 7])[0])), 4),
    "a shape": (lambda n, v: np.sum(np.zeros(n % 3) + v), 3),
    "a choice of numbers": (lambda n, v: np.where(n > 2, n, v), 2),
    "a range": (lambda n, v: float(len(range(np.int64(n) % 3))), 3),
}


@pytest.mark.parametrize(("made", "traces"), DEMANDED.values(), ids=list(DEMANDED))
def test_what_decides_of_a_scalar_is_guarded_and_no_more(made, traces):
    case(traces=traces)(program_of(made, True))()


ASKED = {
    "arrays": lambda n, v: np.array(n % 3) * 2.0,
    "lists": lambda n, v: np.mean([n % 3, 1]),
    "no dtype of ours": lambda n, v: float(np.longdouble(n % 3)),
}


@pytest.mark.parametrize("made", ASKED.values(), ids=list(ASKED))
def test_what_numpy_makes_of_numbers_otherwise_is_a_demand(made):
    case()(program_of(made, True))()


@case(traces=1)
def test_types_of_scalars_are_what_they_were(jit):
    s = Record(n=0)

    def step(x):
        s.n += 1
        kinds = np.float32, [np.int64, float32], {"dtype": np.float64}
        y = np.zeros(2, np.float32).astype(kinds[1][0])
        return x * np.float32(s.n), str(kinds), x.astype(np.float32), y.dtype == integer

    step = jit(step)
    for _ in range(4):
        yield step(X)


@case(traces=1)
def test_scalar_in_a_loop_of_the_program(jit):
    s = Record(n=0, w=jnp.ones(3))

    def step(x):
        s.n += 1
        rate = np.float32(s.n) / 10

        def body(carry, _):
            return carry - rate * x, carry.sum()

        s.w, sums = jit.scan(body, s.w, None, length=3)
        return sums

    step = jit(step)
    for _ in range(5):
        yield step(X), s


@case(traces=1)
def test_error_of_a_constructor(jit):
    s = Record(n=250, kept=None)

    def step(x):
        s.n += 1
        try:
            s.kept = np.uint8(s.n)
        except OverflowError as error:
            s.kept = str(error)
        return x

    step = jit(step)
    for _ in range(4):
        yield step(X), s


WRITTEN = {
    "elements": lambda n, v: written(np.full(3, v), lambda z: z.__setitem__(0, n)),
    "in place": lambda n, v: written(np.array([n, v]), lambda z: z.__iadd__(1)),
    "by a view": lambda n, v: written(np.full((2, 2), v), lambda z: z[0].fill(n)),
    "before it is read": lambda n, v: (written(np.full(2, v), lambda z: z.sort()), np.mean([n, v])),
    "twice the same": lambda n, v: (np.full(2, v), written(np.full(2, v), lambda z: z.fill(n))),
}  # fmt: skip


def written(z, write):
    """Return an array that was written to, and what NumPy makes of it then."""
    before = z + 0
    write(z)
    return before * z.sum() + z * 2, z


@pytest.mark.parametrize("made", WRITTEN.values(), ids=list(WRITTEN))
def test_array_of_changing_numbers_may_be_written_to(made):
    def program(jit):
        s = Record(n=0, v=0.0, kept=None)

        def step(x):
            s.n += 1
            s.v = s.n / 7
            s.kept = made(s.n, s.v)
            return x

        step = jit(step)
        for _ in range(CALLS):
            yield step(X), s

    case(traces=1)(program)()


def test_array_of_numbers_is_another_one_at_each_call():
    def program(jit):
        s = Record(n=1, first=None, kept=None)

        def step():
            s.n += 1
            s.kept = np.full(2, s.n)
            s.pair = s.kept, s.kept, np.full(2, s.n)

        step = jit(step)
        step()
        s.first = s.kept
        step()
        s.kept[0] = -1
        yield s, s.pair[0] is s.pair[1], s.pair[0] is s.pair[2], s.kept is s.pair[0]

    case(traces=1)(program)()


BY_NAME = {"single": np.float32, "double": float, "whole": int, "sum": np.sum}


def _of_a_closure():
    kind = np.float32
    return lambda x, v: x * kind(v)


def _of_a_local(x, v):
    kind, other = np.float32, float
    return x * kind(v) + other(v)


def _of_an_argument(x, v):
    def scaled(kind):
        return x * kind(v)

    return scaled(np.float32) + scaled(float)


@pytest.mark.parametrize(
    "f",
    [
        _of_a_local,
        _of_a_closure(),
        _of_an_argument,
        lambda x, v: x * BY_NAME["single"](v) + BY_NAME["double"](v) * BY_NAME["whole"](v),
        lambda x, v: x * sum([kind(v) for kind in BY_NAME.values()]),
        lambda x, v: x * HOLDER.kind(v) + HOLDER.other(v),
    ],
    ids=["local", "closure", "argument", "item", "loop", "attribute"],
)
def test_type_that_is_called_by_another_name(f):
    """It is told by what a variable holds when it is called, not by the name of the type."""
    step = ev.jit(f)
    for v in range(12):
        np.testing.assert_array_equal(step(X, float(v)), f(X, float(v)))
    assert step.cache_info().misses == 1


HOLDER = Record(kind=np.float32, other=float)
