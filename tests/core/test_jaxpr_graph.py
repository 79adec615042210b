"""The graph of a jaxpr in a notebook: everything is there, named as in the listing beside it."""

import functools
import re
import xml.etree.ElementTree as ElementTree

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

pytestmark = pytest.mark.quotes_lines

X = jnp.ones((4, 3))


def graph(fun, *args):
    """Return the graph of a function's program, as elements."""
    page = ElementTree.fromstring(ev.make_jaxpr(fun)(*args)._repr_html_())
    folds = [x for x in page.iter("details") if x[0].text == "graph"]
    assert len(folds) == 1
    assert folds[0].get("open") is None
    return folds[0].find("div/div[@class='drawn']/div[@class='graph']")


def words(element):
    """Return the lines that are seen in a box."""
    texts = element.findall("text") if element.tag == "g" else [element]
    return "\n".join("".join(x.itertext()) for x in texts)


def shapes(element, kind):
    """Return what is written in the boxes of a kind."""
    return [
        words(x) for x in element.iter("g") if x.get("class") == kind and len(x.findall("text"))
    ]


def wires(element):
    """Return what the wires say when they are pointed at."""
    return sorted({x.findtext("title") for x in element.iter("path") if x.get("class") == "near"})


def test_all_of_a_program_is_drawn_and_named_as_in_the_listing():
    table = jnp.ones(3)
    found = graph(lambda x, y: (jnp.tanh(x * table).sum(axis=0), 2.0, y), X, 1)
    assert shapes(found, "const") == ["a\nf32[3]"]
    assert sorted(shapes(found, "arg")) == ["b\nf32[4,3]", "c\ni32[]"]
    assert shapes(found, "eqn") == [
        "broadcast_in_dim\nd:f32[4,3]",
        "mul\ne:f32[4,3]",
        "tanh\nf:f32[4,3]",
        "reduce_sum axes=(0,)\ng:f32[3]",
    ]
    assert sorted(shapes(found, "result")) == ["2.0\nf32[]", "c\ni32[]", "g\nf32[3]"]
    assert wires(found) == [
        "a: f32[3]", "b: f32[4,3]", "c: i32[]", "d: f32[4,3]", "e: f32[4,3]", "f: f32[4,3]",
        "g: f32[3]",
    ]  # fmt: skip


def test_a_node_tells_its_equation_and_the_users_line():
    found = graph(lambda x: jnp.sin(x) - 1.0, 0.5)
    told = [x.findtext("title") for x in found.iter("g") if x.get("class") == "eqn"]
    equations, lines = zip(*[x.split("\n") for x in told], strict=True)
    assert equations == ("b:f32[] = sin a", "c:f32[] = sub b 1.0:f32[]")
    assert all("found = graph(lambda x: jnp.sin(x) - 1.0, 0.5)" in line for line in lines)
    assert shapes(found, "eqn")[1] == "sub b 1.0\nc:f32[]"  # which of them is the number


def test_inner_programs_are_folded_in_their_boxes_and_shared_ones_drawn_once():
    inner = ev.jit(lambda x: jnp.sin(x) * 2)
    found = graph(lambda x: lax.cond(x.sum() > 0, inner, lambda x: -inner(x), x) + 1, X)
    cond = next(x for x in found.iter("details"))
    assert cond.get("open") is None
    assert words(cond[0]).startswith("cond")
    assert "= cond" in cond[0].get("title")
    titles = [x.text for x in cond.iter("span") if x.get("class") == "dim"]
    # The program of a jit, which stands in both branches, is drawn in one.
    assert titles[0] == "branches[0]"
    assert "branches[1]" in titles
    assert sum(title.startswith("jaxpr as in jit ") for title in titles) == 1
    assert sum(text.startswith("sin") for text in shapes(found, "eqn")) == 1
    strips = [x for x in found if x.get("class") == "strip"]
    assert [x.tag for x in strips[0]] == ["svg", "details"]
    assert "add" in shapes(strips[1], "eqn")[0]


def test_a_program_of_one_call_is_open():
    call = graph(ev.jit(jnp.tanh), X).find("div/details")
    assert call.get("open") == ""
    assert words(call[0]).startswith("jit tanh")


def test_a_variable_that_is_taken_far_down_is_named_again():
    def f(count, x):
        y = z = jnp.cos(x)
        for _ in range(count):
            z = jnp.sin(z)
        return z * y

    assert shapes(graph(functools.partial(f, 15), 1.0), "again") == []
    found = graph(functools.partial(f, 16), 1.0)
    assert shapes(found, "again") == ["b\n↑ cos"]
    assert len(wires(found)) == 19


def test_texts_fit_into_their_boxes_and_are_cut():
    def f(x):
        return lax.conv_general_dilated(
            x, jnp.ones((1, 1, 2, 2)), (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")
        )

    found = graph(ev.grad(lambda x: f(x).sum()), jnp.ones((1, 1, 10_000, 10_000)))
    boxes = [x for x in found.iter("g") if x.find("rect") is not None]
    assert len(boxes) > 3
    for box in boxes:
        width = float(box.find("rect").get("width"))
        first, *second = words(box).split("\n")
        assert width >= 7.3 * len(first) + 10
        assert all(width >= 6.7 * len(text) + 10 for text in second)
        assert width < 500


def test_what_users_wrote_is_escaped():
    def f(x):
        return x + 1

    f.__name__ = "<b>&\"'"
    jaxpr = ev.make_jaxpr(ev.jit(f))(1.0)
    assert "<b>&\"'" not in jaxpr._repr_html_()
    box = graph(ev.jit(f), 1.0).find("div/details/summary")
    assert words(box).startswith("jit <b>&\"'")


def test_large_programs_have_no_graph_and_say_so():
    def f(x, count):
        for _ in range(count):
            x = jnp.sin(x)
        return x

    shown = ev.make_jaxpr(f, static_argnums=1)(1.0, 399)._repr_html_()
    assert "no graph, as it has more than 400 nodes" in shown
    assert "<svg" not in shown
    assert "<svg" in ev.make_jaxpr(f, static_argnums=1)(1.0, 398)._repr_html_()
    many = ev.make_jaxpr(lambda xs: xs[0] + 1)([1.0] * 400)._repr_html_()
    assert "no graph" in many
    assert "graph" not in ev.make_jaxpr(lambda x: x)(1.0)._repr_html_()  # nothing is computed


def test_it_is_drawn_without_scripts_and_always_alike():
    def f(x):
        return lax.scan(lambda c, y: (c + jnp.sin(y), c), jnp.zeros(3), x)

    jaxpr = ev.make_jaxpr(f)(X)
    text = jaxpr._repr_html_()
    assert text == jaxpr._repr_html_()
    assert not re.search(r"<script|\bon\w+=|\bid=|https?:", text)


def test_curves_go_on_below_what_is_opened():
    def f(x):
        c, ys = lax.scan(lambda c, y: (c + y, c), 0.0, x)
        return c * 2 + x.sum() * ys

    found = graph(f, jnp.ones(5))
    fold = next(found.iter("details"))
    passing = [path.get("d") for path in fold.findall("div/svg/path")]
    upper, lower = [strip.find("svg") for strip in found]
    end = float(upper.get("height"))
    starts = re.findall(rf"M([\d.]+) {end:g}[CV]", " ".join(x.get("d") for x in lower.iter("path")))
    assert {f"M{x} 0V1" for x in starts} == set(passing)
    assert len(passing) == 3  # two results of the loop, and the sum
