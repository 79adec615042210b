"""Exceptions: caught inside they are control flow, leaving a call they leave nothing behind."""

import contextlib
import types

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import io_callback
from tests.contract.compare import Description, Record, X, case, compare, module, raised

pytestmark = pytest.mark.engine


class TooLong(Exception):
    """What the programs below raise; it has a value of its own."""

    def __init__(self, n):
        super().__init__(f"{n} is too long")
        self.n = n


def unchanged(*objects):
    """Return a check that what can be reached from the objects is as it is now."""
    before = Description().of(objects)
    return lambda: compare(Description().of(objects), before, ulps=0)


@case(traces=2)
def test_exception_is_caught_inside(jit):
    s = Record(n=0)

    def step(x):
        try:
            s.n += 1
            if s.n > 2:
                raise TooLong(s.n)
        except TooLong as error:
            s.n = -error.n
            return x
        return -x

    step = jit(step)
    for _ in range(6):
        yield step(X), s


@case(traces=1)
def test_changes_before_a_caught_exception_stay(jit):
    s = Record(n=0, items=[])

    def step(x):
        with contextlib.suppress(TooLong):
            s.n += 1
            s.items.append(x)
            raise TooLong(3)
        return x

    step = jit(step)
    for _ in range(2):
        yield step(X), s


@case(traces=1)
def test_finally_runs(jit):
    s = Record(depth=0, left=0)

    def step(x):
        s.depth += 1
        try:
            return x * s.depth
        finally:
            s.depth -= 1
            s.left += 1

    step = jit(step)
    for _ in range(3):
        yield step(X), s


@case()
def test_type_and_text_of_the_users_exception(jit):
    def step(x, n):
        if n > 2:
            raise TooLong(n)
        return x

    step = jit(step)
    yield step(X, 1), raised(step, X, 3), step(X, 2), raised(step, X, 5)


@case()
def test_exception_depends_on_a_shape(jit):
    def step(x):
        if x.shape[0] > 3:
            raise TooLong(x.shape[0])
        return x

    step = jit(step)
    yield step(X), raised(step, jnp.ones(4)), step(X)


@case()
def test_cause_and_context_are_kept(jit):
    def step(x):
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise TooLong(3) from error

    step = jit(step)
    try:
        step(X)
    except TooLong as error:
        yield repr(error.__cause__), error.n


@case(traces=1)
def test_stop_iteration_inside(jit):
    s = Record(items=[1.0, 2.0])

    def f(x):
        it = iter(s.items)
        total = x
        while True:
            try:
                total = total * next(it)
            except StopIteration:
                return total

    f = jit(f)
    yield f(X)
    s.items[1] = 5.0
    yield f(X)


@case(traces=1)
def test_exception_is_stored(jit):
    s = Record(last=None)

    def step(x):
        try:
            raise TooLong(3)
        except TooLong as error:
            s.n = error.n
        return x

    step = jit(step)
    yield step(X), s


def test_call_that_raises_while_tracing_changes_nothing():
    m = module("calls, total = 0, 1.5")
    s = Record(n=0, w=jnp.ones(3), items=[1], d={"a": 1}, seen={1}, child=Record(k=2))
    cell = 0

    def step(x, fail):
        nonlocal cell
        cell += 1
        m.calls += 1
        s.n += 1
        s.w = s.w * 2
        s.new = 1
        del s.child.k
        s.items.append(x)
        s.items[0] = 10
        s.d["b"] = x
        del s.d["a"]
        s.seen.add(2)
        if fail:
            raise TooLong(s.n)
        return x

    jitted = ev.jit(step)
    check = unchanged(s, vars(m)["calls"])
    with pytest.raises(TooLong, match="1 is too long"):
        jitted(X, True)
    check()
    assert (cell, m.calls) == (0, 0)
    jitted(X, False)
    assert (s.n, cell, m.calls, len(s.items)) == (1, 1, 1, 2)


def test_raise_after_a_hit_changes_nothing():
    s = Record(n=0, w=jnp.ones(3))

    def step(x):
        s.n += 1
        s.w = s.w + x
        if s.n > 2:
            raise TooLong(s.n)
        return x

    jitted = ev.jit(step)
    jitted(X)
    jitted(X)
    check = unchanged(s)
    for _ in range(2):
        with pytest.raises(TooLong, match="3 is too long"):
            jitted(X)
        check()
    s.n = 0
    jitted(X)
    assert s.n == 1


