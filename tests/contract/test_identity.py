"""Identity and aliasing: one object inside is one object outside, and two are two."""

import copy
import math
import operator

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from tests.contract.compare import Record, X, case, module

pytestmark = pytest.mark.engine


@case(traces=2)
def test_two_attributes_are_one_array(jit):
    w = jnp.ones(3)
    s = Record(a=w, b=w)
    f = jit(lambda x: x + 1 if s.a is s.b else x - 1)
    yield f(X)
    s.b = jnp.ones(3)
    yield f(X)
    s.a = s.b
    yield f(X)


@case(traces=2)
def test_two_attributes_are_one_object(jit):
    a, b = Record(k=1.0), Record(k=1.0)
    s = Record(first=a, second=a)

    def step(x):
        s.first.k = s.first.k + 1
        return x * s.second.k

    step = jit(step)
    yield step(X), s
    s.second = b
    yield step(X), s
    s.first = b
    yield step(X), s


@case(traces=1)
def test_shared_array_is_changed_in_one_place(jit):
    w = jnp.ones(3)
    s = Record(a=w, b=w)

    def step(x):
        s.a = s.a + x

    step = jit(step)
    yield step(X), s, s.b is w, s.a is s.b


@case(at_most=2)
def test_alias_made_inside(jit):
    s = Record(a=jnp.ones(3), b=jnp.zeros(3))

    def step(x):
        s.a = s.a + x
        s.b = s.a

    step = jit(step)
    for _ in range(3):
        yield step(X), s, s.a is s.b


@case(traces=1)
def test_return_self(jit):
    class Chain:
        def __init__(self):
            self.w = jnp.ones(3)

        def scale(self, k):
            self.w = self.w * k
            return self

    c = Chain()
    scale = jit(c.scale)
    yield scale(2.0) is c, scale(3.0) is c, c


@case(traces=1)
def test_unchanged_attribute_is_the_very_object(jit):
    s = Record(w=jnp.ones(3), items=[1, 2], cfg={"k": 1.0}, n=10**20)
    before = dict(vars(s))

    def f(x):
        return x * s.w + s.items[0] + s.cfg["k"] + s.n % 7

    f = jit(f)
    yield f(X), s, [vars(s)[k] is v for k, v in before.items()]


@case(traces=1)
def test_list_is_changed_in_place_not_replaced(jit):
    items = [1.0]
    s = Record(items=items)

    def step(x):
        s.items += [x]
        s.items[0] = s.items[0] + 1
        s.items.pop()

    step = jit(step)
    for _ in range(2):
        yield step(X), s.items is items, items


@case(traces=1)
def test_replaced_list_leaves_the_old_one(jit):
    items = [1.0]
    s = Record(items=items)

    def step(x):
        s.items = [*s.items[:1], x]

    step = jit(step)
    step(X)
    yield s.items is items, items, s


@case(traces=1)
def test_object_moves_between_containers(jit):
    a, b = Record(k=1.0), Record(k=2.0)
    s = Record(todo=[a], done={"b": b})

    def step(x):
        s.done["a"] = s.todo.pop()
        s.todo.append(s.done.pop("b"))
        s.todo[0].k = s.todo[0].k + 1
        return x

    step = jit(step)
    step(X)
    yield s, s.done["a"] is a, s.todo[0] is b


@case(traces=1)
def test_tuple_holding_objects_keeps_them(jit):
    a, b = Record(k=1.0), Record(k=2.0)
    s = Record(pair=(a, b))
    pair = s.pair

    def step(x):
        s.other = s.pair
        s.pair = s.pair[::-1]
        s.pair[0].k = s.pair[0].k * 2
        return x

    step = jit(step)
    step(X)
    yield s, s.pair[0] is b, s.pair[1] is a, s.other is pair


@case(traces=2)
def test_identity_of_an_object_found_in_a_list(jit):
    a, b = Record(k=1.0), Record(k=2.0)
    s = Record(items=[a, b], best=a)
    f = jit(lambda x: x * next(i for i, item in enumerate(s.items) if item is s.best))
    yield f(X)
    s.best = b
    yield f(X)
    s.items.reverse()
    yield f(X)


