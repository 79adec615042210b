"""What notebooks show of a value: pieces of HTML, for the methods `_repr_html_`.

Nothing of it needs a script or another file, so it also stands in notebooks that are not trusted,
on pages made of them and in letters. Colours are those of the page, mixed with transparent ones.
"""

from collections.abc import Callable, Iterable
from typing import Any

from evertrace._src.lazy import LazyModule

html: Any = LazyModule("html")

_STYLE = """
.evertrace { font: 13px/1.5 ui-monospace, monospace; overflow-x: auto }
.evertrace.evertrace table { border-collapse: collapse; font: inherit; margin: .2em 0;
  table-layout: auto; width: auto }
.evertrace.evertrace table tr { background: none }
.evertrace.evertrace table td, .evertrace.evertrace table th { padding: .1em .8em .1em 0;
  text-align: left; vertical-align: top; border: 0; max-width: none; white-space: pre-wrap;
  overflow-wrap: anywhere }
.evertrace.evertrace table th { overflow-wrap: normal }
.evertrace.evertrace th, .evertrace .dim { opacity: .62; font-weight: normal }
.evertrace details > :not(summary) { margin-left: 1.3em }
.evertrace summary { cursor: pointer }
.evertrace pre { font: inherit; margin: .3em 0; background: none; white-space: pre }
.evertrace .eqn { display: flex; gap: 1em; justify-content: space-between; white-space: pre-wrap }
.evertrace .eqn > :first-child { min-width: 0; overflow-wrap: anywhere }
.evertrace .eqn > .line { flex: none }
.evertrace .wide > svg { min-width: 1000px }
.evertrace .eqn:hover { background: rgba(128, 128, 128, .16) }
.evertrace [title] { cursor: help }
.evertrace b { font-weight: 600 }
"""
"""Rules that win over those which notebooks have for tables: the class is named twice for that."""


def guarded(words: Callable[[Any], str]) -> Callable[[Any], str | None]:
    """Decorate a `_repr_html_`: where it fails there is none, and the text is shown."""

    def _repr_html_(self: Any) -> str | None:
        try:
            return f'<div class="evertrace"><style>{_STYLE}</style>{words(self)}</div>'
        except Exception:  # an explanation may never make a call fail
            return None

    return _repr_html_


def escaped(value: Any) -> str:
    """Return a value as text in HTML, in attributes as well."""
    return html.escape(str(value))


def dim(text: Any) -> str:
    """Return what is said besides."""
    return f'<span class="dim">{escaped(text)}</span>'


def told(text: Any, more: Any) -> str:
    """Return a text that says more when it is pointed at."""
    return f'<span title="{escaped(more)}">{escaped(text)}</span>'


def folded(summary: str, body: str, is_open: bool = False) -> str:
    """Return a part of a page that is opened and closed at its summary; both are HTML."""
    state = ' open=""' if is_open else ""
    return f"<details{state}><summary>{summary}</summary><div>{body}</div></details>"


def table(rows: Iterable[tuple[Any, Iterable[Any]]]) -> str:
    """Return a table of titles with the texts that stand beside each, one below the other."""
    cells = [(title, "\n".join(map(str, texts))) for title, texts in rows]
    lines = [f"<tr><th>{escaped(a)}</th><td>{escaped(b)}</td></tr>" for a, b in cells if b]
    return f"<table>{''.join(lines)}</table>"
