"""A page served to this machine alone while something runs: `taut doctor --live`, `taut view --live`.

It listens on 127.0.0.1, accepts only requests whose host is this machine (requests from another site's
page, or by DNS rebinding, are refused), and only below an unguessable path. An outer page shows the
page itself in a frame, and reloads it whenever its version changes.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tautograd._files.json_text import parsed
from tautograd._files.printable import utf8

_FOLDER = Path(__file__).parent
MOST_SENT = 1 << 16  # bytes of one request
_POLICY = (
    "default-src 'none'; frame-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Refused(Exception):
    """A change that cannot be made, and the reason."""


class _Server(ThreadingHTTPServer):
    """Handles each request in its own thread, and prints no errors of requests."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing, since the terminal is the script's: whoever reached the port could write to it."""


class LocalPage:
    """Serves `page()` whenever `state()` has a new version; `change(wanted)` receives what a reader sends."""

    def __init__(
        self,
        page: Callable[[], str],
        state: Callable[[], dict[str, Any]],
        change: Callable[[dict[str, Any]], None] | None = None,
        port: int = 0,
    ) -> None:
        self._page, self._state, self._change = page, state, change
        self._token = secrets.token_urlsafe(16)
        self._asked = self._shown = 0.0  # when the state was last requested, and the page
        self._server = _Server(("127.0.0.1", port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{self._token}/"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def last_look(self, patience: float = 5.0) -> None:
        """After the end: wait until the current reader has seen it."""
        end = time.monotonic()
        while time.monotonic() < end + patience:
            if self._shown >= end or self._asked < end - 3:
                return
            time.sleep(0.05)

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, str, bytes]:
        """Status, content type and content."""
        if path == "" and method == "GET":
            text = (_FOLDER / "local_page.html").read_text(encoding="utf-8")
            return 200, "text/html; charset=utf-8", text.encode()
        if path == "state" and method == "GET":
            self._asked = time.monotonic()
            return 200, "application/json", json.dumps(self._state()).encode()
        if path == "page" and method == "GET":
            text = self._page()
            self._shown = time.monotonic()
            return 200, "text/html; charset=utf-8", utf8(text)
        if path == "change" and method == "POST" and self._change is not None:
            try:
                wanted = parsed(body)
                if not isinstance(wanted, dict):
                    raise Refused("not a change")
                self._change(wanted)
            except (Refused, ValueError) as reason:
                return 400, "application/json", json.dumps({"error": str(reason)}).encode()
            return 200, "application/json", b"{}"
        return 404, "text/plain", b"no such page\n"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        served = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 30

            def do_GET(self) -> None:
                self._respond("GET", b"")

            def do_POST(self) -> None:
                size = self.headers.get("Content-Length", "0")
                count = int(size) if size.isdecimal() else 0
                self._respond("POST", self.rfile.read(min(count, MOST_SENT)))

            def _respond(self, method: str, body: bytes) -> None:
                here = f"127.0.0.1:{served._server.server_port}"
                origin = self.headers.get("Origin")
                start = f"/{served._token}/"
                path = self.path.partition("?")[0]
                if self.headers.get("Host") != here or origin not in (None, f"http://{here}"):
                    found: tuple[int, str, bytes] = (403, "text/plain", b"not from here\n")
                elif not path.startswith(start):
                    found = 404, "text/plain", b"no such page\n"
                else:
                    found = served.answer(method, path.removeprefix(start), body)
                status, kind, content = found
                with contextlib.suppress(OSError):  # the reader has left
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(content)))
                    self.send_header("Cache-Control", "no-store")
                    if path == start:
                        self.send_header("Content-Security-Policy", _POLICY)
                    self.end_headers()
                    self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                """Log nothing: the terminal is the script's."""

        return Handler
