"""Texts made of numbers: made at each call where they are only kept, printed or raised."""

# ruff: noqa: UP030, UP031, UP032, F504, F505, F507, F521, F522, F524, F525 - all ways are meant

import logging
import pickle
import re
import time

import numpy as np
import pytest

import evertrace as ev
from tests.contract.compare import Record, X, case, raised

pytestmark = pytest.mark.engine


class Point:
    def __init__(self, v):
        self.v = v

    def __repr__(self):
        return f"Point({self.v})"

    def __format__(self, spec):
        return f"<{self.v:{spec}}>"


def _joined(n):
    return ", ".join([f"{n}", "a", str(n + 1)])


def _after_a_spec_of_numbers(n):
    return f"{n:>{n % 3 + 2}}|{n / 3:{'.2f'}}|{n!r:>4}|{n!a}"


def _message_of_an_error(n):
    try:
        raise ValueError(f"bad {n}")
    except ValueError as error:
        return f"failed: {error}", str(error), error.args


def _in_a_generator(n):
    def parts():
        yield f"{n}"
        yield "%d" % (n + 1)

    return list(parts())


def _variables(n):
    k = Point(n)
    return locals()


_TEMPLATES = Record(lines="line {:>4}", rows="row %d", join="-")

KEPT = {
    "an f-string": lambda n: f"step {n}",
    "one with a specification": lambda n: f"{n:>5}|{n / 7:.3e}|{n:,}",
    "specifications made of numbers": _after_a_spec_of_numbers,
    "percent": lambda n: "%d of %5.1f" % (n, n / 2) + " %s" % n + " %s and %r" % ("a", n),
    "format": lambda n: "{0} {0!r:>3}".format(n) + " {:04d} {k}".format(n, k=n),
    "str, repr and format": lambda n: (str(n), repr(n), format(n, "x"), str(n / 3)),
    "sums and products": lambda n: ("a" + str(n) + "b") * 2 + f"{n}" + "c",
    "methods": lambda n: f"ab{n}".upper().ljust(9, ".").replace("A", f"{n}")[1:6],
    "parts": lambda n: f"a {n}".partition(" "),
    "by names": lambda n: "%(a)d, %(b)s and %(a)r" % {"a": n, "b": "x", "unused": X},
    "by names of variables": lambda n: "%(n)05.1f %(k)s" % _variables(n),
    "percent of objects": lambda n: "%s at %d: %r" % (Point(n), n, "x"),
    "format_map": lambda n: "{a} {b:.2f}".format_map({"a": n, "b": n / 3, "c": X}),
    "format beside objects": lambda n: "{} {:>3} {!r}".format(n, Point(n), Point(n)),
    "attributes and items": lambda n: "{0.v} {1[a]:{2}} {k[1].v}".format(
        Point(n), {"a": n}, n % 3 + 2, k=[0, Point(n)]
    ),
    "templates that are kept": lambda n: _TEMPLATES.lines.format(n) + _TEMPLATES.rows % n,
    "containers": lambda n: f"{[n, (n,), {'a': n / 2}]}" + str((n, "b")) + repr([[]]) + "%s" % [n],
    "mapped": lambda n: ", ".join(map(str, [n, n / 2, "a"])) + "-".join(["a", *map(repr, "b")]),
    "joined": _joined,
    "read back": lambda n: float(f"{n / 7:.2f}") + int(str(n) + "0"),
    "objects": lambda n: (f"{Point(n)} {Point(n):>3} {Point(n)!r}", str(Point(n)), repr(Point(n))),
    "messages of errors": _message_of_an_error,
    "in containers": lambda n: [f"{n}", {"m": (f"a{n}",)}, Record(m=f"b{n}")],
    "in nested code": _in_a_generator,
    "what its class says": lambda n: (isinstance(f"{n}", str), str(type(f"{n}"))),
}


