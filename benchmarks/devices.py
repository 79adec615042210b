"""Arrays over eight virtual devices: microseconds, beside JAX's with `--jax-python PATH`.

The same text runs in both, each in a process of its own. Every program of JAX's starts on eight
threads; ours are *simulated*, one dense memory, unless `engine="spmd"` is asked for. `launch` is
the time until the call returns, the others until results are there.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

CASES = {
    "eager x[0]": "x[0]",
    "eager x + x": "x + x",
    "eager jnp.sum(x, 0)": "jnp.sum(x, 0)",
    "with_sharding_constraint": "lax.with_sharding_constraint(x, rows)",
    "device_put 256 B": "ev.device_put(small, both)",
    "device_put 4 MB": "ev.device_put(large, rows)",
    "np.asarray 4 MB": "np.asarray(fresh())",
    "jit x * 2": "double(x)",
    "jit x * 2, in_shardings": "placed(x)",
    "jit with a constraint": "constrained(x)",
    "jit shard_map psum": "summed(x)",
    "spmd x * 2": "divided(x)",
    "spmd x * 2, launch": "divided(x)  # launch",
    "spmd shard_map psum": "divided_sum(x)",
}

SETUP = """
import numpy as np
if {ours}:
    import evertrace as ev, evertrace.numpy as jnp
    from evertrace import lax
    from evertrace.sharding import AxisType, NamedSharding, PartitionSpec as P
    spmd = dict(engine="spmd")
else:
    import jax as ev, jax.numpy as jnp
    from jax import lax
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
    spmd = dict()
ev.config.update("num_cpu_devices" if {ours} else "jax_num_cpu_devices", 8)
mesh = ev.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
both, rows = NamedSharding(mesh, P("x", "y")), NamedSharding(mesh, P("x"))
small = np.arange(64, dtype=np.float32).reshape(16, 4)
large = np.ones((1024, 1024), np.float32)
x = ev.device_put(small, both)
big = ev.device_put(large, rows)
grown = ev.jit(lambda x: x + 1)
def fresh():
    global big
    out = big
    big = grown(big)
    ev.block_until_ready(big)
    return out
double = ev.jit(lambda x: x * 2)
placed = ev.jit(lambda x: x * 2, in_shardings=both, out_shardings=both)
constrained = ev.jit(lambda x: lax.with_sharding_constraint(x * 2, rows))
total = lambda x: lax.psum(x, ("x", "y"))
psum = ev.shard_map(total, mesh=mesh, in_specs=P("x", "y"), out_specs=P())
summed = ev.jit(psum)
divided, divided_sum = ev.jit(lambda x: x * 2, **spmd), ev.jit(psum, **spmd)
"""

BUDGET = 0.6  # seconds for each case


def measure(ours):
    """Print a line of JSON for each case: its name and microseconds."""
    names: dict = {}
    exec(SETUP.format(ours=ours), names)
    wait = names["ev"].block_until_ready
    for name, text in CASES.items():
        function = eval(f"lambda: {text.split('  #')[0]}", names)
        for _ in range(4):
            wait(function())
        out, best, end = None, float("inf"), time.perf_counter() + BUDGET
        while time.perf_counter() < end:
            times = 1 if best > 1e-4 else 100
            begin = time.perf_counter()
            for _ in range(times):
                out = function()
                if "launch" not in text and not name.startswith("np"):
                    wait(out)
            best = min(best, (time.perf_counter() - begin) / times)
            wait(out)
        print(json.dumps([name, best * 1e6]), flush=True)


def run(python, ours):
    """Return the microseconds of all cases, measured in a process of its own."""
    source = Path(__file__).parent.parent / "src"
    env = {**os.environ, "PYTHONPATH": str(source) if ours else "", "PJRT_NPROC": "32"}
    command = [python, __file__, "--measure", "ours" if ours else "jax"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return dict(json.loads(line) for line in done.stdout.splitlines())


def main():
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jax-python", help="an interpreter that has JAX")
    parser.add_argument("--measure", choices=("ours", "jax"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure == "ours")
    ours = run(sys.executable, True)
    theirs = run(options.jax_python, False) if options.jax_python else {}
    print(f"{'us':28} {'evertrace':>10} {'JAX':>10} {'ratio':>8}")
    for name, value in ours.items():
        other = theirs.get(name)
        beside = "" if other is None else f" {other:10.1f} {value / other:8.4f}"
        print(f"{name:28} {value:10.2f}{beside}")
    return None


if __name__ == "__main__":
    main()
