"""Runs many programs, and cuts those that differ down to what is needed."""

import contextlib
import gc
import multiprocessing
import re
import signal
import textwrap
import time
from collections import Counter
from typing import NamedTuple

import evertrace
from tests.contract.oracle import Program, compare
from tests.contract.programs import make

SECONDS = 120  # after which a program is taken not to end


class Failure(NamedTuple):
    """A program that does one thing in Python and another with `jit`."""

    seed: int
    program: Program
    difference: str
    verdict: str = "silent difference"

    def report(self):
        """Return a text with the program, to be pasted into a file."""
        text = textwrap.indent(self.program.text(), "    ")
        return f"seed {self.seed}: {self.difference}\n\n{text}"


class Tally:
    """What running some programs has shown."""

    def __init__(self):
        """Count from nothing."""
        self.failures, self.counts, self.verdicts = [], Counter(), Counter()
        self.refusals, self.errors, self.needless = Counter(), Counter(), Counter()
        self.examples = {}  # a seed for each refusal and each reason of a needless trace

    def add(self, seed, jit, families=None, beside=False):
        """Run the program of a seed; see `run_seeds`."""
        watched, judged = beside and seed % 16 == 5, beside and seed % 4 == 1
        program = make(seed, families)._replace(watched=watched)
        outcome = compare(program, jit, situations=judged)
        if outcome.difference:
            self.failures.append(Failure(seed, program, outcome.difference, outcome.verdict))
        self.verdicts[outcome.verdict] += 1
        self.needless.update(outcome.needless)
        for text in (*outcome.refused, *outcome.needless):
            self.examples.setdefault(text, seed)
        self.counts.update(
            programs=1,
            calls=outcome.calls,
            hits=outcome.hits,
            traces=outcome.traces,
            refused=len(outcome.refused),
            raised=len(outcome.raised),
            magnified=outcome.magnified,
            chaotic=outcome.chaotic,
            colliding=outcome.colliding,
        )
        self.refusals.update(outcome.refused)
        self.errors.update(outcome.raised)

    def merge(self, other):
        """Add what another tally has seen."""
        self.failures += other.failures
        self.counts += other.counts
        self.refusals += other.refusals
        self.errors += other.errors
        self.needless += other.needless
        self.verdicts += other.verdicts
        self.examples = other.examples | self.examples

    def summary(self):
        """Return the counts as one line."""
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return f"{counts}, {len(self.failures)} failed"


def run_seeds(seeds, jit, families=None, beside=False):
    """Return the `Tally` of the programs of some seeds, of these themes or of such as are drawn.

    If it looks `beside`, needless traces are counted in every 4th program, and a thread reads
    attributes beside every 16th.
    """
    tally = Tally()
    for seed in seeds:
        tally.add(seed, jit, families, beside)
    return tally


class _TimeIsUp(BaseException):
    pass


def _ring(*_):
    raise _TimeIsUp


def begin():
    """Begin a process that runs programs."""
    gc.freeze()  # a collection walks what the programs made, not what was imported


def run_guarded(seeds, families=None):
    """Return the `Tally` of the programs of some seeds; one that does not end has failed."""
    tally = Tally()
    signal.signal(signal.SIGALRM, _ring)
    for seed in seeds:
        signal.alarm(SECONDS)
        try:
            tally.add(seed, evertrace.jit, families, beside=True)
        except (Exception, _TimeIsUp) as error:
            text = f"event ?: the comparison raised {type(error).__name__}: {error}"
            tally.failures.append(Failure(seed, make(seed, families), text, "raw error"))
            tally.verdicts["raw error"] += 1
            tally.counts["programs"] += 1
        finally:
            signal.alarm(0)
    return tally


class Apart:
    """Finds how programs differ in a process of its own, which is ended with one that does not end.

    A program that is cut down may well wait for what nobody puts into a queue any more.

    Args:
      seconds: after which a program is taken not to end.
    """

    def __init__(self, seconds=20):
        """Start no process yet."""
        self.seconds, self._process, self._pipe = seconds, None, None

    def __call__(self, program):
        """Return the difference that a program shows, "" if it shows none or does not end."""
        if self._process is None:
            self._start()
        try:
            self._pipe.send(program)
            if self._pipe.poll(self.seconds):
                return self._pipe.recv()
        except (EOFError, OSError):  # the process has died of it
            pass
        self.close()
        return ""

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()  # it has imported what it needs

    def close(self):
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def _serve(pipe):
    """Answer programs with their differences, until nobody asks any more."""
    begin()
    pipe.send("")
    find = in_process(evertrace.jit)
    with contextlib.suppress(EOFError):
        while True:
            pipe.send(find(pipe.recv()))


def in_process(jit):
    """Return a function that finds how a program differs, in this process."""

    def find(program):
        try:
            return compare(program, jit).difference
        except Exception:  # the program cannot run any more, or the comparison cannot see it
            return ""

    return find


def minimise(failure, find, seconds=30):
    """Return a failure with fewer events and fewer lines, after at most about `seconds`.

    Args:
      failure: the failure.
      find: function of a program to the difference that it shows, or "": `Apart` or `in_process`.
      seconds: after which no other program is begun.
    """
    deadline = time.monotonic() + seconds
    position, shrunk = 0, False
    while time.monotonic() < deadline:
        candidates = list(_smaller(failure.program))
        if position >= len(candidates):
            if not shrunk:
                break
            position, shrunk = 0, False
        program = candidates[position]
        difference = find(program)
        if difference and _kind(difference) == _kind(failure.difference):
            failure, shrunk = failure._replace(program=program, difference=difference), True
        else:
            position += 1
    return failure


_KINDS = re.compile(
    r"raised? (\w+)|is an? (\w+), not an? (\w+)|consists of|object that it is|has dtype|the code of"
    r"|another thread|printed|the error's"
)


def _kind(difference):
    """Return what a difference is about, so that one is not taken for another."""
    found = _KINDS.search(difference)
    return found and found[0]


def _smaller(program):
    """Yield programs with less in them, those that lose most first."""
    events = program.events
    if len(events) > 1:
        yield program._replace(events=events[: len(events) // 2])
    for i in reversed(range(len(events))):
        yield program._replace(events=events[:i] + events[i + 1 :])
    lines = program.source.splitlines()
    for source in _smaller_sources(lines):
        yield program._replace(source="\n".join(source))


def _smaller_sources(lines):
    """Yield texts without a statement, or with a branch in place of its statement."""
    spans = [(_end_of(lines, i) - i, i) for i, line in enumerate(lines) if line and _can_go(line)]
    for length, i in sorted(spans, key=lambda span: -span[0]):
        yield lines[:i] + lines[i + length :]
        indent = re.match(" *", lines[i])[0]
        if length > 1:
            body = textwrap.dedent("\n".join(lines[i + 1 : i + length]))
            yield lines[:i] + textwrap.indent(body, indent).splitlines() + lines[i + length :]
        elif lines[i].strip() != "pass":
            yield [*lines[:i], indent + "pass", *lines[i + 1 :]]


def _can_go(line):
    return not re.search(r"v\d+ -= 1$", line)  # the loop would not end


def _end_of(lines, start):
    """Return where the statement ends that begins on a line."""
    indent = _indent(lines[start])
    end = start + 1
    for i in range(start + 1, len(lines)):
        if lines[i].strip():
            if _indent(lines[i]) <= indent:
                break
            end = i + 1
    return end


def _indent(line):
    return len(line) - len(line.lstrip())
