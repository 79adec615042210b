"""The launch door: what runs on several devices is looked at before XLA sees it.

jaxlib ends the process if a program of several devices is given too few arguments, arrays of other
devices or of other parts, or a donated one again; what has as many bytes it takes for what it
expects. None of that gets past `Partition.run`.
"""

import contextlib
import hashlib
import re
import threading
from collections.abc import Sequence
from typing import Any

from evertrace._src import errors
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.client import check_process
from evertrace._src.engines.xla.executable import Inspected
from evertrace._src.engines.xla.processes import failed, membership
from evertrace._src.engines.xla.spread import Layout, Spread, memory_of, raw_sharding
from evertrace._src.support import forkable

# Programs are started one after the other, so that all devices see them in one order.
_starting = forkable(threading.Lock())
_KINDS = "all-reduce|all-gather|(?:ragged-)?all-to-all|collective-[a-z]+|reduce-scatter|send|recv"
_COLLECTIVE = re.compile(rf" (?:{_KINDS})(?:-start)?\(")


class Partition(Inspected):
    """A program that was compiled for several devices, each of which runs a part of it.

    Args:
      raw: jaxlib's executable.
      name: of the program, for messages.
      text: the StableHLO text it was compiled from.
      inputs, outputs: (aval, layout) of each.
      donated: indices of the inputs whose memory is given away.

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
    ):
        self._raw, self.name, self.input_text = raw, name, text
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
          PeerLostError: a process that has to run it as well is gone.
          PeerMismatchError: a process that has to run it as well starts another one.
          JaxRuntimeError: the program failed.
        """
        check_process()
        self._check(args)
        raws, member = [x.raw for x in args], membership()
        try:
            running = self._start_together(raws, member) if member else self._start(raws)
            raws = running.consume_with_handlers(self._handlers)
        except compat.FAILURES as error:
            failed(error, self.name, "running a program on several devices")
        return [Spread(r, *facts) for r, facts in zip(raws, self.outputs, strict=True)]

    def _start_together(self, raws, member):
        """Start it once the other processes do, if it needs them."""
        with member.order if self._meets else contextlib.nullcontext():
            if self._meets:
                member.take_turn(self.name, self._what, self._digest, self._group)
            number = member.launching(self._local, self.name)
            return member.wait_for(lambda: self._start(raws, launch_id=number), self.name)

    def _start(self, raws, **numbered):
        with _starting:
            return self._raw.execute_sharded(raws, **numbered)

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
