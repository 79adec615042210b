"""Functions that programs on several devices call back: how often, with what, what they raise.

`CALLS` is what JAX 0.10.2 does on eight virtual devices of the CPU under `jit`, but where a comment
says otherwise.
"""

import json

import pytest

from tests.sharding.processes import outcome
from tests.sharding.test_spmd import RUNNER, lines_of

WHOLE, ROW, PART = [8, 4], [4], [2, 2]
# name: (calls, shapes of what the function is given)
CALLS = {
    "pure": (1, [WHOLE]),
    "pure on a chosen device": (1, [WHOLE]),
    "pure of a batch": (8, [ROW]),
    "pure of a whole batch": (1, [WHOLE]),
    "io": (1, [WHOLE]),
    "io in order": (2, [WHOLE]),
    "io in a loop": (3, [WHOLE]),
    "debug": (1, [WHOLE]),
    "debug of a batch": (8, [ROW]),
    "debug under grad": (1, [WHOLE]),
    "pure of parts": (8, [PART]),
    "io of parts": (8, [PART]),
    "io of parts in order": (8, [PART]),
    "io of parts in a loop": (24, [PART]),  # refused by JAX: the types of carries differ
    "debug of parts": (8, [PART]),
    "debug of nothing": (8, []),
    "debug of what all share": (8, [PART]),
    "debug of what some share": (8, [PART, PART]),
    "debug in a jit": (8, []),
    "debug of parts under grad": (8, [PART]),
    "io of what all share": (8, [PART]),
    "pure with a method": (8, [PART]),
    "a batch within parts": (16, [[2]]),
    "a whole batch within parts": (8, [PART]),
    "parts within a batch": (24, [PART]),
    "keys": (8, [[2]]),
    "pure along one axis": (4, [[2, 4]]),  # refused by JAX
    "debug along one axis": (4, [[2, 4]]),
    "debug of a whole that is divided": (1, [WHOLE]),  # divided it is 8 of parts, as in JAX
}


@pytest.fixture(scope="module")
def found():
    """What the programs of `called_back` have called, by name."""
    return lines_of("-m", "tests.sharding.called_back")


@pytest.mark.parametrize("way", ["at once", "simulated", "divided"])
@pytest.mark.parametrize("name", CALLS)
def test_functions_are_called_as_often_as_in_jax(found, name, way):
    wanted = CALLS[name]
    if name == "debug of a whole that is divided" and way == "divided":
        wanted = (8, [PART])
    assert found[name][way] == [*wanted, True]


PRELUDE = """
import faulthandler, json, sys, time
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
from evertrace import lax
from evertrace.sharding import SingleDeviceSharding
from tests.sharding.called_back import MESH, NamedSharding, P, X, io, io_callback, mapped, pure
faulthandler.dump_traceback_later(550, exit=True)
def jit(f):
    return ev.jit(f, engine="spmd")
def text_of(fun, *args):
    try:
        return fun(*args)
    except Exception as error:
        return f"{type(error).__name__}: " + str(error).split("\\n")[0]
def back(x):
    return ev.pure_callback(lambda v: np.asarray(v), x, x)
def over_x(values):
    return ev.device_put(values, NamedSharding(MESH, P("x")))
S = ev.ShapeDtypeStruct
part = S((2, 2), np.float32)
"""

