"""What users get wrong about devices: at each entry point, an error that says what, where, and how.

The tables name entry points and kinds of mistakes; what only processes can get wrong is in
`test_joining.py`, and the arguments of the launcher in `test_launch.py`.
"""

import functools
import re

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import mesh_utils
from evertrace.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    SingleDeviceSharding,
    reshard,
)
from evertrace.sharding import PartitionSpec as P

X = np.ones((8, 4), np.float32)
UNEVEN = np.ones((6, 4), np.float32)
TREE = {"b": X, "w": X}


@pytest.fixture(scope="module", autouse=True)
def devices():
    with ev.simulate_devices(8):
        yield ev.devices()


def mesh(kind=AxisType.Auto):
    return ev.make_mesh((4, 2), ("x", "y"), axis_types=(kind,) * 2)


def named(*spec, over=None):
    return NamedSharding(over or mesh(), P(*spec))


def four():
    return Mesh(np.array(ev.devices()[:4]), ("x",))


def double(x):
    return x * 2


def refused(make, error, text):
    """Check the class and the first line of an error, that it has a repair, and the user's line."""
    with pytest.raises(error) as caught:
        make()
    what, *others = str(caught.value).split("\n")
    assert what == text
    assert re.search(r"test_bad_input\.py:\d+", "\n".join(others))
    assert any(line.startswith("  Fix: ") for line in others)


# ------------------------------------------------------------------- shardings and specs


def explicitly(f):
    """Return the function of a spec, called under an explicit mesh."""

    @functools.wraps(f)
    def called(*args):
        with ev.set_mesh(mesh(AxisType.Explicit)):
            return f(*args)

    return called


def parts_of(x):
    return [ev.device_put(x[:1], d) for d in ev.devices()]


def mapped_to(spec, x):
    f = (lambda v: v[None, 0, :6]) if x is UNEVEN else double
    options = {"mesh": mesh(), "in_specs": P(), "check_vma": False}
    return ev.shard_map(f, out_specs=spec, **options)(x)


# name: (what is given a sharding and an array, how it is called in errors)
ENTRIES = {
    "device_put": (lambda s, x: ev.device_put(x, s), "device_put"),
    "device_put in jit": (lambda s, x: ev.jit(lambda v: ev.device_put(v, s))(x), "device_put"),
    "jit in_shardings": (
        lambda s, x: ev.jit(double, in_shardings=s)(x),
        "jit(double) in_shardings",
    ),
    "jit out_shardings": (
        lambda s, x: ev.jit(double, out_shardings=s)(x),
        "jit(double) out_shardings",
    ),
    "lower": (
        lambda s, x: ev.jit(double, in_shardings=s).lower(x),
        "jit(double) in_shardings",
    ),
    "ShapeDtypeStruct": (
        lambda s, x: ev.jit(double).lower(ev.ShapeDtypeStruct(x.shape, x.dtype, sharding=s)),
        "jit(double) in_shardings",
    ),
    "with_sharding_constraint": (
        lambda s, x: lax.with_sharding_constraint(x, s),
        "with_sharding_constraint",
    ),
    "with_sharding_constraint in jit": (
        lambda s, x: ev.jit(lambda v: lax.with_sharding_constraint(v, s))(x),
        "with_sharding_constraint",
    ),
    "make_array_from_callback": (
        lambda s, x: ev.make_array_from_callback(x.shape, s, lambda i: x[i]),
        "make_array_from_callback",
    ),
    "make_array_from_single_device_arrays": (
        lambda s, x: ev.make_array_from_single_device_arrays(x.shape, s, parts_of(x)),
        "make_array_from_single_device_arrays",
    ),
    "make_array_from_process_local_data": (
        lambda s, x: ev.make_array_from_process_local_data(s, x),
        "make_array_from_process_local_data",
    ),
    "zeros": (lambda s, x: jnp.zeros(x.shape, device=s), "device_put"),
}
# ... a spec for the explicit mesh in force, and an array
OF_SPECS = {
    "reshard": (explicitly(lambda s, x: reshard(x, s)), "reshard"),
    "reshard in jit": (explicitly(lambda s, x: ev.jit(lambda v: reshard(v, s))(x)), "reshard"),
    "einsum": (
        explicitly(lambda s, x: jnp.einsum("ij->ij", x, out_sharding=s)),
        "einsum",
    ),
    "ones": (explicitly(lambda s, x: jnp.ones(x.shape, out_sharding=s)), "ones"),
    "shard_map in_specs": (
        lambda s, x: ev.shard_map(double, mesh=mesh(), in_specs=s, out_specs=P())(x),
        "shard_map(double) in_specs",
    ),
    "shard_map out_specs": (mapped_to, "shard_map(double) out_specs"),
}

