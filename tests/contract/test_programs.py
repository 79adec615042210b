"""Random stateful programs do with `jit` what they do without it; and the comparison has teeth."""

import ast
import contextlib
import copy
import functools
import sys
from collections import deque

import pytest

import evertrace as ev
from evertrace._src import extension
from tests.contract import interpret
from tests.contract.families import FAMILIES
from tests.contract.grammar import (
    ARGUMENTS,
    ATTRIBUTES,
    EXPRESSIONS,
    GLOBALS,
    RESULTS,
    STATEMENTS,
)
from tests.contract.minimise import Apart, Failure, in_process, minimise, run_seeds
from tests.contract.oracle import BadProgramError, Event, Program, compare
from tests.contract.programs import Maker, make
from tests.contract.snapshots import Snapshot

SHARDS, SEEDS_OF_A_SHARD = 40, 50
EACH_CHANGE = 20  # shards; `scripts/nightly` runs all of them
# Tapes are compiled in no time. Without them, four of five shards do without XLA, which takes long.
COMPILED_EVERY = 1 if extension.is_built() else 5
# Of each theme; what the C++ does not change is shown by fewer, `scripts/nightly` runs many more.
SEEDS_OF_A_THEME = 20  # with so many themes; `python -m tests.contract --theme` draws more

# ------------------------------------------------------------------------------ jit and Python


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize(
    "shard",
    [
        pytest.param(i, marks=[pytest.mark.nightly] * (i >= EACH_CHANGE), id=f"{i}")
        for i in range(SHARDS)
    ],
)
def test_jit_does_what_python_does(shard):
    first = shard * SEEDS_OF_A_SHARD
    interpreted = shard % COMPILED_EVERY != 0
    with interpret.interpreted() if interpreted else contextlib.nullcontext():
        tally = run_seeds(range(first, first + SEEDS_OF_A_SHARD), ev.jit, families=())
    fail_if_different(tally)
    # A generator whose programs always trace anew, are refused or raise would test nothing.
    counts = tally.counts
    assert counts["programs"] == SEEDS_OF_A_SHARD
    assert counts["hits"] > 0.25 * counts["calls"], tally.summary()
    assert counts["magnified"] <= 1, tally.summary()
    assert counts["refused"] < 0.03 * counts["calls"], tally.refusals
    assert counts["raised"] < 0.10 * counts["calls"], tally.errors


def fail_if_different(tally):
    if tally.failures:
        seeds = [failure.seed for failure in tally.failures]
        with Apart() as find:
            report = minimise(tally.failures[0], find).report()
        pytest.fail(f"seeds {seeds} differ; one of them, cut down:\n{report}", pytrace=False)


# Themes in which differences are known that are not mended yet.
OPEN: set[str] = set()


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_jit_does_what_python_does_about(family, request):
    if family.name in OPEN:
        request.applymarker(pytest.mark.xfail(reason="differences are known", strict=True))
    tally = run_seeds(range(SEEDS_OF_A_THEME), ev.jit, families=(family,), beside=True)
    fail_if_different(tally)
    assert tally.counts["programs"] == SEEDS_OF_A_THEME
    assert tally.counts["hits"] > 0


# ------------------------------------------------------------------------------- wrong jits


def names_of(fun):
    return vars(sys.modules[fun.__module__])


def faulty(after):
    """Return a `jit` that is atomic, as the real one, and then does something wrong."""

    def jit(fun, **_):
        seen = {}

        @functools.wraps(fun)
        def call(*args, **kwargs):
            before = Snapshot(names_of(fun))
            try:
                result = fun(*args, **kwargs)
            except Exception:
                before.restore()
                raise
            return after(fun, before, seen, result)

        return call

    return jit


def right(fun, before, seen, result):
    return result


def stale(fun, before, seen, result):
    return seen.setdefault("result", result)


def forgetful(fun, before, seen, result):
    before.restore()
    return result


def partly_forgetful(fun, before, seen, result):
    """Write back the first time only."""
    if "first" in seen:
        before.restore()
    seen["first"] = True
    return result


def careless(change):
    """Return a fault that changes lists, or objects, that the program's objects hold."""

    def after(fun, before, seen, result):
        for holder in list(names_of(fun).values()):
            if type(holder).__name__ == "Model" and hasattr(holder, "__dict__"):
                change(vars(holder))
        return result

    return after


