"""What a call reads before its callbacks is as in Python; what it uses after them must stay."""

import collections
import os
import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import io_callback
from tests.contract.compare import Record, X, case, module

pytestmark = pytest.mark.engine

TOTAL, LINES, TABLE = 0, [], np.zeros(3, np.float32)
BOX = Record(n=0, items=[], d={}, flag=None)


class Counts:
    """Counts its callbacks, in an attribute of the class."""

    calls = 0


def change(v):
    """Change everything that there is to be changed."""
    global TOTAL
    TOTAL += 1
    LINES.append(float(v[0]))
    np.copyto(TABLE, np.asarray(v) * len(LINES))
    BOX.n += 1
    BOX.items.append(len(BOX.items))
    BOX.d["n"] = BOX.n
    BOX.flag = BOX.n
    Counts.calls += 1
    if not hasattr(BOX, "extra"):
        BOX.extra = 1


@pytest.fixture(autouse=True)
def afresh():
    global TOTAL
    TOTAL, Counts.calls = 0, 0
    LINES.clear()
    TABLE[:] = 0
    vars(BOX).clear()
    BOX.n, BOX.items, BOX.d, BOX.flag = 0, [], {}, None


def call_back(x):
    io_callback(change, None, x, ordered=True)


def call_back_twice(x):
    lax.fori_loop(0, 2, lambda i, c: (call_back(c), c)[1], x)


READS = {
    "an attribute": "BOX.n",
    "what an attribute decides": "x if BOX.n > 1 else -x",
    "an attribute that is not there": "getattr(BOX, 'extra', -1)",
    "whether there is an attribute": "hasattr(BOX, 'extra')",
    "the length of a list": "len(BOX.items)",
    "the items of a list": "sum(BOX.items)",
    "an entry": "BOX.d.get('n', -1)",
    "all attributes": "len(vars(BOX))",
    "a global": "TOTAL",
    "a list under a global": "x * len(LINES)",
    "a NumPy array": "x * TABLE",
    "an attribute of a class": "Counts.calls",
}

STEPS = {
    "at once": "call_back(x); return {read}",
    "before too": "_ = {read}; call_back(x); return {read}",
    "in a helper": "call_back(x); return (lambda: {read})()",
    "after a loop": "call_back_twice(x); return {read}",
}


def step_of(source):
    names = {}
    exec(f"def step(x): {source}", globals(), names)
    return names["step"]


@pytest.mark.parametrize("what", READS)
def test_what_is_read_before_a_callback_is_as_in_python(what):
    step = ev.jit(step_of(f"found = {READS[what]}; call_back(x); return found"))
    for i in range(3):
        want = eval(READS[what], globals(), {"x": X * i})
        assert np.asarray(step(X * i)).tolist() == np.asarray(want).tolist()
    assert (BOX.n, TOTAL, len(LINES)) == (3, 3, 3)


@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize("how", STEPS)
def test_what_is_read_after_a_callback_must_not_be_changed_by_it(what, how):
    step = ev.jit(step_of(STEPS[how].format(read=READS[what])))
    with pytest.raises(
        ev.errors.ImpurityError, match=r"io_callback: change changes [\w. ]*, which"
    ):
        step(X)
    assert BOX.n > 0  # what the callback has done stays


def held(x, list_):
    call_back(x)
    return x * len(list_)


def in_a_loop(x):
    n = 0
    for _ in range(2):
        n = n + BOX.n
        call_back(x)
    return n


def of_a_local(x):
    items = BOX.items
    call_back(x)
    return len(items)


def of_a_closure(x):
    items = BOX.items

    def count():
        return len(items)

    call_back(x)
    return count()


def of_a_generator(x):
    items = (i for i in BOX.items)
    call_back(x)
    return sum(items)


def emptied(x):
    call_back(x)
    BOX.items.clear()


def counted(x):
    call_back(x)
    BOX.n += 1


