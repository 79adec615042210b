"""NumPy and SciPy as oracles: what their function of the same name returns for the same call.

Asked are calls without a transformation whose arrays are of dtypes that NumPy computes in. Compared
are shapes and values, NaN and infinities at their places; not dtypes, as ours are of 32 bits, and
not which calls are refused. `DIFFERENT` lists whose meaning is another one, `ASKED_IF` where it is
the same, and `COMPARED` what of results with some freedom is one.
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

MOST = 2**24
"""How many elements are compared: of nothing, sums may have as many as memory holds."""

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
        args, kwargs = _arguments(program)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = function(*args, **kwargs)
    except BaseException:
        return None  # it refuses the call, or our text means nothing to it
    given = [*args, *kwargs.values()]
    try:
        ours, theirs = ev.tree.leaves(found), ev.tree.leaves(expected)
        ours, theirs = ([np.asarray(x) for x in leaves] for leaves in (ours, theirs))
        if program.target in COMPARED:
            as_one = COMPARED[program.target][0]
            ours, theirs = as_one(ours, *args, **kwargs), as_one(theirs, *args, **kwargs)
        pairs = list(zip(ours, theirs, strict=True))
    except Exception:
        return None
    if not all(_is_numeric(x) for pair in pairs for x in pair):
        return None
    if any(map(_is_wide, given)) and not _is_of_unsigned(given, theirs):
        return None
    if any(a.size > MOST for a, _ in pairs):
        return None
    return next(filter(None, (_of_arrays(a, b) for a, b in pairs)), None)


def _arguments(program):
    """Return what the program's arguments are to the oracle, arrays as NumPy's.

    Raises:
      Unknown: it is not asked about them.
    """
    space = dict(calls.namespace())
    args = [_given(eval(text, space)) for text in program.args]
    kwargs = {name: _given(eval(text, space)) for name, text in program.kwargs}
    is_asked, _ = ASKED_IF.get(program.target, (None, ""))
    if is_asked is not None and not is_asked(*args, **kwargs):
        raise Unknown
    if np.asarray(kwargs.get("where", True)).dtype != bool:  # with us a condition, None none
        raise Unknown
    return args, kwargs


class Unknown(Exception):
    """An argument of a kind that the oracle is not asked about."""


def _given(value):
    """Return an argument as the oracle takes it: an array in the dtype that it has with us."""
    if isinstance(value, np.ndarray | np.generic) and type(value) in (np.ndarray, value.dtype.type):
        if value.dtype.kind in "iu" and not np.array_equal(value, np.asarray(value).astype("i4")):
            raise Unknown  # as a place it is what it is, as an operand what 32 bits hold of it
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
    both are others with us, see `_is_of_unsigned`.
    """
    is_array = isinstance(x, np.ndarray) and x.dtype == np.uint32
    return is_array and x.size > 0 and int(x.max()) > 2**24


def _is_of_unsigned(given, results):
    """Whether a call is all of unsigned numbers, which NumPy then takes as they are, too."""
    arrays = [x for x in given if isinstance(x, np.ndarray)]
    numbers = [x for x in given if type(x) in (int, float, complex)]
    return (
        all(x.dtype.kind in "ub" for x in arrays)
        and all(type(x) is int and x >= 0 for x in numbers)
        and all(x.dtype in (np.uint8, np.uint16, np.uint32, np.bool_) for x in results)
    )


def _is_numeric(x):
    return x.dtype.kind in KINDS and x.dtype.itemsize in WIDTHS[x.dtype.kind]


def _of_arrays(a, b):
    if a.shape != b.shape:
        return f"shape: {a.shape}, not {b.shape}"
    if a.dtype.kind in "biu":
        if b.dtype.kind not in "biu":
            return None
        with np.errstate(all="ignore"):
            differs = a != b.astype(a.dtype)
        if (
            a.dtype.kind == b.dtype.kind == "i"
        ):  # what floats beyond integers become: NumPy's is the lowest one
            is_lost = (b == np.iinfo(b.dtype).min) & (a == np.iinfo(a.dtype).max)
            differs &= ~is_lost
        same = not differs.any()
        return None if same else f"integers: {a.ravel()[:6]}, not {b.ravel()[:6]}"
    return _of_floats(a, b)


