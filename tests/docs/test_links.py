"""Links of pages lead somewhere: the checker that `scripts/docs` runs finds those that do not."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def links():
    spec = importlib.util.spec_from_file_location("links", DOCS / "links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_of_pages_outside_of_the_folder_lead_somewhere(links, tmp_path):
    pages = [links.ROOT / page for page in links.PAGES]
    wrong, count = links.check(tmp_path, pages, outside=False)
    assert wrong == []
    assert count > 10


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("other/", None),
        ("other/#part", None),
        ("other/index.html?x=1#part", None),
        ("#here", None),
        ("mailto:a@b.org", None),
        ("https://example.org/#any", None),
        ("data:,x", None),
        ("#there", "index.html has no such anchor"),
        ("other/#parts", "index.html has no such anchor"),
        ("others/", "there is no such file"),
    ],
)
def test_a_link_is_followed(links, tmp_path, link, wrong):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").write_text('<h1 id="part">')
    (tmp_path / "index.html").write_text(f'<p id="here">\n<a href="{link}">x</a>')
    found, count = links.check(tmp_path, [], outside=False)
    assert count == 1
    expected = [f"{tmp_path / 'index.html'}:2: {link}: {wrong}"] if wrong else []
    assert found == expected


def test_a_link_of_a_markdown_page_is_followed(links, tmp_path):
    page = tmp_path / "page.md"
    text = "# One *two*\n```\n# not one\n```\n[a](#one-two) [b](#not-one) `[c](no)`\n[d](no.md)\n"
    page.write_text(text)
    found, _ = links.check(tmp_path, [page], outside=False)
    assert found == [
        f"{page}:5: #not-one: page.md has no such anchor",
        f"{page}:6: no.md: there is no such file",
    ]


def test_an_entry_without_a_text_is_found(links, tmp_path):
    page = tmp_path / "index.html"
    page.write_text('<dt id="a"></dt><dd>\n</dd>\n<dt id="b"></dt><dd><p>text</p></dd>')
    assert links.check(tmp_path, [], outside=False)[0] == [f"{page}:2: a: no text"]


def test_other_sites_are_asked_only_when_that_is_wanted(links, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<http://127.0.0.1:9/> [b](http://127.0.0.1:9/#x)\n")  # where nothing listens
    assert links.check(tmp_path, [page], outside=False) == ([], 2)
    found, _ = links.check(tmp_path, [page], outside=True)
    assert len(found) == 2
    assert "refused" in found[0]
