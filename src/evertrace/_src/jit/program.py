"""Running what was traced: pruning, compiling for a device, passing buffers.

Outputs that are inputs or constants are not computed; inputs that are not needed are not passed; a
program with nothing left to compute is never compiled.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from evertrace._src import config, errors
from evertrace._src.arrays.array import Array
from evertrace._src.core import monitoring, transfers
from evertrace._src.core.jaxpr import Literal
from evertrace._src.core.placement import SingleDeviceSharding
from evertrace._src.engines import placing, runtime
from evertrace._src.engines.choice import TAPES, choose, engine
from evertrace._src.engines.eager import call_watched
from evertrace._src.engines.inputs import as_input
from evertrace._src.engines.protocol import Request
from evertrace._src.lazy import LazyModule
from evertrace._src.ops.sharding_constraint import asked_in, mesh_in
from evertrace._src.transforms.dce import dce_jaxpr
from evertrace._src.transforms.filling import Filled
from evertrace._src.transforms.staging import close_jaxpr

padded: Any = LazyModule("evertrace._src.jit.padded")


class Program:
    """A jaxpr without constvars, ready to be run on flat arguments.

    Args:
      jaxpr: the program.
      name: for profiles and messages.
      donated: indices of the inputs whose memory is given away.
      keep_unused: whether inputs that are not needed are passed all the same.
      device: where to run, or None to follow the arguments.
      compiler_options: XLA flags by name.
      engine: "auto", "native", "fused" or "xla"; by default what the option `engine` says.

    Attributes:
      watched: whether an option has it looked at as it runs (see `engines.watch`).
      mesh: a sharding over the mesh that the program itself lays arrays out on, or None.
    """

    def __init__(
        self,
        jaxpr,
        name,
        *,
        donated=(),
        keep_unused=False,
        device=None,
        compiler_options=None,
        engine=None,
    ):
        self.whole = jaxpr
        self.watched = config.current().watched
        donated = () if self.watched else donated  # it may have to be run again
        self.name, self.device, self.donated = name, device, donated
        self.keep_unused = keep_unused
        self.compiler_options = dict(compiler_options or {})
        self.engine = engine or config.current().engine
        self._choice = self._by_xla = self._spmd = None
        if type(jaxpr) is Filled:
            parts = jaxpr.of_all_sizes(("parts", donated, keep_unused), _parts)
            self.jaxpr = jaxpr.filled(parts.jaxpr)
        else:
            parts = _parts(jaxpr, jaxpr, donated, keep_unused)
            self.jaxpr = parts.jaxpr
        self.kept, self.kept_donated, self.plain = parts.kept, parts.kept_donated, parts.plain
        self.trivial, self.mesh = parts.trivial, parts.mesh
        self.sources = parts.sources if self.plain else [_placed(s, jaxpr) for s in parts.sources]

    @property
    def out_avals(self):
        """Types of what is computed."""
        return self.jaxpr.out_avals

    def with_options(self, compiler_options):
        """Return the program with other XLA flags on top of its own."""
        return Program(
            self.whole,
            self.name,
            donated=self.donated,
            keep_unused=self.keep_unused,
            device=self.device,
            compiler_options=self.compiler_options | dict(compiler_options),
            engine="xla",
        )

    def choice(self):
        """Return the engine that runs it, why it is that one, and its runner; chosen once."""
        if self._choice is None:
            request = self._request()
            self._choice = choose(self.jaxpr, request)
            if type(self.jaxpr) is Filled and self._choice.engine == "xla":
                self._choice = padded.shared(self._choice, self.jaxpr, request)
        return self._choice

    def settle(self):
        """Find out what runs a program that sizes were put into.

        Raises:
          NotOpenError: it is not of the types that the open program says; a tape's sizes are right
            by the conditions of its template.
        """
        if self.trivial or self.choice().engine != "native":
            _ = self.jaxpr.eqns

    def _request(self, **changes):
        wanted = Request(
            self.name,
            self.engine,
            self.kept_donated,
            self.device,
            self.compiler_options,
            self.watched,
            _took,
        )
        return wanted._replace(**changes) if changes else wanted

    def runner(self, args=()) -> Any:
        """Return what runs it on such arguments: what was chosen, where that can run there."""
        if any([s is not None and not s.is_fully_addressable for s in self._shardings(args)]):
            return self._divided()
        return self._runner_here(args)

    def _runner_here(self, args):
        chosen = self.choice().runner
        return chosen if chosen.anywhere or runtime.runs_natively(args) else self.by_xla()

    def over(self, like, divisions):
        """Return what XLA makes of it for the devices of a mesh; None where it is not divided.

        Args:
          like: a sharding over the mesh.
          divisions: of the arguments.
        """
        runner: Any = self.choice().runner if like.is_fully_addressable else self._divided()
        if not runner.places:
            return None
        return runner.compiled_over(like, tuple([divisions[i] for i in self.kept]))

    def divided_over(self, like, places) -> Any:
        """Return what XLA makes of it for the devices of a mesh, where it is not run so."""
        runner: Any = self._divided()
        return runner.compiled_over(*self.layout_over(like, places))

    def layout_over(self, like, places):
        """Return how it lies over a mesh: a sharding over that, divisions of inputs and outputs.

        Args:
          like: a sharding over the mesh.
          places: the `CompiledPlacements` of all that goes in and out.
        """
        inputs = tuple([places.divisions[i] for i in self.kept])
        wanted: list[Any] = [None] * len(self.jaxpr.outvars)
        sources: list[Any] = self.sources
        for (kind, i), sharding in zip(sources, places.asked, strict=True):
            if kind is _COMPUTED and sharding is not None:
                wanted[i] = sharding.spec_division(self.jaxpr.outvars[i].aval.ndim)
        return like, inputs, tuple(wanted)

    def by_xla(self) -> Any:
        """Return what runs it by XLA, also where tapes do not run."""
        if self._by_xla is None:
            chosen = None if self.engine in TAPES else self.choice()
            if chosen is not None and chosen.engine == "xla":
                self._by_xla = chosen.runner
            else:
                offer = engine("xla").offer(self.jaxpr, self._request(wanted="xla"))
                self._by_xla = offer.runner
        return self._by_xla

    def _shardings(self, args):
        return [self.mesh, *map(placing.sharding_of, args)]

    def _divided(self):
        """Return what runs it on the devices of several processes, whatever was chosen."""
        if self._spmd is None:
            self._spmd = engine("spmd").offer(self.jaxpr, self._request(wanted="spmd")).runner
        return self._spmd

    def _runners(self):
        """Return what has been asked to run it."""
        chosen = None if self._choice is None else self._choice.runner
        return [x for x in (self._by_xla, self._spmd, chosen) if x is not None]

    @property
    def executables(self):
        """Where it was compiled for -> what XLA made of it."""
        return {place: found for x in self._runners() for place, found in x.executables.items()}

    @property
    def seconds(self):
        """What lowering and compiling took, or None for both."""
        return next((x.seconds for x in self._runners() if x.seconds[0] is not None), (None, None))

    def run(self, args):
        """Run on flat arguments (arrays, NumPy arrays, scalars); returns a list of arrays."""
        if self.watched:
            return self._run_watched(args)
        return self._run(args)

    def _run_watched(self, args):
        """Run while results are looked at; see `engines.watch`."""
        for i in self.kept:
            if type(args[i]) is not Array:
                transfers.check("host_to_device", self.whole.invars[i].aval)
        if self.trivial:
            return self._run(args)
        inputs = [as_input(args[i], self.whole.invars[i].aval) for i in self.kept]
        run = functools.partial(self.by_xla().run, inputs)
        outs = call_watched(close_jaxpr(self.jaxpr), inputs, name=self.name, run=run)
        return [self._forwarded(s, args, outs) for s in self.sources]

    def _run(self, args):
        if self.trivial:
            outs = [self._forwarded(s, args, None) for s in self.sources]
            if self.donated:
                _delete_donated(args, self.donated)
            return outs
        laid_out = self.mesh is not None or placing.is_laid_out(args)
        if laid_out:
            where = f"jit({self.name})"
            devices = placing.check_one_place(where, args, "input", self.whole.names)
            placing.check_asked(where, devices, self.asked)
            self._check_memories(map(placing.sharding_of, args))
        inputs = args if len(self.kept) == len(args) else [args[i] for i in self.kept]
        runner = self.runner(args) if laid_out else self._runner_here(args)
        if runner is self._by_xla and self.engine in TAPES:
            raise _elsewhere_error(self.name, self.engine)
        divided = None
        if laid_out and not runner.places:
            divided = self._divide([placing.sharding_of(x) for x in inputs])
        outs = runner.run(inputs)
        if self.donated:
            _delete_donated(args, self.donated)
        placing.lay_out_program(outs, divided)
        return outs if self.plain else [self._forwarded(s, args, outs) for s in self.sources]

    @functools.cached_property
    def asked(self):
        """The devices over which results are to be laid out -> a sharding over them."""
        if self.device is None:
            return asked_in(self.jaxpr)
        return {(self.device,): SingleDeviceSharding(self.device)}

    def _check_memories(self, shardings):
        """Raise if inputs are in another memory than the ordinary one of the device asked for."""
        if self.device is None:
            return
        for i, s in enumerate(shardings):
            if s is not None and s.memory_kind != "device":
                raise errors.user_error(
                    ValueError,
                    f"jit({self.name}): {placing.called(i, 'input', self.whole.names)} is in "
                    f"memory {s.memory_kind!r}, and the ordinary one of {self.device} was asked "
                    "for.",
                    fix="name that memory, `in_shardings=x.sharding`, or move the array before, "
                    "`device_put(x, device)`.",
                    anchor="devices",
                )

    def _divide(self, shardings):
        return placing.divide_program(self.jaxpr, shardings, self.mesh)

    def laid_out(self, shardings):
        """Return how the computed results of a call in C++ are laid out.

        Args:
          shardings: of all inputs; None for those that are laid out over no mesh.

        Returns:
          Their device and shardings, and what C++ starts for inputs that lie so, if that is not
          what it runs for all; or None where Python has to run the call: parts are in other
          processes, or inputs are laid out over several meshes.
        """
        for s in shardings:
            placing.check_asked(f"jit({self.name})", s and s.device_list(), self.asked)
        self._check_memories(shardings)
        given = [s for s in (self.mesh, *shardings) if s is not None]
        over = [s for s in shardings if s is not None]
        places = {(s.device_list(), tuple(s.axis_sizes().items())) for s in over}
        if len(places) > 1 or not all([s.is_fully_addressable for s in given]):
            return None
        nothing = None, (None,) * len(self.jaxpr.outvars)
        kept = [shardings[i] for i in self.kept]
        runner: Any = self._choice and self._choice.runner
        if runner is not None and runner.places:
            return *nothing, runner.flat_over(kept)  # it says so itself
        return *(self._divide(kept) or nothing), None

    def _forwarded(self, source, args, outs):
        kind, where = source
        if kind is _COMPUTED:
            return outs[where]
        if kind is _LITERAL:
            return Array(where.aval, np.asarray(where.val))
        i, aval = where
        return as_input(args[i], aval)


_COMPUTED, _INPUT, _LITERAL = "computed", "input", "literal"


class _Parts(NamedTuple):
    """What a program has to compute, and where its outputs come from.

    Attributes:
      jaxpr: the program without what nobody needs.
      kept: indices of the inputs that it has; kept_donated: which of those are given away.
      sources: per output, its kind and the index of what is computed, of an input or its own.
      plain, trivial, mesh: see `Program`.
    """

    jaxpr: Any
    kept: list
    kept_donated: tuple
    sources: list
    plain: bool
    trivial: bool
    mesh: Any


def _parts(whole, jaxpr, donated, keep_unused):
    """Return the `_Parts` of a jaxpr; `whole` has its outputs as they are for some sizes."""
    position = {id(v): i for i, v in enumerate(whole.invars)}
    donated_set = set(donated)
    sources, computed, seen = [], [], {}
    for i, v in enumerate(whole.outvars):
        if type(v) is Literal:
            sources.append((_LITERAL, i))
        elif position.get(id(v)) not in (None, *donated_set):
            sources.append((_INPUT, position[id(v)]))
        else:
            if id(v) not in seen:
                seen[id(v)] = len(computed)
                computed.append(i)
            sources.append((_COMPUTED, seen[id(v)]))
    of_program = set(computed)
    wanted = [i in of_program for i in range(len(whole.outvars))]
    keep = range(len(whole.invars)) if keep_unused else ()
    pruned, used = dce_jaxpr(jaxpr, wanted, keep_inputs=keep)
    kept = [i for i, u in enumerate(used) if u]
    return _Parts(
        pruned,
        kept,
        tuple(j for j, i in enumerate(kept) if i in donated_set),
        sources,
        all(s == (_COMPUTED, i) for i, s in enumerate(sources)),
        not computed and not pruned.effects,
        mesh_in(pruned),
    )


def _placed(source, jaxpr):
    """Return a source with the type of the input, or the literal, that it is."""
    kind, where = source
    if kind is _COMPUTED:
        return source
    return kind, jaxpr.outvars[where] if kind is _LITERAL else (where, jaxpr.in_avals[where])


def sources_of(source):
    """Return an output's source as (kind, index, what makes it an array)."""
    kind, where = source
    if kind is _LITERAL:
        return kind, 0, (where.aval, np.asarray(where.val))
    if kind is _INPUT:
        return kind, where[0], functools.partial(as_input, aval=where[1])
    return kind, where, None


def _took(name, seconds):
    """Note what lowering and compiling took."""
    monitoring.timed("lower", name, seconds[0])
    monitoring.timed("compile", name, seconds[1])


def _elsewhere_error(name, wanted):
    return errors.user_error(
        ValueError,
        f"jit({name}): the {wanted} engine runs on the first CPU device, and an argument "
        "or the option default_device says another device.",
        fix=f'leave `engine="{wanted}"` out: "auto" takes XLA where it has to.',
        anchor="engine",
    )


def _delete_donated(args, donated):
    for i in donated:
        if type(args[i]) is Array:
            args[i].delete()
