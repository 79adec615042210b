"""Bodies that change state: loops carry it, branches join it, calls return it.

Every program is written once, over `ops`: `LaxOps`, or `PlainOps`, which is Python's own loops and
branches. Under `jit` with the former it must give, and leave behind, what the latter does. The
numbers are such that no rounding occurs, so results are compared exactly.
"""

import collections

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.control.stateful import XS, Box, LaxOps, PlainOps, X

pytestmark = pytest.mark.engine


class Slotted:
    """An object without a dict."""

    __slots__ = ("value",)


# ------------------------------------------------------------------------ places and constructs


def attribute(value):
    box = Box(value=value)

    def put(v):
        box.value = v

    return lambda: box.value, put


def slot(value):
    box = Slotted()
    box.value = value

    def put(v):
        box.value = v

    return lambda: box.value, put


def nested_object(value):
    box = Box(inner=Box(value=value), other=X)

    def put(v):
        box.inner.value = v

    return lambda: box.inner.value, put


def dict_entry(value):
    entries = {"a": X, "value": value}
    return lambda: entries["value"], lambda v: entries.__setitem__("value", v)


def list_item(value):
    items = [X, value]

    def put(v):
        items[1] = v

    return lambda: items[1], put


def deque_item(value):
    items = collections.deque([X, value])

    def put(v):
        items[1] = v

    return lambda: items[1], put


def closure_cell(value):
    def put(v):
        nonlocal value
        value = v

    return lambda: value, put


def global_variable(value):
    def put(v):
        global state_of_test
        state_of_test = v

    put(value)
    return lambda: state_of_test, put


def class_attribute(value):
    class Holder:
        pass

    Holder.value = value

    def put(v):
        Holder.value = v

    return lambda: Holder.value, put


def tuple_in_attribute(value):
    box = Box(value=(value, {"n": jnp.asarray(1)}))

    def put(v):
        box.value = (v, {"n": -box.value[1]["n"]})

    return lambda: box.value[0] + box.value[1]["n"], put


PLACES = [
    attribute, slot, nested_object, dict_entry, list_item, deque_item, closure_cell,
    global_variable, class_attribute, tuple_in_attribute,
]  # fmt: skip


def scan(ops, get, put, xs):
    def body(c, x):
        put(get() * 0.5 + x)
        return c + get(), get() * 2

    return ops.scan(body, jnp.zeros(3), xs)


def scan_that_never_reads(ops, get, put, xs):
    def body(c, x):
        put(x)
        return c + x, None

    return ops.scan(body, jnp.zeros(3), xs)


def nested_scans(ops, get, put, xs):
    def inner(c, x):
        put(get() * 0.5 + x)
        return c + get(), None

    def outer(c, x):
        c, _ = ops.scan(inner, c, jnp.stack([x, x * 2]))
        put(get() * 0.5)
        return c, get()

    return ops.scan(outer, jnp.zeros(3), xs)


def fori_loop(ops, get, put, xs):
    def body(i, c):
        put(get() * 0.5 + c)
        return c + i

    return ops.fori_loop(0, 3, body, xs[0])


def fori_loop_of_unknown_length(ops, get, put, xs):
    def body(i, c):
        put(get() * 0.5 + c)
        return c + i

    return ops.fori_loop(0, xs[0, 2].astype(int), body, xs[0])


def while_loop(ops, get, put, xs):
    def body(c):
        put(get() * 0.5 + c)
        return c * 2

    return ops.while_loop(lambda c: c.sum() < 40, body, xs[0])


def while_loop_until_state_is_large(ops, get, put, xs):
    def body(c):
        put(get() + c)
        return c + 1

    return ops.while_loop(lambda c: get().sum() < 30, body, xs[0])


def map_(ops, get, put, xs):
    def one(x):
        put(get() * 0.5 + x)
        return get() * 2

    return ops.map(one, xs)


def cond(ops, get, put, xs):
    def change(x):
        put(get() + x)
        return x

    first = ops.cond(xs[0, 0] > 0, change, lambda x: -x, xs[0])
    return first + ops.cond(xs[0, 0] < 0, change, lambda x: x + get(), xs[1])


def switch(ops, get, put, xs):
    def add(x):
        put(get() + x)
        return x

    def halve(x):
        put(get() * 0.5)
        return get() + 1

    return [ops.switch(i, [add, halve, lambda x: x * 2], x) for i, x in enumerate(xs)]


def cond_in_scan(ops, get, put, xs):
    def change(x):
        put(get() + x)
        return x

    def body(c, x):
        return c + ops.cond(x[0] > 0, change, lambda x: x + get(), x), None

    return ops.scan(body, jnp.zeros(3), xs)[0]