def _of_floats(a, b):
    """Compare floats: to rounding of the largest one, and where they are special."""
    with np.errstate(all="ignore"):
        b = b.astype(np.promote_types(a.dtype, b.dtype)).astype(a.dtype)
    if a.dtype.kind == "c":  # one that is NaN in a part is none, whatever is in the other
        a, b = (np.where(np.isnan(z), complex(np.nan, np.nan), z) for z in (a, b))
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


def _is_in_order(a, *_, **__):
    return bool(np.all(np.diff(np.asarray(a)) >= 0))


def _has_no_infinity(*args, **kwargs):
    arrays = [np.asarray(x) for x in (*args, *kwargs.values()) if isinstance(x, np.ndarray | float)]
    return not any(np.isinf(x).any() for x in arrays)


def _has_elements(x, *_, **__):
    return np.size(x) > 0


def _is_of_unique(*args, assume_unique=False, **_):
    return not assume_unique or all(np.unique(x).size == np.size(x) for x in args)


def _has_rising_places(x, xp, *_, **__):
    return bool(np.all(np.diff(np.asarray(xp).astype(float)) > 0))


def _has_floats(*args, **_):
    return any(np.asarray(x).dtype.kind in "fc" for x in args)


def _is_in_floats(*_, dtype=None, **__):
    return dtype is None or np.dtype(dtype).kind in "fc"


def _has_unknowns(a, b, *_, **__):
    return np.ndim(a) > np.ndim(b)


def _is_of_int(*_, ndim=2, **__):
    return type(ndim) is int


def _begins_with_number(*_, initial=0.0, **__):
    return not np.isnan(initial)


def _without_flag(leaves, *_, **__):
    return leaves[:1]


def _partition(leaves, a, kth, axis=-1, **_):
    """Return the kth elements, and those before and behind them in order."""
    (parted,) = leaves
    parted, axis = (parted.ravel(), 0) if axis is None else (parted, axis)
    kth = int(kth) % parted.shape[axis]
    before, at, behind = np.split(parted, [kth, kth + 1], axis)
    return [np.sort(before, axis), at, np.sort(behind, axis)]


def _argpartition(leaves, a, kth, axis=-1, **_):
    """Return the same of what indices name, and the indices, each of which is there once."""
    (indices,) = leaves
    a, axis = (np.ravel(a), 0) if axis is None else (np.asarray(a), axis)
    return [
        np.sort(indices, axis),
        *_partition([np.take_along_axis(a, indices, axis)], a, kth, axis),
    ]


def _same_degree(leaves, *_, **__):
    """Return polynomials with zeros in front, of one degree for all that are compared."""
    return [np.concatenate([np.zeros(max(64 - x.size, 0), x.dtype), x]) for x in leaves]


_TRANSFORMS = [
    f"{inverse}{kind}" for kind in ("fft", "rfft", "hfft", "fft2", "fftn", "rfft2", "rfftn")
    for inverse in ("", "i")
]  # fmt: skip

ASKED_IF = {
    "jnp.searchsorted": (_is_in_order, "of what is not sorted it is anywhere"),
    "jnp.interp": (_has_rising_places, "where places do not rise, the values are any"),
    "jnp.setxor1d": (_is_of_unique, "of elements said to be unique that are not"),
    **dict.fromkeys(
        ["jnp.quantile", "jnp.nanquantile", "jnp.percentile", "jnp.nanpercentile"],
        (_has_no_infinity, "NumPy's of infinities are mostly NaN, also where all elements are one"),
    ),
    **dict.fromkeys(
        [f"ev.numpy.fft.{name}" for name in _TRANSFORMS],
        (_has_no_infinity, "all that is transformed with an infinity is infinite or NaN"),
    ),
    **dict.fromkeys(
        [f"scipy.fft.{name}" for name in ("dct", "idct", "dctn", "idctn")],
        (_has_no_infinity, "as transforms of Fourier"),
    ),
    **dict.fromkeys(
        [
            *("jnp.convolve", "jnp.correlate", "scipy.signal.convolve", "scipy.signal.correlate"),
            *("scipy.signal.convolve2d", "scipy.signal.correlate2d"),
        ],
        (_has_floats, "of integers and booleans: floats"),
    ),
    **dict.fromkeys(
        ["jnp.nanvar", "jnp.nanstd"],
        (_is_in_floats, "in integers NumPy cuts the mean off; ours is that of floats, cut off"),
    ),
    **dict.fromkeys(
        ["jnp.nanmin", "jnp.nanmax"],
        (_begins_with_number, "an initial value is an element that is never left out"),
    ),
    "jnp.diag_indices": (_is_of_int, "a tuple times an array is an array to NumPy"),
    "scipy.signal.stft": (_has_elements, "SciPy's of nothing have the shape of what is given"),
    "scipy.special.spence": (_has_no_infinity, "of infinity its limit; SciPy's is NaN"),
    "ev.numpy.linalg.tensorsolve": (
        _has_unknowns, "where `x` has no dimensions, NumPy's has those of `a`",
    ),
    "scipy.special.poch": (_has_no_infinity, "SciPy's of infinities is NaN for most whole numbers"),
}  # fmt: skip
"""What the arguments of some functions have to fulfil for the oracle to be asked, and why."""

