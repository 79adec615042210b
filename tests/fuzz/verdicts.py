"""What became of a call: right, a clear error, or one of those that must not be."""

import re
import traceback
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import evertrace as ev
from evertrace import errors
from evertrace._src import source
from tests.fuzz import calls, oracles

RIGHT, CLEAR, RAW, WRONG, UNLIKE = "right", "clear", "raw", "wrong", "unlike"
"""`WRONG` is a value that our own engines or transformations do not agree on, `UNLIKE` one that
NumPy's or SciPy's function of that name does not return: a fault, or a difference to be listed."""

CRASH, HANG, MEMORY = "crash", "hang", "memory"
GOOD = {RIGHT, CLEAR}

HERE = str(Path(__file__).parent)
FILE = "<fuzz>"
_HIDDEN = (source.PACKAGE_PREFIX, *source.NUMPY_PREFIXES)


@dataclass(frozen=True)
class Verdict:
    """A verdict, what it rests on, and for those that are not good its cause, in one line."""

    kind: str
    cause: str = ""
    detail: str = ""


def judged(program):
    """Evaluate a program and say what came of it."""
    try:
        found = evaluated(program)
        for x in found if type(found) in (list, tuple) else (found,):
            if type(x) is ev.Array:
                x.block_until_ready()  # else a later program waits for what this one asked for
    except MemoryError as error:
        numpys = _is_users(error) and "Unable to allocate" in str(error)
        clear = _is_worded(error) or numpys
        return Verdict(CLEAR if clear else MEMORY, _cause(error), str(error)[:300])
    except BaseException as error:
        verdict = judged_error(error)
        return Verdict(CLEAR) if verdict.kind == RAW and _is_plains(program, error) else verdict
    return compared(program, found)


def evaluated(program):
    """Return the value of a program, whose line counts as the user's."""
    return eval(compile(program.text, FILE, "eval"), dict(calls.namespace()))


def judged_error(error):
    """Say whether an error tells its user what to do.

    It does if our door of errors made it, if Python raised it at the user's own line (as for a
    missing argument), or if a value or function of the user's did.
    """
    detail = f"{type(error).__name__}: {error_text(error)}"[:400]
    if isinstance(error, errors.EvertraceError) or _is_worded(error) or _is_users(error):
        return Verdict(CLEAR, detail=detail)
    return Verdict(RAW, _cause(error), detail)


def _is_plains(program, error):
    """Whether a program under `jit` raises what it raises without, in the same words.

    That is its contract: what stands for a NumPy array refuses what NumPy refuses, as NumPy does.
    """
    if program.under not in ("jit", "xla", "strict", "aot"):
        return False
    try:
        evaluated(program.eager())
    except BaseException as plain:
        same = type(plain) is type(error) and _is_users(plain)
        return same and _of_stand_ins(error) == _of_stand_ins(plain)
    return False


def _of_stand_ins(error):
    """Return the text of an error, the classes that stand for arrays called by one name.

    Before methods there is none: whether Python says it depends on how the call is written.
    """
    text = re.sub(r"\b(Var|HostArray|Array)\b", "ndarray", error_text(error))
    return re.sub(r"\bndarray\.(?=\w+\(\))", "", text)


def error_text(error):
    """Return the text of an error, also of one whose parts raise."""
    try:
        return str(error)
    except BaseException as other:
        return f"<its text raises {type(other).__name__}>"


def _is_worded(error):
    return "\n  at " in error_text(error)


def _is_users(error):
    found = True
    for frame, _ in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if name.startswith(source.PACKAGE_PREFIX):
            found = False
        elif name == FILE or name.startswith(HERE):
            found = True
    return found


def _cause(error):
    """Return class, place in our package and first words, by which finds are counted."""
    place = "?"
    for frame, _ in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if name.startswith(source.PACKAGE_PREFIX):
            place = f"{name[len(source.PACKAGE_PREFIX) :]}:{frame.f_code.co_name}"
    words = re.sub(r"0x[0-9a-f]+|-?\d+", "#", error_text(error).split("\n")[0])[:70]
    return f"{type(error).__name__} {place} {words}"


def compared(program, found):
    """Compare a value with what the other engines return, or NumPy."""
    if "v.Mutating" in program.text:  # how often a value is asked that changes so, nobody says
        return Verdict(RIGHT)
    if program.target == "ev.closure_convert":  # hoists what is traced: under jit numbers, too
        return Verdict(RIGHT)
    if program.target.endswith("rng_uniform"):  # which draws anew each time
        return Verdict(RIGHT)
    if program.target in POWERS and _has_infinite_complex(program):
        return Verdict(RIGHT)
    if program.under not in ("jit", "xla", "strict", "aot"):
        return _by_oracle(program, found)
    try:
        expected = evaluated(program.eager())
    except Exception:
        return Verdict(RIGHT, detail="refused without the transformation")
    differs = difference(found, expected, program.target in POWERS or "fft" in program.target)
    if _is_right(program, differs):
        return Verdict(RIGHT)
    return Verdict(
        WRONG, f"{program.target} under {program.under}: {differs.split(':')[0]}", differs
    )


