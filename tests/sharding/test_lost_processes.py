"""A process ends, stops or is interrupted: the others are told, and go on without it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.sharding.processes import APART, free_address, outcome, start

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
        text = process.stdout.readline()
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
    assert out.startswith("PeerLostError: ")
    assert "process 1 (pid " in out
    processes[1].communicate()


@pytest.mark.slow
def test_a_process_that_is_stopped_is_gone_for_the_others():
    code = """
if rank == 1:
    os.kill(os.getpid(), signal.SIGSTOP)
print(lost(60), flush=True)
"""
    processes = start(code, 2, free_address())
    text = processes[0].stdout.readline()
    assert text.startswith("PeerLostError: <lambda>: process 1 (pid ")
    assert "it was stopped for 2 s (SIGSTOP). This is process 0." in text
    os.kill(processes[1].pid, signal.SIGCONT)
    assert "it was stopped for 2 s (SIGSTOP). This is process 1." in processes[1].stdout.readline()
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
    assert processes[0].stdout.readline() == "ready\n"
    time.sleep(1)  # in which it begins to wait
    os.kill(processes[0].pid, signal.SIGINT)
    assert processes[0].stdout.readline() == "interrupted\n"
    (processes.met / "go").touch()
    text = processes[1].stdout.readline()
    assert text.startswith("PeerLostError: max: process 0 (pid ")
    assert "KeyboardInterrupt while it waited for others" in text
    assert processes[0].poll() is None
    for process in processes:
        process.communicate("", timeout=60)


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
        *lines, of_another_mesh, last = out.splitlines()
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
    command = [sys.executable, "-c", APART + REPLACED_BY + TOGETHER, address]
    processes[1] = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for process in processes:
        out, error = process.communicate(timeout=150)
        assert process.returncode == 0, error[-3000:]
        assert out == "28.0\n"
