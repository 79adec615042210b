"""Several processes on this machine: their devices work on one program, and any of them may die."""

import atexit
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import evertrace as ev

PRELUDE = """
import os, pathlib, signal, sys, time
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
from evertrace import lax
from evertrace.sharding import NamedSharding, PartitionSpec as P

rank, count, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
ev.config.update("num_cpu_devices", int(sys.argv[5]))
ev.distributed.initialize(address, count, rank)
mesh = ev.make_mesh((ev.device_count(),), ("i",))
rows, whole = NamedSharding(mesh, P("i")), NamedSharding(mesh, P())
a = ev.make_array_from_process_local_data(rows, np.arange(4, dtype=np.float32) + 4 * rank)
total = ev.jit(lambda a: a.sum(), out_shardings=whole)
assert float(total(a)) == sum(range(4 * count))
met = pathlib.Path(sys.argv[4])
(met / str(rank)).touch()
while len(os.listdir(met)) < count: time.sleep(0.01)  # before one of them ends
def text_of(fun, *args):
    try:
        return fun(*args)
    except Exception as error:
        return f"{type(error).__name__}: " + str(error).split("\\n")[0]
def lost(seconds=8):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        text = text_of(lambda: float(total(a)))
        if type(text) is str:
            return text
        time.sleep(0.01)
"""


def free_address():
    """Return an address of this machine at which nobody listens."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


def start(code, count, address, devices=1):
    """Start processes, in which `rank` is the number of each."""
    met = tempfile.mkdtemp(prefix="evertrace-met-")
    atexit.register(shutil.rmtree, met)
    return Processes(
        Path(met),
        [
            subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    PRELUDE + code,
                    *map(str, (rank, count, address, met, devices)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(count)
        ],
    )


class Processes(list):
    """Processes that were started, and the folder `met` through which they are told things."""

    def __init__(self, met, started):
        super().__init__(started)
        self.met = met


def outcome(code, count=2, seconds=100, devices=1):
    """Run processes to their ends; returns their exit codes and what they printed."""
    processes = start(code, count, free_address(), devices)
    texts = [p.communicate(timeout=seconds) for p in processes]
    codes = [p.returncode for p in processes]
    assert codes[0] == 0, texts[0][1][-3000:]
    return codes, [said(out) for out, _ in texts]


def said(out):
    """Return what a process has printed, without what XLA's collectives print."""
    return "\n".join(line for line in out.splitlines() if not line.startswith("[Gloo]"))


LIVE = """
assert ev.process_count() == 2 and ev.process_index() == rank
assert ev.device_count() == 2 and len(ev.local_devices()) == 1
assert a.shape == (8,) and not a.is_fully_addressable and a.sharding == rows
(shard,) = a.addressable_shards
assert shard.index == (slice(4 * rank, 4 * rank + 4),) and len(a.global_shards) == 2
np.testing.assert_array_equal(shard.data, np.arange(4) + 4 * rank)
doubled = ev.jit(lambda a: a * 2 + 1)(a)
assert doubled.sharding.spec == P("i")
np.testing.assert_array_equal(doubled.addressable_data(0), 2 * (np.arange(4) + 4 * rank) + 1)
gathered = ev.jit(lambda a: a * 2, out_shardings=whole)
moved = ev.shard_map(
    lambda a: lax.ppermute(a, "i", [(0, 1), (1, 0)]), mesh=mesh, in_specs=P("i"), out_specs=P("i")
)
np.testing.assert_array_equal(
    ev.jit(moved)(a).addressable_data(0), np.arange(4) + 4 * (1 - rank)
)
w = ev.device_put(jnp.ones((8, 3)), rows)  # which every process has
loss = ev.jit(ev.value_and_grad(lambda w: ((a @ w) ** 2).sum()))
value, gradient = loss(w)
assert float(value) == 3 * 28**2 and gradient.sharding.spec == P("i")
put = ev.device_put(a + 1, whole)  # each operation is a program of both
assert (a * 2).sharding.spec == P("i") and put.tolist() == list(range(1, 9))
assert ev.jit(lambda a: a, out_shardings=whole)(a).tolist() == list(range(8))
from_parts = ev.make_array_from_callback((8,), rows, lambda i: np.arange(8.0)[i])
assert float(ev.jit(lambda x, y: (x * y).sum())(from_parts, a)) == 140
print(repr(a), "|", text_of(lambda: np.asarray(a)), "|", text_of(lambda: (a + 1).tolist()))
"""


