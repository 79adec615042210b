"""Looking at operations and programs as they run: NaNs, infinities, and keys that are used twice.

While an option of `config.WATCHING_FIELDS` is on, `engines.eager` shows every operation on concrete
arrays to `after`. Programs are compiled all the same and their results looked at; a program whose
result is bad is run once more, operation by operation, to find the one that made it. The checker of
keys needs every operation, so under it nothing is compiled.

Where an operation stands is what its equation noted, in a derivative the line of the operation
that it is the derivative of.
"""

import contextlib
import threading

import numpy as np

from evertrace._src import config, dtypes, errors, source
from evertrace._src.core.aval import is_inexact
from evertrace._src.core.engine import mode
from evertrace._src.core.tracer import state
from evertrace._src.ops.random import CONSUMES_KEYS, MAKES_KEYS
from evertrace._src.support import forkable

_TESTS = (("debug_nans", "nan", np.isnan), ("debug_infs", "inf", np.isinf))


def before(prim):
    """Refuse an operation where nothing may be computed."""
    if config.current().no_execution:
        raise no_execution_error(prim.name)


def after(prim, args, outs):
    """Look at what an operation on concrete arrays has made."""
    found = bad_values(outs)
    if found is not None:
        raise _bad_value_error(prim.name, *found)
    if config.current().debug_key_reuse and not mode.repeats:
        if prim in CONSUMES_KEYS:
            _consume_keys(prim, args[0])
        if prim in MAKES_KEYS:
            _forget_keys(outs[0])


def no_execution_error(name):
    """Build the error for computing under `no_execution`."""
    return errors.user_error(
        RuntimeError,
        f"{name}: would be executed, but the option no_execution is on.",
        fix="compute it outside of the block, or switch the option off.",
        anchor="no-execution",
    )


def out_of_memory_error(prim, args, params, error):
    """Build the error for an operation whose result does not fit into the host's memory."""
    out = prim.infer(args, params)
    return errors.numpys_out_of_memory(error, *(out if prim.multiple_results else (out,)))


@contextlib.contextmanager
def op_by_op():
    """Run one operation after the other, also what could be compiled."""
    previous, mode.op_by_op = mode.op_by_op, True
    try:
        yield
    finally:
        mode.op_by_op = previous


# ---------------------------------------------------------------- NaNs and infinities


def bad_values(arrays):
    """Return the first array with a value that may not be, and the value's name; else None."""
    now = config.current()
    for option, name, test in _TESTS:
        if getattr(now, option):
            for x in arrays:
                if is_inexact(x.aval) and (count := np.count_nonzero(test(x._contents()))):
                    return x, name, count
    return None


def _bad_value_error(operation, x, name, count):
    src = state.src or source.user_source()
    return errors.user_error(
        FloatingPointError,
        f"{operation}: invalid value ({name}) encountered {source.pass_of(src)}: "
        f"{_share(count, x)}.",
        fix="look at the operands of this line, e.g. with `debug.print`; guard the operation with "
        "`where` on its operand.",
        anchor="debug-nans",
        src=src,
    )


def lost_value_error(name, x, kind, count):
    """Build the error for a program with a bad result that its operations do not have."""
    return errors.user_error(
        FloatingPointError,
        f"jit({name}): invalid value ({kind}) encountered: {_share(count, x)}. No operation makes "
        f"one where they are run one by one, as the compiler computes some of them otherwise.",
        fix="compare results with `disable_jit`, in float64.",
        anchor="debug-nans",
    )


def _share(count, x):
    if not x.aval.shape:
        return f"the result {x.aval.str_short()} is one"
    return f"{count} of {x.size} elements of the result {x.aval.str_short()}"


# ---------------------------------------------------------------- keys

# A key is known by its words. Those of a key that is made again count as unused, so that a
# function with a seed of its own may be called twice.
_consumed = {}
_consumed_lock = forkable(threading.Lock())


def _words(keys):
    """Return the words of each key of an array as bytes."""
    impl, suffix = keys.dtype.impl, keys.dtype.physical_suffix
    rows = np.ascontiguousarray(keys._contents()).reshape(-1, *suffix)
    return [(impl, row.tobytes()) for row in rows]


def _forget_keys(keys):
    if isinstance(keys.dtype, dtypes.ExtendedDType):
        with _consumed_lock:
            for words in _words(keys):
                _consumed.pop(words, None)


def _consume_keys(prim, keys):
    """Note that keys are used up; error if all of them were before.

    In a loop that `vmap` has batched, the examples that are done go round with their old keys.
    """
    src = state.src or source.user_source()
    with _consumed_lock:
        found = [_consumed.get(words) for words in _words(keys)] or [None]
        if all(found) and found[0] is not None:
            raise _reuse_error(prim, src, *found[0])
        _consumed.update(dict.fromkeys(_words(keys), (prim, src)))


def _reuse_error(prim, src, first, first_src):
    where = "" if first_src is None else f" at {source.format(first_src)}"
    return errors.user_error(
        errors.KeyReuseError,
        f"{prim.name}: the random key was consumed before, by {first.name}{where}.",
        fix="make a key for each use: `first, second = random.split(key)`.",
        src=src,
    )
