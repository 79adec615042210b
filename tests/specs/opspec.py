"""`OpSpec`: what the laws in `tests/laws` need to know of an operation to test it.

One row says how to call an operation, on which operands, what NumPy says of the result, and how
exact the result must be. A file ``tests/specs/<family>.py`` holds its rows in a list ``SPECS``;
`all_specs` finds them. A row looks like this::

    OpSpec(
        "slice",
        [slice_p],
        lax.slice,
        oracle=numpy_slice,
        dtypes=ALL,
        linear=[(0,)],
        ulps=0,
        cases=[
            case((4, 5), start_indices=(1, 0), limit_indices=(3, 5), strides=(1, 2)),
            case((0, 3), start_indices=(0, 1), limit_indices=(0, 2)),
        ],
    )

An operand in a case is a shape (a tuple: values are drawn from the row's `domain` in the row's
dtype), an ndarray (taken as it is, in every dtype: indices, predicates), or a function
``(rng, dtype) -> ndarray``. Keyword arguments go to both the function and the oracle.
"""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import tests.specs

SIGNED = ("int8", "int32")
UNSIGNED = ("uint8", "uint32")
INTEGER = SIGNED + UNSIGNED
BOOL = ("bool",)
FLOATING = ("bfloat16", "float16", "float32", "float64")
WIDE_FLOATING = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INEXACT = FLOATING + COMPLEX
NUMERIC = INTEGER + INEXACT
REAL = INTEGER + FLOATING
BITS = BOOL + INTEGER
ALL = BOOL + NUMERIC

# Shapes that every elementwise operation is tried on: rank 0, empty, one, and several dimensions.
SHAPES = ((), (0, 3), (5,), (2, 3, 4))

SPECIAL_FLOATS = (
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.5, 1.5, 1e-5, -1e5, 88.0,
)  # fmt: skip


def numpy_dtype(name):
    """Return the NumPy dtype of that name, those of ml_dtypes included."""
    return np.dtype(getattr(ml_dtypes, name, name))


@dataclasses.dataclass(frozen=True)
class Case:
    """One call: operands (see the top of this file) and keyword arguments."""

    operands: tuple
    kwargs: dict

    def __repr__(self):
        texts = [repr(x) if isinstance(x, tuple) else "_" for x in self.operands]
        texts += [f"{k}={v}" for k, v in self.kwargs.items()]
        return f"({', '.join(texts)})"


def case(*operands, **kwargs):
    """Return a `Case`."""
    return Case(operands, kwargs)


def elementwise_cases(n, shapes=SHAPES, **kwargs):
    """Return cases for `n` operands of equal shapes, and of rank 0 beside a larger one."""
    cases = [case(*[shape] * n, **kwargs) for shape in shapes]
    for i in range(n if n > 1 else 0):
        cases.append(case(*[() if j == i else (3, 2) for j in range(n)], **kwargs))
    return cases


