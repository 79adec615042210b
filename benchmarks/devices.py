"""Arrays over eight virtual devices, and two processes: microseconds, beside JAX's.

`--jax-python PATH` names an interpreter that has JAX. The same text runs in both, each in processes
of its own, in turns; what is shown are minima. Every program of JAX's starts on eight threads; ours
are *simulated*, one dense memory, unless `engine="spmd"` is asked for. `launch` is the time until
the call returns, the others until results are there. The MLP step is a spmd program on both
sides, and it is compiled twice, the second time by a process that finds it on the disk.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CASES = {
    "eager x[0]": "x[0]",
    "eager x + x": "x + x",
    "eager jnp.sum(x, 0)": "jnp.sum(x, 0)",
    "eager shard_map psum": "psum(x)",
    "with_sharding_constraint": "lax.with_sharding_constraint(x, rows)",
    "device_put 256 B": "ev.device_put(small, both)",
    "device_put 4 MB": "ev.device_put(large, rows)",
    "device_put 4 MB to all": "ev.device_put(large, whole)",
    "device_put 4 MB, rows to columns": "ev.device_put(big, columns)",
    "np.asarray 4 MB": "np.asarray(big)",
    "jit x * 2": "double(x)",
    "jit x * 2, launch": "double(x)  # launch",
    "jit x * 2, in_shardings": "placed(x)",
    "jit of a tree, in_shardings": "placed_tree(pair, 3.0)",
    "jit with a constraint": "constrained(x)",
    "jit shard_map psum": "summed(x)",
    "jit shard_map psum, launch": "summed(x)  # launch",
    "pmap psum": "mapped(parts)",
    "spmd x * 2": "divided(x)",
    "spmd x * 2, launch": "divided(x)  # launch",
    "spmd shard_map psum": "divided_sum(x)",
    "spmd shard_map psum, launch": "divided_sum(x)  # launch",
}

# What is new each time, so that nothing of it is known from the time before.
FRESH = {"np.asarray 4 MB": "big = wait(grown(big))"}

IMPORTS = """
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
wait = ev.block_until_ready
"""

EIGHT = """
ev.config.update("num_cpu_devices" if {ours} else "jax_num_cpu_devices", 8)
mesh = ev.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
both, rows, columns, whole = (
    NamedSharding(mesh, P(*axes)) for axes in (("x", "y"), ("x",), (None, "x"), ())
)
"""

SETUP = """
small = np.arange(64, dtype=np.float32).reshape(16, 4)
large = np.ones((1024, 1024), np.float32)
x = ev.device_put(small, both)
big = ev.device_put(large, rows)
grown = ev.jit(lambda x: x + 1)
double = ev.jit(lambda x: x * 2)
placed = ev.jit(lambda x: x * 2, in_shardings=both, out_shardings=both)
pair = dict(w=x, b=x)
placed_tree = ev.jit(
    lambda p, s: dict(w=p["w"] * s, b=p["b"]), in_shardings=(both, None), out_shardings=both
)
constrained = ev.jit(lambda x: lax.with_sharding_constraint(x * 2, rows))
total = lambda x: lax.psum(x, ("x", "y"))
psum = ev.shard_map(total, mesh=mesh, in_specs=P("x", "y"), out_specs=P())
summed = ev.jit(psum)
mapped = ev.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
parts = mapped(np.arange(32, dtype=np.float32).reshape(8, 4))
divided, divided_sum = ev.jit(lambda x: x * 2, **spmd), ev.jit(psum, **spmd)
"""

MLP = """
def loss(layers, x):
    for w, v in layers:
        x = x + jnp.tanh(x @ w) @ v
    return (x**2).mean()
def step(layers, x):
    value, grads = ev.value_and_grad(loss)(layers, x)
    return value, ev.tree.map(lambda p, g: p - 0.1 * g, layers, grads)
w = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32) / 64
halves = NamedSharding(mesh, P(None, "y")), NamedSharding(mesh, P("y"))
layers = [tuple(ev.device_put(w, s) for s in halves) for _ in range(4)]
batch = ev.device_put(np.ones((256, 256), np.float32), rows)
"""

TWO = """
import sys, time
address, rank, devices = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
begin = time.perf_counter()
ev.config.update("num_cpu_devices" if {ours} else "jax_num_cpu_devices", devices)
ev.distributed.initialize(address, 2, rank)
mesh = ev.make_mesh((ev.device_count(),), ("i",), axis_types=(AxisType.Auto,))
joined = time.perf_counter() - begin
shards = NamedSharding(mesh, P("i"))
x = ev.make_array_from_callback((8, 4), shards, lambda i: np.ones((8, 4), np.float32)[i])
f = ev.jit(ev.shard_map(lambda x: lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))
best = 9e9
for _ in range(100):
    begin = time.perf_counter()
    wait(f(x))
    best = min(best, time.perf_counter() - begin)
if rank == 0:
    print("RESULT", joined * 1e6, best * 1e6)
