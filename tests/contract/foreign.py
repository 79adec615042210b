"""A second oracle, which knows no grammar: programs that were there, or that stand in textbooks.

A *subject* is a function with arguments, or an object with calls of its methods. It is called as
it is and with `jit`, on copies. What a call returns, raises, prints and leaves behind in the object
and in the arguments has to agree; after a call that raised, both are where they were before. All
is done twice: the second time nothing is new, so nothing may be traced.
"""

import contextlib
import copy
import functools
import io
import re
import sys
import warnings
from collections import Counter
from typing import Any, NamedTuple

import evertrace
import evertrace.numpy as jnp
from evertrace._src.errors import EvertraceWarning
from tests.contract import library
from tests.contract.oracle import is_refusal, one_line, process_settings
from tests.contract.snapshots import Snapshot
from tests.contract.textbook import graphs, machines, numerics, simulation, sorting, structures
from tests.contract.walk import Comparison, Difference


class Subject(NamedTuple):
    """A function, or an object, and what is called of it."""

    name: str
    target: Any
    steps: tuple[tuple[str, tuple], ...]  # the name of a method, or nothing; arguments

    def __repr__(self):
        return self.name


class Finding(NamedTuple):
    """What calling a subject has shown."""

    name: str
    verdict: str
    text: str = ""
    calls: int = 0
    refused: int = 0


def subjects_of(module, table):
    """Return the subjects of a module's table: lists of arguments, or how to make an object."""
    found = []
    for target, calls in table.items():
        name = f"{module}.{target.__qualname__}"
        if isinstance(calls, list):
            found.append(Subject(name, target, tuple(("", args) for args in calls)))
        else:
            arguments, steps = calls
            made = functools.partial(_make, target, arguments)
            found.append(Subject(name, made, tuple((step, tuple(args)) for step, *args in steps)))
    return found


def _make(cls, arguments):
    return cls(*copy.deepcopy(arguments))


class _Trial:
    """A subject in two worlds."""

    def __init__(self, subject, jit):
        self.subject, self.jit, self.calls, self.misses, self.reason = subject, jit, 0, 0, ""
        self.refusals, self.completed = [], False
        self._restart()

    def _restart(self):
        made = self.subject.target
        is_class = any(step for step, _ in self.subject.steps)
        self.plain, self.jitted = (made(), made()) if is_class else (made, made)

    def run(self):
        """Call everything twice; return the `Finding`."""
        name = self.subject.name
        for again in (False, True):
            for i, (step, args) in enumerate(self.subject.steps):
                misses = self.misses
                verdict, text = self._call(step, args)
                if verdict:
                    where = f"call {i + 1}{', again' if again else ''} {step or ''}{_shown(args)}: "
                    return Finding(name, verdict, where + text, self.calls, len(self.refusals))
                if again and self.misses > misses and self.completed:
                    text = f"call {i + 1} {step}{_shown(args)}: {self.reason}"
                    return Finding(name, "needless retrace", text, self.calls, len(self.refusals))
            if any(step for step, _ in self.subject.steps):
                self._restart()
        if self.refusals:
            return Finding(name, "refused", self.refusals[0], self.calls, len(self.refusals))
        return Finding(name, "same", "", self.calls)

    def _call(self, step, args):
        """Make one call in both worlds; return a verdict and a text where they differ."""
        self.calls += 1
        mine, its = copy.deepcopy(args), copy.deepcopy(args)
        found = self._attempt(step, its)
        names = {"__builtins__": None, "jit": None, "__name__": "", "all": [self.plain, mine]}
        before = Snapshot(names) if found[1] is not None else None
        expected = _attempt(getattr(self.plain, step) if step else self.plain, mine)
        self.completed = before is None
        if before:  # a call that raises changes nothing
            before.restore()
        verdict, text = self._compare_outcomes(expected, found)
        if verdict == "refused":
            self.refusals.append(text)
        elif verdict:
            return verdict, text
        result, result_too = (expected[0], found[0]) if found[1] is None else (None, None)
        worlds = (self.plain if step else None, mine), (self.jitted if step else None, its)
        try:
            walk = Comparison(("", ""))
            walk.same(worlds[0], worlds[1], "self, args")
            walk.lenient = True
            walk.same(result, result_too, "result")
        except Difference as difference:
            return "silent difference", str(difference)
        return "", ""

    def _attempt(self, step, args):
        try:
            jitted = self.jit(getattr(self.jitted, step) if step else self.jitted)
        except Exception as error:
            return None, error, ""
        before = jitted.cache_info().misses
        outcome = _attempt(jitted, args)
        self.misses += jitted.cache_info().misses - before
        if jitted.cache_info().misses > before and outcome[1] is None:
            variants = jitted.explain().variants
            self.reason = "; ".join(variants[-1].reason) if variants else ""
        return outcome

    def _compare_outcomes(self, expected, found):
        _, error, printed = expected
        _, error_too, printed_too = found
        if error_too is None and error is None:
            differ = printed != printed_too
            return ("silent difference", f"printed {printed_too!r}") if differ else ("", "")
        if error_too is not None and is_refusal(error_too) and not is_refusal(error):
            return "refused", one_line(error_too)
        if _text(error) != _text(error_too):
            raw = error_too is not None and type(error) is not type(error_too)
            what = f"raised {_text(error_too)}, not {_text(error)}"
            return ("raw error" if raw else "silent difference"), what
        try:
            Comparison(("", ""), lenient=True).same(error.args, error_too.args, "error.args")
        except Difference as difference:
            return "silent difference", str(difference)
        return "", ""


