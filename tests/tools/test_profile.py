"""`profile`: which lines it names, what they did, and the picture of it."""

import functools
import html
import sys
import xml.etree.ElementTree as ElementTree

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace._src.config import override
from evertrace._src.tools import limits, work
from evertrace._src.tools.limits import Limits
from evertrace._src.tools.lines import Clock, Node
from evertrace._src.tools.profile import Profile
from tests.docs.docstrings import run_docstring

X = jnp.ones((20, 30))
W = jnp.ones((30, 30))


@ev.jit
def layer(w, x):
    y = x @ w
    return jnp.tanh(y)


def helper(x):
    a = jnp.sin(x)
    return a + 1


def model(w, x):
    for _ in range(2):
        x = layer(w, x)
    return helper(x).sum()


def by_text(report):
    """Return the rows by the text of their lines, measured ones first."""
    found = {}
    for row in report.lines:
        found.setdefault((row["line"].partition(":  ")[2], row["is_estimate"]), row)
    return found


def test_lines_are_named_with_what_they_did():
    report = ev.profile(model)(W, X)
    rows = by_text(report)
    assert report.missing == ""
    assert report.result == model(W, X)
    assert 0.9 < report.named < 1.001
    assert rows["y = x @ w", True]["flops"] == 2 * 2 * 20 * 30 * 30
    assert rows["return jnp.tanh(y)", True]["flops"] == 2 * 20 * 30
    assert rows["a = jnp.sin(x)", False]["flops"] == 20 * 30
    assert rows["a = jnp.sin(x)", False]["visits"] == 1
    assert rows["return a + 1", False]["bytes"] == 2 * 4 * 20 * 30


def test_a_jitted_function_is_divided_among_its_lines():
    report = ev.profile(layer)(W, X)
    rows = [row for row in report.lines if row["is_estimate"]]
    assert {row["line"].partition(":  ")[2] for row in rows} == {"y = x @ w", "return jnp.tanh(y)"}
    assert sum(row["seconds"] for row in rows) > 0.9 * report.seconds
    assert "~: the measured time of a program" in repr(report)


class Model:
    def __init__(self):
        self.w, self.steps = W, 0

    @ev.jit
    def step(self, x):
        self.steps += 1
        return jnp.tanh(x @ self.w)


def test_a_jitted_method_is_divided_as_well_and_changes_its_object_twice():
    model = Model()
    report = ev.profile(model.step)(X)
    assert report.missing == ""
    assert model.steps == 2
    row = by_text(report)["return jnp.tanh(x @ self.w)", True]
    assert row["flops"] == 2 * 20 * 30 * 30 + 20 * 30


def test_a_function_that_looks_at_values_has_times_only():
    def looks(x):
        if float(x.sum()) > 1:
            x = x * 2
        return x

    report = ev.profile(looks)(X)
    assert "x = x * 2" in repr(report)
    assert report.missing.startswith("tracing it raises ConcretizationTypeError: float() of")
    assert "flops and bytes are not known: tracing it" in repr(report)


def test_the_function_is_called_twice_and_tracing_leaves_no_trace():
    log = []

    def f(x):
        log.append(1)
        return x + 1

    before = sys.gettrace()
    report = ev.profile(f)(X)
    assert len(log) == 2
    assert sys.gettrace() is before
    assert report.name == "f"
    with pytest.raises(ZeroDivisionError):
        ev.profile(lambda: 1 / 0)()
    assert sys.gettrace() is before


