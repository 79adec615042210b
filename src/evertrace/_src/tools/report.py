"""A page of what a program had traced, compiled and refused: ``python -m evertrace report``."""

import argparse
import contextlib
import dataclasses
import html
import os
import runpy
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import evertrace
from evertrace._src import errors, source
from evertrace._src.core import monitoring
from evertrace._src.engines import cache
from evertrace._src.tools.timing import in_words, name_of


@dataclasses.dataclass
class Function:
    """What became of one function of the program that was jitted.

    Attributes:
      name, place: what it is called, and where it is defined.
      variants: what gives the `VariantReport` of each.
      refused: what was raised while it was traced.
    """

    name: str
    place: str
    variants: list[Any] = dataclasses.field(default_factory=list)
    refused: list[str] = dataclasses.field(default_factory=list)


class Notes:
    """Notes what `jit` does while a program runs."""

    def __init__(self) -> None:
        self.functions: dict[Any, Function] = {}
        self.warned: list[str] = []
        self._show = warnings.showwarning

    def _observe(self, fun: Any, what: str, details: Any) -> None:
        code = getattr(fun, "__code__", None)
        found = self.functions.get(code or fun)
        if found is None:
            place = "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"
            found = self.functions[code or fun] = Function(name_of(fun), place)
        if what == "traced":
            found.variants.append(details)
        else:
            text = f"{type(details).__name__}: {details}"
            if text not in found.refused:
                found.refused.append(text)

    def _warn(self, message: Any, category: Any, *rest: Any, **more: Any) -> None:
        if issubclass(category, errors.EvertraceWarning):
            self.warned.append(f"{category.__name__}: {message}")
        self._show(message, category, *rest, **more)

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Take notes for a ``with`` block."""
        warnings.showwarning = self._warn
        monitoring.observers += (self._observe,)
        try:
            yield
        finally:
            warnings.showwarning = self._show
            monitoring.observers = tuple([f for f in monitoring.observers if f != self._observe])


def main(options: argparse.Namespace) -> int:
    """Run a program, write the page, and return the program's exit status."""
    program = Path(options.file)
    if not program.is_file():
        print(f"evertrace report: there is no file {program}", file=sys.stderr)
        return 2
    page, notes = Path(options.output or program.with_suffix(".html").name), Notes()
    start = time.perf_counter()
    with notes.taken():
        status, ended = _run(program, options.arguments)
    seconds = time.perf_counter() - start
    command = " ".join([str(program), *options.arguments])
    try:
        page.write_text(page_of(notes, command, seconds, ended), encoding="utf-8")
    except OSError as error:
        print(f"evertrace report: {page} cannot be written: {error.strerror}", file=sys.stderr)
        return status or 1
    print(f"evertrace report: {page}", file=sys.stderr)
    return status


def _run(program: Path, arguments: list[str]) -> tuple[int, str]:
    """Run a program as Python would; returns its exit status and how it ended."""
    sys.argv = [str(program), *arguments]
    sys.path[0:0] = [str(program.resolve().parent)]
    try:
        runpy.run_path(str(program), run_name="__main__")
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            status = error.code or 0
        else:
            print(error.code, file=sys.stderr)
            status = 1
        return status, f"exit status {status}"
    except BaseException as error:
        frame = error.__traceback__
        while frame is not None and not _is_programs(frame, program):
            frame = frame.tb_next
        text = "".join(traceback.format_exception(type(error), error, frame))
        print(text, end="", file=sys.stderr)
        return (130 if isinstance(error, KeyboardInterrupt) else 1), text
    return 0, "exit status 0"


def _is_programs(frame: Any, program: Path) -> bool:
    name = frame.tb_frame.f_code.co_filename
    return source.is_users(name) and os.path.basename(name) == program.name


# ---------------------------------------------------------------- the page

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em;
  color: #222; background: #fff }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; padding: .3em .8em .3em 0; overflow-wrap: anywhere;
  border-bottom: 1px solid #ddd; vertical-align: top }