def checkpoint(ops, get, put, xs):
    def block(x):
        put(get() * 0.5 + x)
        return x * get()

    block = ops.checkpoint(block)
    return block(xs[0]) + block(xs[1])


def custom_jvp(ops, get, put, xs):
    @ops.custom_jvp
    def block(x):
        put(get() * 0.5 + x)
        return x * get()

    return block(xs[0]) + block(xs[1])


def custom_vjp_in_scan(ops, get, put, xs):
    @ops.custom_vjp
    def block(x):
        put(get() * 0.5 + x)
        return x * get()

    return ops.scan(lambda c, x: (c + block(x), None), jnp.zeros(3), xs)[0]


CONSTRUCTS = [
    scan, scan_that_never_reads, nested_scans, fori_loop, fori_loop_of_unknown_length, while_loop,
    while_loop_until_state_is_large, map_, cond, switch, cond_in_scan, checkpoint, custom_jvp,
    custom_vjp_in_scan,
]  # fmt: skip


def leaves_of(value):
    """Return what is in a tree as ndarrays."""
    return [np.asarray(x) for x in ev.tree.leaves(value)]


def check(program, place, start, traces=1):
    """Compare three calls of a program, compiled, with what plain Python gives and leaves."""
    get, put = place(start)
    want = [leaves_of((program(PlainOps(), get, put, XS), get())) for _ in range(3)]
    get, put = place(start)
    run = ev.jit(lambda xs: program(LaxOps, get, put, xs))
    got = [leaves_of((run(XS), get())) for _ in range(3)]
    for g, w in zip(got, want, strict=True):
        for a, b in zip(g, w, strict=True):
            np.testing.assert_array_equal(a, b)
    assert run.cache_info().misses == traces


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_changed_array(construct, place):
    check(construct, place, jnp.zeros(3))


# ------------------------------------------------------------------------ Python's numbers


def counting_scan(ops, get, put, xs):
    def body(c, x):
        put(get() + 1)
        return c + x * get(), None

    return ops.scan(body, jnp.zeros(3), xs)[0]


def counting_fori_loop(ops, get, put, xs):
    def body(i, c):
        put(get() + i)
        return c * get()

    return ops.fori_loop(0, 3, body, xs[0])


def counting_while_loop(ops, get, put, xs):
    def body(c):
        put(get() + 1)
        return c * 2

    return ops.while_loop(lambda c: get() % 4 < 3, body, xs[0])


def counting_cond(ops, get, put, xs):
    def change(x):
        put(get() + 1)
        return x * get()

    return ops.cond(xs[0, 0] > 0, change, lambda x: x, xs[0])


@pytest.mark.parametrize(
    "place", [attribute, nested_object, dict_entry, list_item, closure_cell, global_variable]
)
@pytest.mark.parametrize(
    "construct", [counting_scan, counting_fori_loop, counting_while_loop, counting_cond]
)
def test_changed_int_becomes_an_array_and_stays_one(construct, place):
    check(construct, place, 0, traces=2)  # an int at first, an array from then on


@pytest.mark.parametrize("construct", [checkpoint, custom_jvp])
def test_int_changed_in_a_call_stays_an_int(construct):
    box = Box(n=0, h=jnp.zeros(3))

    def put(v):
        box.n += 1
        box.h = v

    run = ev.jit(lambda xs: construct(LaxOps, lambda: box.h, put, xs))
    for calls in (1, 2, 3):
        run(XS)
        assert box.n == 2 * calls
        assert type(box.n) is int
    assert run.cache_info().misses == 1


def test_number_changes_its_type_to_that_of_the_body():
    box = Box(total=0)

    def body(c, x):
        box.total = box.total + x
        return c, None

    ev.jit(lambda xs: lax.scan(body, 0.0, xs))(jnp.asarray([0.5, 1.0]))
    assert box.total.dtype == np.float32
    assert float(box.total) == 1.5


def test_branches_that_leave_an_int_and_a_float():
    box = Box(k=1)

    def change():
        box.k = 0.5

    run = ev.jit(lambda x: lax.cond(x > 0, change, lambda: None))
    run(1.0)
    assert float(box.k) == 0.5
    box.k = 3
    run(-1.0)
    assert float(box.k) == 3.0


def test_flag():
    box = Box(seen=False)

    def body(c, x):
        box.seen = box.seen | (x > 2)
        return c, box.seen

    run = ev.jit(lambda xs: lax.scan(body, 0.0, xs)[1])
    assert run(jnp.arange(4.0)).tolist() == [False, False, False, True]
    assert bool(box.seen)
