"""What a profile names: calls without Python and their lines, all of the time; Perfetto's form."""

import functools
import gzip
import itertools
import json
import queue
import runpy
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, profiler
from evertrace._src import extension, native
from evertrace._src.engines.host import engine as host
from evertrace._src.profiler import links, spans
from evertrace.sharding import NamedSharding, PartitionSpec

pytestmark = pytest.mark.engine

X = jnp.ones((20, 20))
COUNT = 50
needs_native = pytest.mark.skipif(
    not extension.is_built(), reason="without the extension module every call runs Python"
)


def profiled(run, folder, **options):
    """Return the events of a call by plane, and the event that stands for the whole of it."""
    run()  # what is traced and compiled is not looked at
    with profiler.trace(folder, **options), profiler.TraceAnnotation("whole"):
        run()
    (path,) = folder.rglob("*.xplane.pb")
    planes = profiler.ProfileData.from_file(str(path)).planes
    events = [(plane.name, e) for plane in planes for line in plane.lines for e in line.events]
    (whole,) = [event for _, event in events if event.name == "whole"]
    return [(plane, event) for plane, event in events if event is not whole], whole


def interval(event):
    return event.start_ns, event.start_ns + event.duration_ns


def overlap(a, b):
    """Whether two events have time in common; the clocks agree within a microsecond or so."""
    return max(a.start_ns, b.start_ns) < min(interval(a)[1], interval(b)[1])


def share_of(whole, events):
    """Return the share of an event's time in which there are others that began within it."""
    begin, end = interval(whole)
    covered, until = 0, begin
    for a, b in sorted(map(interval, events)):
        if a >= begin:
            covered += max(min(b, end) - max(a, until), 0)
            until = max(until, min(b, end))
    return covered / (end - begin)


@ev.jit
def step(w):
    return jnp.tanh(w @ X) * 0.1


def train():
    w = X
    for _ in range(COUNT):
        w = step(w)  # the line of the program
    return w.block_until_ready()


def eager():
    w = X
    for _ in range(COUNT):
        w = jnp.sin(w) + w[0]  # the line of the loop
    return w


@functools.partial(ev.jit, engine="spmd")
def divided_step(w):
    return jnp.tanh(w @ w)


def divided():
    mesh = ev.make_mesh((2,), ("d",), devices=ev.devices()[:2])
    w = ev.device_put(X, NamedSharding(mesh, PartitionSpec("d")))
    for _ in range(COUNT):
        w = divided_step(w)  # the line of the divided program
    return w.block_until_ready()


@pytest.fixture
def _two_devices():
    before = ev.config.simulated_devices
    ev.config.update("simulated_devices", 2)
    yield
    ev.config.update("simulated_devices", before)


@pytest.mark.usefixtures("_two_devices")
@pytest.mark.parametrize("run", [train, eager, divided])
def test_all_that_ran_is_within_an_event_of_the_function_that_ran_it(run, tmp_path):
    events, whole = profiled(run, tmp_path)
    own = [e for _, e in events if e.name.startswith("$test_profile_events.py:")]
    (frame,) = [e for e in own if e.name.endswith(f" {run.__name__}") and overlap(e, whole)]
    calls = [event for plane, event in events if plane == spans.PLANE]
    assert len(calls) >= COUNT * extension.is_built()
    assert all(overlap(call, frame) for call in calls if overlap(call, whole))
    assert share_of(whole, [event for _, event in events]) > 0.9


def check_named(run, folder, *files):
    """Check that what ran is named, the functions in the user's files not counted."""
    own, shares = tuple(f"${file}:" for file in files), []
    for attempt in "123":  # another process may have had the processor for a while
        events, whole = profiled(run, folder / attempt)
        shares.append(share_of(whole, [e for _, e in events if not e.name.startswith(own)]))
        if shares[-1] > 0.9:
            return
    raise AssertionError(f"named are {shares} of the time")


def eager_on_large_arrays():
    w = LARGE
    for _ in range(COUNT):
        w = jnp.sin(w) + w[0]


LARGE = jnp.ones((300, 300))


@pytest.mark.usefixtures("_two_devices")
@pytest.mark.parametrize("run", [eager_on_large_arrays, divided])
def test_what_the_users_functions_run_is_named_nearly_all_of_the_time(run, tmp_path):
    check_named(run, tmp_path, "test_profile_events.py")


@pytest.mark.slow
def test_a_profile_of_the_demo_names_what_ran(monkeypatch, tmp_path):
    """An epoch of training and a look at the test images, after one that traces and compiles."""
    for library in ("sklearn", "matplotlib", "tqdm"):
        pytest.importorskip(library, reason="the demo's libraries, `pip install '.[demo]'`")
    demo = Path(__file__).parents[2] / "examples" / "digits"
    monkeypatch.syspath_prepend(demo)
    train = runpy.run_path(str(demo / "train.py"))
    data, test_data = train["load_data"]()
    trainer = train["Trainer"](44, 0)

    def epoch():
        trainer.train_epoch(*data)
        return trainer.metrics.loss, trainer.accuracy(*test_data)

    files = [path.name for path in demo.glob("*.py")]
    check_named(epoch, tmp_path, "test_profile_events.py", *files)
    report = ev.profile(epoch)()
    assert report.named > 0.9
    assert "self.step(images[rows], labels[rows])" in report.lines[0]["line"]
    assert report.lines[0]["visits"] == len(data[0]) // 64
    for name in ("figure", "model", "optimizer"):
        sys.modules.pop(name)