@pytest.mark.slow
def test_two_processes_work_on_one_program():
    codes, texts = outcome(LIVE)
    assert codes == [0, 0]
    said = "ValueError: Array: only parts of the array of type f32[8] are in this process."
    assert texts == [f"Array(f32[8], in parts of which others are elsewhere) | {said} | {said}"] * 2


PMAP = """
mine = np.arange(2, dtype=np.float32) + 10 * rank  # in all 0, 1, 10, 11
summed = lambda v: lax.psum(v, "i")
def check(found, want):
    assert found.is_fully_addressable, found
    np.testing.assert_array_equal(found, want)
    return found
first = check(ev.pmap(summed, "i")(mine), [22, 22])
assert first.devices() == set(ev.local_devices())
check(ev.pmap(lambda v: v * 2, "i")(first), [44, 44])
check(ev.pmap(lambda v: lax.axis_index("i"), "i")(mine), [2 * rank, 2 * rank + 1])
check(ev.pmap(summed, "i", out_axes=None)(mine), 22)
check(ev.pmap(lambda v, k: summed(v) * k, "i", in_axes=(0, None))(mine, 3.0), [66, 66])
check(ev.pmap(lambda v, n: v**n, static_broadcasted_argnums=1)(mine, 2), mine**2)
check(ev.pmap(lambda *, v: summed(v), "i")(v=mine), [22, 22])
check(ev.pmap(summed, "i", in_axes=1, out_axes=1)(np.stack([mine] * 3)), np.full((3, 2), 22))
check(ev.pmap(summed, "i", devices=ev.local_devices())(mine), [mine.sum()] * 2)
check(ev.pmap(lambda v: lax.all_gather(v, "i"), "i")(mine), [[0, 1, 10, 11]] * 2)
check(
    ev.pmap(lambda v: lax.ppermute(v, "i", [(n, (n + 1) % 4) for n in range(4)]), "i")(mine),
    [[11, 0], [1, 10]][rank],
)
check(ev.pmap(ev.grad(lambda v: summed(v**2) / 2), "i")(mine), 4 * mine)
keys = ev.random.split(ev.random.key(rank), 2)
drawn = ev.pmap(lambda key: (ev.random.uniform(key), key))(keys)
check(drawn[0], ev.vmap(ev.random.uniform)(keys))
np.testing.assert_array_equal(ev.random.key_data(drawn[1]), ev.random.key_data(keys))
print(text_of(ev.pmap(summed, "i"), a))
print(text_of(ev.pmap(summed, "i"), np.arange(4.0)))
print(text_of(ev.jit(ev.pmap(summed, "i")), mine))
print(text_of(ev.grad(lambda v: ev.pmap(summed, "i")(v).sum()), mine))
"""


@pytest.mark.slow
def test_pmap_is_over_the_devices_of_all_processes():
    codes, texts = outcome(PMAP, devices=2)
    traced = (
        "ValueError: pmap(<lambda>): the mapped axis has size 2 in a program that is traced, and "
        "the 4 devices are of several processes."
    )
    said = [
        "ValueError: pmap(<lambda>): an array of shape (8,) is over several processes, and each "
        "passes the part of its own devices.",
        "ValueError: pmap(<lambda>): an array of shape (4,) is mapped along axis 0, and this "
        "process has 2 of the 4 devices.",
        traced,
        traced,
    ]
    assert codes == [0, 0]
    assert texts == ["\n".join(said)] * 2


THEIRS = """
from evertrace.sharding import Mesh
second = [d for d in ev.devices() if d.process_index == 1]
def assembled(where, **known):
    return ev.make_array_from_callback(
        (4,), where, lambda i: np.arange(4, dtype=np.float32)[i], **known
    )
for spec in (P("i"), P()):
    theirs = NamedSharding(Mesh(np.array(second), ("i",)), spec)
    x = assembled(theirs, dtype=np.float32)
    local = np.zeros(4 * rank, np.float32)
    y = ev.make_array_from_process_local_data(theirs, local, (4,))
    z = ev.make_array_from_single_device_arrays(
        (4,), theirs, [jnp.zeros(4)] * rank, dtype=np.float32
    )
    assert [v.dtype == np.float32 and len(v.addressable_shards) for v in (x, y, z)] == [rank] * 3
    assert str(x) == (str(np.asarray(x)) if x.is_fully_addressable else repr(x))
    print(repr(x), "|", text_of(lambda: x.tolist()), "|", text_of(lambda: assembled(theirs).dtype))
"""


