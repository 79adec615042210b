"""Programs in portable bytes, for other processes, machines and releases."""

import contextlib
import re

from evertrace._src import config, dims, errors
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.lower import Divided, lower_jaxpr
from evertrace._src.engines.xla.text import quoted

STABLE_TARGET = re.compile(
    r"lapack_\w+_ffi|shape_assertion|stablehlo\.dynamic_\w+|cu_lu_pivots_to_permutation|"
    r"cusolver_(getrf|geqrf|orgqr|potrf|syevd|gesvdj?|sytrd)_ffi|cusparse_gtsv2_ffi"
)
"""Custom calls that jaxlib keeps for programs of earlier releases."""

_TARGET = re.compile(r'call_target_name = "([^"]*)"|custom_call @([\w.]+)')


def write(jaxpr, consts, name, family, allowed, divided=None):
    """Return a jaxpr without constvars as portable bytes.

    One with symbolic sizes is a text with holes for these, to be filled and given to `encode`.

    Args:
      jaxpr: the program.
      consts: ndarrays, the contents of its first inputs.
      name: of the function.
      family: kind of device it is for: "cpu", "gpu" or "tpu".
      allowed: names of custom calls that the user answers for.
      divided: how it is divided among several devices, as `lower.Divided` takes it, or None.

    Raises:
      NotImplementedError: it calls back into Python.
      ValueError: it calls what need not exist elsewhere.
    """
    is_symbolic = any(dims.is_dim(n) for v in jaxpr.invars for n in v.aval.shape)
    holes = dims.writing_holes() if is_symbolic else contextlib.nullcontext()
    # Our own kernels are those of this installation.
    with config.override(native_kernels=False), holes:
        parts = divided and Divided(*divided)
        text, callbacks = lower_jaxpr(jaxpr, name, platform=family, consts=consts, divided=parts)
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


def called(text):
    """Return what `functions` takes of the text of a program, in which there are no holes any more.

    Raises:
      ValueError: as by `encode`.
    """
    return encode(text) if _is_to_be_refined(text) else text.encode()


def encode(text):
    """Return the text of a program as portable bytes.

    Raises:
      ValueError: it calls a program of JAX's, which refuses the sizes.
    """
    return compat.write_portable_module(read(text), "sdy.mesh" in text)


def read(text):
    """Return the MLIR module of a text.

    Raises:
      ValueError: as by `encode`.
    """
    if not _is_to_be_refined(text):
        return compat.parse_module(text)
    try:
        return compat.refined(text)
    except compat.UNREADABLE as error:
        raise errors.user_error(
            ValueError,
            f"export: a program of JAX's that is called cannot be made for these sizes: "
            f"{compat.said(error)}",
            fix="call it with sizes that fulfil what was declared.",
            anchor="export",
        ) from error


def check(text):
    """Raise if XLA refuses the text of a program; MLIR's Python, 10 ms, is loaded where it has to.

    Raises:
      ValueError: as by `encode`.
    """
    if _is_to_be_refined(text):
        read(text)
    else:
        compat.xla_computation(text)


def _is_to_be_refined(text):
    """Whether a program calls one of JAX's whose sizes XLA has to find."""
    return "tensor<?" in text or "x?x" in text


_FUNCTION = re.compile(r"func\.func (?:public |private )?@([\w.]+)\(")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_DIMENSIONS = rf"@mesh, \[(?:{_QUOTED}|[^\]\"])*\]"
_SHARDING = rf"sharding = #sdy\.sharding<{_DIMENSIONS}>"


def functions(blob, rename, axes=None):
    """Return the functions of a program, all made private, under new names.

    Args:
      blob: portable bytes, or a text with holes.
      rename: gives the new name of a function.
      axes: dict: axis of its mesh -> what it is called in that of the module that they are for;
        None for a module without any, where nothing is said of how values lie.

    Returns:
      Old name -> text with the new names.
    """
    if not blob.startswith(b"module "):
        found = compat.portable_functions(blob, rename, axes is not None)
    else:
        found = _functions_of_text(blob.decode(), rename, axes is not None)
    if axes is None or all([old == new for old, new in axes.items()]):
        return found
    return {name: _with_axes(text, axes) for name, text in found.items()}


def _functions_of_text(text, rename, is_divided):
    new = {name: rename(name) for name in _FUNCTION.findall(text)}
    text = re.sub(rf" {{sdy\.{_SHARDING}}}", "", text)
    if not is_divided:  # an identity stays in the place of a constraint
        text = re.sub(
            rf'"sdy\.sharding_constraint"(\(\S+\)) {{{_SHARDING}}}', r'"stablehlo.reshape"\1', text
        )
    bodies = re.split(r"(?m)^(?= *func\.func )", text[: text.rindex("}")])[1:]
    return {name: _renamed(body, new).strip() for name, body in zip(new, bodies, strict=True)}


def _renamed(function, new):
    """Return a function under its new name, private, calling others by theirs."""
    function = re.sub(r"@([\w.]+)", lambda match: f"@{new.get(match[1], match[1])}", function)
    return re.sub(r"func\.func (public |private )?@", "func.func private @", function)


def _with_axes(function, axes):
    """Return a function with other names of the mesh's axes."""
    names = {quoted(str(old)): quoted(str(new)) for old, new in axes.items()}

    def dimensions(match):
        return re.sub(_QUOTED, lambda name: names[name[0]], match[0])

    return re.sub(_DIMENSIONS, dimensions, function)
