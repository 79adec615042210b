"""What a body must not do to state: the error names the line that does it."""

import random
import sys
import time

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

pytestmark = pytest.mark.quotes_lines

XS = jnp.arange(3.0)
log, table, names = [], {}, set()


class Holder:
    pass


holder = Holder()
holder.seen = []


def note(value):
    doubled = value * 2
    log.append(doubled)  # helper


def by_helper(xs):
    def body(carry, x):
        note(carry)
        return carry + x, x

    return lax.scan(body, 0.0, xs)


def after_a_call(xs):
    def body(carry, x):
        log.append(one_more(carry))  # after
        return carry + x, x

    return lax.scan(body, 0.0, xs)


def one_more(value):
    return value + 1


def in_an_attribute(xs):
    def body(carry, x):
        carry = carry + x
        holder.seen.append(carry)  # attribute
        return carry, x

    return lax.scan(body, 0.0, xs)


def a_new_attribute(xs):
    def body(i, carry):
        carry = carry + i
        holder.fresh = carry  # fresh
        return carry

    return lax.fori_loop(0, xs.astype(int)[2], body, 0.0)


def a_key(xs):
    def body(carry):
        table["last"] = carry  # key
        return carry + 1

    return lax.while_loop(lambda carry: carry < 3, body, xs[0])


def a_member(xs):
    def body(carry, x):
        names.add("x")  # member
        return carry, x

    return lax.scan(body, 0.0, xs)


def in_a_branch(xs):
    def double(x):
        x = x * 2
        log.append(x)  # branch
        return x

    return lax.cond(xs[0] > 0, double, lambda x: x, xs)


def in_a_condition(xs):
    def goes_on(carry):
        log.append(carry)  # condition
        return carry < 3

    return lax.while_loop(goes_on, lambda carry: carry + 1, xs[0])


def in_a_function_of_two(xs):
    def add(a, b):
        both = a + b
        holder.both = both  # two
        return both

    return lax.associative_scan(add, xs)


def in_an_object_of_the_call(xs):
    def double(given):
        given.seen = given.seen * 2  # object
        return given.seen

    given = Holder()
    given.seen = xs
    return ev.vmap(double)(given)


STATE = {
    "helper": by_helper,
    "after": after_a_call,
    "attribute": in_an_attribute,
    "fresh": a_new_attribute,
    "key": a_key,
    "member": a_member,
    "branch": in_a_branch,
    "condition": in_a_condition,
    "two": in_a_function_of_two,
    "object": in_an_object_of_the_call,
}


def clock(xs):
    def body(carry, x):
        carry = carry + x
        return carry + time.time(), x  # clock

    return lax.scan(body, 0.0, xs)


def printed(xs):
    def body(carry, x):
        carry = carry + x
        print("the sum is", time.ctime())  # printed
        return carry, x

    return lax.scan(body, 0.0, xs)


def drawn(xs):
    def body(carry, x):
        carry = carry + x
        return carry * random.random(), x  # drawn

    return lax.scan(body, 0.0, xs)


CALLS = {"clock": clock, "printed": printed, "drawn": drawn}


def check_named(call, mark):
    with pytest.raises(Exception, match=r"the (body|function) ") as caught:
        call(XS)
    line = next(x for x in str(caught.value).splitlines() if x.startswith("  at "))
    assert line.endswith(f"# {mark}"), line


@pytest.mark.parametrize("wrap", [lambda f: f, ev.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("mark", STATE)
def test_the_line_that_changes_state_is_named(mark, wrap):
    check_named(wrap(STATE[mark]), mark)
    assert (log, table, names, vars(holder)) == ([], {}, set(), {"seen": []})


@pytest.mark.parametrize("mark", CALLS)
def test_the_line_that_calls_what_is_called_once_is_named(mark):
    check_named(ev.jit(CALLS[mark]), mark)


def test_a_debugger_goes_on_and_the_construct_is_named():
    seen = []

    def follow(frame, event, arg):
        seen.append(event)

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        with pytest.raises(TypeError, match="adds to or removes from") as caught:
            by_helper(XS)
        assert sys.gettrace() is follow
    finally:
        sys.settrace(before)
    assert "return lax.scan(body, 0.0, xs)" in str(caught.value)
    assert seen
    assert sys.gettrace() is before
