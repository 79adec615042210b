"""Machine code is kept on disk, checked before it is run, and freed with what it belongs to."""

import gc
import os
import platform
import struct
from pathlib import Path

import numpy as np
import pytest

import evertrace as ev
import evertrace.numpy as jnp
from evertrace._src import config, errors
from evertrace._src.engines import cache
from evertrace._src.engines.fused import groups, machine
from evertrace._src.engines.native import engine as native_engine
from evertrace._src.engines.native.engine import compile_jaxpr
from evertrace._src.lazy import load
from tests.engines.fused.programs import ON_MATRICES, assert_close, drawn
from tests.support.runtime import array

X = drawn((9, 37))


@pytest.fixture
def folder(tmp_path):
    """Keep kernels in a folder, of which nothing is known yet."""
    cache.reset()
    with config.override(compilation_cache_dir=str(tmp_path / "kernels")):
        yield tmp_path / "kernels"
    cache.reset()


def text_of(fun=ON_MATRICES["softmax"]):
    (kernel,) = groups.divided(ev.make_jaxpr(fun)(X).jaxpr, groups.of_several(2)).parts
    return kernel.text


def made():
    """Return the tape of a program, found anew."""
    fun = ON_MATRICES["softmax"]
    return compile_jaxpr(ev.make_jaxpr(lambda x: fun(x))(X).jaxpr, is_wanted=True, fuses=2).tape


def memory():
    """Return the bytes that this process has in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def counts():
    stats = cache.cache_stats()
    return stats.hits, stats.misses, stats.writes, stats.errors


def test_the_second_time_code_is_loaded(folder):
    first, second = made(), made()
    assert counts() == (1, 1, 1, 0)
    assert len(list(folder.iterdir())) == 1
    (a,), (b,) = first.run([array(X)]), second.run([array(X)])
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    assert_close(a, ON_MATRICES["softmax"](array(X)))


def test_a_damaged_entry_is_compiled_again(folder):
    made()
    (path,) = folder.iterdir()
    entry = bytearray(path.read_bytes())
    entry[-1] ^= 1
    path.write_bytes(bytes(entry))
    with pytest.warns(errors.CacheWarning, match="cannot be used .it is damaged. and is compiled"):
        (out,) = made().run([array(X)])
    assert_close(out, ON_MATRICES["softmax"](array(X)))
    assert counts() == (0, 2, 2, 1)


def test_an_entry_that_is_no_object_is_compiled_again(folder):
    text = text_of()
    cache.store(machine.key_of(text, machine.processor()), b"no object file", 1.0)
    with pytest.warns(errors.CacheWarning, match="LLVM rejects an entry"):
        machine.compiled(text)
    assert counts() == (1, 0, 2, 1)
    machine.compiled(text)
    assert counts()[0] == 2


def test_keys_tell_texts_and_processors_apart():
    one, other = text_of(), text_of(ON_MATRICES["log_sum_exp"])
    own = machine.processor()
    processors = [own, ("x86-64", ""), ("x86-64", "+avx2")]
    keys = {machine.key_of(text, p) for text in (one, other) for p in processors}
    assert len(keys) == 6
    assert machine.key_of(one, own) == machine.key_of(one, own)


def test_code_is_freed(folder):
    gc.collect()
    before, text = machine.alive(), text_of()
    for _ in range(50):
        assert machine.compiled(text).address
        assert machine.alive() == before
    codes = [machine.compiled(text) for _ in range(5)]
    assert machine.alive() == before + 5
    assert len({code.address for code in codes}) == 5
    codes.clear()
    assert machine.alive() == before


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_memory_does_not_grow_with_code_that_is_freed(folder):
    text = text_of()

    def grown(count):
        before = memory()
        for _ in range(count):
            machine.compiled(text)
        return memory() - before

    grown(3 * machine.LINKED)
    assert grown(10 * machine.LINKED) < 1 << 20


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of relocations are x86's")
def test_code_reaches_its_constants_wherever_memory_for_them_is_found():
    programs = {**ON_MATRICES, "trig": lambda x: jnp.tanh(jnp.sin(x)) + jnp.log1p(x * x)}
    kinds = {name: set() for name in programs}
    for name, fun in programs.items():
        parts = groups.divided(ev.make_jaxpr(fun)(X).jaxpr, groups.of_several(2)).parts
        for text in [part.text for part in parts if hasattr(part, "text")]:
            image = machine._emitted(text, machine.processor())
            for section in load("llvmlite.binding").ObjectFileRef.from_data(image).sections():
                if b".rela" in (section.name() or b""):
                    entries = struct.iter_unpack("<QQq", section.data())
                    kinds[name] |= {info & 0xFFFFFFFF for _, info, _ in entries}
    # R_X86_64_64 is a whole address; the others are distances of 32 bits.
    assert {name: found for name, found in kinds.items() if found - {1}} == {}
    assert kinds["trig"] == {1}


def test_what_llvm_refuses_is_said_once_and_explained(monkeypatch):
    def refuse(*_):
        raise RuntimeError("LLVM ERROR: no such thing\nand more")

    monkeypatch.setattr(machine, "compiled", refuse)
    monkeypatch.setattr(native_engine, "_is_warned", False)
    first = ev.jit(lambda x: jnp.exp(x) + jnp.sin(x) * 2, engine="fused")
    second = ev.jit(lambda x: jnp.exp(x) * jnp.cos(x) - 2, engine="fused")
    x = jnp.asarray(X)
    with pytest.warns(errors.PerformanceWarning, match=r"LLVM could not compile(.|\n)*fused-ker"):
        out = first(x)
    assert_close(out, jnp.exp(x) + jnp.sin(x) * 2)
    assert_close(second(x), jnp.exp(x) * jnp.cos(x) - 2)  # a second warning would fail the test
    for f in (first, second):
        words = "nothing is compiled together, for LLVM: LLVM ERROR: no such thing"
        assert words in str(f.explain())
        assert "and more" not in str(f.explain())
