"""The process that knits others together: XLA's coordination service, and who is alive.

It runs no programs, so that none of those that do is special: any may die. XLA's service only finds
out after a hundred seconds that one has died, and then ends all; it also ends who waits in vain. So
each process keeps a connection to this one, which the system closes with the process. Once all have
come they are told where XLA's service is, and when one has gone all others are told at once. Over
the same connections processes agree on what they start together (see `agreement`).

Run as ``python -m evertrace._src.engines.xla.coordinator ADDRESS COUNT SECONDS``. It prints a line
once it listens, and ends when the last connection is closed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.agreement import Turn, Turns
from evertrace._src.lazy import LazyModule

if TYPE_CHECKING:
    import socket
else:
    socket = LazyModule("socket")  # 5 ms, and few processes are one of several

_GRACE = 1.0  # seconds after the last connection, in which XLA's clients take their leave
_LOOK = 0.5  # seconds between two looks at whether a process of this machine is stopped
_STOPPED = 4  # looks in a row that find it so, after which the others go on without it
_ANSWER = 1.0  # seconds in which a process that lives says where it is


class Lines:
    """Messages over a socket: JSON, one a line."""

    def __init__(self, connection: socket.socket):
        self._connection = connection
        self._file = connection.makefile("r", encoding="utf-8")
        self._lock = threading.Lock()

    def say(self, **message: object) -> bool:
        """Send a message; returns whether that was possible."""
        try:
            with self._lock:
                self._connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            return False
        return True

    def __iter__(self):
        """Yield the messages that come, until the other side is gone."""
        try:
            for line in self._file:
                yield json.loads(line)
        except (OSError, ValueError):
            return

    def close(self) -> None:
        """End the connection."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class Register:
    """Who is there, and who was.

    Args:
      count: how many processes there are to be.
      service: the address of XLA's service.
    """

    def __init__(self, count: int, service: str) -> None:
        self._count, self._service = count, service
        self._lock = threading.Lock()
        self._there: dict[int, Lines] = {}
        self._about: dict[int, dict] = {}
        self._has_begun = False  # the process that has started this one is or was there
        self._turns = Turns(self._say)
        self._heard: dict[int, str] = {}  # where processes are that have been asked, "" who waits
        self._asking = threading.Lock()
        self.complete, self.ended = threading.Event(), threading.Event()

    def serve(self, connection: socket.socket) -> None:
        """Follow one process until its connection is closed, and tell the others then."""
        lines, about, why = Lines(connection), {}, "its connection was closed"
        for message in lines:
            if "index" in message:
                if self.complete.is_set():  # one of the next world, which has another coordinator
                    lines.close()
                    return
                about = message
                self._enter(message, lines)
            if "turn" in message:
                self._turns.come(about["index"], Turn.read(message["turn"]))
            if "ask" in message:
                self._turns.ask(about["index"])
            if "late" in message:
                asking = threading.Thread(target=self._call_for_others, args=(message["late"],))
                asking.start()
            if "here" in message:
                self._heard[about["index"]] = message["here"]
            why = message.get("why", why)
            if "gone" in message:
                self._go(about, why)
        if about:
            self._go(about, why)

    def _go(self, about: dict, why: str) -> None:
        """Go on without a process; all are told, that one as well."""
        with self._lock:
            told = [lines for _, lines in sorted(self._there.items())]
            is_new = self._there.pop(about["index"], None) is not None
            # Before all have come others may follow, as long as the one that has started this does.
            over = not self._there and (self.complete.is_set() or self._has_begun)
        if is_new:
            self._turns.lose(about["index"])
        for lines in told if is_new else ():
            lines.say(lost=about["index"], pid=about["pid"], host=about["host"], why=why)
        if over:
            self.complete.set()
            self.ended.set()

    def _call_for_others(self, seconds: float) -> None:
        """Go on without processes that live and do something else than to wait for others."""
        if not self._asking.acquire(blocking=False):
            return  # it is asked already
        try:
            self._heard.clear()
            with self._lock:
                asked = {i: (lines, self._about[i]) for i, lines in self._there.items()}
            for lines, _ in asked.values():
                lines.say(where=True)
            end = time.monotonic() + _ANSWER
            while len(self._heard) < len(asked) and time.monotonic() < end:
                time.sleep(0.02)
            for index, (_, about) in asked.items():
                where = self._heard.get(index, "something that keeps all its threads from running")
                if where:
                    self._go(
                        about,
                        f"it lives, and has not come for {seconds:g} s (`peer_timeout`): it is in "
                        f"{where}",
                    )
        finally:
            self._asking.release()

    def watch(self) -> None:
        """Go on without processes of this machine that somebody has stopped."""
        looks: dict[int, int] = {}
        while True:
            time.sleep(_LOOK)
            with self._lock:
                now = [self._about[i] for i in self._there]
            for about in now:
                stopped = is_stopped(about)
                looks[about["index"]] = count = stopped * (looks.get(about["index"], 0) + 1)
                if count == _STOPPED:
                    self._go(about, f"it was stopped for {_LOOK * _STOPPED:.0f} s (SIGSTOP)")

    def _say(self, index: int, **message: object) -> None:
        lines = self._there.get(index)
        if lines is not None:
            lines.say(**message)

    def _enter(self, about: dict, lines: Lines) -> None:
        index = about["index"]
        with self._lock:
            self._there[index], self._about[index] = lines, about
            self._has_begun = self._has_begun or index == 0
            everybody = list(self._there.values()) if len(self._there) == self._count else []
        for each in everybody:
            each.say(service=self._service)
        if everybody:
            self.complete.set()

    def dismiss(self) -> None:
        """Tell those who have come that others have not."""
        with self._lock:
            missing = [i for i in range(self._count) if i not in self._there]
            for lines in self._there.values():
                lines.say(missing=missing)


def process_facts(pid: int | str = "self") -> tuple[str, int]:
    """Return the state of a process of this machine and when it was started, as Linux says."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            facts = file.read().rpartition(")")[2].split()
    except OSError:
        return "", 0
    return facts[0], int(facts[19])


def is_stopped(about: dict) -> bool:
    """Whether a process that has come is one of this machine, and stopped by a signal."""
    if about["host"] != socket.gethostname():
        return False
    return process_facts(about["pid"]) == ("T", about["born"])


def keep_alive(connection: socket.socket) -> None:
    """Have the system close a connection within seconds when the other machine is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 1), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def main(address: str, count: int, seconds: int) -> None:
    """Serve until everybody has gone, or somebody has not come in that many seconds."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    listener = socket.create_server((host, int(port)), backlog=count)
    with socket.create_server((host, 0)) as free:
        at = f"{host}:{free.getsockname()[1]}"
    service = compat.coordination_service(at, count, seconds)  # while it is referred to
    register = Register(count, at)

    def accept() -> None:
        with contextlib.suppress(OSError):  # it listens no more
            while True:
                connection, _ = listener.accept()
                keep_alive(connection)
                threading.Thread(target=register.serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    threading.Thread(target=register.watch, daemon=True).start()
    print("listening", flush=True)
    sys.stdout.close()
    if register.complete.wait(seconds):
        register.ended.wait()
        listener.shutdown(socket.SHUT_RDWR)  # for whoever forms the next world at this address
        listener.close()
    else:
        register.dismiss()
    time.sleep(_GRACE)
    del service
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
