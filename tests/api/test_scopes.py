"""Named scopes, computing while tracing, types, and what the environment tells."""

import gc
import re
import sys

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.errors import LeakedTracerError, RetraceError, TracerBoolConversionError


def scopes(fun, *args):
    """Return the named scopes that a printed jaxpr shows, in order."""
    text = ev.make_jaxpr(fun)(*args).pretty_print(name_stack=True)
    return re.findall(r"# \[(.*?)\]", text)


def nested(x):
    with ev.named_scope("a"):
        x = jnp.sin(x)
        with ev.named_scope("b"):
            x = jnp.cos(x)
    return jnp.tan(x)


def test_scopes_nest():
    assert scopes(nested, 1.0) == ["a", "a/b"]


def test_scope_as_decorator_and_named_call():
    @ev.named_scope("f")
    def f(x):
        return jnp.sin(x)

    named = ev.named_call(lambda x: f(x) + 1, name="outer")
    assert scopes(named, 1.0) == ["outer/f", "outer"]
    assert scopes(ev.named_call(nested), 1.0)[0] == "nested/a"


def test_derivatives_keep_the_scope():
    assert set(scopes(ev.grad(nested), 1.0)) == {"a", "a/b"}


def test_scopes_inside_of_loops():
    def f(x):
        with ev.named_scope("loop"):
            return lax.fori_loop(0, 3, lambda i, c: jnp.sin(c), x)

    assert set(scopes(f, 1.0)) == {"loop"}


def test_scope_ends_with_an_exception():
    with pytest.raises(ZeroDivisionError), ev.named_scope("a"):
        raise ZeroDivisionError
    assert scopes(jnp.sin, 1.0) == []


def test_scopes_and_lines_in_the_lowered_text():
    lowered = ev.jit(nested).lower(1.0)
    text = lowered.as_text(debug_info=True)
    assert '"jit(nested)/a/b/cos"' in text
    assert re.search(r'loc\(".*test_scopes\.py":\d+:0\)', text)
    assert "loc(" not in lowered.as_text()
    assert "loc(" not in ev.jit(nested).lower(1.0).as_text()


def test_text_with_locations_of_every_kind_of_operation():
    def f(x):
        y = lax.cond(x > 0, jnp.sin, jnp.cos, x)
        return lax.while_loop(lambda c: c < 9, lambda c: ev.jit(jnp.exp)(c) + 1, y)

    text = ev.jit(f).lower(1.0).as_text(debug_info=True)
    for name in ("cond", "while", "exp"):
        assert f'{name}"(' in text


def test_scope_names_are_strings():
    with pytest.raises(TypeError, match="named_scope: the name must be a string, got int"):
        ev.named_scope(1)


# ------------------------------------------------------------------ computing while tracing


SHAPES = {
    "jit": lambda f: ev.jit(f)(2.0).shape,
    "make_jaxpr": lambda f: ev.make_jaxpr(f)(2.0).out_avals[0].shape,
    "eval_shape": lambda f: ev.eval_shape(f, 2.0).shape,
    "grad": lambda f: ev.vjp(f, 2.0)[0].shape,
}


@pytest.mark.parametrize("run", SHAPES.values(), ids=SHAPES)
def test_known_values_are_computed_at_once(run):
    def f(x):
        with ev.ensure_compile_time_eval():
            n = jnp.sum(jnp.arange(4))
            return x * (jnp.ones(int(n)) if n > 5 else 0.0)

    assert run(f) == (6,)


def test_what_a_numpy_array_of_outside_holds_is_known():
    limits, known = np.float32([1, 2]), []

    @ev.jit
    def f(x, ys):
        with ev.ensure_compile_time_eval():
            found = jnp.max(jnp.sin(limits) * 0 + limits)
            known.append(isinstance(found, ev.core.Tracer))
            known.append(isinstance(jnp.max(ys), ev.core.Tracer))
        return x + found * jnp.ones(int(found))

    for _ in range(2):
        np.testing.assert_array_equal(f(1.0, np.ones(2)), [3, 3])
    limits[0] = 3.0  # a condition of the program
    np.testing.assert_array_equal(f(1.0, np.ones(2)), [4, 4, 4])
    assert known == [False, True] * 3  # what an argument holds is not known


def test_what_a_large_array_of_outside_holds_stays_traced():
    large = np.ones((1 << 18) + 1, np.float32)

    @ev.jit
    def f(x):
        with ev.ensure_compile_time_eval():
            return x + jnp.max(large)

    assert f(1.0) == 2.0
    large[0] = 3.0
    assert f(1.0) == 4.0