def _is_right(program, differs):
    """Whether a result differs from another one in nothing, or in what is rounding anyway."""
    return differs is None or (differs.startswith(_ROUNDED) and _has_singular_matrix(program))


_ROUNDED = ("floats", "special values")
"""What differs where a pivot is zero but for rounding: values, or which of them are infinite."""


def _has_singular_matrix(program):
    """Whether linear algebra is asked of a matrix whose factors are rounding, and nothing else."""
    if ".linalg." not in program.target:
        return False
    for text in program.args:
        x = np.asarray(eval(text, dict(calls.namespace())))
        if x.ndim >= 2 and x.size and ev.numpy.issubdtype(x.dtype, np.number):
            x = x.astype(complex)
            if np.isfinite(x).all() and np.max(np.linalg.cond(x)) > 1e6:  # beyond float32
                return True
    return False


POWERS = [
    "lax.pow",
    "jnp.power",
    "jnp.pow",
    "jnp.float_power",
    "jnp.vander",
    "power",
    "prims.pow_p.bind",
]
"""Of infinite complex numbers, powers are infinite or NaN as each engine computes them; of others
their angle is rounded: parts are right to a thousandth of the modulus, not of themselves."""


def _has_infinite_complex(program):
    try:
        given = [np.asarray(eval(text, dict(calls.namespace()))) for text in program.args]
    except Exception:  # of arrays that are deleted, and of what is no number
        return False
    is_complex = any(np.iscomplexobj(x) for x in given)
    return is_complex and any(map(_has_infinite, given))


def _has_infinite(x):
    """Whether there is a number that is infinite, or beyond 32 bits, in which we compute."""
    if x.dtype.kind not in "fc":
        return False
    with np.errstate(all="ignore"):
        return bool((np.isinf(x) | (np.abs(x) > np.finfo(np.float32).max)).any())


def _by_oracle(program, found):
    """Compare a value with what NumPy or SciPy returns, where they have the function."""
    differs = None if program.target in oracles.DIFFERENT else oracles.difference(program, found)
    if _is_right(program, differs):
        return Verdict(RIGHT)
    return Verdict(UNLIKE, f"{program.target}: not as NumPy: {differs.split(':')[0]}", differs)


def difference(found, expected, by_modulus=False):
    """Return in what two results differ, None if in nothing that is promised.

    Parts of complex numbers are compared each by itself, or to the size of both.
    """
    try:
        found, expected = ev.tree.leaves(found), ev.tree.leaves(expected)
    except Exception:
        return None
    if len(found) != len(expected):
        return f"leaves: {len(found)}, not {len(expected)}"
    for a, b in zip(found, expected, strict=True):
        if isinstance(a, ev.Array) and isinstance(b, ev.Array):
            try:
                text = _of_arrays(a, b, by_modulus)
            except Exception:  # of keys, and of arrays that are deleted or elsewhere
                continue
            if text:
                return text
    return None


def _of_arrays(a, b, by_modulus):
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"type: {a.aval.str_short()}, not {b.aval.str_short()}"
    if not ev.numpy.issubdtype(a.dtype, np.number) and a.dtype != bool:
        return None
    x, y = (np.asarray(z).astype(complex) for z in (a, b))
    if not ev.numpy.issubdtype(a.dtype, np.inexact):
        return None if np.array_equal(x, y) else f"integers: {x.ravel()[:6]}, not {y.ravel()[:6]}"
    if by_modulus and a.dtype.kind == "c":  # with what parts they are infinite nobody says
        x, y = (np.where(np.isfinite(z), z, np.where(np.isinf(z), np.inf, z)) for z in (x, y))
    for part, other in ((x.real, y.real), (x.imag, y.imag)):
        with np.errstate(all="ignore"):
            sized = np.stack([y.real, y.imag]) if by_modulus else other
            scale = np.max(np.abs(sized[np.isfinite(sized)]), initial=1e-30)
        # Sums may cancel and arguments be ill-conditioned: a thousandth of the largest element.
        scale = max(scale, 1e-3)  # where all are zero but for rounding, as lgamma is at 1
        tolerance = 1e-3 if a.dtype.itemsize >= 4 else 5e-2
        if not np.allclose(part, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            special = not np.array_equal(np.isnan(part), np.isnan(other))
            return (
                f"{'special values' if special else 'floats'}: {x.ravel()[:6]}, not {y.ravel()[:6]}"
            )
    return None