# kind: (spec, array, error class, its text at most entry points)
KINDS = {
    "indivisible": (
        ("x",),
        UNEVEN,
        "{where}: P('x',) divides dimension 0 of an array of shape (6, 4) into 4 parts, and its "
        "size 6 is no multiple of that.",
    ),
    "axis name": (
        ("z",),
        X,
        "{maker}: P('z',) names the axis 'z', which is not among the axes ('x', 'y') of the mesh.",
    ),
    "axis twice": (
        ("x", "x"),
        X,
        "{maker}: P('x', 'x') names the axis 'x' 2 times: an axis of the mesh divides one "
        "dimension at most.",
    ),
    "rank": (
        (None, None, "x"),
        X,
        "{where}: P(None, None, 'x') has 3 entries, one for each dimension, and the array of "
        "shape (8, 4) has 2 dimensions.",
    ),
}
# (kind, entry point): what is said there instead
TEXTS = {
    ("indivisible", "make_array_from_process_local_data"): "make_array_from_process_local_data: "
    "data of shape (6, 4) are 4 parts in dimension 0, and its size 6 is no multiple of that.",
    ("rank", "shard_map out_specs"): "shard_map(double): out_specs has P(None, None, 'x'), with 3 "
    "entries, for result 0, whose parts have 2 dimensions.",
}
# Each part is as large as it is, so all sizes divide.
MEANINGLESS = {("indivisible", "shard_map out_specs")}


@pytest.mark.parametrize("entry", [*ENTRIES, *OF_SPECS])
@pytest.mark.parametrize("kind", KINDS)
def test_shardings_that_do_not_fit(kind, entry):
    if (kind, entry) in MEANINGLESS:
        return
    call, where = {**ENTRIES, **OF_SPECS}[entry]
    spec, x, text = KINDS[kind]
    maker = where if entry.startswith("shard_map") else "NamedSharding"
    text = TEXTS.get((kind, entry), text.format(where=where, maker=maker))
    given = (lambda: named(*spec)) if entry in ENTRIES else (lambda: P(*spec))
    refused(lambda: call(given(), x), ValueError, text)


SPECS_ALONE = [name for name in ENTRIES if name not in ("lower", "zeros")]


@pytest.mark.parametrize("entry", SPECS_ALONE)
def test_a_spec_without_a_mesh(entry):
    call, where = ENTRIES[entry]
    where = "ShapeDtypeStruct" if entry == "ShapeDtypeStruct" else where
    text = f"{where}: a PartitionSpec alone needs a mesh, and none is in force."
    refused(lambda: call(P("x"), X), ValueError, text)


# Entry points that take devices as well say so.
NO_DEVICE = {"device_put", "device_put in jit", "zeros", "jit in_shardings", "jit out_shardings"}
NO_DEVICE |= {"lower"}


