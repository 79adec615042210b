"""Every primitive with every dtype that its row does not list, in a process that XLA may end.

``python -m tests.laws.dtype_matrix`` prints a line before each row, and one for each complaint.
"""

import warnings

import numpy as np

import evertrace as ev
from evertrace._src.dtypes.kinds import NAMES
from tests.specs.opspec import all_specs, as_list, numpy_dtype
from tests.support.runtime import array, run_compiled, to_numpy

FOREIGN = ("bcoo", "bcsr", "coo", "csr", "pure_callback", "todense")
"""Rows of formulas of other primitives, and of functions of Python."""

NOT_IN_XLA = "programs for XLA cannot have arrays of dtype"


def operands(spec, name):
    """Return small numbers in the shapes of a row's first case; None where none can be drawn."""
    rng, dtype = np.random.default_rng(0), numpy_dtype(name)
    try:
        return [
            array(rng.integers(0, 2, x).astype(np.float32).astype(dtype)) if isinstance(x, tuple)
            else array(x(rng, dtype)) if callable(x) else x
            for x in spec.cases[0].operands
        ]  # fmt: skip
    except Exception:
        return None


def refusal(function, args):
    """Return the error with which a call is refused, None if it is not."""
    try:
        function(*args)
    except Exception as error:
        return error
    return None


def is_worded(error):
    """Whether an error says what, where and what to do."""
    return isinstance(error, ev.errors.EvertraceError) or "\n  at " in str(error)


def check(spec, complain):
    """Complain of what is wrong with a row's operation for dtypes that the row does not list."""
    case, taken = spec.cases[0], {}

    def function(*args):
        return spec.fun(*args, **case.kwargs)

    for name in NAMES:
        args = None if name in spec.dtypes else operands(spec, name)
        if args is not None and is_taken(function, args, lambda text, n=name: complain(n, text)):
            taken[name] = args

    def program():
        return [out for args in taken.values() for out in as_list(function(*args))]

    found = iter(run_compiled(program))
    for name, args in taken.items():
        for want in map(to_numpy, as_list(function(*args))):
            got = next(found)
            if (got.shape, got.dtype) != (want.shape, want.dtype):
                complain(name, f"XLA has {got.dtype}{got.shape}, not {want.dtype}{want.shape}")


def is_taken(function, args, complain):
    """Whether host and XLA take operands; complain where they differ, or refuse without words."""
    on_host = refusal(function, args)
    lowered = refusal(lambda *a: ev.jit(function, engine="xla").lower(*a), args)
    for error in filter(None, (on_host, lowered)):
        if not is_worded(error):
            complain(f"raw {type(error).__name__}: {error}")
    if on_host is not None and lowered is None:
        complain(f"only the host refuses: {on_host}")
    if lowered is not None and on_host is None and NOT_IN_XLA not in str(lowered):
        complain(f"only XLA refuses: {lowered}")
    return on_host is None and lowered is None


def main():
    """Check all rows."""
    warnings.simplefilter("ignore")
    with ev.enable_x64(), np.errstate(all="ignore"):
        for spec in all_specs():
            if not spec.name.startswith(FOREIGN):
                print(f"row {spec.name}", flush=True)
                check(spec, lambda n, text, row=spec.name: print(f"WRONG {row} of {n}: {text}"))
    print("end")


if __name__ == "__main__":
    main()
