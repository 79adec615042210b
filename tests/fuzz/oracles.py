"""NumPy and SciPy as oracles: what their function of the same name returns for the same call.

Asked are calls without a transformation whose arrays are of dtypes that NumPy computes in. Compared
are shapes and values, NaN and infinities at their places; not dtypes, as ours are of 32 bits, and
not which calls are refused. `DIFFERENT` lists whose meaning is another one.
"""

import functools
import importlib
import warnings

import numpy as np

import evertrace as ev
from tests.fuzz import calls

PEERS = {
    "jnp": "numpy", "ev.numpy.linalg": "numpy.linalg", "ev.numpy.fft": "numpy.fft", "lax": "numpy",
    "scipy.special": "scipy.special", "scipy.linalg": "scipy.linalg", "scipy.fft": "scipy.fft",
    "scipy.signal": "scipy.signal", "scipy.ndimage": "scipy.ndimage",
    "scipy.integrate": "scipy.integrate", "scipy.spatial": "scipy.spatial",
}  # fmt: skip
"""Our modules, as programs write them, and whose functions of the same names they have."""

LARGE = 1000
"""Numbers from which on, and thousands of elements, the oracle is not asked: it would take them."""

SMALL = float(np.finfo(np.float32).tiny)
"""The smallest number that is one with us, too."""

KINDS = "biufc"
WIDTHS = {"f": (4, 8), "c": (8, 16), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "b": (1,)}
"""Of the dtypes that NumPy computes in as we do: of the others it has halves, and rounds often."""


@functools.cache
def peer(target):
    """Return the function of a target's name in NumPy or SciPy, None if there is none."""
    module, _, name = target.rpartition(".")
    if module not in PEERS:
        return None
    found = getattr(importlib.import_module(PEERS[module]), name, None)
    return found if callable(found) and not isinstance(found, type) else None


def difference(program, found):
    """Return in what a result differs from the oracle's; None if in nothing, or nobody knows."""
    function = peer(program.target)
    asked = program.under == "eager" and program.target not in NOT_UNIQUE
    return _differs(function, program, found) if function is not None and asked else None


def _differs(function, program, found):
    try:
        expected = _asked(function, program)
    except BaseException:
        return None  # it refuses the call, or our text means nothing to it
    try:
        ours, theirs = ev.tree.leaves(found), ev.tree.leaves(expected)
        pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(ours, theirs, strict=True)]
    except Exception:
        return None
    if not all(_is_numeric(x) for pair in pairs for x in pair):
        return None
    return next(filter(None, (_of_arrays(a, b) for a, b in pairs)), None)


def _asked(function, program):
    """Call the oracle with what the program's arguments are, arrays as NumPy's."""
    space = dict(calls.namespace())
    args = [_given(eval(text, space)) for text in program.args]
    kwargs = {name: _given(eval(text, space)) for name, text in program.kwargs}
    if any(map(_is_wide, [*args, *kwargs.values()])):
        raise Unknown
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


class Unknown(Exception):
    """An argument of a kind that the oracle is not asked about."""


def _given(value):
    """Return an argument as the oracle takes it: an array in the dtype that it has with us."""
    if isinstance(value, np.ndarray | np.generic) and type(value) in (np.ndarray, value.dtype.type):
        value = ev.numpy.asarray(value)
    if isinstance(value, ev.Array):
        value = np.asarray(value)
        if not _is_numeric(value) or value.size > LARGE:
            raise Unknown
        return value
    if type(value) in (list, tuple):
        return type(value)(map(_given, value))
    if type(value) in (int, float, complex) and (abs(value) > LARGE or 0 < abs(value) < SMALL):
        raise Unknown
    if value is None or type(value) in (bool, int, float, complex, str):
        return value
    raise Unknown


def _is_wide(x):
    """Whether an array has unsigned numbers that no float of 32 bits holds.

    Beside signed ones NumPy takes them to 64 bits, and functions make floats of 64 bits of them:
    both are others with us, so the oracle is not asked.
    """
    is_array = isinstance(x, np.ndarray) and x.dtype == np.uint32
    return is_array and x.size > 0 and int(x.max()) > 2**24


def _is_numeric(x):
    return x.dtype.kind in KINDS and x.dtype.itemsize in WIDTHS[x.dtype.kind]


