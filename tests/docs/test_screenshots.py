"""Pictures of pages: taken where there is a browser, which finds what is too wide or missing."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "docs" / "screenshots.py"
TEXT = "<p>" + "Some words of a page. " * 20


HEAD = '<meta name="viewport" content="width=device-width">'


def loaded():
    """Return the program as a module."""
    sys.path[0:0] = [str(FILE.parent)]  # where its own modules are
    try:
        spec = importlib.util.spec_from_file_location("screenshots", FILE)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        del sys.path[0]
    return module


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
    module = loaded()
    assert (len(module.PAGES), len(module.WIDTHS)) == (5, 2)
    sources = [name.removesuffix("index.html").rstrip("/") or "index" for name in module.PAGES]
    made = {name for name in sources if name.startswith("reference/evertrace.")}
    assert all((FILE.parent / f"{name}.md").exists() for name in sources if name not in made)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Return what is said of some pages: {name of the page: texts}, and the folder of pictures."""
    if loaded().browser.find() is None:
        pytest.skip("there is no Chromium or Chrome, which takes the pictures")
    folder = tmp_path_factory.mktemp("pages")
    for name, body in BODIES.items():
        (folder / f"{name}.html").write_text(HEAD + TEXT + body)
    (folder / "empty.html").write_text(HEAD)
    status, said = take(folder, *(f"{name}.html" for name in (*BODIES, "empty")))
    assert status == 1
    return said, folder / "out"


BODIES = {
    "good": "<details><summary>more</summary>more</details>",
    "wide": '<div style="width: 500px">x</div><img src="no.png">',
    "kept": '<div style="overflow-x: auto"><pre style="width: 900px">x</pre></div>',
    "shut": '<details onclick="return false"><summary>more</summary>more</details>',
    "inner": '<details><summary>more</summary><div style="width: 600px">x</div></details>',
    "raises": "<script>null.length</script>",
}


MISTAKES = [
    *("shut.html ({}): a part that is folded does not open", "empty.html ({}): there is no text"),
    "wide.html ({}): /no.png is no picture",
    "wide.html ({}): the browser says: Failed to load resource: the server responded with a "
    "status of 404 (File not found) /no.png",
    "raises.html ({}): the browser says: TypeError: Cannot read properties of null (reading "
    "'length')",
]
ON_A_PHONE = [
    'wide.html (phone): 508 wide, the window 390: <div style="width: 500px">x</div>',
    'inner.html (phone): 608 wide, the window 390: <div style="width: 600px">x</div>',
]


@pytest.mark.slow
def test_a_browser_finds_mistakes(found):
    said = [re.sub(r"http://[\d.:]+", "", line) for line in found[0].splitlines()[:-1]]
    both = [text.format(kind) for text in MISTAKES for kind in ("phone", "desk")]
    assert sorted(said) == sorted([*both, *ON_A_PHONE])


@pytest.mark.slow
def test_a_browser_takes_pictures(found):
    taken = {path.name for path in found[1].iterdir()}
    assert {"good-phone.png", "good-desk.png", "good-phone-open.png", "wide-desk.png"} <= taken
    assert (found[1] / "good-desk.png").read_bytes()[16:20] == (1280).to_bytes(4, "big")
    assert (found[1] / "wide-phone.png").read_bytes()[16:20] == (390).to_bytes(4, "big")
