"""The options `dump_ir_to` and `dump_ir_modes`: programs in a folder, in several forms."""

import gzip

import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace import lax

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


@pytest.fixture
def modes(folder):
    """A function that chooses what is written, under JAX's name."""
    yield lambda modes: ev.config.update("jax_dump_ir_modes", modes)
    ev.config.update("jax_dump_ir_modes", "stablehlo")


def test_jaxprs_are_written_of_all_programs(folder, modes):
    modes("jaxpr,stablehlo")
    ev.jit(lambda x: x * 2)(jnp.ones(3))
    (file,) = folder.glob("*.jaxpr")  # and a text for XLA, where no tape can be
    assert "mul" in file.read_text()


def _fields(message):
    """Return the fields of a message of protocol buffers as (number, int or bytes)."""

    def varint():
        shift = total = 0
        while True:
            digit = next(digits)
            total |= (digit & 0x7F) << shift
            shift += 7
            if digit < 0x80:
                return total

    digits, found = iter(message), []
    for first in digits:
        number, kind = first >> 3, first & 7
        value = varint()
        found.append((number, value if kind == 0 else bytes(next(digits) for _ in range(value))))
    return found


def test_equations_are_counted_by_line(folder, modes):
    modes("eqn_count_pprof")

    def many(x):
        for _ in range(300):
            x = jnp.sin(x)
        return lax.cond(x.sum() > 0, jnp.cos, jnp.cos, x)

    ev.jit(many)(jnp.ones(3))
    (file,) = folder.iterdir()
    fields = _fields(gzip.decompress(file.read_bytes()))
    strings = [value.decode() for number, value in fields if number == 6]
    functions = {dict(f)[1]: strings[dict(f)[2]] for f in (_fields(v) for n, v in fields if n == 5)}
    lines = {
        dict(p)[1]: dict(_fields(dict(p)[4])) for p in (_fields(v) for n, v in fields if n == 4)
    }
    counts = {}
    for sample in (_fields(v) for n, v in fields if n == 2):
        (leaf, caller), (count,) = ([v for n, v in sample if n == k] for k in (1, 2))
        where = functions[lines[caller][1]], lines[caller][2] - many.__code__.co_firstlineno
        counts[functions[lines[leaf][1]], *where] = count
    assert counts["sin", "many", 2] == 300
    assert counts["cos", "many", 3] == 2
    assert (strings[0], many.__code__.co_filename in strings) == ("", True)


def test_a_form_that_is_not_there_is_named(modes):
    fix = "Fix: choose a value that is 'stablehlo' or 'jaxpr' or 'eqn_count_pprof'"
    said = rf"(?s)^config: option 'dump_ir_modes' cannot be 'jaxpr,hlo'\..*{fix}"
    with pytest.raises(ValueError, match=said):
        modes("jaxpr,hlo")


def test_nothing_is_written_without_the_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ev.jit(negated, engine="xla")(jnp.ones(5))
    assert list(tmp_path.rglob("*.mlir")) == []


def test_a_folder_that_cannot_be_written_fails_no_call(folder):
    folder.write_text("a file")
    with pytest.warns(RuntimeWarning, match=r"^dump_ir_to: .*\.mlir cannot be written: "):
        assert ev.jit(negated, engine="xla")(jnp.ones(6)).tolist() == [-1] * 6
