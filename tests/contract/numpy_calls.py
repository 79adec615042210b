"""Calls of all public functions of NumPy's that take arrays, found by trying what they take.

A call is made with arrays of the user's, of the trace's own that are not known, or with numbers;
`outcome` says what `jit` makes of it. The table of outcomes is in `numpy_table.py`.
"""

import copy
import types
import warnings

import numpy as np

import evertrace as ev
from tests.contract.compare import Record

NOT_OF_ARRAYS = frozenset({
    "fromfile", "fromregex", "genfromtxt", "get_include", "info", "load", "loadtxt", "save",
    "savetxt", "savez", "savez_compressed", "set_printoptions", "setbufsize", "seterr",
    "seterrcall", "show_config", "show_runtime", "test", "memmap", "getbufsize", "geterr",
    "geterrcall", "get_printoptions", "typename", "iterable", "byte_bounds", "deprecate",
    "deprecate_with_doc", "disp", "lookfor", "safe_eval", "source", "who", "open_memmap",
    "add_docstring", "add_newdoc", "broadcast_shapes", "empty", "empty_like", "set_numeric_ops",
    "recfromcsv",
    "recfromtxt", "compare_chararrays", "show", "printoptions", "errstate", "set_string_function",
})  # fmt: skip
"""Functions that read or write files and settings, or whose results are not determined."""

OF_BUFFERS = frozenset({"from_dlpack", "frombuffer"})
"""Functions whose errors are NumPy's: what stands for an array has no memory."""

A = np.array([[3.0, 1.0], [2.0, 5.0]])
SHIFTS = (0.0, 0.25)


def functions():
    """Return the public functions of NumPy's by name."""
    kinds = (np.ufunc, types.FunctionType, types.BuiltinFunctionType, type(np.sum))
    return {
        name: fn
        for name, fn in sorted(vars(np).items())
        if isinstance(fn, kinds) and name[0] != "_" and name not in NOT_OF_ARRAYS
    }


TEMPLATES = (
    lambda a, n: (a,), lambda a, n: (a, 0.5), lambda a, n: (a, a), lambda a, n: (a, 1),
    lambda a, n: (a, a, a),
    lambda a, n: (a[0], a[1]), lambda a, n: (a[0], a[0], a[1]), lambda a, n: ((a, a),),
    lambda a, n: (a, 0, 1), lambda a, n: (a[0],), lambda a, n: (a, 1, 0.5),
    lambda a, n: (a, (2, 2)),
    lambda a, n: (a > 2, a), lambda a, n: (a > 2,), lambda a, n: (a.astype(int), a.astype(int)),
    lambda a, n: (a.astype(int),), lambda a, n: (a, a > 2, a), lambda a, n: (a.astype(int), 2),
    lambda a, n: ("ij,jk->ik", a, a), lambda a, n: (a.astype(int)[0], (9, 9)),
    lambda a, n: (a, [0, 1], [0, 1]), lambda a, n: (a, np.array([[0, 1]]), 0),
    lambda a, n: (a, np.array([[0, 1]]), a, 0), lambda a, n: ((2, 1), (1, 2)),
    lambda a, n: (np.sum, 0, a),
    lambda a, n: (np.sum, a, [0]), lambda a, n: ([a > 2], [a]), lambda a, n: (a, [a > 2], [np.sin]),
    lambda a, n: (a.astype(np.uint8),), lambda a, n: (a, np.float32),
)  # fmt: skip
OF_NUMBERS = (
    lambda n, v: (v,), lambda n, v: (n, v), lambda n, v: ([n, v],), lambda n, v: ([n, v], [v, 1.0]),
    lambda n, v: (n, n), lambda n, v: (n,), lambda n, v: ([n, 2],), lambda n, v: ([n, v], 0),
    lambda n, v: (v, 0.0, 9.0), lambda n, v: (3, v), lambda n, v: ((2, 2), v),
    lambda n, v: (v, [0.0, 9.0], [1.0, n]), lambda n, v: ([[n, v], [1.0, 2.0]],),
    lambda n, v: ([n, v], [1.0, 2.0], 1), lambda n, v: ([[n, v], [1, 2]], [[1, n], [v, 2]]),
    lambda n, v: ("i,i", [n, v], [v, 1]), lambda n, v: (np.zeros(2), v),
    lambda n, v: ([v, 1], (2,)),
)  # fmt: skip


