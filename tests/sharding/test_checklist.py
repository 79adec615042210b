"""Each item of `tests/sharding/checklist.py` does what its program says, or has the test named."""

import contextlib
import functools
import io
import pathlib
import pickle

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax, random
from evertrace.experimental.layout import Format, Layout
from evertrace.sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding
from evertrace.sharding import PartitionSpec as P
from tests.sharding.checklist import TABLE

X = np.arange(64, dtype=np.float32).reshape(8, 8)
AUTO = (AxisType.Auto,) * 2
SPECS = [(), ("x",), ("y",), ("x", "y"), ("y", "x"), (("x", "y"),), (None, "x")]
TESTS = pathlib.Path(__file__).parents[1]
ITEMS = [(row, item) for row, items in TABLE.items() for item in items]


def same(found, wanted):
    """Whether an array has these elements."""
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    return True


def text(fun, lines=1):
    """Return the first lines of the error of a function."""
    with pytest.raises(Exception) as info:  # noqa: PT011
        fun()
    return f"{info.typename}: " + "\n".join(str(info.value).split("\n")[:lines])


def printed(fun):
    """Return what a function prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        ev.block_until_ready(fun())
        ev.effects_barrier()
    return out.getvalue()


def traces(calls):
    """Return how often a function is traced by some calls."""
    f = ev.jit(lambda a: a + 1)
    calls(f)
    return f.cache_info().misses


def with_ref(a):
    """Return an array and one, by a mutable one."""
    ref = ev.new_ref(a)
    ref[...] += 1
    return ref[...]


@ev.custom_jvp
def doubled(a):
    """Return twice an array, of which the derivative is said to be 10."""
    return 2 * a


doubled.defjvps(lambda t, out, a: 10 * t)


def computed_on_host(a):
    """Return an array and one."""
    with ev.experimental.compute_on.compute_on("device_host"):
        return a + 1


def colocated(fun):
    """Return a function that runs where its arguments are."""
    return ev.experimental.colocated_python.colocated_python(fun)


@pytest.fixture(scope="module")
def names():
    """The names of the programs."""
    with ev.simulate_devices(8):
        mesh = ev.make_mesh((4, 2), ("x", "y"), axis_types=AUTO)
        explicit = ev.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
        kinds = (AxisType.Explicit, AxisType.Auto)
        found = {**globals(), "mesh": mesh, "NS": NamedSharding, "SDS": SingleDeviceSharding}
        found |= {"jit": ev.jit, "partial": functools.partial, "SUM": X.reshape(4, 2, 8).sum(0)}
        found |= {"mixed": ev.make_mesh((4, 2), ("x", "y"), axis_types=kinds)}
        found |= {"half": Mesh(np.array(ev.devices()[4:]), ("z",))}
        found |= {"pickle": pickle, "lax": lax, "random": random}
        found |= {"Format": Format, "Layout": Layout}
        found["S"] = lambda *spec: NamedSharding(mesh, P(*spec))
        found["E"] = lambda *spec: NamedSharding(explicit, P(*spec))
        found["put"] = lambda *spec: ev.device_put(X, found["S"](*spec))
        found["exp"] = lambda *spec: ev.device_put(X, found["E"](*spec))
        found["constant"], found["other"] = found["put"]("x"), found["exp"]("y")
        found["one"], found["two"] = (ev.device_put(jnp.ones(3), d) for d in ev.devices()[1:3])
        found["spmd"] = functools.partial(ev.jit, engine="spmd")
        found["within"] = _within
        found["under"] = lambda fun: _within(ev.set_mesh(mesh), fun)
        found["abstractly"] = lambda fun: _within(
            ev.sharding.use_abstract_mesh(mesh.abstract_mesh), fun
        )
        found["on"] = lambda device, fun: _within(ev.default_device(device), fun)

        def mapped(fun, in_specs=None, out_specs=None, **options):
            given = {} if in_specs is None else {"in_specs": in_specs}
            return ev.shard_map(fun, mesh=mesh, out_specs=out_specs, **given, **options)

        found["sm"] = mapped

        def shown(fun):
            seen = []
            mapped(lambda a: (seen.append(fun(a)), a)[1], P("x"), P("x"), axis_names={"x"})(X)
            return seen[0]

        def shown_in_jit(fun):
            seen = []
            with ev.set_mesh(explicit):
                ev.jit(lambda a: (seen.append(fun(a)), a)[1])(found["exp"]("x"))
            return seen[0]

        found["shown"], found["shown_in_jit"] = shown, shown_in_jit
        yield found


def _within(context, fun):
    with context:
        return fun()


@pytest.mark.parametrize(("row", "item"), ITEMS, ids=[f"{row}: {item}" for row, item in ITEMS])
def test_there_is(names, row, item):
    what = TABLE[row][item]
    if "::test_" not in what:
        assert eval(what, names)
        return
    file, _, test = what.partition("::")
    assert f"def {test.partition('[')[0]}" in (TESTS / file).read_text()