@pytest.mark.slow
def test_a_process_may_hold_no_part_of_an_array():
    codes, (first, second) = outcome(THEIRS)
    assert codes == [0, 0]
    assert (
        first.split("\n")
        == [
            "Array(f32[4], in parts of which others are elsewhere) | "
            "ValueError: Array: only parts of the array of type f32[4] are in this process. | "
            "ValueError: make_array_from_callback: this process has no device of the sharding, "
            "so that the dtype is not known."
        ]
        * 2
    )
    assert (
        second.split("\n")
        == ["Array([0., 1., 2., 3.], dtype=float32) | [0.0, 1.0, 2.0, 3.0] | float32"] * 2
    )


# name: (what the second process does, its exit code, what the message says of it)
ENDS = {
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, "connection was closed"),
    "raises": ("raise KeyError('no such batch')", 1, "KeyError: 'no such batch' at <string>:"),
    "exits": ("sys.exit(3)", 3, "its program has ended"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_process_is_an_error_in_the_others(name):
    action, code, why = ENDS[name]
    codes, texts = outcome(f"if rank == 1:\n    {action}\nprint(lost())\n")
    assert codes == [0, code]
    assert texts[0].startswith("PeerLostError: <lambda>: process 1 (pid ")
    assert why in texts[0]


@pytest.mark.slow
def test_the_first_process_may_end_too():
    code = "if rank == 0:\n    os._exit(0)\nprint(lost())\n"
    codes, texts = outcome(code)
    assert codes == [0, 0]
    assert texts[1].startswith("PeerLostError: <lambda>: process 0 (pid ")


@pytest.mark.slow
def test_of_three_processes_both_others_are_told():
    code = """
if rank == 2:
    os.kill(os.getpid(), signal.SIGKILL)
print(lost(60), flush=True)
time.sleep(30)  # the other one is not to be woken by the end of this one
"""
    processes = start(code, 3, free_address())
    for process in processes[:2]:
        text = next(line for line in process.stdout if not line.startswith("[Gloo]"))
        assert text.startswith("PeerLostError: ")
        assert "process 2 (pid " in text
        assert all(p.poll() is None for p in processes[:2])
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_who_waits_for_a_process_that_does_not_come_is_woken():
    code = """
if rank == 1:
    print("ready", flush=True)
    time.sleep(60)
begin = time.monotonic()
print(lost(60))
"""
    processes = start(code, 2, free_address())
    while processes[1].stdout.readline() != "ready\n":
        assert processes[1].poll() is None
    time.sleep(1)  # in which the other one begins to wait
    os.kill(processes[1].pid, signal.SIGKILL)
    begin = time.monotonic()
    out, error = processes[0].communicate(timeout=60)
    assert processes[0].returncode == 0, error[-3000:]
    assert time.monotonic() - begin < 20, "the limit is far off: it would be the sleeper's minute"
    assert said(out).startswith("PeerLostError: ")
    assert "process 1 (pid " in out
    processes[1].communicate()


def read(process):
    """Return the next line that a process prints itself."""
    return next(line for line in process.stdout if not line.startswith("[Gloo]"))


@pytest.mark.slow
def test_a_process_that_is_stopped_is_gone_for_the_others():
    code = """
if rank == 1:
    os.kill(os.getpid(), signal.SIGSTOP)
print(lost(60), flush=True)
"""
    processes = start(code, 2, free_address())
    text = read(processes[0])
    assert text.startswith("PeerLostError: <lambda>: process 1 (pid ")
    assert "it was stopped for 2 s (SIGSTOP). This is process 0." in text
    os.kill(processes[1].pid, signal.SIGCONT)
    assert "it was stopped for 2 s (SIGSTOP). This is process 1." in read(processes[1])
    for process in processes:
        process.communicate(timeout=60)


@pytest.mark.slow
def test_who_is_interrupted_while_it_waits_is_waited_for_no_more():
    code = """
if rank == 0:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("ready", flush=True)
    try:
        ev.jit(jnp.max)(a)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    sys.stdin.read()
else:
    while not (met / "go").exists(): time.sleep(0.01)
    print(text_of(ev.jit(jnp.max), a), flush=True)
"""
    processes = start(code, 2, free_address())
    assert read(processes[0]) == "ready\n"
    time.sleep(1)  # in which it begins to wait
    os.kill(processes[0].pid, signal.SIGINT)
    assert read(processes[0]) == "interrupted\n"
    (processes.met / "go").touch()
    text = read(processes[1])
    assert text.startswith("PeerLostError: max: process 0 (pid ")
    assert "KeyboardInterrupt while it waited for others" in text
    assert processes[0].poll() is None
    for process in processes:
        process.communicate("", timeout=60)


def test_a_coordinator_that_never_comes():
    code = """
import evertrace as ev, sys
try:
    ev.distributed.initialize(sys.argv[1], 2, 1, initialization_timeout=1)
except RuntimeError as error:
    print(str(error).split("\\n")[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, free_address()], capture_output=True, text=True, check=False
    )
    assert "within 1 s: there is no process 0." in done.stdout, done.stderr[-2000:]


def test_a_process_that_never_comes():
    code = """
import evertrace as ev, sys
try:
    ev.distributed.initialize(sys.argv[1], 3, 0, initialization_timeout=2)
except RuntimeError as error:
    print(str(error).split("\\n")[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, free_address()], capture_output=True, text=True, check=False
    )
    assert "within 2 s: there is no process 1, 2." in done.stdout, done.stderr[-2000:]


def test_a_port_in_use():
    code = """
import evertrace as ev, sys
try:
    ev.distributed.initialize(sys.argv[1], 2, 0, initialization_timeout=5)
except RuntimeError as error:
    print(str(error).split("\\n")[0])
"""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        address = f"127.0.0.1:{s.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-c", code, address], capture_output=True, text=True, check=False
        )
    want = f"distributed.initialize: the coordinator cannot listen at {address}.\n"
    assert done.stdout == want, done.stderr[-2000:]


