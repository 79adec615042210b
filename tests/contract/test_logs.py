"""Containers that are only added to cost no trace, wherever they hang; whatever reads one, does."""

import collections
import copy
import dataclasses
import functools
import json
import operator
from typing import ClassVar

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.contract.compare import Record, X, case, raised

pytestmark = pytest.mark.engine

Curves = collections.namedtuple("Curves", "loss accuracy")
LOGS = {"loss": []}
EVENTS = []
STATE = {"step": 0}


class Proxy:
    """A logger such as users write."""

    def __init__(self):
        self.data = {}

    def log(self, key, value):
        self.data.setdefault(key, []).append(value)


@dataclasses.dataclass
class Entry:
    loss: object
    step: int


class Trainer:
    shared: ClassVar = []
    events: ClassVar = []

    def __init__(self):
        self.w, self.n = X * 1, 0
        self.log, self.pair, self.nested = [], ([], 2), [[], [0]]
        self.history = {"loss": [], "lr": 0.1, "other": [1, 2]}
        self.deep = {"train": {"loss": []}, "test": {}}
        self.by_name = collections.defaultdict(list)
        self.curves, self.recent = Curves([], [3]), collections.deque([1.0], maxlen=3)
        self.queue, self.seen, self.metrics = collections.deque(), set(), {"name": "run", "k": [1]}
        self.logger, self.children = Proxy(), [Proxy()]

    def grow(self):
        """Change from outside what no call reads."""
        for part in (
            self.history["other"],
            self.nested[1],
            self.curves.accuracy,
            self.metrics["k"],
        ):
            part.append(0)
        self.metrics["name"] += "!"


def table(*programs):
    return pytest.mark.parametrize("step", programs, ids=lambda f: f.__name__)


def entry_of_a_dict(t, x):
    t.history["loss"].append(jnp.sum(t.w * x))


def entry_by_a_name(t, x):
    for name in ("loss", "other"):
        t.history[name].append(x)


def entry_of_a_dict_in_a_dict(t, x):
    t.deep["train"]["loss"].append(x)


def item_of_a_list(t, x):
    t.nested[0].append(x)


def item_of_a_tuple(t, x):
    t.pair[0].append(x)


def field_of_a_named_tuple(t, x):
    t.curves.loss.append(x)


def in_place(t, x):
    t.log += [x, x * 2]


def in_place_in_a_dict(t, x):
    t.history["loss"] += [x]


def by_extend(t, x):
    t.log.extend(x * i for i in range(2))
    t.history["loss"].extend([x])


def at_the_start(t, x):
    t.log.insert(0, x)
    t.log.append(x * 2)
    t.log.insert(0, t.n)
    t.queue.appendleft(x)
    t.queue.append(2)
    t.queue.extendleft([3, x])


def bounded_deque(t, x):
    t.recent.append(x)
    t.recent.extend([t.n, 7.0])


def attribute_of_the_class(t, x):
    Trainer.shared.append(x)
    t.events.append(t.n)


def global_dict(t, x):
    LOGS["loss"].append(x)
    EVENTS.append(t.n)


def local_name(t, x):
    history, log = t.history, t.log
    history["loss"].append(x)
    log.append(t.n)


def in_another_object(t, x):
    t.logger.data["x"] = x
    t.children[0].data["y"] = t.n


def set_of_numbers(t, x):
    t.seen.add("loss")
    t.seen.update(["a", "b"])


def stored_entries(t, x):
    t.metrics["loss"] = jnp.sum(x)
    t.metrics.update(step=t.n, norm=x)


def new_objects(t, x):
    t.log.append(Entry(jnp.sum(x), t.n))
    t.history["loss"].append({"x": x, "n": t.n})


def with_arguments_that_take_calls(t, x):
    t.history["loss"].append(t.n + 1 if t.n > 0 else jnp.sum(x, axis=0))