@case(traces=2)
def test_identity_with_a_global_object(jit):
    m = module("default = object()\ndef f(x, how=default): return x if how is default else -x")
    f = jit(m.f)
    yield f(X), f(X, 1.0), f(X)


@case(at_most=2)
def test_sentinel_of_a_class(jit):
    class Missing:
        pass

    missing = Missing()

    def f(x, k):
        return x if k is missing else x * 2

    f = jit(f)
    yield f(X, missing), f(X, Missing()), f(X, missing)


@case(traces=2)
def test_lambdas_of_one_code_are_told_apart(jit):
    def make(k):
        return lambda x: x * k

    relu, other = make(1.0), make(1.0)
    s = Record(act=relu)
    f = jit(lambda x: s.act(x) + 1 if s.act is relu else s.act(x))
    yield f(X)
    s.act = other
    yield f(X)
    s.act = relu
    yield f(X)


@case(at_most=3)
def test_id_is_a_demand(jit):
    a, b = Record(k=1.0), Record(k=2.0)
    s = Record(now=a, seen={id(a): 10.0})
    f = jit(lambda x: x * s.seen.get(id(s.now), s.now.k))
    yield f(X)
    s.now = b
    yield f(X)
    s.seen[id(b)] = 5.0
    yield f(X)


@case(at_most=3)
def test_hash_by_identity_is_a_demand(jit):
    a, b = Record(k=1.0), Record(k=2.0)
    s = Record(now=a)
    f = jit(lambda x: x + 1 if hash(s.now) == hash(a) else x - 1)
    for s.now in (a, b, a):
        yield f(X)


@case(traces=1)
def test_object_found_by_two_paths_in_two_orders(jit):
    shared = Record(k=1.0)
    s = Record(a=shared, items=[shared], d={"x": shared})

    def step(x):
        s.items[0].k = s.items[0].k + 1
        s.d["x"].k = s.d["x"].k * 2
        return x * s.a.k

    step = jit(step)
    for _ in range(2):
        yield step(X), s


@case(traces=3)
def test_new_objects_are_never_old_ones(jit):
    s = Record(nodes=[])

    def step(x):
        s.nodes = [*s.nodes[-1:], Record(x=x), Record(x=x + 1)]
        return len(s.nodes)

    step = jit(step)
    seen = []
    for _ in range(3):
        yield step(X), s
        seen.extend(s.nodes)
    yield len({id(n) for n in seen})


@case(traces=1)
def test_results_share_what_they_share(jit):
    s = Record(out=None)

    def f(x):
        part = [x * 2]
        s.out = {"part": part}
        return part, {"again": part}

    f = jit(f)
    part, again = f(X)
    yield part is again["again"], part is s.out["part"], part, s


@case(traces=1)
def test_result_array_is_the_stored_one(jit):
    s = Record(w=jnp.ones(3))

    def step(x):
        s.w = s.w + x
        return s.w

    step = jit(step)
    yield step(X) is s.w, s


@case(traces=1)
def test_array_passed_through_is_the_very_array(jit):
    s = Record(w=jnp.ones(3))
    f = jit(lambda x: (s.w, x * 2))
    yield f(X)[0] is s.w


@case(traces=1)
def test_graph_with_a_cycle_is_rewired(jit):
    a, b, c = Record(k=1.0), Record(k=2.0), Record(k=3.0)
    a.next, b.next, c.next = b, c, a
    s = Record(start=a)

    def step(x):
        first = s.start
        first.next.next.next, first.next, s.start = first.next, first.next.next, first.next
        return x * s.start.k

    step = jit(step)
    yield step(X), s, a, b, c


@case(traces=1)
def test_doubly_linked_insertion(jit):
    head, tail = Record(v=0.0, prev=None), Record(v=1.0, next=None)
    head.next, tail.prev = tail, head

    def insert(x):
        node = Record(v=x, prev=head, next=head.next)
        head.next.prev = node
        head.next = node

    insert = jit(insert)
    insert(X)
    yield head, head.next.next is tail, tail.prev is head.next


# ------------------------------------------------------------------- numbers and texts


