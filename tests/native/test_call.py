"""Calls of jitted functions in C++: recognised, matched and run as Python does it."""

import collections
import copy
import functools
import gc
import threading
import weakref

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import extension
from evertrace._src.jit.lifting.guards import CHECKS, STEPS

native = extension.native
pytestmark = pytest.mark.usefixtures("needs_native")

X = jnp.array([1.0, 2.0, 3.0])
Point = collections.namedtuple("Point", "x y")


class Model:
    def __init__(self):
        self.w, self.b, self.k, self.n = X * 1, X + 1, 2.0, 0
        self.log, self.best = [X * 1], {"loss": X * 1}

    @ev.jit
    def forward(self, x):
        return x * self.w + self.b * self.k

    @ev.jit
    def step(self, x):
        self.n += 1
        self.w = self.w + x
        return self.w

    def scaled(self, x):
        return x * self.w

    @ev.jit
    def note(self, x):
        self.log[0] = x * 2
        self.best["loss"] = x * 3


def counter():
    total = X * 1

    @ev.jit
    def count(x):
        nonlocal total
        total = total + x
        return total

    return count


CALLS = {
    "array": (ev.jit(lambda x: x + 1), (X,), {}),
    "NumPy array": (ev.jit(lambda x: x + 1), (np.ones(3, np.float32),), {}),
    "numbers": (ev.jit(lambda x, n, t: x * n + t), (X, 2, 0.5), {}),
    "numbers only": (ev.jit(lambda n: n * 2 + 1), (3,), {}),
    "untouched": (ev.jit(lambda x, y: (y, x)), (X, 2.0), {}),
    "tree": (ev.jit(lambda t: {"b": t["a"], "s": [t["p"].x + 1, t["p"].y]}),
             ({"a": X, "p": Point(X, 3)},), {}),
    "named tuple": (ev.jit(lambda x: Point(x + 1, (x, None, ()))), (X,), {}),
    "one list twice": (ev.jit(lambda x: [(s := [x + 1]), s]), (X,), {}),
    "default": (ev.jit(lambda x, k=2.0: x * k), (X,), {}),
    "by name": (ev.jit(lambda x, k=2.0: x * k), (), {"k": 3.0, "x": X}),
    "keyword only": (ev.jit(lambda x, *, k=2.0: x * k), (X,), {}),
    "many": (ev.jit(lambda *xs: sum(xs)), tuple([X] * 60), {}),
    "static": (ev.jit(lambda x, n: x * n, static_argnums=1), (X, 3), {}),
    "partial": (ev.jit(functools.partial(lambda k, x: k * x, 2.0)), (X,), {}),
    "closure": (counter(), (X,), {}),
    "method": (Model().forward, (X,), {}),
    "method that writes": (Model().step, (X,), {}),
    "method that writes to containers": (Model().note, (X,), {}),
    "bound": (ev.jit(Model().forward), (X,), {}),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["auto", "xla"])
@pytest.mark.parametrize("name", CALLS)
def test_calls_are_made_in_cpp(name, engine, called_in_python):
    f, args, kwargs = CALLS[name]
    with ev.engine(engine):
        results = [f(*args, **kwargs) for _ in range(8)]
    assert 1 <= len(called_in_python) <= 3
    if name not in ("closure", "method that writes"):
        for result in results[1:]:
            for a, b in zip(ev.tree.leaves(result), ev.tree.leaves(results[0]), strict=True):
                np.testing.assert_array_equal(a, b)


def test_results_and_changes_are_those_of_the_plain_call(called_in_python):
    model, total = Model(), counter()
    for i in range(1, 7):
        np.testing.assert_array_equal(model.forward(X), X * model.w + model.b * 2)
        np.testing.assert_array_equal(model.step(X), X * (i + 1))
        assert model.n == i
        assert type(model.n) is int
        assert model.note(X) is None
        np.testing.assert_array_equal(model.log[0], X * 2)
        np.testing.assert_array_equal(model.best["loss"], X * 3)
        np.testing.assert_array_equal(total(X), X * (i + 1))
    assert len(called_in_python) == 4
    tree = ev.jit(lambda x: [(s := [x + 1]), s])
    for _ in range(4):
        one, two = tree(X)
        assert one is two


