"""Checks the links of pages: files, anchors and, with ``--outside``, the sites that they lead to.

    python docs/links.py [--outside] [build/docs/dirhtml]

Built pages are read as browsers read them, the Markdown files outside of this folder as GitHub
shows them. Entries of the reference without a text are mistakes as well.
"""

import re
import sys
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "build" / "docs" / "dirhtml"
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md")
AGENT = {"User-Agent": "Mozilla/5.0 (links of documentation)"}  # some sites refuse Python's


class Link(NamedTuple):
    """A link: the file and line it is in, and where it leads to."""

    file: Path
    line: int
    target: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.target}"


class Page(HTMLParser):
    """A page that was built: its links, anchors, and entries without a text."""

    def __init__(self, file: Path):
        super().__init__()
        self.links: list[Link] = []
        self.anchors: set[str] = set()
        self.blanks: list[Link] = []
        self._file, self._entry, self._is_empty = file, "", False
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element names and where it leads to."""
        self._is_empty = tag == "dd"
        for key, value in attrs:
            if key in ("id", "name") and value:
                self.anchors.add(value)
                self._entry = value if tag == "dt" else self._entry
            elif key in ("href", "src") and value:
                self.links.append(Link(self._file, self.getpos()[0], value))

    def handle_data(self, data: str) -> None:
        """Note that the last element has a text."""
        self._is_empty = self._is_empty and not data.strip()

    def handle_endtag(self, tag: str) -> None:
        """Note entries that end without a text."""
        if tag == "dd" and self._is_empty:
            self.blanks.append(Link(self._file, self.getpos()[0], self._entry))
        self._is_empty = False


def headings(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def written(file: Path) -> Iterator[Link]:
    """Find the links of a Markdown file."""
    text = re.sub(r"`[^`\n]*`", "", file.read_text(encoding="utf-8"))
    for match in re.finditer(r"\]\(([^)\s]+)\)|<(https?://[^>\s]+)>", text):
        yield Link(file, text.count("\n", 0, match.start()) + 1, match[1] or match[2])


def broken(links: list[Link], anchors: dict[Path, set[str]]) -> list[str]:
    """Return what is wrong with links to files, given the anchors of those that have some."""
    wrong = []
    for link in links:
        path, anchor = urldefrag(link.target)
        path = unquote(path.partition("?")[0])
        target = (link.file.parent / path).resolve() if path else link.file.resolve()
        if target.is_dir() and (target / "index.html").exists():
            target /= "index.html"
        if not target.exists():
            wrong.append(f"{link}: there is no such file")
        elif anchor and target in anchors and unquote(anchor) not in anchors[target]:
            wrong.append(f"{link}: {target.name} has no such anchor")
    return wrong


def is_outside(link: Link) -> bool:
    """Say whether a link leads to another site."""
    return re.match(r"(https?:)?//", link.target) is not None


def is_file(link: Link) -> bool:
    """Say whether a link leads to a file."""
    return re.match(r"\w+:|//", link.target) is None


def unreachable(links: list[Link]) -> list[str]:
    """Return the links to other sites that do not answer, each site asked once."""
    wrong, asked = [], {}
    for link in links:
        url = urldefrag(link.target).url
        if url not in asked:
            try:
                request = urllib.request.Request(url, headers=AGENT)  # noqa: S310 - http or https
                with urllib.request.urlopen(request, timeout=30):  # noqa: S310
                    asked[url] = ""
            except OSError as error:
                asked[url] = str(error)
        if asked[url]:
            wrong.append(f"{link}: {asked[url]}")
    return wrong


def check(built: Path, pages: list[Path], outside: bool) -> tuple[list[str], int]:
    """Return what is wrong with the pages, and how many links they have."""
    made = {file.resolve(): Page(file) for file in sorted(built.rglob("*.html"))}
    anchors = {file: page.anchors for file, page in made.items()}
    anchors |= {p.resolve(): headings(p.read_text(encoding="utf-8")) for p in pages}
    links = [link for page in made.values() for link in page.links]
    links += [link for page in pages for link in written(page)]
    wrong = broken([link for link in links if is_file(link)], anchors)
    wrong += [f"{entry}: no text" for page in made.values() for entry in page.blanks]
    if outside:
        wrong += unreachable([link for link in links if is_outside(link)])
    return wrong, len(links)


def main(arguments: list[str]) -> int:
    """Check what was built; returns the exit status."""
    outside = "--outside" in arguments
    folders = [Path(x) for x in arguments if x != "--outside"]
    built = folders[0] if folders else BUILT
    if not (built / "index.html").exists():
        print(f"{built} has no pages: run scripts/docs first", file=sys.stderr)
        return 2
    wrong, count = check(built, [ROOT / page for page in PAGES], outside)
    print(*wrong, sep="\n")
    print(f"{count} links, {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
