"""Programs that nobody wrote for `jit` do with it what they do without."""

import copy

import pytest

import evertrace as ev
from tests.contract.foreign import Subject, examine, standard_library, textbook

SUBJECTS = textbook() + standard_library()
EVERY = 8  # one of so many runs each time, the others in the slow tests

# What is refused, and in which words.
REFUSED = {
    "structures.Vec2": "is a generator function",
    "datetime.datetime": "what it holds cannot be seen",
    "functools.cmp_to_key": "a type that the function has made",
    "collections.OrderedDict": "a weakref.ProxyType",
    "posixpath.relpath": "os.getcwd",
    "shlex.quote": "a builtin_method",
}
# What keeps a table in a global that the first call fills: the next one is in another situation.
FILLS_GLOBALS = {"urllib.parse.unquote", "base64.b85encode", "base64.b32decode"}
# What asks for the identity of an object, or draws from a generator in C, which another one has.
ASKS_FOR_IDENTITY = {"copy.deepcopy", "pprint.pformat", "random.Random"}


def _parameters():
    for i, subject in enumerate(SUBJECTS):
        marks = [] if i % EVERY == 0 else [pytest.mark.slow]
        yield pytest.param(subject, marks=marks, id=subject.name)


@pytest.mark.engine
@pytest.mark.parametrize("subject", list(_parameters()))
def test_jit_does_what_python_does(subject):
    finding = examine(subject)
    if subject.name in REFUSED:
        assert finding.verdict == "refused"
        assert REFUSED[subject.name] in finding.text
    elif subject.name in FILLS_GLOBALS | ASKS_FOR_IDENTITY:
        assert finding.verdict in ("same", "needless retrace"), finding
    else:
        assert finding.verdict == "same", finding


def test_they_are_many_and_each_is_called_more_than_once():
    names = [subject.name for subject in SUBJECTS]
    assert len(set(names)) == len(names) >= 300
    calls = sum(len(subject.steps) for subject in SUBJECTS)
    assert calls >= 3 * len(names)


class Accumulator:
    def __init__(self):
        self.total, self.seen = 0, []

    def add(self, x):
        self.total += x
        self.seen.append(x)
        if x > 5:
            raise ValueError("large", x)
        return self.total


ACCUMULATOR = Subject("accumulator", Accumulator, (("add", (1,)), ("add", (2,)), ("add", (7,))))


class Wrong:
    """A `jit` that does something wrong."""

    def __init__(self, after):
        self._after = after

    def __call__(self, fun):
        def call(*args):
            return self._after(fun, args)

        call.cache_info = lambda: ev.jit(lambda: None).cache_info()
        return call


def stale(fun, args):
    return min(fun(*args), 1)


def forgetful(fun, args):
    before = copy.deepcopy(vars(fun.__self__))
    result = fun(*args)
    vars(fun.__self__).update(before)
    return result


def halfway(fun, args):
    return fun(*args)


def floating(fun, args):
    fun.__self__.total = float(fun.__self__.total)
    return fun(*args)


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (stale, "result is 1, not 3"),
        (forgetful, ".total is 0, not 1"),
        (halfway, ".total is 10, not 3"),  # what raised has changed something
        (floating, ".total is a float, not a int"),
    ],
)
def test_the_oracle_sees(after, told):
    finding = examine(ACCUMULATOR, Wrong(after))
    assert finding.verdict == "silent difference"
    assert told in finding.text