@pytest.mark.parametrize("made", KEPT.values(), ids=list(KEPT))
def test_text_that_is_kept_is_one_program(made):
    @case(traces=1)
    def program(jit):
        s = Record(n=0, kept=None, log=[])

        def step(x):
            s.n += 1
            s.kept = made(s.n)
            s.log.append(f"at {s.n}")
            return x + s.n, f"returned {s.n}"

        step = jit(step)
        for _ in range(12):
            yield step(X), s

    program()


def _error_of(make):
    def keep(n):
        try:
            return make(n)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            return type(error).__name__, str(error)

    return keep


WRONG = {
    "too few": _error_of(lambda n: "{} {}".format(n)),
    "no such name": _error_of(lambda n: "{a}".format(b=n)),
    "two ways to number": _error_of(lambda n: "{} {1.v}".format(n, Point(n))),
    "an open brace": _error_of(lambda n: "{0.v".format(Point(n))),
    "no such conversion": _error_of(lambda n: "{0.v!x}".format(Point(n))),
    "nothing given": _error_of(lambda n: "{} {{}}".format()),
    "no such attribute": _error_of(lambda n: "{0.w}".format(Point(n))),
    "percent of too few": _error_of(lambda n: "%d %s" % (n,)),
    "percent of no such name": _error_of(lambda n: "%(b)d" % {"a": n}),
    "percent of a mapping that is none": _error_of(lambda n: "%(b)d" % n),
    "percent of a text": _error_of(lambda n: "%d" % "a"),
    "joined numbers": _error_of(lambda n: ", ".join([str(n), n])),
    "methods of others": lambda n: (_TEMPLATES.join, Point.__format__(Point(n), "")),
}


@pytest.mark.parametrize("made", WRONG.values(), ids=list(WRONG))
def test_template_that_fits_nothing_is_the_error_that_it_was(made):
    @case()
    def program(jit):
        s = Record(n=0, kept=None)

        def step(x):
            s.n += 1
            s.kept = made(s.n % 2)
            return x

        step = jit(step)
        for _ in range(3):
            yield step(X), s

    program()


def _asked(question):
    def keep(n):
        return question(f"{n % 3}")

    return keep


ASKED = {
    "compared": _asked(lambda t: (t == "1", t != "1", t < "1", t <= "2")),
    "contains": _asked(lambda t: ("1" in t, t in "12", t in ("0", "2"))),
    "length and truth": _asked(lambda t: (len(t), bool(t), not t)),
    "characters": _asked(lambda t: [*t, ord(t)]),
    "keys": _asked(lambda t: ({"0": 7, "1": 8}.get(t), {t: 1}, {t}, hash(t) == hash("1"))),
    "attributes": _asked(lambda t: getattr(Record(a0=1, a1=2, a2=3), f"a{t}")),
    "names of arguments": _asked(lambda t: dict(**{f"a{t}": 1})),
    "dtypes": _asked(lambda t: str(np.zeros(2, f"f{2 ** (int(t) % 2 + 2)}").dtype)),
    "code": _asked(lambda t: eval(f"{t} + 1")),
    "bytes": _asked(lambda t: t.encode()),
    "split": _asked(lambda t: f"a {t}".split()),
    "patterns": _asked(lambda t: re.sub("1", "b", t)),
    "joined in C": _asked(lambda t: str.join("-", [t, "a"])),
    "arrays": _asked(lambda t: np.array([t, "abc"]).tolist()),
    "what a literal contains": _asked(lambda t: "0123".find(t)),
    "identity": _asked(lambda t: (t is t, t is None)),
    "match": _asked(lambda t: _matched(t)),
}


def _matched(text):
    match text:
        case "1":
            return "one"
        case str():
            return "other"


@pytest.mark.parametrize("made", ASKED.values(), ids=list(ASKED))
def test_text_that_is_asked_is_a_demand(made):
    @case(at_most=3)
    def program(jit):
        s = Record(n=0, kept=None)

        def step(x):
            s.n += 1
            s.kept = made(s.n)
            return x + s.n

        step = jit(step)
        for _ in range(7):
            yield step(X), s

    program()


