"""Dicts and their kin: their keys, their order and what is absent are structure."""

import copy
import pickle
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case, raised

pytestmark = pytest.mark.engine


@case(traces=2)
def test_ordered_dict_whose_order_changes(jit):
    """Its order is in a list of its own, which the methods of `dict` pass by (seed 1000497)."""
    s = Record(cfg=OrderedDict(b=2.0, a=1.0))

    def step(x):
        s.cfg.move_to_end("b")
        s.cfg["c"] = s.cfg.popitem(last=False)[1]
        return x * sum(v * 10**i for i, v in enumerate(s.cfg.values()))

    step = jit(step)
    yield step(X), s, list(reversed(s.cfg.items()))
    yield step(X), s, s.cfg.popitem()


def test_ordered_dict_is_whole_after_a_trace_that_failed():
    s = Record(cfg=OrderedDict(b=2.0, a=1.0))

    @ev.jit
    def step(x):
        s.cfg.popitem()
        raise ValueError("no")

    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            step(X)
    assert list(s.cfg.items()) == [("b", 2.0), ("a", 1.0)]
    assert s.cfg.popitem() == ("a", 1.0)


@case(traces=2)
def test_dict_of_numbers(jit):
    cfg = {"scale": 2.0, "unread": 1}
    f = jit(lambda x: cfg["scale"] * x)
    yield f(X)
    cfg["scale"] = 3.0
    cfg["unread"] += 1
    yield f(X)
    cfg["scale"] = jnp.ones(3)
    yield f(X)


@case(at_most=4)
def test_absent_key_is_a_read(jit):
    cfg = {"b": 1.0}

    def f(x):
        if "a" in cfg:
            x = x + cfg["a"]
        x = x * cfg.get("b", 5.0)
        try:
            return x - cfg["c"]
        except KeyError:
            return x

    f = jit(f)
    yield f(X)
    cfg["a"] = 2.0
    yield f(X)
    del cfg["b"]
    yield f(X)
    cfg["c"] = 7.0
    yield f(X)
    cfg["c"] = 8.0
    yield f(X)


@case(traces=1)
def test_every_change_of_a_dict(jit):
    def step(d, x):
        d["new"] = x
        d.update(a=x + 1, z=1)
        d.setdefault("s", x + 2)
        d.setdefault("a", None)
        d.pop("b")
        d.pop("never", None)
        del d["c"]
        d |= {"or": x}
        key, _ = d.popitem()
        return d["a"], len(key)

    step = jit(step)
    for _ in range(2):
        d = {"a": 1, "b": 2.0, "c": "text"}
        yield step(d, X), d, list(d)


@case(traces=2)
def test_order_of_a_dict_is_structure(jit):
    cfg = {"a": 2.0, "b": 3.0}

    def f(x):
        for k in cfg.values():
            x = x * k + 1
        return x

    f = jit(f)
    yield f(X)
    cfg["a"] = cfg.pop("a")
    yield f(X), list(cfg)
    cfg["a"] = 5.0
    yield f(X)


@case(traces=1)
def test_dict_of_counts_grows_by_name(jit):
    stats = {"n": 0, "total": jnp.zeros(3)}

    def step(x):
        stats["n"] += 1
        stats["total"] = stats["total"] + x
        return stats["total"] / stats["n"]

    step = jit(step)
    for _ in range(3):
        yield step(X), stats
    stats["n"] = 0
    yield step(X), stats


@case(at_most=3)
def test_dict_keyed_by_numbers(jit):
    table = {1: 10.0, 2: 20.0}
    s = Record(k=1)

    def f(x):
        table[s.k + 2] = table[s.k] + 1
        return x * table[s.k]

    f = jit(f)
    for s.k in (1, 2, 1):
        yield f(X), table, [type(k) for k in table]


@case(traces=1)
def test_dict_keyed_by_objects(jit):
    a, b = Record(k=1.0), Record(k=2.0)
    table = {a: 10.0, (b, "pair"): 20.0}

    def f(x):
        table[a] = table[a] + table[b, "pair"] * b.k
        return x * table[a]

    f = jit(f)
    yield f(X), table
    b.k = 5.0
    yield f(X), table
    first, second = table
    yield first is a, second[0] is b