def test_the_picture_is_a_picture_of_all_lines(tmp_path):
    report = ev.profile(model)(W, X)
    path = tmp_path / "model.svg"
    report.save(path)
    picture = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    told = [x.text for x in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert any("in model:  x = layer(w, x)" in text for text in told)
    assert any("compiled:  y = x @ w" in text and "~" in text for text in told)
    shown = report._repr_html_()
    assert path.read_text(encoding="utf-8") in shown
    assert html.escape(str(report)) in shown  # the table


def test_the_picture_has_the_colours_of_its_page():
    picture = ElementTree.fromstring(ev.profile(layer)(W, X)._repr_html_())
    head = next(picture.iter("{http://www.w3.org/2000/svg}text"))
    assert head.get("fill") == "currentColor"
    assert "100%" not in [x.get("width") for x in picture.iter("{http://www.w3.org/2000/svg}rect")]


def test_pictures_are_svg(tmp_path):
    report = ev.profile(layer)(W, X)
    with pytest.raises(ValueError, match=r"pictures are SVG, got .*png") as caught:
        report.save(tmp_path / "model.png")
    assert 'Fix: let the name end in ".svg".' in str(caught.value)
    with pytest.raises(TypeError, match="profile: "):
        ev.profile(3)


@pytest.mark.parametrize("member", [Profile, Profile.save])
def test_examples_of_what_profile_returns(member, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run_docstring(member.__name__, member)


def eager_loop(x):
    for _ in range(20):
        x = jnp.sin(x)
    return x.sum()


@functools.partial(ev.jit, engine="spmd")
def divided(x, w):
    return jnp.tanh(x @ w)


def test_eager_loops_and_divided_programs_are_named():
    report = ev.profile(eager_loop)(X)
    assert report.named > 0.9
    assert by_text(report)["x = jnp.sin(x)", False]["visits"] == 20
    mesh = ev.make_mesh((len(ev.devices()),), ("d",))
    rows = ev.device_put(jnp.ones((8, 30)), ev.NamedSharding(mesh, ev.P("d")))
    report = ev.profile(divided)(rows, W)
    assert report.named > 0.9
    row = by_text(report)["return jnp.tanh(x @ w)", True]
    assert row["flops"] == 2 * 8 * 30 * 30 + 8 * 30


@pytest.mark.engine
@pytest.mark.parametrize("engine", ["native", "xla"])
def test_a_line_waits_for_what_it_has_begun(engine):
    waited, step = [], ev.jit(lambda x: jnp.sin(x) + 1, engine=engine)

    def f(x):
        y = step(x)
        kept.append(y)
        return y + 1

    kept, first = [], f.__code__.co_firstlineno
    f(X)  # traces
    clock = Clock(Node("", 0, ""), lambda new: waited.append((clock._stack[-1][1].line, new)))
    result, _ = clock.measure(lambda: f(X))
    by_line = {
        line - first: list(map(id, new)) for line, new in waited if line - first in (1, 2, 3)
    }
    assert by_line[1] == [id(kept[-1])]  # before the line after it begins
    assert by_line[2] == []  # nothing is new
    assert id(result) in by_line[3]


SLOW = Limits(flops=100.0, bytes=1000.0)


def test_lines_are_held_against_the_limits_of_the_machine(monkeypatch):
    monkeypatch.setattr(limits, "of_this_machine", lambda: SLOW)
    report = ev.profile(model)(W, X)
    rows = by_text(report)
    row = rows["y = x @ w", True]
    assert (row["bound"], row["least"]) == ("arithmetic", row["flops"] / 100)
    row = rows["return a + 1", False]  # a flop, and eight bytes, for each element
    assert (row["bound"], row["least"]) == ("arithmetic", 6.0)
    report.limits = Limits(flops=1e9, bytes=1000.0)
    row = by_text(report)["return a + 1", False]
    assert (row["bound"], row["least"]) == ("memory", 2 * 4 * 20 * 30 / 1000)
    assert f"memory {100 * row['least'] / row['seconds']:.0f} %  test_profile.py:" in repr(report)
    assert "of what this machine reaches, 1G flops or 1k bytes per second" in repr(report)


def test_an_accelerator_has_other_limits(monkeypatch):
    monkeypatch.setattr("evertrace._src.engines.runtime.computes_on_cpu", lambda: False)
    assert limits.of_this_machine() is None


DAMAGED = ("", "{}", "[1, 2]", '{"flops": -1, "bytes": 1}', '{"flops": [], "bytes": 1}')


def test_limits_are_measured_once_and_kept(monkeypatch, tmp_path):
    counted = []
    monkeypatch.setattr(limits, "measured", lambda cores: counted.append(cores) or SLOW)
    known = limits._known.__wrapped__
    with override(compilation_cache_dir=str(tmp_path)):
        assert known(3) == known(3) == SLOW
        assert known(4) == SLOW  # of so many cores
        assert counted == [3, 4]
        kept = sorted(tmp_path.glob("limits-*.json"))
        for damaged in DAMAGED:
            for path in kept:
                path.write_text(damaged)
            assert known(3) == SLOW
        assert counted == [3, 4] + [3] * len(DAMAGED)
    with override(compilation_cache_dir=""):
        assert known(5) == SLOW
    assert counted[-1] == 5


def test_what_is_measured_is_positive():
    assert all(0 < value < float("inf") for value in limits.measured(1))


def total(fun, *args):
    """Return the operations and bytes of a program."""
    works = list(work.of_jaxpr(ev.make_jaxpr(fun)(*args).jaxpr))
    return sum(w.flops for w in works), sum(w.size for w in works)


COUNTED = {
    "elementwise": (jnp.sin, (jnp.ones(10),), 10, 80),
    "scalars": (lambda x: x + 1, (jnp.ones(10),), 10, 80),
    "integers": (jnp.add, (jnp.arange(10), jnp.arange(10)), 0, 120),
    "sum": (jnp.sum, (jnp.ones((3, 5)),), 15, 64),
    "product": (jnp.matmul, (jnp.ones((2, 3)), jnp.ones((3, 5))), 60, 124),
    "moved": (jnp.transpose, (jnp.ones((2, 3)),), 0, 48),
    "part": (lambda x: x[0], (jnp.ones((2, 3)),), 0, None),
    "scattered": (lambda x: x.at[0].set(3.0), (jnp.ones((2, 3)),), 0, None),
    "scan": (lambda x: lax.scan(lambda c, x: (c * x, None), x[0], x)[0], (jnp.ones(7),), 7, None),
    "branches": (lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), (jnp.ones(8),), 8, None),
    "convolution": (
        lambda x, w: lax.conv(x, w, (1, 1), "VALID"),
        (jnp.ones((1, 2, 6, 6)), jnp.ones((4, 2, 3, 3))),
        2 * 4 * 16 * 2 * 9,
        None,
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_operations_and_bytes_of_a_program(name):
    fun, args, flops, size = COUNTED[name]
    counted, moved = total(fun, *args)
    assert counted == flops
    assert size is None or moved == size
