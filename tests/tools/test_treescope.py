"""What treescope shows of arrays, where it is installed."""

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp

treescope = pytest.importorskip("treescope", reason="treescope, of the extra `test`, is missing")
pytestmark = pytest.mark.engine


def test_arrays_of_a_tree_are_shown_by_what_they_are():
    tree = {"w": jnp.arange(6.0).reshape(2, 3), "b": [jnp.ones(2, jnp.bfloat16)], "step": 3}
    text = treescope.render_to_text(tree)
    assert "# Array f32[2,3] · 24 bytes · cpu:0 · min 0 · mean 2.5 · max 5" in text
    assert "Array([[0., 1., 2.]," in text
    assert "Array([1, 1], dtype=bfloat16)" in text
    assert "object at" not in text


@pytest.mark.parametrize(
    ("x", "what"),
    [
        (lambda: jnp.zeros((0, 3)), "Array([], shape=(0, 3), dtype=float32)"),
        (lambda: ev.random.key(0), "<Array key<fry>[]>"),
        (lambda: jnp.full((30, 40), jnp.nan), "Array f32[30,40]"),
        (lambda: jnp.arange(200), "Array i32[200]"),
        (lambda: jnp.ones((9, 9), complex), "Array c64[9,9]"),
    ],
)
def test_all_kinds_of_arrays_are_shown(x, what):
    assert what in treescope.render_to_text(x())


def test_an_array_that_is_gone_is_shown_as_such():
    x = jnp.ones((20, 20))
    x.delete()
    assert "Array(f32[20,20], deleted)" in treescope.render_to_text(x)


def test_pictures_have_the_values():
    x = jnp.arange(6.0).reshape(2, 3)
    drawn = treescope.render_array(x).treescope_part.html_src
    assert drawn == treescope.render_array(np.asarray(x)).treescope_part.html_src
    with treescope.active_autovisualizer.set_scoped(treescope.ArrayAutovisualizer()):
        assert "arrayviz" in treescope.render_to_html({"w": x}, compressed=False)


def test_tracers_are_shown_by_their_types():
    def same(x):
        assert "float32[2,3]" in treescope.render_to_text(x)
        return x

    ev.make_jaxpr(same)(jnp.ones((2, 3)))


def test_an_array_that_treescope_knows_by_jaxs_name_is_shown_as_on_jax(monkeypatch):
    registries, x = treescope.type_registries, jnp.arange(6.0).reshape(2, 3)
    shown, drawn = treescope.rendering_parts.text("jax.Array float32(2, 3)"), object()
    monkeypatch.setitem(registries.TREESCOPE_HANDLER_REGISTRY, ev.Array, lambda *_: shown)
    monkeypatch.setitem(registries.NDARRAY_ADAPTER_REGISTRY, ev.Array, drawn)
    assert "jax.Array float32(2, 3)" in treescope.render_to_text([x])
    assert registries.lookup_ndarray_adapter(x) is drawn


def test_a_structure_is_its_tree_with_a_star_for_each_leaf():
    found = treescope.render_to_text(ev.tree.structure({"a": 1, "b": [2, (3, None)]}))
    assert found.startswith("PyTreeDef({'a': *, 'b': [*, (*, None)]})")
    assert "object at" not in found


def test_a_structure_of_nodes_that_take_no_stars_is_shown_as_it_prints():
    @ev.tree_util.register_pytree_node_class
    class Whole:
        def tree_flatten(self):
            return (1,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            if type(children[0]) is not int:
                raise TypeError
            return cls()

    found = treescope.render_to_text(ev.tree.structure([Whole()]))
    assert found.startswith("PyTreeDef([CustomNode(Whole")
