"""Programs of open sizes are those of each size, for every row along every axis.

A case is traced with the sizes of some dimensions open: all those that are equal in it, as those of
a contraction are, and each one alone. What is made of that for another size has to give what the
operation gives at once, as a tape and by XLA; and so has a program for all sizes up to a bound,
whatever lies beyond the size.
"""

import numpy as np
import pytest

from evertrace._src import config, errors
from evertrace._src.core.aval import ShapedArray
from evertrace._src.core.jaxpr import eval_jaxpr
from evertrace._src.dims.expression import evaluate, variable
from evertrace._src.dims.scope import OpenScope
from evertrace._src.engines import eager
from evertrace._src.jit import padded
from evertrace._src.transforms.filling import Filling, NotOpenError
from evertrace._src.transforms.staging import close_jaxpr, stage
from tests.laws.rows import ROWS, main_dtype, over_rows, rng_of
from tests.specs.opspec import Case
from tests.support.closeness import assert_same
from tests.support.runtime import array, flat, jaxpr_of, run_compiled, to_numpy

CHUNK = 8  # rows in one program of XLA's
CHUNKS = [ROWS[i : i + CHUNK] for i in range(0, len(ROWS), CHUNK)]
BOUND = 16

pytestmark = pytest.mark.slow  # two minutes in all

ONE_SIZE = {
    *("ppermute", "pshuffle", "dynamic_slice", "dynamic_update_slice", "unstack"),
    *("bcoo_dot_general", "bcsr_extract", "bcsr_dot_general", "coo_matmat", "csr_matmat"),
    *("reduce", "pure_callback-sequential", "pure_callback-broadcast_all"),  # they hold functions
    "todense",  # and this one a tree
    # The functions of these rows ask for sizes, in the tables.
    *("psum", "pmean", "pmax", "pmin", "all_gather", "pswapaxes", "psum_scatter", "all_to_all"),
    *("axis_index", "lu", "packed qr", "tridiagonal"),
}
"""Rows that need the number somewhere, in some case: it is traced for each size."""

NO_TAPE = {"pure_callback-sequential", "pure_callback-broadcast_all", "select_and_scatter"}
"""Rows that the native engine refuses."""


# ------------------------------------------------------------------------ cases and sizes


def openings_of(case):
    """Yield (size, its places): all dimensions of one size, then each one alone."""
    found = [
        (n, (i, d))
        for i, x in enumerate(case.operands)
        if isinstance(x, tuple)
        for d, n in enumerate(x)
        if n >= 2
    ]
    together = {n: [at for m, at in found if m == n] for n, _ in found}
    yield from together.items()
    yield from ((n, [at]) for n, at in found if len(together[n]) > 1)


class Opened:
    """A case of a row that is traced with the dimensions at some places open.

    Attributes:
      fun: its function of arrays.
      jaxpr, captured: the program; None if there is none for several sizes.
      why: the error that there was then.
    """

    def __init__(self, spec, case, n, places):
        self.spec, self.case, self.n, self.places = spec, case, n, places
        self.fun = flat(lambda *args: spec.fun(*args, **case.kwargs))
        self.scope, self.templates, self.why = OpenScope({"n": n}), {}, None
        self.scope.least = 0  # a size of 0 or 1 that gets no other answers has the same program
        self.scope.numbers = self._seen
        operands = [array(x) for x in spec.operands(case, main_dtype(spec), rng_of(spec))]
        avals = [self._aval(i, x) for i, x in enumerate(operands)]
        try:
            staged = stage(self.fun, avals)
        except Exception as error:
            self.jaxpr, self.captured, self.why = None, (), error
        else:
            self.jaxpr, self.captured = staged

    def _aval(self, i, x):
        open_here = {d for k, d in self.places if k == i}
        size = variable(self.scope, "n")
        shape = tuple(size if d in open_here else n for d, n in enumerate(x.shape))
        return ShapedArray(shape, x.dtype)

    def _seen(self, size):
        self.scope.why = "the row's function is given the number"
        return evaluate(size, self.scope.hints)

    def operands(self, n):
        """Return arrays of a size; None if the row has no such ones."""
        shapes = [list(x) if isinstance(x, tuple) else x for x in self.case.operands]
        for i, d in self.places:
            shapes[i][d] = n
        case = Case(tuple(tuple(x) if type(x) is list else x for x in shapes), self.case.kwargs)
        rng = rng_of(self.spec)
        try:
            return [array(x) for x in self.spec.operands(case, main_dtype(self.spec), rng)]
        except Exception:
            return None

    def is_traced(self, operands):
        """Whether there is a program of these operands."""
        try:
            jaxpr_of(self.fun, *operands)
        except Exception:
            return False
        return True

    def filled(self, n):
        """Return the program for a size; None if that gives other answers, or there is none."""
        if self.scope.why is not None and self.jaxpr is not None:
            self.jaxpr, self.why = None, NotOpenError(self.scope.why)
        try:
            if self.jaxpr is None or not self.scope.fits({"n": n}):
                return None
        except ZeroDivisionError:  # what is divided by a size is asked of sizes from 2 on
            return None
        try:
            return Filling({"n": n}, self.templates).jaxpr(self.jaxpr)
        except NotOpenError as error:
            self.jaxpr, self.why = None, error
            return None

    def run(self, program, operands):
        """Return what the program for a size gives, as a tape if it can be one."""
        engine = "auto" if self.spec.name in NO_TAPE else "native"
        with config.override(engine=engine):
            found = eager.call_jaxpr(close_jaxpr(program), [*self.captured, *operands])
        return [to_numpy(x) for x in found]

    def assert_same(self, got, want, label):
        """Assert that results are what they are at once."""
        label = f"{self.spec.name}{self.case} with {self.places} {label}"
        assert len(got) == len(want), label
        for x, y in zip(got, want, strict=True):
            ulps = max(self.spec.tolerance(y.dtype), self.spec.tolerance(y.dtype, engines=True))
            # Sums are longer than those that a row's units in each element are meant for.
            assert_same(x, y, ulps, "array" if ulps else "element", label)


