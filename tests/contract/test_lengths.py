"""The length of a container that nobody reads is a number of the host's: growing logs are free."""

import collections
import json

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import io_callback
from tests.contract.compare import X, case, module, raised, refused
from tests.contract.test_logs import EVENTS, LOGS, Trainer

pytestmark = pytest.mark.engine

CALLS = 12


class Sized(Trainer):
    """A trainer, and what helpers and proxies of users' look like."""

    def __init__(self):
        super().__init__()
        self.seen_texts, self.names = {"a"}, {"a": 0}
        self.ordered = collections.OrderedDict()

    def __len__(self):
        return len(self.log)

    def record(self, x):
        self.log.append(x)
        return len(self.log)


def table(*programs):
    return pytest.mark.parametrize("step", programs, ids=lambda f: f.__name__)


# ------------------------------------------------------------------------ one program


def in_arithmetic(t, x):
    t.log.append(x)
    return x * len(t.log) + 2 ** len(t.log) / (1 + len(t.history["loss"]))


def before_and_after(t, x):
    before = len(t.log)
    t.log.append(before)
    t.log.extend([x, before])
    t.log += [1]
    return x * before, len(t.log) - before


def in_texts(t, x):
    t.log.append(f"entry {len(t.log)}: {len(t.log) * 2:>5}")
    t.message = "%d entries of %s" % (len(t.log), str(len(t.nested[0])))  # noqa: UP031
    return x


def stored(t, x):
    t.n = len(t.log)
    t.history["loss"].append(len(t.log))
    t.log.append(t.n)
    return x


def as_an_index(t, x):
    return (
        lax.dynamic_slice(t.w, (len(t.log) % 2,), (2,)),
        jnp.roll(x, len(t.log)),
        t.w[len(t.log) % 3],
    )


def of_all_kinds(t, x):
    t.queue.append(x)
    t.recent.append(len(t.recent))
    t.curves.loss.append(1)
    sizes = len(t.queue), len(t.recent), len(t.seen), len(t.curves.loss), len(t.by_name)
    return x * sum(sizes) + len(t.ordered) * len(t.deep["test"])


def of_a_bounded_deque(t, x):
    t.recent.append(x)
    t.recent.append(x)
    return x * len(t.recent)


def by_a_method(t, x):
    return x * t.record(x) + len(t)


def of_a_variable(t, x):
    log, loss = t.log, t.history["loss"]
    n = len(log)
    loss.append(n)
    return x * n + len(loss)


def of_a_global(t, x):
    EVENTS.append(1)
    LOGS["loss"].append(x)
    return x * (len(EVENTS) + len(LOGS["loss"]))


def of_the_class(t, x):
    t.shared.append(x)
    return x * (len(t.shared) + len(Trainer.events))


def in_a_function_inside(t, x):
    def count():
        return len(t.log)

    return x * count() + (lambda: len(t.nested[0]))()


def of_known_keys(t, x):
    t.names["a"], t.names["new"] = x, len(t.names)
    t.seen_texts.add("a")
    t.seen_texts.add("b")
    return x * len(t.names), len(t.seen_texts)


def beside_items_of_a_dict(t, x):
    t.history["loss"].append(x)
    return x * len(t.history["loss"]) * len(t.history)


@table(
    in_arithmetic, before_and_after, in_texts, stored, as_an_index, of_all_kinds,
    of_a_bounded_deque, by_a_method, of_a_variable, of_a_global, of_the_class,
    in_a_function_inside, beside_items_of_a_dict,
)  # fmt: skip
def test_a_length_that_grows_is_one_program(step):
    def program(jit):
        for part in (Trainer.shared, Trainer.events, LOGS["loss"], EVENTS):
            part.clear()
        t, run = Sized(), jit(step)
        t.log += range(3)
        t.recent.append(2.0)
        t.recent.append(3.0)
        for _ in range(CALLS):
            yield run(t, X), t
            t.log.append("from outside")
            t.nested[0].append(1)
            t.queue.append(1)
            Trainer.events.append(2)

    case(traces=1)(program)()


@case(traces=2)
def test_keys_that_are_added_are_counted_once(jit):
    t, run = Sized(), jit(of_known_keys)
    for k in range(4):
        yield run(t, X), t
        t.names[f"key {k}"] = k
        t.seen_texts.add(f"text {k}")


def test_an_argument_and_a_cell():
    def program(jit):
        log = []

        def step(given, x):
            log.append(x)
            return x * len(given) + len(log)

        run = jit(step)
        for k in range(CALLS):
            yield run([0] * k, X), log

    case(traces=1)(program)()


