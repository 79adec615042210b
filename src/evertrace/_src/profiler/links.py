"""A link by which Perfetto's viewer, which runs in the browser, reads a file of this machine."""

from __future__ import annotations

import http.server
import os
from typing import Any

_PORT = 9001  # the one that the viewer's own rules let it read from
_VIEWER = "https://ui.perfetto.dev"


class _Handler(http.server.BaseHTTPRequestHandler):
    """Gives one file to the viewer, and nothing else to anybody."""

    path_of_file = ""
    is_done = False

    def do_GET(self) -> None:
        """Send the file, if it is what is asked for."""
        if self.path != f"/{os.path.basename(self.path_of_file)}":
            self.send_error(404)
            return
        with open(self.path_of_file, "rb") as file:
            data = file.read()
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", _VIEWER)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        type(self).is_done = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of requests."""


def serve(path: str) -> None:
    """Print a link that opens a file in the viewer, and wait until the viewer has read it."""
    handler = type("Handler", (_Handler,), {"path_of_file": path})
    with http.server.HTTPServer(("127.0.0.1", _PORT), handler) as server:
        file = f"http://127.0.0.1:{server.server_port}/{os.path.basename(path)}"
        print(f"open in a browser: {_VIEWER}/#!/?url={file}", flush=True)
        while not handler.is_done:
            server.handle_request()
