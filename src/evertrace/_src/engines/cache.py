"""The on-disk cache of compiled programs, so that a second process need not compile them again.

It keeps XLA's executables and the objects of the fused engine.

The idea: an entry is a file named by a digest of everything that the machine code depends on: the
program, the options, the versions, the device and the host's processor. Nothing stops code
for one processor from being loaded on another, so the key has to. An entry is code that will be
run, so only what this user alone can have written is used (`cache_folder.py`), and a file that is
not exactly what was once written counts as absent. Whatever goes wrong costs a compilation and one
warning, never an error.

An entry is a header (magic, key, bytes of the executable and of the body, version of evertrace that
has written it, digest of both) and the compressed executable. The entries used longest ago are
removed when the folder grows too large.
"""

import dataclasses
import functools
import hashlib
import os
import platform
import struct
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evertrace._src import config, errors
from evertrace._src.engines.cache_folder import Folder, UnsafeFolderError
from evertrace._src.support import forkable

_MAGIC = b"EVTXLA03"  # the last two digits are the version of this format
_HEADER = struct.Struct("<8s32sQQ16s32s")
LARGEST = 1 << 31  # bytes of an executable: XLA's messages, of which it is one, have no more
HEADER_BYTES = _HEADER.size
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
_lock = forkable(threading.Lock())
_sizes: dict[Path, int] = {}  # bytes in each folder, as last counted plus what was written since


def cache_stats() -> CacheStats:
    """Return a copy of the counters of this process."""
    with _lock:
        return dataclasses.replace(_stats)


def reset() -> None:
    """Forget what is known of folders, which warnings were given, and the counts."""
    global _stats
    with _lock:
        _stats = CacheStats()
        _warned.clear()
        _sizes.clear()


def program_key(*parts: bytes) -> bytes:
    """Return the digest that names a program's entry; equal only where the code may be shared.

    Args:
      *parts: all that the code depends on besides this machine: the program, versions, options.
    """
    digest = hashlib.sha256(environment_key())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def load(key: bytes) -> bytes | None:
    """Return the serialised executable of a key, or None if there is no sound entry."""
    with _folder() as folder:
        if folder is None:
            return None
        try:
            body = _decode(folder.read(_name(key), LARGEST), key)
        except FileNotFoundError:
            _count("misses")
            return None
        except (OSError, ValueError, MemoryError, zlib.error) as error:
            _count("misses")
            path = folder.path / _name(key)
            _failed("read", f"the entry {path} cannot be used ({error}) and is compiled again")
            return None
    _count("hits")
    return body


def store(key: bytes, executable: bytes, compile_seconds: float) -> None:
    """Keep a serialised executable for other processes, if the configuration lets us."""
    current = config.current()
    if compile_seconds < current.compilation_cache_min_compile_seconds:
        return
    if not current.compilation_cache_min_entry_bytes <= len(executable) <= LARGEST:
        return
    with _folder() as folder:
        if folder is None:
            return
        entry = _encode(executable, key)
        try:
            folder.write(_name(key), entry)
            _count("writes")
            _bound_size(folder, len(entry), current.compilation_cache_max_bytes)
        except OSError as error:
            _failed("write", f"no entry can be written to {folder.path} ({error})")


def discard(key: bytes, compiler: str, reason: str) -> None:
    """Remove an entry that was read well but that a compiler does not accept."""
    with _folder() as folder:
        if folder is not None:
            folder.remove(_name(key))
            _failed("load", f"{compiler} rejects an entry ({reason}), which is compiled again")


def _encode(executable: bytes, key: bytes) -> bytes:
    """Return the file of an entry."""
    return _sealed(key, len(executable), zlib.compress(executable, 1))


def _sealed(key: bytes, size: int, body: bytes) -> bytes:
    """Return a body, and the bytes that it is said to unfold to, under a header with its digest."""
    writer = sys.modules["evertrace"].__version__.encode()[:16].ljust(16, b"\0")
    digest = hashlib.sha256(writer + body).digest()
    return _HEADER.pack(_MAGIC, key, size, len(body), writer, digest) + body


def _decode(entry: bytes, key: bytes) -> bytes:
    """Return the executable of an entry's file; ValueError if it is not whole and of this key."""
    if len(entry) < _HEADER.size:
        raise ValueError("it is truncated")
    magic, entry_key, size, length, writer, digest = _HEADER.unpack_from(entry)
    body = memoryview(entry)[_HEADER.size :]
    if magic != _MAGIC or entry_key != key:
        raise ValueError("it is of another format or program")
    sealed = hashlib.sha256(writer)
    sealed.update(body)
    if len(body) != length or sealed.digest() != digest or size > LARGEST:
        raise ValueError("it is damaged")
    # One byte more than there should be, so that a few bytes cannot become all of the memory.
    stream = zlib.decompressobj()
    executable = stream.decompress(body, size + 1)
    if len(executable) != size or not stream.eof or stream.unused_data:
        raise ValueError("it is damaged")
    return executable


def written_by(header: bytes) -> str:
    """Return the version of evertrace that an entry's header names; ValueError if it is none."""
    if len(header) < _HEADER.size:
        raise ValueError("it is truncated")
    magic, *_, writer, _ = _HEADER.unpack(header)
    if magic != _MAGIC:
        raise ValueError("it is of another format")
    return writer.rstrip(b"\0").decode("latin-1")


def _name(key: bytes) -> str:
    """Return the file name of an entry."""
    return key.hex() + _SUFFIX


def _bound_size(folder: Folder, added: int, bound: int) -> None:
    """Remove the entries used longest ago if the folder has grown past `bound` bytes."""
    if bound < 0:
        return
    with _lock:
        known = _sizes.get(folder.path)
        if known is not None and known + added <= bound:
            _sizes[folder.path] = known + added
            return
        files = list(folder.files(_SUFFIX, ".tmp"))
        total = sum(file.size for file in files)
        if total > bound:
            for file in sorted(files):
                if total <= bound * _EVICT_TO:
                    break
                if folder.remove(file.name):
                    total -= file.size
        _sizes[folder.path] = total


@contextmanager
def _folder() -> Iterator[Folder | None]:
    """Open the folder in use; None if the cache is off or the folder is not the user's alone."""
    current = config.current()
    configured = current.compilation_cache_dir
    folder = None
    if current.enable_compilation_cache and configured != "":
        folder = _opened(configured)
    if folder is None:
        yield None
        return
    with folder:
        yield folder


def _opened(configured: str | None) -> Folder | None:
    """Open a folder, the default one for None; None if it is not to be used."""
    path: str | Path | None = configured
    try:
        path = Path(configured).expanduser() if configured else default_folder()
        folder = Folder(path)
    except UnsafeFolderError as error:
        _failed("folder", f"{error}, so it is not used")
        return None
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: the user has no home
        if configured:  # a default folder that cannot be made is no fault of the user's
            _failed("folder", f"the folder {path} cannot be made ({error})")
        return None
    if not os.access(folder.path, os.W_OK | os.X_OK):
        folder.close()
        return None
    return folder


def default_folder() -> Path:
    """The folder for caches of this system's user, with our own name below it."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        if not base.is_absolute():  # XDG's specification: then it is not valid
            base = Path.home() / ".cache"
    return base / "evertrace" / "xla"


@functools.cache
def environment_key() -> bytes:
    """Digest of what is the same for all programs of this process: system and processor."""
    # The format: entries of another one are not found, rather than found to be unsound.
    # The number of cores: XLA divides loops among them when it compiles.
    facts = (
        *(_MAGIC.decode(), platform.system(), platform.machine()),
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