@pytest.mark.usefixtures("_two_devices")
def test_a_divided_program_names_its_calls_and_what_each_device_ran(tmp_path):
    events, _ = profiled(divided, tmp_path)
    started = [event for _, event in events if "Execute" in event.name and "step" in event.name]
    assert len(started) >= COUNT
    assert sum("all-" in event.name for _, event in events) >= 2 * COUNT  # on two devices
    if extension.is_built():
        calls = [event for plane, event in events if plane == spans.PLANE]
        assert sum(event.name == "jit(divided_step)" for event in calls) == COUNT


@needs_native
@pytest.mark.parametrize(
    ("run", "name", "line"),
    [
        (train, "jit(step)", "w = step(w)"),
        (eager, "sin", "w = jnp.sin(w)"),
        (eager, "add", "w = jnp.sin(w)"),
        (eager, "x[index]", "w = jnp.sin(w)"),
    ],
)
def test_calls_without_python_are_named_with_their_line(run, name, line, tmp_path):
    events, whole = profiled(run, tmp_path)
    found = [event for plane, event in events if plane == spans.PLANE and event.name == name]
    assert len(found) == COUNT
    with open(__file__, encoding="utf-8") as file:
        number = next(i for i, text in enumerate(file, 1) if text.strip().startswith(line))
    places = {dict(event.stats)["source"] for event in found}
    assert places == {f"test_profile_events.py:{number} in {run.__name__}"}
    for event in found:
        assert overlap(event, whole)
    ends = [interval(event) for event in found]
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(ends))


VERY_LARGE = jnp.ones((600, 600))


def eager_on_very_large_arrays():
    return jnp.sin(VERY_LARGE) + jnp.sort(VERY_LARGE, axis=0)  # the line of what Python runs


def test_operations_that_python_runs_are_named_with_their_line(tmp_path):
    events, whole = profiled(eager_on_very_large_arrays, tmp_path)
    found = [e for plane, e in events if plane == spans.PLANE and overlap(e, whole)]
    assert {"sin", "sort", "add"} <= {event.name for event in found}
    with open(__file__, encoding="utf-8") as file:
        number = next(i for i, text in enumerate(file, 1) if "jnp.sin(VERY" in text)
    places = {dict(event.stats)["source"] for event in found}
    assert places == {f"test_profile_events.py:{number} in {eager_on_very_large_arrays.__name__}"}
    assert host.noting is None


@functools.partial(ev.jit, engine="native")
def sorted_step(w):
    def turn(carry, x):
        return jnp.sort(carry + x @ X), None

    return lax.scan(turn, w[0], w)[0]


@needs_native
def test_steps_of_a_tape_are_named_within_its_call(tmp_path):
    events, whole = profiled(lambda: sorted_step(X).block_until_ready(), tmp_path)
    found = [e for plane, e in events if plane == spans.PLANE and overlap(e, whole)]
    (call,) = [event for event in found if event.name == "jit(sorted_step)"]
    (loop,) = [event for event in found if event.name == "scan"]
    inside = [event for event in found if event not in (call, loop)]
    assert sum("sort" in event.name for event in inside) == len(X)
    assert sum("matmul" in event.name for event in inside) == len(X)
    assert all(call.start_ns <= e.start_ns and interval(e)[1] <= interval(call)[1] for e in inside)
    assert sum(loop.start_ns <= e.start_ns for e in inside) >= 2 * len(X)


@needs_native
def test_no_step_is_noted_without_a_profile():
    native.begin_spans("nowhere")
    native.end_spans()
    sorted_step(X).block_until_ready()
    native.begin_spans("nowhere")
    assert native.end_spans() == []


@needs_native
def test_nothing_is_noted_without_a_profile():
    train()
    assert native.end_spans() == []
    native.begin_spans("")
    train()
    noted = [what for what, *_ in native.end_spans()]
    assert [what.name for what in noted if not isinstance(what, str)] == ["step"] * COUNT
    assert len([what for what in noted if isinstance(what, str)]) >= 2 * COUNT  # steps of tapes
    assert native.end_spans() == []
    with pytest.raises(TypeError, match="begin_spans: the prefix is a text"):
        native.begin_spans(3)  # type: ignore[arg-type]


def test_perfetto_reads_the_same_events(tmp_path):
    events, _ = profiled(train, tmp_path, create_perfetto_trace=True)
    (path,) = tmp_path.rglob("perfetto_trace.json.gz")
    with gzip.open(path) as file:
        found = json.load(file)["traceEvents"]
    shown = [x for x in found if x["ph"] == "X"]
    assert len(shown) == len(events) + 1
    assert {"whole"} <= {x["name"] for x in shown}
    names = {x["args"]["name"] for x in found if x["name"] == "process_name"}
    assert "/host:CPU" in names
    if extension.is_built():
        (place,) = {x["args"]["source"] for x in shown if x["name"] == "jit(step)"}
        assert place.endswith("in train")


def test_the_link_lets_the_viewer_read_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(links, "_PORT", 0)  # any that is free
    said = queue.Queue()  # a capture that is asked again and again can lose what comes meanwhile
    monkeypatch.setattr(links, "print", lambda text, **_: said.put(text), raising=False)
    path = tmp_path / "perfetto_trace.json.gz"
    path.write_bytes(b"a profile")
    server = threading.Thread(target=links.serve, args=(str(path),), daemon=True)
    server.start()
    viewer, _, url = said.get(timeout=60).partition("/#!/?url=")
    assert viewer == "open in a browser: https://ui.perfetto.dev"
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(url + "x")  # noqa: S310
    with urllib.request.urlopen(url) as answer:  # noqa: S310
        assert answer.read() == b"a profile"
        assert answer.headers["Access-Control-Allow-Origin"] == "https://ui.perfetto.dev"
    server.join(10)
    assert not server.is_alive()