def fresh(value):
    """Return an object of its own that equals a number or text."""
    return type(value)(repr(value)) if type(value) is not str else "".join([*value])


UNSET, BIG, WORD = float("nan"), 10**20, fresh("unset")


@pytest.mark.parametrize("sentinel", [UNSET, math.inf, BIG, 1.5, 2.5 + 1j, WORD])
def test_sentinel_is_told_from_its_equals(sentinel):
    @case(traces=2)
    def program(jit):
        f = jit(lambda x, k=sentinel: x if k is sentinel else x * 2)
        for k in (sentinel, fresh(sentinel), sentinel, fresh(sentinel)):
            yield f(X, k)
        yield f(X)

    program()


@case(traces=2)
def test_counter_compared_with_a_sentinel_is_one_program(jit):
    s = Record(step=0, stop=BIG)

    def step(x):
        s.step += 1
        return x if s.step is s.stop else x * s.step

    step = jit(step)
    for _ in range(5):
        yield step(X), s
    s.step, s.stop = 6, 7  # small integers are one object
    yield step(X), s


@case(traces=2)
def test_two_attributes_are_one_number(jit):
    s = Record(a=BIG, b=fresh(BIG))
    f = jit(lambda x: x if s.a is s.b else x * 2)
    yield f(X)
    s.b = s.a
    yield f(X)
    s.a = s.b = fresh(BIG)
    yield f(X)


@case(traces=2)
def test_two_attributes_are_one_text(jit):
    s = Record(a=WORD, b=fresh(WORD))
    f = jit(lambda x: x * 2 if s.a is not s.b else x)
    yield f(X)
    s.b = s.a
    yield f(X)
    s.a, s.b = fresh(WORD), fresh(WORD)
    yield f(X)


@case(traces=2)
def test_text_at_two_places_is_compared_with_a_third(jit):
    s = Record(a=WORD, b=WORD, c=WORD)
    f = jit(lambda x: (x, s.b)[0] if s.a is s.c else x * len(s.b))
    yield f(X)
    s.c = fresh(WORD)
    yield f(X)
    s.a = s.c
    yield f(X)


ASKED = {
    "is not": lambda x, a, b: x if a is not b else x * 2,
    "value": lambda x, a, b: x * (a is b),
    "chain": lambda x, a, b: x if a is b is not None else x * 2,
    "comprehension": lambda x, a, b: [x for k in (a, b, None) if k is a],
    "inner function": lambda x, a, b: (lambda: x if a is b else x * 2)(),
    "conditional operand": lambda x, a, b: x if a is (b if x.ndim else a) else x * 2,
    "operator.is_": lambda x, a, b: x if operator.is_(a, b) else x * 2,
    "operator.is_not": lambda x, a, b: x if operator.is_not(a, b) else x * 2,
    "id": lambda x, a, b: x if id(a) == id(b) else x * 2,
    "in a list": lambda x, a, b: x if a in [b] else x * 2,
    "index": lambda x, a, b: x * [0.0, b, a].index(a),
    "==  of lists": lambda x, a, b: x if [a] == [b] else x * 2,
    "a key": lambda x, a, b: x * {b: 3.0}.get(a, 2.0),
    "== of numbers": lambda x, a, b: x if a == b else x * 2,
}


@pytest.mark.parametrize("how", ASKED)
@pytest.mark.parametrize("value", [UNSET, BIG, 1.5, WORD])
def test_identity_is_asked_by(how, value):
    @case(at_most=4)
    def program(jit):
        f = jit(ASKED[how])
        for a, b in ((1.5, 2.5), (value, value), (value, fresh(value)), (2.0, 2.5)):
            yield f(X, a, b)

    program()


NUMBERS = [UNSET, fresh(UNSET), 1.5, fresh(1.5), math.inf, BIG, WORD, 2.5 + 1j, True]


@pytest.mark.parametrize("how", ["is not", "chain", "in a list", "==  of lists", "== of numbers"])
@pytest.mark.parametrize("first", NUMBERS)
@pytest.mark.parametrize("second", NUMBERS)
def test_call_after_another_has_its_own_answer(how, first, second):
    @case()
    def program(jit):
        f = jit(ASKED[how])
        for pair in ((first, second), (UNSET, UNSET), (UNSET, first), (second, second)):
            yield f(X, *pair)

    program()


