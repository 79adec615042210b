"""Ten thousand launches: ``python -m tests.sharding.soak``, alone or under `evertrace.launch -n 2`.

A divided program with a sum over all devices is launched again and again, up to a hundred ahead of
the last result that was read. Memory, after the first tenth, may not grow; nothing may hang: a
watchdog ends the process with the stacks of all threads.
"""

import argparse
import faulthandler
import pathlib
import time

import numpy as np

import evertrace as ev
from evertrace import lax
from evertrace.sharding import AxisType, NamedSharding
from evertrace.sharding import PartitionSpec as P

AHEAD = 100
MOST_MEGABYTES = 20  # by which memory may grow


def resident():
    """Return the size of this process in memory, in megabytes."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def main(count, seconds):
    """Launch so often; returns by how many megabytes the process has grown."""
    ev.distributed.initialize()
    if ev.process_count() == 1:
        ev.simulate_devices(8)
    faulthandler.dump_traceback_later(seconds, exit=True)
    devices = ev.device_count()
    mesh = ev.make_mesh((devices,), ("x",), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, P("x"))
    whole = np.arange(4 * devices, dtype=np.float32)
    x = ev.make_array_from_callback(whole.shape, rows, lambda index: whole[index])

    def step(x):
        total = ev.shard_map(
            lambda part: part + 1 + 0 * lax.psum(part.sum(), "x"),
            mesh=mesh,
            in_specs=P("x"),
            out_specs=P("x"),
        )
        return total(x)

    step = ev.jit(step, engine="spmd", donate_argnums=0)
    start = time.perf_counter()
    for i in range(count):
        x = step(x)
        if i % AHEAD == AHEAD - 1:
            x.block_until_ready()
        if i == count // 10:
            before = resident()
    for shard in x.addressable_shards:
        np.testing.assert_array_equal(shard.data, whole[shard.index] + count)
    took, grown = time.perf_counter() - start, resident() - before
    faulthandler.cancel_dump_traceback_later()
    who = f"process {ev.process_index()} of {ev.process_count()}, {devices} devices"
    memory = f"memory {before:.0f} MB, {grown:+.1f}"
    each = f"{1e6 * took / count:.0f} us each"
    print(f"{who}: {count} launches in {took:.1f} s, {each}, {memory}")
    assert grown < MOST_MEGABYTES
    return grown


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=1800, help="after which it is a hang")
    options = parser.parse_args()
    main(options.launches, options.seconds)
