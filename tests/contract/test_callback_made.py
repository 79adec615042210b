"""What a call makes, gives to a callback, and reads elsewhere: in methods, helpers, containers."""

import pytest

import evertrace as ev
from evertrace.experimental import io_callback
from tests.contract.compare import Record, X

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
