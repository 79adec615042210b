"""What processes are about to start, compared by the coordinator: each case a story of messages."""

import pytest

from evertrace._src.engines.xla.agreement import Turn, Turns, difference

ALL, PAIR = (0, 1, 2), (0, 1)


def turn(digest, waits=True, group=ALL, at="train.py:1", **more):
    """Make a turn of the program `digest`, as so many of its group and of others as are given."""
    counts = {ALL: more.get("all", 0), PAIR: more.get("pair", 0)}
    return Turn(group, tuple((g, n) for g, n in counts.items() if n), digest, digest, at, waits)


class Told:
    """What the coordinator says: to whom, and what kind of message."""

    def __init__(self):
        self.messages = []
        self.turns = Turns(lambda index, **message: self.messages.append((index, *message)))

    def after(self, *story):
        """Let processes come into turns, or ask; returns what was said meanwhile."""
        del self.messages[:]
        for index, what in story:
            if what == "ask":
                self.turns.ask(index)
            else:
                self.turns.come(index, what)
        return self.messages


GO = [(i, "go", "group") for i in ALL]
STOP = [(i, "sides") for i in ALL]


def test_all_begin_when_all_have_come():
    told = Told()
    assert told.after((0, turn("a", all=1)), (2, turn("a", all=1))) == []
    assert told.after((1, turn("a", all=1))) == GO
    assert told.after((1, turn("b", all=2)), (0, turn("b", all=2)), (2, turn("b", all=2))) == GO


# name: (what is known, what comes, what is said)
STORIES = {
    "another program": ([], [(0, turn("a", all=1)), (1, turn("b", all=1))], STOP),
    "one that is further in the same": (
        [(0, turn("a", all=2))],
        [(1, turn("a", False, all=3))],
        STOP,
    ),
    "one that repeats what another changes": (
        [(0, turn("b", all=2))],
        [(1, turn("a", False, all=2))],
        STOP,
    ),
    "one that lags behind": ([(0, turn("b", all=5))], [(1, turn("a", False, all=4))], []),
    "one that has begun long ago": ([(0, turn("a", False, all=4))], [(1, turn("b", all=5))], []),
    "an old answer": ([(0, turn("b", all=5))], [(0, turn("a", False, all=4))], []),
    "the same answer": ([(0, turn("b", all=5))], [(0, turn("b", False, all=5))], []),
    "groups in another order": (
        [(0, turn("p", group=PAIR, pair=1))],
        [(1, turn("a", all=1))],
        STOP,
    ),
    "a group that is late in one": (
        [(0, turn("p", group=PAIR, all=2, pair=1))],
        [(1, turn("p", group=PAIR, all=1, pair=1))],
        [(0, "sides"), (1, "sides")],
    ),
    "a group of others": (
        [(0, turn("p", group=PAIR, pair=1)), (2, turn("a", all=1))],
        [(1, turn("p", group=PAIR, pair=1))],
        [(0, "go", "group"), (1, "go", "group")],
    ),
    "asking who has not begun": ([(0, turn("b", all=5))], [(0, "ask")], [(1, "ask"), (2, "ask")]),
    "asking those who are elsewhere": (
        [(0, turn("b", all=5)), (1, turn("b", all=5)), (2, turn("a", False, all=3))],
        [(0, "ask")],
        [(2, "ask")],
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_stories(name):
    before, story, want = STORIES[name]
    told = Told()
    assert told.after(*before) == []
    assert told.after(*story) == want


def test_groups_that_wait_for_each_other_in_a_circle():
    told = Told()
    pairs = [(0, 2), (0, 1), (1, 2)]  # what each of the three has begun with
    turns = [Turn(pair, ((pair, 1),), f"p{i}", f"p{i}", "", True) for i, pair in enumerate(pairs)]
    assert told.after((0, turns[0]), (1, turns[1])) == []
    assert told.after((2, turns[2])) == STOP


def test_groups_in_a_row_are_waited_for():
    told = Told()
    pairs = [(0, 1), (1, 2), (1, 2)]
    turns = [Turn(pair, ((pair, 1),), "p", "p", "", True) for pair in pairs]
    assert told.after((0, turns[0]), (1, turns[1])) == []
    assert told.after((2, turns[2])) == [(1, "go", "group"), (2, "go", "group")]


def test_the_words():
    sides = [[0, "a(f32[2])", "train.py:1 in main"], [2, "b(f32[2])", ""]]
    assert difference(sides, 0) == (
        "process 2 is in b(f32[2]), and this one, process 0, in a(f32[2]) at train.py:1 in main"
    )
    assert difference(sides, 1) == (
        "process 0 is in a(f32[2]) at train.py:1 in main, and process 2 is in b(f32[2])"
    )
    assert difference([[0, "a", ""], [1, "a", ""]], 1).endswith("or another number of times")
