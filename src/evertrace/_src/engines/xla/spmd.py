"""The spmd engine: one program, divided among the devices of a mesh by XLA's partitioner.

The program is written once, with what is said of where arrays lie: its arguments as they come, the
constraints in it, its results as the factors of its operations say, so that they lie where those
of the simulated program do. XLA divides what is between, and adds what devices have to tell each
other.
"""

import collections
import time
from typing import Any, NamedTuple

from evertrace._src import errors
from evertrace._src.arrays.array import Array
from evertrace._src.control.custom_partitioning import shared_out
from evertrace._src.core.divisions import Axes, open_division
from evertrace._src.core.jaxpr import Literal, Var
from evertrace._src.core.propagation import divide_jaxpr
from evertrace._src.engines import memories
from evertrace._src.engines.inputs import host_input
from evertrace._src.engines.placing import (
    by_division,
    divide_program,
    lay_out_program,
    sharding_of,
)
from evertrace._src.engines.protocol import Offer
from evertrace._src.engines.xla import compat, spread
from evertrace._src.engines.xla.engine import Compiled
from evertrace._src.engines.xla.executable import obtain
from evertrace._src.engines.xla.launch import Calls, Partition
from evertrace._src.engines.xla.lower import Divided, lower_jaxpr
from evertrace._src.engines.xla.options import Options
from evertrace._src.engines.xla.spread import Spread, layout_of
from evertrace._src.ops.sharding_constraint import first_device, is_of_type, mesh_in
from evertrace._src.ops.structural import reduce_sum_p, reshape
from evertrace._src.transforms.staging import restage


class Place(NamedTuple):
    """What a program is compiled for: the devices, their mesh, and how its inputs are divided.

    Outputs, too, where somebody asks for them to be; see `divided_over`.
    """

    devices: tuple
    sizes: tuple
    inputs: tuple
    outputs: tuple | None = None

    def __str__(self):
        axes = ", ".join(f"{name}: {size}" for name, size in self.sizes)
        return f"{len(self.devices)} devices ({axes})"


class Partitioned:
    """A program that runs on all devices of the mesh over which its arguments are laid out.

    Where nothing is laid out it runs on one device.

    Attributes:
      seconds: what lowering and compiling took the last time, or None for both.
    """

    anywhere, places = True, True

    def __init__(self, jaxpr, request):
        self._jaxpr, self._request = jaxpr, request
        self._alone = Compiled(jaxpr, request)
        self._mesh = mesh_in(jaxpr)
        self._partitions: dict[Place, Any] = {}
        self._calls: dict[Any, Any] = {}  # what calls take whose arguments lie in some way
        self.seconds = None, None

    @property
    def executables(self):
        """What it was compiled for -> the compiled program."""
        return {**self._alone.executables, **self._partitions}

    def executable(self, device):
        """Return the program compiled for one device."""
        return self._alone.executable(device)

    def run(self, args):
        """Run once; returns one array for each output."""
        shardings = tuple([sharding_of(x) for x in args])
        found = self._call(shardings)
        if found is None:
            outs = self._alone.run(args)
            lay_out_program(outs, divide_program(self._jaxpr, shardings, self._mesh))
            return outs
        partition, device, given = found
        inputs = [
            _spread(x, aval, layout)
            for x, (aval, layout) in zip(args, partition.inputs, strict=True)
        ]
        for i in self._request.donated:
            if [x.raw for x in inputs].count(inputs[i].raw) > 1:
                aval, layout = partition.inputs[i]
                inputs[i] = spread.put(spread.to_host(inputs[i]), aval, layout)
        pairs = zip(partition.run(inputs), given, strict=True)
        return [_array(x, sharding, device) for x, sharding in pairs]

    def _call(self, shardings):
        """Return what runs on arguments that lie so, and the device and shardings of the results.

        None where nothing is laid out over a mesh.
        """
        if shardings not in self._calls:
            self._calls[shardings] = self._new_call(shardings)
        return self._calls[shardings]

    def _new_call(self, shardings):
        like = next((s for s in shardings if s is not None), self._mesh)
        if like is None or not like.axis_sizes():  # nothing that could be divided
            return None
        avals = [v.aval for v in self._jaxpr.invars]
        divisions = [_division(s, a, like) for s, a in zip(shardings, avals, strict=True)]
        partition, known = self.compiled_over(like, tuple(divisions)), by_division(shardings, avals)
        given = [known.get(d) or like.divided(d) for d in partition.divisions]
        given = map(memories.in_memory, given, memories.of_results(self._jaxpr, shardings))
        return partition, first_device(like), list(given)

    def compiled_over(self, like, divisions, outputs=None):
        """Return the `Partition` for the mesh of a sharding and so divided arguments; kept."""
        sizes = tuple(like.axis_sizes().items())
        place = Place(like.device_list(), sizes, divisions, outputs)
        return self._partitions.get(place) or self._compile(place, like)

    def _compile(self, place, like):
        """Return the program compiled for a place; kept."""
        name, donated = self._request.name, self._request.donated
        start = time.perf_counter()
        jaxpr, divided = divided_over(self._jaxpr, like, place.inputs, place.outputs)
        outputs: Any = divided.outputs
        platform = place.devices[0].platform
        text, handlers = lower_jaxpr(jaxpr, name, donated, platform, divided=divided)
        calls = Calls(handlers) if handlers else None
        lowered = time.perf_counter()
        flags = tuple(dict(self._request.options).items())
        options = Options(flags, num_partitions=len(place.devices))
        is_kept, called = like.is_fully_addressable, calls.guarded if calls else ()
        raw, _, _ = obtain(text, place.devices, options, called, is_kept)
        self.seconds = lowered - start, time.perf_counter() - lowered
        self._request.took(name, self.seconds)
        takes, gives = [
            [(x.aval, layout_of(like, d)) for x, d in zip(atoms, divisions, strict=True)]
            for atoms, divisions in ((jaxpr.invars, place.inputs), (jaxpr.outvars, outputs))
        ]
        _check_divisions(name, raw, takes, gives)
        found = self._partitions[place] = Partition(raw, name, text, takes, gives, donated, calls)
        found.divisions = outputs
        return found

    def flat(self):
        """Return what C++ runs it with: itself."""
        counts = len(self._jaxpr.invars), len(self._jaxpr.outvars)
        return "python", (self.run, *counts), None

    def flat_over(self, shardings):
        """Return what C++ starts for inputs that lie so; None where that is `flat` as well."""
        call = self._call(tuple(shardings))
        if call is None:
            return None
        partition, device, given = call
        flat = partition.flat()
        return None if flat is None else (self.flat()[1], *flat, Spread, device, tuple(given))


