"""The commands of ``python -m evertrace``; each loads what it needs and nothing else."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from evertrace._src import config, support
from evertrace._src.lazy import LazyModule

cache_contents: Any = LazyModule("evertrace._src.engines.cache_contents")
environment: Any = LazyModule("evertrace._src.api.environment")
guide: Any = LazyModule("evertrace._src.tools.guide")
launcher: Any = LazyModule("evertrace._src.sharding.launcher")
report: Any = LazyModule("evertrace._src.tools.report")

_SETTINGS = ("JAX_PLATFORMS", "XLA_FLAGS", "CUDA_VISIBLE_DEVICES", "XDG_CACHE_HOME")
"""Variables of the environment that change what happens, besides our own."""

_OURS = "EVERTRACE_"
_NO_OPTIONS = ("NATIVE",)  # read where the package is loaded, see `extension`


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says; returns the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["launch"]:  # whose options are its own
        return launcher.main(given[1:])
    if not given:
        _parser().print_help()
        return 0
    options = _parser().parse_args(given)
    try:
        return options.run(options)
    except BrokenPipeError:  # whoever reads what is printed has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


_CACHE_HELP = "list: each program; size: bytes of all; clear: remove them"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m evertrace", description="Evertrace's tools.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    info = commands.add_parser("info", help="versions, engines, the cache, settings")
    info.add_argument("--devices", action="store_true", help="open the devices and name them")
    info.set_defaults(run=_info)
    cache = commands.add_parser("cache", help="the compiled programs that are kept on disk")
    cache.add_argument("what", choices=("list", "size", "clear"), help=_CACHE_HELP)
    cache.set_defaults(run=_cache)
    docs = commands.add_parser("docs", help="what a message means: the section that it names")
    docs.add_argument("anchor", nargs="?", help="the last word of the message")
    docs.set_defaults(run=_docs)
    page = commands.add_parser("report", help="run a program and write a page of what was compiled")
    page.add_argument("-o", "--output", help="the page; FILE.html by default")
    page.add_argument("file", metavar="FILE.py", help="the program")
    rest = page.add_argument("arguments", nargs=argparse.REMAINDER, help="of the program")
    rest.required = False  # as later Pythons have it: else a missing file is said to be two things
    page.set_defaults(run=lambda options: report.main(options))
    commands.add_parser("launch", help="run a program in several processes that work together")
    return parser


# ---------------------------------------------------------------- info


def _info(options: argparse.Namespace) -> int:
    rows = environment.facts(options.devices) | {"cache": _cache_in_words()} | _settings()
    width = max(map(len, rows)) + 2
    for name, value in rows.items():
        print(f"{name + ':':<{width}}{value}")
    return 0


def _cache_in_words() -> str:
    try:
        path = cache_contents.location()
        if path is None:
            return "off: an option says so"
        count, size = cache_contents.size(path)
    except (OSError, ValueError, RuntimeError) as error:
        return f"not used: {error}"
    return f"{path}, {_count(count)}, {_bytes(size)}"


def _settings() -> dict[str, str]:
    """Return the variables of the environment that change what happens."""
    rows = {}
    for name, value in sorted(os.environ.items()):
        if name in _SETTINGS:
            rows[name] = value
        elif name.startswith(_OURS):
            option = name.removeprefix(_OURS)
            known = option in _NO_OPTIONS or hasattr(config.current(), option.lower())
            rows[name] = value if known else f"{value} (no option has this name{_meant(option)})"
    return rows or {"settings": "none in the environment"}


def _meant(option: str) -> str:
    names = [name.upper() for name in type(config.current()).__dataclass_fields__]
    close = support.close_matches(option, names)
    return f"; did you mean {_OURS}{close[0]}?" if close else ""


# ---------------------------------------------------------------- cache


def _cache(options: argparse.Namespace) -> int:
    try:
        path = cache_contents.location()
        if path is None:
            print("The cache is off: an option says so.")
            return 0
        return _CACHE[options.what](path)
    except BrokenPipeError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        print(f"evertrace cache: {error}", file=sys.stderr)
        return 1


def _list(path: Any) -> int:
    found, now = cache_contents.entries(path), time.time()
    for entry in found:
        name = entry.name[:16]
        print(f"{name}  {_bytes(entry.size):>9}  {_age(now - entry.used):>9}  {entry.writer}")
    total = sum(entry.size for entry in found)
    print(f"{_count(len(found))}, {_bytes(total)} in {path}")
    return 0


def _size(path: Any) -> int:
    print(cache_contents.size(path)[1])
    return 0


def _clear(path: Any) -> int:
    count, size, left = cache_contents.clear(path)
    print(f"{_count(count)} removed, {_bytes(size)}, from {path}")
    if left:
        print(f"evertrace cache: {left} could not be removed.", file=sys.stderr)
    return 1 if left else 0


_CACHE = {"list": _list, "size": _size, "clear": _clear}


def _count(count: int) -> str:
    return "1 program" if count == 1 else f"{count} programs"


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def _age(seconds: float) -> str:
    """Return how long ago something was, in words."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "now"


# ---------------------------------------------------------------- docs


def _docs(options: argparse.Namespace) -> int:
    sections = guide.sections()
    if not sections:
        print("evertrace docs: this installation has no guide.", file=sys.stderr)
        return 1
    if options.anchor is None:
        print("\n".join(sections))
        return 0
    anchor = guide.anchor_of(options.anchor)
    if anchor in sections:
        print(sections[anchor], end="")
        return 0
    close = support.close_matches(anchor, sections)
    meant = f" Did you mean {', '.join(close)}?" if close else ""
    text = f"evertrace docs: there is no section {anchor!r}.{meant}"
    print(f"{text} Without a name all are listed.", file=sys.stderr)
    return 2
