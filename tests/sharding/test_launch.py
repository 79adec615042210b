"""`python -m evertrace.launch`: several processes of one program, their output, and their end."""

import os
import signal
import subprocess
import sys
import time

import pytest

LAUNCH = [sys.executable, "-m", "evertrace.launch"]
FACTS = "import os, sys, time, signal; rank = int(os.environ['JAX_PROCESS_ID'])\n"


def launched(tmp_path, code, *arguments, options=("-n", "3", "--grace", "1")):
    """Start a program with the launcher."""
    program = tmp_path / "program.py"
    program.write_text(FACTS + code)
    return subprocess.Popen(
        [*LAUNCH, *options, str(program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(process):
    """Return exit status, lines printed, sorted, and what the launcher itself said."""
    out, error = process.communicate(timeout=60)
    said = "".join(error.partition("evertrace.launch: ")[1:])
    return process.returncode, sorted(out.splitlines()), said


def is_running(pid):
    """Whether there is a process, and it is no zombie that nobody has asked about."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def all_end(pids, seconds=20):
    """Whether all processes end in that time, far more than it takes."""
    end = time.monotonic() + seconds
    while any(map(is_running, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(is_running, pids))


def numbers(process, count):
    """Read so many lines that end in the number of a process."""
    return [int(process.stdout.readline().split()[-1]) for _ in range(count)]


def test_each_process_has_its_number_and_the_arguments(tmp_path):
    code = "print(rank, os.environ['JAX_NUM_PROCESSES'], sys.argv[1:])\n"
    code += "print('to', end=' '); print('the end', end='')\n"
    argv = ["--steps", "3", "-n", "x"]
    status, lines, said = outcome(launched(tmp_path, code, *argv))
    shown = [f"[{i}] {text}" for i in range(3) for text in (f"{i} 3 {argv}", "to the end")]
    assert (status, lines, said) == (0, sorted(shown), "")


def test_a_module(tmp_path):
    options = ["-n", "2", "-m", "platform", "--terse"]
    done = subprocess.run([*LAUNCH, *options], capture_output=True, text=True, check=True)
    assert sorted(line[:4] for line in done.stdout.splitlines()) == ["[0] ", "[1] "]


# name: (what process 1 does, exit status of all, how it is named)
FAILURES = {
    "raises": ("raise KeyError('no such batch')", 1, "exit status 1: KeyError: 'no such batch'"),
    "exits": ("sys.exit(3)", 3, "exit status 3"),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL, "SIGKILL"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_when_one_fails_all_end(tmp_path, name):
    action, want, how = FAILURES[name]
    code = f"print(rank, os.getpid(), flush=True)\nif rank == 1:\n    {action}\ntime.sleep(600)"
    process = launched(tmp_path, code)
    pids = numbers(process, 3)
    status, _, said = outcome(process)
    first, others = said.splitlines()
    assert status == want
    assert first.startswith("evertrace.launch: the first one to fail was process 1 (pid ")
    assert first.endswith(f"): {how}")
    assert others.count("SIGTERM") == 2
    assert all_end(pids)


def test_who_fails_because_another_did_was_not_the_first(tmp_path):
    code = """
class PeerLostError(Exception): pass
if rank == 0: raise PeerLostError("process 1 is gone")
time.sleep(0.5); raise KeyError("the cause")
"""
    status, _, said = outcome(launched(tmp_path, code, options=("-n", "2")))
    assert status == 1
    assert "the first one to fail was process 1 " in said
    assert "KeyError: 'the cause'\n  the others: process 0 " in said


def test_who_does_not_end_is_killed(tmp_path):
    code = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if rank == 0: sys.exit(5)
time.sleep(600)
"""
    status, _, said = outcome(launched(tmp_path, code))
    assert status == 5
    assert said.count("SIGKILL") == 2


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_ends_the_launcher_ends_all(tmp_path, how):
    code = """
import subprocess
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("ready", os.getpid(), flush=True)
if rank == 1: print("helper", helper.pid, flush=True)
time.sleep(600)
"""
    process = launched(tmp_path, code)
    lines = [process.stdout.readline().split() for _ in range(4)]
    helper = [int(pid) for _, kind, pid in lines if kind == "helper"]
    pids = [int(pid) for _, kind, pid in lines if kind == "ready"]
    process.send_signal(how)
    process.communicate(timeout=60)
    if how == signal.SIGKILL:  # the system ends what the launcher has started, not what those have
        assert process.returncode == -how
        os.kill(*helper, signal.SIGKILL)
    else:
        assert process.returncode == 128 + how
    assert all_end(pids + helper)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["-n", "0", "-m", "platform"], "-n must be at least 1, got 0"),
        (["-n", "2", "nowhere.py"], "there is no file nowhere.py"),
        (["train.py"], "the following arguments are required: -n/--processes"),
    ],
)
def test_arguments_that_make_no_sense(options, text):
    done = subprocess.run([*LAUNCH, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith(f"error: {text}\n")


@pytest.mark.slow
def test_the_processes_are_joined(tmp_path):
    code = """
import evertrace as ev, evertrace.numpy as jnp
from evertrace.sharding import NamedSharding, PartitionSpec as P
ev.distributed.initialize()
mesh = ev.make_mesh((2,), ("i",))
x = ev.make_array_from_process_local_data(NamedSharding(mesh, P("i")), jnp.ones(2) * (rank + 1))
total = ev.jit(lambda x: x.sum(), out_shardings=NamedSharding(mesh, P()))
print("total", float(total(x)), flush=True)
float(total(x))  # has begun on both: both have printed
if rank == 1: raise KeyError("no such batch")
while True: float(total(x))
"""
    status, lines, said = outcome(launched(tmp_path, code, options=("-n", "2", "--grace", "20")))
    totals = [line for line in lines if "total" in line]
    assert (status, totals) == (1, ["[0] total 6.0", "[1] total 6.0"])
    assert "first one to fail was process 1 " in said
    assert "KeyError: 'no such batch'\n  the others: process 0 " in said
    assert "exit status 1: evertrace.errors.PeerLostError: <lambda>: process 1 " in said


def coordinators(address):
    """Return the pids of the coordinators that listen at an address."""
    pattern = f"[c]oordinator {address} "
    found = subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


@pytest.mark.slow
def test_nothing_is_left_of_processes_that_have_never_met(tmp_path):
    code = """
import evertrace as ev
if rank == 1:
    print(os.environ["JAX_COORDINATOR_ADDRESS"], flush=True); time.sleep(600)
ev.distributed.initialize()
"""
    process = launched(tmp_path, code, options=("-n", "2", "--grace", "1"))
    address = process.stdout.readline().split()[-1]
    while not coordinators(address):
        assert process.poll() is None
    pids = coordinators(address)
    process.send_signal(signal.SIGINT)
    assert outcome(process)[0] == 130
    assert all_end(pids)
