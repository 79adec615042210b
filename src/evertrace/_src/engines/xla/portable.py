"""Programs in portable bytes, for other processes, machines and releases."""

import contextlib
import re

from evertrace._src import config, dims, errors
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.lower import lower_jaxpr

STABLE_TARGET = re.compile(r"lapack_\w+_ffi")
"""Custom calls that jaxlib keeps for programs of earlier releases."""

_TARGET = re.compile(r'call_target_name = "([^"]*)"|custom_call @([\w.]+)')


def write(jaxpr, consts, name, family, allowed):
    """Return a jaxpr without constvars as portable bytes.

    One with symbolic sizes is a text with holes for these, to be filled and given to `encode`.

    Args:
      jaxpr: the program.
      consts: ndarrays, the contents of its first inputs.
      name: of the function.
      family: kind of device it is for: "cpu", "gpu" or "tpu".
      allowed: names of custom calls that the user answers for.

    Raises:
      NotImplementedError: it calls back into Python.
      ValueError: it calls what need not exist elsewhere.
    """
    is_symbolic = any(dims.is_dim(n) for v in jaxpr.invars for n in v.aval.shape)
    holes = dims.writing_holes() if is_symbolic else contextlib.nullcontext()
    # Our own kernels are those of this installation.
    with config.override(native_kernels=False), holes:
        text, callbacks = lower_jaxpr(jaxpr, name, platform=family, consts=consts)
    if callbacks:
        raise errors.user_error(
            NotImplementedError,
            f"export: {name} calls back into Python, and its bytes cannot hold a Python function.",
            fix="take the callbacks (`debug.print` is one) out of what is exported.",
            anchor="export",
        )
    targets = {a or b for a, b in _TARGET.findall(text)}
    unstable = sorted(t for t in targets - set(allowed) if not STABLE_TARGET.fullmatch(t))
    if unstable:
        raise errors.user_error(
            ValueError,
            f"export: {name} calls {', '.join(unstable)}, which other processes need not know.",
            fix="answer for it with `disabled_checks=[DisabledSafetyCheck.custom_call(name)]`.",
            anchor="export",
        )
    return text.encode() if is_symbolic else encode(text)


def encode(text):
    """Return the text of a program as portable bytes."""
    return compat.write_portable(text)
