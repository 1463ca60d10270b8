"""A real browser without a window, driven over a pipe by its own DevTools protocol.

Chromium speaks it on two file descriptors (`--remote-debugging-pipe`): JSON, with a zero byte after each
message. No other package is needed.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# The browser reads from 3 and writes to 4.
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def chromium() -> str | None:
    """Where the browser is; `CHROMIUM` says it for one that is not on the path."""
    named = os.environ.get("CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are not among the numbers that the browser wants for itself."""
    ends = os.pipe()
    first, second = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends)
    for end in ends:
        os.close(end)
    return first, second


class BrowserError(AssertionError):
    """What the page, or the browser, complained of."""


class Browser:
    """One browser process with one page, which is set to another size or another file as needed."""

    def __init__(self, executable: str) -> None:
        self._folder = tempfile.TemporaryDirectory(
            prefix="taut-browser-", ignore_cleanup_errors=True
        )
        to_browser, self._out = _pipe()
        self._in, from_browser = _pipe()
        command = [
            executable, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--remote-debugging-pipe", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-extensions",
            "--force-color-profile=srgb", f"--user-data-dir={self._folder.name}", "about:blank",
        ]  # fmt: skip

        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(to_browser), str(from_browser), *command],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session = ""
        self.errors: list[str] = []
        self.requests: list[str] = []
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        page = next(t for t in self("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def close(self) -> None:
        """End the browser."""
        try:
            self._session = ""
            self("Browser.close")
        except (OSError, BrowserError):
            self._process.kill()
        self._process.wait(20)
        os.close(self._in)
        os.close(self._out)
        self._folder.cleanup()

    # --- messages ------------------------------------------------------------------------------

    def __call__(self, method: str, **parameters: Any) -> Any:
        """Send one command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + 60
        while True:
            answer = self._receive(end)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _receive(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self._in, 1 << 20) if ready else b""
            if not part:
                raise BrowserError("the browser has not answered")
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, given: Any) -> None:
        if method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and given["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.errors.append(str([a.get("value") for a in given["args"]]))
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.errors.append(given["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not given["request"]["url"].startswith(
            "data:"
        ):
            self.requests.append(given["request"]["url"])

    # --- what a reader does --------------------------------------------------------------------

    def size(
        self, width: int, height: int = 900, *, dark: bool = False, still: bool = True
    ) -> None:
        """The window's size; light or dark; with or without motion."""
        self(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
        self("Emulation.setEmulatedMedia", features=features)

    def open(self, path: Path | str, *, scripts: bool = True) -> None:
        """Load a file, or an address, and wait until it is there."""
        self.errors.clear()
        self.requests.clear()
        self("Emulation.setScriptExecutionDisabled", value=not scripts)
        self("Page.navigate", url=path if isinstance(path, str) else path.resolve().as_uri())
        end = time.monotonic() + 60
        while self.run("document.readyState") != "complete":
            if time.monotonic() > end:
                raise BrowserError(f"{path} did not load")
        if scripts:
            waiting = "document.querySelector('script.waits') !== null"
            while self.run(waiting):
                if time.monotonic() > end:
                    raise BrowserError(f"{path} was not unpacked")
            self.settle()

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def key(self, key: str, *, shift: bool = False) -> None:
        """Press a key: "ArrowRight", "Enter", "/", …"""
        text = key if len(key) == 1 else {"Enter": "\r"}.get(key, "")
        common = {"key": key, "modifiers": 8 if shift else 0, "code": key if len(key) > 1 else ""}
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        if key in codes:
            common["windowsVirtualKeyCode"] = codes[key]
        self("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self("Input.dispatchKeyEvent", type="keyUp", **common)
        self.settle()

    def click(self, selector: str) -> None:
        """Click in the middle of the first element that this names."""
        box = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
            "e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        if box is None:
            raise BrowserError(f"there is no {selector}")
        x, y = box
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def picture(self, path: Path) -> None:
        """A screenshot of what is in the window."""
        path.write_bytes(base64.b64decode(self("Page.captureScreenshot", format="png")["data"]))