COMPUTED = {
    "product": lambda k: (k * 0.5, k * 0.5),
    "sum with a small result": lambda k: (k - k, k - k),
    "itself": lambda k: (+k, k),
    "the same chosen": lambda k: (max(k * 3, 0.0), k * 3),
    "one chosen twice": lambda k: (lambda t: (max(t, 0.0), t))(k * 3),
    "another's choice": lambda k: (lambda t, u: (max(u, 0.0), t))(k * 3, k * 3),
    "items of pairs": lambda k: (divmod(k * 900, 7)[1], divmod(k * 900, 7)[1]),
    "pairs": lambda k: (divmod(k * 900, 7), divmod(k * 900, 7)),
    "functions": lambda k: (math.sqrt(k), math.sqrt(k)),
    "texts": lambda k: (f"k {k}", f"k {k}"),
    "a text and nothing": lambda k: (lambda t: (t, t + ""))(f"k {k}"),
    "hashes": lambda k: (hash(k * 1e300), hash(k * 1e300)),
    "items": lambda k: ([k * 300, k][0], {0: k * 300}[0]),
    "numbers of NumPy's": lambda k: (np.float32(k), np.float32(k)),
}


@pytest.mark.parametrize("how", COMPUTED)
@pytest.mark.parametrize("value", [2, 1.5, 10**12])
def test_what_is_computed_twice_is_two_objects(how, value):
    @case()
    def program(jit):
        s, pair = Record(k=value, first=None, second=None), COMPUTED[how]

        def step(x):
            a, b = pair(s.k)
            s.first, s.second = b, a
            return x if a is b else x * 2

        step = jit(step)
        for s.k in (value, value, value + 1):
            yield step(X), s, s.first is s.second

    program()


@case(traces=1)
def test_what_is_computed_twice_is_stored_as_two_objects(jit):
    s = Record(k=1.5)

    def step(x):
        s.first, s.second = s.k * 0.5, s.k * 0.5
        s.third = s.second
        return x

    step = jit(step)
    for s.k in (1.5, 2.5):
        yield step(X), s, s.first is s.second, s.second is s.third


@case(traces=2)
def test_nan_of_a_module_is_found(jit):
    f = jit(lambda x, k: x if k in (math.nan, 3.0) else x * 2)
    yield f(X, math.nan)
    yield f(X, float("nan"))


@case(traces=1)
def test_nan_that_moves_stays_the_object(jit):
    s = Record(a=UNSET, b=None)

    def move(x):
        s.b = s.a
        return x * s.a

    move = jit(move)
    for s.a in (UNSET, fresh(UNSET)):
        yield move(X), s.b is s.a


@case(traces=1)
def test_function_that_asks_is_put_back(jit):
    def helper(k):
        return k is BIG

    code, s = helper.__code__, Record(made=None)

    def f(x, k):
        s.made = lambda m: m is k
        return x if helper(k) else x * 2

    f = jit(f)
    yield f(X, 3), helper.__code__ is code, s.made(3), s.made(BIG)
    yield all(type(c) in (type(None), str, tuple) for c in s.made.__code__.co_consts)


@case(traces=1)
def test_error_after_a_question_shows_its_line(jit):
    def f(x, k):
        try:
            if k is not BIG and k is not WORD:
                raise ValueError("no")
        except ValueError as error:
            return x * (error.__traceback__.tb_lineno - f_line)
        return x

    f_line = f.__code__.co_firstlineno
    f = jit(f)
    yield f(X, 2)


def test_an_argument_that_replaces_a_weakly_typed_array_stays_itself():
    class Model:
        w = jnp.array([1, 2, 3]) * 0.5  # weakly typed

    new = jnp.ones(3)
    assert Model.w.weak_type
    m = Model()

    @ev.jit
    def swap(x):
        m.w = x

    for _ in range(2):
        swap(new)
        assert m.w is new


