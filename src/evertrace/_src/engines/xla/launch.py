"""The launch door: what runs on several devices is looked at before XLA sees it.

jaxlib ends the process if a program of several devices is given too few arguments, arrays of other
devices or of other parts, or a donated one again; what has as many bytes it takes for what it
expects. None of that gets past `Partition.run`. Nor does an exception of a Python function that one
of the devices calls get to XLA, where the others would wait for what that one was to send.
"""

import contextlib
import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evertrace._src import errors
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.client import check_process, is_of_former_world
from evertrace._src.engines.xla.executable import Inspected, check_may_call_back
from evertrace._src.engines.xla.processes import failed, joined, membership
from evertrace._src.engines.xla.spread import Layout, Spread, memory_of, raw_sharding
from evertrace._src.support import forkable

# Programs are started one after the other, so that all devices see them in one order. One that
# waits for a lost process while it is started holds no other world's lock.
_starting = forkable(threading.Lock())
_KINDS = "all-reduce|all-gather|(?:ragged-)?all-to-all|collective-[a-z]+|reduce-scatter|send|recv"
_COLLECTIVE = re.compile(rf" (?:{_KINDS})(?:-start)?\(")


class Calls:
    """The Python functions that a program calls back, on any of its devices.

    Once one has raised, none is called any more: all give zeros, the program comes to its end, and
    the exception goes to who has started it. Other processes are told that this one is gone, since
    what they compute from zeros is nothing.

    Args:
      handlers: what XLA is to call.

    Attributes:
      guarded: what it calls.
    """

    def __init__(self, handlers: Sequence[Any]):
        self.guarded = [self._guard(handler) for handler in handlers]
        self._one_run = forkable(threading.Lock())  # of which exceptions are
        self._raised: BaseException | None = None
        self._name, self._meets = "", False

    def _guard(self, handler: Any) -> Callable[..., Any]:
        def called(*views: Any) -> Any:
            if self._raised is None:
                try:
                    return handler(*views)
                except BaseException as error:
                    self._raised = error
                    self._tell(error)
            return handler.nothing()

        return called

    def _tell(self, error):
        member = membership()
        if member is not None and self._meets:
            member.give_up(f"{type(error).__name__} in a function that {self._name} calls: {error}")

    @contextlib.contextmanager
    def run(self, name: str, meets: bool) -> Iterator[None]:
        """Run the program within; raises what one of the functions has raised.

        Args:
          name: of the program, for messages.
          meets: whether other processes wait for what this one computes.
        """
        check_may_call_back()
        with self._one_run:
            self._raised, self._name, self._meets = None, name, meets
            try:
                yield
            finally:
                raised = self._raised
                if raised is not None:  # whatever has come of it
                    raised.add_note(f"Raised by a Python function that {name} called back.")
                    raise raised from raised.__cause__