def rebound(x):
    global TOTAL
    old = TOTAL
    call_back(x)
    TOTAL = old


@pytest.mark.parametrize(
    ("step", "place"),
    [
        (in_a_loop, "BOX.n"),
        (of_a_local, "BOX.items"),
        (of_a_closure, "BOX.items"),
        (lambda x: held(x, BOX.items), "BOX.items"),
        (emptied, "BOX.items"),
        (counted, "BOX.n"),
        (rebound, "TOTAL"),
    ],
)
def test_uses_after_a_callback_are_found(step, place):
    with pytest.raises(ev.errors.ImpurityError, match=f"changes global {place}, which the jitted"):
        ev.jit(step)(X)


OF_ARGUMENTS = {
    "length of a list": (lambda: [1], lambda a: a.append(9), len),
    "end of a list": (lambda: [1], lambda a: a.append(9), lambda a: a[-1]),
    "place in a list": (lambda: [1, 2], lambda a: a.reverse(), lambda a: a[::-1].index(1)),
    "truth of a list": (list, lambda a: a.append(9), lambda a: 1 if a else 2),
    "list in a list": (lambda: [[1]], lambda a: a[0].append(9), lambda a: sum(map(sum, a))),
    "values of a dict": (lambda: {"a": 1}, lambda a: a.update(a=9), lambda a: sum(a.values())),
    "key of a dict": (lambda: {"a": 1}, lambda a: a.update(b=9), lambda a: a.get("b", 0)),
    "member of a set": (lambda: {1}, lambda a: a.add(9), lambda a: 9 in a),
    "end of a deque": (lambda: collections.deque([1]), lambda a: a.append(9), lambda a: a[-1]),
    "bytes": (lambda: bytearray(b"a"), lambda a: a.append(9), sum),
    "NumPy's array": (lambda: np.zeros(3), lambda a: a.fill(9), lambda a: a.sum()),
}


@pytest.mark.parametrize("name", OF_ARGUMENTS)
def test_contents_of_an_argument_that_a_callback_changes_are_not_read_after_it(name):
    make, change, read = OF_ARGUMENTS[name]

    def step(x, xs):
        io_callback(lambda v: change(xs), None, x, ordered=True)
        return x, read(xs)

    step = ev.jit(step)
    for _ in range(2):
        with pytest.raises(ev.errors.ImpurityError, match=r"changes xs.*, which the jitted"):
            step(X, make())


@case()
def test_what_is_set_after_a_callback_to_what_it_was_is_set(jit):
    s = Record(flag=None, word="a", n=1)

    def note(v):
        s.flag, s.word, s.n = 1, "b", 5

    def step(x):
        flag, word, n = s.flag, s.word, s.n
        io_callback(note, None, x, ordered=True)
        s.flag, s.word, s.n = flag, word, n
        return x

    step = jit(step)
    for _ in range(2):
        yield step(X), s


def test_the_error_names_the_callback_the_place_the_line_and_the_repair():
    with pytest.raises(ev.errors.ImpurityError) as raised:
        ev.jit(counted)(X)
    text = str(raised.value)
    assert (
        "io_callback: change changes global BOX.n, which the jitted function uses after it" in text
    )
    assert re.search(r"at .*test_callback_order.py:\d+ in call_back", text)
    assert "return what is new from the callback, or use it after the call" in text


@case()
def test_a_callback_may_change_what_only_others_use(jit):
    m = module("lines = []\ndef note(v):\n    lines.append(float(v[0]))\n    return v")
    s = Record(log=[], n=0, last=None, history=collections.deque(maxlen=2))

    def note(v):
        s.log.append(m.note(v)[0])
        s.last = v
        s.history.append(s.n)

    def step(x):
        s.n += 1
        if s.n > 2:
            io_callback(note, None, x * s.n, ordered=True)
            io_callback(note, None, x, ordered=True)
        s.n += 1
        return x

    step = jit(step)
    for i in range(4):
        yield step(X * i), s.n, [float(v) for v in s.log], s.history, m.lines


