"""Texts of users' objects that Python's own library asks for, and swallows the errors of."""

import dataclasses
import json
import pprint
import reprlib
import string
import unittest.util

import pytest

from tests.contract.compare import X, case

pytestmark = pytest.mark.engine


class Said:
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"Said({self.n!r})"

    def __str__(self):
        return "said " + str(self.n)

    def __format__(self, spec):
        return f"{self.n:{spec}}" if spec else f"plain {self.n}"


class Branching(Said):
    def __repr__(self):
        if self.n > 100:
            return "many"
        try:
            return f"{type(self).__name__} of {self.n!r}"
        finally:
            self.shown = True


@dataclasses.dataclass
class Data:
    n: object


class Longer(reprlib.Repr):
    def __init__(self):
        super().__init__()
        self.maxother = 100

    def repr1(self, x, level):
        return super().repr1(x, level) + "!"


longer = Longer()

SHOWING = {
    "reprlib": reprlib.repr,
    "reprlib, in a list": lambda o: reprlib.repr([o, 1, {"k": o}]),
    "a subclass of its": longer.repr,
    "decorated": reprlib.recursive_repr()(longer.repr),
    "pprint": pprint.pformat,
    "pprint, in a list": lambda o: pprint.pformat([o, (o, 1)]),
    "saferepr": lambda o: pprint.saferepr({"k": o}),
    "json": lambda o: json.dumps({"k": o}, default=repr),
    "Formatter": lambda o: string.Formatter().format("{0!r} {0!s} {0}", o),
    "Template": lambda o: string.Template("$o").substitute(o=o),
    "safe_repr": unittest.util.safe_repr,
}


def _shown(show, make):
    @case(at_most=4)
    def program(jit):
        f, o = jit(lambda x, o: (x + 1, show(o))), make(3)
        yield f(X, o), vars(o)
        o.n = 4.5
        yield f(X, o), vars(o)
        o.n = 4.25
        yield f(X, o), vars(o)
        o.n = "four"
        yield f(X, o)

    return program


@pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning")
@pytest.mark.parametrize("make", [Said, Branching, Data])
@pytest.mark.parametrize("way", SHOWING)
def test_what_a_library_says_of_an_object_is_what_the_object_says(way, make):
    if make is Branching:  # which compares the number
        SHOWN = lambda o: SHOWING[way](o) if type(o.n) is not str else ""  # noqa: E731
        _shown(SHOWN, make)()
    else:
        _shown(SHOWING[way], make)()
