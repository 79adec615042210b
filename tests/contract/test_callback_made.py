"""What a call makes, gives to a callback, and reads elsewhere: in methods, helpers, containers."""

import array
import collections
import io
import re
import types

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import io_callback
from tests.contract.compare import Record, X, case

pytestmark = pytest.mark.engine

BOX = Record(notes=None, items=[], entries={})


class Notes:
    """Counts its calls."""

    shared = None

    def __init__(self):
        self.n, self.other = 0, 2.0

    def count(self, v):
        self.n += 1


class Model:
    """Makes notes, and reads them in its methods."""

    def __init__(self):
        self.notes, self.items, self.entries = None, [], {}

    @property
    def count(self):
        return self.notes.n

    def of_attribute(self):
        return self.notes.n

    def of_item(self):
        return self.items[-1].n

    def of_entry(self):
        return self.entries["a"].n

    def of_all(self):
        return sum(notes.n for notes in self.items)


def call_back(notes, x):
    io_callback(notes.count, None, x, ordered=True)
    return notes


def in_a_method(m, x):
    m.notes = call_back(Notes(), x)
    return m.of_attribute()


def in_a_property(m, x):
    m.notes = call_back(Notes(), x)
    return m.count


def in_a_function(m, x):
    m.notes = call_back(Notes(), x)
    return of_argument(m)


def of_argument(m):
    return m.notes.n


def in_a_function_by_a_global(m, x):
    BOX.notes = call_back(Notes(), x)
    return of_global()


def of_global():
    return BOX.notes.n


def as_a_global(m, x):
    global NOTES
    NOTES = call_back(Notes(), x)
    return of_variable()


NOTES = None


def of_variable():
    return NOTES.n


def as_an_attribute_of_a_class(m, x):
    Notes.shared = call_back(Notes(), x)
    return of_class()


def of_class():
    return Notes.shared.n


def in_a_list(m, x):
    m.items.append(call_back(Notes(), x))
    return m.of_item()


def in_a_list_that_is_gone_through(m, x):
    m.items.append(call_back(Notes(), x))
    return m.of_all()


def in_a_dict(m, x):
    m.entries["a"] = call_back(Notes(), x)
    return m.of_entry()


def in_a_list_under_a_global(m, x):
    BOX.items.append(call_back(Notes(), x))
    return of_list()


def of_list():
    return BOX.items[-1].n


@pytest.mark.parametrize(
    "step",
    [
        in_a_method, in_a_property, in_a_function, in_a_function_by_a_global, as_a_global,
        as_an_attribute_of_a_class, in_a_list, in_a_list_that_is_gone_through, in_a_dict,
        in_a_list_under_a_global,
    ],
)  # fmt: skip
def test_what_functions_read_of_it_must_not_be_changed_by_the_callback(step):
    with pytest.raises(ev.errors.ImpurityError, match="Notes that the jitted function has made"):
        ev.jit(step)(Model(), X)


def returned(m, x):
    m.notes = call_back(Notes(), x)
    return m.notes


def returned_in_a_tuple(m, x):
    m.notes = call_back(Notes(), x)
    notes = m.notes
    return notes, x


def called_back_again(m, x):
    m.notes = call_back(Notes(), x)
    io_callback(m.notes.count, None, x, ordered=True)
    return m.notes


def read_where_it_is_not_changed(m, x):
    m.notes = call_back(Notes(), x)
    return m.notes.other


def list_returned(m, x):
    m.items.append(call_back(Notes(), x))
    items = m.items
    return items, x


@pytest.mark.parametrize(
    "step",
    [returned, returned_in_a_tuple, called_back_again, read_where_it_is_not_changed, list_returned],
)
def test_what_is_kept_or_not_changed_is_as_in_python(step):
    want, got, run = Model(), Model(), ev.jit(step)
    for _ in range(3):
        step(want, X)
        run(got, X)
        for a, b in zip([got.notes, *got.items], [want.notes, *want.items], strict=True):
            assert (a and a.n) == (b and b.n)
    assert run.cache_info().misses == (3 if step is list_returned else 1)


class Seen:
    """Notes what it is shown, and scales by how much that was."""

    def __init__(self):
        self.seen, self.k = [], 2.0

    def note(self, v):
        self.seen.append(v.sum())

    def scale_by_seen(self, v):
        return v * len(self.seen)

    def scale(self, v):
        return v * self.k


def test_what_a_callback_leaves_alone_is_read_by_a_pure_one():
    def step(s, x):
        y = ev.pure_callback(s.scale_by_seen, x, x)
        io_callback(s.note, None, x, ordered=True)
        return y + ev.pure_callback(s.scale, x, x)

    want, got, run = Seen(), Seen(), ev.jit(step)
    for _ in range(3):
        assert run(got, X).tolist() == step(want, X).tolist()
        assert len(got.seen) == len(want.seen)
    assert run.cache_info().misses == 1


# ------------------------------------------------------------------------ what is changed later