@pytest.mark.parametrize("entry", [*ENTRIES, *OF_SPECS])
@pytest.mark.parametrize("given", ["cuda:0", 9])
def test_what_is_no_sharding(entry, given):
    call, where = {**ENTRIES, **OF_SPECS}[entry]
    if entry.startswith("shard_map"):
        name, argument = where.split(" ")
        text = f"{name}: {argument} must hold PartitionSpecs, got {type(given).__name__}."
    elif entry in NO_DEVICE:
        text = f"{where.partition('(')[0]}: {given!r} is no device."
    else:
        where = "ShapeDtypeStruct" if entry == "ShapeDtypeStruct" else where
        text = f"{where}: an array is laid out by a sharding, got {given!r}."
    refused(lambda: call(given, X), TypeError, text)


# ------------------------------------------------------------------- trees

OTHER = {"c": P(), "w": P()}


def shardings():
    return {name: named() for name in OTHER}


# entry: (call, how it is named, where in the value)
TREES = {
    "device_put": (lambda: ev.device_put(TREE, shardings()), "device_put device", "the root"),
    "device_put in jit": (
        lambda: ev.jit(lambda t: ev.device_put(t, shardings()))(TREE),
        "device_put device",
        "the root",
    ),
    "jit in_shardings": (
        lambda: ev.jit(double, in_shardings=(shardings(),))(TREE),
        "jit(double) in_shardings",
        "[0][0]",
    ),
    "jit out_shardings": (
        lambda: ev.jit(lambda t: t, out_shardings=shardings())(TREE),
        "jit(<lambda>) out_shardings",
        "the root",
    ),
    "with_sharding_constraint": (
        lambda: lax.with_sharding_constraint(TREE, shardings()),
        "with_sharding_constraint shardings",
        "the root",
    ),
    "reshard": (lambda: reshard(TREE, shardings()), "reshard out_shardings", "the root"),
    "make_array_from_process_local_data": (
        lambda: ev.make_array_from_process_local_data(shardings(), TREE),
        "make_array_from_process_local_data sharding",
        "the root",
    ),
    "shard_map in_specs": (
        lambda: ev.shard_map(double, mesh=mesh(), in_specs=(OTHER,), out_specs=P())(TREE),
        "shard_map(double) in_specs",
        "[0]",
    ),
    "shard_map out_specs": (
        lambda: ev.shard_map(lambda t: t, mesh=mesh(), in_specs=P(), out_specs=OTHER)(TREE),
        "shard_map(<lambda>) out_specs",
        "the root",
    ),
}


@pytest.mark.parametrize("entry", TREES)
def test_other_trees(entry):
    call, name, at = TREES[entry]
    text = (
        f"{name} is not a tree prefix of the value at {at}: it has a node of type dict with keys "
        "['c', 'w'], the value a node of type dict with keys ['b', 'w'] (keys not in both: "
        "['c', 'b'])."
    )
    refused(call, ValueError, text)


def test_another_number_of_arguments():
    text = "{} is not a tree prefix of the value at {}: it has a tuple of length 2, the value a "
    text += "tuple of length 1."
    refused(
        lambda: ev.jit(double, in_shardings=(named(), named()))(X),
        ValueError,
        text.format("jit(double) in_shardings", "[0]"),
    )
    refused(
        lambda: ev.shard_map(double, mesh=mesh(), in_specs=(P(), P()), out_specs=P())(X),
        ValueError,
        text.format("shard_map(double) in_specs", "the root"),
    )


# ------------------------------------------------------------------- meshes

