"""Processes on this machine, joined, that tests start, wait for and read from."""

import atexit
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

# XLA's collectives print to C's stdout, in pieces, from several threads: not into what is said.
APART = """
import os, sys
sys.stdout = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
"""

PRELUDE = f"""{APART}
import pathlib, signal, time
import numpy as np
import evertrace as ev, evertrace.numpy as jnp
from evertrace import lax
from evertrace.sharding import NamedSharding, PartitionSpec as P

rank, count, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
ev.config.update("num_cpu_devices", int(sys.argv[5]))
ev.distributed.initialize(address, count, rank)
mesh = ev.make_mesh((ev.device_count(),), ("i",))
rows, whole = NamedSharding(mesh, P("i")), NamedSharding(mesh, P())
a = ev.make_array_from_process_local_data(rows, np.arange(4, dtype=np.float32) + 4 * rank)
total = ev.jit(lambda a: a.sum(), out_shardings=whole)
assert float(total(a)) == sum(range(4 * count))
met = pathlib.Path(sys.argv[4])
(met / str(rank)).touch()
while len(os.listdir(met)) < count: time.sleep(0.01)  # before one of them ends
def text_of(fun, *args):
    try:
        return fun(*args)
    except Exception as error:
        return type(error).__name__ + ": " + str(error).split("\\n")[0]
def lost(seconds=8):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        text = text_of(lambda: float(total(a)))
        if type(text) is str:
            return text
        time.sleep(0.01)
"""


def free_address():
    """Return an address of this machine at which nobody listens."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


def start(code, count, address, devices=1):
    """Start processes, in which `rank` is the number of each."""
    met = tempfile.mkdtemp(prefix="evertrace-met-")
    atexit.register(shutil.rmtree, met)
    return Processes(
        Path(met),
        [
            subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    PRELUDE + code,
                    *map(str, (rank, count, address, met, devices)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(count)
        ],
    )


class Processes(list):
    """Processes that were started, and the folder `met` through which they are told things."""

    def __init__(self, met, started):
        super().__init__(started)
        self.met = met


def outcome(code, count=2, seconds=100, devices=1):
    """Run processes to their ends; returns their exit codes and what they printed."""
    processes = start(code, count, free_address(), devices)
    texts = [p.communicate(timeout=seconds) for p in processes]
    codes = [p.returncode for p in processes]
    assert codes[0] == 0, texts[0][1][-3000:]
    return codes, [out.removesuffix("\n") for out, _ in texts]