def test_error_of_evertrace_changes_nothing():
    s = Record(n=0, items=[])

    def step(x):
        s.n += 1
        s.items.append(x)
        return x + jnp.ones(7)

    check = unchanged(s)
    with pytest.raises(ev.errors.ShapeError, match="do not broadcast"):
        ev.jit(step)(X)
    check()


def test_branch_on_an_array_changes_nothing():
    s = Record(w=jnp.ones(3))

    def step(x):
        s.w = s.w + x
        return x if s.w.sum() > 0 else -x

    check = unchanged(s)
    with pytest.raises(ev.errors.TracerBoolConversionError, match=r"cond|where"):
        ev.jit(step)(X)
    check()


def test_host_callback_that_raises_while_running_changes_nothing():
    s = Record(n=0, w=jnp.ones(3))

    def check_on_host(x):
        if host_state:
            raise ValueError("the host refused")
        return x

    def step(x):
        s.n += 1
        s.w = ev.pure_callback(check_on_host, ev.ShapeDtypeStruct((3,), "float32"), s.w + x)
        return s.w

    host_state = []
    jitted = ev.jit(step)
    jitted(X)
    host_state.append(1)
    check = unchanged(s)
    with pytest.raises(Exception, match="the host refused"):
        jitted(X)
    check()
    host_state.clear()
    jitted(X)
    assert s.n == 2


def test_keyboard_interrupt_while_tracing_changes_nothing():
    s = Record(n=0)

    def step(x):
        s.n += 1
        if s.n > 1:
            raise KeyboardInterrupt
        return x

    jitted = ev.jit(step)
    jitted(X)
    with pytest.raises(KeyboardInterrupt):
        jitted(X)
    assert s.n == 1
    assert type(s.n) is int


# ------------------------------------------------------------------------ what they carry


class Diverged(Exception):
    """Has attributes beside its arguments."""

    def __init__(self, *args, **info):
        super().__init__(*args)
        self.__dict__.update(info)


class Slotted(Exception):
    """Has slots."""

    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


def _from(error, cause):
    raise error from cause


def _noted(error, *notes):
    for note in notes:
        error.add_note(note)
    raise error


def _in_context(error, s):
    try:
        raise KeyError(s.n)
    except KeyError:
        raise error  # noqa: B904


def _raise(error):
    raise error


RAISES = {
    "a number": lambda s, x: _raise(Diverged(s.n)),
    "numbers that are computed": lambda s, x: _raise(Diverged(s.n + 1, s.rate / 2, -s.n)),
    "an attribute": lambda s, x: _raise(Diverged(step=s.n, rate=s.rate * 2)),
    "slots": lambda s, x: _raise(Slotted(s.n, x * s.n)),
    "an array": lambda s, x: _raise(Diverged(x)),
    "arrays that are computed": lambda s, x: _raise(Diverged(x * 2, s.w + x, jnp.sum(s.w) * s.n)),
    "an array of NumPy's": lambda s, x: _raise(Diverged(s.table)),
    "what is made of it": lambda s, x: _raise(Diverged(s.table * 2, s.table[1:], s.table[0])),
    "containers": lambda s, x: _raise(Diverged([s.n, x], {"k": s.rate}, (s.n, {s.n}))),
    "an object": lambda s, x: _raise(Diverged(s, s.child)),
    "a new object": lambda s, x: _raise(Diverged(Record(step=s.n, loss=x.sum()))),
    "a tuple of the object's": lambda s, x: _raise(Diverged(s.pair, s.items)),
    "an attribute that was not read": lambda s, x: _raise(Diverged(vars(s)["rate"])),
    "a function": lambda s, x: _raise(Diverged(lambda: s.n)),
    "a cause": lambda s, x: _from(Diverged("d"), KeyError(s.n)),
    "a context": lambda s, x: _in_context(Diverged(x * 2), s),
    "notes": lambda s, x: _noted(Diverged(s.n), "first", f"n is {s.n}"),
    "a group": lambda s, x: _raise(ExceptionGroup("two", [KeyError(s.n), Diverged(x)])),
    "a number's own": lambda s, x: s.n // (s.n - s.n),
    "a key": lambda s, x: {"a": 1}[s.n],
    "the end of an iterator": lambda s, x: _raise(StopIteration(s.n)),
    "the code of an exit": lambda s, x: _raise(SystemExit(s.n)),
    "a field of the system's": lambda s, x: _raise(OSError(5, "no", s.n)),
    "inside of grad": lambda s, x: ev.grad(lambda y: _raise(Diverged(y.sum(), s.n)))(x),
    "inside of scan": lambda s, x: lax.scan(lambda c, y: _raise(Diverged(s.n, s.w)), x, x),
    "a result of a callback": lambda s, x: _raise(Diverged(ev.pure_callback(np.sin, x, x))),
    "a callback's of this call": lambda s, x: _raise(
        Diverged(ev.pure_callback(lambda v: np.float32(s.rate) * v, x, x))
    ),
}