def _of_arrays(a, b):
    if a.shape != b.shape:
        return f"shape: {a.shape}, not {b.shape}"
    if a.dtype.kind in "biu":
        with np.errstate(all="ignore"):
            same = np.array_equal(a, b.astype(a.dtype)) if b.dtype.kind in "biu" else True
        return None if same else f"integers: {a.ravel()[:6]}, not {b.ravel()[:6]}"
    return _of_floats(a, b)


def _of_floats(a, b):
    """Compare floats: to rounding of the largest one, and where they are special."""
    with np.errstate(all="ignore"):
        b = b.astype(np.promote_types(a.dtype, b.dtype)).astype(a.dtype)
    for x, y in ((a.real, b.real), (a.imag, b.imag)):
        same_nan = np.array_equal(np.isnan(x), np.isnan(y))
        if not same_nan or not np.array_equal(_infinite(x), _infinite(y)):
            return f"special values: {a.ravel()[:6]}, not {b.ravel()[:6]}"
        finite = np.isfinite(y)
        scale = max(np.max(np.abs(y[finite]), initial=0.0), 1e-2)  # or all are zero
        if not np.allclose(x[finite], y[finite], rtol=1e-3, atol=1e-3 * scale):
            return f"floats: {a.ravel()[:6]}, not {b.ravel()[:6]}"
    return None


def _infinite(x):
    return np.where(np.isinf(x), np.sign(x), 0)


