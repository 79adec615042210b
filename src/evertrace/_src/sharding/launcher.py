"""Starts several processes of one program on this machine, and ends them all when one fails.

Run as ``python -m evertrace.launch``; see there. Each process is a session of its own, so that what
it has started itself can be ended with it, and a Ctrl-C comes here first.
"""

import argparse
import contextlib
import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import IO, Any

_POLL = 0.05  # seconds between two looks at who has ended
_RAISED = re.compile(rb"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b.*")
_FOLLOWED = b"PeerLostError"  # what ends a process because another one has ended
_END_WITH_PARENT = 1  # Linux: PR_SET_PDEATHSIG
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class Process:
    """One of the processes.

    Args:
      number: from 0 on.
      command: what to run.
      env: its environment.

    Attributes:
      raised: the last line it has printed that looks like an exception.
    """

    def __init__(self, number: int, command: Sequence[str], env: dict[str, str]):
        self.number, self.raised = number, b""
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        self._popen = subprocess.Popen(
            command,
            env=env,
            stdin=nothing,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
        self.pid = self._popen.pid
        self._readers: list[threading.Thread] = []

    def read(self) -> None:
        """Print from now on what it prints, each line after its number."""
        pairs = (self._popen.stdout, sys.stdout), (self._popen.stderr, sys.stderr)
        for stream, out in pairs:
            reader = threading.Thread(target=self._copy, args=(stream, out.buffer), daemon=True)
            reader.start()
            self._readers.append(reader)

    def _copy(self, stream: IO[bytes], out: Any) -> None:
        prefix = b"[%d] " % self.number
        for line in stream:
            if _RAISED.match(line):
                self.raised = line.strip()
            with contextlib.suppress(OSError, ValueError):  # nobody reads what is printed
                out.write(prefix + line.removesuffix(b"\n") + b"\n")
                out.flush()

    def status(self) -> int | None:
        """Return its exit status, negative if a signal has ended it; None while it runs."""
        status = self._popen.returncode
        if status is None and (status := self._popen.poll()) is not None:
            self.tell(signal.SIGKILL)  # what it has started and left behind
        return status

    def tell(self, number: int) -> None:
        """Send a signal to it, and to what it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def read_to_end(self) -> None:
        """Wait until what it has printed is printed."""
        for reader in self._readers:
            reader.join(1.0)

    def __str__(self) -> str:
        """Say how it has ended."""
        status = self._popen.returncode
        if status < 0:
            return f"process {self.number} (pid {self.pid}): {signal.Signals(-status).name}"
        raised = self.raised.decode(errors="replace")
        why = f": {raised}" if status and raised else ""
        return f"process {self.number} (pid {self.pid}): exit status {status}{why}"


def _end_with_parent() -> None:
    """Have the system end this process, a new one, if the launcher is killed."""
    if _libc is not None:
        _libc.prctl(_END_WITH_PARENT, signal.SIGTERM)


class Launch:
    """Several processes that are one run.

    Args:
      command: what each runs.
      count: of the processes.
      grace: seconds that the others have, once one has failed, to end by themselves.
    """

    def __init__(self, command: Sequence[str], count: int, grace: float):
        self._grace, address = grace, _free_address()
        self.processes: list[Process] = []
        try:
            for number in range(count):
                facts = {
                    "JAX_COORDINATOR_ADDRESS": address,
                    "JAX_NUM_PROCESSES": str(count),
                    "JAX_PROCESS_ID": str(number),
                    "PYTHONUNBUFFERED": "1",
                }
                self.processes.append(Process(number, command, {**os.environ, **facts}))
        except BaseException:
            self.end(signal.SIGKILL)
            raise
        for process in self.processes:
            process.read()

    def wait(self) -> list[Process]:
        """Wait until all have ended, or one has failed; returns the failed ones, first ones first.

        Once one has failed the others have some seconds to end by themselves.
        """
        failed: list[Process] = []
        end = float("inf")
        while time.monotonic() < end:
            running = [p for p in self.processes if p.status() is None]
            failed += [p for p in self.processes if p.status() and p not in failed]
            if not running:
                break
            if failed:
                end = min(end, time.monotonic() + self._grace)
            time.sleep(_POLL)
        return failed

    def end(self, *signals: int) -> None:
        """End all that run, by one signal after the other, each with some seconds in between.

        Whoever asks again in between has them killed at once.
        """
        try:
            for number in signals:
                self._tell_and_wait(number)
        except (KeyboardInterrupt, SystemExit):
            self._tell_and_wait(signal.SIGKILL)
        for process in self.processes:
            process.read_to_end()

    def _tell_and_wait(self, number: int) -> None:
        running = [p for p in self.processes if p.status() is None]
        for process in running:
            process.tell(number)
        end = time.monotonic() + self._grace
        while any([p.status() is None for p in running]) and time.monotonic() < end:
            time.sleep(_POLL)


def _free_address() -> str:
    """Return an address of this machine at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def run(command: Sequence[str], count: int, grace: float) -> int:
    """Run a command in several processes; returns the exit status of all of it."""
    launch = Launch(command, count, grace)
    try:
        failed = launch.wait()
        launch.end(signal.SIGTERM, signal.SIGKILL)
    except (KeyboardInterrupt, SystemExit) as error:
        asked = error.code if isinstance(error, SystemExit) else 128 + signal.SIGINT
        _say(f"interrupted: {count} processes are ended.")
        launch.end(signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
        return int(asked or 0)
    if not failed:
        return 0
    # Those that end because another has ended may be seen to end before it.
    first = min(failed, key=lambda p: _FOLLOWED in p.raised)
    others = ", ".join([str(p) for p in launch.processes if p is not first])
    _say(f"the first one to fail was {first}" + (f"\n  the others: {others}" if others else ""))
    status = first.status() or 0
    return status if status > 0 else 128 - status


def _say(text: str) -> None:
    print(f"evertrace.launch: {text}", file=sys.stderr, flush=True)


def _terminated(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and run; returns the exit status."""
    parser = argparse.ArgumentParser(
        "python -m evertrace.launch",
        description="Run a program in several processes of this machine, which "
        "evertrace.distributed.initialize() joins.",
    )
    parser.add_argument("-n", "--processes", type=int, required=True, help="how many")
    parser.add_argument(
        "--grace",
        type=float,
        default=5.0,
        help="seconds the others have to end when one has failed, before they are ended (5)",
    )
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module")
    parser.add_argument("program", help="a Python file, or with -m a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the program")
    options = parser.parse_args(argv)
    if options.processes < 1:
        parser.error(f"-n must be at least 1, got {options.processes}")
    if not options.module and not os.path.exists(options.program):
        parser.error(f"there is no file {options.program}")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminated)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also if a shell had it ignored
    kind = ["-m"] if options.module else []
    command = [sys.executable, *kind, options.program, *options.arguments]
    return run(command, options.processes, options.grace)