def carried(error, seen=()):
    """Return what an exception carries, to be compared."""
    if error is None or error in seen:
        return None
    seen = (*seen, error)
    names = ("value", "code", "errno", "filename", "a", "b")
    return (
        type(error).__name__,
        [_shown(x) for x in error.args],
        {k: _shown(x) for k, x in vars(error).items()},
        {k: _shown(getattr(error, k)) for k in names if hasattr(error, k)},
        [carried(x, seen) for x in (error.__cause__, error.__context__)],
        [carried(x, seen) for x in getattr(error, "exceptions", ())],
    )


def _shown(x):
    if isinstance(x, BaseException):
        return carried(x)
    if isinstance(x, types.FunctionType):
        return x()
    if isinstance(x, type):
        return x
    if isinstance(x, (list, tuple, set)):
        return type(x), [_shown(y) for y in x]
    if isinstance(x, dict):
        return {k: _shown(y) for k, y in x.items()}
    if isinstance(x, Record):
        return "record", {k: _shown(y) for k, y in vars(x).items()}
    return type(x), x.tolist() if hasattr(x, "tolist") else x, str(getattr(x, "dtype", ""))


@pytest.mark.parametrize("what", RAISES)
def test_an_exception_that_leaves_a_call_carries_plain_values(what):
    def world():
        child = Record(k=2)
        table = np.array([1.0, 2.0, 3.0], np.float32)
        return Record(
            n=3, rate=0.5, w=jnp.ones(3), table=table, child=child, pair=(1, 2.5), items=[1]
        )

    want, s, jitted = _leaving(RAISES[what], world(), X), world(), ev.jit(RAISES[what])
    for got in (_leaving(jitted, s, X), _leaving(jitted, s, X)):
        if what == "inside of grad":  # plain Python gives a tracer of grad's
            assert _shown(got.args[0]) == _shown(X.sum())
            assert got.args[1] == 3
        else:
            assert carried(got) == carried(want)


def _leaving(f, *args):
    """Return the exception that leaves a call."""
    try:
        f(*args)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def test_what_was_there_before_is_the_same_in_an_exception():
    s = Record(pair=(1, 2), items=[1], w=jnp.ones(3), table=np.ones(3), error=KeyError("held"))
    with pytest.raises(Diverged) as info:
        ev.jit(lambda s, x: _raise(Diverged(s, s.pair, s.items, s.w, s.table, x)))(s, X)
    for got, want in zip(info.value.args, (s, s.pair, s.items, s.w, s.table, X), strict=True):
        assert got is want
    with pytest.raises(KeyError) as info:
        ev.jit(lambda s: _raise(s.error))(s)
    assert info.value is s.error


def called_back(log, x, ordered=True):
    """Return three times `x`, by a callback that notes it in `log.sums`."""

    def call(x):
        log.sums.append(float(np.sum(x)))
        return np.asarray(x) * 3

    return io_callback(call, x, x, ordered=ordered)


def of_one(log, x):
    raise Diverged(called_back(log, x * 2), x)


def computed_with_it(log, x):
    raise Diverged(jnp.sum(called_back(log, x) + 1))


def of_one_that_depends_on_another(log, x):
    raise Diverged(called_back(log, called_back(log, x) + 1))


def others_before_it_and_behind_it(log, x):
    called_back(log, x)
    called_back(log, x + 1, ordered=False)
    y = called_back(log, x + 2)
    raise Diverged(y)