@case(traces=1)
def test_what_a_later_callback_changes_may_be_used_before_it(jit):
    s = Record(a=0, b=0)

    def first(v):
        s.a += 1

    def second(v):
        s.b += 1

    def step(x):
        y = x * s.a
        io_callback(first, None, x, ordered=True)
        y = y + s.b
        io_callback(second, None, x, ordered=True)
        return y

    step = jit(step)
    for _ in range(3):
        yield step(X), s


def test_a_call_that_a_callback_leaves_alone_uses_what_it_likes():
    s = Record(n=0, items=[1.0])

    def note(v):
        if v[0] > 2:
            s.n += 1

    @ev.jit
    def step(x):
        io_callback(note, None, x, ordered=True)
        return x * s.n + jnp.float32(s.items[0])

    assert step(X).tolist() == [1, 1, 1]
    with pytest.raises(ev.errors.ImpurityError, match=r"changes s\.n, which"):
        step(X + 5)


# ------------------------------------------------------------------------ what a call raises


class Halted(Exception):
    """What calls raise."""


def halted(*args, note=None, **attributes):
    """Return an exception that carries what it is given in all ways."""
    error = Halted(*args)
    vars(error).update(attributes)
    if note is not None:
        error.add_note(note)
    return error


def raised_from(x):
    try:
        raise KeyError(BOX.n)
    except KeyError as error:
        raise Halted("no") from error


def checked(x):
    if BOX.n == 0:
        raise Halted("not counted")
    return x


RAISES = {
    "arguments": "call_back(x); raise Halted({read})",
    "attributes": "call_back(x); raise halted(found={read})",
    "notes": "call_back(x); raise halted(note=str({read}))",
    "read in a helper": "call_back(x); raise Halted((lambda: {read})())",
    "after a loop": "call_back_twice(x); raise Halted({read})",
}


@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize("how", RAISES)
def test_what_an_exception_carries_must_not_be_changed_by_a_callback_before(what, how):
    step = ev.jit(step_of(RAISES[how].format(read=READS[what])))
    with pytest.raises(
        ev.errors.ImpurityError, match=r"io_callback: change changes [\w. ]*, which"
    ) as info:
        step(X)
    assert type(info.value.__context__) is Halted
    assert BOX.n > 0  # what the callback has done stays


@pytest.mark.parametrize(
    "source",
    [
        "call_back(x); return checked(x)",
        "call_back(x); raised_from(x)",
        "call_back(x); return {}[BOX.n]",
        "call_back(x); return int(chr(97 + BOX.n))",
        "call_back(x); return x.reshape(BOX.n, 3)",
        "call_back(x); raise SystemExit(BOX.n)",
        "call_back(x); assert BOX.n > 0",
        "call_back(x); return next(iter(BOX.items))",
        "call_back(x); raise ExceptionGroup('', [Halted(BOX.n)])",
        "lax.scan(lambda c, y: (call_back(x), (c, y))[1], 0.0, x); raise Halted(BOX.n)",
        "call_back(x); lax.scan(lambda c, y: (c, checked(y)), 0.0, x)",
        "ev.jit(call_back)(x); raise Halted(BOX.n)",
        "ev.grad(lambda y: (call_back(y), checked(y))[1].sum())(x)",
        "return io_callback(lambda v: (change(v), v)[1], x, x), {}[BOX.n]",
        "BOX.n = 5; call_back(x); raise Halted(BOX.n)",
        "items = BOX.items; call_back(x); raise Halted(items)",
    ],
)
def test_what_leads_to_an_exception_must_not_be_changed_by_a_callback_before(source):
    with pytest.raises(ev.errors.ImpurityError, match=r"changes global [\w.]*, which the jitted"):
        ev.jit(step_of(source))(X)


