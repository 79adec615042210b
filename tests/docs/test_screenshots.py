"""Pictures of pages: taken where there is a browser, which finds what is too wide or missing."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "docs" / "screenshots.py"
TEXT = "<p>" + "Some words of a page. " * 20


def take(folder, *pages, **environment):
    """Run the program on pages in a folder; returns its exit status and what it prints."""
    command = [sys.executable, FILE, "--root", folder, "--out", folder / "out", *pages]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **environment)
    assert not done.stderr
    return done.returncode, done.stdout


def test_without_a_browser_nothing_is_done_and_said_so(tmp_path):
    status, said = take(tmp_path, "index.html", env={"PATH": ""})
    assert (status, list(tmp_path.iterdir())) == (0, [])
    assert said.startswith("no pictures: there is none of chromium")


def test_five_pages_are_looked_at_in_two_widths():
    spec = importlib.util.spec_from_file_location("screenshots", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (len(module.PAGES), len(module.WIDTHS)) == (5, 2)
    sources = [name.removesuffix("index.html").rstrip("/") or "index" for name in module.PAGES]
    made = {name for name in sources if name.startswith("reference/evertrace.")}
    assert all((FILE.parent / f"{name}.md").exists() for name in sources if name not in made)


@pytest.mark.slow
def test_a_browser_takes_pictures_and_finds_mistakes(tmp_path):
    spec = importlib.util.spec_from_file_location("screenshots", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.find_browser() is None:
        pytest.skip("there is no Chromium or Chrome, which takes the pictures")
    (tmp_path / "good.html").write_text(TEXT)
    (tmp_path / "wide.html").write_text(
        TEXT + '<div style="width: 500px">x</div><img src="no.png">'
    )
    assert take(tmp_path, "good.html")[0] == 0
    status, said = take(tmp_path, "wide.html")
    assert status == 1
    assert "wide.html (phone): 508 wide, the window 390" in said
    assert "(desk): 5" not in said
    assert said.count("no.png is no picture") == 2
    names = {"good-phone.png", "good-desk.png", "wide-phone.png", "wide-desk.png"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    assert (tmp_path / "out" / "good-desk.png").read_bytes()[16:20] == (1280).to_bytes(4, "big")
