"""What `explain` prints: tested on the texts."""

import enum
import functools
import gc
import os

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.jit import differences

pytestmark = pytest.mark.engine
X, Y = jnp.ones(3), jnp.zeros(3)


class Object:
    """An object with the attributes that it is given."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Model:
    def __init__(self):
        self.mul, self.n, self.limit = True, 0, 3
        self.w, self.layers, self.cfg = X + 1, [X + 2, 2.0], {"a": 1}

    def step(self, x):
        self.n += 1
        if self.n > self.limit:
            return x
        for layer in self.layers:
            x = x * layer
        return x * self.w if self.mul else x

    def read(self, x):
        return x * self.cfg["a"]


class Other(Model):
    pass


def helper(x):
    return x + 1


MODE = "train"


def uses_globals(x):
    return helper(x) if MODE == "train" else x


def fresh(fun, **options):
    """Return a jitted function without variants: those of its code may be another test's."""
    jitted = ev.jit(fun, **options)
    jitted.clear_cache()
    return jitted


def why(jitted):
    """Return the reason of the latest variant."""
    return "; ".join(jitted.explain().variants[-1].reason)


# ------------------------------------------------------------------------ differences


def _set(name, value):
    return lambda m: setattr(m, name, value)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_set("mul", False), "self.mul: True -> False"),
        (_set("mul", None), "self.mul: True -> None"),
        (_set("w", jnp.ones((2, 3))), "self.w: f32[3] -> f32[2,3]"),
        (_set("w", np.ones(3)), "self.w: f32[3] -> numpy f64[3]"),
        (_set("w", 2.0), "self.w: f32[3] -> float"),
        (_set("limit", 2.5), "self.limit: int -> float"),
        (_set("limit", -1), "(self.n + 1) > self.limit: False -> True"),
        (_set("layers", [Y]), "len(self.layers): 2 -> 1"),
        (_set("layers", (Y, 2.0)), "self.layers: list -> tuple"),
        (_set("layers", [Y, 2]), "self.layers[1]: float -> int"),
        (_set("__class__", Other), "self: Model -> Other"),
    ],
)
def test_attributes_that_differ(change, text):
    m = Model()
    f = fresh(m.step)
    f(X)
    change(m)
    f(X)
    assert why(f) == text


def test_deleted_attribute():
    m = Model()
    f = fresh(m.step)
    f(X)
    del m.mul
    with pytest.raises(AttributeError), ev.explain_retraces():
        f(X)


def test_types_of_arguments():
    f = fresh(lambda x: x)
    reasons = []
    for x in (X, jnp.ones(4), jnp.ones(4, jnp.int32), 1.0, None, "a"):
        f(x)
        reasons.append(why(f))
    assert reasons == [
        "",
        "x: f32[3] -> f32[4]",
        "x: f32[4] -> i32[4]",
        "x: i32[4] -> float",
        "x: float -> None",
        "x: None -> 'a'",
    ]


def test_weak_type_shows():
    f = fresh(lambda x: x)
    f(jnp.float32(1))
    f(jnp.asarray(1.0))
    assert why(f) == "x: f32[] -> f32[] weak"


def test_redefined_helper_and_globals(monkeypatch):
    f = fresh(uses_globals)
    f(X)
    monkeypatch.setitem(globals(), "helper", lambda x: x - 1)
    f(X)
    assert why(f) == "helper: redefined"
    monkeypatch.setitem(globals(), "MODE", "test")
    f(X)
    assert why(f) == "global MODE: 'train' -> 'test'"


def test_closure():
    def make(flag):
        return lambda x: x + 1 if flag else x

    ev.jit(make(True)).clear_cache()
    ev.jit(make(True))(X)
    f = ev.jit(make(False))
    f(X)
    assert why(f) == "flag: True -> False"


def test_environment(monkeypatch):
    f = fresh(lambda x: (x, os.environ.get("EVERTRACE_TEST_NAME")))
    f(X)
    monkeypatch.setenv("EVERTRACE_TEST_NAME", "secret")
    f(X)
    assert why(f) == "os.environ['EVERTRACE_TEST_NAME']: changed"
    assert "secret" not in why(f)