@pytest.mark.parametrize("read", ["len(log)", "log", "list(log)"])
def test_what_a_call_makes_and_an_exception_carries_must_not_be_changed_by_a_callback(read):
    source = f"log = []; io_callback(log.append, None, x); raise Halted({read})"
    with pytest.raises(ev.errors.ImpurityError, match="append changes a list that the jitted"):
        ev.jit(step_of(source))(X)


@case()
def test_an_exception_carries_what_callbacks_before_it_leave_alone(jit):
    s, log = Record(n=0, items=[1.0]), []

    def note(v):
        log.append(float(v[0]))

    def step(x):
        io_callback(note, None, x, ordered=True)
        ev.debug.callback(note, x * 2, ordered=True)
        io_callback(note, None, x + s.n, ordered=True)
        raise Halted(s.n, len(s.items), x * s.n, s)

    step = jit(step)
    for s.n in range(3):
        with pytest.raises(Halted) as info:
            step(X)
        yield info.value.args, log  # they have been called, as in plain Python


@case()
def test_what_a_callback_raises_comes_before_what_the_call_would_raise_after_it(jit):
    s = Record(n=1)

    def check(v):
        if v[0] > 1:
            raise ValueError("too large")

    def step(x):
        io_callback(check, None, x, ordered=True)
        raise Halted(s.n)

    step = jit(step)
    for k in (1, 5, 1):
        try:
            step(X * k)
        except (Halted, ValueError) as error:
            yield type(error).__name__, error.args


# ------------------------------------------------------------------------ what the call makes


class Notes:
    """Keeps what it is told."""

    def __init__(self):
        self.seen, self.n = [], 0

    def note(self, v):
        self.seen.append(v + 0)

    def count(self, v):
        self.n += 1

    def replace(self, v):
        self.seen = [v + 0]


def made_list(x):
    log = []
    io_callback(log.append, None, x, ordered=True)
    return len(log)


def made_object(x):
    notes = Notes()
    io_callback(notes.note, None, x, ordered=True)
    return len(notes.seen)


def made_number(x):
    notes = Notes()
    io_callback(notes.count, None, x, ordered=True)
    return 0.5**notes.n


def made_attribute(x):
    notes = Notes()
    io_callback(notes.replace, None, x, ordered=True)
    return len(notes.seen)


def made_closure(x):
    log = []

    def count():
        return len(log)

    io_callback(lambda v: log.append(v), None, x, ordered=True)
    return count()


def made_variable(x):
    n = 0

    def note(v):
        nonlocal n
        n += 1

    io_callback(note, None, x, ordered=True)
    return n


class Owner:
    notes = None


OWNER = Owner()


def made_and_stored(x):
    OWNER.notes = Notes()
    io_callback(OWNER.notes.count, None, x, ordered=True)
    return x, OWNER.notes.n


def made_and_returned(x, owner=OWNER):
    owner.notes = Notes()
    io_callback(owner.notes.count, None, x, ordered=True)
    return owner.notes.n


@pytest.mark.parametrize(
    "step",
    [
        *(made_list, made_object, made_number, made_attribute, made_closure, made_variable),
        *(made_and_stored, made_and_returned),
    ],
)
def test_what_the_call_makes_and_reads_after_a_callback_must_not_be_changed_by_it(step):
    with pytest.raises(ev.errors.ImpurityError, match="that the jitted function has made, and"):
        ev.jit(step)(X)


@case(traces=1)
def test_of_what_the_call_stores_a_callback_may_change_what_is_returned_whole(jit):
    def step(x):
        OWNER.notes = Notes()
        io_callback(OWNER.notes.count, None, x, ordered=True)
        return OWNER.notes

    step = jit(step)
    for _ in range(2):
        found = step(X)
        yield found.n, OWNER.notes.n, found is OWNER.notes


@case(traces=1)
def test_of_what_the_call_makes_a_callback_may_change_what_is_not_read(jit):
    def step(x):
        notes = Notes()
        io_callback(notes.count, None, x, ordered=True)
        return x * len(notes.seen), notes

    step = jit(step)
    for i in range(3):
        y, notes = step(X * i)
        yield y, notes.n


