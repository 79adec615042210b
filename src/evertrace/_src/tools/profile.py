"""Where the time of one call goes, by the user's lines: `profile`."""

import functools
import linecache
import os
import types
from collections import defaultdict
from collections.abc import Callable
from typing import Any, ParamSpec

from evertrace._src import errors, markup, source
from evertrace._src.api.arguments import check_callable
from evertrace._src.api.devices import block_until_ready
from evertrace._src.api.tracing import jit
from evertrace._src.support import set_module
from evertrace._src.tools import flame, limits, work
from evertrace._src.tools.lines import Clock, Node
from evertrace._src.tools.timing import in_words, name_of
from evertrace._src.tracebacks import shortened

public = set_module("evertrace")

P = ParamSpec("P")

_SHOWN = 20  # lines of a table


@public
class Profile:
    """What each line took in one call; `str` is a table, `save` makes a picture.

    Times of lines that Python runs are measured, with the library code that they call. Lines of a
    compiled program, marked with ``~``, divide the measured time of the call of that program as
    the estimates of their operations do: a program does not tell its lines apart.

    Attributes:
      name: of the function.
      result: what the call returned.
      first: seconds of the first call, which may trace and compile; it is not in the table.
      seconds: of the call that was measured, its arrays waited for.
      limits: the operations and bytes per second that this machine reaches, ``(flops, bytes)``;
        None where it is not known what computes: operations and bytes are missing, or an
        accelerator runs programs.
      missing: why operations and bytes are not known, or "".

    Example:
      >>> report = ev.profile(lambda x: jnp.sin(x).sum())(jnp.ones(1000))
      >>> report.result.shape, report.named > 0.9
      ((), True)
    """

    def __init__(self, name: str, root: Node, result: Any, first: float, seconds: float):
        self.name, self._root, self.result = name, root, result
        self.first, self.seconds = first, seconds
        self.missing = ""
        self.limits: limits.Limits | None = None

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines that took longest first: dicts of what the table shows, times in seconds.

        "bound" says which limit of the machine a line's operations and bytes meet first, "memory"
        or "arithmetic", and "least" the seconds that they take there; None where that is unknown.
        """
        found: dict[Any, dict[str, Any]] = {}
        for node in self._root.all():
            row = found.setdefault((*node.place, node.is_estimate), _row(node))
            row["seconds"] += node.seconds
            row["visits"] += node.visits
        for row in found.values():
            row["bound"], row["least"] = self._bound(row["flops"] or 0.0, row["bytes"] or 0.0)
        return sorted(
            [row for row in found.values() if row["seconds"] or row["flops"]],
            key=lambda row: -row["seconds"],
        )

    def _bound(self, flops: float, size: float) -> tuple[str | None, float | None]:
        if self.limits is None or not (flops or size):
            return None, None
        return self.limits.binding(flops, size)

    @property
    def named(self) -> float:
        """The part of the time that the lines have; the rest went by before they were begun."""
        return sum(node.seconds for node in self._root.all()) / max(self.seconds, 1e-12)

    def save(self, path: Any) -> None:
        """Write a picture: each line as wide as its time, above the line that called it.

        Args:
          path: of the file, which ends in ``.svg``.

        Raises:
          ValueError: it ends in something else.

        Example:
          >>> import pathlib
          >>> ev.profile(jnp.sin)(jnp.ones(3)).save("sine.svg")
          >>> pathlib.Path("sine.svg").read_text()[:4]
          '<svg'
        """
        if not os.fspath(path).endswith(".svg"):
            raise errors.user_error(
                ValueError,
                f"Profile.save: pictures are SVG, got {os.fspath(path)!r}.",
                fix='let the name end in ".svg".',
                anchor="timing",
            )
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._picture())

    @markup.guarded
    def _repr_html_(self) -> str:
        table = markup.folded("lines", f"<pre>{markup.escaped(self)}</pre>", is_open=True)
        return f'<div class="wide">{self._picture()}</div>{table}'

    def _picture(self) -> str:
        return flame.picture(f"{self.name}: {in_words(self.seconds)}", self._root, text_of)

    def __repr__(self) -> str:
        head = (
            f"profile of {self.name}: {in_words(self.seconds)}, {100 * self.named:.0f} % of it "
            f"named (the first call took {in_words(self.first)})"
        )
        lines = self.lines
        rows = [f"{'time':>9} {'%':>4} {'visits':>6} {'flops':>8} {'bytes':>8} {'limit':>16}  line"]
        for row in lines[:_SHOWN]:
            share = 100 * row["seconds"] / max(self.seconds, 1e-12)
            time = f"{'~' if row['is_estimate'] else ''}{in_words(row['seconds'])}"
            rows.append(
                f"{time:>9} {share:>4.0f} {row['visits'] or '':>6} {_number(row['flops']):>8} "
                f"{_number(row['bytes']):>8} {_limit(row):>16}  {row['line']}"
            )
        rest = lines[_SHOWN:]
        if rest:
            seconds = sum(row["seconds"] for row in rest)
            rows.append(f"{in_words(seconds):>9} in {len(rest)} lines more")
        if any(row["is_estimate"] for row in lines):
            rows.append("~: the measured time of a program, divided by estimates of its operations")
        if self.limits is not None:
            rows.append(
                f"limit: how much of what this machine reaches, {_number(self.limits.flops)} flops "
                f"or {_number(self.limits.bytes)} bytes per second; over 100 % where caches or "
                "fused operations spare memory"
            )
        if self.missing:
            rows.append(f"flops and bytes are not known: {self.missing}")
        return "\n".join([head, *rows])


def _row(node: Node) -> dict[str, Any]:
    return {
        "seconds": 0.0,
        "visits": 0,
        "flops": node.flops,
        "bytes": node.size,
        "is_estimate": node.is_estimate,
        "line": text_of(node),
        "place": node.place,
    }


def _limit(row: dict[str, Any]) -> str:
    """Return which limit binds a line, and how near to it the line is."""
    if row["bound"] is None or not row["seconds"]:
        return ""
    return f"{row['bound']} {100 * row['least'] / row['seconds']:.0f} %"


def text_of(node: Node) -> str:
    """Return a line in words: its place, and its text where that is known."""
    text = linecache.getline(node.file, node.line).strip()
    file = source.cell_of(node.file) or os.path.basename(node.file)
    place = f"{source.at(file, node.line)} in {node.function}"
    return f"{place}:  {text}" if text else place


def _number(value: float | None) -> str:
    """Return a count in three digits."""
    if not value:
        return ""
    for unit in ("", "k", "M", "G"):
        if value < 999.5:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g}T"


@public
def profile(fun: Callable[P, Any]) -> Callable[P, Profile]:
    """Return a function that calls `fun` twice and says what each line took in the second call.

    The first call traces and compiles. What `fun` changes it changes twice. Operations and bytes
    come from its program, which is traced once more, by JAX's rules; where that cannot be done,
    because the function looks at values, the report says so and has times only. They are held
    against what this machine reaches: which of both limits binds a line, and how near it is. The
    first profile measures that, in about a second, for the folder of the compilation cache.
    Lines are seen by `sys.settrace`, which makes Python's own work slower, in this thread alone.
    A line has the time of what it begins: the arrays in variables are waited for behind it.

    Args:
      fun: any function, jitted or not.

    Returns:
      A function of the arguments of `fun` that returns a `Profile`, which prints as a table, is
      a picture with that table in notebooks, and writes one with ``save("call.svg")``.

    Raises:
      TypeError: `fun` cannot be called.

    Example:
      >>> @ev.jit
      ... def step(x):
      ...     y = x @ x
      ...     return jnp.tanh(y)
      >>> report = ev.profile(step)(jnp.ones((100, 100)))
      >>> {row["flops"] for row in report.lines if row["is_estimate"]}
      {2000000.0, 10000.0}
      >>> print(report)  # doctest: +ELLIPSIS
      profile of step: ...
    """
    check_callable("profile", fun)

    @shortened
    @functools.wraps(fun)
    def profiled(*args: P.args, **kwargs: P.kwargs) -> Profile:
        _, first = _timed(fun, args, kwargs, Node("", 0, ""))
        root = _root_of(fun)
        result, seconds = _timed(fun, args, kwargs, root)
        found = Profile(name_of(fun), root, result, first, seconds)
        try:
            _add_work(root, fun, args, kwargs)
            found.limits = limits.of_this_machine()
        except Exception as error:  # an explanation never makes a call fail
            what = str(error).partition("\n")[0]
            found.missing = f"tracing it raises {type(error).__name__}: {what}"
        return found

    return profiled


def _timed(fun: Any, args: Any, kwargs: Any, root: Node) -> tuple[Any, float]:
    return Clock(root, _settle).measure(lambda: block_until_ready(fun(*args, **kwargs)))


def _settle(value: Any) -> None:
    """Wait for the arrays in a value, where it is one or a tree of such as functions return.

    Programs run while Python goes on, and the line that began one is to have its time.
    """
    try:
        block_until_ready(value)
    except Exception:  # no tree, or a failure that the program meets by itself
        return


def _root_of(fun: Any) -> Node:
    """Return the node of the call: where the function is defined, as far as that is known."""
    while hasattr(fun, "__wrapped__"):
        fun = fun.__wrapped__
    code = getattr(fun, "__code__", None)
    if code is None or not source.is_users(code.co_filename):
        return Node("", 0, name_of(fun))
    return Node(code.co_filename, code.co_firstlineno, code.co_name)


def _add_work(root: Node, fun: Any, args: Any, kwargs: Any) -> None:
    """Note what the lines computed, and divide the time of programs among theirs."""
    is_jitted = hasattr(fun, "trace") and hasattr(fun, "explain")
    is_method = isinstance(fun, types.MethodType)  # whose object is no tree of arrays
    whole: Any = fun if is_jitted and not is_method else jit(fun)
    traced = whole.trace(*args, **kwargs)
    program = root.place if is_jitted else None
    lines: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for item in work.of_jaxpr(traced.jaxpr.jaxpr, program):
        sums = lines[item.program, item.place]
        for i, value in enumerate(item[2:]):
            sums[i] += value
    by_program: dict[Any, dict[Any, list[float]]] = defaultdict(dict)
    for (caller, place), sums in lines.items():
        by_program[caller][place] = sums
    own = by_program.pop(None, {})
    for node in root.all():
        if node.place in own:
            node.flops, node.size, _ = own[node.place]
        parts = by_program.get(node.place)
        if parts:
            _divide(node, parts, own.get(node.place, (0.0, 0.0, 0.0))[2])


def _divide(node: Node, parts: dict[Any, list[float]], besides: float) -> None:
    """Divide the time of a line that calls programs among their lines."""
    total, seconds = sum(sums[2] for sums in parts.values()) + besides, node.seconds
    if not total:
        return
    for place, (count, size, ns) in parts.items():
        if place is None:  # stays with the line that calls
            continue
        file, line = place
        child = node.child(file, line, f"{node.function}, compiled")
        child.is_estimate, child.flops, child.size = True, count, size
        child.seconds = seconds * ns / total
    node.seconds = seconds * (besides + parts.get(None, (0.0, 0.0, 0.0))[2]) / total