@careless
def unalias(attributes):
    containers = {k: v for k, v in attributes.items() if isinstance(v, list | dict | set | deque)}
    attributes |= {k: copy.copy(v) for k, v in containers.items()}


@careless
def turn_into_floats(attributes):
    attributes |= {k: float(v) for k, v in attributes.items() if type(v) is int}


@careless
def reorder(attributes):
    for name in sorted(attributes):
        attributes[name] = attributes.pop(name)


@careless
def leave_something(attributes):
    attributes["_placeholder"] = None


def differing(jit, count=40):
    return run_seeds(range(count), jit, families=()).failures


def test_programs_agree_with_themselves():
    assert not [failure.report() for failure in differing(faulty(right))]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_programs_of_a_theme_agree_with_themselves(family):
    tally = run_seeds(range(4), faulty(right), families=(family,))
    assert not [failure.report() for failure in tally.failures]


@pytest.mark.parametrize(
    ("after", "least"),
    [
        (stale, 20),
        (forgetful, 30),
        (partly_forgetful, 20),
        (unalias, 1),
        (turn_into_floats, 10),
        (reorder, 10),
        (leave_something, 20),
    ],
)
def test_a_wrong_jit_is_caught(after, least):
    assert len(differing(faulty(after))) >= least


def test_an_error_of_evertrace_is_a_refusal_and_no_difference():
    def refusing(fun, **_):
        def call(*args, **kwargs):
            raise ev.errors.ImpurityError("no")

        return functools.wraps(fun)(call)

    tally = run_seeds(range(5), refusing)
    assert not tally.failures
    assert tally.counts["refused"] == tally.counts["calls"] > 0


# --------------------------------------------------------------------- what the comparison sees


def one_call(source, event="result = f()"):
    return Program(source, (Event(event, True),))


class Once:
    """A `jit` after whose calls a piece of code runs in the program's module."""

    def __init__(self, code):
        self.code = code

    def __call__(self, fun, **_):
        @functools.wraps(fun)
        def call(*args):
            result = fun(*args)
            exec(self.code, names_of(fun))
            return result

        return call


@pytest.mark.parametrize(
    ("source", "change", "told"),
    [
        ("n = 1", "n = 1.0", "['n'] is a float, not a int"),
        ("n = 1", "n = True", "['n'] is a bool, not a int"),
        ("z = 0.0", "z = -0.0", "['z'] is -0.0, not 0.0"),
        ("d = {'a': 1, 'b': 2}", "d['a'] = d.pop('a')", "['d'] consists of"),
        ("d = {}", "d = OrderedDict()", "['d'] is a OrderedDict, not a dict"),
        ("q = deque([1], 2)", "q = deque([1], 3)", "['q'].maxlen is 3, not 2"),
        ("a = b = [1]", "b = [1]", "['b'] is not the object"),
        ("a, b = [1], [1]", "b = a", "['b'] is an object that it is not"),
        ("x = jnp.ones(2)", "x = jnp.ones(2, jnp.int32)", "['x'] has dtype int32, not float32"),
        ("x = jnp.ones(2)", "x = jnp.ones(3)", "['x'] is float32[3], not float32[2]"),
        ("x = jnp.ones(2)", "x = x + 0.5", "['x'] is [1.5, 1.5], not"),
        ("x = jnp.ones(2)", "x = np.ones(2, np.float32)", "['x'] is a ndarray, not a Array"),
        ("x = np.ones(2)", "x[0] = 2", "['x'] is [2.0, 1.0], not [1.0, 1.0]"),
        ("x = np.array(['a', [1]], object)", "x[1][0] = 2", "['x'][1][0] is 2, not 1"),
        ("i = iter((1, 2))", "next(i)", "['i'] reduced 1 is 1, not 0"),
        ("i = iter((1, 2))", "[*i]", "['i'] consists of [' left'], not of [' reduced 0'"),
        ("s = {'a'}", "s.add('b')", "['s'] consists of"),
        ("def g(k=1): pass", "g.__defaults__ = (2,)", "['g'].__defaults__[0] is 2, not 1"),
        ("def g(): return 1", "g.__code__ = (lambda: 2).__code__", "['g'].__code__ is the code"),
        (
            "def make(n): return lambda: n\ng = make(1)",
            "g.__closure__[0].cell_contents = 2",
            "['g'] variable n in a cell is 2, not 1",
        ),
        ("class C: k = 1", "C.k = 2", "['C'].k is 2, not 1"),
        ("class C: pass", "C.__getattribute__ = object.__getattribute__", "['C'] consists of"),
        ("class C: __slots__ = ('k',)\nc = C()", "c.k = 1", "['c'] consists of ['.k'], not of []"),
        ("class C: pass\nclass D: pass\nc = C()", "c.__class__ = D", "['c'] is a D, not a C"),
        ("", "print('more')", "printed 'more"),
        ("", "raise KeyError('k')", "raised KeyError('k'), not None"),
    ],
)
def test_the_comparison_sees(source, change, told):
    program = one_call(f"{source}\n@jit\ndef f(): pass")
    assert told in compare(program, Once(change)).difference
    assert not compare(program, Once("")).difference