@dataclasses.dataclass(frozen=True)
class OpSpec:
    """An operation under test.

    Attributes:
      name: unique; the name of the primitive, with a suffix where it has several rows.
      prims: the primitives that the row stands for in the completeness test.
      fun: function of arrays, usually of `evertrace._src.lax`; returns an array or a sequence.
      oracle: the same function of ndarrays. None where there is no other source of truth than the
        agreement of the engines.
      cases: the calls, see `case`.
      dtypes: names of the dtypes that are drawn.
      domain: bounds ``(low, high)`` of what is drawn, or a list of one pair per operand, or a
        function ``(rng, shape, dtype) -> ndarray``. Complex numbers have both parts within.
      grad_domain: the same for derivatives; keep it away from kinks, poles and ties.
      wide: whether the oracle computes in float64 and complex128, to be rounded afterwards; False
        where it has to see the operands' own dtype.
      ulps: how many units in the last place the result may be off the oracle, by dtype name or one
        number for all (0: same bits, with NaN equal to NaN and -0 distinct from 0).
      engine_ulps: the same between host and XLA; default `ulps`. Both are counted in each element,
        or with `ulps_of` "array", in the largest element of the result (for sums of many terms).
      special: whether NaN, infinities, -0 and extremes are tried too: engines and oracle must
        agree on them. A tuple gives the values to try.
      grads: operands by which it is differentiated (default those that are inexact), or () if it
        has no derivative.
      order: how often it is differentiated.
      modes: "fwd", "rev".
      grad_cases: cases for derivatives; default those of `cases` with 1 to 64 elements.
      linear: tuples of operands in which it is jointly linear: ``[(0,), (1,)]`` for a product,
        ``[(0, 1)]`` for a sum.
      batched: operands that vmap is tried on; default all.
      vmap: whether vmap has a meaning.
    """

    name: str
    prims: Sequence[Any]
    fun: Callable
    oracle: Callable | None
    cases: Sequence[Case]
    dtypes: Sequence[str] = FLOATING
    domain: Any = (-3.0, 3.0)
    grad_domain: Any = None
    wide: bool = True
    ulps: Any = 2
    engine_ulps: Any = None
    ulps_of: str = "element"
    special: Any = False
    grads: Sequence[int] | None = None
    order: int = 2
    modes: Sequence[str] = ("fwd", "rev")
    grad_cases: Sequence[Case] | None = None
    linear: Sequence[tuple] = ()
    batched: Sequence[int] | None = None
    vmap: bool = True

    def operands(self, case, dtype, rng, domain=None):
        """Draw the operands of a case as ndarrays."""
        domain = self.domain if domain is None else domain
        dtype = numpy_dtype(dtype)
        return [
            self._operand(x, dtype, rng, domain[i] if isinstance(domain, list) else domain)
            for i, x in enumerate(case.operands)
        ]

    def _operand(self, x, dtype, rng, domain):
        if isinstance(x, tuple):
            return draw(rng, x, dtype, domain)
        return x(rng, dtype) if callable(x) else x

    def expected(self, case, operands):
        """Return the oracle's results, a list of ndarrays, for these operands."""
        if self.wide:
            operands = [widened(x) for x in operands]
        with np.errstate(all="ignore"):
            return as_list(self.oracle(*operands, **case.kwargs))

    def tolerance(self, dtype, engines=False):
        """Return the number of ulps that results of `dtype` may be off."""
        ulps = self.engine_ulps if engines and self.engine_ulps is not None else self.ulps
        return ulps.get(dtype.name, 2) if isinstance(ulps, dict) else ulps

    def __repr__(self):
        return self.name


def draw(rng, shape, dtype, domain):
    """Draw an array of a dtype from a domain (see `OpSpec`)."""
    if callable(domain):
        return np.asarray(domain(rng, shape, dtype), dtype)
    low, high = domain
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(max(low, info.min), min(high, info.max), shape, dtype, endpoint=True)
    values = rng.uniform(low, high, shape)
    if dtype.kind == "c":
        values = values + 1j * rng.uniform(low, high, shape)
    return np.asarray(values).astype(dtype)


def is_floating(dtype):
    """Whether this is a floating dtype, those of ml_dtypes included."""
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def is_inexact(dtype):
    """Whether this is a floating or complex dtype."""
    return dtype.kind == "c" or is_floating(dtype)


def widened(x):
    """Return floating and complex arrays in 64 bits a number, others as they are."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    return x.astype(np.float64) if is_floating(x.dtype) else x


def as_list(out):
    """Return the results of a function as a list."""
    return list(out) if isinstance(out, (tuple, list)) else [out]


def special_operands(spec, dtype):
    """Return operands that pair up all special values of a row, in a floating dtype."""
    values = SPECIAL_FLOATS if spec.special is True else spec.special
    with np.errstate(all="ignore"):
        values = np.array(values, np.float64).astype(numpy_dtype(dtype))
    grids = np.meshgrid(*[values] * len(spec.cases[0].operands), indexing="ij")
    return [np.ascontiguousarray(grid.reshape(-1)) for grid in grids]


def all_specs():
    """Return the rows of every file of this folder."""
    rows = []
    for module in sorted(pkgutil.iter_modules(tests.specs.__path__), key=lambda m: m.name):
        rows += getattr(importlib.import_module(f"tests.specs.{module.name}"), "SPECS", ())
    return rows
