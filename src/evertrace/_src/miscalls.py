"""Words for calls of the user's functions with arguments that they do not take.

`grad(f)(x, y)` gives `f` what it was given, `scan` a carry and an item: where the function takes
other arguments, Python says so of a call that the user does not see. It fails before the function
has a frame, so it looks like an error of ours; whose function it was is found by its name, in the
variables of our frames.
"""

import functools
import re
import sys
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from evertrace._src import doors, errors, signatures, source, tracebacks

_RULES = {
    "user_bwd": ("custom_vjp", "(residuals, cotangent), after what nondiff_argnums names"),
    "user_fwd": ("custom_vjp", "the arguments of the function"),
    "vmap_rule": ("custom_vmap", "(axis_size, in_batched) and the arguments of the function"),
    "user_jvp": ("custom_jvp", "(primals, tangents), after what nondiff_argnums names"),
}
"""What functions for a purpose are called with, and by what, by the variable that holds one."""

_BODIES = {
    "apply_along_axis": "a vector, and what follows the array",
    "associative_scan": "(a, b), two slices of the array",
    "bicgstab": "(x)",
    "cg": "(x)",
    "cond": "the operands that follow the functions",
    "custom_linear_solve": "(x), a solver with (matvec, b)",
    "custom_root": "(x), a solver with (f, x)",
    "fori_loop": "(i, value)",
    "fromfunction": "an array of indices for each dimension",
    "gmres": "(x)",
    "map": "(x), one item",
    "minimize": "(x), and what `args` holds",
    "odeint": "(y, t), and what follows the times",
    "piecewise": "the array, and what follows the functions",
    "reduce": "(a, b), what is reduced so far and what is next",
    "reduce_window": "(a, b), what is reduced so far and what is next",
    "scan": "(carry, x)",
    "switch": "the operands that follow the functions",
    "tree.reduce": "(so_far, leaf)",
    "tree_map": "one leaf of each tree",
    "tree_map_with_path": "(path, leaf), and one leaf of each tree that follows",
    "tree_reduce": "(so_far, leaf)",
    "while_loop": "(value)",
}
"""What a public function calls a function with that it is given; others pass arguments on."""

_INSIDE = ("capture", "door", "shortened", "stateful")  # what others are made by


def add_words(error: Exception) -> bool:
    """Say in an error of Python's that the user's function takes other arguments, if that is so.

    Returns whether it is.
    """
    found = doors.MISMATCH.search(str(error))
    if type(error) is not TypeError or found is None or not tracebacks.is_ours(error):
        return False
    frames = [*_around(), *(x.tb_frame for x in tracebacks.entries_of(error.__traceback__))]
    name, _, rest = str(error).partition("()")
    variable, function, callee = _function_of(name, rest, frames)
    if function is None:
        return False
    if _is_users(function):
        short, place = signatures.function_name(callee), f" ({_place(function.__code__)})"
        where, call, gets = _entry(frames, short)
    else:
        short, where, call = _of_ours(name, frames)
        place, gets = "", None
    where, gets = _RULES.get(variable, (where, gets))
    what = f"{where}: {short}(){rest.rstrip('.')}"
    takes = f"`{short}{doors.call_of(callee)}`{place}"
    if gets:
        what, fix = f"{what}; {where} calls it with {gets}.", f"have {takes} take {gets}."
    else:
        known = [*signatures.signature_of(callee).parameters]
        what = f"{what}. It was called as {call}."
        fix = errors.suggestion(found["word"] or "", known, f"pass the arguments of {takes}.")
    error.args = (str(errors.user_error(TypeError, what, fix=fix, anchor="arguments")),)
    return True