def test_traced_values_stay_traced():
    @ev.jit
    def f(x):
        with ev.ensure_compile_time_eval():
            y = x * 2
        return y + 1

    assert f(2.0) == 5.0
    with pytest.raises(TracerBoolConversionError):
        ev.make_jaxpr(lambda x: bool(_known_product(x) > 0))(1.0)


def _known_product(x):
    with ev.ensure_compile_time_eval():
        return x * 2


def test_typeof():
    assert str(ev.typeof(np.ones((2, 3), np.float32))) == "float32[2,3]"
    assert str(ev.typeof(True)) == "bool[]"
    assert ev.typeof(ev.random.key(0)).str_short() == "key<fry>[]"
    assert ev.jit(lambda x: x + (ev.typeof(x).shape == ()))(1.0) == 2
    with pytest.raises(TypeError, match="typeof: str is not an array type"):
        ev.typeof("a")


# ------------------------------------------------------------------ options


def test_no_tracing():
    f = ev.jit(lambda x: x + 1)
    f(jnp.ones(2))
    with ev.no_tracing(), pytest.raises(RetraceError, match="traced within no_tracing"):
        ev.jit(lambda x: x + 2)(jnp.ones(2))
    with ev.no_tracing():
        assert f(jnp.zeros(2))[0] == 1


def test_no_execution():
    f, x = ev.jit(lambda x: x + 1), jnp.ones(())
    with ev.no_execution():
        with pytest.raises(RuntimeError, match=r"jit\(<lambda>\): would be executed"):
            f(x)
        with pytest.raises(RuntimeError, match="mul: would be executed"):
            jnp.multiply(2.0, 3)
        f.lower(1.0).compile()


LEAKS = {
    "list": lambda x, store: store.append(x * 2),
    "dict": lambda x, store: store.append({"x": x}),
    "input": lambda x, store: store.append(x),
    "closure": lambda x, store: store.append(lambda: x),
}


@pytest.mark.parametrize("name", LEAKS)
def test_leaks_are_found_by_strict_rules(name):
    store = []

    def f(x):
        LEAKS[name](x, store)
        return x + 1

    with ev.strict(), ev.checking_leaks():
        with pytest.raises(LeakedTracerError, match=r"jit\(f\): a traced value f32\[\] is still"):
            ev.jit(f)(1.0)
        store.clear()


def test_no_leaks_are_found_where_there_are_none():
    def f(x):
        y, ys = lax.scan(lambda c, a: (c * a, jnp.sin(c)), x, jnp.ones(3))
        return lax.cond(y > 0, jnp.sum, lambda ys: ys[0] * y, ys)

    derived = {"plain": f, "grad": ev.grad(f), "checkpoint": ev.checkpoint(f), "jvp": ev.hessian(f)}
    with ev.strict(), ev.checking_leaks():
        for g in derived.values():
            ev.jit(g)(1.0)
        ev.jit(ev.vmap(ev.grad(f)))(jnp.ones(2))


def test_the_objects_of_the_process_are_looked_through_once_for_a_whole_program():
    calls = []

    def note(frame, event, function):
        if event == "c_call" and function in (gc.get_referrers, gc.collect):
            calls.append(function.__name__)

    with ev.strict(), ev.checking_leaks():
        sys.setprofile(note)
        try:
            ev.make_jaxpr(lambda x: jnp.sin(jnp.cos(x)) * x)(jnp.ones(3))
        finally:
            sys.setprofile(None)
    assert calls == ["get_referrers"]


# ------------------------------------------------------------------ what there is


def test_processes():
    assert ev.process_indices() == ev.host_ids() == [0]
    assert (ev.host_id(), ev.host_count()) == (0, 1)


def test_live_arrays():
    x = jnp.ones(3)
    assert any(y is x for y in ev.live_arrays())
    assert any(y is x for y in ev.live_arrays("cpu"))
    assert not any(y is x for y in ev.live_arrays("gpu"))
    x.delete()
    assert not any(y is x for y in ev.live_arrays())


def test_environment_info(capsys):
    text = ev.print_environment_info(return_string=True)
    rows = {line.partition(":")[0] for line in text.splitlines()}
    assert rows >= {
        "evertrace",
        "jaxlib",
        "numpy",
        "python",
        "devices",
        "process_count",
        "platform",
    }
    ev.print_environment_info()
    assert capsys.readouterr().out == f"{text}\n"


def test_copy_to_host_async():
    tree = {"x": jnp.ones(2), "y": 3}
    assert ev.copy_to_host_async(tree) is tree


def test_device_is_the_class_of_devices():
    assert isinstance(ev.devices()[0], ev.Device)