def test_dicts_of_results_are_new_and_in_order(called_in_python):
    f = ev.jit(lambda x: {"z": x + 1, "a": {1: x, "b": None}, "e": {}, (2, "k"): [x * 2]})
    for _ in range(6):
        found = f(X)
        assert list(found) == ["z", "a", "e", (2, "k")]
        assert list(found["a"]) == [1, "b"]
        assert found["a"]["b"] is None
        np.testing.assert_array_equal(found["z"], X + 1)
        found["a"].clear()
        found["e"]["more"] = found.pop("z")
    assert len(called_in_python) <= 3


def test_calls_under_options_of_a_block_are_made_in_cpp(called_in_python):
    f = ev.jit(lambda x: x + 1)
    for _ in range(6):
        with ev.numpy_rank_promotion("raise"):
            f(X)
        f(X)
    assert len(called_in_python) <= 5


def test_containers_that_are_read_in_one_go(called_in_python):
    f = ev.jit(lambda t: {k: [2 * x for x in v] for k, v in t.items()})
    tree = {f"k{i}": [X + i, X - i] for i in range(20)}
    f(tree), f(tree)
    for i in range(4):  # equal keys that are other objects
        found = f({"".join(["k", str(k)]): [X + i, X] for k in range(20)})
        np.testing.assert_array_equal(found["k7"][0], 2 * (X + i))
    assert len(called_in_python) == 2  # one array at many places is another program
    back = dict(reversed(list(tree.items())))
    assert list(f(back)) == list(back)
    assert list(f(tree)) == list(tree)
    same = tree | {"k3": [tree["k4"][0], tree["k5"][1]]}
    np.testing.assert_array_equal(f(same)["k3"][0], 2 * (X + 4))
    assert len(f(tree | {"k3": [X]})["k3"]) == 1
    assert len(f({k: v for k, v in tree.items() if k != "k3"})) == 19
    assert f(tree | {"k3": [X, 1.5]})["k3"][1].shape == ()
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        f(tree | {"k3": 5})
    loss = ev.grad(lambda t: sum(v[0].sum() + v[1].sum() for v in f(t).values()))
    np.testing.assert_array_equal(loss(tree)["k9"][1], 2 * jnp.ones(3))
    mapped = ev.vmap(f)({k: [x[None], x[None]] for k, (x, _) in tree.items()})
    np.testing.assert_array_equal(mapped["k2"][1], 2 * (X + 2)[None])


def test_counts_are_exact(called_in_python):
    f = ev.jit(lambda x, m: x + sum(m))
    for i in range(1, 6):
        f(X, [1])
        assert f.cache_info()[:2] == (i - 1, 1)
    for _ in range(4):
        f(X, [1, 2]), f(X, [1])
    assert f.cache_info()[:2] == (4 + 7, 2)
    assert [v.hits for v in f.explain().variants] == [8, 3]
    assert len(called_in_python) == 2  # those that traced
    f.clear_cache()
    f(X, [1])
    f(X, [1])
    assert f.cache_info() == (1, 1, None, 1)


def test_a_change_of_what_was_read_is_seen(called_in_python):
    scale = {"k": 2.0, "list": [1, 2]}
    k = -0.0
    f = ev.jit(lambda x: x * scale["k"] + len(scale["list"]))
    g = ev.jit(lambda x: jnp.copysign(x, k) if np.signbit(np.float64(k)) else x)
    for _ in range(3):
        np.testing.assert_array_equal(f(X), X * 2 + 2)
        np.testing.assert_array_equal(g(X), -X)
    scale["k"], k = 3.0, 0.0
    np.testing.assert_array_equal(f(X), X * 3 + 2)
    np.testing.assert_array_equal(g(X), X)
    scale["list"].append(1)
    np.testing.assert_array_equal(f(X), X * 3 + 3)
    assert f.cache_info().misses == 1  # numbers and lengths are read at each call