REFUSED = [
    ((None, 2, 0), "process 0 of 2 with the coordinator None"),
    (("here", 2, 0), "'here' is no address of a coordinator"),
    (("q",), "'q' is no address of a coordinator"),
    (("q", 1, 0), "'q' is no address of a coordinator"),
    (("a:b",), "'a:b' is no address of a coordinator"),
    ((7, 2, 0), "7 is no address of a coordinator"),
    (("a:1",), "there is a coordinator, 'a:1', but nothing says how many processes there are"),
    (("a:1", 2, 2), "process 2 of 2 with the coordinator 'a:1'"),
    (("a:1", 2, None), "process_id must be an integer from 0 on, got -1"),
    (("a:1", "two", 0), "num_processes must be an integer from 1 on, got 'two'"),
]


def test_arguments_that_make_no_sense():
    code = """
import evertrace as ev, sys
for arguments in eval(sys.argv[1]):
    try:
        ev.distributed.initialize(*arguments)
    except ValueError as error:
        assert not ev.distributed.is_initialized()
        print(str(error).split("\\n")[0])
"""
    given = repr([arguments for arguments, _ in REFUSED])
    done = subprocess.run(
        [sys.executable, "-c", code, given], capture_output=True, text=True, check=True
    )
    want = [f"distributed.initialize: {text}." for _, text in REFUSED]
    assert done.stdout.splitlines() == want


def test_it_comes_first_and_once():
    ev.devices()
    with pytest.raises(RuntimeError, match="devices have been asked for or used before"):
        ev.distributed.initialize("127.0.0.1:1", 2, 0)
    ev.distributed.initialize()
    with pytest.raises(RuntimeError, match="it has been called before"):
        ev.distributed.initialize()
    ev.distributed.shutdown()


