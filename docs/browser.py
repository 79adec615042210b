"""A browser without a window, spoken to by Chromium's DevTools protocol over a pair of pipes.

Source: https://chromedevtools.github.io/devtools-protocol; with ``--remote-debugging-pipe`` the
browser reads from file 3 and writes to file 4, each message as JSON before a zero byte.
"""

import base64
import collections
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PATIENCE = 60  # seconds for an answer
_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
    "--disable-extensions", "--disable-sync", "--no-first-run", "--no-default-browser-check",
    "--remote-debugging-pipe",
)  # fmt: skip


def find() -> str | None:
    """Return the path of a browser, which ``BROWSER`` may name; None where there is none."""
    return next(filter(None, map(shutil.which, (os.environ.get("BROWSER", ""), *NAMES))), None)


class Browser:
    """A browser with one page, for a ``with`` block.

    Attributes:
      complaints: what the browser has said of the page since it was opened: files that are not
        there, errors of scripts.
    """

    def __init__(self, path: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="browser")
        theirs, self._out = os.pipe()
        self._in, back = os.pipe()
        # Above 4, so that neither is in the other's place.
        given = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs, back)]

        def arrange() -> None:
            os.dup2(given[0], 3)
            os.dup2(given[1], 4)

        self._process = subprocess.Popen(
            [path, *_OPTIONS, f"--user-data-dir={self._profile}", "about:blank"],
            preexec_fn=arrange, close_fds=False, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (theirs, back, *given):
            os.close(end)
        self._count, self._buffer, self._session = 0, b"", ""
        self._events: collections.deque[dict[str, Any]] = collections.deque()
        self.complaints: list[str] = []

    def __enter__(self) -> "Browser":
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "DOM"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._out)  # by which it ends
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        shutil.rmtree(self._profile, ignore_errors=True)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Have the browser do something; returns its answer.

        Raises:
          RuntimeError: it cannot.
          TimeoutError: it does not answer.
        """
        self._count += 1
        said: dict[str, Any] = {"id": self._count, "method": method, "params": params}
        if self._session:
            said["sessionId"] = self._session
        os.write(self._out, json.dumps(said).encode() + b"\0")
        while True:
            heard = self._hear(method)
            if heard.get("id") == self._count:
                if "error" in heard:
                    raise RuntimeError(f"{method}: {heard['error']['message']}")
                return heard["result"]
            self._note(heard)

    def _hear(self, what: str) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], max(end - time.monotonic(), 0))[0]:
                raise TimeoutError(f"the browser does not answer to {what}")
            if not (read := os.read(self._in, 1 << 20)):
                raise RuntimeError(f"the browser ended at {what}")
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        said = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            text = details.get("exception", {}).get("description", details["text"])
            self.complaints.append(text.partition("\n")[0])
        elif event.get("method") == "Log.entryAdded" and said["entry"]["level"] == "error":
            entry = said["entry"]
            self.complaints.append(f"{entry['text']} {entry.get('url', '')}".strip())
        else:
            self._events.append(event)

    def open(self, url: str, width: int, height: int, is_phone: bool) -> None:
        """Show a page in a window of that size; returns when all of it is there."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=is_phone,
        )  # fmt: skip
        self._events.clear()
        self.complaints.clear()
        self.ask("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in self._events):
            self._note(self._hear(f"opening {url}"))
        self.run("document.fonts.ready.then(() => true)")

    def run(self, script: str) -> Any:
        """Return the value of an expression of JavaScript on the page, or what it promises."""
        found = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def click(self, element: str) -> None:
        """Click with the mouse near the beginning of an element, an expression of JavaScript."""
        x, y = self.run(
            f"""(() => {{ const found = {element};
            found.scrollIntoView({{block: "center"}});
            const box = found.getBoundingClientRect();
            return [box.x + Math.min(box.width / 2, 20), box.y + box.height / 2]; }})()"""
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )  # fmt: skip

    def picture(self, file: Path, width: int, most: int) -> None:
        """Write the page as it is now, from its top to its end or to a height, as PNG."""
        height = min(self.run("document.documentElement.scrollHeight"), most)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        made = self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(made["data"]))