def test_changed_defaults_and_classes_are_seen():
    def fun(x, k=2.0, *, m=1.0):
        return x * k + m

    f = ev.jit(fun)
    for _ in range(4):
        np.testing.assert_array_equal(f(X), X * 2 + 1)
    fun.__defaults__ = (3.0,)
    np.testing.assert_array_equal(f(X), X * 3 + 1)
    fun.__kwdefaults__["m"] = 5.0
    for _ in range(4):
        np.testing.assert_array_equal(f(X), X * 3 + 5)
    model = Model()
    model.forward(X)
    before = model.forward(X)
    try:
        Model.__getattr__ = lambda self, name: X
        Model.k = 7.0  # hidden by the instance's
        np.testing.assert_array_equal(model.forward(X), before)
        del model.k
        np.testing.assert_array_equal(model.forward(X), X * X + (X + 1) * 7)
    finally:
        del Model.__getattr__, Model.k


def test_functions_that_are_jitted_anew_before_each_call(called_in_python):
    """All of one code are recognised alike, each with what it closes over itself."""
    model = Model()
    jitted = []
    for k in range(8):
        scale, shift = float(k), X * k
        jitted.append(ev.jit(lambda x, /: x * scale + shift))  # noqa: B023
        np.testing.assert_array_equal(jitted[-1](X), np.asarray(X) * 2 * k)
        model.w = X * k
        method = ev.jit(model.scaled)
        np.testing.assert_array_equal(method(X), np.asarray(X) ** 2 * k)
    assert len(called_in_python) <= 6
    assert jitted[0].cache_info().misses == method.cache_info().misses == 1


def test_what_is_jitted_anew_by_other_rules_or_in_another_way():
    results, want, x = [], [], np.asarray(X)
    for k in range(3):
        captured = X * k
        with ev.strict():
            f = ev.jit(lambda x: x + captured)  # noqa: B023
            results += [f(X), f(X), f(X)]
        g = ev.jit(lambda x, n, by=captured: x * n + by, static_argnums=1)
        results += [g(X, 2), g(X, 3), g(X, 2)]
        h = ev.jit(lambda x: x - captured, strict=True)  # noqa: B023
        results += [h(X), h(X), f(X)]
        want += [x * (1 + k)] * 3 + [x * (2 + k), x * (3 + k), x * (2 + k)]
        want += [x * (1 - k)] * 2 + [x * (1 + k)]
    for have, one in zip(results, want, strict=True):
        np.testing.assert_array_equal(have, one)


def test_what_functions_of_one_code_have_in_common_keeps_nothing_alive():
    def make(big):
        return ev.jit(lambda x, by=big: x + by), ev.jit(lambda x: x + big)

    refs = []
    for k in range(3):
        big = X * k
        for f in make(big):
            f(X)
            f(X)
            f(X)
        refs.append(weakref.ref(big))
        del big, f
    gc.collect()
    assert [ref() for ref in refs] == [None] * 3


def test_classes_that_come_and_go_are_told_apart():
    """A class that has passed is known by its address and version: a new one may have the first."""

    @ev.jit
    def apply(model, x):
        return model.run(x)

    for k in range(40):

        def run(self, x, k=k):
            return x * self.k + k

        model = type("Model", (), {"run": run})()
        model.k = 2.0
        for _ in range(3):
            np.testing.assert_array_equal(apply(model, X), np.asarray(X) * 2 + k)
        del model, run
        gc.collect()


