"""The on-disk cache of compiled programs, so that a second process need not compile them again.

The idea: an entry is a file named by a digest of everything that the machine code depends on: the
program, the options, the versions, the device and the host's processor. Nothing in XLA stops code
for one processor from being loaded on another, so the key has to. An entry is code that will be
run, so only a folder is used that belongs to the user and that nobody else can write to. Entries
are written beside their place and renamed into it; a file that is not exactly what was once
written counts as absent. Whatever goes wrong costs a compilation and one warning, never an error.

An entry is a header (magic, key, length, digest of the body) and the compressed executable. The
entries used longest ago are removed when the folder grows too large.
"""

import contextlib
import dataclasses
import functools
import hashlib
import os
import platform
import stat
import struct
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evertrace._src import config, errors
from evertrace._src.engines.xla import compat
from evertrace._src.engines.xla.client import Device
from evertrace._src.lazy import LazyModule

tempfile: Any = LazyModule("tempfile")

_MAGIC = b"EVTXLA01"  # the last two digits are the version of this format
_HEADER = struct.Struct("<8s32sQ32s")
_SUFFIX = ".xla"
_EVICT_TO = 0.8  # part of the bound that is kept, so that not every write has to evict


@dataclasses.dataclass
class CacheStats:
    """What the cache did in this process: counts of programs."""

    hits: int = 0
    misses: int = 0
    writes: int = 0
    errors: int = 0


_stats = CacheStats()
_warned: set[str] = set()
_lock = threading.Lock()
_sizes: dict[Path, int] = {}  # bytes in each folder, as last counted plus what was written since


def cache_stats() -> CacheStats:
    """Return a copy of the counters of this process."""
    with _lock:
        return dataclasses.replace(_stats)


def reset() -> None:
    """Forget what is known of folders, which warnings were given, and the counts."""
    global _stats
    _checked_folder.cache_clear()
    with _lock:
        _stats = CacheStats()
        _warned.clear()
        _sizes.clear()


def program_key(text: str, options_key: bytes, device: Device) -> bytes:
    """Return the digest that names a program's entry; equal only where the code may be shared.

    Args:
      text: the StableHLO text.
      options_key: `Options.key` of the options it is compiled with.
      device: a device of the kind that will run it.
    """
    digest = hashlib.sha256(_environment_key())
    parts = (options_key, device.client.platform_version.encode(), device.device_kind.encode())
    for part in (*parts, os.environ.get("XLA_FLAGS", "").encode(), text.encode()):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def load(key: bytes) -> bytes | None:
    """Return the serialised executable of a key, or None if there is no sound entry."""
    folder = _folder()
    if folder is None:
        return None
    path = _path(folder, key)
    try:
        body = _decode(path.read_bytes(), key)
        os.utime(path)  # the time of last use, by which entries are evicted
    except FileNotFoundError:
        _count("misses")
        return None
    except (OSError, ValueError, zlib.error) as error:
        _count("misses")
        _failed("read", f"the entry {path} cannot be used ({error}) and is compiled again")
        return None
    _count("hits")
    return body


def store(key: bytes, executable: bytes, compile_seconds: float) -> None:
    """Keep a serialised executable for other processes, if the configuration lets us."""
    folder = _folder()
    current = config.current()
    if folder is None or compile_seconds < current.compilation_cache_min_compile_seconds:
        return
    if len(executable) < current.compilation_cache_min_entry_bytes:
        return
    entry = _encode(executable, key)
    try:
        _write(_path(folder, key), entry)
        _count("writes")
        _bound_size(folder, len(entry), current.compilation_cache_max_bytes)
    except OSError as error:
        _failed("write", f"no entry can be written to {folder} ({error})")


def discard(key: bytes, reason: str) -> None:
    """Remove an entry that was read well but that XLA does not accept."""
    folder = _folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            _path(folder, key).unlink()
        _failed("load", f"XLA rejects an entry ({reason}), which is compiled again")


def _encode(executable: bytes, key: bytes) -> bytes:
    """Return the file of an entry."""
    body = zlib.compress(executable, 1)
    return _HEADER.pack(_MAGIC, key, len(body), hashlib.sha256(body).digest()) + body


