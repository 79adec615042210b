"""What to write where Python or NumPy asks an array for a value, by the user's code that asks.

Loaded for messages only. ``max``, ``sorted``, ``and``, ``not`` and chained comparisons ask for the
truth without an `if` in sight, and each has another repair; an item of a NumPy array that is
assigned to asks for a number.
"""

import ast
import dis
import itertools
import linecache
from typing import Any

from evertrace._src import source

_OF_BUILTINS = {"max": "max", "min": "min", "sorted": "sort", "any": "any", "all": "all"}
"""Functions of Python that compare elements or ask for their truth, and NumPy's for arrays."""

_OF_TWO = {"max": "maximum", "min": "minimum"}


def repair(src) -> tuple[str, bool]:
    """Return what to write instead, "" where nothing is known, and whether a statement tests it.

    Args:
      src: the place in the user's code that asks.
    """
    found = _asked_at(src)
    if not found:
        return "", False
    node, *around = found
    if around and isinstance(around[0], ast.BoolOp) and not _says_what_to_write(node):
        node, *around = around  # Python may note the place of the first operand for the whole
    is_tested = any(getattr(x, "test", None) in (node, *around) for x in around)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _of_builtin(node.func.id, node), is_tested
    is_known = _is_negation(node) or _says_what_to_write(node)
    return (f"write `{_joined(node)}`" if is_known else ""), is_tested


def _is_negation(node):
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _says_what_to_write(node):
    """Whether it is an ``and``, an ``or``, or a chain of comparisons, of what may be arrays."""
    if any(isinstance(x, ast.Is | ast.IsNot | ast.In | ast.NotIn) for x in ast.walk(node)):
        return False
    return isinstance(node, ast.BoolOp) or (isinstance(node, ast.Compare) and len(node.ops) > 1)


def _asked_at(src):
    """Return the expression at a place and what is around it, innermost first, on its line."""
    if src is None:
        return []
    code, lasti = src[:2]
    position = next(itertools.islice(code.co_positions(), max(lasti, 0) // 2, None), None)
    if position is None or None in position or position[0] != position[1]:
        return []
    start, end = position[2:]
    line = linecache.getline(code.co_filename, position[0]).encode()
    text = line.strip().removeprefix(b"el")
    tree = _parsed(text) or _parsed(text + b" pass")
    if tree is None:  # a part of a statement of several lines
        text = line[start:end]
        tree = _parsed(text)
    skipped = line.index(text)
    return [] if tree is None else _path(tree, (start - skipped, end - skipped))


def _parsed(text):
    try:
        return ast.parse(text.decode(errors="replace"))
    except (SyntaxError, ValueError):
        return None


def _path(tree, place):
    """Return the outermost expression at a place, and what is around it, innermost first."""
    around, node = [], tree
    while node is not None:
        if isinstance(node, ast.expr) and (node.col_offset, node.end_col_offset) == place:
            return [node, *reversed(around)]
        around.append(node)
        node = next((x for x in ast.iter_child_nodes(node) if _holds(x, place)), None)
    return []


def _holds(node, place):
    start = getattr(node, "col_offset", None)
    if start is None:  # a clause of a comprehension has no place
        return any(_holds(x, place) for x in ast.iter_child_nodes(node))
    return start <= place[0] and place[1] <= node.end_col_offset


_ARRAYS = (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.Compare)
"""Expressions that mostly stand for an array, not for a list of them."""


def _of_builtin(name, node):
    given = [ast.unparse(x) for x in node.args]
    if name in _OF_TWO and len(given) > 1 and not node.keywords:
        joined = given[-1]
        for x in reversed(given[:-1]):
            joined = f"jnp.{_OF_TWO[name]}({x}, {joined})"
        return f"call `{joined}`"
    if name in _OF_BUILTINS and len(given) == 1 and not node.keywords:
        is_array = isinstance(node.args[0], _ARRAYS)
        x = given[0] if is_array else f"jnp.asarray({given[0]})"
        return f"call `jnp.{_OF_BUILTINS[name]}({x})`"
    return ""


def _joined(node):
    """Return an ``and``, an ``or`` or a chain of comparisons as an array of booleans in words."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        pairs = zip(sides, node.ops, sides[1:], strict=False)
        parts = [ast.Compare(a, [op], [b]) for a, op, b in pairs]
        return " & ".join(f"({_joined(x)})" for x in parts) if len(parts) > 1 else ast.unparse(node)
    if _is_negation(node):
        return f"jnp.logical_not({_joined(node.operand)})"
    if not isinstance(node, ast.BoolOp):
        return ast.unparse(node)
    is_and = isinstance(node.op, ast.And)
    if all(isinstance(x, ast.Compare | ast.BoolOp) for x in node.values):
        return (" & " if is_and else " | ").join(f"({_joined(x)})" for x in node.values)
    joined = _joined(node.values[-1])
    for x in reversed(node.values[:-1]):
        joined = f"jnp.logical_{'and' if is_and else 'or'}({_joined(x)}, {joined})"
    return joined


def asked_here() -> tuple[str, bool]:
    """Return the `repair` of what the user's innermost line asks."""
    return repair(source.user_source())


_METHODS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}


def assigned_here() -> str:
    """Return what to write where the user assigns a traced value to a NumPy array's item."""
    src = source.user_source()
    if src is None or src[1] < 0 or dis.opname[src[0].co_code[src[1]]] != "STORE_SUBSCR":
        return ""
    target, *around = _asked_at(src) or [None]
    array, index, method, value = "out", "i", "set", "value"
    if isinstance(target, ast.Subscript):
        array, index = ast.unparse(target.value), ast.unparse(target)
        index = index.removeprefix(f"{array}[").removesuffix("]")
        statement: Any = around[0] if around else None
        if isinstance(statement, ast.AugAssign):
            method = _METHODS.get(type(statement.op), "set")
        is_plain = isinstance(statement, ast.Assign) and statement.targets == [target]
        if is_plain or method != "set":
            value = ast.unparse(statement.value)
            if isinstance(statement.value, ast.List | ast.Tuple):
                value = f"jnp.array({value})"
    return (
        f"make it an array that takes traced values, `{array} = jnp.zeros(...)`, and write "
        f"`{array} = {array}.at[{index}].{method}({value})`."
    )
