"""The distribution `jax` of packages/jax-evertrace: what pip and Python believe of it."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import sysconfig
import tomllib

import pytest

from evertrace._src.api.alias import VERSION

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = ROOT / "packages" / "jax-evertrace"


def run(program):
    path = os.pathsep.join([str(PACKAGE / "src"), str(ROOT / "src")])
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_it_says_the_version_that_the_names_are_those_of():
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    assert project["name"] == "jax"
    assert project["version"] == f"{VERSION}+evertrace"


@pytest.mark.parametrize("first", ["import jax", "import jax.numpy", "from jax._src import core"])
def test_to_import_it_lends_the_names(first):
    program = f"{first}\nimport jax, evertrace; print(jax.__version__, jax.jit is evertrace.jit)"
    assert run(program) == f"{VERSION} True\n"


def test_to_import_it_loads_nothing():
    program = "import jax, sys; print({'numpy', 'jaxlib', 'scipy'} & set(sys.modules))"
    assert run(program) == "set()\n"


@pytest.fixture
def refuse(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("beside", PACKAGE / "beside.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.delenv("JAX_EVERTRACE_REPLACE", raising=False)
    return module.refuse_beside_jax


def test_it_is_refused_beside_the_real_jax(refuse, tmp_path, monkeypatch):
    (tmp_path / f"jax-{VERSION}.dist-info").mkdir()
    with pytest.raises(SystemExit, match=rf"jax-{VERSION} is installed.*\nFix: make an environmen"):
        refuse()
    monkeypatch.setenv("JAX_EVERTRACE_REPLACE", "1")
    refuse()


def test_it_replaces_itself(refuse, tmp_path):
    (tmp_path / f"jax-{VERSION}+evertrace.dist-info").mkdir()
    (tmp_path / "jaxtyping-0.3.dist-info").mkdir()
    refuse()
