"""A jaxpr as notebooks show it: inner programs folded, types and source lines when pointed at."""

from typing import Any, cast

from evertrace._src import markup, source
from evertrace._src.core import jaxpr_graph, pretty

_MOST = 500  # equations that are shown, those of inner programs included
_MOST_DRAWN = 400  # nodes of a graph: equations, inputs and results


def page(jaxpr: Any) -> str:
    """Return an open jaxpr as HTML."""
    writer = _Writer()
    body = writer.body(jaxpr, pretty.Names())
    drawn = _graph(jaxpr, writer)
    return markup.folded(f"<b>jaxpr</b> {_signature(jaxpr)}", drawn + body, is_open=True)


def _graph(jaxpr: Any, writer: "_Writer") -> str:
    """Return the fold of a program's graph, in which variables are called as in the listing."""
    if not jaxpr.eqns:
        return ""
    if writer.nodes > _MOST_DRAWN:
        return f"<div>{markup.dim(f'no graph, as it has more than {_MOST_DRAWN} nodes')}</div>"
    return markup.folded("graph", jaxpr_graph.drawn(jaxpr, writer.names))


def _signature(jaxpr: Any) -> str:
    inputs = ", ".join([v.aval.str_short() for v in (*jaxpr.constvars, *jaxpr.invars)])
    results = ", ".join([v.aval.str_short() for v in jaxpr.outvars])
    count = len(jaxpr.eqns)
    return markup.dim(f"({inputs}) → ({results}), {count} equation{'' if count == 1 else 's'}")


class _Writer:
    """Writes the programs of one page: each once, and in all no more than can be read."""

    def __init__(self) -> None:
        self.left = _MOST
        self.nodes = 0  # of the graph
        self.written: dict[int, str] = {}
        self.names: dict[int, pretty.Names] = {}  # by the programs' ids

    def body(self, jaxpr: Any, names: pretty.Names) -> str:
        """Return what stands below the summary of a program."""
        self.names[id(jaxpr)] = names
        self.nodes += sum(map(len, (jaxpr.constvars, jaxpr.invars, jaxpr.eqns, jaxpr.outvars)))
        inputs = " ".join([_variable(v, names, True) for v in (*jaxpr.constvars, *jaxpr.invars)])
        used = pretty.used_ids(jaxpr)
        lines = [f"<div>{markup.dim('inputs')} {inputs}</div>"]
        for i, eqn in enumerate(jaxpr.eqns):
            if self.left == 0:
                lines.append(f"<div>{markup.dim(f'... {len(jaxpr.eqns) - i} more')}</div>")
                break
            self.left -= 1
            lines.append(self._equation(eqn, names, used, len(jaxpr.eqns) == 1))
        results = " ".join([_operand(v, names) for v in jaxpr.outvars])
        return "".join([*lines, f"<div>{markup.dim('results')} {results}</div>"])

    def _equation(self, eqn: Any, names: pretty.Names, used: set[int], is_alone: bool) -> str:
        for var in eqn.outvars:
            if id(var) not in used:
                names.names[id(var)] = "_"
        inner_names = pretty.callee_names(eqn, names) if eqn.primitive.is_call else names
        params: list[str] = []
        inner: list[str] = []
        for key, value in pretty.shown_params(eqn):
            programs = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
            if programs and all(map(pretty.is_jaxpr, programs)):
                for i, closed in enumerate(programs):
                    title = f"{key}[{i}]" if isinstance(value, tuple) else key
                    inner.append(self._inner(title, closed.jaxpr, inner_names, is_alone))
            else:
                params.append(f"{key}={pretty.param_text(value)}")
        results = " ".join([_variable(v, names, True) for v in eqn.outvars])
        operands = " ".join([_operand(v, names) for v in eqn.invars])
        said = markup.dim(f"[{' '.join(params)}]") if params else ""
        text = f"{results} = <b>{markup.escaped(eqn.primitive.name)}</b>{said} {operands}"
        return f'<div class="eqn"><span>{text}</span>{_place(eqn.src)}</div>{"".join(inner)}'

    def _inner(self, title: str, jaxpr: Any, names: pretty.Names, is_open: bool) -> str:
        head = f"{markup.escaped(title)} {_signature(jaxpr)}"
        before = self.written.get(id(jaxpr))
        if before is not None:
            return f"<div>{head} {markup.dim(f'as in {before} above')}</div>"
        self.written[id(jaxpr)] = title
        return markup.folded(head, self.body(jaxpr, names), is_open)


def _variable(var: Any, names: pretty.Names, is_typed: bool = False) -> str:
    name, kind = names(var), var.aval.str_short()
    return markup.told(name, f"{name}: {kind}") + (markup.dim(f":{kind}") if is_typed else "")


def _operand(value: Any, names: pretty.Names) -> str:
    if pretty.is_var(value):
        return _variable(value, names)
    return markup.told(value.val, pretty.literal(value))


def _place(src: Any) -> str:
    if src is None:
        return ""
    title = markup.escaped(source.format(src))
    return f'<span class="dim line" title="{title}">line {source.line_of(src)}</span>'
