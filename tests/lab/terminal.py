"""A terminal with `taut lab` in it: type, and wait for what it shows."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

TAUT = "import sys; from tautograd._cli.main import main; sys.exit(main())"
TAKE_TERMINAL = (  # so that Ctrl-C reaches it; and is not ignored, as it is in background jobs
    "import fcntl, signal, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.default_int_handler)"
)
SOURCE = Path(__file__).parents[2] / "src"


def environment(**more: str) -> dict[str, str]:
    """That of a learner, with nothing set that would change what is shown."""
    left_out = ("NO_COLOR", "COLUMNS", "EDITOR", "VISUAL", "TAUTOGRAD_LAB_PROGRESS")
    return {
        **{name: value for name, value in os.environ.items() if name not in left_out},
        "PYTHONPATH": str(SOURCE),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "TERM": "xterm",
        "COLUMNS": "80",
        "LINES": "100",  # tall enough that nothing scrolls away before it was read
        **more,
    }


class Terminal:
    """`taut lab` with a terminal for stdin and stdout."""

    def __init__(self, *arguments: str, cwd: Path, env: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"{TAKE_TERMINAL}; {TAUT}", "lab", *arguments],
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=env, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.shown = ""
        self._read = 0

    def until(self, text: str, seconds: float = 60) -> str:
        """What is shown, up to this text; what comes after it is for the next time."""
        deadline = time.monotonic() + seconds
        while text not in self.shown[self._read :]:
            if time.monotonic() > deadline or not self._more():
                raise AssertionError(f"{text!r} was not shown; what was:\n{self.shown}")
        end = self.shown.index(text, self._read) + len(text)
        part, self._read = self.shown[self._read : end], end
        return part

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def line(self, text: str = "") -> None:
        self.type(text + "\n")

    def end(self, seconds: float = 60) -> int:
        """Wait for the end; the exit status."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._more():
            pass
        return self.process.wait(60)

    def interrupt(self) -> int:
        """Ctrl-C, and the exit status. One that comes just as Python's readline begins to wait is not
        seen before the next key, so it is typed again if nothing has ended in five seconds."""
        for _ in range(12):
            self.type("\x03")
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline and self.process.poll() is None and self._more():
                pass
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.process.wait(1)
        return self.process.wait(60)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)

    def _more(self) -> bool:
        if select.select([self._ours], [], [], 1.0)[0]:
            try:
                chunk = os.read(self._ours, 65536)
            except OSError:  # how a terminal ends
                return False
            self.shown += chunk.decode(errors="replace").replace("\r\n", "\n")
            return bool(chunk)
        return True