def test_a_long_program_takes_its_arrays_without_python(monkeypatch):
    """One that releases the GIL holds the memory of each; no array makes a NumPy array for it."""
    model = Model()
    model.layers = [jnp.full(3, float(i)) for i in range(800)]

    @ev.jit(engine="native")
    def total(model, x):
        for layer in model.layers:
            x = x + layer
        return x

    want = np.asarray(X) + np.float32(sum(range(800)))
    for _ in range(3):
        np.testing.assert_array_equal(total(model, X), want)
    asked = []
    monkeypatch.setattr(ev.Array, "_contents", lambda self: asked.append(self))
    result = total(model, X)
    monkeypatch.undo()
    assert not asked
    for layer in model.layers:
        layer.delete()
    np.testing.assert_array_equal(result, want)


def test_options_transformations_and_rules_apply(called_in_python):
    f = ev.jit(lambda x: x * 2)
    for _ in range(3):
        f(X)
    with ev.strict():
        f(X)
    with ev.disable_jit():
        f(X)
    np.testing.assert_array_equal(ev.vmap(f)(X), X * 2)
    assert float(ev.grad(f)(1.0)) == 2
    assert float(ev.jit(lambda x: f(x) + 1)(1.0)) == 3
    with ev.debug_nans(True), pytest.raises(FloatingPointError):
        ev.jit(lambda x: x / 0 * 0)(X)


def test_donated_arrays_are_given_away():
    f = ev.jit(lambda x, y: x + y, donate_argnums=0)
    for _ in range(5):
        x = X + 0
        np.testing.assert_array_equal(f(x, X), X * 2)
        assert x.is_deleted()


def test_copies_and_dead_functions():
    f = ev.jit(lambda x: x + 1)
    f(X)
    g = copy.copy(f)
    for _ in range(3):
        np.testing.assert_array_equal(g(X), X + 1)

    def make():
        big = X + 1

        @ev.jit
        def inner(x):
            return x + big

        for _ in range(4):
            inner(X)
        return weakref.ref(big)

    refs = [make() for _ in range(3)]
    gc.collect()
    assert [r() for r in refs] == [None] * 3


def test_values_of_a_cleared_cache_die():
    f = ev.jit(lambda x: x + 1)
    for _ in range(3):
        f(X)
    variant = weakref.ref(f._contract.variants.all()[0])
    ev.clear_caches()
    gc.collect()
    assert variant() is None


# ------------------------------------------------------------------------ hostile objects


class Mutating:
    """Empties a list when it is compared, hashed or asked for an attribute."""

    def __init__(self, victims):
        self.__dict__["victims"] = victims

    def _strike(self):
        for victim in self.__dict__.get("victims", ()):
            victim.clear()

    def __eq__(self, other):
        self._strike()
        return True

    def __hash__(self):
        self._strike()
        return 1

    def __getattribute__(self, name):
        if name not in ("__dict__", "_strike", "__class__"):
            object.__getattribute__(self, "_strike")()
        return object.__getattribute__(self, name)


class Raising:
    def __hash__(self):
        raise RuntimeError("no hash")

    def __eq__(self, other):
        raise RuntimeError("no comparison")

    @property
    def __class__(self):
        raise RuntimeError("no class")


def random_tree(rng, depth=0):
    """Return a tree of arrays, numbers, texts and containers."""
    kind = rng.integers(9 if depth < 3 else 5)
    items = range(rng.integers(4))
    if kind == 0:
        return jnp.asarray(rng.normal(size=rng.integers(1, 3)).astype(np.float32))
    if kind == 1:
        return [0.5, -0.0, float("nan"), 7][rng.integers(4)]
    if kind == 2:
        return ["text", None, True, b"bytes", 2**70][rng.integers(5)]
    if kind == 3:
        return np.arange(3, dtype=["f4", "i4"][rng.integers(2)])
    if kind == 4:
        return np.float32(rng.integers(3))
    if kind == 5:
        return tuple(random_tree(rng, depth + 1) for _ in items)
    if kind == 6:
        return [random_tree(rng, depth + 1) for _ in items]
    if kind == 7:
        return {["a", "b", 3, (1, "k")][i]: random_tree(rng, depth + 1) for i in items}
    return Point(random_tree(rng, depth + 1), random_tree(rng, depth + 1))


