"""Attributes that a function changes: afterwards they are what plain Python would have left."""

import pytest

import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case

pytestmark = pytest.mark.engine


class Counter:
    """Counts its calls."""

    def __init__(self):
        self.n = 0

    def step(self):
        self.n += 1
        return self.n


@case(traces=1)
def test_counter_counts(jit):
    c = Counter()
    step = jit(c.step)
    for _ in range(3):
        yield step(), c
    c.n = 0
    yield step(), c


@case(traces=1)
def test_decorated_method_counts_for_every_instance(jit):
    class Decorated(Counter):
        @jit
        def step(self):
            self.n += 1
            return self.n

    a, b = Decorated(), Decorated()
    yield a.step(), a.step(), b.step(), a.step(), a, b


@case(traces=2)
def test_counter_with_a_limit_makes_two_variants(jit):
    class Limited(Counter):
        limit = 3

        def step(self):
            self.n += 1
            if self.n > self.limit:
                self.n = 0
            return self.n

    c = Limited()
    step = jit(c.step)
    for _ in range(9):
        yield step(), c


@case(traces=1)
def test_arrays_are_updated(jit):
    class Momentum:
        def __init__(self):
            self.w, self.v, self.rate = jnp.ones(3), jnp.zeros(3), 0.1

        def step(self, g):
            self.v = 0.9 * self.v + g
            self.w = self.w - self.rate * self.v
            return self.w.sum()

    m = Momentum()
    step = jit(m.step)
    for _ in range(3):
        yield step(X), m
    m.v = jnp.zeros(3)
    m.rate = 1.0
    yield step(X), m


@case(traces=2)
def test_attribute_made_at_the_first_call(jit):
    class Lazy:
        def step(self, x):
            if not hasattr(self, "m"):
                self.m = jnp.zeros_like(x)
            self.m = self.m + x
            return self.m

    lazy = Lazy()
    step = jit(lazy.step)
    for _ in range(3):
        yield step(X), lazy
    del lazy.m
    yield step(X), lazy


@case(traces=2)
def test_attribute_is_deleted(jit):
    class Once:
        def __init__(self):
            self.w, self.pending = jnp.ones(3), jnp.ones(3)

        def step(self):
            if hasattr(self, "pending"):
                self.w = self.w + self.pending
                del self.pending
            return self.w

    once = Once()
    step = jit(once.step)
    for _ in range(3):
        yield step(), once
    once.pending = jnp.arange(3.0)
    yield step(), once


@case(traces=1)
def test_swap(jit):
    s = Record(a=jnp.zeros(3), b=jnp.ones(3))

    def swap():
        s.a, s.b = s.b, s.a

    swap = jit(swap)
    a, b = s.a, s.b
    for _ in range(3):
        yield swap(), s
        yield s.a is a, s.b is b


@case(traces=1)
def test_swap_of_objects_keeps_the_objects(jit):
    s = Record(a=Counter(), b=Counter())

    def swap():
        s.a.n += 1
        s.a, s.b = s.b, s.a

    swap = jit(swap)
    a, b = s.a, s.b
    for _ in range(3):
        swap()
        yield s, s.a is a, s.a is b, s.b is a, s.b is b


@case(traces=2)
def test_demanded_bool_is_left_as_a_bool(jit):
    class Watch(Counter):
        late = None

        def step(self):
            self.n += 1
            self.late = self.n > 2

    w = Watch()
    step = jit(w.step)
    for _ in range(4):
        yield step(), w


@case(at_most=4)
def test_string_made_of_a_number(jit):
    class Named(Counter):
        def step(self):
            self.n += 1
            self.name = f"run {self.n:02d}"

    c = Named()
    step = jit(c.step)
    for _ in range(3):
        yield step(), c
    c.n = 0
    yield step(), c


