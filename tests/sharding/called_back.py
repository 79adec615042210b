"""Runs programs that call Python functions back on eight virtual devices, every way they can run.

Run by `test_called_back.py` in a process of its own. Prints a line for each program: its name, and
by way how often its function was called with which shape, and whether the result is right.
"""

import faulthandler
import functools
import json
import threading

import numpy as np

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax
from evertrace.experimental import io_callback
from evertrace.sharding import AxisType, NamedSharding, SingleDeviceSharding
from evertrace.sharding import PartitionSpec as P

ev.config.update("num_cpu_devices", 8)
MESH = ev.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
X = ev.device_put(jnp.arange(32.0).reshape(8, 4), NamedSharding(MESH, P("x", "y")))

_shapes = []
_lock = threading.Lock()


def seen(*values):
    """Note the shapes; returns one more than the first value."""
    with _lock:
        _shapes.append([list(np.shape(v)) for v in values])
    return np.asarray(values[0]) + 1 if values else None


def pure(x, shape=None, **options):
    """Call `seen` by `pure_callback`."""
    result = ev.ShapeDtypeStruct(x.shape if shape is None else shape, x.dtype)
    return ev.pure_callback(seen, result, x, **options)


def io(x, **options):
    """Call `seen` by `io_callback`."""
    return io_callback(seen, ev.ShapeDtypeStruct(x.shape, x.dtype), x, **options)


def look(x, *values, **options):
    """Call `seen` by `debug.callback`; returns what is one more."""
    ev.debug.callback(seen, *values, **options)
    return x + 1


def mapped(f, out_specs=None, **options):
    """Return `shard_map` of a function over the whole mesh."""
    options = {"in_specs": P("x", "y"), "mesh": MESH, **options}
    return ev.shard_map(f, out_specs=P("x", "y") if out_specs is None else out_specs, **options)


rows = functools.partial(mapped, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})


def summed(x, names=("x", "y")):
    """Return what all devices along some axes have the same of."""
    return lax.psum(x, names)


PROGRAMS = {
    "pure": pure,
    "pure on a chosen device": lambda x: pure(x, sharding=SingleDeviceSharding(ev.devices()[3])),
    "pure of a batch": ev.vmap(lambda x: pure(x, vmap_method="sequential")),
    "pure of a whole batch": ev.vmap(lambda x: pure(x, vmap_method="expand_dims")),
    "io": io,
    "io in order": lambda x: io(io(x, ordered=True) - 1, ordered=True),
    "io in a loop": lambda x: 1 + lax.scan(lambda c, _: (io(c) - 1, None), x, None, length=3)[0],
    "debug": lambda x: look(x, x),
    "debug of a batch": ev.vmap(lambda x: look(x, x)),
    "debug under grad": ev.grad(lambda x: (look(x, x) + x**2 / 2).sum()),
    "pure of parts": mapped(pure),
    "io of parts": mapped(io),
    "io of parts in order": mapped(lambda x: io(x, ordered=True)),
    "io of parts in a loop": mapped(
        lambda x: 1 + lax.scan(lambda c, _: (io(c) - 1, None), x, None, length=3)[0]
    ),
    "debug of parts": mapped(lambda x: look(x, x)),
    "debug of nothing": mapped(look),
    "debug of what all share": mapped(lambda x: look(x, summed(x))),
    "debug of what some share": mapped(lambda x: look(x, summed(x, "y"), x)),
    "debug in a jit": mapped(ev.jit(look)),
    "debug of parts under grad": ev.grad(
        lambda x: mapped(lambda x: look(x, x) + x**2 / 2)(x).sum()
    ),
    "io of what all share": mapped(lambda x: x + 1 + 0 * io(summed(x))),
    "pure with a method": mapped(lambda x: pure(x, vmap_method="expand_dims")),
    "a batch within parts": mapped(ev.vmap(lambda x: pure(x, vmap_method="sequential"))),
    "a whole batch within parts": mapped(ev.vmap(lambda x: pure(x, vmap_method="expand_dims"))),
    "parts within a batch": lambda x: ev.vmap(
        mapped(lambda x: pure(x, vmap_method="sequential")), axis_size=3
    )(jnp.stack([x] * 3))[1],
    "keys": mapped(lambda x: look(x, ev.random.key_data(ev.random.key(3)))),
    "pure along one axis": rows(pure),
    "debug along one axis": rows(lambda x: look(x, x)),
    "debug of a whole that is divided": lambda x: look(x, x, partitioned=True),
}


def ways(function):
    """Yield (name, function) for each way to run it."""
    yield "at once", function
    yield "simulated", ev.jit(function)
    yield "divided", ev.jit(function, engine="spmd")


def main():
    """Run all programs."""
    faulthandler.dump_traceback_later(550, exit=True)  # what waits for ever holds the GIL
    for name, function in PROGRAMS.items():
        found = {}
        for way, run in ways(function):
            _shapes.clear()
            try:
                out = run(X)
                right = bool(np.array_equal(out, np.asarray(X) + 1))
                shapes = _shapes[0] if _shapes else None
                assert all(s == shapes for s in _shapes), _shapes
                found[way] = [len(_shapes), shapes, right]
            except Exception as error:
                found[way] = repr(error)
        print(json.dumps([name, found]), flush=True)


if __name__ == "__main__":
    main()