def test_the_returned_dict_of_an_object_that_a_call_makes_is_its_own():
    class Box:
        def __init__(self):
            self.p = 1

    class Model:
        box = Box()

    def f(x):
        Model.box = copy.copy(Model.box)
        return vars(Model.box)

    for call in (f, ev.jit(f), ev.jit(f)):
        assert call(1.0) is vars(Model.box)


@pytest.mark.parametrize(
    "run",
    [
        lambda n, w: lax.fori_loop(0, n, lambda _, z: z + 1, w),
        lambda n, w: lax.fori_loop(0, 3, lambda _, z: z, w),
        lambda n, w: lax.while_loop(lambda z: z[0] > 100, lambda z: z + 1, w),
        lambda n, w: lax.scan(lambda c, _: (c, None), w, length=2)[0],
        lambda n, w: lax.cond(n < 5, lambda x: x, lambda x: x + 1, w),
        lambda n, w: lax.cond(jnp.array(n < 5), lambda: w, lambda: w + 1),
        lambda n, w: lax.switch(n, [lambda x: x, lambda x: x + 1], w),
        lambda n, w: ev.checkpoint(lambda x: x)(w),
    ],
    ids=["fori_loop", "carried", "while_loop", "scan", "cond", "captured", "switch", "checkpoint"],
)
def test_what_a_loop_or_branch_gives_is_no_operand(run):
    """How often a loop turns is known when it runs, so what it gives is new, traced or not."""
    s = Record(n=0, w=jnp.ones(2))
    for f in (run, ev.jit(run)):
        assert f(s.n, s.w) is not s.w
        assert f(jnp.array(s.n), s.w) is not s.w


SCALARS = [np.float32, np.float64, np.float16, np.int64, np.uint8, np.complex64, np.bool_]


@pytest.mark.parametrize("kind", SCALARS)
def test_scalar_of_numpy_is_told_from_its_equals(kind):
    @case(at_most=2)
    def program(jit):
        def f(x, given):
            s.same = s.v is given, given is s.v, s.v is not given, s.v is s.v
            return x if s.v is given else x * 2

        s, f = Record(v=kind(1), same=None), jit(f)
        yield f(X, s.v), s
        yield f(X, kind(1)), s
        other = kind(1)
        s.v = other
        yield f(X, other), s

    program()


@case(at_most=2)
def test_scalar_of_numpy_that_is_bound_globally_is_told_from_its_equals(jit):
    mod = module("MISSING = np.float32(-1)\ndef f(x, v): return x if v is MISSING else x + v")
    f = jit(mod.f)
    yield f(X, mod.MISSING), f(X, np.float32(-1)), f(X, mod.MISSING)
    mod.MISSING = np.float32(-1)
    yield f(X, mod.MISSING)


@case(traces=1)
def test_scalars_of_numpy_that_are_computed_are_new_ones(jit):
    def f(x, v):
        w = v + 1
        s.same = w is w, w is v, (v + 1) is (v + 1), (v > 0) is (v > -1), (v > 0) is np.True_
        return x

    s = Record(same=None)
    yield jit(f)(X, np.float32(2)), s


@case(traces=3)
def test_truth_of_numpy_is_one_of_two_objects(jit):
    f = jit(lambda x, mask: x * 2 if mask is np.ma.nomask else x)
    yield f(X, np.False_), f(X, np.True_), f(X, np.ma.nomask), f(X, None), f(X, np.False_)


@case(at_most=3)
def test_id_of_a_scalar_of_numpy_is_a_demand(jit):
    f = jit(lambda x, v, w: x if id(v) == id(w) else -x)
    v = np.float32(2)
    yield f(X, v, v), f(X, v, np.float32(2)), f(X, v, v)


@case(traces=1)
def test_scalar_of_numpy_is_its_own_copy(jit):
    def f(x):
        s.same = copy.copy(s.v) is s.v, copy.deepcopy([s.v])[0] is s.v, s.v.copy() is s.v
        s.kept = copy.deepcopy(s.v)
        return x

    s = Record(v=np.float32(1), same=None, kept=None)
    yield jit(f)(X), s, s.kept is s.v