# name: (program whose last expression is shown, what it shows)
CASES = {
    "zeros keep their signs": (
        "str(jit(back)(over_x(np.float32([0, -0.0, -0.0, 1]))))",
        "[ 0. -0. -0.  1.]",
    ),
    "all dtypes come to all devices": (
        """
def same(dtype):
    x = over_x(np.array([0, 1, 1, 0], dtype))
    y = jit(back)(x)
    return y.dtype == dtype and all(s.data.tolist() == x.tolist() for s in y.addressable_shards)
dtypes = np.int8, np.bool_, np.uint16, np.float16, jnp.bfloat16, np.float32, np.complex64
[same(dtype) for dtype in dtypes].count(True)""",
        "7",
    ),
    "the chosen device calls": (
        """
f = jit(lambda x: pure(x, sharding=SingleDeviceSharding(ev.devices()[3])))
f(X)
(program,) = f._contract.variants.all()[0].program.executables.values()
[f"device_ids=[{i}]" in program.input_text for i in (0, 3)]""",
        "[False, True]",
    ),
    "a device that is not of the mesh": (
        """
half = ev.sharding.Mesh(np.array(ev.devices()[:4]), ("z",))
x = ev.device_put(np.ones(4, np.float32), NamedSharding(half, P("z")))
text_of(jit(lambda x: pure(x, sharding=SingleDeviceSharding(ev.devices()[7]))), x)""",
        "ValueError: pure_callback: sharding names cpu:7, and one device of those that the program "
        "runs on has to call.",
    ),
    "an exception while others wait for a sum": (
        """
calls = []
def bad(v):
    calls.append(v)
    if float(v.sum()) < 20: raise KeyError("boom")
    return np.asarray(v)
f = jit(mapped(lambda x: x + lax.psum(io_callback(bad, part, x), ("x", "y"))))
began = time.monotonic()
text_of(f, X), text_of(f, X), 2 <= len(calls) <= 16, time.monotonic() - began < 20""",
        "(\"KeyError: 'boom'\", \"KeyError: 'boom'\", True, True)",
    ),
    "the exception is the one that was raised": (
        """
def bad(v):
    raise ValueError("boom") from KeyError("why")
try:
    jit(lambda x: io_callback(bad, x, x))(X)
except ValueError as error:
    found = repr(error), repr(error.__cause__), error.__notes__
found""",
        "(\"ValueError('boom')\", \"KeyError('why')\", "
        "['Raised by a Python function that <lambda> called back.'])",
    ),
    "what it returns is looked at": (
        "text_of(jit(mapped(lambda x: ev.pure_callback(lambda v: np.ones(3), part, x))), X)",
        "ShapeError: pure_callback: <lambda> returned an array of shape (3,) where f32[2,2] was "
        "promised.",
    ),
    "after an exception all is as before": (
        """
fails = [True]
def once(v):
    if fails[0]: raise ValueError("boom")
    return np.asarray(v)
f = jit(lambda x: io_callback(once, x, x) + 1)
first = text_of(f, X)
fails[0] = False
first, f(X).tolist() == (X + 1).tolist()""",
        "('ValueError: boom', True)",
    ),
    "a loop that zeros would not end": (
        """
calls = []
def bad(v):
    calls.append(v)
    if len(calls) == 3: raise ValueError("boom")
    return np.asarray(v) + 1
one = S((), np.float32)
ways = {
    "pure": lambda c: ev.pure_callback(bad, one, c),
    "io": lambda c: io_callback(bad, one, c),
    "in order": lambda c: io_callback(bad, one, c, ordered=True),
    "debug": lambda c: (ev.debug.callback(bad, c), c * 0)[1],
    "the condition": lambda c: c * 0,
    "a branch": lambda c: lax.cond(c < 9, lambda: ev.pure_callback(bad, one, c), lambda: c),
}
def loop(x, way):
    def goes_on(c):
        return (ev.pure_callback(bad, one, c[0]) if way == "the condition" else c[0]) < 10
    return lax.while_loop(goes_on, lambda c: (ways[way](c[0]), c[1] + 1), (jnp.float32(1), x))
found = []
for way in ways:
    calls.clear()
    found.append(text_of(jit(lambda x: loop(x, way)), X))
calls.clear()
found.append(text_of(jit(mapped(lambda x: loop(x, "pure")[1])), X))
calls += [0] * 9  # none raises any more
found, float(jit(lambda x: loop(x, "pure"))(X)[0])""",
        f"({['ValueError: boom'] * 7}, 10.0)",
    ),
    "who has not chosen it does not look on": (
        """
log = []
def note(x):
    ev.debug.callback(lambda v: log.append(float(v)), x.sum())
    return x * 2
def same(x):
    return x
def noted_if(x):
    return lax.cond(x.sum() > 30, note, same, x)
parts = [np.asarray(s.data) for s in X.addressable_shards]
functions = {
    "cond": noted_if,
    "switch": lambda x: lax.switch(x.sum().astype(int) // 20, [same, note, same, note], x),
    "cond in a cond": lambda x: lax.cond(x.sum() < 90, noted_if, note, x),
    "scan in a cond": lambda x: lax.cond(
        x.sum() > 30, lambda x: lax.scan(lambda c, _: (noted_if(c), None), x, length=2)[0], same, x
    ),
    "while in a cond": lambda x: lax.cond(
        x.sum() < 60, lambda x: lax.while_loop(lambda c: c.sum() < 60, note, x + 1), same, x
    ),
    "jit in a cond": lambda x: lax.cond(x.sum() > 30, ev.jit(note), same, x),
    "while": lambda x: lax.while_loop(lambda c: c.sum() < 60, note, x + 1),
    "vmap of a cond": lambda x: ev.vmap(lambda r: r + noted_if(x).sum())(x),
}
def logged(run, *args):
    log.clear()
    run(*args)
    ev.effects_barrier()
    return sorted(log)
wrong = []
for kind, f in functions.items():
    alone = sorted(v for part in parts for v in logged(f, part))
    assert 0 < len(alone), kind
    for way in (lambda f: f, ev.jit, jit):
        if logged(way(mapped(f)), X) != alone: wrong.append((kind, log, alone))
row = lambda x: lax.cond(lax.axis_index("x") == 1, note, same, x)
wanted = sorted(float(part.sum()) for part in parts[2:4])
wrong, [logged(way(mapped(row)), X) == wanted for way in (lambda f: f, ev.jit, jit)]""",
        "([], [True, True, True])",
    ),
    "devices that give what differs": (
        """
calls = []
def number(v):
    calls.append(v)
    return np.full(1, len(calls), np.int32)
def f(x):
    return io_callback(number, S((1,), np.int32), 1.0)
text_of(mapped(f, P()), X)""",
        "ValueError: io_callback: number gave device 1 along 'y' something else than the first "
        "one, for operands that are the same on all.",
    ),
    "devices that may give what differs": (
        """
calls = []
def number(v):
    calls.append(v)
    return np.full(1, len(calls), np.int32)
def f(x):
    return io_callback(number, S((1,), np.int32), 1.0)
f = mapped(f, P(("x", "y")), check_vma=False)
f(X).tolist(), sorted(jit(f)(X).tolist())""",
        "([1, 2, 3, 4, 5, 6, 7, 8], [9, 10, 11, 12, 13, 14, 15, 16])",
    ),
    "order": (
        """
log = []
def f(x):
    for i in range(20):
        ev.debug.callback(lambda v, i=i: log.append(i), x)
        x = io_callback(lambda v, i=i: (log.append(i), v)[1], x, x) if i % 2 else x * 2
    return x
_ = jit(f)(X)
log == [i for n in range(20) for i in [n] * (1 + n % 2)]""",
        "True",
    ),
    "what the call has changed is there": (
        """
state = {"n": 0}
def f(x):
    state["n"] += 1
    return io_callback(lambda v: v + state["n"], x, x)
f = jit(f)
[f(X).tolist()[0][0] for _ in range(3)]""",
        "[1.0, 2.0, 3.0]",
    ),
    "cond that differs between parts": (
        "text_of(jit(mapped(lambda x: lax.cond(x.sum() > 9, io, lambda x: x, x))), X)",
        "NotImplementedError: cond: an io_callback in it would be called for all examples of a "
        "vmap or parts of a shard_map, also those whose condition says otherwise.",
    ),
    "while_loop that differs between examples": (
        "text_of(ev.vmap(lambda x: lax.while_loop(lambda x: x.sum() < 9, io, x)), X)",
        "NotImplementedError: while_loop: an io_callback in it would be called for all examples of "
        "a vmap or parts of a shard_map, also those whose condition says otherwise.",
    ),
    "cond that is the same for all": (
        """
def f(x):
    return lax.cond(lax.psum(x.sum(), ("x", "y")) > 9, io, lambda x: x, x)
jit(mapped(f))(X).tolist() == (X + 1).tolist()""",
        "True",
    ),
    "a program that calls back within one": (
        "text_of(jit(lambda x: io_callback(lambda v: jit(io)(X), x, x)), X)",
        "RuntimeError: callback: a Python function that a compiled program called back ran another "
        "compiled program with callbacks of its own.",
    ),
    "what is written down": (
        """
f = jit(mapped(io))
_ = f(X)
(program,) = f._contract.variants.all()[0].program.executables.values()
words = "sdy.manual_computation", "manual_axes", "all-gather"
[word in program.input_text + program.text() for word in words]""",
        "[True, True, False]",
    ),
}