@table(
    entry_of_a_dict, entry_by_a_name, entry_of_a_dict_in_a_dict, item_of_a_list, item_of_a_tuple,
    field_of_a_named_tuple, in_place, in_place_in_a_dict, by_extend, at_the_start, bounded_deque,
    attribute_of_the_class, global_dict, local_name, in_another_object, set_of_numbers,
    stored_entries, new_objects, with_arguments_that_take_calls,
)  # fmt: skip
def test_what_is_only_added_to_costs_no_trace(step):
    def program(jit):
        trainer = Trainer()
        shared = (Trainer.shared, Trainer.events, LOGS["loss"], EVENTS)
        for part in shared:
            part.clear()
        run = jit(step)
        log, loss = trainer.log, trainer.history["loss"]
        for i in range(4):
            trainer.n = 5 + i
            run(trainer, X * i)
            if i:
                trainer.grow()
            yield trainer, shared
        yield log is trainer.log, loss is trainer.history["loss"]

    case(traces=1)(program)()


@pytest.mark.parametrize(
    "step",
    [
        lambda t, x: t.by_name["loss"].append(x),
        lambda t, x: t.history.setdefault("new", []).append(x),
        lambda t, x: t.logger.log("loss", x),
        lambda t, x: t.deep["test"].setdefault("loss", []).append(x),
    ],
    ids=["defaultdict", "setdefault", "proxy", "setdefault in a dict"],
)
def test_a_new_key_costs_one_trace(step):
    @case(traces=2)
    def program(jit):
        trainer, run = Trainer(), jit(lambda t, x: (step(t, x), None)[1])
        for i in range(5):
            run(trainer, X * i)
            yield trainer

    program()


@case(traces=1)
def test_arguments_and_cells_that_are_added_to(jit):
    log, history = [], {"loss": []}

    def step(curves, x, *, events):
        curves["a"].append(x)
        events.append(2)
        log.append(x)
        history["loss"].append(x)

    step = jit(step)
    given = {"a": [], "b": [1]}, []
    for i in range(4):
        step(given[0], X * i, events=given[1])
        given[0]["b"].append(i)
        yield given, log, history


def test_a_hundred_thousand_items():
    """They are no part of what a variant depends on, so a call costs what it costs with none."""

    @ev.jit
    def step(t, x):
        t.history["loss"].append(x)
        t.log += [x]
        return x * 2

    small, large = Trainer(), Trainer()
    large.history["loss"], large.log = [0.0] * 100_000, [0.0] * 100_000
    for trainer in (large, small, large):
        step(trainer, X)
    assert step.cache_info().misses == 1
    assert len(large.log) == len(large.history["loss"]) == 100_002


# ------------------------------------------------------------------------ reads


def read_in_a_method_called_later(t, x):
    def rest():
        return len(t.history["loss"])

    t.history["loss"].append(x)
    return rest()


def read_of_the_sum(t, x):
    t.log.append(2.0)
    return x * sum(t.log)


def read_by_an_item(t, x):
    t.history["loss"].append(t.n)
    return x * t.history["loss"][0]


def read_by_a_helper(t, x):
    t.history["loss"].append(t.n)
    return helper(t.history) * x


def helper(history):
    return len(history["loss"]) + len(list(history["other"]))


def read_by_json(t, x):
    t.history["loss"].append(2)
    return x * len(json.dumps(t.history))


def read_of_copies(t, x):
    t.history["loss"].append(t.n)
    t.nested[0].append(t.n)
    copied, deep = dict(t.history), copy.deepcopy(t.nested)
    return x * (len(copied["loss"]) + len(list(t.log)) + len(deep[0]) + sum([*t.nested[0]]))


def read_by_comparison(t, x):
    t.log.append(2)
    return x if t.log == [2] else -x


def read_of_identity(t, x):
    t.nested[0].append(2)
    t.log.append(1)
    return x if t.log is t.nested[0] else -x


def read_as_a_whole(t, x):
    t.log.append(2)
    t.history["loss"].append(2)
    return x * (len(vars(t)["log"]) + len(vars(t)["history"]["loss"]))


def read_past_the_hook(t, x):
    t.log.append(2)
    return x * sum(object.__getattribute__(t, "log"))


def read_by_getters(t, x):
    t.log.append(2)
    t.history["loss"].append(1)
    log = operator.attrgetter("log")(t)
    loss = operator.itemgetter("loss")(getattr(t, "history"))  # noqa: B009
    return x * (len(log) + len(loss))