def _around() -> list[FrameType]:
    """Return our frames around this one from the user's call on, the outermost first."""
    frames, frame = [], sys._getframe(2)
    while frame is not None and not source.is_users_frame(frame):
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def _of_ours(name: str, frames: list[FrameType]) -> tuple[str, str, str]:
    """Return of what the user called, of ours: its name, what made it, and the call."""
    where, short = _maker(name), name.rpartition(".")[2]
    given = frames[-1].f_locals["args"], frames[-1].f_locals["kwargs"]
    if "<locals>" in name:
        return short, where, f"{where}(...)({doors.all_shown(*given)})"
    short = where if short == "__call__" else short
    return short, where, f"{short}({doors.all_shown(given[0][1:], given[1])})"


def _function_of(
    name: str, complaint: str, frames: list[FrameType]
) -> tuple[str, FunctionType | None, Any]:
    """Return what was to run: the variable of ours that holds it, its function, and itself.

    It is one of the user's, or one of ours that the user has called.

    Args:
      name: the function's qualified name.
      complaint: what Python says of its arguments: lambdas have all the same name.
      frames: where the variables are.
    """
    for frame in reversed(frames):
        is_door = frame.f_globals.get("__name__") == tracebacks.__name__
        for variable, value in frame.f_locals.items():
            for x in value if type(value) in (tuple, list) else (value,):
                function = _innermost(x)
                if function is None or function.__qualname__ != name:
                    continue
                is_users = _is_users(function)
                is_called = is_users or (is_door and variable == "function")
                if is_called and _may_say(complaint, function.__code__):
                    return variable, function, x
    return "", None, None


def _is_users(function: FunctionType) -> bool:
    code = function.__code__
    return source.is_users(code.co_filename) and not source.is_ours(code, function.__globals__)


def _may_say(complaint: str, code: CodeType) -> bool:
    """Whether Python may say this of a function with this code."""
    if takes := re.search(r"takes (?:from \d+ to )?(\d+) positional", complaint):
        return int(takes[1]) == code.co_argcount
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    is_unexpected = "unexpected" in complaint
    return all((word in known) != is_unexpected for word in re.findall(r"'(\w+)'", complaint))


def _innermost(value: Any) -> FunctionType | None:
    """Return the function that a call of a value runs at last, None where it is none of Python."""
    while True:
        if type(value) is functools.partial:
            value = value.func
        elif type(value) is MethodType:
            value = value.__func__
        elif isinstance(value, type):
            value = value.__init__
        elif type(value).__module__.startswith("evertrace") and "__wrapped__" in _own(value):
            value = _own(value)["__wrapped__"]  # jitted, or with a rule
        elif type(value) is FunctionType:
            return value
        else:
            found = next(
                (vars(c)["__call__"] for c in type(value).__mro__ if "__call__" in vars(c)), None
            )
            return found if type(found) is FunctionType else None


def _own(value: Any) -> dict[str, Any]:
    return getattr(value, "__dict__", {})


def _entry(frames: list[FrameType], function: str) -> tuple[str, str, str | None]:
    """Return the name of what the user called, the call, and what that calls functions with."""
    first = frames[0]
    args, kwargs = first.f_locals.get("args", ()), first.f_locals.get("kwargs", {})
    given = doors.all_shown(args, kwargs)
    if first.f_globals.get("__name__") == doors.__name__:
        name = first.f_locals["name"]
        module = first.f_locals["inner"].__module__.rpartition(".")[2]
        gets = _BODIES.get(f"{module}.{name}") or _BODIES.get(name)
        return name, f"{name}({given})", gets
    names = [frame.f_code.co_qualname for frame in frames]
    makers = [_maker(name) for name in names if "<locals>" in name]
    maker = next((x for x in makers if x not in _INSIDE), "jit" if "capture" in makers else "")
    where = f"{maker}({function})" if maker else function
    return where, f"{where}({given})", _BODIES.get(maker)


def _maker(name: str) -> str:
    """Return which function or class of ours has made what has a qualified name."""
    return name.partition(".")[0].strip("_")


def _place(code: CodeType) -> str:
    """Return where a function is defined, in words."""
    return source.at(source.describe((code, -1)).file, code.co_firstlineno)
