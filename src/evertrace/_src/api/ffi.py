"""Foreign functions: handlers compiled elsewhere, called from programs.

XLA's foreign function interface is described with the headers in `include_dir`.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable
from typing import Any

from evertrace._src import doors, errors, tree
from evertrace._src.api.callback import result_avals
from evertrace._src.arrays.interop import as_operand
from evertrace._src.control.bodies import as_arrays
from evertrace._src.control.ffi import attribute, ffi_call_p
from evertrace._src.engines import runtime
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.failures import fail
from evertrace._src.engines.xla.foreign import custom_call
from evertrace._src.engines.xla.mlir_rules import TextRule
from evertrace._src.ops.callback import VMAP_METHODS
from evertrace._src.support import set_module
from evertrace._src.tracebacks import shortened

public = set_module("evertrace.ffi")


@public
def ffi_call(
    target_name: Any,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: Any = None,
    input_layouts: Any = None,
    output_layouts: Any = None,
    input_output_aliases: Any = None,
    custom_call_api_version: Any = 4,
    legacy_backend_config: Any = None,
) -> Callable[..., Any]:
    """Return a function that calls a foreign function.

    Args:
      target_name: the name under which its handler was registered for the platform.
      result_shape_dtypes: what it computes: a tree of objects with `shape` and `dtype`.
      has_side_effect: whether it is called also if nothing reads its results.
      vmap_method: what `vmap` makes of the call. "sequential": a loop that calls it once per
        example ("sequential_unrolled": without a loop). "expand_dims" and "broadcast_all": it is
        called once, with a leading dimension for the batch on all arguments, of size 1 on the
        unbatched ones or of the size of the batch. "legacy_vectorized": likewise, and unbatched
        arguments stay as they are. None: `vmap` is an error.
      input_layouts: None, or per argument None or ``range(ndim)``: arrays are row-major.
      output_layouts: likewise for the results.
      input_output_aliases: a dict: the position of an argument -> that of the result, of the same
        type, which may take its memory. The argument is copied first where it is still needed.
      custom_call_api_version: must be 4, the typed interface.
      legacy_backend_config: must be None; it belongs to older interfaces.

    Returns:
      A function of arrays that returns a tree like `result_shape_dtypes`. Keyword arguments are
      attributes for the handler: Python integers (64 bits), floats (64 bits), booleans and text,
      NumPy numbers and arrays, and tuples and dicts of them.

    Raises:
      ValueError: when differentiated; or for aliases and layouts that do not fit.
      NotImplementedError: for other layouts and interfaces.
      TypeError: (by the function returned) for other attributes.
      errors.JaxRuntimeError: (where it runs) no handler of the name is registered, or it failed.

    A call outside of `jit` compiles a program of one operation, and keeps it.

    Example:
      >>> call = ev.ffi.ffi_call("my_sort", ev.ShapeDtypeStruct((3,), "float32"))
      >>> program = ev.jit(lambda x: call(x, descending=True)).lower(jnp.ones(3)).as_text()
      >>> "@my_sort" in program, "descending = true" in program
      (True, True)
    """
    if custom_call_api_version != 4 or legacy_backend_config is not None:
        raise errors.user_error(
            ValueError if custom_call_api_version == 4 else NotImplementedError,
            "ffi_call: only the typed interface is supported, custom_call_api_version=4, which "
            "has no legacy_backend_config.",
            fix="write the handler with `XLA_FFI_DEFINE_HANDLER`, and pass keyword arguments.",
            anchor="callback",
        )
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise errors.user_error(
            ValueError,
            f"ffi_call: vmap_method is {vmap_method!r}.",
            fix=f"use one of {', '.join(map(repr, VMAP_METHODS))}, or None.",
            anchor="callback-vmap",
        )
    outs, out_tree = result_avals("ffi_call", result_shape_dtypes)
    if output_layouts is not None and tree.treedef_is_leaf(out_tree):
        output_layouts = [output_layouts]
    _check_layouts("output_layouts", output_layouts, outs)

    @shortened
    def call(*args, **attributes):
        operands = [as_operand(x, "ffi_call") for x in args]
        avals = [x.aval for x in operands]
        _check_layouts("input_layouts", input_layouts, avals)
        results = ffi_call_p.bind(
            *operands,
            target_name=str(target_name),
            result_avals=outs,
            attributes=tuple(
                (name, attribute("ffi_call", name, attributes[name])) for name in sorted(attributes)
            ),
            has_side_effect=bool(has_side_effect),
            vmap_method=vmap_method,
            input_output_aliases=_aliases(input_output_aliases, avals, outs),
        )
        return tree.unflatten(out_tree, as_arrays(results))

    return call


def _check_layouts(name, layouts, avals):
    """Raise unless layouts, if any are given, are those of row-major arrays."""
    if layouts is None:
        return
    if len(layouts) != len(avals):
        raise errors.user_error(
            ValueError,
            f"ffi_call: {name} has {len(layouts)} entries for {len(avals)} arrays.",
            fix="give one per array, or None for all.",
            anchor="callback",
        )
    for i, (layout, aval) in enumerate(zip(layouts, avals, strict=True)):
        order = getattr(layout, "major_to_minor", layout)
        if order is not None and tuple(order) != tuple(range(aval.ndim)):
            raise errors.user_error(
                NotImplementedError,
                f"ffi_call: {name}[{i}] is {tuple(order)}; only row-major arrays are supported.",
                fix="leave it out, and transpose the array, e.g. `x.mT`.",
                anchor="callback",
            )


def _aliases(given, avals, outs):
    """Return pairs of an operand and a result of the same type, from a dict."""
    pairs = tuple(sorted((operator.index(i), operator.index(o)) for i, o in (given or {}).items()))
    for i, o in pairs:
        if not (0 <= i < len(avals) and 0 <= o < len(outs)):
            raise errors.user_error(
                ValueError,
                f"ffi_call: input_output_aliases has {i}: {o}, and there are {len(avals)} "
                f"arguments and {len(outs)} results.",
                fix="give positions of an argument and a result.",
                anchor="callback",
            )
        if (avals[i].shape, avals[i].dtype) != (outs[o].shape, outs[o].dtype):
            raise errors.user_error(
                ValueError,
                f"ffi_call: argument {i}, {avals[i].str_short()}, and result {o}, "
                f"{outs[o].str_short()}, cannot share memory.",
                fix="alias arrays of one shape and dtype.",
                anchor="callback",
            )
    return pairs


@public
def ffi_lowering(
    call_target_name: Any,
    *,
    operand_layouts: Any = None,
    result_layouts: Any = None,
    backend_config: Any = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Any]:
    """Return the lowering rule of a primitive that is a foreign call.

    Args:
      call_target_name: the name under which the handler was registered.
      operand_layouts: must be None: arrays are row-major.
      result_layouts: must be None.
      backend_config: attributes for the handler, a dict; those of the primitive's parameters are
        added to them.
      skip_ffi_layout_processing: accepted for compatibility: no layouts are processed.
      **lowering_args: `has_side_effect`, and `operand_output_aliases`, a dict.

    Returns:
      A rule for `evertrace.interpreters.mlir.register_lowering`.

    Raises:
      NotImplementedError: for layouts, and other arguments.

    Example:
      >>> from evertrace.extend.core import Primitive
      >>> from evertrace.interpreters import mlir
      >>> prim = Primitive("norm")
      >>> _ = prim.def_abstract_eval(lambda x: x)
      >>> rule = mlir.register_lowering(prim, ev.ffi.ffi_lowering("my_norm", has_side_effect=False))
    """
    del skip_ffi_layout_processing
    has_side_effect = lowering_args.pop("has_side_effect", False)
    aliases = tuple((lowering_args.pop("operand_output_aliases", None) or {}).items())
    if operand_layouts is not None or result_layouts is not None or lowering_args:
        given = ", ".join(lowering_args) or "layouts"
        raise errors.user_error(
            NotImplementedError,
            f"ffi_lowering: {given}: arrays are row-major, and only `has_side_effect` and "
            "`operand_output_aliases` are passed on.",
            fix="leave it out.",
            anchor="extend",
        )
    fixed = dict(backend_config or {})

    def rule(b, outs, *operands, **params):
        given = fixed | params
        pairs = [(k, attribute("ffi_lowering", k, given[k])) for k in sorted(given)]
        several = isinstance(outs, list)
        results = custom_call(
            b,
            call_target_name,
            operands,
            outs if several else [outs],
            pairs,
            has_side_effect,
            aliases,
        )
        return results if several else results[0]

    return TextRule(rule)


@public
def register_ffi_target(
    name: str, fn: Any, platform: Any = "cpu", api_version: Any = 1, **kwargs: Any
) -> None:
    """Make a handler known by a name, for the process.

    Args:
      name: of the target. Once programs are kept on disk, another handler needs another name.
      fn: the handler, a capsule as `pycapsule` makes it; or a dict of them by stage, such as
        ``"execute"``.
      platform: for which it is.
      api_version: 1 for handlers of the typed interface.
      **kwargs: for jaxlib's registration.

    Raises:
      errors.JaxRuntimeError: the handler is no capsule, or the name is taken.

    Example:
      >>> ev.ffi.register_ffi_target("my_norm", "libnorm.so")
      Traceback (most recent call last):
          ...
      evertrace.errors.JaxRuntimeError: register_ffi_target: a handler is a capsule, or a dict of
      them by stage, got 'libnorm.so'.
          ...
    """
    handlers = list(fn.values()) if isinstance(fn, dict) else [fn]
    if not all(type(handler).__name__ == "PyCapsule" for handler in handlers):
        # XLA would only find it when devices are opened, wherever that is.
        raise errors.user_error(
            errors.JaxRuntimeError,
            "register_ffi_target: a handler is a capsule, or a dict of them by stage, got "
            f"{doors.shown(fn)}.",
            fix="take it from a library: `ffi.pycapsule(ctypes.CDLL(path).my_handler)`.",
            anchor="callback",
        )
    try:
        compat.register_target(name, fn, platform, api_version, **kwargs)
    except compat.BackendError as error:
        fail(error, f"registering the target {name!r}")


@public
def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Say that calls of a target may be divided among devices along leading dimensions.

    Programs run on one device so far, so it changes nothing yet.

    Example:
      >>> ev.ffi.register_ffi_target_as_batch_partitionable("my_sort")
    """
    compat.register_batch_partitionable(name)