@case(traces=1)
def test_what_the_call_makes_and_returns_may_be_filled_by_callbacks(jit):
    def step(x):
        log, notes, counts = [], Notes(), {}
        for i in range(2):
            io_callback(log.append, None, x * i, ordered=True)
            io_callback(notes.note, None, x * i, ordered=True)
            io_callback(lambda v: counts.setdefault("n", []).append(v + 0), None, x, ordered=True)
        return {"log": log, "twice": x * 2, "seen": (notes.seen, counts)}

    step = jit(step)
    for i in range(3):
        yield step(X * i)


# ------------------------------------------------------------------------ what the call prints


def printed(step, x, capsys):
    step(x)
    ev.effects_barrier()
    return capsys.readouterr().out.splitlines()


def printing(x):
    print("start", x.shape)
    ev.debug.print("first {}", x[0], ordered=True)
    print("between")
    lax.cond(x[0] > 1, lambda y: ev.debug.print("large {}", y[0], ordered=True), lambda y: None, x)
    print("x is", x)
    lax.fori_loop(0, 2, lambda i, c: (io_callback(note_turn, None, i, ordered=True), c)[1], x)
    print("end")
    return x * 2


def note_turn(i):
    print("turn", int(i))


def test_what_a_call_and_its_callbacks_print_comes_in_order(capsys):
    step = ev.jit(printing)
    for x in (X, X + 5, X):
        assert printed(step, x, capsys) == printed(printing, x, capsys)
    assert step.cache_info().misses == 1


def test_a_callback_sees_what_the_call_has_changed_under_a_name_that_is_computed():
    s, names = Record(n=0), ["n"]

    @ev.jit
    def step(x):
        s.n = 1
        return ev.pure_callback(lambda v: v * getattr(s, names[0]), X, x)

    for _ in range(2):
        assert step(X).tolist() == X.tolist()
        s.n = 5


def test_names_of_the_environment_may_be_read_beside_a_callback(monkeypatch):
    monkeypatch.delenv("TEST_WORD", raising=False)
    s = Record(n=0)

    @ev.jit
    def step(x):
        s.n = 1 if "TEST_WORD" in os.environ else 2
        return ev.pure_callback(lambda v: v, X, x)

    assert step(X).tolist() == X.tolist()
    assert s.n == 2
    monkeypatch.setenv("TEST_WORD", "yes")
    step(X)
    assert s.n == 1


@pytest.mark.parametrize("call_back", ["pure", "io"])
def test_a_name_that_is_set_again_before_a_callback_comes_last(call_back):
    """Its value is as before, so that only the order of the names tells."""
    read = {"pure": ev.pure_callback, "io": io_callback}[call_back]

    def step(box, x):
        old = box.q
        del box.q
        box.q = old
        return read(look, x, x)

    def look(z):
        return np.asarray(z)

    jitted = ev.jit(step)
    for names in ("pq", "qp", "pqr", "qpr", "rqp"):
        plain, boxed = Record(), Record()
        for name in names:
            setattr(plain, name, 1)
            setattr(boxed, name, 1)
        step(plain, X)
        jitted(boxed, X)
        assert list(vars(boxed)) == list(vars(plain))


@case()
def test_attributes_that_a_callback_adds_stand_where_they_do_in_python(jit):
    s = Record(w=X)

    def add(name):
        def added(_):
            setattr(s, name, len(vars(s)))

        return added

    def f(x, k):
        s.before = k
        ev.debug.callback(add("first"), x, ordered=True)
        s.between = k + 1
        ev.debug.callback(add("second"), x, ordered=True)
        s.after = k + 2
        return x

    f = jit(f)
    for k in range(3):
        yield f(X, k), s, list(vars(s))
    del s.first, s.between
    yield f(X, 3), s, list(vars(s))