td.n, th.n { text-align: right }
pre { background: #f6f4f0; padding: .8em; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere }
.bad { color: #a11 } .dim { color: #777 } .scroll { overflow-x: auto }
.scroll td, .scroll th { overflow-wrap: normal } .scroll td:first-child { min-width: 12em;
  overflow-wrap: anywhere }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd }
  pre { background: #242424 } td, th { border-color: #444 } .bad { color: #f88 } }
"""


def page_of(notes: Notes, command: str, seconds: float, ended: str) -> str:
    """Return the page, which needs no other file.

    Args:
      notes: what was noted.
      command: what was run.
      seconds: how long it ran.
      ended: how it ended: its exit status, or a traceback.
    """
    functions = [(function, _reports(function)) for function in notes.functions.values()]
    stats = cache.cache_stats()
    facts = {
        "program": command,
        "took": in_words(seconds),
        "evertrace": f"{evertrace.__version__}, Python {sys.version.split()[0]}",
        "functions": f"{len(functions)}, with {sum(len(r) for _, r in functions)} programs",
        "cache on disk": f"{stats.hits} programs found, {stats.misses} not, {stats.writes} written",
    }
    if "\n" not in ended:
        facts["ended"] = ended
    rows = "".join(f"<tr><th>{_e(k)}</th><td>{_e(v)}</td></tr>" for k, v in facts.items())
    parts = [f"<h1>What {_e(Path(command.split(' ')[0]).name)} had compiled</h1>"]
    parts += [f"<table>{rows}</table>"]
    if "\n" in ended:
        parts += [f'<h2 class="bad">How it ended</h2><pre>{_e(ended)}</pre>']
    parts += [_overview(functions)]
    retraced = [(f, r) for f, reports in functions for r in reports if r.reason]
    if retraced:
        items = "".join(
            f"<tr><td>{_e(f.name)}</td><td>{_e('; '.join(r.reason))}</td></tr>" for f, r in retraced
        )
        parts += [f"<h2>Traced again, and why</h2><table>{items}</table>"]
    for title, texts in (
        ("Raised while it was traced", [text for f, _ in functions for text in f.refused]),
        ("Warnings", notes.warned),
    ):
        if texts:
            parts += [f'<h2 class="bad">{title}</h2>', *[f"<pre>{_e(t)}</pre>" for t in texts]]
    parts += [_details(f, reports) for f, reports in functions if reports]
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_e(command)}</title><style>{_STYLE}</style>\n{chr(10).join(parts)}\n</html>\n"
    )


def _e(text: Any) -> str:
    return html.escape(str(text))


def _reports(function: Function) -> list[Any]:
    """Return the reports of a function's variants; what cannot be told is left out."""
    found = []
    for words in function.variants:
        with contextlib.suppress(Exception):  # an explanation never makes a program fail
            found.append(words())
    return found


def _overview(functions: list[Any]) -> str:
    if not functions:
        return "<p>Nothing was jitted.</p>"
    titles = "programs", "hits", "traced in", "lowered in", "compiled in"
    head = "<th>function</th>" + "".join(f'<th class="n">{title}</th>' for title in titles)
    rows = []
    for function, reports in functions:
        times = [
            sum(getattr(r, f"{step}_seconds") or 0.0 for r in reports)
            for step in ("trace", "lower", "compile")
        ]
        hits = sum(r.hits or 0 for r in reports)
        cells = [len(reports), hits, *[in_words(t) if t else "" for t in times]]
        name = f'{_e(function.name)} <span class="dim">{_e(function.place)}</span>'
        rows.append(
            f"<tr><td>{name}</td>" + "".join(f'<td class="n">{c}</td>' for c in cells) + "</tr>"
        )
    return (
        f'<h2>Functions</h2><div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'
    )


def _details(function: Function, reports: list[Any]) -> str:
    bodies = []
    for i, found in enumerate(reports):
        why = "; ".join(found.reason) or ("the first" if i == 0 else "traced again")
        text = "\n".join(found.lines())
        bodies.append(
            f"<details><summary>program {i + 1}: {_e(why)}</summary><pre>{_e(text)}</pre></details>"
        )
    return f"<h2>{_e(function.name)}</h2>{''.join(bodies)}"
