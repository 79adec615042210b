"""The commands of ``python -m evertrace``."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import evertrace as ev
from evertrace._src import config, errors
from evertrace._src.api import environment
from evertrace._src.engines import cache, cache_contents
from evertrace._src.tools import command, guide

SOURCES = Path(ev.__file__).parents[1]
GUIDE = SOURCES.parent / "docs" / "errors.md"
NAMES = ["a" * 64, "b" * 64]


def shell(*arguments, code="", **variables):
    """Run ``python -m evertrace`` in a process of its own; returns status, output and errors."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("EVERTRACE_")}
    start = ["-c", code] if code else ["-m", "evertrace"]
    done = subprocess.run(
        [sys.executable, *start, *arguments],
        env=inherited | {"PYTHONPATH": str(SOURCES), **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def rows_of(text):
    """Return what is printed as names and facts."""
    return dict(re.findall(r"^(\S[^:]*): +(.*)$", text, re.MULTILINE))


@pytest.fixture
def folder(tmp_path):
    """A cache of two programs, in use."""
    path = tmp_path / "cache"
    path.mkdir(mode=0o700)
    with config.override(compilation_cache_dir=str(path)):
        for name in NAMES:
            cache.store(bytes.fromhex(name), b"code" * 100, 1.0)
        yield path


# ---------------------------------------------------------------- info


INFO = """
import sys
from evertrace._src.tools import command
assert command.main(["info"]) == 0
loaded = [name for name in ("jaxlib", "llvmlite", "scipy") if name in sys.modules]
print("loaded:", loaded)
"""


def test_info_opens_no_device_and_loads_no_compiler():
    status, text, said = shell(code=INFO)
    assert (status, said) == (0, "")
    assert "loaded: []" in text
    assert f"evertrace:      {ev.__version__}" in text
    assert "devices:" not in text


def test_info_opens_devices_when_asked(capsys):
    assert command.main(["info", "--devices"]) == 0
    assert re.search(r"^devices: +\d+ of kind cpu$", capsys.readouterr().out, re.MULTILINE)


def test_info_names_settings_and_those_that_set_nothing(monkeypatch, capsys):
    monkeypatch.setenv("EVERTRACE_ENABLE_X64", "0")
    monkeypatch.setenv("EVERTRACE_ENABEL_X64", "1")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert command.main(["info"]) == 0
    rows = rows_of(capsys.readouterr().out)
    assert rows["EVERTRACE_ENABLE_X64"] == "0"
    assert rows["JAX_PLATFORMS"] == "cpu"
    wanted = "1 (no option has this name; did you mean EVERTRACE_ENABLE_X64?)"
    assert rows["EVERTRACE_ENABEL_X64"] == wanted


def test_info_says_where_the_cache_is(folder, capsys):
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert command.main(["info"]) == 0
    assert rows_of(capsys.readouterr().out)["cache"] == f"{folder}, 2 programs, {size} B"
    with config.override(enable_compilation_cache=False):
        assert command.main(["info"]) == 0
    assert rows_of(capsys.readouterr().out)["cache"] == "off: an option says so"


MISSING = [
    ("extension.is_wanted", False, "not wanted: EVERTRACE_NATIVE=0 is in the environment"),
    ("extension.os.listdir", lambda folder: [], "not built: there was no C++ compiler"),
    (
        "extension.os.listdir",
        lambda folder: ["_native.cpython-27-other.so"],
        "built for another Python: there is _native.cpython-27-other.so, and it takes _native.c",
    ),
    ("extension.failure", "no libstdc++", "built, but Python cannot load it: no libstdc++"),
]


@pytest.mark.usefixtures("needs_native")
@pytest.mark.parametrize(("name", "value", "said"), MISSING)
def test_information_says_why_there_is_no_extension_module(monkeypatch, name, value, said):
    monkeypatch.setattr(environment.extension, "native", None)
    monkeypatch.setattr(f"evertrace._src.{name}", value)
    rows = rows_of(ev.print_environment_info(True))
    assert rows["native kernels"].startswith(said)
    assert rows["fused loops"] == "not there: they need the native kernels"


@pytest.mark.usefixtures("needs_native")
def test_information_says_that_kernels_are_not_used():
    with config.override(native_kernels=False):
        assert "the option native_kernels is off" in ev.print_environment_info(True)


def test_information_says_which_package_is_missing(monkeypatch):
    def version(package):
        raise environment.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(environment.metadata, "version", version)
    text = ev.print_environment_info(True)
    assert "not installed, so nothing can be compiled by XLA: `pip install jaxlib`" in text


def test_information_says_why_devices_cannot_be_opened(monkeypatch):
    def devices():
        raise RuntimeError("no such platform\nmore")

    monkeypatch.setattr(environment.runtime, "devices", devices)
    text = ev.print_environment_info(True)
    assert re.search(r"^devices: +cannot be opened: RuntimeError: no such platform$", text, re.M)


def test_information_says_why_there_is_no_accelerator(monkeypatch):
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    for is_there, said in ((True, "there is an NVIDIA driver and no plugin"), (False, "no plugin")):
        monkeypatch.setattr(environment.os.path, "exists", lambda path, is_there=is_there: is_there)
        assert f"none: {said}" in environment._accelerators()
    with config.override(platforms="cpu"):
        assert environment._accelerators() == 'not used: the option platforms says "cpu" first'


# ---------------------------------------------------------------- cache


def test_the_cache_is_listed_with_sizes_ages_and_writers(folder, capsys):
    old = folder / f"{NAMES[1]}.xla"
    os.utime(old, (old.stat().st_mtime - 7200,) * 2)
    assert command.main(["cache", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    size = old.stat().st_size
    assert [line.split() for line in lines[:2]] == [
        ["a" * 16, str(size), "B", "now", ev.__version__],
        ["b" * 16, str(size), "B", "2", "hours", ev.__version__],
    ]
    assert lines[2:] == [f"2 programs, {2 * size} B in {folder}"]
    assert command.main(["cache", "size"]) == 0
    assert capsys.readouterr().out == f"{2 * size}\n"
    assert old.stat().st_mtime < folder.stat().st_mtime - 3600  # to be listed is no use


def test_clearing_removes_programs_and_nothing_else(folder, tmp_path, capsys):
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (folder / f"{'c' * 64}.xla").symlink_to(outside)
    (folder / f"{'d' * 64}.xla").mkdir()
    others = {"notes.txt", "x.xla", f"{'E' * 64}.xla", f"{'d' * 64}.xla"}
    for name in others - {f"{'d' * 64}.xla"}:
        (folder / name).write_text("mine")
    assert command.main(["cache", "clear"]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("3 programs removed, ")
    assert said.err == "evertrace cache: 1 could not be removed.\n"
    assert {path.name for path in folder.iterdir()} == others
    assert outside.read_text() == "mine"


def test_hostile_entries_are_shown_for_what_they_are(folder, tmp_path, capsys):
    outside = tmp_path / "outside"
    outside.write_bytes((folder / f"{NAMES[0]}.xla").read_bytes())
    good = outside.read_bytes()
    version = ev.__version__.encode().ljust(16, b"\0")
    bad = {
        "1": good[:20],
        "2": b"EVTXLA01" + good[8:],
        "3": good.replace(version, b"\x1b[2J\x07" + b"\0" * 11),
    }
    for digit, contents in bad.items():
        (folder / f"{digit * 64}.xla").write_bytes(contents)
    (folder / f"{'4' * 64}.xla").symlink_to(outside)
    os.mkfifo(folder / f"{'5' * 64}.xla")
    (folder / f"{'6' * 64}.xla.{'0' * 16}.tmp").write_bytes(b"")
    assert command.main(["cache", "list"]) == 0
    text = capsys.readouterr().out
    found = {line[0]: line for line in text.splitlines() if line[:16] == line[0] * 16}
    assert "\x1b" not in text
    assert found["1"].endswith("not used: it is truncated")
    assert found["2"].endswith("not used: it is of another format")
    assert found["3"].endswith("not used: it is damaged")
    assert "not used: it cannot be opened as a file" in found["4"]
    assert found["5"].endswith("not used: it is no regular file")
    assert found["6"].endswith("being written")


@pytest.mark.parametrize("what", ["list", "size", "clear"])
def test_a_folder_that_others_can_write_to_is_left_alone(folder, what, capsys):
    folder.chmod(0o777)
    assert command.main(["cache", what]) == 1
    assert capsys.readouterr().err == f"evertrace cache: others can write to the folder {folder}\n"
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("what", ["list", "size", "clear"])
def test_a_cache_that_is_off_or_not_there_is_not_made(tmp_path, what, capsys):
    with config.override(compilation_cache_dir=str(tmp_path / "none")):
        assert command.main(["cache", what]) == 0
        assert capsys.readouterr().out[0] == "0"
    with config.override(compilation_cache_dir=""):
        assert cache_contents.location() is None
        assert command.main(["cache", what]) == 0
    assert capsys.readouterr().out == "The cache is off: an option says so.\n"
    assert not list(tmp_path.iterdir())


AGES = [(0, "now"), (59, "now"), (60, "1 minute"), (7300, "2 hours"), (86400 * 3, "3 days")]


@pytest.mark.parametrize(("seconds", "words"), AGES)
def test_ages_in_words(seconds, words):
    assert command._age(seconds) == words


# ---------------------------------------------------------------- docs


def test_the_guide_has_the_sections_of_the_page():
    text = GUIDE.read_text(encoding="utf-8")
    assert list(guide.sections()) == re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert "$" not in text  # an installation makes its copy as a template, see pyproject.toml


@pytest.mark.parametrize("link", ["has-aux", "#has-aux", f"`{errors.MANUAL} has-aux`"])
def test_docs_prints_the_section_of_a_link(link, capsys):
    assert command.main(["docs", link]) == 0
    text = capsys.readouterr().out
    assert text.startswith("### has-aux\n\n")
    assert text in GUIDE.read_text(encoding="utf-8")


def test_a_section_ends_where_the_next_part_begins():
    assert not [body for body in guide.sections().values() if re.search(r"^## ", body, re.M)]


def test_docs_lists_sections_and_suggests_one(capsys):
    assert command.main(["docs"]) == 0
    assert capsys.readouterr().out.splitlines() == list(guide.sections())
    assert command.main(["docs", "has-auks"]) == 2
    assert capsys.readouterr().err == (
        "evertrace docs: there is no section 'has-auks'. Did you mean has-aux? "
        "Without a name all are listed.\n"
    )


def test_an_installation_makes_the_copy_where_it_is_read():
    settings = tomllib.loads((SOURCES.parent / "pyproject.toml").read_text(encoding="utf-8"))
    overrides = settings["tool"]["scikit-build"]["overrides"]
    (made,) = [made for found in overrides for made in found.get("generate", ())]
    assert SOURCES / made["path"] == guide.PLACES[0]
    assert (SOURCES.parent / made["template-path"]).samefile(GUIDE)


def test_docs_reads_the_copy_of_an_installation_first(monkeypatch, tmp_path, capsys):
    shipped = tmp_path / "errors.md"
    shipped.write_text("# Errors\n\n### mine\n\nText.\n")
    monkeypatch.setattr(guide, "PLACES", (shipped, *guide.PLACES))
    assert list(guide.sections()) == ["mine"]
    monkeypatch.setattr(guide, "PLACES", ())
    assert command.main(["docs", "mine"]) == 1
    assert "this installation has no guide" in capsys.readouterr().err


# ---------------------------------------------------------------- launch


def test_launch_is_reached_both_ways():
    program = ["-n", "2", "-m", "this"]
    for module in ("evertrace", "evertrace.launch"):
        rest = ["launch", *program] if module == "evertrace" else program
        code = f"import runpy, sys; runpy.run_module({module!r}, run_name='__main__')"
        status, text, said = shell(*rest, code=code)
        assert (status, said) == (0, "")
        assert {line[:3] for line in text.splitlines()} == {"[0]", "[1]"}


def test_without_a_command_all_are_listed(capsys):
    assert command.main([]) == 0
    said = capsys.readouterr().out
    assert all(f"\n    {name} " in said for name in ("info", "cache", "docs", "report", "launch"))


def test_a_command_that_is_none_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["inof"])
    assert ended.value.code == 2
    assert "invalid choice: 'inof'" in capsys.readouterr().err