"""

BUDGET = 0.3  # seconds for each case


def measure_calls(names):
    """Yield (name, microseconds) of each case."""
    wait = names["wait"]
    for name, text in CASES.items():
        function = eval(f"lambda: {text.split('  #')[0]}", names)
        fresh = compile(FRESH.get(name, ""), name, "exec")
        for _ in range(4):
            wait(function())
        out, best, end = None, float("inf"), time.perf_counter() + BUDGET
        while time.perf_counter() < end:
            times = 1 if best > 1e-4 or name in FRESH else 100
            exec(fresh, names)
            begin = time.perf_counter()
            for _ in range(times):
                out = function()
                if "launch" not in text and name not in FRESH:
                    wait(out)
            best = min(best, (time.perf_counter() - begin) / times)
            wait(out)
        yield name, best * 1e6


def measure_mlp(names, suffix):
    """Yield (name, microseconds) of compiling and taking the step of an MLP."""
    exec(MLP, names)
    ev, args = names["ev"], (names["layers"], names["batch"])
    names["wait"](ev.jit(lambda x: x + 1, **names["spmd"])(args[1]))  # loads the compiler
    begin = time.perf_counter()
    lowered = ev.jit(names["step"], **names["spmd"]).lower(*args)
    lowered.as_text()
    yield f"MLP step, trace and lower{suffix}", (time.perf_counter() - begin) * 1e6
    begin = time.perf_counter()
    compiled = lowered.compile()
    yield f"MLP step, compile{suffix}", (time.perf_counter() - begin) * 1e6
    times = []
    for _ in range(12):
        begin = time.perf_counter()
        names["wait"](compiled(*args))
        times.append(time.perf_counter() - begin)
    yield "MLP step", min(times) * 1e6


def measure(ours, what):
    """Print a line of JSON for each case: its name and microseconds."""
    names: dict = {}
    exec((IMPORTS + EIGHT).format(ours=ours), names)
    if what == "calls":
        exec(SETUP, names)
        found = measure_calls(names)
    else:
        found = measure_mlp(names, "" if what == "mlp" else ", from the disk")
    for pair in found:
        print(json.dumps(pair), flush=True)


def environment(ours, cache):
    """Return the environment of a process that is measured."""
    source = Path(__file__).parent.parent / "src"
    env = {**os.environ, "PYTHONPATH": str(source) if ours else "", "PJRT_NPROC": "32"}
    if ours:
        return env | {"EVERTRACE_COMPILATION_CACHE_DIR": cache}
    always = {"MIN_COMPILE_TIME_SECS": "0", "MIN_ENTRY_SIZE_BYTES": "-1"}
    env |= {f"JAX_PERSISTENT_CACHE_{name}": value for name, value in always.items()}
    return env | {"JAX_COMPILATION_CACHE_DIR": cache}


def run(python, ours, what, cache):
    """Return the microseconds of cases, measured in a process of its own."""
    command = [python, __file__, "--measure", "ours" if ours else "jax", "--what", what]
    done = subprocess.run(
        command, env=environment(ours, cache), capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))


def run_two(python, ours, devices, cache):
    """Return the microseconds of joining two processes, and of a sum over them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    code = (IMPORTS + TWO).format(ours=ours)
    processes = [
        subprocess.Popen(
            [python, "-c", code, address, str(rank), str(devices)],
            env=environment(ours, cache),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [p.communicate(timeout=120) for p in processes]
    if any(p.returncode for p in processes):
        sys.exit("\n".join(error for _, error in said))
    (line,) = [line for line in said[0][0].splitlines() if line.startswith("RESULT")]
    joined, best = map(float, line.split()[1:])
    return {"2 processes, initialize": joined, f"2 processes of {devices}, psum": best}


def round_of(python, ours, cache):
    """Yield the microseconds of all cases, those of one process after the other."""
    yield run(python, ours, "calls", cache)
    yield run(python, ours, "mlp", cache)
    yield run(python, ours, "again", cache)
    for devices in (1, 2):
        yield run_two(python, ours, devices, cache)


def main():
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jax-python", help="an interpreter that has JAX")
    parser.add_argument("--rounds", type=int, default=2, help="how often all is measured")
    parser.add_argument("--measure", choices=("ours", "jax"), help=argparse.SUPPRESS)
    parser.add_argument("--what", choices=("calls", "mlp", "again"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure == "ours", options.what)
    sides = [(sys.executable, True), (options.jax_python, False)][: 1 + bool(options.jax_python)]
    best: list[dict] = [{}, {}]
    for _ in range(options.rounds):
        # A new folder each time: the first process of a round has to compile.
        with tempfile.TemporaryDirectory() as folder:
            turns = [round_of(*side, f"{folder}/{side[1]}") for side in sides]
            for stage in zip(*turns, strict=True):
                for known, found in zip(best, stage, strict=False):
                    known.update({k: min(v, known.get(k, v)) for k, v in found.items()})
    print(f"{'us':34} {'evertrace':>10} {'JAX':>10} {'ratio':>8}")
    for name, value in best[0].items():
        other = best[1].get(name)
        beside = "" if other is None else f" {other:10.1f} {value / other:8.4f}"
        print(f"{name:34} {value:10.2f}{beside}")
    if best[1]:
        disk, cold = best[0]["MLP step, compile, from the disk"], best[1]["MLP step, compile"]
        name = "ours from the disk / JAX compiling"
        print(f"{name:34} {disk:10.2f} {cold:10.1f} {disk / cold:8.4f}")
    return None


if __name__ == "__main__":
    main()
