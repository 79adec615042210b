"""Functions whose code is replaced: between calls it is seen, in a call it is refused."""

import pytest

import evertrace as ev
from tests.contract.compare import X, case

pytestmark = pytest.mark.engine


def _functions():
    def first(x):
        return x + 1

    def other(x):
        return x * 2

    return first, other


@case(traces=2)
def test_code_that_is_replaced_between_calls(jit):
    first, other = _functions()
    f = jit(lambda x: first(x))
    yield f(X), f(X)
    first.__code__ = other.__code__
    yield f(X), f(X)


def replaced_after_a_call(x, first, other):
    y = first(x)
    first.__code__ = other.__code__
    return y + first(x)


def replaced_before_any(x, first, other):
    first.__code__ = other.__code__
    return first(x)


def replaced_by_name(x, first, other):
    setattr(first, "__code__", other.__code__)  # noqa: B010 - as it is said
    return x


def replaced_by_one_of_its_own(x, first, other):
    def made(x):
        return x * 3

    first.__code__ = made.__code__
    return first(x)


def replaced_and_failing(x, first, other):
    first.__code__ = (lambda: None).__code__
    return first(x)


@pytest.mark.parametrize(
    "replace",
    [
        replaced_after_a_call,
        replaced_before_any,
        replaced_by_name,
        replaced_by_one_of_its_own,
        replaced_and_failing,
    ],
)
def test_code_that_is_replaced_in_a_call_is_refused(replace):
    first, other = _functions()
    before = first.__code__, other.__code__
    with pytest.raises(ev.errors.ImpurityError, match=r"first\.__code__` is set"):
        ev.jit(lambda x: replace(x, first, other))(X)
    assert (first.__code__, other.__code__) == before
    assert first(1) == 2


def test_a_function_that_compiles_itself_is_to_be_called_before():
    """As those of networkx do, at their first call."""

    def lazy(*args, me=None):
        me.__code__ = (lambda x: x * 5).__code__
        me.__kwdefaults__ = None
        return me(*args)

    lazy.__kwdefaults__ = {"me": lazy}
    with pytest.raises(ev.errors.ImpurityError, match="call it once before"):
        ev.jit(lazy)(X)
    assert lazy(2) == 10
    assert (ev.jit(lazy)(X) == X * 5).all()