TWICE = """
sum_, max_ = (ev.jit(f, out_shardings=whole) for f in (jnp.sum, jnp.max))
def both(*funs): return [float(f(a)) for f in funs]
assert both(sum_, max_, sum_, max_, max_, max_) == [28, 7, 28, 7, 7, 7]
"""
# name: (what both do, and what each of the two is said to be in)
DIVERGED = {
    "another program": (
        "f = ev.jit(lambda a: a.sum()) if rank == 0 else ev.jit(lambda a: (2 * a).sum())\n"
        "print(text_of(f, a))",
        ["<lambda>(f32[8])", "<lambda>(f32[8])"],
    ),
    "other shapes": (
        "b = ev.make_array_from_process_local_data(rows, np.ones(4 + rank, np.float32))\n"
        "print(text_of(ev.jit(jnp.sum), b))",
        ["sum(f32[8])", "sum(f32[10])"],
    ),
    "known programs in another order": (
        TWICE + "print(text_of(both, *((sum_, max_) if rank == 0 else (max_, sum_))))",
        ["sum(f32[8])", "max(f32[8])"],
    ),
    "one that does more": (
        TWICE + "print(text_of(both, *([max_, sum_] if rank == 0 else [max_] * 10)))",
        ["sum(f32[8])", "max(f32[8])"],
    ),
    "another place": (
        "from evertrace.experimental.array_serialization.pytree_serialization import save\n"
        "print(text_of(save, a, 'nowhere') if rank else text_of(ev.jit(jnp.sum), a))",
        ["sum(f32[8])", "save"],
    ),
}
QUICK = "known programs in another order"


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n != QUICK)) for n in DIVERGED]
)
def test_processes_that_do_not_do_the_same_are_told_what_they_do(name):
    code, steps = DIVERGED[name]
    codes, texts = outcome(code)
    assert codes == [0, 0]
    for rank, text in enumerate(texts):
        assert text.startswith("PeerMismatchError: "), texts
        places = [rf"{re.escape(step)} at <string>:\d+ in <?\w+>?" for step in steps]
        ours = f"process {1 - rank} is in {places[1 - rank]}.*, and this one, process {rank}, "
        assert re.search(f"{ours}in {places[rank]}", text), texts


@pytest.mark.slow
def test_the_third_process_is_told_as_well():
    code = "f = jnp.max if rank == 1 else jnp.sum\nprint(text_of(ev.jit(f), a))\n"
    codes, texts = outcome(code, 3)
    assert codes == [0, 0, 0]
    assert all("Error: " in text for text in texts)
    assert all("PeerMismatchError: " in text for text in texts), texts
    assert all("max(f32[12]) at <string>" in text for text in texts)


@pytest.mark.slow
def test_processes_that_do_the_same_are_not_stopped():
    code = """
pair = ev.make_mesh((2,), ("i",), devices=ev.devices()[:2])
sum_, max_, min_ = (ev.jit(f) for f in (jnp.sum, jnp.max, jnp.min))
b = None
if rank < 2:
    pair_rows = NamedSharding(pair, P("i"))
    b = ev.make_array_from_process_local_data(pair_rows, np.ones(2, np.float32))
for i in range(6):
    sum_(a), sum_(a)
    if i % 2 and b is not None:  # of which the third process knows nothing
        assert float(sum_(b)) == 4 and float(min_(b)) == 1
    sum_(a), max_(a)
    time.sleep(0.1 * (rank == i % 3))
    found = float(sum_(a)), float(max_(a))
assert ev.jit(lambda a: a * (rank + 1))(a).shape == (12,)  # nobody waits for others in it
print(found)
"""
    codes, texts = outcome(code, 3)
    assert (codes, texts) == ([0, 0, 0], ["(66.0, 11.0)"] * 3)


REFORMED = """
import faulthandler
faulthandler.dump_traceback_later(150, exit=True)
if rank == 2:
    os.kill(os.getpid(), signal.SIGKILL)
print(lost(60).split(" (pid")[0])
ev.distributed.shutdown()
print(ev.distributed.is_initialized(), a.addressable_shards[0].data.tolist())
ev.distributed.initialize(address, 2, rank)
print(ev.process_count(), ev.process_index(), len(ev.devices()), len(ev.local_devices()))
mesh = ev.make_mesh((2,), ("i",))
rows, whole = NamedSharding(mesh, P("i")), NamedSharding(mesh, P())
mine = np.arange(4, dtype=np.float32) + 4 * rank
b = ev.make_array_from_process_local_data(rows, mine)
both = ev.jit(lambda b: b.sum(), out_shardings=whole)
print(float(both(b)), (b * 2).addressable_shards[0].data.tolist())
print(text_of(lambda: total(a)))
print(text_of(lambda: total(b)))
print(float(ev.jit(jnp.sum, engine="xla")(jnp.ones(3))), jnp.arange(3.0).sum().tolist())
"""


