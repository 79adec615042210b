"""Has a set hold members in a given order.

The order in which a set shows its members comes of their hashes, of the size of its table and,
where hashes collide, of which came first and what has been there. Python promises none, but the
same steps give the same order, so programs depend on it without knowing: ``s.pop()`` takes the
first one. A set that a call has changed is in the order in which the traced function left it, if
one is found among the ways to fill it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

MOST_PERMUTED = 5
"""Members up to which each order of filling is tried."""
MOST_REPAIRED = 100
"""Members up to which those that come too late are put in earlier."""


class _Placeholder:
    """Makes a set's table large, and is gone before anybody looks."""

    __slots__ = ("_hash",)

    def __init__(self, number: int) -> None:
        self._hash = number

    def __hash__(self) -> int:
        return self._hash


_TABLES = tuple(
    [tuple([_Placeholder(end - i) for i in range(n)]) for end, n in ((31, 5), (127, 20))]
)
"""What makes tables of 32 and of 128 places, at whose ends it lies: sets do not shrink."""

_Growing = Callable[[Iterable[Any]], Iterable[Any]]
_GROWING: tuple[_Growing, ...] = (list, dict.fromkeys)
"""A set's table grows with each member of a list, for those of a dict or set at once."""


def refill(members: set[Any], wanted: list[Any], gone: Iterable[Any] = ()) -> None:
    """Replace the members of a set; they are in this order if a way to that is found.

    Args:
      members: the set.
      wanted: the members, in order.
      gone: what was in it, and left its traces in the table.
    """
    been = [(), tuple(gone), *_TABLES]
    for order in _orders(wanted):
        for before, grow in itertools.product(been, _GROWING):
            _fill(members, grow([*before, *order]), before)
            if is_in_order(members, wanted):
                return
    _fill(members, wanted, ())


def _fill(members: set[Any], filling: Iterable[Any], gone: Iterable[Any]) -> None:
    set.clear(members)
    set.update(members, filling)
    for x in gone:
        set.discard(members, x)


def is_in_order(members: set[Any], wanted: list[Any]) -> bool:
    """Whether a set has these very members in this order."""
    now = list(set.__iter__(members))
    return len(now) == len(wanted) and all(x is y for x, y in zip(now, wanted, strict=True))


def _orders(wanted: list[Any]) -> Iterator[Iterable[Any]]:
    """Yield orders in which a set may be filled to show this one."""
    yield wanted
    if len(wanted) <= MOST_PERMUTED:
        yield from itertools.permutations(wanted)
    elif len(wanted) <= MOST_REPAIRED:
        for grow in _GROWING:
            yield from _repaired(wanted, grow)


def _repaired(wanted: list[Any], grow: _Growing) -> Iterator[list[Any]]:
    """Yield orders with what showed too late put in earlier."""
    order = wanted
    for _ in wanted:
        trial: set[Any] = set()
        trial.update(grow(order))
        pairs = zip(wanted, trial, strict=False)
        late = next(([x] for x, y in pairs if x is not y), None)
        if late is None:
            return
        order = [*late, *[x for x in order if x is not late[0]]]
        yield order