def changed(rng, tree):
    """Return a tree that differs from another in one place, mostly, or is a copy of it."""
    if isinstance(tree, dict) and tree:
        key = list(tree)[rng.integers(len(tree))]
        return {k: changed(rng, v) if k == key else v for k, v in tree.items()}
    if isinstance(tree, (list, tuple)) and tree:
        at = rng.integers(len(tree))
        items = [changed(rng, x) if i == at else x for i, x in enumerate(tree)]
        return Point(*items) if isinstance(tree, Point) else type(tree)(items)
    return random_tree(rng, 2) if rng.integers(2) else copy.deepcopy(tree)


def touched(x):
    """Read all of a tree."""
    if isinstance(x, dict):
        return [touched(v) for v in x.values()]
    if isinstance(x, (list, tuple)):
        return [touched(v) for v in x]
    return x if isinstance(x, (str, bytes, type(None))) else jnp.sum(jnp.asarray(x, "float32"))


def same_match(guards, roots):
    """Check that both implementations find the same things, or nothing."""
    expected, found = guards.match_in_python(roots), guards.compiled.match(roots)
    assert (expected is None) == (found is None)
    for a, b in zip(expected or (), found or (), strict=True):
        assert a is b or type(a) is type(b)
    return expected is not None


@pytest.mark.parametrize("seed", range(12))
def test_matches_are_those_of_python(seed):
    rng = np.random.default_rng(seed)
    matched = 0
    for _ in range(6):
        tree = random_tree(rng)
        f = ev.jit(touched)
        try:
            f(tree)
        except (TypeError, OverflowError):  # a number that no dtype holds
            continue
        (variant, *_) = f._contract.variants.all()
        for candidate in (tree, *[changed(rng, tree) for _ in range(20)]):
            matched += same_match(variant.guards, (f._fun, candidate))
    assert matched or seed


def hostile_values():
    itself = []
    itself.append(itself)
    victim = [X, X]
    loop = {}
    loop["loop"] = loop
    return [
        itself,
        loop,
        Mutating([victim]),
        victim,
        {Mutating([victim]): X},
        Raising(),
        [Raising()],
        {"k": Raising()},
        (Raising(), Mutating([victim])),
        type,
        object(),
        lambda: 0,
        iter([X]),
        float("nan"),
        10**400,
        np.array(["text"]),
        memoryview(b"x"),
        NotImplemented,
        Mutating,
    ]


def test_hostile_values_are_no_match():
    f = ev.jit(lambda t, k: t["a"] * 2 + t["b"][0].x + k)
    good = {"a": X, "b": [Point(X, X)]}
    for _ in range(3):
        f(good, 2.0)
    guards = f._contract.variants.all()[0].guards
    for value in hostile_values():
        for roots in (
            (f._fun, value, 2.0),
            (value, good, 2.0),
            (f._fun, good, value),
            (f._fun, {"a": value, "b": good["b"]}, 2.0),
            (f._fun, {"a": X, "b": value}, 2.0),
            (f._fun, {"a": X, "b": [value]}, 2.0),
            (f._fun, {value.__repr__: X}, 2.0),
            (f._fun,),
        ):
            same_match(guards, roots)
    assert guards.compiled.match((f._fun, good, 2.0)) is not None


def walk_with(step, key):
    """Return the guards of a list's items, with a step between the first and the second."""
    walk = [
        (0, -1, "root", 0, "any", None, None, None),
        (1, 0, "list", 0, "any", None, STEPS["list"], None),
        (2, 1, "a kind of its own", key, "any", None, step, None),
        (3, 0, "list", 1, "aval", X.aval, STEPS["list"], CHECKS["aval"]),
    ]
    return native.Guards(walk, [], [], 4)


