"""Takes pictures of pages in a browser, as wide as a phone and as a desk, and measures them.

    python docs/screenshots.py [--root FOLDER] [--out build/docs/screenshots] [FILE...]

needs Chromium or Chrome, which ``BROWSER`` may name; without one nothing is done, and it says so.
By default the pages are some of the built ones and, made for that, those of `specimens`: what
notebooks, the report and the profile show. A page that is wider than the window, that has no text,
or of which the browser complains, is an error; so is what does not open where it is clicked on.
"""

import argparse
import functools
import http.server
import re
import subprocess
import sys
import threading
from pathlib import Path

import browser

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "build" / "docs"
PAGES = (
    "index.html", "guides/cookbook/index.html", "guides/benchmarks/index.html",
    "tutorial/03-why-did-it-retrace/index.html", "reference/evertrace.nn/index.html",
)  # fmt: skip
SPECIMENS = (
    "jaxprs.html", "arrays.html", "structures.html", "explained.html", "profile.html",
    "treescope.html", "report.html", "notebook.html",
)  # fmt: skip
WIDTHS = {"phone": (390, 844), "desk": (1280, 900)}
_MOST = 3000  # pixels of a page that are taken
# All elements, those in the shadows of others too.
_ALL = """const all = root => [...root.querySelectorAll("*")].flatMap(
    x => x.shadowRoot ? [x, ...all(x.shadowRoot)] : [x]);"""
_FACTS = (
    """(() => {"""
    + _ALL
    + """
  const isKept = x => {   // inside of what scrolls by itself
    for (x = x.parentElement; x && x !== document.body; x = x.parentElement)
      if (getComputedStyle(x).overflowX !== "visible") return true;
    return false;
  };
  const elements = all(document);
  const shadows = elements.filter(x => x.shadowRoot).map(x => x.shadowRoot.textContent.length);
  const wide = elements.filter(x => x.getBoundingClientRect().right > WIDTH + 1 && !isKept(x));
  return {
    width: document.documentElement.scrollWidth,
    wide: wide.slice(-1).map(x => x.outerHTML.slice(0, 80)),
    images: [...document.images].filter(x => !x.naturalWidth).map(x => x.src),
    text: shadows.reduce((a, b) => a + b, document.body.innerText.length)};
})()"""
)
# Pictures that wait for being scrolled to, and what scripts draw in the next frames.
_LOAD = """(async () => {
  for (const image of document.images) image.loading = "eager";
  await Promise.all([...document.images].map(x => x.decode().catch(() => 0)));
  for (let i = 0; i < 5; i++) await new Promise(requestAnimationFrame);
})()"""
_OPEN = "x => { if (x.control) x.control.checked = true; else x.parentElement.open = true; }"
# What opens a part that is folded, by HTML itself or by treescope.
_FOLDED = (
    "(() => {"
    + _ALL
    + """
  const opens = x => x.matches("details:not([open]) > summary, " +
    "label:has(> .foldable_node_toggle:not(:checked))");
  return all(document).filter(x => opens(x) && x.checkVisibility());
})()"""
)


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves pages."""

    def do_GET(self) -> None:
        """Answer with a file, or with nothing where a browser asks for a page's sign by itself."""
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def look(window: browser.Browser, url: str, page: str, out: Path) -> list[str]:
    """Take the pictures of a page; returns what is wrong with it."""
    wrong, name = [], page.removeprefix("dirhtml/").removesuffix(".html").removesuffix("/index")
    name = re.sub(r"[^\w.]+", "-", name)
    for kind, (width, height) in WIDTHS.items():
        window.open(f"{url}/{page}", width, height, kind == "phone")
        window.run(_LOAD)
        said = _measured(window, width)
        window.picture(out / f"{name}-{kind}.png", width, _MOST)
        if _folded(window) != "[]":
            said += [*_opened(window), *_measured(window, width)]
            window.picture(out / f"{name}-{kind}-open.png", width, _MOST)
        wrong += [f"{page} ({kind}): {what}" for what in dict.fromkeys(said)]
    return wrong


def _folded(window: browser.Browser) -> str:
    return window.run(f"JSON.stringify({_FOLDED}.map(x => x.outerHTML))")


def _opened(window: browser.Browser) -> list[str]:
    """Click on the first part that is folded, which has to open, and open the others."""
    before = _folded(window)
    window.click(f"{_FOLDED}[0]")
    if _folded(window) == before:
        return ["a part that is folded does not open"]
    for _ in range(20):  # what is inside of others is to be seen when they are open
        window.run(f"{_FOLDED}.forEach({_OPEN})")
    return []


def _measured(window: browser.Browser, width: int) -> list[str]:
    facts = window.run(_FACTS.replace("WIDTH", str(width)))
    wrong = [f"the browser says: {what}" for what in window.complaints]
    if facts["text"] < 100:
        wrong.append("there is no text")
    if facts["width"] > width:
        wrong.append(f"{facts['width']} wide, the window {width}: {' '.join(facts['wide'])}")
    return wrong + [f"{image} is no picture" for image in facts["images"]]


def specimens() -> list[str]:
    """Make the pages of `specimens`, in a process of their own; returns their paths."""
    folder = BUILT / "specimens"
    subprocess.run([sys.executable, HERE / "specimens.py", folder], check=True)
    return [f"specimens/{name}" for name in SPECIMENS]


def main() -> int:
    """Take the pictures; returns the exit status."""
    parser = argparse.ArgumentParser(description="Take pictures of pages in a browser.")
    parser.add_argument("--out", type=Path, default=BUILT / "screenshots")
    parser.add_argument("--root", type=Path, default=BUILT, help="where pages are")
    parser.add_argument("pages", nargs="*", help="paths below that")
    options = parser.parse_args()
    if (path := browser.find()) is None:
        print(f"no pictures: there is none of {', '.join(browser.NAMES)}; BROWSER may name one")
        return 0
    pages = options.pages or [*(f"dirhtml/{name}" for name in PAGES), *specimens()]
    options.out.mkdir(parents=True, exist_ok=True)
    for old in options.out.glob("*.png"):
        old.unlink()
    handler = functools.partial(Server, directory=str(options.root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        with browser.Browser(path) as window:
            wrong = [x for page in pages for x in look(window, url, page, options.out)]
        server.shutdown()
    print(*wrong, sep="\n")
    print(f"{len(pages)} pages in {len(WIDTHS)} widths, in {options.out}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