@pytest.fixture(scope="module")
def shown():
    """What the cases show, by name."""
    texts = {name: text for name, (text, _) in CASES.items()}
    return lines_of("-c", PRELUDE + RUNNER, json.dumps(texts))


@pytest.mark.parametrize("name", CASES)
def test_functions_that_are_called_by_divided_programs(shown, name):
    assert shown[name] == CASES[name][1]


IN_PROCESSES = """
from evertrace.experimental import io_callback
S, calls = ev.ShapeDtypeStruct, []
def seen(v):
    calls.append(np.asarray(v).tolist())
    return np.asarray(v) + 10 * rank
def raising(v):
    if rank == 1:
        raise ValueError("boom")
    return np.asarray(v)
def parts(f, *args):
    found = [s.data.tolist() for s in f(*args).addressable_shards]
    shown, calls[:] = sorted(calls), []
    return found, shown
def each(f, out_specs=P("i")):
    return ev.jit(ev.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=out_specs))
called = lambda f: lambda a: io_callback(f, S(a.shape, a.dtype), a)
print(parts(ev.jit(called(seen), out_shardings=rows), a))
print(parts(each(called(seen)), a))
summed = each(lambda a: lax.psum(called(raising)(a), "i"), P())
began = time.monotonic()
print(text_of(lambda: summed(a).tolist()).split(" (pid")[0])
print(text_of(lambda: float(total(a))).partition("is gone")[2].partition("s: ")[2])
assert time.monotonic() - began < 15
"""


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2])
def test_functions_are_called_in_the_process_of_the_device(devices):
    _, texts = outcome(IN_PROCESSES, devices=devices)
    n = 4 // devices
    gone = "ValueError in a function that <lambda> calls: boom. This is process"
    for rank, text in enumerate(texts):
        mine = [[4.0 * rank + n * d + i for i in range(n)] for d in range(devices)]
        # The first device calls for all, and what it gives is theirs.
        whole = [[float(i) for i in range(8)]] if rank == 0 else []
        own = [[x + 10 * rank for x in part] for part in mine]
        raised = "ValueError: boom" if rank else "PeerLostError: <lambda>: process 1"
        lines = [str((mine, whole)), str((own, mine)), raised, f"{gone} {rank}."]
        assert text.splitlines() == lines
