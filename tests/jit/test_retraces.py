"""What is said and forbidden at a retrace, and how many variants are kept."""

import collections
import warnings

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src.jit import stores
from tests.jit.test_explain import Object, fresh

pytestmark = pytest.mark.engine
X, Y = jnp.ones(3), jnp.zeros(3)


# ------------------------------------------------------------------------ as it happens


def test_explain_retraces_prints_where_and_why(capsys):
    f = fresh(lambda x, way: x)
    with ev.explain_retraces():
        f(X, "up")
        f(X, "up")
        assert capsys.readouterr().err == ""
        f(X, "down")
    printed = capsys.readouterr().err
    assert printed.startswith("jit(<lambda>): traced again: way: 'up' -> 'down', at ")
    assert "test_retraces.py" in printed
    assert printed.count("\n") == 1
    f(jnp.ones(4), "up")
    assert capsys.readouterr().err == ""


def test_no_retrace():
    f = fresh(lambda x: x)
    with ev.no_retrace():
        f(X)  # the first trace is no retrace
        f(X)
        with pytest.raises(ev.errors.RetraceError) as caught:
            f(jnp.ones(4))
    text = str(caught.value)
    assert "jit(<lambda>): traced again within no_retrace, because x: f32[3] -> f32[4]." in text
    assert "Fix: pad to a few sizes" in text
    assert " RetraceError`" in text
    assert f.cache_info().misses == 1
    f(jnp.ones(4))
    assert f.cache_info().misses == 2


def test_max_traces():
    f = fresh(lambda x, way: x, max_traces=2)
    f(X, "a")
    f(X, "b")
    with pytest.raises(
        ev.errors.RetraceError,
        match=r"jit\(<lambda>\): one trace more than max_traces=2, because way: 'b' -> 'c'",
    ):
        f(X, "c")
    f(X, "a")
    f.clear_cache()
    f(X, "c")


def test_no_retrace_and_max_traces_by_jax_rules():
    with ev.strict():
        f = fresh(lambda x: x, max_traces=2)
        f(X)
        with ev.no_retrace(), pytest.raises(ev.errors.RetraceError, match="x: f32"):
            f(jnp.ones(4))
        f(jnp.ones(4))
        with pytest.raises(ev.errors.RetraceError, match="max_traces=2"):
            f(jnp.ones(5))


# ------------------------------------------------------------------------ too many


def warnings_of(calls):
    """Return the texts of the `RetraceWarning`s that calls give."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in calls:
            pass
    return [str(w.message) for w in caught if w.category is ev.errors.RetraceWarning]


def test_warning_names_the_guard_its_values_and_the_cure():
    f = fresh(lambda x, n: x[:n])
    (text,) = warnings_of(f(np.ones(20, np.float32), n) for n in range(15))
    first, place, fix, link = text.splitlines()
    assert first == "jit(<lambda>): traced for 9 values of n, the last ones 5, 6, 7, 8."
    assert "test_retraces.py" in place
    assert "in <lambda>" in place  # the line that asked, not the one that called
    assert "lax.fori_loop" in fix
    assert link.endswith(" RetraceWarning`")


@pytest.mark.parametrize(("count", "number"), [(8, 0), (9, 1), (20, 1)])
def test_warning_comes_once_after_eight_values(count, number):
    f = fresh(lambda x: x * np.ones(len(x), np.float32))
    assert len(warnings_of(f(jnp.ones(n)) for n in range(count))) == number


def test_sizes_that_no_code_sees_are_no_reason_to_warn():
    f = fresh(lambda x: x * 2)
    assert warnings_of(f(jnp.ones(n)) for n in range(20)) == []


def test_shapes_that_change_together_are_one_warning():
    f = fresh(lambda x, y: (x + y) * np.ones(len(x), np.float32))
    (text,) = warnings_of(f(jnp.ones(n), jnp.ones(n)) for n in range(12))
    assert "9 values of x, the last ones f32[5], f32[6], f32[7], f32[8]; likewise y." in text


def test_each_guard_warns_for_itself():
    f = fresh(lambda x, way: x * np.ones(len(x), np.float32))
    assert len(warnings_of(f(jnp.ones(n), "a") for n in range(12))) == 1
    (text,) = warnings_of(f(X, f"way {n}") for n in range(12))
    assert "values of way, the last ones" in text


def test_flags_and_different_functions_are_no_reason_to_warn():
    f = fresh(lambda g, x, training: (g(x) if training else x) * np.ones(len(x), np.float32))
    functions = [eval(f"lambda x: x + {n}") for n in range(3)]
    sizes = [jnp.ones(n) for n in range(4)]
    texts = warnings_of(
        f(g, x, training) for g in functions for x in sizes for training in (True, False)
    )
    assert f.cache_info().misses == 3 * 4 + 4  # without training only the size counts
    assert texts == []


def test_what_is_redefined_again_and_again():
    f = fresh(lambda g: g())
    (text,) = warnings_of(f(eval("lambda: 3.0")) for _ in range(12))
    assert "jit(<lambda>): traced 9 times because of g: redefined." in text


def test_growing_list_that_is_read():
    s = Object(items=[])

    def calls():
        for k in range(12):
            s.items.append(float(k))
            yield f()

    f = fresh(lambda: sum(s.items))
    (text,) = warnings_of(calls())
    assert "traced for 9 values of len(s.items), the last ones 6, 7, 8, 9." in text


def test_clear_cache_warns_anew():
    f = fresh(lambda x: x * np.ones(len(x), np.float32))
    for _ in range(2):
        f.clear_cache()
        assert len(warnings_of(f(jnp.ones(n)) for n in range(12))) == 1


def test_jax_rules_do_not_warn():
    with ev.strict():
        f = fresh(lambda x: x)
        assert warnings_of(f(jnp.ones(n)) for n in range(12)) == []


# ------------------------------------------------------------------------ how many are kept


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.filterwarnings("ignore::evertrace.errors.RetraceWarning")
def test_variants_are_bounded(monkeypatch, strict):
    monkeypatch.setattr(stores, "MAX_VARIANTS", 3)
    with ev.strict(strict):
        f = fresh(lambda x: x)
        for n in range(6):
            f(jnp.ones(n))
    assert f.cache_info().currsize == 3


def test_the_least_recently_used_is_dropped(monkeypatch):
    monkeypatch.setattr(stores, "MAX_VARIANTS", 3)
    f = fresh(lambda x, way: x)
    for way in ("a", "b", "c", "a", "b", "d"):  # c is dropped
        f(X, way)
    kept = collections.Counter()
    with ev.no_retrace():
        for way in ("a", "b", "d"):
            f(X, way)
            kept[way] += 1
        with pytest.raises(ev.errors.RetraceError):
            f(X, "c")
    assert len(kept) == 3


def test_variant_that_another_thread_made_meanwhile_is_found(monkeypatch):
    f = fresh(lambda x: x)
    calls = f._contract
    call = calls.binder.bind((X,), {})
    f(X)
    monkeypatch.setattr(calls, "trace", lambda call, key: pytest.fail("traced twice"))
    calls.miss(call, call.key())  # as on a thread that waited for the lock
    assert f.cache_info() == (1, 1, None, 1)