def test_contents_of_numpy_arrays():
    table = np.arange(3.0)
    f = fresh(lambda x: x * np.sum(table))
    f(X)
    table[0] = 5
    f(X)
    assert why(f) == "table: other contents"


def test_classes():
    class C:
        def step(self, x):
            return self.scale(x)

        def scale(self, x):
            return x * 2

    c = C()
    f = fresh(c.step)
    f(X)
    C.scale = lambda self, x: x * 3
    f(X)
    assert why(f) == "class C: method scale replaced"
    C.__len__ = lambda self: 1
    f(X)
    assert why(f) == "class C: __len__ added"


def test_classes_that_die():
    def make():
        class C:
            k = 2.0

        return C()

    f = fresh(lambda c, x: type(c).k * x)
    for _ in range(3):
        f(make(), X)
        gc.collect()
    assert why(f) == "c: a class that is gone -> C"


def test_keys_of_a_dict():
    m = Model()
    f = fresh(m.read)
    f(X)
    m.cfg["b"] = 2
    f(X)
    assert why(f) == "keys of self.cfg: {'a'} -> {'a', 'b'}"


def test_aliases():
    s = Object(a=X, b=X + 1)
    f = fresh(lambda: s.a + s.b)
    f()
    s.b = s.a
    f()
    assert why(f) == "s.a is s.b: now one object"
    f.clear_cache()
    f()
    s.b = X * 2
    f()
    assert why(f) == "s.a is s.b: no longer one object"


def test_options_and_keywords():
    f = fresh(lambda **kw: kw["a"])
    f(a=X, b=X)
    with ev.enable_x64():
        f(a=X, b=X)
    assert why(f) == "option enable_x64: False -> True"


def test_static_arguments():
    class Way(enum.Enum):
        UP, DOWN = 1, 2

    f = fresh(lambda x, way: x, static_argnames="way")
    f(X, "up")
    f(X, ("up", 2))
    assert why(f) == "way: 'up' -> ('up', 2)"
    f(X, Way.UP)
    f(X, Way.DOWN)
    assert why(f) == "way: Way.UP -> Way.DOWN"


