"""The cache of executables on disk: what is shared, what is refused, what is removed."""

import hashlib
import os
import stat
import sys

import numpy as np
import pytest

from evertrace._src import config, errors
from evertrace._src.engines import cache
from evertrace._src.engines.xla import buffers, executable
from evertrace._src.engines.xla.options import Options

ADD = """func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
KEY = hashlib.sha256(b"a program").digest()
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")


@pytest.fixture(autouse=True)
def fresh_state(monkeypatch):
    """Forget what earlier tests did to the module's memory."""
    monkeypatch.setattr(cache, "_stats", cache.CacheStats())
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.setattr(cache, "_sizes", {})


def test_second_compilation_loads(compile_one, cache_folder):
    first, second = compile_one(ADD), compile_one(ADD)
    assert (first.from_cache, second.from_cache) == (False, True)
    assert cache.cache_stats() == cache.CacheStats(hits=1, misses=1, writes=1)
    (out,) = second.run([np.ones(4, np.float32), np.arange(4, dtype=np.float32)])
    np.testing.assert_array_equal(buffers.to_host(out), [1, 2, 3, 4])


def test_loaded_program_can_be_inspected(compile_one):
    compile_one(ADD)
    loaded = compile_one(ADD)
    assert "add" in loaded.text()
    assert loaded.cost_analysis()["flops"] == 4
    assert loaded.memory_analysis().argument_size_in_bytes == 32


def test_another_process_loads(run_python):
    program = f"""
import numpy as np
from evertrace._src.engines.xla import buffers, client, executable
class Aval:
    shape, dtype, weak_type = (4,), np.dtype(np.float32), False
done = executable.compile_text(
    {ADD!r}, device=client.devices("cpu")[-1], num_outputs=1, output_avals=[Aval])
x = np.ones(4, np.float32)
print(done.from_cache, done.device, buffers.to_host(done.run([x, x])[0]))
"""
    assert run_python(program) == "False cpu:0 [2. 2. 2. 2.]"
    assert run_python(program) == "True cpu:0 [2. 2. 2. 2.]"
    # The same entry serves another device of the same kind.
    two = {"EVERTRACE_NUM_CPU_DEVICES": "2"}
    assert run_python(program, **two) == "True cpu:1 [2. 2. 2. 2.]"


def test_key_tells_programs_options_and_flags_apart(device, monkeypatch):
    def key(text=ADD, **options):
        return executable.program_key(text, Options(**options).key("cpu"), device)

    keys = [
        key(),
        key(ADD + "\n"),
        key(quick=True),
        key(num_partitions=2),
        key(compiler_options={"xla_cpu_enable_fast_math": True}),
        key(compiler_options={"xla_cpu_enable_fast_math": False}),
    ]
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    keys.append(key())
    assert len(set(keys)) == len(keys)
    monkeypatch.delenv("XLA_FLAGS")
    assert key() == keys[0]


def test_key_does_not_depend_on_the_order_of_options(device):
    flags = {"xla_cpu_enable_fast_math": True, "xla_cpu_prefer_vector_width": 512}
    backwards = dict(reversed(flags.items()))
    assert Options(flags) == Options(backwards)
    assert Options(flags).key("cpu") == Options(backwards).key("cpu")


def test_store_then_load(cache_folder):
    cache.store(KEY, b"machine code" * 100, 1.0)
    assert cache.load(KEY) == b"machine code" * 100
    assert [path.name for path in cache_folder.iterdir()] == [f"{KEY.hex()}.xla"]


def flip_a_bit(entry):
    return entry[:-1] + bytes([entry[-1] ^ 1])


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda entry: b"", "truncated"),
        (lambda entry: entry[:20], "truncated"),
        (lambda entry: entry[:-3], "damaged"),
        (flip_a_bit, "damaged"),
        (lambda entry: entry + b"x", "damaged"),
        (lambda entry: b"other" + entry, "another format"),
        (lambda entry: entry[:8] + bytes(32) + entry[40:], "another format or program"),
    ],
    ids=["empty", "header only", "short", "bit flip", "long", "foreign", "renamed"],
)
def test_unsound_entry_means_recompile(compile_one, cache_folder, damage, reason):
    compile_one(ADD)
    (path,) = cache_folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(errors.CacheWarning, match=reason):
        again = compile_one(ADD)
    assert not again.from_cache
    assert compile_one(ADD).from_cache  # the sound entry took its place
    assert cache.cache_stats().errors == 1