@pytest.mark.parametrize(
    ("by_jit", "differs", "magnified"),
    [
        ("x * 1.0", False, False),
        ("x * (1 + 1e-4)", True, False),  # by as much in double precision
        ("x + ((x + 1e4) - 1e4 - x)", False, True),  # by 1e-12 in double precision
        ("x + 1.0 * (x.dtype == 'f4')", True, False),  # wrong in single precision, but not slightly
    ],
)
def test_rounding_that_a_program_magnifies_is_told_by_double_precision(by_jit, differs, magnified):
    program = one_call("x = jnp.array([0.1, 0.2])\n@jit\ndef f(): return x * 1.0")

    def jit(fun, **_):
        return functools.wraps(fun)(lambda: eval(by_jit, names_of(fun)))

    outcome = compare(program, jit)
    assert (bool(outcome.difference), outcome.magnified) == (differs, magnified)


@pytest.mark.parametrize(
    ("value", "chaotic"),
    [
        ("jnp.sin(x * 1e9)", False),  # a start off by some 1e-15 ends off by 1e-7
        ("jnp.sin(x * 1e12)", True),
    ],
)
def test_a_program_is_not_compared_beyond_what_its_start_decides(value, chaotic):
    program = one_call(f"x = jnp.array([0.1, 0.2])\n@jit\ndef f(): return {value}")

    def jit(fun, **_):
        return functools.wraps(fun)(lambda: eval(f"{value} + 1e-3", names_of(fun)))

    outcome = compare(program, jit)
    assert (bool(outcome.difference), outcome.chaotic) == (not chaotic, chaotic)


@pytest.mark.parametrize(
    ("by_jit", "differs"),
    [("s.clear(); s.update([8, 16])", False), ("s.clear(); s.update([16, 8])", True)],
)
def test_a_set_that_has_lost_its_past_is_told_from_one_in_another_order(by_jit, differs):
    source = "s = set([0, 8, 16])\ns.discard(0)\n@jit\ndef f(): pass"  # 0 comes back first
    later = Event("s.add(0); first = next(iter(s))", False)
    outcome = compare(Program(source, (Event("f()", True), later)), Once(by_jit))
    assert (bool(outcome.difference), outcome.colliding) == (differs, not differs)


@pytest.mark.parametrize(
    ("returned", "by_jit", "differs"),
    [
        ("1", "jnp.asarray(1)", False),
        ("[0.5, True]", "[jnp.asarray(0.5), jnp.asarray(True)]", False),
        ("1", "jnp.asarray(1.0)", True),
        ("1", "jnp.asarray([1])", True),
        ("1", "jnp.asarray(2)", True),
        ("(1,)", "[1]", True),
        ("items", "list(items)", True),
    ],
)
def test_results_may_be_arrays_in_place_of_scalars(returned, by_jit, differs):
    program = one_call(f"items = [1]\n@jit\ndef f(): return {returned}")

    def jit(fun, **_):
        return functools.wraps(fun)(lambda: eval(by_jit, names_of(fun)))

    assert bool(compare(program, jit).difference) == differs


def test_a_snapshot_puts_everything_back_in_place():
    source = """
class C:
    k = 1
class S:
    __slots__ = ('a', 'b')
c, s, p = C(), S(), functools.partial(max, 1)
c.items, c.d, s.a, array = [1, [2]], {'a': 1, 'b': 2}, 1, np.ones(2)
def make(n):
    def g(k=1): return n
    return g
g = make(1)
"""
    change = """
c.items[1].append(3), c.items.append(4), c.d.update(a=c.d.pop('a')), setattr(c, 'new', 1)
s.b, C.k, C.m = 2, 2, 3
del s.a
c.__dict__ = dict(c.__dict__, more=1)
p.__setstate__((min, (2,), {}, {}))
array[0], g.__defaults__, g.__closure__[0].cell_contents, more = 5, (2,), 7, 1
raise ValueError('after all this')
"""
    changing = one_call(f"{source}\n@jit\ndef f(): exec({change!r}, globals())")
    outcome = compare(changing, lambda fun, **_: faulty(right)(fun))
    assert (outcome.difference, outcome.raised) == ("", ("ValueError: after all this",))
    assert compare(changing, lambda fun, **_: fun).difference


