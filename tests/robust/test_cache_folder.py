"""The cache on disk is hostile until shown otherwise: what is not ours is a miss, and never run."""

import hashlib
import os
import random
import socket
import zlib
from types import SimpleNamespace

import pytest

from evertrace._src import config, errors
from evertrace._src.engines import cache, cache_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX files and permissions")
KEY = hashlib.sha256(b"a program").digest()
CODE = b"machine code" * 100
NOT_OURS = os.geteuid() + 1


@pytest.fixture(autouse=True)
def folder(tmp_path):
    """An empty cache folder, which the options name."""
    cache.reset()
    with config.override(compilation_cache_dir=str(tmp_path / "programs")):
        yield tmp_path / "programs"
    cache.reset()


@pytest.fixture
def entry(folder):
    """The file of a good entry."""
    cache.store(KEY, CODE, 1.0)
    (path,) = folder.iterdir()
    return path


def misses(reason):
    with pytest.warns(errors.CacheWarning, match=reason):
        assert cache.load(KEY) is None
    assert cache.cache_stats().hits == 0


def as_link(entry):
    entry.rename(entry.with_name("elsewhere"))
    entry.symlink_to(entry.with_name("elsewhere"))


def as_directory(entry):
    entry.unlink()
    entry.mkdir()


def as_socket(entry):
    entry.unlink()
    before = os.getcwd()
    os.chdir(entry.parent)  # a socket's path is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(entry.name)
    finally:
        os.chdir(before)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (as_link, "cannot be opened as a file"),
        (as_directory, "no regular file"),
        (as_socket, "cannot be opened as a file"),
        (lambda entry: entry.chmod(0o666), "others can write to it"),
        (lambda entry: entry.chmod(0o620), "others can write to it"),
        (lambda entry: os.truncate(entry, 1 << 40), "more than"),  # sparse: takes no room
    ],
    ids=["link", "directory", "socket", "mode 666", "mode 620", "huge"],
)
def test_entry_that_is_no_file_of_ours_is_a_miss(entry, change, reason):
    change(entry)
    misses(reason)


def test_entry_of_another_user_is_a_miss(entry, monkeypatch):
    # What the open file says is changed instead of the file: only root could give it away.
    facts = os.fstat

    def fstat(handle):
        found = list(facts(handle))
        if os.path.isfile(f"/dev/fd/{handle}"):
            found[4] = NOT_OURS
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", fstat)
    misses("belongs to another user")


@pytest.mark.parametrize(
    "make",
    ["os.mkfifo(entry)", "os.symlink('/dev/zero', entry)", "os.symlink('/dev/tty', entry)"],
    ids=["pipe", "endless device", "terminal"],
)
def test_entry_that_never_ends_costs_no_time_or_memory(run_python, make):
    found = run_python(
        f"""
import os, warnings
from evertrace._src.engines import cache
cache.store({KEY!r}, b"x", 1.0)
entry = os.path.join(os.environ["EVERTRACE_COMPILATION_CACHE_DIR"], cache._name({KEY!r}))
os.unlink(entry)
{make}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = cache.load({KEY!r})
cache.store({KEY!r}, b"y", 1.0)  # takes its place
print(found, len(caught), cache.load({KEY!r}))
""",
        seconds=30,
        megabytes=4096,
    )
    assert found == "None 1 b'y'"


@pytest.mark.parametrize("size", [3, 1 << 31, 1 << 63], ids=["small", "allowed", "huge"])
def test_few_bytes_do_not_become_all_of_the_memory(entry, size):
    body = zlib.compress(bytes(1 << 24))  # 16 MiB of zeros in 16 KiB
    entry.write_bytes(cache._sealed(KEY, size, body))
    misses("damaged")


def mutated(rng, good):
    """An entry that is damaged, or that somebody forged."""
    bad = bytearray(good)
    kind = rng.randrange(4)
    if kind == 0:
        for _ in range(rng.randrange(1, 9)):
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del bad[rng.randrange(len(bad)) :]
    elif kind == 2:
        place = rng.randrange(len(bad) + 1)
        bad[place:place] = rng.randbytes(rng.randrange(1, 40))
    else:  # another body, under a header that has its digest
        body = rng.choice([rng.randbytes(30), zlib.compress(CODE)[:-2], zlib.compress(b"")])
        size = rng.choice([len(CODE), 1, 1 << 40])
        return cache._sealed(KEY, size, body)
    return bytes(bad)