DIFFERENT = {
    "lax.cumsum": ("jnp.ones((2, 2))", "along an axis; NumPy's of the flattened array"),
    "lax.cumprod": ("jnp.ones((2, 2))", "as lax.cumsum"),
    "lax.select": (
        "jnp.array([True, False]), jnp.array([0, 1]), jnp.array([1, 5])",
        "by one array of booleans; NumPy's by lists",
    ),
    "lax.reciprocal": ("jnp.zeros(1, complex)", "of a complex zero: which part is NaN"),
    "jnp.nextafter": (
        "jnp.full(1, jnp.inf), jnp.zeros(1, 'int32')", "in 32 bits, NumPy's of integers in 64",
    ),
    "lax.max": ("jnp.ones((2, 3)), 0", "of two arrays; NumPy's of the elements of one"),
    "lax.min": ("jnp.ones((2, 3)), 0", "as lax.max"),
    "scipy.signal.correlate": (
        "jnp.full(1, 255, 'uint8'), jnp.full(1, 254, 'uint8')", "of integers: floats",
    ),
    "jnp.intersect1d": (
        "jnp.ones(4), jnp.arange(4.0), True", "of elements said to be unique that are not",
    ),
    "jnp.reciprocal": ("7", "of integers: floats"),
    "jnp.isscalar": ("jnp.ones(())", "arrays of rank 0 are scalars, as NumPy's scalars are"),
    "jnp.divmod": ("1, 0", "by the integer zero: as XLA divides, not 0"),
    "jnp.floor_divide": ("1, 0", "as jnp.divmod"),
    "jnp.unique_values": ("jnp.arange(16) % 15 - 1", "sorted, which NumPy leaves open"),
    "jnp.polymul": ("0.5, jnp.arange(8)", "leading zeros stay: shapes tell nothing of values"),
    "jnp.polyfit": ("jnp.ones(1), jnp.ones(1), 0, jnp.zeros(1)", "rcond is one number"),
    "lax.round": ("2.5", "halves go away from zero"),
    "jnp.pow": ("jnp.zeros(1, complex), -1", "as lax.reciprocal"),
    "jnp.power": ("jnp.zeros(1, complex), -1", "as lax.reciprocal"),
    "jnp.frombuffer": ("np.zeros(4)", "of 32-bit numbers, if no dtype is given"),
    "jnp.geomspace": ("-2, 1, 2", "of one sign; NumPy's ends are as given"),
    "jnp.nan_to_num": ("jnp.ones(3), posinf=jnp.zeros((1, 1))", "what stands in may be arrays"),
    "jnp.polyint": ("16, m=0", "of a number it has one dimension, too"),
    "jnp.cov": ("jnp.arange(3.0), ddof=5", "of fewer observations than ddof it is negative"),
    "jnp.poly": ("jnp.zeros(0)", "of no zeros it has one dimension, too"),
    "jnp.trapezoid": ("jnp.array([True, True, True])", "booleans are added as numbers"),
    "jnp.nanmean": ("-1, None, None, None, False, where=7", "where is a condition"),
    "jnp.std": ("jnp.ones(2), ddof=2, mean=jnp.zeros(1)", "NaN where no degree of freedom is left"),
    "jnp.var": ("jnp.ones(2), ddof=2, mean=jnp.zeros(1)", "as jnp.std"),
    "ev.numpy.linalg.eigh": ("jnp.arange(4.0).reshape(2, 2)", "of the mean of x and x.T"),
    "ev.numpy.linalg.eigvalsh": ("jnp.arange(4.0).reshape(2, 2)", "as eigh"),
    "ev.numpy.linalg.lstsq": (
        "jnp.ones((2, 2)), jnp.ones((2, 2))", "residuals have one shape, whatever the rank",
    ),
    "scipy.linalg.hankel": ("jnp.ones((2, 2))", "of vectors in leading dimensions"),
    "scipy.linalg.fiedler": ("jnp.zeros(0)", "of nothing it has two dimensions, too"),
    "scipy.linalg.fiedler_companion": ("2.5", "as fiedler"),
    "scipy.linalg.solve_sylvester": (
        "jnp.ones((2, 2)), jnp.ones((2, 2)), jnp.arange(4.0).reshape(2, 2)",
        "NaN where there is no one solution",
    ),
    "scipy.linalg.companion": ("jnp.ones(3, 'uint32')", "unsigned numbers have negatives"),
    "scipy.linalg.lu": ("jnp.ones((2, 0))", "the permutation is as large as the matrix is high"),
    "scipy.linalg.expm": ("jnp.full((1, 1), 1e9)", "NaN where it overflows"),
    "scipy.linalg.expm_frechet": ("jnp.full((1, 1), 1e9), jnp.ones((1, 1))", "as expm"),
    "scipy.special.expn": ("2.5, 0.5", "of orders that are no integers"),
    "scipy.special.zeta": ("0.0, -1.0", "infinite at all poles of q; SciPy's is NaN below 1"),
    "scipy.linalg.rsf2csf": (
        "jnp.arange(4.0).reshape(2, 2), jnp.ones((2, 2))",
        "of what is no Schur form the order of eigenvalues",
    ),
    "scipy.special.multigammaln": ("jnp.zeros(2), 0", "of no dimensions, elementwise, too"),
    "scipy.special.digamma": ("0", "NaN at all poles; SciPy's is infinite at 0"),
    "scipy.special.polygamma": ("4, 0.0", "as digamma"),
    "scipy.special.loggamma": ("0.0", "NaN at all poles; SciPy's is infinite at 0"),
    "scipy.special.beta": ("0.0, 0.0", "NaN where poles meet"),
    "scipy.special.betaln": ("0.0, 0.0", "NaN where poles meet"),
    "scipy.special.hyp1f1": ("-2.0, -2.0, -1.0", "where poles of the parameters meet"),
    "scipy.special.hyp2f1": ("0.0, 2.0, 0.0, 0.0", "where poles of the parameters meet"),
    "scipy.special.i0": ("jnp.full(2, jnp.inf)", "infinite; SciPy's is NaN"),
    "scipy.special.i1": ("jnp.full(2, jnp.inf)", "as i0"),
    "scipy.special.sph_harm_y": ("4, 1, -1.0, 0.0", "of a negative polar angle"),
}  # fmt: skip
"""Targets whose meaning is another than that of the function of the same name: arguments that show
it, and in what it is."""

NOT_UNIQUE = {
    **dict.fromkeys(["jnp.empty", "jnp.empty_like", "lax.empty"], "contents of new memory"),
    **dict.fromkeys(
        ["ev.numpy.linalg.eig", "ev.numpy.linalg.svd", "ev.numpy.linalg.qr", "scipy.linalg.eigh",
         "scipy.linalg.schur", "scipy.linalg.svd", "scipy.linalg.qr", "scipy.linalg.hessenberg"],
        "vectors are unique up to sign, or in a space of several",
    ),
    **dict.fromkeys(["jnp.partition", "jnp.argpartition"], "any order before and after the kth"),
    "scipy.linalg.polar": "of singular matrices the rotation is",
    "ev.numpy.linalg.cond": "of singular matrices it is rounding",
}  # fmt: skip
"""Targets with several right results, and why."""
