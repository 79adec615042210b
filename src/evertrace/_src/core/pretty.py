"""Printing jaxprs in the form that JAX's users know.

`{ lambda consts ; inputs. let equations in (outputs) }`, with variables called a, b, c, ... in the
order in which they appear, and a small document printer that breaks lines only where a group does
not fit (P. Wadler, "A prettier printer", 2003).
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeAlias, cast

from evertrace._src import source

WIDTH = 80

# ---------------------------------------------------------------- documents
# A document is a string, a list of documents (concatenation), or a Group of one. Inside a group
# that fits on the line, BREAK prints as its flat text, otherwise as a newline.
Doc: TypeAlias = "str | list[Doc] | Break | Nest | Group"


class Break:
    """A place where a line may end; `flat` is its text when it does not."""

    __slots__ = ("flat",)

    def __init__(self, flat: str = " ") -> None:
        self.flat = flat


class Nest:
    """A document whose line breaks are indented by `indent` more."""

    __slots__ = ("doc", "indent")

    def __init__(self, indent: int, doc: Doc) -> None:
        self.indent, self.doc = indent, doc


class Group:
    """A document that is printed on one line if it fits."""

    __slots__ = ("doc",)

    def __init__(self, doc: Doc) -> None:
        self.doc = doc


def flat_width(doc: Doc, limit: int) -> int:
    """Return the width of `doc` on one line, or a number above `limit` once it is passed."""
    width = 0
    stack: list[Doc] = [doc]
    while stack and width <= limit:
        doc = stack.pop()
        if isinstance(doc, str):
            width += len(doc) if "\n" not in doc else limit + 1
        elif isinstance(doc, list):
            stack.extend(reversed(doc))
        elif isinstance(doc, Break):
            width += len(doc.flat)
        else:
            stack.append(doc.doc)
    return width


def render(doc: Doc, width: int = WIDTH) -> str:
    """Lay `doc` out in lines of at most `width` characters where its groups allow it."""
    out: list[str] = []
    column = 0
    stack: list[tuple[int, bool, Doc]] = [(0, False, doc)]
    while stack:
        indent, flat, doc = stack.pop()
        if isinstance(doc, str):
            out.append(doc)
            column += len(doc)
        elif isinstance(doc, list):
            stack.extend((indent, flat, d) for d in reversed(doc))
        elif isinstance(doc, Nest):
            stack.append((indent + doc.indent, flat, doc.doc))
        elif isinstance(doc, Group):
            room = width - column
            stack.append((indent, flat or flat_width(doc.doc, room) <= room, doc.doc))
        elif flat:
            out.append(doc.flat)
            column += len(doc.flat)
        else:
            out.append("\n" + " " * indent)
            column = indent
    return "".join(out)


def join(separator: Doc, docs: Sequence[Doc]) -> list[Doc]:
    """Return the documents with `separator` between them."""
    out: list[Doc] = []
    for i, doc in enumerate(docs):
        out += [separator, doc] if i else [doc]
    return out


def fill(words: Sequence[str]) -> Nest:
    """Return the words with spaces between them, and line breaks where a line is full."""
    return Nest(2, join(Group(Break()), words))


# ---------------------------------------------------------------- names


class Names:
    """Gives variables the names a, b, ..., z, ba, bb, ... in the order of first use.

    Attributes:
      names: the names given, by id of the variable.
      shared: the names of jaxprs that are printed once, in front, by id.
      types: those types of variables that say more than their avals, by id.
    """

    def __init__(
        self,
        parent: Names | None = None,
        shared: dict[int, str] | None = None,
        types: dict[int, Any] | None = None,
    ) -> None:
        self.names: dict[int, str] = {}
        self.types: dict[int, Any] = types or {} if parent is None else parent.types
        self.shared = shared or {} if parent is None else parent.shared
        self.counter = itertools.count() if parent is None else parent.counter

    def __call__(self, var: Any) -> str:
        """Return the name of a variable."""
        name = self.names.get(id(var))
        if name is None:
            name = self.names[id(var)] = self._fresh()
        return name

    def binder(self, var: Any) -> str:
        """Return the name of a variable with its type."""
        return f"{self(var)}:{self.types.get(id(var), var.aval).str_short()}"

    def _fresh(self) -> str:
        taken = self.shared.values()
        return next(name for n in self.counter if (name := _letters(n)) not in taken)


def _letters(n: int) -> str:
    text = ""
    while True:
        n, r = divmod(n, 26)
        text = chr(97 + r) + text
        if n == 0:
            return text


def is_var(x: Any) -> bool:
    """Whether an operand is a variable rather than a literal (which carries its value)."""
    return not hasattr(x, "val")


def literal(lit: Any) -> str:
    """Return a literal as ``1.0:f32[]``, with all digits of its value, as JAX does.

    A weakly typed one is Python's number: it has no more digits than its dtype can tell apart.
    """
    value = lit.val.item()
    if isinstance(value, float) and lit.aval.weak_type:
        value = float(str(lit.val))
    return f"{value}:{lit.aval.str_short()}"


# ---------------------------------------------------------------- jaxprs

# A jaxpr that occurs more than once, or has more equations than this, is printed in front.
MAX_INLINE_EQNS = 10


def jaxpr_text(
    jaxpr: Any, *, source_info: bool = False, name_stack: bool = False, width: int = WIDTH
) -> str:
    """Return a jaxpr as text.

    Args:
      jaxpr: an open jaxpr.
      source_info: whether each equation ends with the user's file and line.
      name_stack: whether it ends with the named scope it is in.
      width: columns to aim for.
    """
    note = functools.partial(_note, source_info, name_stack)
    front = _shared_jaxprs(jaxpr)
    shared = {id(inner): name for name, inner in front.items()}
    names = Names(shared=shared, types=jaxpr.cache.get("types"))
    docs: list[Doc] = [
        [f"let {name} = ", _jaxpr_doc(inner, Names(names), note), " in"]
        for name, inner in front.items()
    ]
    return render(join(Break(), [*docs, _jaxpr_doc(jaxpr, Names(names), note)]), width)


def eqn_text(eqn: Any, width: int = WIDTH) -> str:
    """Return a single equation as text."""
    return render(_eqn_doc(eqn, Names(), _no_note, frozenset(map(id, eqn.outvars))), width)


def _shared_jaxprs(jaxpr: Any) -> dict[str, Any]:
    """Return the inner jaxprs to be printed in front, by name, outer ones first."""
    counts: Counter[int] = Counter()
    found: dict[int, Any] = {}
    names: dict[int, str] = {}
    queue = deque([jaxpr])
    while queue:
        for eqn in queue.popleft().eqns:
            for inner in _inner_jaxprs(eqn.params):
                counts[id(inner)] += 1
                found[id(inner)] = inner
                names.setdefault(id(inner), _plain_name(eqn.params.get("name")))
                queue.append(inner)
    front: dict[str, Any] = {}
    taken: Counter[str] = Counter()
    for key, inner in found.items():
        if counts[key] > 1 or len(inner.eqns) > MAX_INLINE_EQNS:
            name = names[key]
            taken[name] += 1
            front[f"{name}{taken[name] - 1 or ''}"] = inner
    return front


def _plain_name(name: Any) -> str:
    return name.strip("<>") if isinstance(name, str) else "jaxpr"


def _inner_jaxprs(params: Mapping[str, Any]) -> Iterator[Any]:
    for value in params.values():
        for item in cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,):
            if is_jaxpr(item):
                yield item.jaxpr


def _jaxpr_doc(jaxpr: Any, names: Names, note: Callable[[Any], str]) -> Group:
    used = used_ids(jaxpr)
    consts = [names.binder(v) for v in jaxpr.constvars]
    inputs = [names.binder(v) for v in jaxpr.invars]
    eqns = [_eqn_doc(e, names, note, used) for e in jaxpr.eqns]
    outs = [names(v) if is_var(v) else literal(v) for v in jaxpr.outvars]
    result = f"({', '.join(outs)}{',' if len(outs) == 1 else ''})"
    return Group(
        [
            Nest(2, ["{ lambda ", fill(consts), "; ", fill(inputs), ". let"]),
            Nest(4, [Break(), *join(Break("; "), eqns)]),
            Nest(2, [Break(), f"in {result} }}"]),
        ]
    )


def used_ids(jaxpr: Any) -> set[int]:
    """Return the ids of the variables that a jaxpr reads or returns."""
    used = {id(v) for v in jaxpr.outvars}
    for eqn in jaxpr.eqns:
        used.update(map(id, eqn.invars))
    return used


def _eqn_doc(eqn: Any, names: Names, note: Callable[[Any], str], used: Set[int]) -> list[Doc]:
    for var in eqn.outvars:
        if id(var) not in used:
            names.names[id(var)] = "_"
    inner = callee_names(eqn, names) if eqn.primitive.is_call else None
    outs = [names.binder(v) for v in eqn.outvars]
    operands = [names(v) if is_var(v) else literal(v) for v in eqn.invars]
    params = [_param_doc(k, v, inner or names, note) for k, v in shown_params(eqn)]
    doc: list[Doc] = [fill(outs), " = " if outs else "", eqn.primitive.name]
    if params:
        doc.append(Group(["[", Nest(2, [Break(""), *join(Break(), params)]), Break(""), "]"]))
    doc += [" ", fill(operands)]
    if text := note(eqn):
        doc.append(f"  # {text}")
    return doc


def _no_note(eqn: Any) -> str:
    return ""


def _note(source_info: bool, name_stack: bool, eqn: Any) -> str:
    """Return what stands behind a printed equation: its place, its named scope, both or none."""
    if eqn.src is None:
        return ""
    parts = [source.format(eqn.src)] if source_info else []
    if name_stack and (scope := source.scope_of(eqn.src)):
        parts.append(f"[{scope}]")
    return " ".join(parts)


def shown_params(eqn: Any) -> list[tuple[str, Any]]:
    """Return the params that a printed equation shows, as pairs in the order of printing."""
    params, show = eqn.params, eqn.primitive.show
    if isinstance(show, tuple):
        return [(name, params[name]) for name in cast("tuple[str, ...]", show)]
    return sorted((params if show is None else show(**params)).items())


def _param_doc(key: str, value: Any, names: Names, note: Callable[[Any], str]) -> Doc:
    if is_jaxpr(value):
        return [f"{key}=", _inner_doc(value.jaxpr, names, note)]
    if isinstance(value, tuple) and value and all(map(is_jaxpr, cast("tuple[Any, ...]", value))):
        docs = [_inner_doc(v.jaxpr, names, note) for v in cast("tuple[Any, ...]", value)]
        return [f"{key}=(", Nest(2, [Break(""), *join(Break(), docs)]), Break(""), ")"]
    return f"{key}={param_text(value)}"


def _inner_doc(jaxpr: Any, names: Names, note: Callable[[Any], str]) -> Doc:
    shared = names.shared.get(id(jaxpr))
    if shared is not None:
        return shared
    return _jaxpr_doc(jaxpr, names, note)


def is_jaxpr(value: Any) -> bool:
    """Whether a param is an open or closed jaxpr."""
    return hasattr(value, "eqns") and hasattr(value, "jaxpr")


def param_text(value: Any) -> str:
    """Return a param's value as printed."""
    if callable(value) and hasattr(value, "__name__") and not isinstance(value, type):
        return value.__name__
    if isinstance(value, frozenset):  # which has no order of its own, and texts none that lasts
        items = sorted(map(repr, cast("frozenset[Any]", value)), key=lambda x: (len(x), x))
        return f"frozenset({{{', '.join(items)}}})" if items else "frozenset()"
    return str(value)


def callee_names(eqn: Any, names: Names) -> Names:
    """Return names for the body of a plain call: its variables are called as its operands are."""
    inner = Names(names)
    jaxpr = eqn.params["jaxpr"].jaxpr
    if id(jaxpr) in names.shared:
        return inner
    outer_names: set[str] = set()
    for inside, outside in zip(jaxpr.invars, eqn.invars, strict=True):
        if is_var(outside) and names(outside) not in outer_names:
            inner.names[id(inside)] = names(outside)
            outer_names.add(names(outside))
    for inside, outside in zip(jaxpr.outvars, eqn.outvars, strict=True):
        if is_var(inside) and id(inside) not in inner.names and not _is_input(inside, jaxpr):
            inner.names[id(inside)] = names(outside)
    return inner


def _is_input(var: Any, jaxpr: Any) -> bool:
    return any(var is v for v in jaxpr.invars)
