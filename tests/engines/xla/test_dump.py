"""The option `dump_ir_to`: the text of each program that XLA gets, in a folder."""

import pytest

import evertrace as ev
import evertrace.numpy as jnp

pytestmark = pytest.mark.engine


@pytest.fixture
def folder(tmp_path):
    """A folder that is not there yet, as the option, under JAX's name."""
    folder = tmp_path / "ir"
    ev.config.update("jax_dump_ir_to", str(folder))
    yield folder
    ev.config.update("jax_dump_ir_to", "")


def negated(x):
    return -x


def test_programs_are_written(folder):
    ev.jit(negated, engine="xla")(jnp.ones(3))
    ev.jit(negated, engine="xla")(jnp.ones(4))
    files = sorted(folder.iterdir())
    assert len(files) == 2
    assert all(file.name.endswith("_negated.mlir") for file in files)
    assert ["tensor<3xf32>" in file.read_text() for file in files] == [True, False]


def test_nothing_is_written_without_the_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ev.jit(negated, engine="xla")(jnp.ones(5))
    assert list(tmp_path.rglob("*.mlir")) == []


def test_a_folder_that_cannot_be_written_fails_no_call(folder):
    folder.write_text("a file")
    with pytest.warns(RuntimeWarning, match=r"^dump_ir_to: .*\.mlir cannot be written: "):
        assert ev.jit(negated, engine="xla")(jnp.ones(6)).tolist() == [-1] * 6