# name: (call, error class, text)
MESHES = {
    "too few devices": (
        lambda: ev.make_mesh((16,), ("x",)),
        ValueError,
        "make_mesh: axes of sizes (16,) need 16 devices, and there are 8.",
    ),
    "too few of those given": (
        lambda: ev.make_mesh((4, 2), ("x", "y"), devices=ev.devices()[:4]),
        ValueError,
        "make_mesh: axes of sizes (4, 2) need 8 devices, and there are 4.",
    ),
    "an empty axis": (
        lambda: ev.make_mesh((4, 0), ("x", "y")),
        ValueError,
        "make_mesh: axes of sizes (4, 0), and each has to be at least 1.",
    ),
    "a negative size": (
        lambda: ev.make_mesh((-1,), ("x",)),
        ValueError,
        "make_mesh: axes of sizes (-1,), and each has to be at least 1.",
    ),
    "fewer names": (
        lambda: ev.make_mesh((4, 2), ("x",)),
        ValueError,
        "Mesh: 1 axis names ('x',) for 2 axes of sizes (4, 2).",
    ),
    "a name twice": (
        lambda: ev.make_mesh((4, 2), ("x", "x")),
        ValueError,
        "Mesh: axis names must be distinct and not None, got ('x', 'x').",
    ),
    "fewer types": (
        lambda: ev.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,)),
        ValueError,
        "Mesh: 1 axis types for 2 axes.",
    ),
    "a grid of another rank": (
        lambda: Mesh(np.array(ev.devices()), ("x", "y")),
        ValueError,
        "Mesh: 2 axis names ('x', 'y') for 1 axes of sizes (8,).",
    ),
    "no devices": (
        lambda: Mesh([], ("x",)),
        ValueError,
        "Mesh: no devices for axes of sizes (0,).",
    ),
    "a device twice": (
        lambda: Mesh([*ev.devices()[:2], ev.devices()[0]], ("x",)),
        ValueError,
        "Mesh: the device cpu:0 is in the grid of sizes (3,) more than once.",
    ),
    "an abstract mesh of fewer names": (
        lambda: AbstractMesh((4, 2), ("x",)),
        ValueError,
        "AbstractMesh: 1 axis names ('x',) for 2 axes of sizes (4, 2).",
    ),
    "an abstract mesh for devices": (
        lambda: ev.device_put(X, NamedSharding(AbstractMesh((4,), ("x",)), P("x"))),
        ValueError,
        "AbstractMesh: an abstract mesh has no devices.",
    ),
    "create_device_mesh": (
        lambda: mesh_utils.create_device_mesh((3,)),
        ValueError,
        "create_device_mesh: axes of sizes (3,) need 3 devices, and there are 8.",
    ),
    "no mesh": (
        lambda: ev.set_mesh("x"),
        ValueError,
        "set_mesh: expected Mesh or None, got str.",
    ),
    "no mesh for shard_map": (
        lambda: ev.shard_map(double, in_specs=P(), out_specs=P())(X),
        ValueError,
        "shard_map(double): there is no mesh, neither passed nor in force.",
    ),
    "fewer parts than devices": (
        lambda: ev.make_array_from_single_device_arrays((8, 4), named("x"), parts_of(X)[:4]),
        ValueError,
        "make_array_from_single_device_arrays: 4 arrays for the 8 devices of the sharding.",
    ),
    "pmap": (
        lambda: ev.pmap(double)(np.ones((9, 2))),
        ValueError,
        "pmap(double): the mapped axis has size 9, and there are 8 devices.",
    ),
}


@pytest.mark.parametrize("name", MESHES)
def test_meshes_of_wrong_size(name):
    refused(*MESHES[name])


# ------------------------------------------------------------------- two meshes, two devices

EIGHT, FOUR = "8 devices, cpu:0 to cpu:7", "4 devices, cpu:0 to cpu:3"


def on_eight(spec="x"):
    return ev.device_put(X, named(spec))


def on_four():
    return ev.device_put(X, named("x", over=four()))


def on_device(number):
    return ev.device_put(X, ev.devices()[number])


def pinned():
    one = SingleDeviceSharding(ev.devices()[0], memory_kind="pinned_host")
    return ev.device_put(X, one)


def add(a, b):
    return a + b


def adds_state(a):
    return a + STATE["w"]


STATE: dict = {}


def with_state():
    STATE["w"] = on_four()
    return ev.jit(adds_state)(on_eight())


def nested():
    def of_part(x):
        return ev.shard_map(double, mesh=four(), in_specs=P("x"), out_specs=P("x"))(x)

    return ev.shard_map(of_part, mesh=mesh(), in_specs=P("y"), out_specs=P("y"))(X)


