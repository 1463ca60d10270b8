"""Firefox without a window, driven by its own protocol, Marionette: JSON with its length before it, on a socket."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from .browser import BrowserError

NAMES = ("firefox-esr", "firefox")
_PREFERENCES = {
    "marionette.port": 0,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "app.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "dom.disable_open_during_load": False,
}
_KEYS = {
    "ArrowRight": "\ue014", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowDown": "\ue015",
    "Home": "\ue011", "End": "\ue010", "Enter": "\ue007", "Tab": "\ue004", "Escape": "\ue00c",
}  # fmt: skip


def firefox() -> str | None:
    """Where it is; `FIREFOX` says it for one that is not on the path."""
    named = os.environ.get("FIREFOX")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


class Firefox:
    """One process with one page; the same calls as `Browser` has, as far as they are needed."""

    def __init__(self, executable: str) -> None:
        self._folder = tempfile.TemporaryDirectory(
            prefix="taut-firefox-", ignore_cleanup_errors=True
        )
        profile = Path(self._folder.name)
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in _PREFERENCES.items()]
        (profile / "user.js").write_text("\n".join(lines), encoding="utf-8")
        self._process = subprocess.Popen(
            [executable, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote",
             "--profile", str(profile)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(profile), "MOZ_HEADLESS_WIDTH": "2600", "MOZ_HEADLESS_HEIGHT": "1500"},
        )  # fmt: skip
        self._number = 0
        self._socket: socket.socket | None = None
        try:
            self._socket = self._connected(profile / "MarionetteActivePort")
            self._buffer = b""
            self._read()  # who it is
            self("WebDriver:NewSession", capabilities={})
            self("WebDriver:SetWindowRect", width=2600, height=1500)
            self._privileged("Services.console.reset();")
        except BaseException:
            self._end()
            raise

    def _connected(self, port: Path) -> socket.socket:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if port.exists() and (text := port.read_text().strip()):
                return socket.create_connection(("127.0.0.1", int(text)), 60)
            time.sleep(0.1)
        raise BrowserError("Firefox has not said where it listens")

    def close(self) -> None:
        """End the browser."""
        try:
            self("Marionette:Quit", flags=["eForceQuit"])
        except (OSError, BrowserError):
            self._process.kill()
        self._end()

    def _end(self) -> None:
        if self._socket is not None:
            self._socket.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(20)
        self._folder.cleanup()

    # --- messages ------------------------------------------------------------------------------

    def __call__(self, command: str, **parameters: Any) -> Any:
        self._number += 1
        body = json.dumps([0, self._number, command, parameters]).encode()
        assert self._socket is not None
        self._socket.sendall(str(len(body)).encode() + b":" + body)
        _, _, error, result = self._read()
        if error:
            raise BrowserError(f"{command}: {error['message']}")
        return result

    def _read(self) -> Any:
        while b":" not in self._buffer:
            self._buffer += self._received()
        length, _, self._buffer = self._buffer.partition(b":")
        while len(self._buffer) < int(length):
            self._buffer += self._received()
        body, self._buffer = self._buffer[: int(length)], self._buffer[int(length) :]
        return json.loads(body)

    def _received(self) -> bytes:
        assert self._socket is not None
        part = self._socket.recv(1 << 20)
        if not part:
            raise BrowserError("Firefox has gone")
        return part

    def _privileged(self, script: str, *arguments: Any) -> Any:
        """The value of a script that may ask the browser itself."""
        self("Marionette:SetContext", value="chrome")
        try:
            return self("WebDriver:ExecuteScript", script=script, args=list(arguments))["value"]
        finally:
            self("Marionette:SetContext", value="content")

    # --- what a reader does --------------------------------------------------------------------

    @property
    def errors(self) -> list[str]:
        """What the page complained of since it was opened."""
        found: list[str] = self._privileged(
            "return Services.console.getMessageArray().map((m) => { try {"
            "m.QueryInterface(Ci.nsIScriptError);"
            "return /^(file:|http:.*127)/.test(m.sourceName) ? m.errorMessage : ''; } catch { return ''; } })"
            ".filter(Boolean)"
        )
        return found

    def size(
        self, width: int, height: int = 900, *, dark: bool = False, still: bool = True
    ) -> None:
        """The page's size; light or dark; with or without motion."""
        self._privileged(
            """const [width, height, dark, still] = arguments;
            Services.prefs.setIntPref("layout.css.prefers-color-scheme.content-override", dark ? 0 : 1);
            Services.prefs.setIntPref("ui.prefersReducedMotion", still ? 1 : 0);
            const { style } = window.gBrowser.selectedBrowser;
            style.minWidth = style.maxWidth = width + "px"; style.minHeight = style.maxHeight = height + "px";""",
            *(width, height, dark, still),
        )

    def open(self, path: Path | str) -> None:
        """Load a file, or an address, and wait until it is there."""
        self._privileged("Services.console.reset();")
        self("WebDriver:Navigate", url="about:blank")
        url = path if isinstance(path, str) else path.resolve().as_uri()
        self("WebDriver:Navigate", url=url)
        end = time.monotonic() + 60
        while self.run("document.querySelector('script.waits') !== null"):
            if time.monotonic() > end:
                raise BrowserError(f"{path} was not unpacked")
        self.settle()

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self(
            "WebDriver:ExecuteAsyncScript",
            script="const done = arguments[arguments.length - 1];"
            f"Promise.resolve({script}).then(done);",
            args=[],
            sandbox=None,
        )
        return answer["value"]

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def key(self, key: str, *, shift: bool = False) -> None:
        """Press a key."""
        value = _KEYS.get(key, key)
        press = [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        if shift:
            press = [{"type": "keyDown", "value": "\ue008"}, *press]
            press.append({"type": "keyUp", "value": "\ue008"})
        self("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": press}])
        self.settle()
