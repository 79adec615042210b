"""Printing jaxprs in the form that JAX's users know.

`{ lambda consts ; inputs. let equations in (outputs) }`, with variables called a, b, c, ... in the
order in which they appear, and a small document printer that breaks lines only where a group does
not fit (P. Wadler, "A prettier printer", 2003).
"""

import itertools

from evertrace._src import source

WIDTH = 80

# ---------------------------------------------------------------- documents
# A document is a string, a list of documents (concatenation), or a Group of one. Inside a group
# that fits on the line, BREAK prints as its flat text, otherwise as a newline.


class Break:
    """A place where a line may end; `flat` is its text when it does not."""

    __slots__ = ("flat",)

    def __init__(self, flat=" "):
        self.flat = flat


class Nest:
    """A document whose line breaks are indented by `indent` more."""

    __slots__ = ("doc", "indent")

    def __init__(self, indent, doc):
        self.indent, self.doc = indent, doc


class Group:
    """A document that is printed on one line if it fits."""

    __slots__ = ("doc",)

    def __init__(self, doc):
        self.doc = doc


def flat_width(doc, limit):
    """Return the width of `doc` on one line, or a number above `limit` once it is passed."""
    width, stack = 0, [doc]
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


def render(doc, width=WIDTH):
    """Lay `doc` out in lines of at most `width` characters where its groups allow it."""
    out, column = [], 0
    stack = [(0, False, doc)]
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
    return "".join(line.rstrip(" ") + "\n" for line in "".join(out).split("\n"))[:-1]


def join(separator, docs):
    """Return the documents with `separator` between them."""
    out = []
    for i, doc in enumerate(docs):
        out += [separator, doc] if i else [doc]
    return out


# ---------------------------------------------------------------- names


class Names:
    """Gives variables the names a, b, ..., z, ba, bb, ... in the order of first use."""

    def __init__(self, parent=None, preset=None):
        self.names = dict(preset or {})
        self.counter = itertools.count() if parent is None else parent.counter

    def __call__(self, var):
        """Return the name of a variable."""
        name = self.names.get(id(var))
        if name is None:
            name = self.names[id(var)] = _letters(next(self.counter))
        return name


def _letters(n):
    text = ""
    while True:
        n, r = divmod(n, 26)
        text = chr(97 + r) + text
        if n == 0:
            return text


def is_var(x):
    """Whether an operand is a variable rather than a literal (which carries its value)."""
    return not hasattr(x, "val")


def literal(lit):
    """Return a literal as ``1.0:f32[]``."""
    value = lit.val.item() if hasattr(lit.val, "item") else lit.val
    return f"{value}:{lit.aval.str_short()}"


# ---------------------------------------------------------------- jaxprs


def jaxpr_text(jaxpr, *, source_info=False, width=WIDTH):
    """Return a jaxpr as text.

    Args:
      jaxpr: an open jaxpr.
      source_info: whether each equation ends with the user's file and line.
      width: columns to aim for.
    """
    return render(_jaxpr_doc(jaxpr, Names(), source_info), width)


def eqn_text(eqn, width=WIDTH):
    """Return a single equation as text."""
    return render(_eqn_doc(eqn, Names(), False, frozenset(map(id, eqn.outvars))), width)


def _jaxpr_doc(jaxpr, names, source_info):
    used = _used(jaxpr)
    consts = "".join(f" {names(v)}:{v.aval.str_short()}" for v in jaxpr.constvars)
    inputs = " ".join(f"{names(v)}:{v.aval.str_short()}" for v in jaxpr.invars)
    eqns = [_eqn_doc(e, names, source_info, used) for e in jaxpr.eqns]
    outs = [names(v) if is_var(v) else literal(v) for v in jaxpr.outvars]
    result = f"({', '.join(outs)}{',' if len(outs) == 1 else ''})"
    return Group([
        f"{{ lambda{consts} ; {inputs}. let",
        Nest(4, [Break(), *join(Break("; "), eqns)]) if eqns else "",
        Nest(2, [Break(), f"in {result} }}"]),
    ])  # fmt: skip


def _used(jaxpr):
    used = {id(v) for v in jaxpr.outvars}
    for eqn in jaxpr.eqns:
        used.update(map(id, eqn.invars))
    return used


def _eqn_doc(eqn, names, source_info, used):
    operands = [names(v) if is_var(v) else literal(v) for v in eqn.invars]
    outs = [
        f"{names(v) if id(v) in used else '_'}:{v.aval.str_short()}" for v in eqn.outvars
    ]  # fmt: skip
    params = [_param_doc(k, v, eqn, names, source_info) for k, v in shown_params(eqn)]
    doc = [" ".join(outs), " = " if outs else "", eqn.primitive.name]
    if params:
        doc.append(Group(["[", Nest(2, [Break(""), *join(Break(), params)]), Break(""), "]"]))
    doc.append(" " + " ".join(operands) if operands else " " if params else "")
    if source_info and eqn.src is not None:
        doc.append(f"  # {source.format(eqn.src)}")
    return doc


def shown_params(eqn):
    """Return the params that a printed equation shows, by name."""
    params, show = eqn.params, eqn.primitive.show
    if show is not None:
        params = show(**params) if callable(show) else {k: params[k] for k in show}
    return sorted(params.items())


def _param_doc(key, value, eqn, names, source_info):
    if is_jaxpr(value):
        return [f"{key}=", _jaxpr_doc(value.jaxpr, _inner_names(eqn, value, names), source_info)]
    if isinstance(value, tuple) and value and all(map(is_jaxpr, value)):
        docs = [_jaxpr_doc(v.jaxpr, Names(names), source_info) for v in value]
        return [f"{key}=(", Nest(2, [Break(""), *join(Break(), docs)]), Break(""), ")"]
    return f"{key}={param_text(value)}"


def is_jaxpr(value):
    """Whether a param is an open or closed jaxpr."""
    return hasattr(value, "eqns") and hasattr(value, "jaxpr")


def param_text(value):
    """Return a param's value as printed."""
    if callable(value) and hasattr(value, "__name__") and not isinstance(value, type):
        return value.__name__
    return str(value)


def _inner_names(eqn, closed, names):
    """Return names for a callee: a plain call's variables are called as its operands are."""
    inner = Names(names)
    jaxpr = closed.jaxpr
    if eqn.primitive.is_call:
        for inside, outside in zip(jaxpr.invars, eqn.invars, strict=True):
            if is_var(outside):
                inner.names[id(inside)] = names(outside)
        for inside, outside in zip(jaxpr.outvars, eqn.outvars, strict=True):
            if is_var(inside):
                inner.names.setdefault(id(inside), names(outside))
    return inner