@case(traces=2)
def test_dict_view_is_followed(jit):
    cfg = {"a": 1.0, "b": 2.0}
    f = jit(lambda x: sum(len(k) * v for k, v in cfg.items()) * x + len(cfg.keys()))
    yield f(X)
    cfg["a"] = 3.0
    yield f(X)
    cfg["long"] = 3.0
    yield f(X)


@case(traces=2)
def test_defaultdict_keeps_its_factory(jit):
    d = defaultdict(list)

    def step(x):
        d["xs"].append(x)
        d["n"] = 1

    step = jit(step)
    step(X)
    yield d, d.default_factory is list
    step(X)
    yield d, d["other"]


@case(at_most=2)
def test_counter_ordereddict_chainmap_userdict_userlist(jit):
    s = Record(
        counts=Counter(a=1),
        ordered=OrderedDict(a=1.0, b=2.0),
        chain=ChainMap({"a": 1.0}, {}),
        user=UserDict(k=2.0),
        items=UserList([1.0]),
    )

    def step(x):
        s.counts["a"] += 1
        s.counts.update(["b"])
        s.ordered.move_to_end("a")
        s.chain["a"] = s.chain["a"] + 1
        s.user["k"] *= 2
        s.items[0] += s.user["k"]
        return x * s.items[0] + s.counts["a"]

    step = jit(step)
    for _ in range(2):
        yield step(X), s
    s.ordered.move_to_end("b", last=False)
    s.ordered.move_to_end("a")
    yield step(X), s, type(s.counts["a"])


@case(traces=1)
def test_copies_made_inside(jit):
    s = Record(cfg={"rate": 2.0, "ws": [jnp.ones(3)]}, kept=None)

    def f(x):
        shallow, deep = copy.copy(s.cfg), copy.deepcopy(s.cfg)
        shallow["rate"] = 5.0
        shallow["ws"].append(x)
        deep["ws"].append(x + 1)
        s.kept = deep
        return x * deep["rate"] * shallow["rate"] + s.cfg["ws"].pop()

    f = jit(f)
    yield f(X), s
    s.cfg["rate"] = 3.0
    yield f(X), s


@case(traces=1)
def test_deep_copy_of_an_object_made_inside(jit):
    s = Record(model=Record(w=jnp.ones(3), n=1), best=None)

    def f(x):
        s.model.w = s.model.w + x
        s.model.n += 1
        s.best = copy.deepcopy(s.model)
        s.best.n = -s.best.n

    f = jit(f)
    for _ in range(2):
        yield f(X), s, s.best is s.model


@case(at_most=2)
def test_pickle_made_inside(jit):
    s = Record(cfg={"rate": 2.0, "name": "a"})
    f = jit(lambda x: x * pickle.loads(pickle.dumps(s.cfg))["rate"])
    for s.cfg["rate"] in (2.0, 3.0, 2.0):
        yield f(X)


@case()
def test_key_error_leaves_with_its_key(jit):
    cfg = {}
    f = jit(lambda x: x * cfg["rate"])
    yield raised(f, X)
    cfg["rate"] = 2.0
    yield f(X)
    cfg.clear()
    yield raised(f, X)


@case(traces=2)
def test_dict_is_replaced(jit):
    s = Record(cfg={"a": 1.0})
    f = jit(lambda x: x * s.cfg["a"] + len(s.cfg))
    for s.cfg in ({"a": 1.0}, {"a": 2.0}, {"a": 2.0, "b": 0}, {"a": 3.0}):
        yield f(X)


@case(traces=1)
def test_dict_comprehension_rebuilds_state(jit):
    s = Record(params={"w": jnp.ones(3), "b": jnp.zeros(3)})

    def step(g):
        s.params = {k: p - 0.1 * g for k, p in s.params.items()}

    step = jit(step)
    before = s.params
    for _ in range(2):
        yield step(X), s, before
    yield s.params is before
