"""A folder of files that will be run, treated as hostile until it is shown to be the user's alone.

The idea: judge what is *open*, never a name, since a name can mean another file by the time it is
used. `Folder` holds the directory open and names files relative to it; a file is opened without
following links and without waiting, and its kind, owner, mode and size are those of the open file.
The folders above are judged from the root down: where others may write to none of them, nobody else
can put another folder in the place of the next. This is done at each use, not once per process: it
takes microseconds beside the milliseconds of loading a program, and modes change.

On systems without POSIX permissions and `dir_fd` the files are named by their paths and only their
kind and size are checked.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evertrace._src.lazy import LazyModule

grp: Any = LazyModule("grp")  # POSIX only, and seldom asked
pwd: Any = LazyModule("pwd")

_POSIX = os.name == "posix"
# NONBLOCK: a pipe without a writer would be waited for. BINARY: Windows.
_OPEN = sum(
    getattr(os, name, 0)
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY", "O_NOINHERIT")
)
_DIRECTORY = _OPEN | getattr(os, "O_DIRECTORY", 0)


class UnsafeFileError(ValueError):
    """A file that the user alone did not write, or that is none; says what is wrong with it."""


class UnsafeFolderError(ValueError):
    """A folder to which others can write; says which and why."""


class File(NamedTuple):
    """A file of a folder: time of last use in seconds, bytes, name; sorts by time."""

    used: float
    size: int
    name: str


class Folder:
    """An open folder that nobody else can write to; a context manager that closes it."""

    __slots__ = ("_fd", "path")

    def __init__(self, path: Path):
        """Open a folder, which is made if there is none.

        Args:
          path: of the folder. Links in it are followed first, what they lead to is judged.

        Raises:
          UnsafeFolderError: it belongs to another user, or others can write to it or above it.
          OSError: it cannot be made or opened.
        """
        self.path = _made(Path(os.path.realpath(path)))
        self._fd: int | None = None
        if _POSIX:
            _check_above(self.path)
            self._fd = os.open(self.path, os.O_RDONLY | _DIRECTORY)
            try:
                _check_folder(self.path, os.fstat(self._fd))
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder."""
        if self._fd is not None:
            with contextlib.suppress(OSError):  # nothing was written to it
                os.close(self._fd)
            self._fd = None

    def read(self, name: str, most: int) -> bytes:
        """Return the contents of a file, and note that it was used.

        Args:
          name: of the file in this folder.
          most: the bytes that it may have.

        Raises:
          FileNotFoundError: there is none.
          UnsafeFileError: it is a link, a pipe, a device, too large, another user's, or others may
            write to it.
        """
        with self._opened(name, most) as (handle, size):
            with open(handle, "rb", closefd=False) as file:
                contents = file.read(size)
            with contextlib.suppress(OSError):  # a file system that keeps no times
                os.utime(handle if os.utime in os.supports_fd else self._place(name))
        return contents

    def head(self, name: str, count: int, most: int) -> bytes:
        """Return the first bytes of a file, which is not noted as a use; raises as `read` does."""
        with self._opened(name, most) as (handle, _):
            return os.read(handle, count)

    @contextlib.contextmanager
    def _opened(self, name: str, most: int) -> Iterator[tuple[int, int]]:
        """Open a file that is shown to be the user's own; yields its handle and its bytes."""
        try:
            handle = os.open(self._place(name), os.O_RDONLY | _OPEN, dir_fd=self._fd)
        except FileNotFoundError:
            raise
        except OSError as error:  # a link is ELOOP or EMLINK, a socket ENXIO
            raise UnsafeFileError(f"it cannot be opened as a file: {error.strerror}") from error
        try:
            info = os.fstat(handle)
            _check_file(info, most)
            yield handle, info.st_size
        finally:
            os.close(handle)

    def write(self, name: str, contents: bytes) -> None:
        """Write a file so that others see all of it or nothing, in place of whatever is there.

        Raises:
          OSError: it cannot be written.
        """
        beside = f"{name}.{os.urandom(8).hex()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN
        handle = os.open(self._place(beside), flags, 0o600, dir_fd=self._fd)
        try:
            with open(handle, "wb") as file:
                file.write(contents)
            os.replace(
                *(self._place(beside), self._place(name)),
                src_dir_fd=self._fd,
                dst_dir_fd=self._fd,
            )
        except BaseException:
            self.remove(beside)
            raise

    def remove(self, name: str) -> bool:
        """Remove a file; says whether this was possible."""
        try:
            os.unlink(self._place(name), dir_fd=self._fd)
        except OSError:
            return False
        return True

    def files(self, *suffixes: str) -> Iterator[File]:
        """Yield the files whose names end so; others may remove some meanwhile."""
        with os.scandir(self.path if self._fd is None else self._fd) as found:
            for file in found:
                if file.name.endswith(suffixes):
                    with contextlib.suppress(OSError):
                        info = file.stat(follow_symlinks=False)
                        yield File(info.st_mtime, info.st_size, file.name)

    def _place(self, name: str) -> str:
        """The file as system calls are told of it: relative to the open folder where it is open."""
        return os.path.join(self.path, name) if self._fd is None else name


def _made(folder: Path) -> Path:
    """Make a folder and those above it, for the user alone, where there is none."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        if folder == folder.parent:
            raise
        _made(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _check_above(folder: Path) -> None:
    """Check that nobody else can exchange a folder for another, from the root down."""
    # Whoever owns the root can exchange Python itself; in a container this need not be user 0.
    above = list(reversed(folder.parents))
    trusted = {0, os.geteuid(), os.lstat(above[0]).st_uid}
    for parent in above:
        info = os.lstat(parent)
        if info.st_uid not in trusted:
            raise UnsafeFolderError(
                f"{parent}, where the folder {folder} is, belongs to another user"
            )
        # In a folder such as /tmp, whose sticky bit is set, only owners rename and remove.
        if _others_can_write(info) and not info.st_mode & stat.S_ISVTX:
            raise UnsafeFolderError(f"others can write to {parent}, where the folder {folder} is")


def _check_folder(folder: Path, info: os.stat_result) -> None:
    """Check an open folder by its facts."""
    if info.st_uid != os.geteuid():
        raise UnsafeFolderError(f"the folder {folder} belongs to another user")
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnsafeFolderError(f"others can write to the folder {folder}")


def _check_file(info: os.stat_result, most: int) -> None:
    """Check an open file by its facts."""
    if not stat.S_ISREG(info.st_mode):
        raise UnsafeFileError("it is no regular file")
    if _POSIX and info.st_uid != os.geteuid():
        raise UnsafeFileError("it belongs to another user")
    if _POSIX and info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnsafeFileError("others can write to it")
    if info.st_size > most:
        raise UnsafeFileError(
            f"it has {info.st_size} bytes, more than the {most} that one can have"
        )


def _others_can_write(info: os.stat_result) -> bool:
    """Whether other users can write to a folder, by its facts.

    Where each user has a group of their own, folders are often open to that group.
    """
    if info.st_mode & stat.S_IWOTH:
        return True
    return bool(info.st_mode & stat.S_IWGRP) and not _is_private_group(info.st_gid)


def _is_private_group(group: int) -> bool:
    """Whether a group is the one that is named after this user and has no other members."""
    try:
        user, facts = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return (facts.gr_name, user.pw_gid) == (user.pw_name, group) and set(facts.gr_mem) <= {
        user.pw_name
    }