@pytest.mark.slow
def test_survivors_form_a_world_anew_at_the_same_address():
    processes = start(REFORMED, 3, free_address())
    for rank, process in enumerate(processes[:2]):
        out, error = process.communicate(timeout=200)
        assert process.returncode == 0, error[-3000:]
        mine = [4.0 * rank + i for i in range(4)]
        *lines, of_another_mesh, last = said(out).splitlines()
        assert lines == [
            "PeerLostError: <lambda>: process 2",
            f"False {mine}",
            f"2 {rank} 2 1",
            f"28.0 {[2 * x for x in mine]}",
            "PeerLostError: <lambda>: an argument is laid out over processes that this one has "
            "left, by `distributed.shutdown`.",
        ]
        assert of_another_mesh.startswith("ValueError: jit(<lambda>): arrays that are committed to")
        assert last == "3.0 3.0"
    processes[2].communicate()


ALONE = """
if rank == 1:
    os._exit(0)
lost(60)
ev.distributed.shutdown()
ev.distributed.initialize(num_processes=1)
print(ev.process_count(), ev.devices() == ev.local_devices(), len(ev.devices()))
x = ev.device_put(np.arange(4.0), NamedSharding(ev.make_mesh((1,), ("i",)), P("i")))
print(float(ev.jit(lambda x: x.sum())(x)))
"""


@pytest.mark.slow
def test_who_is_left_alone_goes_on_alone():
    codes, texts = outcome(ALONE)
    assert codes == [0, 0]
    assert texts[0].splitlines() == ["1 True 1", "6.0"]


REPLACED = """
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
lost(60)
ev.distributed.shutdown()
rank = 0
"""
REPLACED_BY = """
import sys
import numpy as np
import evertrace as ev
from evertrace.sharding import NamedSharding, PartitionSpec as P
rank, address = 1, sys.argv[1]
ev.config.update("num_cpu_devices", 1)
"""
TOGETHER = """
ev.distributed.initialize(address, 2, rank)
mesh = ev.make_mesh((2,), ("i",))
rows, whole = NamedSharding(mesh, P("i")), NamedSharding(mesh, P())
b = ev.make_array_from_process_local_data(rows, np.arange(4, dtype=np.float32) + 4 * rank)
print(float(ev.jit(lambda b: b.sum(), out_shardings=whole)(b)))
"""


LIVING = """
import faulthandler
faulthandler.dump_traceback_later(90, exit=True)
from evertrace.experimental.multihost_utils import live_devices
from evertrace.sharding import Mesh
def sum_over(devices):
    rows = NamedSharding(Mesh(devices, ("i",)), P("i"))
    mine = np.full(2, rank + 1, np.float32)
    b = ev.make_array_from_process_local_data(rows, mine)
    return float(ev.jit(lambda b: b.sum())(b)), (b + 1).addressable_shards[0].data.tolist()
with live_devices(ev.devices()) as devices:
    print(len(devices), *sum_over(devices))
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
print(lost(60).split(" (pid")[0])
for _ in range(2):
    with live_devices(ev.devices()) as devices:
        print([d.process_index for d in devices], *sum_over(devices))
print(lost(60).split(" (pid")[0])  # who needs the lost one
def ended():
    with live_devices(ev.devices()) as devices:
        if rank == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            sum_over(devices)
print(text_of(ended).split(" (pid")[0])
with live_devices(ev.devices()) as devices:
    print(len(devices), *sum_over(devices))
"""


@pytest.mark.slow
def test_those_that_are_left_compute_on_their_devices():
    codes, texts = outcome(LIVING, 3)
    assert codes == [0, -signal.SIGKILL, -signal.SIGKILL]
    first = "PeerLostError: <lambda>: process 1"
    both = "[0, 2] 8.0 "
    assert texts[0].split("\n") == [
        "3 12.0 [2.0, 2.0]",
        first,
        *[both + "[2.0, 2.0]"] * 2,
        first,
        "PeerLostError: <lambda>: process 2",
        "1 2.0 [2.0, 2.0]",
    ]
    assert texts[2].split("\n") == [
        "3 12.0 [4.0, 4.0]",
        first,
        *[both + "[4.0, 4.0]"] * 2,
        first,
    ]


@pytest.mark.slow
def test_another_process_takes_the_place_of_one_that_was_killed():
    address = free_address()
    processes = start(REPLACED + TOGETHER, 2, address)
    processes[1].communicate(timeout=100)
    command = [sys.executable, "-c", REPLACED_BY + TOGETHER, address]
    processes[1] = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for process in processes:
        out, error = process.communicate(timeout=150)
        assert process.returncode == 0, error[-3000:]
        assert said(out) == "28.0"