@case(traces=1)
def test_every_way_to_set_an_attribute(jit):
    class Bag:
        def __init__(self):
            self.a = self.b = self.c = self.d = 0

        def step(self, x):
            self.a = x
            setattr(self, "b", 2 * x)  # noqa: B010
            object.__setattr__(self, "c", 3 * x)
            vars(self)["d"] = 4 * x
            self.__dict__.update(e=5 * x)

    bag = Bag()
    step = jit(bag.step)
    yield step(1.0), bag
    bag.a = bag.b = bag.c = bag.d = bag.e = None
    yield bag


@case(at_most=2)
def test_every_way_to_delete_an_attribute(jit):
    class Bag:
        def step(self):
            del self.a
            delattr(self, "b")
            object.__delattr__(self, "c")
            del vars(self)["d"]

    bag = Bag()
    step = jit(bag.step)
    for value in (1, 2, jnp.ones(3)):
        bag.a = bag.b = bag.c = bag.d = value
        yield step(), bag


@case(traces=1)
def test_custom_setattr_runs(jit):
    class Logged:
        def __init__(self):
            object.__setattr__(self, "log", [])
            self.w = 0.0

        def __setattr__(self, name, value):
            self.log.append(name)
            object.__setattr__(self, name, value)

        def step(self, x):
            self.w = self.w + x
            self.v = x * 2

    s = Logged()
    step = jit(s.step)
    s.w = s.v = jnp.zeros(3)
    for _ in range(3):
        yield step(X), s


@case(traces=1)
def test_nested_object_is_changed(jit):
    trainer = Record(opt=Record(t=0, rate=0.5), w=jnp.ones(3))

    def step(g):
        trainer.opt.t += 1
        trainer.w = trainer.w - trainer.opt.rate / trainer.opt.t * g

    step = jit(step)
    for _ in range(3):
        yield step(X), trainer
    trainer.opt = Record(t=10, rate=0.25)
    yield step(X), trainer


@case(traces=1)
def test_object_argument_is_changed(jit):
    @jit
    def step(state, x):
        state.w = state.w + x
        state.n += 1
        return state

    s = Record(w=jnp.zeros(3), n=0)
    t = Record(w=jnp.ones(3), n=5)
    for state in (s, t, s):
        yield step(state, X) is state, state


@case(traces=1)
def test_class_attribute_is_changed(jit):
    class Model:
        made = 0

        def step(self, x):
            type(self).made += 1
            return x * type(self).made

    m = Model()
    step = jit(m.step)
    for _ in range(3):
        yield step(X), Model.made, m
    Model.made = 10
    yield step(X), Model.made, m


@case(traces=1)
def test_class_method_changes_the_class(jit):
    class Model:
        total = 0.0

        @classmethod
        def add(cls, x):
            cls.total = cls.total + x
            cls.calls = 1

        def step(self, x):
            self.add(x)
            return self.total

    Model.calls = 0
    Model.total = jnp.zeros(3)
    m = Model()
    step = jit(m.step)
    for _ in range(3):
        yield step(X), Model.total, Model.calls, m


@case(traces=1)
def test_written_value_is_read_back(jit):
    class Pos:
        def __init__(self):
            self.pos = 0

        def step(self, x):
            self.pos = 0  # written, though it may be what it was
            self.pos = self.pos + 1
            return x * self.pos

    p = Pos()
    step = jit(p.step)
    for p.pos in (0, 5, 1, 0):
        yield step(X), p


@case(traces=1)
def test_result_uses_the_old_and_the_new_value(jit):
    s = Record(w=jnp.ones(3))

    def step(x):
        old = s.w
        s.w = s.w * 2 + x
        return old - s.w

    step = jit(step)
    for _ in range(3):
        yield step(X), s


@case(traces=1)
def test_many_writes_in_a_loop(jit):
    s = Record(w=jnp.ones(3), n=0)

    def step(x):
        for _ in range(3):
            s.n += 1
            s.w = s.w + x * s.n

    step = jit(step)
    for _ in range(3):
        yield step(X), s