def read_by_unpacking(t, x):
    t.nested[0].append(2)
    first, second = t.nested
    return x * (len(first) + len(second))


def read_of_itself(t, x):
    t.log.append(len(t.log))
    t.history["loss"].extend(t.history["loss"])
    t.history["loss"].append(t.n)
    return x


def read_of_a_loop(t, x):
    t.nested[0].append(2)
    for part in t.nested:
        part.append(len(part))
    return x


def read_of_a_branch(t, x):
    t.log.append(2)
    log = t.log if t.n > 5 else t.history["loss"]
    log.append(3)
    return x * len(log)


def read_of_locals(t, x):
    log = t.log
    log.append(3)
    return x * len(locals()["log"])


def read_of_the_class(t, x):
    t.events.append(1)
    Trainer.shared.append(1)
    return x * (len(Trainer.events) + len(type(t).shared) + len(getattr(t, "shared")))  # noqa: B009


def read_of_globals(t, x):
    LOGS["loss"].append(1)
    EVENTS.append(1)
    return x * reads_globals()


def reads_globals():
    return len(LOGS["loss"]) + len(globals()["EVENTS"])


def read_of_a_stored_entry(t, x):
    t.metrics["loss"] = x
    t.metrics["name"] = "other"
    return t.metrics["loss"] * len(t.metrics) * len(t.metrics["name"])


def read_of_the_order(t, x):
    t.metrics["loss"] = x
    return x * len("".join(t.metrics))


def stored_elsewhere(t, x):
    t.history["loss"].append(t.n)
    t.log.append(x)
    t.other = t.history["loss"]
    return x, (t.log, t.other) if t.n < 0 else ()


def handed_to_a_builtin_method(t, x):
    add = t.log.append
    add(2)
    list.append(t.log, 3)
    return x * len(t.log)


def wrapped(fun):
    @functools.wraps(fun)
    def call(*args):
        t = Record(log=[])
        t.log.append(1)
        return fun(*args)

    return call


@wrapped
def read_below_a_wrapper(t, x):
    return x * len(t.log) + len(t.history["loss"])


@table(
    read_in_a_method_called_later, read_of_the_sum, read_by_an_item, read_by_a_helper, read_by_json,
    read_of_copies, read_by_comparison, read_of_identity, read_as_a_whole, read_past_the_hook,
    read_by_getters, read_by_unpacking, read_of_itself, read_of_a_loop, read_of_a_branch,
    read_of_locals, read_of_the_class, read_of_globals, read_of_a_stored_entry, read_of_the_order,
    stored_elsewhere, handed_to_a_builtin_method, read_below_a_wrapper,
)  # fmt: skip
def test_whatever_reads_one_sees_all_of_it(step):
    def program(jit):
        trainer = Trainer()
        for part in (Trainer.shared, Trainer.events, LOGS["loss"], EVENTS):
            part.clear()
        run = jit(step)
        for i in range(4):
            trainer.n = 4 + i
            yield run(trainer, X * i), trainer
            trainer.grow()
            trainer.log.append(1)
            trainer.history["loss"].append(2)

    case(at_most=4)(program)()


@case(at_most=9)
def test_one_list_in_several_places(jit):
    """What is only added to by one path and read by another is read."""

    @jit
    def step(t, given, x):
        t.history["loss"].append(1)
        t.log.append(2)
        given.append(3)
        return x * len(t.nested[0])

    trainer = Trainer()
    trainer.history["loss"] = trainer.nested[0] = trainer.log
    for _ in range(3):
        yield step(trainer, trainer.log, X), trainer
    trainer.history["other"] = trainer.history["loss"] = []
    for _ in range(2):
        yield step(trainer, trainer.history["other"], X), trainer


@case(traces=2)
def test_aliases_are_told_apart(jit):
    step = jit(lambda t, x: (t.history["loss"].append(1), t.history["other"].append(2), x)[-1])
    trainer = Trainer()
    for _ in range(2):
        yield step(trainer, X), trainer
    trainer.history["loss"] = trainer.history["other"]
    for _ in range(2):
        yield step(trainer, X), trainer