MOVED = f"arrays that are committed to {EIGHT} are to be laid out over {FOUR}, "
MOVED += "NamedSharding(mesh=Mesh('x': 4, axis_types=(Auto,)), spec=P('x',), memory_kind=device)."

TWO = {
    "eager": (
        lambda: add(on_eight(), on_four()),
        f"add: operand 0 is committed to {EIGHT}, operand 1 to {FOUR}.",
    ),
    "eager, devices": (
        lambda: add(on_device(1), on_device(2)),
        "add: operand 0 is committed to cpu:1, operand 1 to cpu:2.",
    ),
    "eager, another order": (
        lambda: add(
            on_eight(),
            ev.device_put(X, named("x", over=Mesh(ev.devices()[::-1], ("x",)))),
        ),
        f"add: operand 0 is committed to {EIGHT}, operand 1 to 8 devices, cpu:7 to cpu:0.",
    ),
    "stack": (
        lambda: jnp.stack([on_eight(), on_four()]),
        f"stack: operand 0 is committed to {EIGHT}, operand 1 to {FOUR}.",
    ),
    "grad": (
        lambda: ev.grad(lambda a, b: (a * b).sum())(on_eight(), on_four()),
        f"mul: operand 0 is committed to {EIGHT}, operand 1 to {FOUR}.",
    ),
    "jit": (
        lambda: ev.jit(add)(on_eight(), on_four()),
        f"jit(add): a is committed to {EIGHT}, b to {FOUR}.",
    ),
    "jit of trees": (
        lambda: ev.jit(lambda t, c: t["w"] + c)({"w": on_four()}, on_eight()),
        f"jit(<lambda>): t['w'] is committed to {FOUR}, c to {EIGHT}.",
    ),
    "jit, devices": (
        lambda: ev.jit(add)(on_device(1), on_device(2)),
        "jit(add): a is committed to cpu:1, b to cpu:2.",
    ),
    "jit, state": (
        with_state,
        f"jit(adds_state): global STATE['w'] is committed to {FOUR}, a to {EIGHT}.",
    ),
    "in_shardings": (
        lambda: ev.jit(add, in_shardings=(named("x"), named("x", over=four())))(X, X),
        f"jit(add): a is committed to {EIGHT}, b to {FOUR}.",
    ),
    "in_shardings, another spec": (
        lambda: ev.jit(double, in_shardings=named("y"))(on_eight()),
        "jit(double) in_shardings: x of shape (8, 4) is committed to P('x',), and P('y',) was "
        "asked for.",
    ),
    "in_shardings, another mesh": (
        lambda: ev.jit(double, in_shardings=named("x", over=four()))(on_eight()),
        "jit(double) in_shardings: x of shape (8, 4) is committed to NamedSharding(mesh=Mesh('x': "
        "4, 'y': 2, axis_types=(Auto, Auto)), spec=P('x',), memory_kind=device), and "
        "NamedSharding(mesh=Mesh('x': 4, axis_types=(Auto,)), spec=P('x',), memory_kind=device) "
        "was asked for.",
    ),
    "in_shardings, another memory": (
        lambda: ev.jit(double, in_shardings=SingleDeviceSharding(ev.devices()[0]))(pinned()),
        "jit(double): x is in memory 'pinned_host', and the ordinary one of cpu:0 was asked for.",
    ),
    "in_shardings, one device": (
        lambda: ev.jit(double, in_shardings=SingleDeviceSharding(ev.devices()[1]))(on_eight()),
        f"jit(double): arrays that are committed to {EIGHT} are to be laid out over cpu:1, "
        "SingleDeviceSharding(device=CpuDevice(id=1), memory_kind=device).",
    ),
    "out_shardings": (
        lambda: ev.jit(double, out_shardings=named("x", over=four()))(on_eight()),
        f"jit(double): {MOVED}",
    ),
    "in and out": (
        lambda: ev.jit(double, in_shardings=named("x"), out_shardings=named("x", over=four()))(X),
        f"jit(double): {MOVED}",
    ),
    "in and out, ahead of time": (
        lambda: (
            ev.jit(double, in_shardings=named("x"), out_shardings=named("x", over=four()))
            .lower(X)
            .compile()
        ),
        f"jit(double): {MOVED}",
    ),
    "with_sharding_constraint": (
        lambda: lax.with_sharding_constraint(on_eight(), named("x", over=four())),
        f"with_sharding_constraint: {MOVED}",
    ),
    "with_sharding_constraint in jit": (
        lambda: ev.jit(lambda x: lax.with_sharding_constraint(x, named("x", over=four())))(
            on_eight()
        ),
        f"jit(<lambda>): {MOVED}",
    ),
    "shard_map": (
        lambda: ev.shard_map(double, mesh=four(), in_specs=P("x"), out_specs=P("x"))(on_eight()),
        "shard_map(double): " + MOVED.replace("P('x',)", "P()"),
    ),
    "shard_map in shard_map": (
        nested,
        "shard_map(double): it maps over Mesh('x': 4, axis_types=(Auto,)) in a function of parts "
        "of Mesh('x': 4, 'y': 2, axis_types=(Manual, Manual)).",
    ),
    "parts elsewhere": (
        lambda: ev.make_array_from_single_device_arrays(
            (8, 4), named("x", over=four()), parts_of(X)[4:]
        ),
        "make_array_from_single_device_arrays: the arrays lie on cpu:4, cpu:5, cpu:6, cpu:7, and "
        "the sharding is over cpu:0, cpu:1, cpu:2, cpu:3.",
    ),
}


