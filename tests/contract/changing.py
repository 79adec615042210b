"""Calls of public functions in which one number is another one at each call.

The tables of `tests.oracle` hold valid calls of nearly everything that is public. `slots` gives the
places where these take a Python number: a literal in a program, an argument, an element of one, and
arrays in whose place a number will do.
"""

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import evertrace as ev
from tests.oracle.cases import ALIASES, Asarray, Case, Draw, build, resolve

NUMBER = "n_"


class Slot(NamedTuple):
    """A place in a call where a number stands.

    Attributes:
      key: the function and its parameter, ``numpy.roll: shift``.
      case: the case that the call comes from.
      make: function of nothing that returns the call, a function of the number.
      like: a number that may stand there.
      in_place_of_array: whether an array stands there.
    """

    key: str
    case: Case
    make: Callable[[], Callable[..., Any]]
    like: int | float
    in_place_of_array: bool = False

    def values(self) -> list[int | float]:
        """Return numbers to call it with, the likeliest first."""
        n = self.like
        if type(n) is int:
            near = [n, n + 1, n - 1, n + 2, n + 3, n - 2, 0, 1, 2, 3]
        else:
            near = [n, n * 1.25 + 0.125, n * 0.75, n + 0.0625, n - 0.125, 0.25, 0.5, 0.75]
        return list(dict.fromkeys(near))


def slots(cases: Iterable[Case]) -> Iterator[Slot]:
    """Yield the places for numbers in these cases, in order; loops might not end with others."""
    for case in cases:
        if not case.config and "while" not in case.function:
            yield from (_of_program if case.function.startswith("lambda") else _of_call)(case)


def _is_number(x):
    return type(x) in (int, float)


# ---------------------------------------------------------------- calls


def _of_call(case):
    function = _resolved(case.function)
    if not callable(function):
        return
    for at in [*range(len(case.args)), *case.kwargs]:
        given = case.args[at] if type(at) is int else case.kwargs[at]
        key = f"{case.function}: {_parameter(function, at)}"
        if _is_number(given):
            yield Slot(key, case, _call(case, at, None), given)
        elif type(given) in (tuple, list):
            for i, x in enumerate(given):
                if _is_number(x):
                    yield Slot(f"{key}[]", case, _call(case, at, i), x)
        elif isinstance(given, Draw | Asarray):
            for like in (1, 0.5):
                name = f"{key} as {type(like).__name__}"
                yield Slot(name, case, _call(case, at, None), like, True)


def _call(case, at, i):
    def make():
        function = resolve(ev, case.function)
        args, kwargs = build(ev, case.args), build(ev, dict(case.kwargs))
        given = args[at] if type(at) is int else kwargs[at]

        def use(n):
            made = n if i is None else type(given)([*given[:i], n, *given[i + 1 :]])
            if type(at) is int:
                return function(*args[:at], made, *args[at + 1 :], **kwargs)
            return function(*args, **{**kwargs, at: made})

        return use

    return make


def _resolved(path):
    try:
        return resolve(ev, path)
    except (AttributeError, ImportError):
        return None


def _parameter(function, at):
    """Return the name of a parameter that is given by position or name."""
    if type(at) is str:
        return at
    try:
        known = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return str(at)
    by_name = at < len(known) and known[at].kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD
    return known[at].name if by_name else str(at)


# ---------------------------------------------------------------- programs


def _of_program(case):
    program = ast.parse(case.function, mode="eval")
    if not isinstance(program.body, ast.Lambda):
        return
    parents = {id(x): node for node in ast.walk(program) for x in ast.iter_child_nodes(node)}
    for node in ast.walk(program):
        key = _place(node, parents) if _is_literal(node, parents) else None
        if key is not None:
            yield Slot(key, case, _changing(case, node), ast.literal_eval(node))


def _is_literal(node, parents):
    """Whether a node is a number with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    elif isinstance(parents.get(id(node)), ast.UnaryOp):
        return False
    return isinstance(node, ast.Constant) and _is_number(node.value)


def _changing(case, node):
    """Return what makes the program with a parameter in place of a literal."""
    text = case.function
    text = f"{text[: node.col_offset]}{NUMBER}{text[node.end_col_offset :]}"
    text = text.replace("lambda ", f"lambda {NUMBER}, ", 1)

    def make():
        function, args = resolve(ev, text), build(ev, case.args)
        kwargs = build(ev, dict(case.kwargs))
        return lambda n: function(n, *args, **kwargs)

    return make


def _place(node, parents):
    """Return what takes a number, and where; None if nothing public does."""
    parent, inside = parents[id(node)], ""
    while isinstance(parent, ast.Tuple | ast.List):
        node, parent, inside = parent, parents[id(parent)], f"{inside}[]"
    if isinstance(parent, ast.keyword):
        call = parents[id(parent)]
        return _of(call.func, parent.arg, inside) if isinstance(call, ast.Call) else None
    if isinstance(parent, ast.Call):
        return _of(parent.func, parent.args.index(node), inside)
    if isinstance(parent, ast.Subscript):
        is_update = isinstance(parent.value, ast.Attribute) and parent.value.attr == "at"
        return f"{'at' if is_update else 'array'}[...]{inside}"
    if isinstance(parent, ast.BinOp):
        return f"operator {type(parent.op).__name__}: {'right' if node is parent.right else 'left'}"
    return None


def _of(function, at, inside):
    """Return the key of an argument of a call."""
    path = ast.unparse(function)
    root, _, rest = path.partition(".")
    path = f"{ALIASES[root]}.{rest}" if root in ALIASES else path.removeprefix("ev.")
    found = _resolved(path) if path.replace(".", "").replace("_", "").isalnum() else None
    if found is not None:
        return f"{path}: {_parameter(found, at)}{inside}"
    if isinstance(function, ast.Attribute) and function.attr in _METHODS:
        owner = "at" if isinstance(function.value, ast.Subscript) else "array"
        return f"{owner}.{function.attr}: {at}{inside}"
    return None


_METHODS = frozenset(
    [*dir(ev.Array), "add", "apply", "divide", "get", "mul", "multiply", "power", "set"]
)