def test_mutated_entries_are_never_taken_for_programs(entry):
    good = entry.read_bytes()
    rng = random.Random(0)

    def loaded(bad):
        entry.unlink()  # emptying a file that is there would wait for the disk
        entry.write_bytes(bad)
        return cache.load(KEY)

    with pytest.warns(errors.CacheWarning):
        assert loaded(b"") is None
    for bad in [mutated(rng, good) for _ in range(3000)]:
        assert bad == good or loaded(bad) is None, bad
    assert loaded(good) == CODE


@pytest.mark.parametrize("mode", [0o707, 0o770])
def test_folder_is_judged_at_each_use(entry, folder, mode):
    assert cache.load(KEY) == CODE
    folder.chmod(mode)
    with pytest.warns(errors.CacheWarning, match="others can write to the folder"):
        assert cache.load(KEY) is None
    cache.store(KEY, b"y", 1.0)
    folder.chmod(0o700)
    assert cache.load(KEY) == CODE


def test_folder_below_one_that_others_can_write_to_is_refused(entry, tmp_path):
    tmp_path.chmod(0o777)
    misses("others can write to .*, where the folder .* is, so it is not used")


def test_folder_below_a_sticky_one_is_used(entry, tmp_path):
    tmp_path.chmod(0o1777)  # as /tmp is: others cannot rename what is ours
    assert cache.load(KEY) == CODE


def test_folder_below_one_of_another_user_is_refused(entry, tmp_path, monkeypatch):
    facts = os.lstat

    def lstat(path, **more):
        found = list(facts(path, **more))
        if str(path) == str(tmp_path):
            found[4] = NOT_OURS
        return os.stat_result(found)

    monkeypatch.setattr(os, "lstat", lstat)
    misses("where the folder .* is, belongs to another user")


@pytest.mark.parametrize(
    ("name", "members", "used"),
    [("me", [], True), ("me", ["me"], True), ("me", ["me", "you"], False), ("staff", [], False)],
)
def test_group_that_is_the_users_own_may_write_above(
    entry, tmp_path, monkeypatch, name, members, used
):
    tmp_path.chmod(0o770)
    group = tmp_path.stat().st_gid
    known = {
        "pwd": {"getpwuid": lambda _: SimpleNamespace(pw_name="me", pw_gid=group)},
        "grp": {"getgrgid": lambda _: SimpleNamespace(gr_name=name, gr_mem=members)},
    }
    for module, functions in known.items():
        monkeypatch.setattr(cache_folder, module, SimpleNamespace(**functions))
    if used:
        assert cache.load(KEY) == CODE
    else:
        misses("others can write")


def test_links_to_a_folder_of_ours_are_followed(entry, folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    with config.override(compilation_cache_dir=str(tmp_path / "link")):
        assert cache.load(KEY) == CODE
        cache.store(KEY, b"y", 1.0)
    assert cache.load(KEY) == b"y"


def test_all_folders_that_are_made_are_the_users_alone(tmp_path):
    before = os.umask(0)
    try:
        with config.override(compilation_cache_dir=str(tmp_path / "a" / "b" / "c")):
            cache.store(KEY, CODE, 1.0)
            assert cache.load(KEY) == CODE
    finally:
        os.umask(before)
    made = [path for path, _, _ in os.walk(tmp_path / "a")]
    assert [os.stat(path).st_mode & 0o777 for path in made] == [0o700] * 3


def test_nothing_stays_open(entry, folder):
    before = len(os.listdir("/dev/fd"))
    for _ in range(10):
        cache.store(KEY, CODE, 1.0)
        assert cache.load(KEY) == CODE
        entry.write_bytes(b"")
        with pytest.warns(errors.CacheWarning):
            cache.load(KEY)
        cache.reset()
    folder.chmod(0o777)
    with pytest.warns(errors.CacheWarning):
        cache.load(KEY)
    assert len(os.listdir("/dev/fd")) == before