@pytest.mark.parametrize("name", TWO)
def test_two_meshes(name):
    make, text = TWO[name]
    refused(make, ValueError, text)


# ------------------------------------------------------------------- a device that is not there

UNKNOWN = "Unknown backend cuda: the available platforms are cpu."


def under(device):
    with ev.default_device(device):
        return jnp.ones(3) + 1


ABSENT = {
    "devices": (lambda: ev.devices("cuda"), RuntimeError, UNKNOWN),
    "device_count": (lambda: ev.device_count("cuda"), RuntimeError, UNKNOWN),
    "jit backend": (lambda: ev.jit(double, backend="cuda")(X), RuntimeError, UNKNOWN),
    "default_device": (lambda: under("cuda"), RuntimeError, UNKNOWN),
    "default_device, a number": (lambda: under(9), TypeError, "default_device: 9 is no device."),
    "jit device": (
        lambda: ev.jit(double, device="cuda:0")(X),
        TypeError,
        "jit: 'cuda:0' is no device.",
    ),
    "SingleDeviceSharding": (
        lambda: SingleDeviceSharding("cuda:0"),
        TypeError,
        "SingleDeviceSharding: 'cuda:0' is no device.",
    ),
    "Mesh": (lambda: Mesh(["cuda:0"], ("x",)), TypeError, "Mesh: 'cuda:0' is no device."),
    "make_mesh": (
        lambda: ev.make_mesh((1,), ("x",), devices=["cuda:0"]),
        TypeError,
        "Mesh: 'cuda:0' is no device.",
    ),
    "pmap": (
        lambda: ev.pmap(double, devices=["cuda:0"])(X[:1]),
        TypeError,
        "pmap(double): 'cuda:0' is no device.",
    ),
    "local_devices": (
        lambda: ev.local_devices(process_index=3),
        ValueError,
        "local_devices: there is no process 3 with devices of the platform cpu.",
    ),
    "memory": (
        lambda: NamedSharding(mesh(), P(), memory_kind="hbm"),
        ValueError,
        "memory_kind: there is no memory 'hbm'.",
    ),
}


@pytest.mark.parametrize("name", ABSENT)
def test_a_device_that_is_not_there(name):
    refused(*ABSENT[name])


def test_a_platform_stands_for_its_first_device():
    with ev.default_device("cpu"):
        assert (jnp.ones(3) + 1).devices() == {ev.devices()[0]}