def test_entry_that_xla_rejects_means_recompile(compile_one, cache_folder):
    compile_one(ADD)
    (path,) = cache_folder.iterdir()
    path.write_bytes(cache._encode(b"no executable", bytes.fromhex(path.stem)))
    with pytest.warns(errors.CacheWarning, match="XLA rejects"):
        assert not compile_one(ADD).from_cache
    assert compile_one(ADD).from_cache


def test_warns_once(cache_folder):
    cache.store(KEY, b"x", 1.0)
    (path,) = cache_folder.iterdir()
    path.write_bytes(b"junk")
    with pytest.warns(errors.CacheWarning):
        cache.load(KEY)
    assert cache.load(KEY) is None  # a second warning would be an error here
    assert cache.cache_stats().errors == 2


@posix
def test_folder_is_made_for_the_user_alone(cache_folder):
    cache.store(KEY, b"x", 1.0)
    (path,) = cache_folder.iterdir()
    assert stat.S_IMODE(cache_folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_folder_that_others_can_write_to_is_refused(cache_folder, mode):
    cache_folder.mkdir()
    cache_folder.chmod(mode)
    with pytest.warns(errors.CacheWarning, match="others can write"):
        cache.store(KEY, b"x", 1.0)
    assert cache.load(KEY) is None
    assert list(cache_folder.iterdir()) == []


@posix
def test_folder_of_another_user_is_refused(cache_folder, monkeypatch):
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.warns(errors.CacheWarning, match="another user"):
        assert cache.load(KEY) is None


def test_folder_that_cannot_be_made_warns_and_compiles(compile_one, tmp_path):
    file = tmp_path / "file"
    file.touch()
    with config.override(compilation_cache_dir=str(file / "below")):
        with pytest.warns(errors.CacheWarning, match="cannot be made"):
            assert not compile_one(ADD).from_cache
        assert not compile_one(ADD).from_cache


def test_default_folder_that_cannot_be_made_is_silently_off(monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(cache, "default_folder", lambda: file / "below")
    with config.override(compilation_cache_dir=None):
        cache.store(KEY, b"x", 1.0)
        assert cache.load(KEY) is None
    assert cache.cache_stats() == cache.CacheStats()


@pytest.mark.parametrize(
    "off", [{"compilation_cache_dir": ""}, {"enable_compilation_cache": False}]
)
def test_switched_off(cache_folder, off):
    with config.override(**off):
        cache.store(KEY, b"x", 1.0)
        assert cache.load(KEY) is None
    assert not cache_folder.exists()


def test_thresholds(cache_folder):
    with config.override(compilation_cache_min_compile_seconds=2.0):
        cache.store(KEY, b"x", 1.0)
    with config.override(compilation_cache_min_entry_bytes=2):
        cache.store(KEY, b"x", 1.0)
    assert cache.load(KEY) is None


def test_least_recently_used_entries_go_first(cache_folder):
    rng = np.random.default_rng(0)
    keys = [hashlib.sha256(bytes([i])).digest() for i in range(5)]
    with config.override(compilation_cache_max_bytes=4500):
        for age, key in enumerate(keys[:4]):
            cache.store(key, rng.bytes(1000), 1.0)
            os.utime(cache_folder / cache._name(key), (age, age))
        assert cache.load(keys[0]) is not None  # now the one used last
        cache.store(keys[4], rng.bytes(1000), 1.0)
        kept = [key for key in keys if cache.load(key) is not None]
    assert kept == [keys[0], keys[3], keys[4]]
    total = sum(path.stat().st_size for path in cache_folder.iterdir())
    assert total <= 4500


def test_size_is_unbounded_on_request(cache_folder):
    with config.override(compilation_cache_max_bytes=-1):
        for i in range(3):
            cache.store(hashlib.sha256(bytes([i])).digest(), b"x", 1.0)
    assert len(list(cache_folder.iterdir())) == 3


@pytest.mark.parametrize(
    ("system", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/evertrace/xla"),
        ("linux", {"HOME": "/home/me"}, "/home/me/.cache/evertrace/xla"),
        ("linux", {"HOME": "/home/me", "XDG_CACHE_HOME": "x"}, "/home/me/.cache/evertrace/xla"),
        ("darwin", {"HOME": "/Users/me"}, "/Users/me/Library/Caches/evertrace/xla"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/evertrace/xla"),
    ],
)
@posix
def test_default_folder(monkeypatch, system, variables, expected):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", system)
    assert str(cache.default_folder()) == expected