def test_a_snapshot_puts_back_that_a_variable_has_no_value():
    names = {"__name__": "program", "jit": None}
    exec("def make():\n  def f(): return late\n  return f\n  late = 1\nf = make()", names)
    before = Snapshot(names)
    names["f"].__closure__[0].cell_contents = 2
    before.restore()
    with pytest.raises(NameError):
        names["f"]()


# ------------------------------------------------------------------------------- the generator


def test_a_seed_determines_its_program():
    assert make(11) == make(11)
    assert make(11) != make(12)


def test_programs_are_of_a_readable_size():
    sources = [make(seed, ()).source.splitlines() for seed in range(100)]
    lengths = sorted(sum(bool(line.strip()) for line in lines) for lines in sources)
    assert lengths[0] >= 15
    assert lengths[50] <= 70


def test_a_program_that_cannot_run_is_the_generators_fault():
    with pytest.raises(BadProgramError, match="NameError"):
        compare(Program("undefined", ()), ev.jit)


def test_every_template_is_used():
    used = set()
    for seed in range(600):
        maker = Maker(seed, ())
        maker.program()
        used |= maker.writer.used
    tables = [*EXPRESSIONS.values(), STATEMENTS, RESULTS]
    assert {template for table in tables for _, template in table} <= used


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_template_of_a_theme_is_used(family):
    tables = (*family.expressions.values(), family.statements, family.results)
    unused = {template for table in tables for template in table}
    for seed in range(800):
        if not unused:
            break
        maker = Maker(seed, (family,))
        maker.program()
        unused -= maker.writer.used
    assert not unused


def test_no_two_themes_mean_something_else_by_one_name():
    """A program may have two of them."""
    meant = {("attributes", k): kind for k, kind in ATTRIBUTES.items()}
    meant |= {("globals", k): kind for k, kind in GLOBALS.items()}
    meant |= {("arguments", k): kind for k, kind in ARGUMENTS.items()}
    for family in FAMILIES:
        for node in ast.parse(family.source).body:
            for name in _defined(node):
                assert meant.setdefault(("globals", name), family.source) == family.source, name
        for table in ("attributes", "globals", "arguments"):
            for name, kind in getattr(family, table).items():
                assert meant.setdefault((table, name), kind) == kind, (table, name)


def _defined(node):
    if hasattr(node, "name"):
        return [node.name]
    names = [x for x in ast.walk(node) if isinstance(x, ast.Name)]
    return [x.id for x in names if isinstance(x.ctx, ast.Store)]


def test_a_failure_is_cut_down_to_its_cause():
    failure = differing(faulty(stale), 10)[0]
    small = minimise(failure, in_process(faulty(stale)))
    assert small.difference
    assert len(small.program.events) <= 3
    assert len(small.program.source) < 0.5 * len(failure.program.source)
    assert isinstance(small, Failure)
    assert f"seed {failure.seed}: event" in small.report()


@pytest.mark.parametrize(
    ("key", "differs"), [("'a'", False), ("'b' if jit(id) is id else 'a'", True)]
)
def test_an_event_that_calls_by_itself_and_raises_ends_the_program(key, differs):
    """Plain Python has changed something then, which nobody has noted; the errors are compared."""
    source = f"xs, d = [], {{'b': 1}}\ndef f(x):\n    xs.append(x)\n    return d[{key}]\n"
    program = Program(source, (Event("result = jit(f)(jnp.ones(2))", False),))
    assert bool(compare(program, ev.jit).difference) is differs


def test_a_program_that_does_not_end_is_no_smaller_failure():
    differs = Event("is_plain = type(jit) is type(lambda: 0)", False)
    waits = Program("import queue\nempty = queue.Queue()", (Event("empty.get()", False), differs))
    with Apart(seconds=3) as find:
        assert find(waits) == ""
        assert find._process is None  # it was ended
        find.seconds = 60
        assert "is_plain" in find(waits._replace(events=(differs,)))