@public
def register_ffi_type(name: str, type_registration: Any, platform: Any = "cpu") -> None:
    """Make a type of the state that handlers keep known by a name.

    Args:
      name: of the type, unique in the process.
      type_registration: a dict of capsules: ``"type_id"`` points to an ``XLA_FFI_TypeId``, which
        XLA fills in; ``"type_info"``, which may be left out, to an ``XLA_FFI_TypeInfo``.
      platform: for which it is.

    Raises:
      errors.JaxRuntimeError: from XLA, e.g. the name is taken.

    Example:
      >>> import ctypes
      >>> number = ctypes.c_int64(0)
      >>> type_id = ev.ffi.pycapsule(ctypes.pointer(number))
      >>> ev.ffi.register_ffi_type(f"state_{id(number)}", {"type_id": type_id})
      >>> number.value > 0  # XLA has filled it in
      True
    """
    runtime.devices()  # before they are opened, jaxlib would only note the type for later
    try:
        compat.register_ffi_type(name, type_registration, platform)
    except compat.BackendError as error:
        fail(error, f"registering the type {name!r}")


@public
def register_ffi_type_id(name: str, obj: Any, platform: Any = "cpu") -> None:
    """Make the id of a type of the state that handlers keep known by a name.

    Args:
      name: of the type, unique in the process.
      obj: a capsule that points to an ``XLA_FFI_TypeId``, which XLA fills in.
      platform: for which it is.

    Raises:
      errors.JaxRuntimeError: from XLA, e.g. the name is taken.

    It is `register_ffi_type` without further information. Differs from JAX, which has the name and
    raises an error for present versions of jaxlib.

    Example:
      >>> import ctypes
      >>> number = ctypes.c_int64(0)
      >>> type_id = ev.ffi.pycapsule(ctypes.pointer(number))
      >>> ev.ffi.register_ffi_type_id(f"other_state_{id(number)}", type_id)
      >>> number.value > 0  # XLA has filled it in
      True
    """
    register_ffi_type(name, {"type_id": obj}, platform)


@public
def pycapsule(funcptr: Any) -> Any:
    """Return the capsule of a handler that was loaded by `ctypes`, for `register_ffi_target`.

    Example:
      >>> import ctypes
      >>> handler = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: None)
      >>> type(ev.ffi.pycapsule(handler)).__name__
      'PyCapsule'
    """
    return compat.target_capsule(ctypes.cast(funcptr, ctypes.c_void_p))


@public
def include_dir() -> str:
    """Return the folder with the C++ headers that handlers are compiled with.

    Example:
      >>> import os
      >>> os.path.exists(os.path.join(ev.ffi.include_dir(), "xla", "ffi", "api", "ffi.h"))
      True
    """
    return compat.include_dir()
