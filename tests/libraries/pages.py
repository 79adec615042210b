"""Run the cells of JAX's documentation here and on JAX, and print tables: see `scripts/pages`."""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib
from typing import NamedTuple

from tests.libraries import cells, tables
from tests.libraries.environments import ROOT
from tests.libraries.examples import same

REPOSITORY = "https://github.com/jax-ml/jax"
REQUIREMENTS = ROOT / "tests" / "oracle" / "requirements.txt"
PYTHONS = {"evertrace": sys.executable, "jax": os.environ.get("EVERTRACE_JAX_PYTHON", "")}
SUMMARY, CAUSES = (
    "<!-- table of pages: scripts/pages -->",
    "<!-- table of causes: scripts/pages -->",
)
PAGE_HEAD = "page", "cells that do on JAX what it says", "here, too", "and print the same"
CAUSE_HEAD = "cells", "pages", "what is raised"
LATER = "names of cells that failed before"
DOES_NOT_RAISE = "what the page shows as an error is none here: "


class Compared(NamedTuple):
    """What became of the cells of a page that do on JAX what the page says.

    Attributes:
      page: its path below `docs`.
      cells: how many they are.
      equal: how many of those that do it here print the same, too.
      failed: of the others a dict from the index to what is wrong.
      printed: the indices of those that print something else.
    """

    page: str
    cells: int
    equal: int
    failed: dict[int, str]
    printed: list[int]


def main():
    """Read the arguments, run the pages they ask for, print or write the tables."""
    parser = argparse.ArgumentParser(prog="scripts/pages", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PAGE", help="path below docs; default: all")
    parser.add_argument("--checkout", type=pathlib.Path, help="folder with JAX's repository")
    parser.add_argument("--cache", type=pathlib.Path, help="folder of what JAX's cells did")
    parser.add_argument("--timeout", type=int, default=150, help="seconds for a page")
    parser.add_argument("--cells", action="store_true", help="name every cell that differs")
    parser.add_argument("--write", action="store_true", help=f"put tables into {tables.PAGE.name}")
    asked = parser.parse_args()
    if not PYTHONS["jax"]:
        parser.error("EVERTRACE_JAX_PYTHON names no Python that has JAX")
    cache = (asked.cache or pathlib.Path(tempfile.gettempdir()) / "evertrace-pages").resolve()
    cache.mkdir(parents=True, exist_ok=True)
    docs = (asked.checkout or clone(cache / "jax")) / "docs"
    found = []
    for name in asked.names or pages_in(docs):
        compared = examine(docs, name, cache, asked.timeout)
        if compared.cells:
            found.append(compared)
            report(compared, asked.cells)
    summary, causes = page_rows(found), cause_rows(found)
    for row in (*summary[-1:], *causes):
        print(*row, sep=" | ")
    if asked.write:
        tables.put(SUMMARY, PAGE_HEAD, summary)
        tables.put(CAUSES, CAUSE_HEAD, causes)


def clone(folder):
    """Get the repository of the version of JAX that evertrace is compared with."""
    if not folder.exists():
        version = re.search(r"^jax==(\S+)", REQUIREMENTS.read_text(), re.M)[1]
        command = ["git", "clone", "--quiet", "--depth", "1", "--branch", f"jax-v{version}"]
        subprocess.run([*command, REPOSITORY, folder], check=True)
    return folder


def pages_in(docs):
    """Return the pages of a folder, of those that are there as notebook and as text the text."""
    files = [file for file in docs.rglob("*") if file.suffix in (".md", ".rst", ".ipynb")]
    kept = (x for x in files if x.suffix != ".ipynb" or x.with_suffix(".md") not in files)
    return sorted(str(file.relative_to(docs)) for file in kept)


def examine(docs, name, cache, seconds):
    """Run a page on both, and compare; what its cells do on JAX is kept."""
    text = (docs / name).read_text()
    parts = cells.cells_of(text, pathlib.Path(name).suffix)
    if not parts:
        return Compared(name, 0, 0, {}, [])
    kept = cache / f"{name.replace('/', '-')}-{zlib.crc32(text.encode()):08x}.json"
    if not kept.exists():
        kept.write_text(json.dumps(run("jax", parts, cache / "run", seconds)))
    there = json.loads(kept.read_text())
    return compare(name, parts, run("evertrace", parts, cache / "run", seconds), there)


def run(kind, parts, folder, seconds):
    """Run cells in a process of their own; returns what `cells.run` yields, as far as it came."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ)
    environment |= {"MPLBACKEND": "Agg", "JAX_PLATFORMS": "cpu"}
    environment["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    with tempfile.TemporaryFile("w+") as lines:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [PYTHONS[kind], "-P", cells.__file__, kind],
                input=json.dumps(parts),
                stdout=lines,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=environment,
                text=True,
                timeout=seconds,
                check=False,
            )
        lines.seek(0)
        # What C++ prints is between the lines.
        return [json.loads(line) for line in lines if line.startswith('{"index"')]


def compare(name, parts, here, there):
    """Compare what cells did here and on JAX; returns a `Compared`."""
    done = {cell["index"]: cell for cell in here}
    counted, equal, failed, printed = 0, 0, {}, []
    for cell in there:
        index, error = cell["index"], cell["error"]
        if error and not parts[index][1]:
            continue
        counted += 1
        ours = done.get(index)
        if ours is None:
            failed[index] = "did not come so far"
        elif bool(ours["error"]) != bool(error):
            failed[index] = ours["error"] or f"{DOES_NOT_RAISE}{error.partition(':')[0]}"
        elif alike(ours["printed"], cell["printed"]):
            equal += 1
        else:
            printed.append(index)
    return Compared(name, counted, equal, failed, printed)


def alike(a, b):
    """Whether two printed texts are equal: numbers to rounding, addresses and spaces left aside."""
    a, b = (re.findall(r"[\w.+-]+|\S", re.sub("0x[0-9a-f]+", "0x", text)) for text in (a, b))
    return len(a) == len(b) and all(map(same, a, b))


def report(compared, cell_by_cell):
    """Print what became of a page."""
    good = compared.cells - len(compared.failed)
    print(
        f"{compared.page}: {good} of {compared.cells}, {compared.equal} print the same", flush=True
    )
    if cell_by_cell:
        for index, error in compared.failed.items():
            print(f"  cell {index}: {' '.join(error.split())[:300]}")
        for index in compared.printed:
            print(f"  cell {index} prints something else")


def page_rows(found):
    """Return the rows of pages of which cells fail, and of all pages together."""
    rows = [_row(each.page, [each]) for each in found if each.failed]
    return [*rows, _row(f"all {len(found)} pages", found)]


def _row(name, found):
    counted = sum(each.cells for each in found)
    good = counted - sum(len(each.failed) for each in found)
    equal = sum(each.equal for each in found)
    share = f"{good}: {100 * good / counted:.1f} %" if counted else "0"
    return name, str(counted), share, str(equal)


def cause_rows(found):
    """Return the rows of causes, those of most cells first."""
    where = collections.defaultdict(list)
    for each in found:
        before = False
        for error in each.failed.values():
            later = before and error.startswith("NameError")
            where[LATER if later else cause(error)].append(each.page)
            before = True
    ordered = sorted(where.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return [(str(len(pages)), ", ".join(sorted(set(pages))), what) for what, pages in ordered]


def cause(error):
    """Return the words by which errors of one cause are one: their first line, without shapes."""
    words = error.strip().splitlines()[0].partition(" It was called as ")[0]
    return re.sub(r"0x[0-9a-f]+", "0x", words).replace("|", "/")[:160].rstrip()


if __name__ == "__main__":
    main()