class Partition(Inspected):
    """A program that was compiled for several devices, each of which runs a part of it.

    Args:
      raw: jaxlib's executable.
      name: of the program, for messages.
      text: the StableHLO text it was compiled from.
      inputs, outputs: (aval, layout) of each.
      donated: indices of the inputs whose memory is given away.
      calls: the Python functions that it calls back, if any.

    Attributes:
      divisions: of the outputs, which also say what is yet to be summed.
    """

    divisions: Sequence[Any] = ()

    def __init__(
        self,
        raw: Any,
        name: str,
        text: str,
        inputs: Sequence[tuple[Any, Layout]],
        outputs: Sequence[tuple[Any, Layout]],
        donated: tuple[int, ...] = (),
        calls: Calls | None = None,
    ):
        self._raw, self.name, self.input_text, self._calls = raw, name, text, calls
        self.inputs, self.outputs, self.donated = list(inputs), list(outputs), donated
        devices = [d for _, layout in (*inputs, *outputs) for d in layout.devices if d.is_local]
        self._local = list(dict.fromkeys(devices))
        group = {d.process_index for _, layout in (*inputs, *outputs) for d in layout.devices}
        self._group = tuple(sorted(group))
        # The processes are not to wait for each other where their devices do not.
        self._meets = len(group) > 1 and _COLLECTIVE.search(self.text()) is not None
        types = ", ".join([aval.str_short() for aval, _ in inputs])
        self._what = f"{name}({types})"
        facts = text.partition("\n")[2], [layout.devices for _, layout in (*inputs, *outputs)]
        self._digest = hashlib.sha256(repr(facts).encode()).hexdigest() if self._meets else ""
        self._handlers = [
            compat.result_handler(memory_of(aval), raw_sharding(layout, len(memory_of(aval).shape)))
            for aval, layout in outputs
        ]

    def run(self, args: Sequence[Spread]) -> list[Spread]:
        """Start the program; returns its results, which may not be computed yet.

        Raises:
          ValueError: the number of arguments, or the shape, dtype, division or devices of one, is
            another than that of the program; an array that is donated is passed twice.
          DeletedArrayError: an argument was donated or deleted before.
          PeerLostError: a process that has to run it as well is gone, or this one has left it.
          PeerMismatchError: a process that has to run it as well starts another one.
          JaxRuntimeError: the program failed.
        """
        check_process()
        self._check(args)
        if self._meets and any(map(is_of_former_world, self._local)):
            raise self._former_error()
        raws = [x.raw for x in args]
        with self._calls.run(self.name, self._meets) if self._calls else contextlib.nullcontext():
            try:
                raws = self._run(raws).consume_with_handlers(self._handlers)
            except compat.FAILURES as error:
                failed(error, self.name, "running a program on several devices")
        return [Spread(r, *facts) for r, facts in zip(raws, self.outputs, strict=True)]

    def flat(self):
        """Return what C++ starts it with while this process is alone, None where `run` does more.

        C++ looks at arguments as `run` does, and leaves those to it that are not as they have to
        be.
        """
        if self._calls is not None or len(self._group) > 1:
            return None
        inputs, outputs = [
            tuple(zip(*pairs, strict=True)) or ((), ()) for pairs in (self.inputs, self.outputs)
        ]
        execute = self._raw.execute_sharded
        how = execute, self._handlers, self._failed, compat.collect_garbage
        return (*how, _starting, joined, self.donated, *inputs, *outputs)

    def _failed(self, error, raws):
        """Raise what a call of jaxlib's has raised as one of our errors."""
        del raws
        failed(error, self.name, "running a program on several devices")

    def _run(self, raws):
        """Start the program, and wait for its end if it calls back: that has happened then."""
        member, options = membership(), {"with_tokens": self._calls is not None}
        if member is None:
            running = self._start(raws, **options)
        else:
            running = self._start_together(raws, member, **options)
        if self._calls is not None:
            running.consume_token().block_until_ready()
            if member is not None and self._meets:  # a function of another process may have raised
                with member.order:
                    what, digest = f"the end of {self._what}", f"end of {self._digest}"
                    member.take_turn(self.name, what, digest, self._group)
        return running

    def _start_together(self, raws, member, **options):
        """Start it once the other processes do, if it needs them."""
        with member.order if self._meets else contextlib.nullcontext():
            if self._meets:
                member.take_turn(self.name, self._what, self._digest, self._group)
            options["launch_id"] = member.launching(self._local, self.name, self._group)
            start = lambda: self._start(raws, member.starting, **options)  # noqa: E731
            return member.wait_for(start, self.name, self._group)

    def _start(self, raws, lock=_starting, **options):
        with lock:
            return self._raw.execute_sharded(raws, **options)

    def _check(self, args):
        if len(args) != len(self.inputs):
            raise self._error(f"takes {len(self.inputs)} arrays, and {len(args)} are passed")
        for i, (x, (aval, layout)) in enumerate(zip(args, self.inputs, strict=True)):
            if type(x) is not Spread:
                raise self._error(f"argument {i} is no array on several devices")
            if x.aval is not aval and memory_of(x.aval) != memory_of(aval):
                types = aval.str_short(), x.aval.str_short()
                raise self._error(f"argument {i} has to be {types[0]}, and is {types[1]}")
            if x.layout is not layout:
                raise self._error(f"argument {i} {_difference(layout, x.layout)}")
            if x.is_deleted():
                raise errors.user_error(
                    errors.DeletedArrayError,
                    f"{self.name}: argument {i}, {x.aval.str_short()}, has been donated or deleted "
                    "before.",
                    fix="pass the array before it is donated, or do not donate it.",
                )
        for i in self.donated:
            if [x.raw for x in args].count(args[i].raw) > 1:
                raise self._error(f"argument {i} is donated, and passed twice")

    def _former_error(self):
        return errors.user_error(
            errors.PeerLostError,
            f"{self.name}: an argument is laid out over processes that this one has left, by "
            "`distributed.shutdown`.",
            fix="restore it from a checkpoint, or read this process's parts, "
            "`x.addressable_shards`, and lay them out over a mesh of the devices that are there.",
            anchor="distributed",
        )

    def _error(self, what):
        return errors.user_error(
            ValueError,
            f"{self.name}: the program for {len(self.outputs or self.inputs)} arrays on several "
            f"devices cannot be started: {what}.",
            fix="call the jitted function, which moves its arguments to where they have to be.",
            anchor="devices",
        )


def _difference(wanted, found):
    if wanted.devices != found.devices:
        return "lies on other devices, or on these in another order"
    return f"has to be divided as {wanted.division}, and is as {found.division}"
