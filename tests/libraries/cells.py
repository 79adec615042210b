"""Cells of documentation pages: what of a page is a program, and what becomes of it when it runs.

Run as a program, it takes the cells of one page as JSON, runs them in one namespace, and prints a
line of JSON for each. It is run by Pythons that have no evertrace, too, so it imports none of it
without need, and nothing of the tests.
"""

import ast
import contextlib
import doctest
import io
import json
import linecache
import re
import sys
import types
import warnings

# Fences with the name of the kind "code-cell" are a notebook's, other ones are only shown.
_CELL = re.compile(r"^```+\{code-cell\}[^\n]*\n(.*?)^```+\s*$", re.M | re.S)
_FENCE = re.compile(r"^```+([^\n]*)\n(.*?)^```+\s*$", re.M | re.S)
RAISES = "raises-exception"
LONGEST = 20_000  # characters that are kept of what a cell prints


def cells_of(text, kind):
    """Return the cells of a page.

    Args:
      text: of the page.
      kind: the ending of its file: ".ipynb", ".md" or ".rst".

    Returns:
      A list of pairs: the source of each cell, and whether the page says that it raises.
    """
    if kind == ".ipynb":
        cells = [_of_notebook(cell) for cell in json.loads(text)["cells"]]
        return [cell for cell in cells if cell]
    if kind == ".rst":
        return _examples(text)
    cells = [_of_fence(match[1]) for match in _CELL.finditer(text)]
    if cells:
        return cells
    shown = [
        match[2] for match in _FENCE.finditer(text) if match[1].strip() in ("", "py", "python")
    ]
    parts = [_examples(part) if ">>>" in part else [(part, False)] for part in shown]
    return [cell for part in parts for cell in part]


def _of_notebook(cell):
    if cell["cell_type"] != "code":
        return None
    return "".join(cell["source"]), RAISES in cell.get("metadata", {}).get("tags", ())


def _of_fence(body):
    """Return the source of a cell in Markdown, without the lines that say what it is."""
    head = re.match(r"---\n(.*?)---\n", body, re.S) or re.match(r"((?::[^\n]*\n)*)", body)
    return body[head.end() :], RAISES in head[1]


def _examples(text):
    # doctest wants a space behind a prompt with nothing behind it.
    text = re.sub(r"(?m)^([ ]*(?:>>>|\.\.\.))$", r"\1 ", text)
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return []
    return [(example.source, bool(example.exc_msg)) for example in examples]


def run(cells, namespace):
    """Run cells one after the other, as a notebook does.

    Args:
      cells: as `cells_of` returns them.
      namespace: a dict that they share.

    Yields:
      Of each cell a dict: its index, what it printed, the value of its last expression included,
      and as text what it raised, or None.
    """
    for index, (source, _) in enumerate(cells):
        if re.match(r"\s*%%(?:bash|sh)", source):
            continue
        source = re.sub(r"(?m)^\s*[%!].*$", "pass", source)
        name, printed, error = f"<cell {index}>", io.StringIO(), None
        linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                _execute(source, name, namespace)
        except BaseException as raised:
            error = f"{type(raised).__name__}: {str(raised)[:600]}"
        yield {"index": index, "error": error, "printed": printed.getvalue()[:LONGEST]}


def _execute(source, name, namespace):
    body = ast.parse(source)
    last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
    exec(compile(body, name, "exec"), namespace)
    if last:
        value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
        if value is not None:
            print(repr(value))


def main():
    """Run the cells that standard input names, on evertrace where it is installed."""
    cells = json.load(sys.stdin)
    if sys.argv[1:] == ["evertrace"]:
        import evertrace  # noqa: PLC0415

        evertrace.as_jax()
    warnings.simplefilter("ignore")
    sys.argv[1:] = []
    # What the cells define is in a module of their own, as pickles and `inspect` want it.
    page = sys.modules["__main__"] = types.ModuleType("__main__")
    out = sys.stdout
    for done in run(cells, page.__dict__):
        print(json.dumps(done), file=out, flush=True)


if __name__ == "__main__":
    main()
