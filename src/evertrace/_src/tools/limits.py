"""What this machine reaches at most: the two limits that a line of a profile is held against.

They are measured, not looked up: a product of two large matrices of float32 on all cores, and a
copy of an array that no cache holds, shared by as many threads; the best of several turns. That is
done once for a machine, and kept in the folder of the cache on disk.
"""

import functools
import hashlib
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from evertrace._src.engines import cache, cache_contents, runtime
from evertrace._src.engines.cache_folder import Folder
from evertrace._src.engines.xla import room

_SIDE = 1024  # of the matrices
_BYTES = 1 << 26  # that are copied: more than caches hold
_TURNS = 5
_LARGEST = 1000  # bytes of the file


class Limits(NamedTuple):
    """What the machine reaches: operations and bytes per second.

    Attributes:
      flops: operations on float32 per second, of a matrix product on all cores.
      bytes: that are read or written per second.
    """

    flops: float
    bytes: float

    def binding(self, flops: float, size: float) -> tuple[str, float]:
        """Return which limit holds work back, and the seconds that it takes at the least."""
        arithmetic, memory = flops / self.flops, size / self.bytes
        return ("arithmetic", arithmetic) if arithmetic > memory else ("memory", memory)


def of_this_machine() -> Limits | None:
    """Return the limits, measured if nobody has; None where an accelerator computes."""
    return _known(room.processors()) if runtime.computes_on_cpu() else None


@functools.cache
def _known(cores: int) -> Limits:
    key = hashlib.sha256(cache.environment_key() + str(cores).encode()).hexdigest()
    name = f"limits-{key[:16]}.json"
    try:
        path = cache_contents.location()
        folder = path and Folder(path)
    except (RuntimeError, ValueError, OSError):  # no home, or one that others can write to
        folder = None
    if folder is None:
        return measured(cores)
    with folder:
        known = _read(folder, name)
        if known is not None:
            return known
        found = measured(cores)
        try:
            folder.write(name, json.dumps(found._asdict()).encode())
        except OSError:  # a full disk: it is measured again
            return found
    return found


def _read(folder: Folder, name: str) -> Limits | None:
    """Return what a file says, or None where there is none or it is not what we have written."""
    try:
        said: Any = json.loads(folder.read(name, _LARGEST))
        found = Limits(**{name: float(value) for name, value in said.items()})
    except (AttributeError, ValueError, TypeError, OSError):
        return None
    return found if all(0 < value < float("inf") for value in found) else None


def measured(cores: int) -> Limits:
    """Measure the limits with so many threads, in about a second."""
    a = np.full((_SIDE, _SIDE), 0.5, np.float32)
    product = np.empty_like(a)
    source = np.zeros(_BYTES, np.uint8)
    source.fill(1)  # or the system has one page for all of it
    target = np.ones_like(source)
    parts = [*zip(np.array_split(source, cores), np.array_split(target, cores), strict=True)]
    with ThreadPoolExecutor(cores) as threads:
        copying = _fastest(lambda: [*threads.map(lambda part: np.copyto(part[1], part[0]), parts)])
    multiplying = _fastest(lambda: np.matmul(a, a, out=product))
    return Limits(2.0 * _SIDE**3 / multiplying, 2.0 * source.nbytes / copying)


def _fastest(call: Callable[[], object]) -> float:
    def once() -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return min(once() for _ in range(_TURNS))