@case(traces=2)
def test_type_of_a_scalar_changes(jit):
    s = Record(n=64)

    def halve():
        s.n = s.n / 2

    halve = jit(halve)
    for _ in range(4):
        yield halve(), s
    s.n = 8
    yield halve(), s


@case(traces=2)
def test_scalar_becomes_an_array(jit):
    s = Record(total=0)

    def add(x):
        s.total = s.total + x

    add = jit(add)
    for _ in range(3):
        yield add(X), s


@case(traces=1)
def test_argument_is_stored(jit):
    s = Record(x=None, y=None)

    def keep(x):
        s.x = x
        s.y = x * 2

    keep = jit(keep)
    s.x = s.y = jnp.zeros(3)
    for x in (jnp.ones(3), jnp.arange(3.0)):
        keep(x)
        yield s, s.x is x


@case(traces=1)
def test_new_object_each_call(jit):
    class Result:
        def __init__(self, loss, n):
            self.loss, self.n = loss, n

    s = Record(last=None, n=0)

    def step(x):
        s.n += 1
        s.last = Result(x * s.n, s.n)

    step = jit(step)
    kept = []
    for _ in range(3):
        step(X)
        kept.append(s.last)
        yield kept
    yield kept[0] is kept[1], kept[1] is kept[2], type(kept[0]) is Result
    kept[0].n = 100
    yield kept


@case(traces=1)
def test_new_object_shared_by_two_attributes(jit):
    s = Record()

    def step(x):
        made = Record(x=x * 2, tags=["a"])
        s.a = s.b = made
        return made

    step = jit(step)
    s.a = s.b = None
    got = step(X)
    yield s, s.a is s.b, got is s.a
    got.tags.append("b")
    yield s


@case(traces=1)
def test_new_cyclic_object(jit):
    s = Record(root=0)

    def step(x):
        root = Record(x=x + 1, child=Record(x=x + 2))
        root.child.parent = root
        s.root = root

    step = jit(step)
    step(X)
    yield s, s.root.child.parent is s.root


@case(at_most=2)
def test_linked_list_grows_at_its_head(jit):
    class Node:
        def __init__(self, value, following):
            self.value, self.following = value, following

    s = Record(head=None)

    def push(x):
        s.head = Node(x * 2, s.head)

    push = jit(push)
    for _ in range(4):
        yield push(X), s


@case(traces=1)
def test_unread_attribute_is_overwritten(jit):
    s = Record(last=None)

    def step(x):
        s.last = x + 1

    step = jit(step)
    for s.last in (None, "text", [1], jnp.ones(3)):
        yield step(X), s


@case(traces=1)
def test_order_of_attributes_is_pythons(jit):
    s = Record(a=1, b=2)

    def step():
        del s.a
        s.c = 3
        s.a = 4

    step = jit(step)
    yield step(), s, list(vars(s))


@case(traces=1)
def test_constant_left_behind(jit):
    s = Record()

    def step(x):
        s.flag, s.name, s.shape, s.none, s.pair = True, "set", x.shape, None, (1, 2.5)

    step = jit(step)
    for _ in range(2):
        vars(s).update(flag=0, name=0, shape=0, none=0, pair=0)
        yield step(X), s


@case(traces=1)
def test_new_list_is_made_each_call(jit):
    s = Record(xs=None)

    def step(x):
        s.xs = [x, {"k": x + 1}]

    step = jit(step)
    step(X)
    first = s.xs
    first.append("mine")
    s.xs = None
    step(X)
    yield first, s.xs, first is s.xs


@case(traces=2)
def test_value_written_depends_on_a_branch(jit):
    s = Record(on=True, w=jnp.zeros(3), n=0)

    def step(x):
        if s.on:
            s.w = s.w + x
        else:
            s.n += 1
        s.on = not s.on

    step = jit(step)
    for _ in range(4):
        yield step(X), s
