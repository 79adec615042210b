"""What is in the folder of the cache on disk, for people who ask what is there, or clear it.

Files with other names than ours are neither read nor removed, and what an entry says of itself is
believed of nothing but what is shown.
"""

import re
import string
from pathlib import Path
from typing import NamedTuple

from evertrace._src import config
from evertrace._src.engines import cache
from evertrace._src.engines.cache_folder import File, Folder

_NAME = re.compile(r"[0-9a-f]{64}\.xla(\.[0-9a-f]{16}\.tmp)?")
_SHOWN = frozenset(string.ascii_letters + string.digits + ".+-")


class Entry(NamedTuple):
    """A program in the folder.

    Attributes:
      used: when it was used last, in seconds since 1970.
      size: in bytes.
      name: of its file.
      writer: the version of evertrace that wrote it, or what is wrong with it.
    """

    used: float
    size: int
    name: str
    writer: str


def location() -> Path | None:
    """Return the folder in use; None if the options say that there is no cache.

    Raises:
      RuntimeError: the user has no home.
    """
    current = config.current()
    configured = current.compilation_cache_dir
    if not current.enable_compilation_cache or configured == "":
        return None
    return Path(configured).expanduser() if configured else cache.default_folder()


def entries(path: Path) -> list[Entry]:
    """Return the programs in a folder, those used last first; [] where there is no folder.

    Raises:
      UnsafeFolderError: others can write to it.
      OSError: it cannot be opened.
    """
    if not path.exists():  # to look is no reason to make it
        return []
    with Folder(path) as folder:
        found = [Entry(*file, _writer(folder, file.name)) for file in _files(folder)]
    return sorted(found, reverse=True)


def size(path: Path) -> tuple[int, int]:
    """Return how many programs are in a folder, and their bytes; raises as `entries` does."""
    if not path.exists():
        return 0, 0
    with Folder(path) as folder:
        sizes = [file.size for file in _files(folder)]
    return len(sizes), sum(sizes)


def clear(path: Path) -> tuple[int, int, int]:
    """Remove the programs in a folder; returns how many, their bytes, and how many stayed.

    Raises:
      UnsafeFolderError: others can write to it.
      OSError: it cannot be opened.
    """
    if not path.exists():
        return 0, 0, 0
    with Folder(path) as folder:
        files = _files(folder)
        sizes = [file.size for file in files if folder.remove(file.name)]
    return len(sizes), sum(sizes), len(files) - len(sizes)


def _files(folder: Folder) -> list[File]:
    return [file for file in folder.files(".xla", ".tmp") if _NAME.fullmatch(file.name)]


def _writer(folder: Folder, name: str) -> str:
    """Return which version an entry says it is of, in letters that no terminal obeys."""
    if name.endswith(".tmp"):
        return "being written"
    try:
        said = cache.written_by(folder.head(name, cache.HEADER_BYTES, cache.LARGEST))
    except OSError:
        return "gone"
    except ValueError as error:
        return f"not used: {error}"
    return said if said and set(said) <= _SHOWN else "not used: it is damaged"