COMPARED = {
    "jnp.partition": (_partition, "any order before and after the kth"),
    "jnp.argpartition": (_argpartition, "any order before and after the kth"),
    "jnp.polymul": (_same_degree, "leading zeros stay: shapes tell nothing of values"),
    "jnp.polydiv": (_same_degree, "as polymul"),
    "scipy.linalg.cho_factor": (_without_flag, "which triangle it is, is said once for a batch"),
}
"""What is compared of results that are not one, made of them and the arguments; and why."""

DIFFERENT = {
    "lax.cumsum": ("jnp.ones((2, 2))", "along an axis; NumPy's of the flattened array"),
    "lax.cumprod": ("jnp.ones((2, 2))", "as lax.cumsum"),
    "lax.select": (
        "jnp.array([True, False]), jnp.array([0, 1]), jnp.array([1, 5])",
        "by one array of booleans; NumPy's by lists",
    ),
    "jnp.nextafter": (
        "jnp.full(1, jnp.inf), jnp.zeros(1, 'int32')", "in 32 bits, NumPy's of integers in 64",
    ),
    "lax.max": ("jnp.ones((2, 3)), 0", "of two arrays; NumPy's of the elements of one"),
    "lax.min": ("jnp.ones((2, 3)), 0", "as lax.max"),
    "jnp.intersect1d": (
        "jnp.ones(4), jnp.arange(4.0), True", "of elements said to be unique that are not",
    ),
    "jnp.reciprocal": ("7", "of integers: floats"),
    "jnp.isscalar": ("jnp.ones(())", "arrays of rank 0 are scalars, as NumPy's scalars are"),
    "jnp.divmod": ("1, 0", "by the integer zero: as XLA divides, not 0"),
    "jnp.floor_divide": ("1, 0", "as jnp.divmod"),
    "jnp.unique_values": ("jnp.arange(16) % 15 - 1", "sorted, which NumPy leaves open"),
    "jnp.polyfit": ("jnp.ones(1), jnp.ones(1), 0, jnp.zeros(1)", "rcond is one number"),
    "lax.round": ("2.5", "halves go away from zero"),
    "jnp.frombuffer": ("np.zeros(4)", "of 32-bit numbers, if no dtype is given"),
    "jnp.geomspace": ("-2, 1, 2", "of one sign; NumPy's ends are as given"),
    "jnp.nan_to_num": ("jnp.ones(3), posinf=jnp.zeros((1, 1))", "what stands in may be arrays"),
    "jnp.polyint": ("16, m=0", "of a number it has one dimension, too"),
    "jnp.cov": ("jnp.arange(3.0), ddof=5", "of fewer observations than ddof it is negative"),
    "jnp.poly": ("jnp.zeros(0)", "of no zeros it has one dimension, too"),
    "jnp.trapezoid": ("jnp.array([True, True, True])", "booleans are added as numbers"),
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
    "scipy.linalg.polar": "of singular matrices the rotation is",
    "ev.numpy.linalg.cond": "of singular matrices it is rounding",
}  # fmt: skip
"""Targets with several right results, and why."""
