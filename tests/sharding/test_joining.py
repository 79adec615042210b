"""How processes are joined: what `distributed.initialize` refuses, and who does not come."""

import socket
import subprocess
import sys

import pytest

import evertrace as ev
from tests.sharding.processes import free_address


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