def test_a_list_that_shrinks_during_the_walk():
    items = [X + 1, X + 2]
    guards = walk_with(lambda value, key: key.clear(), items)
    assert guards.match((items,)) is None
    assert items == []
    found = walk_with(lambda value, key: value, None).match(([X, X],))
    assert all(x is X for x in found[1:])


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError, RecursionError])
def test_only_exceptions_are_mismatches(error):
    def fail(value, key):
        raise error

    guards = walk_with(fail, None)
    if issubclass(error, Exception):
        assert guards.match(([X, X],)) is None
    else:
        with pytest.raises(error):
            guards.match(([X, X],))


# ------------------------------------------------------------------------ host programs


NUMBERS = [
    0, 1, -7, 3, 2**40, -(2**70), True, False, 0.0, -0.0, 1.5, -2.5, 1e300, float("inf"),
    float("nan"),
]  # fmt: skip
PROGRAMS = {
    "arithmetic": lambda a, b: (a + b, a - b, a * b),
    "division": lambda a, b: (a / b if b else a, a // b if b else b, a % b if b else a),
    "bits": lambda a, b: (a & b, a | b, a ^ b, ~a) if type(a) is int else a,
    "comparison": lambda a, b: 1 if a < b else 2 if a == b else 3,
    "signs": lambda a, b: (-a, +b, abs(a)),
    "raises": lambda a, b: _quotient(a, b),
    "index": lambda a, b: [10, 20, 30][a] if isinstance(a, int) and -3 <= a < 3 else b,
    "value": lambda a, b: {0: 1, 1.5: 2}.get(a, 3),
}


def _quotient(a, b):
    try:
        return a // b
    except ZeroDivisionError:
        return -1


@pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_host_programs_are_those_of_python(name):
    f = ev.jit(lambda x, a, b: (x, PROGRAMS[name](a, b)))
    ran = 0
    for a in NUMBERS[::3]:
        for b in NUMBERS[1:10:3]:
            try:
                f(X, a, b)
            except (OverflowError, TypeError, ValueError):
                continue
    for variant in f._contract.variants.all():
        types_ = [type(variant.host.template[s]) for s in variant.host.leaves]
        for a in NUMBERS:
            for b in NUMBERS[:10]:
                leaves = [a, b][: len(types_)]
                expected = variant.host.run_in_python(leaves)
                found = variant.host.compiled.run(leaves)
                assert repr(found) == repr(expected)
                ran += expected is not None
    assert ran


# ------------------------------------------------------------------------ threads


def test_threads_call_at_once():
    model = Model()
    f = ev.jit(lambda x, m, k: x * m.k + k)
    f(X, model, 1.0)
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(300):
            k = float(rng.integers(100))
            x = X if rng.integers(2) else jnp.asarray(np.arange(rng.integers(1, 4), dtype="f4"))
            if not np.array_equal(f(x, model, k), np.asarray(x) * 2 + np.float32(k)):
                failures.append((x, k))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    info = f.cache_info()
    assert info.hits + info.misses == 1 + 8 * 300


def test_what_makes_no_sense_is_refused():
    step = (0, -1, "root", 0, "any", None, None, None)
    for wrong in (
        ([(0, 5, "root", 0, "any", None, None, None)], [], [], 1),
        ([step], [(0, 3)], [], 1),
        ([step], [], [9], 1),
        ([(3, -1, "root", 0, "any", None, None, None)], [], [], 1),
        ([(0, -1, "root", -4, "any", None, None, None)], [], [], 1),
    ):
        with pytest.raises((ValueError, TypeError)):
            native.Guards(*wrong)
    for wrong in (([1], [5], []), ([1], [], [(len, (7,), 0, int, None)])):
        with pytest.raises(ValueError, match="no such slot"):
            native.HostProgram(*wrong)
