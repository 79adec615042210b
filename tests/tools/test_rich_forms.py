"""What notebooks show of arrays, structures, jaxprs and explanations, and what they call cells."""

import types
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random

pytestmark = pytest.mark.quotes_lines

X = jnp.arange(12.0).reshape(3, 4)


def shown(x):
    """Return the HTML of a value, which has to be well formed."""
    text = x._repr_html_()
    assert isinstance(text, str)
    ElementTree.fromstring(text)
    return text


def squares(text):
    """Return how many cells of a picture are drawn: those of zero are left out."""
    return text.count("<rect x=")


def test_an_array_shows_its_facts_its_spread_and_a_picture():
    text = shown(X)
    assert "f32[3,4] · 48 bytes · cpu:0" in text
    assert "min 0 · mean 5.5 · max 11 · 1 zero" in text
    assert squares(text) == 11


@pytest.mark.parametrize(
    ("x", "count", "what"),
    [
        (jnp.full((3, 4), jnp.nan), 12, "12 NaN"),
        (jnp.full((3, 4), -jnp.inf), 12, "12 inf"),
        (X > 3, 8, "bool[3,4]"),
        (X + 1j, 12, "c64[3,4]"),
        (X.astype("bfloat16") + 1, 12, "bf16[3,4]"),
        (jnp.ones((2, 3, 4)), 24, "f32[2,3,4]"),
        (jnp.ones((100, 20)), 34 * 20, "one of 3 rows"),
        (jnp.zeros((0, 9)), 0, "f32[0,9]"),
        (jnp.float32(3), 0, "Array(3., dtype=float32)"),
        (random.key(0), 0, "dtype=key"),
        (np.nan * X.at[0].set(0.0) * 0, 12, "12 NaN"),
    ],
    ids=range(11),
)
def test_all_kinds_of_arrays_are_shown(x, count, what):
    text = shown(x)
    assert what in text
    assert squares(text) == count


def test_what_is_gone_is_shown_as_such():
    x = X + 1
    x.delete()
    assert "deleted" in shown(x)


def test_a_failure_of_a_picture_never_reaches_the_user(monkeypatch):
    monkeypatch.setattr("evertrace._src.arrays.picture._facts", None)
    assert X._repr_html_() is None


def test_a_jaxpr_folds_what_is_inside_and_shows_shared_programs_once():
    inner = ev.jit(lambda x: jnp.sin(x) * 2)

    def f(x):
        return lax.cond(x.sum() > 0, inner, lambda x: x, inner(x))

    text = shown(ev.make_jaxpr(f)(X))
    assert "<b>cond</b>" in text
    assert 'title="a: f32[3,4]"' in text
    assert "return lax.cond(x.sum() &gt; 0" in text  # the line, where it is pointed at
    assert text.count("<b>sin</b>") == 1
    assert "as in jaxpr above" in text
    assert shown(ev.make_jaxpr(f)(X).jaxpr) == text


def test_a_long_jaxpr_is_cut_off():
    def f(x):
        for _ in range(600):
            x = jnp.sin(x)
        return x

    text = shown(ev.make_jaxpr(f)(1.0))
    assert text.count("<b>sin</b>") == 500
    assert "... 100 more" in text


def test_a_structure_names_the_keys_of_its_nodes():
    text = shown(ev.tree.structure({"<a>": 1, "b": [2, (3, 4)], "c": None}))
    assert "dict" in text
    assert "&lt;a&gt;" in text
    assert "4 leaves" in text
    assert "<b>1</b>: tuple" in text


def test_an_explanation_is_a_table_for_each_variant():
    f = ev.jit(lambda x: x + 1)
    f(X)
    f(X[0])
    text = shown(f.explain())
    assert text.count("<table>") == 2
    assert text.count('<details open="">') == 1
    assert "x: f32[3,4] -&gt; f32[4]" in text


def test_cells_are_named_as_ipython_names_them(monkeypatch):
    code = "x + jnp.ones(7)"
    shell = types.SimpleNamespace(
        compile=types.SimpleNamespace(
            format_code_name=lambda name: ("Cell", "In[5]") if name == "/tmp/1.py" else None
        )
    )
    module = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(__import__("sys").modules, "IPython", module)
    with pytest.raises(ev.errors.ShapeError, match=r"  at Cell In\[5\], line 2 in <module>"):
        exec(compile("\n" + code, "/tmp/1.py", "exec"), {"x": X, "jnp": jnp})
    with pytest.raises(ev.errors.ShapeError, match=r"  at .*2\.py:1 in <module>"):
        exec(compile(code, "/tmp/2.py", "exec"), {"x": X, "jnp": jnp})
