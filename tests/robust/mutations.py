"""Mutated entries of the cache and mutated exported programs: none is taken for one of ours."""

import hashlib
import random
import tempfile
import warnings
from pathlib import Path

from evertrace import export
from evertrace._src import config
from evertrace._src.engines import cache
from evertrace._src.export import container
from tests.robust import test_cache_folder, test_export_bytes


def run(number, seed, progress):
    """Mutate entries and programs, half each; returns what was wrong."""
    rng, half = random.Random(seed), number // 2
    wrong = _mutate_entries(half, rng, progress)
    return wrong + _mutate_programs(number - half, rng, lambda n: progress(half + n))


def _mutate_entries(number, rng, progress):
    wrong, key, code = [], test_cache_folder.KEY, test_cache_folder.CODE
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with config.override(compilation_cache_dir=folder):
            cache.store(key, code, 1.0)
            entry = Path(folder) / cache._name(key)
            good = entry.read_bytes()
            for i in range(number):
                bad = test_cache_folder.mutated(rng, good)
                entry.unlink()
                entry.write_bytes(bad)
                found = cache.load(key)
                if found is not None and (found != code or bad != good):
                    wrong.append(f"entry {i} was taken")
                progress(i + 1)
    return wrong


def _mutate_programs(number, rng, progress):
    """Mutate bytes as they are, and descriptions under a right digest."""
    wrong = []
    blob = bytes(test_export_bytes.exported().serialize(vjp_order=1))
    description, programs = container.unpack(blob)
    written = set(map(_digest, programs))
    for i in range(number):
        if i % 2:
            bad = container.pack(test_export_bytes.mutated(rng, description), programs)
        else:
            bad = bytearray(blob)
            for _ in range(rng.randrange(1, 9)):
                bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        try:
            export.deserialize(bytes(bad))
        except ValueError as error:
            if not str(error).startswith("deserialize: "):
                wrong.append(f"program {i}: {error}")
        except Exception as error:
            wrong.append(f"program {i}: {type(error).__name__}: {error}")
        else:  # its programs are those that were written
            if not written.issuperset(map(_digest, container.unpack(bytes(bad))[1])):
                wrong.append(f"program {i} was taken")
        progress(i + 1)
    return wrong


def _digest(data):
    return hashlib.sha256(data).digest()