# ------------------------------------------------------------------------ demands


def a_condition(t, x):
    t.log.append(x)
    return x * 2 if len(t.log) % 3 else x


def a_limit(t, x):
    if len(t.log) >= 4:
        t.log.clear()
    t.log.append(x)
    return x


def whether_it_is_empty(t, x):
    t.n = 0 if not len(t.log) else t.n + 1
    t.log.append(t.n)
    return x


@pytest.mark.parametrize(
    ("step", "count"),
    [(a_condition, 2), (a_limit, 2), (whether_it_is_empty, 2)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_a_length_decides_is_a_demand(step, count):
    def program(jit):
        t, run = Sized(), jit(step)
        for _ in range(CALLS):
            yield run(t, X), t

    case(at_most=count + 1)(program)()


def a_loop(t, x):
    t.log.append(x)
    for _ in range(len(t.log)):
        x = x + 1
    return x


def a_shape(t, x):
    t.log.append(x)
    return jnp.zeros(len(t.log))


def a_repeated_list(t, x):
    t.log.append(x)
    return [x] * len(t.log)


def what_json_takes(t, x):
    t.log.append(json.dumps({"n": len(t.log)}))
    return x


@table(a_loop, a_shape, a_repeated_list, what_json_takes)
def test_what_needs_the_number_is_a_program_for_each(step):
    def program(jit):
        t, run = Sized(), jit(step)
        for _ in range(3):
            yield run(t, X), t
        t.log.clear()
        for _ in range(3):
            yield run(t, X), t

    case(traces=3)(program)()


# ------------------------------------------------------------------------ reads beside it


def read_afterwards(t, x):
    n = len(t.log)
    t.log.append(x * 2)
    return x * n + t.log[-1] + t.log[0] * len(t.log)


def read_before(t, x):
    first = sum(t.log)
    return x * first * len(t.log)


def read_in_a_branch(t, x):
    t.log.append(1.0)
    if len(t.log) > 4:
        return x * sum(t.log)
    return x


def of_what_is_no_container(t, x):
    return x * len(x) * len("text") * len(range(t.n)) * len(t.pair) + len(f"{t.n}")


@table(read_afterwards, read_before, read_in_a_branch, of_what_is_no_container)
def test_lengths_of_what_is_read_are_right(step):
    def program(jit):
        t, run = Sized(), jit(step)
        t.log.append(1.5)
        for _ in range(5):
            yield run(t, X), t
            t.log.append(2.5)
            t.n += 1

    case(at_most=5)(program)()


def test_a_length_that_is_guarded_costs_a_call_nothing():
    """The prologue of a loop over all items by their indices asks for no length."""
    t = Sized()
    t.log += [1.0, 2.0]

    @ev.jit
    def step(t, x):
        for i in range(len(t.log)):
            x = x * t.log[i]
        return x

    step(t, X)
    assert "prologue" not in str(step.explain())


# ------------------------------------------------------------------------ other `len`s


def test_a_len_of_the_users_own():
    def program(jit):
        m = module(
            """
            class T:
                def __init__(self): self.log = [1]
            def len(x): return sum(x) * 10
            def step(t, x):
                t.log.append(2)
                return x * len(t.log)
            """
        )
        t, run = m.T(), jit(m.step)
        for _ in range(3):
            yield run(t, X), t
        del m.len
        for _ in range(3):
            yield run(t, X), t

    case(at_most=6)(program)()


@case(at_most=4)
def test_a_length_that_errors(jit):
    t, run = Sized(), jit(lambda t, x: x * len(t.n) if t.n else len(x, x))
    yield raised(run, t, X)
    t.n = 1
    yield raised(run, t, X)


@case(traces=1)
def test_in_branches_and_loops_of_programs(jit):
    def step(t, x):
        t.log.append(x)
        scaled = jit.cond(x[0] > 0, lambda x: x * len(t.log), lambda x: x - len(t.nested[0]), x)
        carry, _ = jit.scan(lambda c, y: (c + y * len(t.log), None), scaled, X)
        return carry

    t, run = Sized(), jit(step)
    for _ in range(3):
        yield run(t, X), t


@refused(ev.errors.ImpurityError, r"changes \w+\.log, which the jitted function uses after it")
def test_a_callback_that_makes_it_longer(jit):
    t = Sized()

    def step(t, x):
        io_callback(lambda: t.log.append(1), None, ordered=True)
        return x * len(t.log)

    jit(step)(t, X)