CHANGED = {
    "a list": (lambda k: [k], lambda a: a.append(3)),
    "a dict": (lambda k: {"a": k}, lambda a: a.update(a=2)),
    "a deque": (lambda k: collections.deque([k, 1]), lambda a: a.rotate()),
    "an object": (lambda k: types.SimpleNamespace(a=k), lambda a: setattr(a, "a", 5)),
    "NumPy's array": (lambda k: np.zeros(2), lambda a: a.fill(3)),
    "bytes": (lambda k: bytearray(b"ab"), lambda a: a.append(3)),
    "numbers": (lambda k: array.array("i", [1]), lambda a: a.append(3)),
    "a text": (lambda k: io.StringIO("ab"), lambda a: a.seek(1)),
    "an iterator": (lambda k: iter([k, 2]), next),
    "an iterator of a range": (lambda k: iter(range(3)), next),
    "an iterator of text": (lambda k: iter("abc"), next),
    "pairs": (lambda k: zip([k, 2], [3, 4], strict=True), next),
    "a map": (lambda k: map(abs, [1, 2]), next),
    "an enumeration": (lambda k: enumerate([1, 2]), next),
    "the reverse": (lambda k: reversed([1, 2]), next),
}


def left_in(x):
    """Return what a thing holds, an iterator by what is left of it."""
    if hasattr(x, "__next__"):
        return list(x) if not isinstance(x, io.StringIO) else x.read()
    return getattr(x, "__dict__", x if not isinstance(x, np.ndarray) else x.tolist())


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize("is_traced", [False, True])
def test_what_is_changed_after_a_callback_that_sees_it_is_changed(name, is_traced):
    make, change = CHANGED[name]
    seen = []

    def look(v):
        seen.append(type(box.made).__name__)
        return v

    def step(m, x):
        m.made = make(x.sum() if is_traced else m.k)
        y = ev.pure_callback(look, x, x)
        change(m.made)
        return y

    box = want = Record(made=None, k=2)
    step(want, X)
    box, run = Record(made=None, k=2), ev.jit(step)
    for _ in range(2):
        run(box, X)
        assert repr(left_in(box.made)) == repr(left_in(want.made))
        want.made = None
        step(want, X)
    assert len(set(seen)) == 1


@pytest.mark.parametrize("name", CHANGED)
def test_what_is_changed_after_a_callback_must_not_be_kept_by_it(name):
    make, change = CHANGED[name]
    box = Record(made=None, kept=None, k=2)

    def keep(v):
        box.kept = box.made

    def step(m, x):
        m.made = make(m.k)
        io_callback(keep, None, x, ordered=True)
        change(m.made)
        return x

    with pytest.raises(ev.errors.ImpurityError) as caught:
        ev.jit(step)(box, X)
    lines = str(caught.value).splitlines()
    assert re.fullmatch(
        r"io_callback: keep keeps a \w+ that the jitted function has made, and changes after it in "
        r"the same call: the callback has a copy of it, as it was then\.",
        lines[0],
    )
    assert "Fix: change it before the callback, or give the callback a copy of it." in lines[-2]


# ----------------------------------------------------------- what a callback keeps


def an_object(v):
    return Record(v=v)


def an_object_in_itself(v):
    made = Record(v=v)
    made.pair = (made, v)
    return made


def objects(v):
    return Record(v=v, inner=Record(v=v), items=[v])


def a_function(v):
    return lambda: v


MAKE = {
    "an object": an_object,
    "an object in itself": an_object_in_itself,
    "objects": objects,
    "a list": lambda v: [v, [v]],
    "a dict": lambda v: {"v": v},
    "a deque": lambda v: collections.deque([v], maxlen=2),
    "a function": a_function,
    "an exception": ValueError,
}


KEPT = []


def keep(made):
    ev.debug.callback(lambda: KEPT.append(made))


def keep_in_a_loop(made):
    lax.fori_loop(0, 2, lambda i, c: (keep(made), c)[1], 0)


def keep_in_a_branch(made):
    lax.cond(jnp.array(True), lambda: keep(made), lambda: None)


@pytest.mark.parametrize("engine", ["auto", "xla"])
@pytest.mark.parametrize("how", [keep, keep_in_a_loop, keep_in_a_branch])
@pytest.mark.parametrize("what", MAKE)
def test_what_a_callback_keeps_is_what_the_call_leaves_and_returns(what, how, engine):
    @case(traces=1)
    def program(jit):
        s, make = Record(made=None), MAKE[what]

        def f(x):
            v = x * 2
            s.made = made = make(v)
            how(made)
            keep(made)
            return v, made if isinstance(made, (list, dict)) else v

        f = jit(f, engine=engine)
        for x in (X, X + 1):
            result = f(x)
            ev.effects_barrier()
            last = [x for x in KEPT if x is s.made]
            yield s, result, len(KEPT), len(last), KEPT[-1], result[1] is s.made
            KEPT.clear()

    program()