def _attempt(call, args):
    """Return a call's result, error and what it printed."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            result = call(*args)
            evertrace.effects_barrier()
    except Exception as error:
        return None, error, printed.getvalue()
    return result, None, printed.getvalue()


def _text(error):
    if error is None:
        return "nothing"
    return re.sub(r"0x[0-9a-f]+", "", one_line(error))


def _shown(args):
    text = ", ".join(re.sub(r"0x[0-9a-f]+", "", repr(a)) for a in args)
    return f"({text[:60]})"


def examine(subject, jit=evertrace.jit):
    """Return the `Finding` about a subject."""
    with warnings.catch_warnings(), process_settings():
        warnings.simplefilter("ignore", EvertraceWarning)
        return _Trial(subject, jit).run()


def standard_library():
    """Return the subjects of the standard library."""
    return library.subjects(subjects_of)


def textbook():
    """Return the subjects of `textbook`."""
    modules = (graphs, machines, numerics, simulation, sorting, structures)
    return [
        subject
        for module in modules
        for subject in subjects_of(module.__name__.split(".")[-1], module.calls(jnp.array))
    ]


# ------------------------------------------------------------- other numbers, same instructions


def retraces(subject, jit=evertrace.jit):
    """Call a subject with other numbers; return reasons of traces for the same instructions.

    A reason is no fault by itself: a number may be an index of a list, a key, or in a text.
    """
    reasons, paths = [], set()
    with warnings.catch_warnings(), process_settings():
        warnings.simplefilter("ignore", EvertraceWarning)
        trial = _Trial(subject, jit)
        for i, (step, args) in enumerate(subject.steps):
            for by in range(4):
                mine, its = _shifted(args, by), _shifted(args, by)
                path, outcome = _follow(getattr(trial.plain, step) if step else trial.plain, mine)
                misses = trial.misses
                found = trial._attempt(step, its)
                if outcome[1] is not None or found[1] is not None:
                    return reasons  # the two objects are not alike any more
                shape = (i, path, re.sub(r"\d+", "", str(_types(mine))))
                if trial.misses > misses and shape in paths:
                    reasons.append(trial.reason)
                paths.add(shape)
    return reasons


def _types(x):
    if isinstance(x, list | tuple):
        return [_types(item) for item in x]
    return type(x).__name__


def _shifted(x, by):
    """Return a copy with other numbers."""
    if type(x) in (int, float):
        return x + by
    if type(x) in (list, tuple):
        return type(x)(_shifted(item, by) for item in x)
    return copy.deepcopy(x)


def _follow(call, args):
    """Return the instructions that a call runs, and what comes of it."""
    path = []

    def follow(frame, what, _):
        if not re.search(r"textbook|<users ", frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if what == "opcode":
            path.append((frame.f_code.co_name, frame.f_lasti))
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        outcome = _attempt(call, args)
    finally:
        sys.settrace(before)
    return tuple(path), outcome


def main():
    """Print what all subjects show: verdicts, and by which numbers they are traced anew."""
    verdicts, causes = Counter(), Counter()
    for subject in textbook() + standard_library():
        finding = examine(subject)
        verdicts[finding.verdict] += 1
        if finding.verdict != "same":
            print(f"{finding.verdict:18} {finding.name:36} {finding.text[:140]}")
        for reason in retraces(subject):
            text = re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "_", reason)
            print(f"{'other numbers':18} {subject.name:36} {text[:140]}")
            causes[subject.name] += 1
    print(verdicts, f"{sum(causes.values())} traces for other numbers of {len(causes)} subjects")


if __name__ == "__main__":
    main()
