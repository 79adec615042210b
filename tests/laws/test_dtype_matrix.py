"""No dtype ends the process, in no primitive: host and XLA compute each pair or refuse it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import evertrace

ROOT = Path(__file__).parents[2]


@pytest.mark.engine
@pytest.mark.slow
def test_every_primitive_takes_or_refuses_every_dtype():
    path = os.pathsep.join([str(Path(evertrace.__file__).parents[1]), str(ROOT)])
    ran = subprocess.run(
        [sys.executable, "-m", "tests.laws.dtype_matrix"],
        env={**os.environ, "PYTHONPATH": path}, cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0, f"the process ended in {lines[-1]}:\n{ran.stderr[-2000:]}"
    assert [line for line in lines if line.startswith("WRONG")] == []
    assert lines[-1] == "end"
    assert sum(line.startswith("row") for line in lines) > 200
