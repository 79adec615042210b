"""Globals, modules and what else a function finds by name: hidden arguments, all of them."""

import contextvars
import threading

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from tests.contract.compare import X, case, imported, in_thread, module, raised, run_in

pytestmark = pytest.mark.engine


@case(traces=1)
def test_global_number_changes(jit):
    m = module("rate = 2.0\ndef f(x): return x * rate")
    f = jit(m.f)
    for m.rate in (2.0, 3.0, 4.0):
        yield f(X), m.rate


@case(traces=1)
def test_global_is_rebound_inside(jit):
    m = module("""
        calls, total = 0, 0.0

        def step(x):
            global calls, total
            calls += 1
            total = total + x
            return total * calls
        """)
    m.total = jnp.zeros(3)
    step = jit(m.step)
    for _ in range(3):
        yield step(X), m.calls, m.total
    m.calls = 10
    yield step(X), m.calls


@case(at_most=3)
def test_global_is_made_and_deleted_inside(jit):
    m = module("""
        def step(x):
            global cache
            try:
                y = x + cache
                del cache
            except NameError:
                y = cache = x
            return y
        """)
    step = jit(m.step)
    for _ in range(4):
        yield step(X), hasattr(m, "cache")
    m.cache = 1.0
    yield step(X), hasattr(m, "cache")


@case(at_most=3)
def test_helper_is_redefined(jit):
    m = module("def g(x): return x + 1\ndef f(x): return g(x) * 10")
    f = jit(m.f)
    yield f(X)
    run_in(m, "def g(x): return x + 2")
    yield f(X)
    run_in(m, "def g(x): return x + 2")  # the same once more is another function, equal code
    yield f(X)


@case(traces=2)
def test_helper_two_calls_down_is_redefined(jit):
    m = module("def h(x): return x\ndef g(x): return h(x) + 1\ndef f(x): return g(x) * 10")
    f = jit(m.f)
    yield f(X)
    run_in(m, "def h(x): return -x")
    yield f(X)


@case(traces=2)
def test_builtin_is_hidden_by_a_new_global(jit):
    m = module("def f(x): return x * max(2.0, 3.0)")
    f = jit(m.f)
    yield f(X)
    m.max = min
    yield f(X)
    del m.max
    yield f(X)


@case(traces=3)
def test_function_becomes_a_callable_object(jit):
    class Gain:
        k = 3.0

        def __call__(self, x):
            return x * self.k

    m = module("def g(x): return x + 1\ndef f(x): return g(x) * 10")
    f = jit(m.f)
    yield f(X)
    m.g = Gain()
    yield f(X)
    m.g.k = 4.0
    yield f(X)


@case(traces=2)
def test_user_module_attribute(jit):
    with imported(module("rate = 2.0\ndef act(x): return x", name="conf_of_user")) as conf:
        m = module("import conf_of_user\ndef f(x): return conf_of_user.act(x * conf_of_user.rate)")
        f = jit(m.f)
        yield f(X)
        conf.rate = 3.0
        yield f(X)
        run_in(conf, "def act(x): return -x")
        yield f(X)


@case(traces=1)
def test_user_module_imported_inside(jit):
    with imported(module("rate = 2.0", name="late_conf_of_user")) as conf:
        m = module("""
            def f(x):
                import late_conf_of_user
                from late_conf_of_user import rate
                return x * late_conf_of_user.rate + rate
            """)
        f = jit(m.f)
        yield f(X)
        conf.rate = 3.0
        yield f(X)


@case(traces=1)
def test_user_module_is_written_to(jit):
    conf = module("calls = 0")
    m = module("def f(x):\n    conf.calls += 1\n    return x * conf.calls", conf=conf)
    f = jit(m.f)
    for _ in range(2):
        yield f(X), conf.calls
    conf.calls = 10
    yield f(X), conf.calls


@case(traces=2)
def test_function_of_another_user_module_and_its_globals(jit):
    tools = module("k = 2.0\ndef gain(x): return x * k")
    m = module("def f(x): return gain(x)", gain=tools.gain)
    f = jit(m.f)
    yield f(X)
    tools.k = 3.0
    yield f(X)
    tools.k = jnp.ones(3)
    yield f(X)


@case(at_most=2)
def test_globals_and_eval_see_the_present(jit):
    m = module("rate = 2.0\ndef f(x): return x * globals()['rate'] + eval('rate')")
    f = jit(m.f)
    yield f(X)
    m.rate = 3.0
    yield f(X)


@case(at_most=2)
def test_context_variable(jit):
    rate = contextvars.ContextVar("rate", default=1.0)
    f = jit(lambda x: x * rate.get())
    yield f(X)
    rate.set(3.0)
    yield f(X)