def template_of(fn, templates, first, second):
    """Return the first of some templates that a function takes; None if it takes none."""
    for template in templates:
        try:  # a copy: some functions write to their argument
            if described(fn(*template(copy.copy(first), second))) is not None:
                return template
        except Exception:  # whatever it says of arguments that it does not take
            continue
    return None


def described(x):
    """Return what a result is, as plain data; None of what is no number, array or tuple of such."""
    if type(x) in (list, tuple) or (isinstance(x, tuple) and hasattr(x, "_fields")):
        parts = [described(item) for item in x]
        return None if None in parts else parts
    if isinstance(x, ev.Array):
        x = np.asarray(x)
    if isinstance(x, (bool, int, float, complex, str)):
        return type(x).__name__, x
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc":
        return str(x.dtype), x.shape, np.asarray(x).tolist()
    return None


def outcome(fn, template, situation):
    """Return what `jit` makes of a call: "right", "one program", "a program each" or "refused".

    Args:
      fn: the function.
      template: of its arguments.
      situation: "captured", "unknown" or "numbers": what they are made of.

    Raises:
      AssertionError: a call gives something else than in plain Python.
    """
    call = CALLS[situation](fn, template)
    plain, jitted = Record(), Record()
    run = ev.jit(call)
    for i, shift in enumerate(SHIFTS):
        for s in (plain, jitted):
            s.a, s.n, s.v, s.kept = A + shift, i + 2, 0.5 + shift, None
        call(plain)
        try:
            run(jitted)
        except Exception as error:
            if "Fix: " in str(error):
                return "refused"
            if fn.__name__ not in OF_BUFFERS:
                raise
            return "NumPy's error"
        want, got = described(plain.kept), described(jitted.kept)
        assert close(got, want), f"{got}, not {want}"
        assert close(described(jitted.a), described(plain.a)), f"left {jitted.a}, not {plain.a}"
    if situation != "numbers":
        return "right"  # what is asked of an array's contents is a guard, of no interest here
    return "one program" if run.cache_info().misses == 1 else "a program each"


def close(x, y):
    """Whether two descriptions are the same, to the rounding of their dtypes."""
    if type(x) is not type(y) or (type(x) is list and len(x) != len(y)):
        return False
    if type(x) is list:
        return all(map(close, x, y))
    if x[:-1] != y[:-1]:
        return False
    if isinstance(x[-1], str):
        return x == y
    return bool(np.allclose(x[-1], y[-1], rtol=1e-5, atol=1e-6, equal_nan=True))


def _of_captured(fn, template):
    def call(s):
        s.kept = fn(*template(s.a, 0))

    return call


def _of_unknown(fn, template):
    def call(s):
        s.a[0, 0] = s.n + 3
        s.kept = fn(*template(s.a, 0))

    return call


def _of_numbers(fn, template):
    namespace = {"np": np, "template": template, "fn": fn}
    exec(f"def call(s):\n    s.kept = np.{fn.__name__}(*template(s.n, s.v))", namespace)
    return namespace["call"]


CALLS = {"captured": _of_captured, "unknown": _of_unknown, "numbers": _of_numbers}


def outcomes_of(name):
    """Return the outcome of a function in each situation; "-" where no call of it was found."""
    fn, row = functions()[name], []
    for situation in CALLS:
        values = (2, 0.5) if situation == "numbers" else (A, 0)
        templates = OF_NUMBERS if situation == "numbers" else TEMPLATES
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            template = template_of(fn, templates, *values)
            row.append("-" if template is None else outcome(fn, template, situation))
    return tuple(row)
