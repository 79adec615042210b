"""Takes pictures of pages in a browser, as wide as a phone and as a desk, and measures them.

    python docs/screenshots.py [--out build/docs/screenshots] [FOLDER_OR_FILE...]

needs Chromium or Chrome, which ``BROWSER`` may name; without one nothing is done, and it says so.
By default the pages are five of the built ones. A page that is wider than the window, or that the
browser finds a mistake in, is an error.
"""

import argparse
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

BUILT = Path(__file__).resolve().parents[1] / "build" / "docs"
PAGES = (
    "index.html", "guides/cookbook/index.html", "guides/benchmarks/index.html",
    "tutorial/03-why-did-it-retrace/index.html", "reference/evertrace.nn/index.html",
)  # fmt: skip
WIDTHS = {"phone": 390, "desk": 1280}
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MEASURE = """<iframe id=f src="{page}" width={width} height=900></iframe><pre id=out></pre><script>
f.onload = () => {{
  const page = f.contentDocument, inside = page.documentElement;
  const images = [...page.images].filter(x => x.complete && !x.naturalWidth).map(x => x.src);
  out.textContent = JSON.stringify({{
    wide: inside.scrollWidth, window: inside.clientWidth, images,
    text: page.body.innerText.length}});
}}</script>"""


def find_browser() -> str | None:
    """Return the path of a browser, None where there is none."""
    return next(filter(None, map(shutil.which, (os.environ.get("BROWSER", ""), *NAMES))), None)


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves pages, and for each width one that measures another."""

    def do_GET(self) -> None:
        """Answer with the page that measures, or with a file."""
        if made := re.fullmatch(r"/measure/(\d+)/(.*)", self.path):
            body = MEASURE.format(width=made[1], page=f"/{made[2]}").encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def browse(browser: str, *options: str) -> str:
    """Run the browser without a window; returns what it prints."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={profile}", "--virtual-time-budget=5000", *options],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    return done.stdout


def look(browser: str, url: str, page: str, out: Path) -> list[str]:
    """Take the pictures of a page; returns what is wrong with it."""
    wrong, name = [], re.sub(r"[^\w.]+", "-", page.removesuffix(".html").removesuffix("/index"))
    for kind, width in WIDTHS.items():
        picture = out / f"{name}-{kind}.png"
        size = f"--window-size={width},{1600 if kind == 'phone' else 1200}"
        browse(browser, size, f"--screenshot={picture}", f"{url}/{page}")
        if not picture.exists():
            wrong.append(f"{page} ({kind}): there is no picture")
        text = browse(browser, "--dump-dom", f"{url}/measure/{width}/{page}")
        found = re.search(r"<pre id=\"out\">(.*?)</pre>", text)
        facts = json.loads(found[1]) if found and found[1] else {"text": 0}
        if facts["text"] < 100:
            wrong.append(f"{page} ({kind}): there is no text")
        elif facts["wide"] > facts["window"]:
            wrong.append(f"{page} ({kind}): {facts['wide']} wide, the window {facts['window']}")
        wrong += [f"{page} ({kind}): {image} is no picture" for image in facts.get("images", ())]
    return wrong


def main() -> int:
    """Take the pictures; returns the exit status."""
    parser = argparse.ArgumentParser(description="Take pictures of pages in a browser.")
    parser.add_argument("--out", type=Path, default=BUILT / "screenshots")
    parser.add_argument("--root", type=Path, default=BUILT / "dirhtml", help="where pages are")
    parser.add_argument("pages", nargs="*", default=PAGES, help="paths below that")
    options = parser.parse_args()
    if (browser := find_browser()) is None:
        print(f"no pictures: there is none of {', '.join(NAMES)}; BROWSER may name one")
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    handler = functools.partial(Server, directory=str(options.root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        wrong = [x for page in options.pages for x in look(browser, url, page, options.out)]
        server.shutdown()
    print(*wrong, sep="\n")
    print(f"{len(options.pages)} pages in {len(WIDTHS)} widths, in {options.out}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