@case(at_most=3)
def test_text_of_a_number_beside_one_that_code_in_c_takes(jit):
    s = Record(n=0, w0=1.0, w1=2.0, message="")

    def step(x):
        s.n += 1
        s.message = f"{s.n % 2}"
        return x * getattr(s, f"w{s.n % 2}")

    step = jit(step)
    for _ in range(6):
        yield step(X), s


@case()
def test_error_with_a_text_of_numbers(jit):
    s = Record(n=0)

    def step(x):
        if s.n >= 0:
            raise ValueError(f"step {s.n}", "%d steps" % s.n)
        return x

    step = jit(step)
    for s.n in range(6):
        yield raised(lambda: step(X))


@case(traces=1)
def test_text_in_a_loop(jit):
    s = Record(n=0, message="", squares=[])

    def step(x):
        for i in range(3):
            s.n += i
            s.squares.append(f"{i}: {s.n**2}")
        s.message = "; ".join(s.squares[:1])
        s.squares.clear()
        return x

    step = jit(step)
    for _ in range(4):
        yield step(X), s


@case(traces=2)
def test_replaced_formatting_of_a_class_is_seen(jit):
    class Local:
        def __init__(self, n):
            self.n = n

        def __str__(self):
            return f"first {self.n}"

    s = Record(local=Local(1), kept="")

    def step(x):
        s.kept = f"{s.local}"
        return x

    step = jit(step)
    for s.local.n in (1, 2):
        yield step(X), s.kept
    Local.__str__ = lambda self: f"second {self.n}"
    for s.local.n in (3, 4):
        yield step(X), s.kept


def test_printed_and_logged_texts_are_made_at_each_call(capsys, caplog):
    state = Record(n=0)
    logger = logging.getLogger("texts")

    @ev.jit
    def step(x):
        state.n += 1
        print(f"step {state.n}", "%d" % state.n)
        logger.warning(f"logged {state.n}")
        return x

    for _ in range(3):
        step(X)
    assert step.cache_info().misses == 1
    assert capsys.readouterr().out == "step 1 1\nstep 2 2\nstep 3 3\n"
    assert [r.getMessage() for r in caplog.records] == ["logged 1", "logged 2", "logged 3"]


def test_text_of_the_clock_is_made_at_each_call():
    state = Record(kept="")

    @ev.jit
    def step(x):
        state.kept = f"{time.perf_counter()}"
        return x

    kept = set()
    for _ in range(3):
        step(X)
        kept.add(state.kept)
    assert len(kept) == 3
    assert step.cache_info().misses == 1


@case()
def test_what_is_pickled_is_the_number(jit):
    s = Record(n=1, v=[0.5], blob=b"")

    def f(x):
        s.n += 1
        s.v.append(s.n)
        s.blob = pickle.dumps([s.n, s.v, f"n {s.n}"])
        return x * len(s.blob)

    f = jit(f)
    yield f(X), s
    yield f(X), s


class _Shown:
    """Shows a copy of its items."""

    def __init__(self, items):
        self.items = items

    def __repr__(self):
        return f"Shown({list(self.items)!r})"


def _cycles(n):
    items, table, pair = [n], {"n": n}, ([],)
    items.append(_Shown([items]))
    table["self"] = [table, _Shown(table.values())]
    pair[0].append((pair, n, _Shown(pair)))
    return {"list": items, "dict": table, "tuple": pair, "shown": _Shown([items])}


_SHOWS = {
    "repr": lambda x: repr(x),
    "str": lambda x: str(x),
    "format": lambda x: "{}".format(x),
    "f-string": lambda x: f"{x!r:>80}",
}


@pytest.mark.parametrize("show", _SHOWS)
@pytest.mark.parametrize("what", ["list", "dict", "tuple", "shown"])
def test_containers_that_hold_themselves_are_shown_as_python_shows_them(what, show):
    s = Record(value=None)
    jitted = ev.jit(lambda: _SHOWS[show](s.value))
    for n in (1, 1, 2):
        s.value = _cycles(n)[what]
        assert jitted() == _SHOWS[show](s.value)