def _decode(entry: bytes, key: bytes) -> bytes:
    """Return the executable of an entry's file; ValueError if it is not whole and of this key."""
    if len(entry) < _HEADER.size:
        raise ValueError("it is truncated")
    magic, entry_key, length, digest = _HEADER.unpack_from(entry)
    body = entry[_HEADER.size :]
    if magic != _MAGIC or entry_key != key:
        raise ValueError("it is of another format or program")
    if len(body) != length or hashlib.sha256(body).digest() != digest:
        raise ValueError("it is damaged")
    return zlib.decompress(body)


def _path(folder: Path, key: bytes) -> Path:
    """Return the place of an entry."""
    return folder / (key.hex() + _SUFFIX)


def _write(path: Path, entry: bytes) -> None:
    """Write a file so that others see all of it or nothing."""
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(entry)
        os.replace(name, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _bound_size(folder: Path, added: int, bound: int) -> None:
    """Remove the entries used longest ago if the folder has grown past `bound` bytes."""
    if bound < 0:
        return
    with _lock:
        known = _sizes.get(folder)
        _sizes[folder] = sum(s for _, s, _ in _entries(folder)) if known is None else known + added
        if _sizes[folder] <= bound:
            return
        entries = sorted(_entries(folder))
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= bound * _EVICT_TO:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
                total -= size
        _sizes[folder] = total


def _entries(folder: Path) -> Iterator[tuple[float, int, str]]:
    """Yield (time of last use, bytes, path) of each entry; others may remove some meanwhile."""
    with os.scandir(folder) as files:
        for file in files:
            if file.name.endswith((_SUFFIX, ".tmp")):
                with contextlib.suppress(OSError):
                    info = file.stat()
                    yield info.st_mtime, info.st_size, file.path


def _folder() -> Path | None:
    """The folder in use, or None if the cache is off."""
    current = config.current()
    if not current.enable_compilation_cache or current.compilation_cache_dir == "":
        return None
    return _checked_folder(current.compilation_cache_dir)


@functools.lru_cache(maxsize=16)
def _checked_folder(configured: str | None) -> Path | None:
    """Make the folder and check that it is the user's alone; None if it is not to be used."""
    try:
        folder = Path(configured).expanduser() if configured else default_folder()
    except RuntimeError:  # the user has no home
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = folder.stat()
    except OSError as error:
        if configured:  # a default folder that cannot be made is no fault of the user's
            _failed("folder", f"the folder {folder} cannot be made ({error})")
        return None
    if hasattr(os, "getuid") and info.st_uid != os.getuid():
        _failed("folder", f"the folder {folder} belongs to another user, so it is not used")
        return None
    if os.name == "posix" and info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        _failed("folder", f"others can write to the folder {folder}, so it is not used")
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def default_folder() -> Path:
    """The folder for caches of this system's user, with our own name below it."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "evertrace" / "xla"


@functools.cache
def _environment_key() -> bytes:
    """Digest of what is the same for all programs of this process: versions and processor."""
    # The number of cores: XLA divides loops among them when it compiles.
    facts = (
        *(compat.JAXLIB_VERSION, platform.system(), platform.machine()),
        *(str(os.cpu_count()), _processor()),
    )
    return hashlib.sha256("\0".join(facts).encode()).digest()


def _processor() -> str:
    """Describe the host's processor with the features that code generation uses."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(1 << 14).split("\n\n")[0]
    except OSError:
        return platform.processor()
    wanted = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU ")
    return "\n".join(line for line in first.splitlines() if line.startswith(wanted))


def _count(name: str) -> None:
    """Add one to a counter."""
    with _lock:
        setattr(_stats, name, getattr(_stats, name) + 1)


def _failed(kind: str, what: str) -> None:
    """Count an error, and warn of the first one of its kind."""
    _count("errors")
    if kind not in _warned:
        _warned.add(kind)
        errors.user_warning(
            errors.CacheWarning,
            f"compilation cache: {what}.",
            fix='set compilation_cache_dir to a folder of your own, or to "" for no cache.',
        )
