"""Several processes whose devices work on one program: joining them, and noticing who has gone.

XLA's own means end the process when another one dies. Here the death of a process is an error,
`PeerLostError`, in each of the others: whoever waits for it in a program is woken, and whoever
starts the next one is told. So it is with a process that starts another program than the others
(see `agreement`).
"""

import atexit
import collections
import contextlib
import functools
import itertools
import os
import queue
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, NoReturn

from evertrace._src import config, errors, source
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.agreement import Turn, difference
from evertrace._src.engines.xla.coordinator import Lines, keep_alive, process_facts
from evertrace._src.engines.xla.failures import fail
from evertrace._src.lazy import LazyModule

socket: Any = LazyModule("socket")

_NOTICE = 3.0  # seconds in which the death of a process is known everywhere
_POLL = 0.25  # seconds between two looks at who is gone, while a program is waited for
_GOODBYE = 2.0  # seconds that one who has ended waits for the others to end
_IN_FLIGHT = 64  # programs that are woken when a process dies


class Loss(NamedTuple):
    """What is known of a process that has gone."""

    number: int
    pid: int
    host: str
    why: str
    when: float


class _Worker:
    """A thread that starts programs, and is among the idle ones while it starts none.

    Attributes:
      work: takes what starts a program, a list for ``(result, error)``, an event to set then.
    """

    def __init__(self, idle: list["_Worker"]):
        self.work: queue.SimpleQueue = queue.SimpleQueue()
        self._idle = idle
        threading.Thread(target=self._serve, name="evertrace launch", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._start(*self.work.get())

    def _start(self, start: Callable[[], Any], made: list, done: threading.Event) -> None:
        try:
            made.append((start(), None))
        except BaseException as error:
            made.append((None, error))
        self._idle.append(self)
        done.set()


class Membership:
    """This process as one of several.

    Attributes:
      index, count: its number, and how many there are.
      client: XLA's client of the coordination service.
      collectives: how devices of the CPU tell each other what they have computed.
      lost: number of a process -> its `Loss`.
      waits: how many of its threads wait for others now.
      order: a lock, held while a turn is taken and what it is for is started.
      starting: a lock, held while a program is started.
    """

    def __init__(self, index: int, count: int, client: Any, collectives: Any, lines: Lines):
        self.index, self.count, self.client, self.collectives = index, count, client, collectives
        self.lost: dict[int, Loss] = {}
        self.waits = 0
        self.order, self.starting = threading.RLock(), threading.Lock()
        self._everybody = tuple(range(count))
        self._counts: collections.Counter = collections.Counter()  # group -> turns
        self._turn: tuple[Turn, Any] | None = None  # and where the user has begun it
        self._last = ""  # digest of the last turn of everybody
        self._agreed, self._may_go, self._difference = None, threading.Event(), ""
        self._lines, self._known, self._why = lines, threading.Event(), ""
        self._numbers, self._exchanges = itertools.count(1), itertools.count(1)
        self._launched: collections.deque = collections.deque(maxlen=_IN_FLIGHT)
        self._idle: list[_Worker] = []
        threading.Thread(target=self._listen, name="evertrace peers", daemon=True).start()

    def _listen(self) -> None:
        for message in self._lines:
            if "go" in message:
                self._agreed = tuple(message["group"]), message["go"]
                self._may_go.set()
            elif "ask" in message:
                if self._turn is not None:
                    self._say_turn(*self._turn)
            elif "where" in message:
                self._lines.say(
                    here="" if self.waits else source.where_main_thread_is() or "no line of a user"
                )
            elif "sides" in message:
                self._difference = difference(message["sides"], self.index)
                self._stop(self._difference)
            else:
                index = message["lost"]
                facts = message["pid"], message["host"], message["why"]
                self.lost[index] = Loss(index, *facts, time.monotonic())
                self._stop(f"process {index} is gone")

    def _stop(self, text: str) -> None:
        self._known.set()
        self._may_go.set()
        self._wake(text)

    def _wake(self, text: str) -> None:
        """Let whoever waits for a program that is under way go on, with an error."""
        for number, devices in list(self._launched):
            for device in devices:
                compat.poison(device, number, text)

    @contextlib.contextmanager
    def waiting(self) -> Generator[None]:
        """Wait for others, in a ``with`` block; who does something else is told of in time."""
        seconds, timer = config.current().peer_timeout, None
        if seconds:
            timer = threading.Timer(seconds, self._call_for, (seconds,))
            timer.daemon = True
            timer.start()
        self.waits += 1
        try:
            yield
        finally:
            self.waits -= 1
            if timer is not None:
                timer.cancel()

    def _call_for(self, seconds: float) -> None:
        """Have the others go on without those who do not wait, while this process waits."""
        while self.waits and not self.lost:
            self._lines.say(late=seconds)
            time.sleep(seconds)

    def take_turn(self, name: str, what: str, digest: str, group: tuple | None = None) -> None:
        """Wait, where need be, until all are about to start the same; the caller holds `order`.

        Args:
          name: of a program or a place where all wait for all, for errors.
          what: the same at more length, for the others.
          digest: equal for equal programs, and for no others.
          group: the processes that it is for; by default all, who wait for each other even if it
            is what the last turn was for.

        Raises:
          PeerMismatchError: another process is in another turn.
          PeerLostError: a process has gone.
        """
        try:
            self._take_turn(name, what, digest, group)
        except (errors.PeerLostError, errors.PeerMismatchError):
            raise
        except (
            BaseException
        ) as error:  # an interrupt: the others would begin, and wait for this one
            self.give_up(f"{type(error).__name__} while it waited for others")
            raise

    def _take_turn(self, name: str, what: str, digest: str, group: tuple | None) -> None:
        self.check(name, group)
        repeats = group == self._everybody and digest == self._last
        group = group or self._everybody
        self._counts[group] += 1
        counts = tuple(self._counts.items())
        began = Turn(group, counts, digest, what, "", not repeats), source.user_source()
        if not repeats:
            self._may_go.clear()
            self._say_turn(*began)
        self._turn = began  # after it is said: what is told when asked is not waited for
        if not repeats:
            with self.waiting():
                self._wait_for_turn(name, group)
        if group == self._everybody:
            self._last = digest

    def _wait_for_turn(self, name: str, group: tuple) -> None:
        while self._agreed != (group, self._counts[group]):
            if not self._may_go.wait(_POLL):
                self._lines.say(ask=True)
            self._may_go.clear()
            self.check(name, group)

    def _say_turn(self, turn: Turn, src: Any) -> None:
        turn = turn._replace(at="" if src is None else source.format(src))
        self._lines.say(turn=turn._asdict())

    def launching(self, devices: Any, what: str, group: tuple | None = None) -> int:
        """Return the number of a program that is about to be started on devices of this process."""
        self.check(what, group)
        number = next(self._numbers)
        self._launched.append((number, devices))
        return number

    def wait_for(self, start: Callable[[], Any], what: str, group: tuple | None = None) -> Any:
        """Start a program on a thread that stands by, and wait for that to return, or for a loss.

        XLA runs a small program in the thread that starts it, where nothing can wake it if another
        process never answers: one that waits, in turn, for the one that is gone.
        """
        made: list = []
        done = threading.Event()
        try:
            worker = self._idle.pop()
        except IndexError:  # the others are starting programs, or wait for who is gone
            worker = _Worker(self._idle)
        worker.work.put((start, made, done))
        with self.waiting():
            while not done.wait(_POLL):
                if any(time.monotonic() - x.when > _NOTICE / 3 for x in list(self.lost.values())):
                    self.check(what, group)
                self._check_same(what)
        result, error = made[0]
        if error is not None:
            raise error
        return result

    def check(self, what: str, group: tuple | None = None) -> None:
        """Raise `PeerLostError` if a process has gone, `PeerMismatchError` if one differs.

        With a group, what has become of other processes does not matter.
        """
        self._check_same(what)
        missed = [x for x in list(self.lost.values()) if group is None or x.number in group]
        if missed:
            raise self._error(what, min(missed, key=lambda x: x.when))

    def live(self, what: str) -> tuple[int, ...]:
        """Return the processes that are there, once these agree that it is they."""
        while True:
            group = tuple([i for i in self._everybody if i not in self.lost])
            try:
                with self.order:
                    self.take_turn(what, what, f"place {what}", group)
            except errors.PeerLostError:
                if self.index in self.lost:
                    raise
            else:
                return group

    def _check_same(self, what: str) -> None:
        if self._difference:
            raise errors.user_error(
                errors.PeerMismatchError,
                f"{what}: {self._difference}. All processes have to start the same programs in the "
                "same order.",
                fix="let no process decide by its number or its own data what is computed "
                "together, and start all processes again.",
                anchor="distributed",
            )

    def explain(self, what: str) -> None:
        """Raise as `check` does, for what others may yet have to hear of."""
        self._known.wait(_NOTICE)
        self.check(what)

    def exchange(self, what: str, value: bytes) -> list[bytes]:
        """Wait until all processes have come here; returns the values that they bring, in order.

        Args:
          what: the place, for messages.
          value: of this process, at most some megabytes.

        Raises:
          PeerMismatchError: another process is at another place.
          PeerLostError: a process has gone meanwhile.
        """
        found = []
        try:
            number = self.meet(what)
            compat.set_value(self.client, f"exchange/{number}/{self.index}", value)
            for other in range(self.count):
                key = f"exchange/{number}/{other}"
                with self.waiting():
                    while (got := compat.value_of(self.client, key, int(1000 * _POLL))) is None:
                        self.check(what)
                found.append(got)
            if number > 1:  # which all have read, since all have come to this one
                compat.forget_value(self.client, f"exchange/{number - 1}/{self.index}")
        except compat.BackendError:
            self.explain(what)
            raise
        return found

    def meet(self, what: str) -> int:
        """Wait until all processes have come here; returns which such place it is."""
        with self.order:
            self.take_turn(what, what, f"place {what}")
            return next(self._exchanges)

    def _error(self, what: str, loss: Loss) -> Exception:
        ago = time.monotonic() - loss.when
        return errors.user_error(
            errors.PeerLostError,
            f"{what}: process {loss.number} (pid {loss.pid} on {loss.host}), one of {self.count}, "
            f"is gone since {ago:.1f} s: {loss.why}. This is process {self.index}.",
            fix="see what it has printed, and start all processes again, from a checkpoint.",
            anchor="distributed",
        )

    def give_up(self, why: str) -> None:
        """Be gone for the others, who would wait for what this process will not give them."""
        self._lines.say(why=why, gone=True)

    def tell(self, why: str) -> None:
        """Tell the others why this process is about to end."""
        self._why = why
        self._lines.say(why=why)

    def leave(self) -> None:
        """Say goodbye, and leave others a little time to end what they do with this one."""
        if not self._why:
            self.tell("its program has ended")
            self._wait_for_others()
        self._lines.close()
        compat.leave_coordination(self.client)

    def _wait_for_others(self) -> None:
        end = time.monotonic() + _GOODBYE
        with contextlib.suppress(compat.BackendError):
            compat.set_value(self.client, f"goodbye/{self.index}", b"")
            for other in range(self.count):
                while other not in self.lost and (left := end - time.monotonic()) > 0:
                    wait = int(1000 * min(left, _POLL)) + 1
                    if compat.value_of(self.client, f"goodbye/{other}", wait) is not None:
                        break


joined: list[Membership] = []
"""This process as one of several, if it is that; C++ looks whether something is in it."""

_left = threading.Event()  # once this process has left others, who may need a moment to do so


def membership() -> Membership | None:
    """Return this process as one of several, or None where it is alone."""
    return joined[0] if joined else None


def await_results(raws: list[Any]) -> None:
    """Wait until programs have computed arrays."""
    member = membership()
    if member is None:
        compat.block_until_ready(raws)
        return
    with member.waiting():
        compat.block_until_ready(raws)


def join(address: str, count: int, index: int, bind: str | None, seconds: int) -> None:
    """Make this process one of several.

    Args:
      address: of the coordinator, host and port.
      count: of the processes.
      index: of this one; the first one starts the coordinator.
      bind: the address that the coordinator listens at, if it is another.
      seconds: to wait for the others.

    Raises:
      RuntimeError: the coordinator cannot be started or reached in time.
    """
    if index == 0:
        _start(bind or address, count, seconds)
    end = time.monotonic() + seconds
    lines, here = _enter(address, count, index, seconds)
    while not (answer := next(iter(lines), {})) and time.monotonic() < end:
        time.sleep(0.05)  # the coordinator of a world that is about to end
        lines, here = _enter(address, count, index, seconds)
    if "service" not in answer:
        missing = ", ".join(map(str, answer.get("missing", ())))
        raise _absent_error(address, count, index, seconds, missing)
    client = compat.coordination_client(answer["service"], index, seconds)
    client.connect()
    collectives = compat.gloo_collectives(client, here)
    joined.append(Membership(index, count, client, collectives, lines))
    _hook()


def _enter(address: str, count: int, index: int, seconds: int) -> tuple[Lines, str]:
    """Say to the coordinator that this process is there.

    Returns:
      The connection, and this machine's address on it.
    """
    host, _, port = address.rpartition(":")
    end, connection = time.monotonic() + seconds, None
    while connection is None:
        try:
            connection = socket.create_connection((host.strip("[]"), int(port)), timeout=seconds)
        except (OSError, ValueError) as error:
            if time.monotonic() > end or isinstance(error, ValueError):
                raise _absent_error(address, count, index, seconds, "0") from error
            time.sleep(0.05)
    connection.settimeout(None)
    keep_alive(connection)
    lines = Lines(connection)
    about = {"pid": os.getpid(), "born": process_facts()[1], "host": socket.gethostname()}
    lines.say(index=index, **about)
    return lines, connection.getsockname()[0]


def _absent_error(address: str, count: int, index: int, seconds: int, missing: str) -> Exception:
    who = f": there is no process {missing}" if missing else ""
    return errors.user_error(
        RuntimeError,
        f"distributed.initialize: process {index} of {count} has not found all the others at "
        f"{address} within {seconds} s{who}.",
        fix="start all processes, with one address and one number of processes.",
        anchor="distributed",
    )


def failed(error: Exception, what: str, doing: str) -> NoReturn:
    """Raise what a program of several devices has raised as one of our errors."""
    member = membership()
    if member is not None:
        member.explain(what)
    if isinstance(error, compat.BackendError):
        fail(error, doing)
    raise error


def leave() -> None:
    """End the work with the others, if there is any."""
    while joined:
        joined.pop().leave()
        _left.set()


def _start(address: str, count: int, seconds: int) -> None:
    """Start the coordinator; that of the world that was left may have to end before."""
    end = time.monotonic() + (min(seconds, _NOTICE + _GOODBYE) if _left.is_set() else 0)
    while not _try_to_start(address, count, seconds):
        if time.monotonic() >= end:
            raise errors.user_error(
                RuntimeError,
                f"distributed.initialize: the coordinator cannot listen at {address}.",
                fix="take a port that is free, on an address of this machine.",
                anchor="distributed",
            )


def _try_to_start(address: str, count: int, seconds: int) -> bool:
    module = "evertrace._src.engines.xla.coordinator"
    command = [sys.executable, "-m", module, address, str(count), str(seconds)]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True
    )
    assert child.stdout is not None
    with child.stdout:
        line = child.stdout.readline()
    child.returncode = 0  # it outlives this process, which is not to wait for it
    return bool(line)


@functools.cache
def _hook() -> None:
    """Tell the others why this process ends, if it does by an exception."""
    before = sys.excepthook

    def hook(kind: Any, error: Any, trace: Any) -> None:
        member = membership()
        if member is not None:
            last = traceback.extract_tb(trace)[-1:]
            where = "".join([f" at {x.filename}:{x.lineno} in {x.name}" for x in last])
            text = traceback.format_exception_only(kind, error)[-1].strip()
            member.tell(f"{text}{where}")
        before(kind, error, trace)

    sys.excepthook = hook
    atexit.register(leave)