def of_an_unordered_one(log, x):
    raise Diverged(called_back(log, x, ordered=False))


def a_type_error(log, x):
    raise TypeError(called_back(log, x))


CARRIED = [
    of_one, computed_with_it, of_one_that_depends_on_another, others_before_it_and_behind_it,
    of_an_unordered_one, a_type_error,
]  # fmt: skip


@pytest.mark.parametrize("step", CARRIED, ids=lambda f: f.__name__)
def test_what_a_callback_returned_is_carried_as_its_value(step):
    """Callbacks have been called by then, each once and in their order, as in plain Python."""

    def program(jit):
        log = Record(sums=[])
        run = jit(lambda x: step(log, x))
        for k in range(2):
            try:
                run(X + k)
            except (Diverged, TypeError) as error:
                yield type(error).__name__, error.args, log.sums

    case()(program)()


def test_a_callback_whose_result_is_not_carried_is_not_called():
    """A call that raises has done nothing."""
    log = Record(sums=[])

    def step(x):
        called_back(log, x)
        raise Diverged(x * 2)

    with pytest.raises(Diverged) as info:
        ev.jit(step)(X)
    assert np.asarray(info.value.args[0]).tolist() == [2.0, 4.0, 6.0]
    assert not log.sums


def test_an_example_of_a_batch_has_no_value_in_an_exception():
    f = ev.jit(lambda xs: ev.vmap(lambda x: _raise(Diverged(x.sum())))(xs))
    with pytest.raises(Diverged, match=r"<traced f32\[\] of vmap\(<lambda>\)>"):
        f(jnp.ones((2, 3)))


@case()
def test_a_stored_exception_is_made_anew_at_each_call(jit):
    s = Record(n=0, last=None, group=None, all=[])

    def step(x):
        s.n += 1
        try:
            try:
                raise KeyError(s.n)
            except KeyError as error:
                raise Diverged(s.n, x * s.n, step=s.n) from error
        except Diverged as error:
            s.last = error
            s.all.append(error)
        s.group = ExceptionGroup("both", [s.last, Slotted(s.n, 2)])
        return x

    step = jit(step)
    for _ in range(3):
        step(X)
        yield repr(list(map(carried, s.all))), s.last is s.all[-1], len(set(map(id, s.all)))
        yield repr(carried(s.group)), s.group.exceptions[0] is s.last


def test_a_returned_exception_is_of_this_call():
    f = ev.jit(lambda n, x: Diverged(n, x))
    first, second = f(1, X), f(2, X)
    assert (type(first), first.args[0], second.args[0]) == (Diverged, 1, 2)
    assert f.cache_info().misses == 1


def test_what_an_exception_carries_twice_is_one_thing():
    def step(x):
        try:
            raise KeyError({"w": x * 2})
        except KeyError as error:
            raise Diverged(*error.args, [1]) from error

    with pytest.raises(Diverged) as caught:
        ev.jit(step)(X)
    error = caught.value
    assert error.args[0] is error.__cause__.args[0]
    assert (error.args[0]["w"] == X * 2).all()


@pytest.mark.parametrize(
    "carried_value",
    [
        lambda table, x: table[0],
        lambda table, x: table[1] * 0.5,
        lambda table, x: table * 0.1,
        lambda table, x: [table.sum(), x[0]],
    ],
    ids=["an item", "a product", "an array", "a sum"],
)
def test_an_exception_carries_numpy_numbers_of_64_bits(carried_value):
    table = np.array([0.1, 1e300])

    def f(x):
        raise ArithmeticError(carried_value(table, x))

    want, jitted = _leaving(f, X), ev.jit(f)
    for _ in range(2):
        assert carried(_leaving(jitted, X)) == carried(want)
    table[0] = 0.7
    assert carried(_leaving(jitted, X)) == carried(_leaving(f, X))


def test_a_traced_value_in_a_new_numpy_array_is_refused_in_our_words():
    def f(x):
        table = np.array([1.0, 2.0])
        table[0] = x[0]
        return table

    with pytest.raises(ev.errors.ConcretizationTypeError, match=r"float\(\) of an array") as caught:
        ev.jit(f)(X)
    assert "test_exceptions.py" in str(caught.value)
