"""Closures, defaults and the code itself: what a function depends on besides arguments."""

import contextlib
import functools
import operator

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import Record, X, case, module

pytestmark = pytest.mark.engine


@case(traces=3)
def test_cell_is_rebound(jit):
    scale = jnp.asarray(2.0)
    f = jit(lambda x: x * scale)
    yield f(X)
    scale = jnp.asarray(5.0)
    yield f(X)
    scale = 7
    yield f(X)
    scale = jnp.ones(3)
    yield f(X)


@case(traces=1)
def test_nonlocal_is_changed(jit):
    n, total = 0, jnp.zeros(3)

    def step(x):
        nonlocal n, total
        n += 1
        total = total + x * n
        return total

    step = jit(step)
    for _ in range(3):
        yield step(X), n, total
    n = 100
    yield step(X), n, total


@case(traces=1)
def test_two_functions_share_a_cell(jit):
    n = 0

    def bump():
        nonlocal n
        n += 1

    def step(x):
        bump()
        bump()
        return x * n

    step = jit(step)
    yield step(X), n
    bump()
    yield step(X), n


@case(traces=1)
def test_closure_made_anew_each_time_shares_a_variant(jit):
    def make(k):
        return lambda x: x * k

    for k in (1.0, 2.0, 3.0):
        yield jit(make(k))(X)


@case(at_most=2)
def test_empty_cell(jit):
    def outer():
        def f(x):
            try:
                return x * late
            except NameError:
                return x

        f = jit(f)
        yield f(X)
        late = 2.0
        yield f(X)
        late = 3.0
        yield f(X)

    yield from outer()


@case(traces=1)
def test_lambda_made_anew_each_call_shares_a_variant(jit):
    for k in (1.0, 2.0, 3.0):
        yield jit(lambda x: x * k)(X)  # noqa: B023


@case(traces=2)
def test_closures_of_one_code_in_a_list(jit):
    def make(k, m):
        return lambda x: x * k + m

    fs = [make(k, k + 1) for k in (1.0, 2.0, 3.0)]
    f = jit(lambda x: sum(g(x) for g in fs))
    yield f(X)
    fs[0] = make(10.0, 5.0)
    yield f(X)
    fs.append(make(1.0, 1.0))
    yield f(X)


@case(traces=1)
def test_closures_of_one_code_in_a_call(jit):
    def make(k):
        return lambda x: x * k

    f = jit(lambda g, h, x: g(x) - h(x))
    yield f(make(1.0), make(2.0), X), f(make(5.0), make(7.0), X)


@case(traces=2)
def test_code_is_replaced(jit):
    def helper(x):
        return x + 1

    def other(x):
        return x - 1

    f = jit(lambda x: helper(x) * 2)
    yield f(X)
    helper.__code__ = other.__code__
    yield f(X)


@case()
def test_code_of_the_jitted_function_is_replaced(jit):
    def f(x):
        return x + 1

    def other(x):
        return x - 1

    g = jit(f)
    yield g(X)
    f.__code__ = other.__code__
    yield g(X)


@case(traces=3)
def test_defaults_are_hidden_arguments(jit):
    def helper(x, k=2.0, *, b=1.0):
        return x * k + b

    f = jit(lambda x: helper(x))
    yield f(X)
    helper.__defaults__ = (3.0,)
    yield f(X)
    helper.__kwdefaults__ = {"b": 5.0}
    yield f(X)
    helper.__kwdefaults__["b"] = 6.0
    yield f(X)
    helper.__defaults__ = (jnp.ones(3),)
    yield f(X)
    helper.__defaults__ = (True,)
    yield f(X)


@case(traces=1)
def test_mutable_default_accumulates(jit):
    def step(x, log=[]):  # noqa: B006  Python's trap is Python's meaning
        log.append(x)
        return x + 1

    f = jit(step)
    for _ in range(3):
        yield f(X), step.__defaults__


@case(at_most=4)
def test_mutable_default_is_read(jit):
    def step(x, seen={}):  # noqa: B006
        seen["n"] = seen.get("n", 0) + 1
        return x * seen["n"]

    f = jit(step)
    for _ in range(3):
        yield f(X), step.__defaults__


@case(traces=1)
def test_attributes_of_a_function(jit):
    def step(x):
        step.calls += 1
        return x * step.calls

    step.calls = 0
    f = jit(step)
    plain = step
    for _ in range(3):
        yield f(X), plain.calls
    plain.calls = 10
    yield f(X), plain.calls