@case(at_most=2)
def test_context_variable_set_inside(jit):
    depth = contextvars.ContextVar("depth", default=0)

    def f(x):
        token = depth.set(depth.get() + 1)
        y = x * depth.get()
        depth.reset(token)
        return y

    f = jit(f)
    yield f(X), depth.get()
    depth.set(4)
    yield f(X), depth.get()


@case(traces=1)
def test_thread_local(jit):
    local = threading.local()
    local.k = 2.0

    def f(x):
        local.k = local.k + 1
        return x * local.k

    f = jit(f)
    yield f(X), local.k

    def elsewhere():
        local.k = 10.0
        return f(X), local.k

    yield in_thread(elsewhere)
    yield f(X), local.k


@case(at_most=3)
def test_conditional_global(jit):
    m = module("""
        def f(x, deep):
            return x * unset if deep else x
        """)
    f = jit(m.f)
    yield f(X, False)
    m.unset = 2.0
    yield f(X, False), f(X, True)
    m.unset = 3.0
    yield f(X, True)


@case(traces=1)
def test_assertion_of_the_user(jit):
    m = module("""
        n = 1

        def f(x):
            assert n > 0, "n must be positive"
            return x * n
        """)
    f = jit(m.f)
    yield f(X)
    m.n = 2
    yield f(X)


@case()
def test_assertion_of_the_user_fails(jit):
    m = module("n = 1\ndef f(x):\n    assert n > 0, 'n must be positive'\n    return x * n")
    f = jit(m.f)
    yield f(X)
    m.n = -1
    yield raised(f, X)
    m.n = 3
    yield f(X)


ANEW = """
    A, B, C = 1, 2, 3

    def by_name(x):
        global A
        old = A
        del A
        A = old + 1
        return x * A

    def to_the_same(x):
        global A
        old = A
        del A
        A = old
        return x

    def by_dict(x):
        names = globals()
        names["A"] = names.pop("A") + 1
        return x * A

    def and_read(x):
        global A
        old = A
        del A
        A = old + 1
        found = [v for k, v in globals().items() if k in "ABC"]
        return x * sum([i * v for i, v in enumerate(found)])
"""


@pytest.mark.parametrize("which", ["by_name", "to_the_same", "by_dict", "and_read", "of a module"])
def test_a_global_that_is_deleted_and_set_again_comes_last(which):
    @case()
    def compared(jit):
        m = module(ANEW)

        def of_a_module(x):
            old = m.A
            del m.A
            m.A = old + 1
            return x * m.A

        f = jit(getattr(m, which, of_a_module))
        for i in range(6):
            yield f(X), [k for k in vars(m) if k in "ABC"]
            if i % 2:
                for k in "BC":
                    setattr(m, k, vars(m).pop(k))

    compared()


@case(traces=1)
def test_new_globals_are_in_the_order_in_which_they_were_set(jit):
    m = module("""
        def f(x):
            global B, A
            B = 1
            A = 2
            return x * A
    """)
    f = jit(m.f)
    for _ in range(3):
        yield f(X), [k for k in vars(m) if k in "AB"]
        del m.A, m.B


@pytest.mark.parametrize("read", ["vars(m)", "m.__dict__", "{k: 2 for k in dir(m)}"])
def test_all_names_of_a_module_that_are_read_together(read):
    @case()
    def compared(jit):
        m = module("A = 1\nB = 2")
        user = module(
            f"f = lambda x: x * sum(i * v for i, v in enumerate("
            f"[v for k, v in {read}.items() if k in 'ABCD'], 1))",
            m=m,
        )
        f = jit(user.f)
        yield f(X), f(X)
        m.A = 5
        yield f(X)
        m.C = 3
        yield f(X)
        old = m.A
        del m.A
        m.A = old
        yield f(X)

    compared()


def test_a_call_that_raises_leaves_the_order_of_globals():
    m = module("""
        A, B, C = 1, 2, 3

        def f(x):
            global A
            old = A
            del A
            A = old + 1
            raise KeyError(1)
    """)
    before = list(vars(m))
    with pytest.raises(KeyError):
        ev.jit(m.f)(X)
    assert list(vars(m)) == before


def test_names_of_python_stay_where_they_are_while_a_namespace_is_read():
    """``globals()`` has the builtins in it: entered like other dicts they would be gone."""
    namespace: dict = {}
    exec("import builtins\nx = 2", namespace)
    namespace["get"] = lambda: namespace["x"]
    f = eval("lambda a: a + get() + len('ab')", namespace)
    assert ev.jit(f)(jnp.float32(1)) == 5
    namespace["x"] = 3
    assert ev.jit(f)(jnp.float32(1)) == 6
    assert isinstance(namespace["__builtins__"], dict)