@case(traces=3)
def test_other_types_are_other_variants(jit):
    step = jit(lambda t, x: (t.history["loss"].append(x), x)[1])
    trainer = Trainer()
    yield step(trainer, X), trainer
    trainer.history["loss"] = collections.deque(maxlen=2)
    for _ in range(3):
        yield step(trainer, X), trainer
    trainer.history["loss"] = Record(append=lambda x: None)
    yield step(trainer, X)


@case(traces=4)
def test_what_is_looked_up_and_not_used_is_there_or_not(jit):
    def index(t, x):
        t.history["gone"]
        t.log.append(1)

    trainer, get = Trainer(), jit(lambda t, x: (t.history.setdefault("gone", [3]), None)[1])
    index = jit(index)
    yield raised(index, trainer, X)
    yield get(trainer, X), trainer
    yield get(trainer, X), trainer
    yield index(trainer, X), trainer


@case(traces=2)
def test_a_missing_key_is_an_error_as_ever(jit):
    def step(t, x):
        t.history["gone"].append(x)

    trainer, step = Trainer(), jit(step)
    yield raised(step, trainer, X)
    yield trainer
    trainer.history["gone"] = []
    yield step(trainer, X), trainer


def test_a_call_that_fails_has_added_nothing():
    @ev.jit
    def step(t, x):
        t.log.insert(0, x)
        t.history["loss"].append(x)
        t.metrics["loss"] = x
        raise ValueError("no")

    trainer = Trainer()
    before = copy.deepcopy(vars(trainer) | {"logger": 0, "children": 0, "w": 0})
    with pytest.raises(ValueError, match="no"):
        step(trainer, X)
    assert vars(trainer) | {"logger": 0, "children": 0, "w": 0} == before


# ------------------------------------------------------------------------ transformations


@case(traces=1)
def test_stored_entries_are_carried_by_loops(jit):
    """A dict that is stored into before a loop, and in it, has the keys that it had."""
    metrics = {"loss": jnp.float32(0), "other": [1]}

    def body(c, x):
        metrics["loss"] = c
        return c + x, c

    def step(x):
        metrics["loss"] = jnp.sum(x)
        c, _ = jit.scan(body, jnp.float32(0), x)
        return c + metrics["loss"]

    step = jit(step)
    for i in range(3):
        yield step(X * i), metrics


@case(traces=1)
def test_entries_that_only_a_loop_stores(jit):
    trainer = Trainer()
    trainer.metrics = {"loss": jnp.float32(0), "n": 1}

    def step(x):
        def body(c, y):
            trainer.metrics["loss"] = c + y
            return c + y, c

        return jit.scan(body, jnp.float32(0), x)[0]

    step = jit(step)
    for i in range(3):
        yield step(X * i), trainer.metrics


def test_logs_of_a_differentiated_function():
    def step(trainer, x):
        def loss(w):
            trainer.history["loss"].append(jnp.sum(w))
            trainer.log.insert(0, jnp.max(w))
            trainer.metrics["norm"] = jnp.sum(w * w)
            return jnp.sum(w * w)

        trainer.log.append(x)
        return ev.grad(loss)(trainer.w * x)

    plain, jitted, run = Trainer(), Trainer(), ev.jit(step)
    for i in range(1, 4):
        step(plain, X * i)
        run(jitted, X * i)
    for name in ("log", "history", "metrics"):
        assert repr(getattr(jitted, name)) == repr(getattr(plain, name))
    assert run.cache_info().misses == 1


@pytest.mark.parametrize("grow", [lambda t: t.log.append(1), lambda t: t.history["loss"].append(1)])
def test_growth_in_a_loop_is_refused(grow):
    trainer = Trainer()

    @ev.jit
    def step(x):
        def body(c, y):
            grow(trainer)
            return c + y, None

        grow(trainer)
        return lax.scan(body, 0.0, x)[0]

    with pytest.raises(TypeError, match=r"adds to or removes from .*(log|loss)"):
        step(X)
    assert (trainer.log, trainer.history["loss"]) == ([], [])
