"""What the tests of the XLA engine share: a device, a private cache folder, a clean process."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evertrace._src import config
from evertrace._src.engines.xla import client, executable

# Fails the process as soon as anything imports JAX, also if JAX is not installed.
NO_JAX_HOOK = """
import importlib.abc, sys
class RefuseJax(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] == "jax":
            print("imported", name, flush=True)
            import os; os._exit(3)
sys.meta_path.insert(0, RefuseJax())
"""


@dataclasses.dataclass
class Aval:
    """The least that the engine asks of the type of an output."""

    shape: tuple
    dtype: np.dtype
    weak_type: bool = False


@pytest.fixture
def device():
    return client.get_client("cpu").local_devices[0]


@pytest.fixture(autouse=True)
def cache_folder(tmp_path):
    """Keep the tests' programs out of the user's cache, and each test's from the next."""
    folder = tmp_path / "executables"
    with config.override(compilation_cache_dir=str(folder)):
        yield folder


@pytest.fixture
def compile_one(device):
    """Compile a program with one float32 output of a given shape."""

    def compile_one(text, shape=(4,), **kwargs):
        avals = [Aval(shape, np.dtype(np.float32))]
        return executable.compile_text(
            text, device=device, num_outputs=1, output_avals=avals, **kwargs
        )

    return compile_one


@pytest.fixture
def run_python(tmp_path):
    """Run a program in a process of its own that never imports JAX; returns what it printed."""

    def run_python(program, **environment):
        source = Path(client.__file__).parents[4]
        inherited = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "PJRT_NPROC")}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", NO_JAX_HOOK + program],
            env={
                **inherited,
                "PYTHONPATH": str(source),
                "EVERTRACE_COMPILATION_CACHE_DIR": str(tmp_path / "executables"),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stderr == ""
        return done.stdout.strip()

    return run_python