def offer(jaxpr, request):
    """Offer to run a jaxpr without constvars; see `engines.protocol`."""
    return Offer(Partitioned(jaxpr, request), "that is asked for")


def divided_over(jaxpr, like, inputs, asked=None):
    """Return a program as the devices of a mesh take it, and the `Divided` that says how.

    Args:
      jaxpr: the program.
      like: a sharding over the mesh, of whose devices nothing is said if it has none.
      inputs: divisions of the arguments.
      asked: those that results are to have, None for what follows from the program.
    """
    axes = Axes(like.axis_sizes(), like.axis_sizes().explicit, like.mesh)
    devices = () if is_of_type(like) else like.device_list()
    made = _joined_sums(shared_out(jaxpr, inputs, like.mesh))
    outputs = divide_jaxpr(made, inputs, axes)
    pairs = zip(asked or outputs, outputs, strict=True)
    outputs = tuple([d if wanted is None else wanted for wanted, d in pairs])
    return made, Divided(tuple(axes.items()), tuple(inputs), outputs, devices)


def _joined_sums(jaxpr):
    """Return a program in which the sum of a sum, as over two axes of a mesh, is one.

    The partitioner makes a message to all devices of each dimension, and joins none: so it is one
    over dimensions that are merged, which a device's part of is its part of both.
    """
    uses = collections.Counter(x for eqn in jaxpr.eqns for x in eqn.invars if type(x) is Var)
    uses.update([x for x in jaxpr.outvars if type(x) is Var])
    made = {e.outvars[0]: e for e in jaxpr.eqns if e.primitive is reduce_sum_p}
    inner = {}
    for eqn in made.values():
        first = made.get(eqn.invars[0])
        axes = None if first is None else (first.params["axes"], eqn.params["axes"])
        if axes == ((1,), (0,)) and uses[eqn.invars[0]] == 1:
            inner[eqn.outvars[0]] = first
    if not inner:
        return jaxpr
    joined = set(map(id, inner.values()))

    def run(*args):
        env = dict(zip(jaxpr.invars, args, strict=True))
        for eqn in [eqn for eqn in jaxpr.eqns if id(eqn) not in joined]:
            first = inner.get(eqn.outvars[0]) if eqn.outvars else None
            if first is not None:
                x = env[first.invars[0]]
                m, n, *rest = x.aval.shape
                operands = [reshape(x, (m * n, *rest))]
            else:
                operands = [x if type(x) is Literal else env[x] for x in eqn.invars]
            outs = eqn.primitive.bind(*operands, **eqn.params)
            outs = outs if eqn.primitive.multiple_results else [outs]
            env.update(zip(eqn.outvars, outs, strict=True))
        return [x if type(x) is Literal else env[x] for x in jaxpr.outvars]

    return restage(run, [v.aval for v in jaxpr.invars])


def _division(sharding, aval, like):
    """Return how an argument is divided over the mesh of another; others are copied to all."""
    if sharding is None or sharding.axis_sizes() != like.axis_sizes():
        return open_division(aval)
    return sharding.division(aval.ndim)


def _spread(x, aval, layout):
    """Return the parts of an argument, which an array that is laid out so keeps."""
    if type(x) is not Array:
        return spread.put(host_input(x, aval), aval, layout)
    found = x._buffer
    if type(found) is Spread and found.layout is layout:
        return found
    made = spread.put(x._contents(), x.aval, layout)
    sharding = sharding_of(x)
    if sharding is not None and layout_of(sharding, sharding.division(aval.ndim)) is layout:
        x._buffer = made
    return made


def _array(found, sharding, device):
    """Return the array of parts, laid out over a mesh."""
    out = Array(found.aval, None, found, device, True)
    out._sharding = sharding
    return out


def _check_divisions(name, raw, inputs, outputs):
    """Raise if XLA has divided an argument or a result otherwise than it was told."""
    found = compat.parameter_shardings(raw), compat.output_shardings(raw)
    for kind, wanted, got in zip(("argument", "result"), (inputs, outputs), found, strict=True):
        for i, ((aval, layout), sharding) in enumerate(zip(wanted, got, strict=False)):
            rank = len(spread.memory_of(aval).shape)
            if aval.size and sharding != spread.hlo_sharding(layout, rank):
                raise errors.user_error(
                    RuntimeError,
                    f"jit({name}): XLA divides {kind} {i}, {aval.str_short()}, as {sharding}, and "
                    f"{layout.division} was asked for.",
                    fix='leave `engine="spmd"` out, and report this with the program.',
                    anchor="engine",
                )
