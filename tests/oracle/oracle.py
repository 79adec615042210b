"""JAX as an oracle: runs cases in processes of its own, for the whole test session.

There is one process for each number of devices that cases ask for.

JAX shares state of jaxlib with whoever else uses it in a process, and evertrace has to work where
JAX is not installed; so the two never meet. Starting takes about a second, once a session, and
talking under 0.3 ms a call of `run`, next to the milliseconds that JAX takes for an operation it
has not compiled before.

The interpreter is ``$EVERTRACE_JAX_PYTHON``, or ``.venv-jax/bin/python`` in the repository, which
`.ci/run` makes. The version is that of ``requirements.txt``.
"""

import os
import pickle
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.oracle.cases import Case, Outcome

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "EVERTRACE_JAX_PYTHON"


def find_interpreter() -> str | None:
    """Return the Python that has JAX, or None where there is none.

    Raises:
      FileNotFoundError: the environment variable names a file that does not exist.
    """
    named = os.environ.get(VARIABLE)
    if named and not Path(named).exists():
        raise FileNotFoundError(f"{VARIABLE} is {named}, which does not exist")
    default = ROOT / ".venv-jax" / "bin" / "python"
    return named or (str(default) if default.exists() else None)


class Oracle:
    """A running JAX; as a context manager, ended at the end of the block."""

    def __init__(self, python: str) -> None:
        """Start it, and wait until JAX is there."""
        self._python = python
        self._processes = {1: _Process(python, 1)}
        self.version: str = self._processes[1].version

    def run(self, cases: Sequence[Case]) -> list[Outcome]:
        """Run cases, and return their outcomes in order."""
        outcomes: dict[int, Outcome] = {}
        for count in {case.devices for case in cases}:
            if count not in self._processes:
                self._processes[count] = _Process(self._python, count)
            places = [i for i, case in enumerate(cases) if case.devices == count]
            found = self._processes[count].run([cases[i] for i in places])
            outcomes.update(zip(places, found, strict=True))
        return [outcomes[i] for i in range(len(cases))]

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(self, *exc_info: object) -> None:
        for process in self._processes.values():
            process.close()


class _Process:
    """A process in which JAX has so many devices."""

    def __init__(self, python: str, devices: int) -> None:
        hidden = ("PYTHONPATH", "PYTHONHOME", "XLA_FLAGS")
        env = {name: value for name, value in os.environ.items() if name not in hidden}
        env["TF_CPP_MIN_LOG_LEVEL"] = "2"
        if devices > 1:
            env["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
            env["PJRT_NPROC"] = str(4 * devices)  # else collectives wait for threads
        self._process = subprocess.Popen(
            [python, "-m", "tests.oracle.worker"],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.version: str = self._receive("starting")

    def run(self, cases: Sequence[Case]) -> list[Outcome]:
        """Run cases in order, and return their outcomes."""
        assert self._process.stdin is not None
        pickle.dump(list(cases), self._process.stdin)
        self._process.stdin.flush()
        return [self._receive(str(case)) for case in cases]

    def _receive(self, doing: str) -> Any:
        assert self._process.stdout is not None
        try:
            return pickle.load(self._process.stdout)
        except EOFError:
            code = self._process.wait()
            raise RuntimeError(f"the JAX process ended with {code} while: {doing}") from None

    def close(self) -> None:
        """End it."""
        self._process.communicate()