@case(traces=2)
def test_partial_in_state(jit):
    def scaled(k, x, shift=0.0):
        return x * k + shift

    s = Record(f=functools.partial(scaled, 2.0, shift=1.0))
    f = jit(lambda x: s.f(x))
    yield f(X)
    s.f = functools.partial(scaled, 3.0, shift=4.0)
    yield f(X)
    s.f = functools.partial(scaled, 3.0)
    yield f(X)


@case(traces=1)
def test_partial_is_jitted(jit):
    def scaled(k, x):
        return x * k

    for k in (1.0, 2.0):
        yield jit(functools.partial(scaled, k))(X)


@case(traces=1)
def test_bound_method_in_state(jit):
    Gain = type("Gain", (Record,), {"apply": lambda self, x: x * self.k})
    a, b = Gain(k=2.0), Gain(k=3.0)
    s = Record(f=a.apply)
    f = jit(lambda x: s.f(x))
    yield f(X)
    a.k = 5.0
    yield f(X)
    s.f = b.apply
    yield f(X), s


@case(at_most=3)
def test_lru_cache_helper(jit):
    @functools.lru_cache
    def factor(n):
        return n * 2 + 1

    s = Record(order=2)
    f = jit(lambda x: x * factor(s.order))
    for s.order in (2, 3, 2):
        yield f(X)
    yield type(factor(2)), type(factor(3))


@case(traces=1)
def test_decorated_helper(jit):
    def logged(fun):
        calls = []

        @functools.wraps(fun)
        def wrapper(*args, **kwargs):
            calls.append(fun.__name__)
            return fun(*args, **kwargs)

        wrapper.calls = calls
        return wrapper

    k = 2.0

    @logged
    def helper(x, shift=1.0):
        return x * k + shift

    f = jit(lambda x: helper(x, shift=2.0))
    yield f(X), helper.calls
    k = 3.0
    yield f(X), helper.calls


@case(traces=1)
def test_contextmanager(jit):
    s = Record(depth=0, seen=0)

    @contextlib.contextmanager
    def deeper():
        s.depth += 1
        try:
            yield s.depth
        finally:
            s.depth -= 1

    def f(x):
        with deeper() as depth:
            s.seen = s.seen + depth
            return x * depth

    f = jit(f)
    for s.depth in (0, 3):
        yield f(X), s


@case(traces=2)
def test_context_manager_class(jit):
    class Scope:
        entered = left = 0

        def __enter__(self):
            self.entered += 1
            return self

        def __exit__(self, *exc):
            self.left += 1
            return exc[0] is ValueError

    scope = Scope()

    def f(x):
        with scope as inner:
            raise ValueError("caught by the scope")
        return x * inner.entered

    f = jit(f)
    for _ in range(3):
        yield f(X), scope


@case(traces=1)
def test_generator_inside(jit):
    s = Record(n=0, ws=[1.0, 2.0])

    def scaled(x):
        for w in s.ws:
            s.n += 1
            yield x * w

    f = jit(lambda x: sum(scaled(x)))
    for _ in range(2):
        yield f(X), s
    s.ws[0] = 10.0
    yield f(X), s


@case(traces=1)
def test_generator_that_is_sent_to(jit):
    def running():
        total = 0.0
        while True:
            total = total + (yield total)

    def f(x):
        gen = running()
        next(gen)
        gen.send(x)
        return gen.send(x + 1)

    f = jit(f)
    yield f(X), f(X)


@case(traces=2)
def test_recursion_with_state(jit):
    s = Record(visits=0)

    def down(x, depth):
        s.visits += 1
        return x if depth == 0 else down(x * 2, depth - 1)

    f = jit(lambda x, depth: down(x, depth))
    for depth in (0, 3, 3, 0):
        yield f(X, depth), s


@case(traces=1)
def test_function_stored_by_the_call(jit):
    s = Record(f=None)

    def step(x, k):
        s.f = lambda y: y * x + k
        return x

    step = jit(step)
    step(X, 2.0)
    first = s.f
    yield first(X)
    step(X + 1, 3.0)
    yield s.f(X), first(X), first is s.f


@case(traces=1)
def test_operator_functions(jit):
    s = Record(k=2.0, items=[1.0, 2.0])
    get = operator.attrgetter("k")

    def f(x):
        return operator.mul(x, get(s)) + operator.itemgetter(1)(s.items)

    f = jit(f)
    for s.k in (2.0, 3.0):
        yield f(X)


@case(at_most=2)
def test_code_executed_inside(jit):
    m = module("""
        def f(x):
            names = {"x": x}
            exec("y = x * 3", names)
            return names["y"]
        """)
    f = jit(m.f)
    yield f(X), f(X + 1)


