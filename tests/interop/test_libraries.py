"""Libraries that were written for JAX or for the array API standard, each in a process of its own.

``scripts/environment`` installs those that would bring JAX along without what they depend on (see
``requirements.txt``).
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import evertrace

PROGRAMS = pathlib.Path(__file__).parent / "programs"
SOURCES = str(pathlib.Path(evertrace.__file__).parents[1])

EINOPS = [f"einops.tests.test_{part}" for part in ("ops", "einsum", "packing", "examples", "other")]

# Tests of array_api_compat that do not hold here, or cannot:
ARRAY_API_COMPAT = [
    "array_api_compat.tests",
    "-kjax and not ("
    "test_jax_backwards_compat"  # starts a Python that knows no `as_jax`
    " or test_numpy_dependency"  # runs in a checkout of array_api_compat only
    " or is_jax_namespace-jax.numpy"  # asks whether the module's own name is `jax.numpy`
    " or test_jax_zero_gradient"  # returns float0 arrays from vmap, which evertrace refuses
    ")",
]

CASES = [
    ("optax", "optax_regression.py", []),
    ("jaxopt", "jaxopt_minima.py", []),
    ("einops", "own_tests.py", EINOPS),
    ("array_api_compat", "own_tests.py", ARRAY_API_COMPAT),
    ("scipy", "scipy_arrays.py", []),
    ("scipy", "scipy_arrays.py", ["as_jax"]),
    ("sklearn", "sklearn_arrays.py", []),
]


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(("library", "program", "arguments"), CASES)
def test_library_works(library, program, arguments, tmp_path):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed; scripts/environment does it")
    environment = {
        **os.environ,
        "PYTHONPATH": SOURCES,
        "SCIPY_ARRAY_API": "1",
        "EINOPS_TEST_BACKENDS": "jax",
        "PYTHONWARNINGS": "",
        "PYTEST_ADDOPTS": "",
    }
    done = subprocess.run(
        [sys.executable, PROGRAMS / program, *arguments],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
