"""What is refused where something is to be released, and what the links of the README become."""

import importlib.machinery
import importlib.util
import io
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = ROOT / "scripts" / "release"
ADDRESS = "https://host.example/us/evertrace"
README = "[a](docs/a.md#b) [b](https://x.example/y) [c](#d) ![e](e.png) [f](mailto:g@h.example)"


@pytest.fixture(autouse=True)
def outside_of_workflows(monkeypatch):
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)


@pytest.fixture(scope="module")
def release():
    loader = importlib.machinery.SourceFileLoader("release", str(FILE))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


def repository(folder, urls=f'{{ Repository = "{ADDRESS}/" }}', changes="## 1.2.3"):
    (folder / "pyproject.toml").write_text(f'[project]\nversion = "1.2.3"\nurls = {urls}\n')
    (folder / "CHANGELOG.md").write_text(f"# Changes\n\n{changes}\n")
    (folder / "README.md").write_text(README)
    return folder


def distributions(folder, version="1.2.3", urls=(ADDRESS,), text="[a](https://x.example)"):
    lines = [f"Version: {version}", *[f"Project-URL: Repository, {url}" for url in urls]]
    metadata = "\n".join(["Metadata-Version: 2.4", "Name: evertrace", *lines, "", text]).encode()
    wheel, source = folder / "evertrace-1-py3-none-any.whl", folder / "evertrace-1.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("evertrace-1.dist-info/METADATA", metadata)
    with tarfile.open(source, "w:gz") as archive:
        for name in ("evertrace-1/PKG-INFO", "evertrace-1/src/PKG-INFO"):
            member = tarfile.TarInfo(name)
            member.size = len(metadata)
            archive.addfile(member, io.BytesIO(metadata))
    return str(wheel), str(source)


def test_links_to_files_lead_to_those_of_the_release(release, tmp_path):
    assert release.main("prepare", root=repository(tmp_path)) == 0
    page = (tmp_path / "README.md").read_text()
    files = f"{ADDRESS}/blob/v1.2.3"
    assert page == README.replace("docs/a", f"{files}/docs/a").replace("e.png", f"{files}/e.png")


def test_the_workflow_tells_the_address(release, tmp_path, monkeypatch):
    root = repository(tmp_path, urls="{}   # none")
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://host.example")
    monkeypatch.setenv("GITHUB_REPOSITORY", "us/evertrace")
    assert release.main("prepare", root=root) == 0
    files = f"{ADDRESS}/blob/v1.2.3"
    assert f"{files}/docs/a.md#b" in (tmp_path / "README.md").read_text()
    assert release.project(root)["urls"] == {
        "Repository": ADDRESS,
        "Documentation": f"{files}/docs/index.md",
        "Changelog": f"{files}/CHANGELOG.md",
        "Security": f"{files}/SECURITY.md",
    }
    for name in ("docs/index.md", "CHANGELOG.md", "SECURITY.md"):
        assert (ROOT / name).is_file()


def test_an_address_that_is_written_down_stays(release, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://another.example")
    monkeypatch.setenv("GITHUB_REPOSITORY", "them/fork")
    before = (repository(tmp_path) / "pyproject.toml").read_text()
    assert release.main("prepare", root=tmp_path) == 0
    assert (tmp_path / "pyproject.toml").read_text() == before
    assert "another.example" not in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("what", ["prepare", "check"])
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"urls": "{}"}, "no address is known: write `urls = { Repository = "),
        ({"urls": '{ Repository = "host" }'}, "no address is known"),
        ({"changes": "## Unreleased\n## 1.2.34"}, "CHANGELOG.md has no section `## 1.2.3`"),
    ],
)
def test_what_is_missing_is_refused(release, tmp_path, capsys, what, options, text):
    assert release.main(what, root=repository(tmp_path, **options)) == 1
    assert f"not to be released:\n  {text}" in capsys.readouterr().out
    assert (tmp_path / "README.md").read_text() == README


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, ""),
        ({"version": "1.2.4"}, "it is version 1.2.4, not 1.2.3"),
        ({"urls": ()}, "it does not name the repository"),
        ({"text": README}, "a link leads nowhere on the index: docs/a.md#b"),
    ],
)
def test_distributions_that_say_something_else_are_refused(
    release, tmp_path, capsys, options, text
):
    files = distributions(tmp_path, **options)
    assert release.main("check", *files, root=repository(tmp_path)) == bool(text)
    said = capsys.readouterr().out
    assert said.count(text) == 2 if text else not said


def test_this_repository_waits_for_an_address():
    done = subprocess.run(
        [sys.executable, FILE, "check"], capture_output=True, text=True, check=False
    )
    urls = re.search(r"^urls = (.*?) *(#|$)", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert ("no address is known" in done.stdout) == (urls[1] == "{}")
    workflow = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    check, publish = workflow.index("release check dist/*"), workflow.index("pypi-publish@")
    assert check < publish
    assert workflow.count("release prepare") == 2