@case(traces=1)
def test_class_defined_inside(jit):
    s = Record(k=2.0)

    def f(x):
        class Local:
            def __init__(self, w):
                self.w = w * s.k

            def __call__(self, x):
                return x * self.w

        return Local(x)(x)

    f = jit(f)
    for s.k in (2.0, 3.0):
        yield f(X)


@case(traces=1)
def test_star_arguments_of_helpers(jit):
    s = Record(args=(1.0, 2.0), kwargs={"c": 3.0})

    def helper(x, *args, **kwargs):
        return x * args[0] + args[1] - kwargs["c"]

    f = jit(lambda x: helper(x, *s.args, **s.kwargs))
    yield f(X)
    s.args, s.kwargs["c"] = (5.0, 6.0), 7.0
    yield f(X)


@pytest.mark.parametrize("name", ["self", "found", "fun", "ref", "name", "method", "args"])
def test_keyword_arguments_have_any_name(name):
    def double(**given):
        return given[name] * 2

    def draw(**given):
        yield given[name]

    def run(**given):
        x = given[name]
        partial = functools.partial(double, **{name: x})
        return double(**{name: x}) + next(draw(**{name: x})) + partial()

    step, given = ev.jit(run), {name: X}
    assert step(**given).tolist() == run(**given).tolist()


@case(traces=1)
def test_coroutine_that_never_suspends(jit):
    async def double(x):
        return x * 2

    async def f(x):
        return await double(x) + 1

    def run(coroutine):
        try:
            coroutine.send(None)
        except StopIteration as done:
            return done.value

    g = jit(lambda x: run(f(x)))
    yield g(X), g(X + 1)


ALL_OF_A_FUNCTION = {
    "vars": lambda g, x: x * sum(vars(g).values()),
    "__dict__": lambda g, x: x * sum(i * v for i, v in enumerate(g.__dict__.values(), 1)),
    "dir": lambda g, x: x * len([k for k in dir(g) if k[:2] != "__"]),
    "getattr": lambda g, x: x * getattr(g, "late", 0) + getattr(g, "__dict__").get("a", 0),  # noqa: B009
}


@pytest.mark.parametrize("how", ALL_OF_A_FUNCTION)
def test_all_attributes_of_a_function_that_are_read_together(how):
    @case()
    def changed_between_the_calls(jit):
        def g():
            """Have attributes."""

        f = jit(lambda x: ALL_OF_A_FUNCTION[how](g, x))
        yield f(X)
        g.a = 1
        yield f(X)
        g.a = 2.5
        yield f(X), f(X)
        g.late = 3
        yield f(X)
        del g.a
        g.a = 2.5
        yield f(X)

    changed_between_the_calls()


@case(traces=6)
def test_a_method_gains_an_attribute_that_was_asked_for(jit):
    class Model:
        def act(self):
            """Be marked, some day."""

    m = Model()
    f = jit(lambda x: x * getattr(m.act, "weight", 1) + len(vars(Model.act)))
    g = jit(lambda x: x * len(Model.act.__dict__))
    yield f(X), f(X), g(X), g(X)
    Model.act.weight = 4
    yield f(X), f(X), g(X), g(X)
    Model.act.other = 4
    yield f(X), f(X), g(X), g(X)


@case(traces=2)
def test_another_dict_of_a_function(jit):
    def g():
        """Have attributes."""

    g.a, g.b = 1, 2
    first = vars(g)

    def step(x):
        g.__dict__ = {"a": g.a + 1}
        return x * g.a

    step = jit(step)
    for _ in range(3):
        yield step(X), vars(g), first, vars(g) is first


@case(traces=2)
def test_a_partial_of_a_partial_is_made_flat(jit):
    """Python takes one apart that has no attributes, and asking for them gives it a dict."""

    def affine(k, x, y):
        return k * x + y

    s = Record(f=functools.partial(affine, 2.0), made=None)

    def step(x):
        s.made = functools.partial(s.f, x)
        return s.made(1.0)

    step = jit(step)
    for k in (2.0, 3.0):
        s.f = functools.partial(affine, k)
        yield step(X), s.made.func is affine, s.made.args
        yield functools.partial(s.f, 1.0).func is affine  # the call has left it as it was
    s.f.name = "two"
    yield step(X), s.made.func is s.f, s.made.args
    yield step(X), s.made.func is s.f, s.made.args


@case(at_most=3)
def test_attribute_that_a_call_gives_a_partial_first(jit):
    pf = functools.partial(jnp.add)

    def step(x):
        pf.last = x
        return pf(x, 1.0)

    step = jit(step)
    for k in (1.0, 2.0, 3.0):
        yield step(X * k), vars(pf), functools.partial(pf, 1.0).func is pf
