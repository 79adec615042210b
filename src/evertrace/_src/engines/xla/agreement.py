"""Whether all processes do the same together: what each is about to start, compared by the others.

Collectives of different programs that meet give wrong numbers, end the process, or wait for ever.
So processes take *turns*: a turn is a program that spans several processes, or another place where
all wait for all. Who starts another program than the time before asks the coordinator, and waits
until all others have asked for the same. Who starts one program again and again asks for nothing,
and waits for nobody: of two that differ at least one has changed, and that one waits, so nothing
that differs meets. Meanwhile the coordinator asks the others what they are in.

A program of some of the processes always waits. The coordinator compares pairs of processes: how
many turns each has begun in which the other one takes part. So programs of groups that overlap are
in one order, too.
"""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple


class Turn(NamedTuple):
    """What a process is in together with others.

    Attributes:
      group: the numbers of the processes, in order.
      counts: pairs (group, how many turns this process has begun in it), with the present one.
      digest: equal for equal programs.
      what, at: the program, and the user's line, for people.
      waits: whether the process waits for the others' consent.
    """

    group: tuple
    counts: tuple
    digest: str
    what: str
    at: str
    waits: bool

    @classmethod
    def read(cls, message: dict[str, Any]) -> "Turn":
        """Return the turn that was sent as JSON."""
        counts = tuple((tuple(group), number) for group, number in message["counts"])
        return cls(**{**message, "group": tuple(message["group"]), "counts": counts})

    def total(self) -> int:
        """Return how many turns the process has begun."""
        return sum([number for _, number in self.counts])

    def count_with(self, one: int, other: int) -> int:
        """Return in how many turns so far both of two processes have taken part."""
        return sum([number for group, number in self.counts if one in group and other in group])

    def without(self, lost: frozenset[int]) -> "Turn":
        """Return what counts of it once processes have gone: nobody waits for them."""
        if not lost:
            return self
        counts = tuple([(group, n) for group, n in self.counts if lost.isdisjoint(group)])
        return self._replace(counts=counts, waits=self.waits and lost.isdisjoint(self.group))

    def is_met_by(self, other: "Turn") -> bool:
        """Whether another process waits for consent to the same."""
        return (
            other.waits
            and self.group == other.group
            and self.digest == other.digest
            and dict(self.counts)[self.group] == dict(other.counts)[self.group]
        )


class Turns:
    """The turns of all processes, as the coordinator knows them.

    Args:
      say: sends a message to the process of a number.
    """

    def __init__(self, say: Callable[..., object]):
        self._say = say
        self._lock = threading.Lock()
        self._now: dict[int, Turn] = {}
        self._lost: frozenset[int] = frozenset()

    def lose(self, index: int) -> None:
        """A process has gone: the others go on with turns in which it takes no part."""
        with self._lock:
            self._lost |= {index}
            self._now = {i: x.without(self._lost) for i, x in self._now.items() if i != index}

    def come(self, index: int, turn: Turn) -> None:
        """A process is in a turn: tell all if it cannot be, or let them begin when all wait."""
        with self._lock:
            turn = turn.without(self._lost)
            if index in self._now and turn.total() <= self._now[index].total():
                return  # an answer that was under way when the process has gone on
            self._now[index] = turn
            for other, theirs in self._now.items():
                if other != index and differ(index, turn, other, theirs):
                    self._tell_apart(index, turn, other, theirs)
                    return
            circle = self._circle([index])
            if circle:
                one, other = circle[:2]
                self._tell_apart(one, self._now[one], other, self._now[other], circle)
                return
            now = [self._now.get(i) for i in turn.group]
            if turn.waits and all(x is not None and turn.is_met_by(x) for x in now):
                for i in turn.group:
                    self._now[i] = self._now[i]._replace(waits=False)
                    self._say(i, go=dict(turn.counts)[turn.group], group=turn.group)

    def ask(self, index: int) -> None:
        """A process waits for long: ask those that it waits for what they are in."""
        with self._lock:
            turn = self._now.get(index)
            for i in turn.group if turn else ():
                now = self._now.get(i)
                if now is None or not (turn and turn.is_met_by(now)):
                    self._say(i, ask=True)

    def _circle(self, path: list[int]) -> list[int]:
        """Return processes each of which waits for the next one, the last for the first, or none.

        Args:
          path: processes each of which waits for the next one.
        """
        turn = self._now[path[-1]]
        for i in turn.group if turn.waits else ():
            now = self._now.get(i)
            if i == path[-1] or now is None or not now.waits or turn.is_met_by(now):
                continue
            found = path[path.index(i) :] if i in path else self._circle([*path, i])
            if found:
                return found
        return []

    def _tell_apart(self, one: int, turn: Turn, other: int, theirs: Turn, more=()) -> None:
        sides = [[i, x.what, x.at] for i, x in sorted([(one, turn), (other, theirs)])]
        for i in sorted({*turn.group, *theirs.group, *more}):
            self._say(i, sides=sides)


def differ(one: int, turn: Turn, other: int, theirs: Turn) -> bool:
    """Whether one of two processes waits for what the other one has passed, or will not come to."""
    mine, its = turn.count_with(one, other), theirs.count_with(one, other)
    if turn.waits and other in turn.group and its >= mine:
        return its > mine or not turn.is_met_by(theirs)
    if theirs.waits and one in theirs.group and mine >= its:
        return mine > its or not theirs.is_met_by(turn)
    return False


def difference(sides: list, index: int) -> str:
    """Say to a process of a number what two are about to start."""
    texts = {i: f"{what} at {at}" if at else what for i, what, at in sides}
    whats = {what for _, what, _ in sides}
    if index in texts:
        (other,) = texts.keys() - {index}
        text = f"process {other} is in {texts[other]}, and this one, process {index}, in"
        text = f"{text} {texts[index]}"
    else:
        (one, first), (other, second) = texts.items()
        text = f"process {one} is in {first}, and process {other} is in {second}"
    same = ", of the same name and with other operations, or another number of times"
    return text + (same if len(whats) == 1 else "")