def test_exceptions_of_numbers():
    def f(x, n):
        try:
            return x / (1 // n)
        except ZeroDivisionError:
            return x

    f = fresh(f)
    f(X, 0)
    f(X, 1)
    assert why(f).startswith("1 // n: ZeroDivisionError -> 1")


def test_the_nearest_variant_is_named():
    f = fresh(lambda x, y, way: (x, y))
    f(X, X + 1, "a")
    f(jnp.ones(4), jnp.ones(5), "b")
    f(X, X + 1, "b")
    assert why(f) == "way: 'a' -> 'b'"


def test_no_user_code_runs_for_words():
    class Refuses(type):
        def __repr__(cls):
            raise AssertionError

        __str__ = __repr__

    class Nasty(metaclass=Refuses):
        def __init__(self, k):
            self.k = k

        def __eq__(self, other):
            raise AssertionError

        __repr__ = __str__ = __bool__ = __len__ = __eq__
        __hash__ = None

    f = fresh(lambda x: x.k)
    f(Nasty(X))
    f(Nasty([X]))
    text = str(f.explain())
    assert "x.k: f32[3] -> list" in text
    assert "x: Nasty" in text


# ------------------------------------------------------------------------ the report


def test_explanation_holds_what_the_variant_is():
    m = Model()
    f = fresh(m.step)
    for _ in range(3):
        f(X)
    (report,) = f.explain().variants
    assert report.reason == ()
    assert report.hits == 2
    assert report.depends["arguments"] == ("x: f32[3]",)
    assert "self.mul: True" in report.depends["self"]
    assert "self.n: int" in report.depends["self"]
    assert "self.layers: list of 2" in report.depends["self"]
    assert report.prologue == ("(self.n + 1) > self.limit == False",)
    assert "self.layers[1]: f32[] weak" in report.inputs
    assert report.writes == ("self.n = self.n + 1",)
    assert report.result == "f32[3]"
    assert report.trace_seconds > 0
    assert report.lower_seconds > 0
    assert report.compile_seconds > 0
    assert report.engine.startswith(("native", "xla on "))


def test_explanation_is_printed_by_sections():
    m = Model()
    f = fresh(m.step)
    f(X)
    m.mul = False
    f(X)
    f(X)
    lines = str(f.explain()).splitlines()
    assert lines[0] == "jit(step): 2 variants"
    assert "variant 1 (0 hits): the first" in lines
    assert "variant 2 (1 hits): self.mul: True -> False" in lines
    assert "  arguments  x: f32[3]" in lines
    assert "  writes     self.n = self.n + 1" in lines
    assert "  returns    f32[3]" in lines
    assert repr(f.explain()) == str(f.explain())


def test_groups():
    scale = 2.0

    def make(way="up"):
        return lambda x, m, y=way: (uses_globals(x) * scale, m.mul, y)

    f = fresh(make())
    f(X, Model())
    depends = f.explain().variants[0].depends
    assert "m.mul: True" in depends["arguments"]
    assert "y: 'up'" in depends["arguments"]
    assert "scale: float" in depends["closures"]
    assert "global MODE: 'train'" in depends["globals"]
    assert any(x.startswith("Model: lookups of ") for x in depends["classes"])


def test_writes_into_numpy_arrays_are_statements():
    s, mask = Object(w=np.zeros((2, 3)), n=0), np.array([True, False])

    def f(x):
        s.w[0] = x
        s.w[1, ::2] = 4
        s.w[1:, :1] += s.n
        s.w[mask] = s.w[1]
        s.w.T[0] = 7

    f = fresh(f)
    f(X)
    (report,) = f.explain().variants
    assert report.writes == (
        "s.w[0] = x",
        "s.w[1, ::2] = 4.0",
        "s.w[1:, :1] = f64[1,1]",
        "s.w[mask] = f64[3]",
        "s.w, a view of it,[0] = 7.0",
    )


def test_writes_effects_and_results():
    s = Object(log=[], seen={}, w=np.zeros(3), n=0, pair=None)

    def f(x):
        s.log.append(x)
        s.seen["k"] = s.n + 1
        s.pair = (x, "two")
        s.w += 1
        del s.n
        print("hello", x.shape)
        return {"x": x * 2, "s": s}, [1]

    f = fresh(f)
    f(X)
    (report,) = f.explain().variants
    assert "s.log extended by x" in report.writes
    assert "s.seen['k'] = s.n + 1" in report.writes
    assert "s.pair = (x, 'two')" in report.writes
    assert "del s.n" in report.writes
    assert "s.w[...] = f64[3]" in report.writes
    assert report.effects == ("print('hello', (3,))",)
    assert report.result == "({'x': f32[3], 's': s}, [i32[] weak])"


def test_nothing_to_compute_has_no_engine():
    f = fresh(lambda x: x)
    f(X)
    (report,) = f.explain().variants
    assert report.engine == "none, for nothing is computed"
    assert report.compile_seconds is None


def test_explanation_of_a_function_never_called():
    assert str(fresh(lambda x: x).explain()) == "jit(<lambda>): 0 variants"


def test_strict_variants_are_explained():
    with ev.strict():
        f = fresh(lambda x, n: x["a"], static_argnums=1)
        f({"a": X}, 1)
        f({"a": X}, 2)
        f({"a": jnp.ones(4)}, 2)
    texts = [r.reason for r in f.explain().variants]
    assert texts == [(), ("argument 1: 1 -> 2",), ("x['a']: f32[3] -> f32[4]",)]
    assert f.explain().variants[0].depends == {"arguments": ("x['a']: f32[3]", "1: 1")}


def add_one(fun):
    @functools.wraps(fun)
    def wrapper(*args):
        return fun(*args) + 1

    return wrapper


@pytest.mark.parametrize("wrap", [ev.grad, ev.vmap, add_one, functools.lru_cache, ev.jit])
def test_wrappers_of_different_functions_have_variants_of_their_own(wrap):
    def make():
        return fresh(wrap(lambda x: x * x)), fresh(wrap(lambda x: x + x))

    f, g = make()
    x = 1.0 if wrap in (ev.grad, functools.lru_cache) else X
    f(x)
    g(x)
    assert len(f.explain().variants) == len(g.explain().variants) == 1


def test_functions_of_ours_have_variants_of_their_own():
    f, g = fresh(jnp.sin), fresh(jnp.cos)
    f(X)
    g(X)
    assert len(f.explain().variants) == len(g.explain().variants) == 1


def test_wrapped_functions_of_one_place_share_their_variants():
    for k in range(3):
        f = ev.jit(ev.grad(lambda x: x * x * k))  # noqa: B023
        f(1.0)
    assert f.cache_info() == (2, 1, None, 1)


def test_function_that_claims_to_wrap_itself():
    def f(x):
        return x

    f.__wrapped__ = f
    assert ev.jit(f)(X) is X


def test_attributes_of_inner_jitted_functions_are_no_dependencies():
    scale = 2.0

    inner = ev.jit(lambda x: x * scale)
    outer = ev.jit(lambda x: inner(x) + 1)
    outer(X)
    text = str(outer.explain())
    assert "inner: JitFunction" in text
    assert "scale: float" in text
    assert not [name for name in ("_inside", "_serial", "lookups") if name in text]
    inner = ev.jit(lambda x: x * 5)
    assert outer(X).tolist() == [6, 6, 6]


# ------------------------------------------------------------------------ whatever users do


class Raising:
    """Raises where anybody but its own code asks it for anything."""

    def __init__(self, k):
        self.k = k

    def __getattr__(self, name):
        raise LookupError(name)

    def __repr__(self):
        raise LookupError("repr")

    __str__ = __len__ = __hash__ = __eq__ = __repr__


class Uncounted(list):
    """Counts wrongly, and by an error."""

    def __len__(self):
        raise LookupError("len")


class Table(dict):
    """Has a name of its own, as a table of a database has."""

    __name__ = property(lambda self: self.missing)
    __qualname__ = "Table"

    def __len__(self):
        raise LookupError("len")


class Function:
    """Is called, and has no name."""

    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return x * self.k

    def __getattr__(self, name):
        raise LookupError(name)


@pytest.mark.parametrize(
    ("use", "worlds"),
    [
        (lambda o, x: x * o.k, [Raising(1.0), Raising(2), Raising(True), Function(1.0)]),
        (lambda o, x: x * o[0], [Uncounted([1.0]), Uncounted([1.0, 2.0]), [1.0], Uncounted([1])]),
        (lambda o, x: x * o["a"], [Table(a=1.0), Table(a=1), Table(b=0, a=1.0), {"a": 1.0}]),
        (lambda o, x: o(x), [Function(1.0), Function(2), Function(True)]),
        (lambda o, x: (x, o)[0], [Raising(1.0), Function(1.0), Uncounted([1.0])]),
        (lambda o, x: (x, Table(a=o), Uncounted([o]))[0], [1.0, 2, True]),
    ],
)
def test_explanations_never_make_a_call_fail(use, worlds):
    f = fresh(use)
    for o in worlds:
        np.testing.assert_array_equal(f(o, X), use(o, X))
    assert len(f.explain().variants) == f.cache_info().misses > 1
    assert "variant 2" in str(f.explain())


def test_there_is_less_text_where_words_fail(monkeypatch):
    f = fresh(lambda o, x: x * o.k)
    monkeypatch.setitem(differences._DIFFERENCES, "type", lambda node, value: 1 // 0)
    for k in (1.0, 2):
        f(Function(k), X)
    assert why(f) == "o.k: another one"
    monkeypatch.setattr(differences, "_values", lambda *args: 1 // 0)
    f(Function(True), X)
    assert why(f) == ""
    np.testing.assert_array_equal(f(Function(3.0), X), 3 * X)