def openings(spec):
    """Yield the `Opened` of a row: all of the case with most sizes, and the first of each other."""
    cases = [
        (case, found)
        for case in spec.cases
        if not case.kwargs.get("unique_indices")  # which those of other sizes are not
        and (found := list(openings_of(case)))
    ]
    most = max(cases, key=lambda pair: len(pair[1]), default=None)
    for case, found in cases:
        for n, places in found if case is most[0] else found[:1]:
            yield Opened(spec, case, n, places)


# ------------------------------------------------------------------------ laws

HAS_SIZES = over_rows(lambda spec: any(any(openings_of(case)) for case in spec.cases))


@HAS_SIZES
def test_a_program_of_open_sizes_is_that_of_each_size(spec):
    compared, others = 0, []
    for opened in openings(spec):
        for n in (0, 1, 2, 3 * opened.n + 1):
            operands = opened.operands(n)
            program = None if operands is None else opened.filled(n)
            if program is None:
                others += [(opened, operands)] if n > 1 else []
                continue
            try:
                want = [to_numpy(x) for x in opened.fun(*operands)]
                got = opened.run(program, operands)
            except Exception:
                if opened.is_traced(operands):
                    raise
                continue  # no call has these sizes
            opened.assert_same(got, want, f"of size {n}")
            compared += 1
    is_called = compared or not any(x is not None and o.is_traced(x) for o, x in others)
    assert is_called or spec.name in ONE_SIZE


@HAS_SIZES
def test_what_has_no_program_for_several_sizes_is_listed(spec):
    found = list(openings(spec))
    alone = [x for x in found if x.filled(x.n) is None]
    asked = [x for x in alone if isinstance(x.why, _NUMBER)]
    assert bool(asked) == (spec.name in ONE_SIZE), [x.why for x in asked]
    for opened in alone:  # the others compare with what is no size of an operand: no other one fits
        if opened not in asked:
            assert not opened.is_traced(opened.operands(opened.n + 1)), opened.why


_NUMBER = errors.InconclusiveDimensionOperation, NotOpenError


# ------------------------------------------------------------------------ by XLA, and padded


@pytest.mark.engine
@pytest.mark.parametrize("specs", CHUNKS, ids=[f"{c[0].name}-{c[-1].name}" for c in CHUNKS])
def test_xla_computes_the_same(specs):
    calls = []
    for opened in [first for spec in specs if (first := next(openings(spec), None))]:
        n = 3 * opened.n + 1
        operands = opened.operands(n)
        program = None if operands is None else opened.filled(n)
        if program is not None and opened.is_traced(operands):
            calls.append((opened, program, [*opened.captured, *operands], opened.fun(*operands)))

    def all_of_them(*args):
        args, outs = list(args), []
        for _, program, operands, _ in calls:
            taken, args = args[: len(operands)], args[len(operands) :]
            outs += eval_jaxpr(program, (), *taken)
        return outs

    got = run_compiled(all_of_them, *[x for _, _, operands, _ in calls for x in operands])
    for opened, _, _, want in calls:
        mine, got = got[: len(want)], got[len(want) :]
        opened.assert_same(mine, [to_numpy(x) for x in want], "by XLA")


PADDED = {
    "reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or",
    "dot_general", "transpose", "squeeze", "select_n",
}  # fmt: skip
"""Rows, among those that are not elementwise, that programs up to a bound are made of."""


@HAS_SIZES
def test_a_program_up_to_a_bound_does_not_see_what_is_beyond_the_size(spec):
    compared = 0
    for opened in openings(spec):
        if opened.jaxpr is None or opened.captured:
            continue
        try:
            program = padded.padded(opened.jaxpr, "n", BOUND, opened.templates)
        except (padded.NotPaddedError, NotOpenError, errors.ShapeError):
            continue
        for n in (0, 1, BOUND - 1, BOUND):
            operands = opened.operands(n)
            if opened.filled(n) is None or operands is None or not opened.is_traced(operands):
                continue
            want = [to_numpy(x) for x in opened.fun(*operands)]
            for rest in (np.nan, -np.inf, np.inf):
                pairs = zip(operands, program.invars[1:], strict=True)
                long = [lengthened(to_numpy(x), v.aval, rest) for x, v in pairs]
                got = eval_jaxpr(program, (), array(np.int32(n)), *long)
                parts = [
                    to_numpy(x)[tuple(map(slice, y.shape))] for x, y in zip(got, want, strict=True)
                ]
                opened.assert_same(parts, want, f"of size {n} before {rest}")
                compared += 1
    if spec.name in PADDED:
        assert compared


def lengthened(x, aval, rest):
    """Return an array in one of a larger type, and something else beyond it."""
    with np.errstate(invalid="ignore"):
        long = np.full(aval.shape, rest).astype(x.dtype)
    long[tuple(map(slice, x.shape))] = x
    return array(long)
