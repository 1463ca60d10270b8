"""Pictures of a page as rendered by headless Chromium, one process per picture.

Only `--png` and `--gif` need it. A page's own buttons save pictures in any browser.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ..._files.printable import utf8
from .moving_picture import Frame, gif_of, marked_png, read_png

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SIZE = 1280, 800
MOST_FRAMES = 30
_PATIENCE = 60  # seconds


class NoBrowser(RuntimeError):
    """No browser was found to render a picture."""


def browser() -> str | None:
    """The path of Chromium; `CHROMIUM` names one that is not on the path."""
    named = os.environ.get("CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def require_browser(what: str) -> str:
    found = browser()
    if found is None:
        raise NoBrowser(
            f"{what} needs Chromium, which was not found ({', '.join(NAMES)}; or set CHROMIUM). "
            "--svg and --dot need nothing, and the page saves a PNG by its own button"
        )
    return found


def as_png(
    page: str, address: str = "", *, size: tuple[int, int] = SIZE, dark: bool = False
) -> bytes:
    """What the page initially shows, or shows at a fragment: `#step=3`."""
    with tempfile.TemporaryDirectory(prefix="taut-picture-") as folder:
        if dark:
            page = page.replace('<html lang="en">', '<html lang="en" data-theme="dark">', 1)
        return marked_png(_shot(Path(folder), page, address, size))


def as_gif(page: str, steps: int, *, size: tuple[int, int] = SIZE, note: bytes = b"") -> bytes:
    """Backward from its first step to its last; a long one is sampled evenly."""
    count = min(steps, MOST_FRAMES - 1)
    shown = [0, *(round((i + 1) * steps / count) for i in range(count))]
    with tempfile.TemporaryDirectory(prefix="taut-picture-") as folder:
        pictures = [read_png(_shot(Path(folder), page, f"#step={step}", size)) for step in shown]
    times = [120 if i in (0, len(pictures) - 1) else 60 for i in range(len(pictures))]
    return gif_of([Frame(p, t) for p, t in zip(pictures, times, strict=True)], note)


def _shot(folder: Path, page: str, address: str, size: tuple[int, int]) -> bytes:
    file, picture = folder / "page.html", folder / "page.png"
    file.write_bytes(utf8(page))
    picture.unlink(missing_ok=True)
    command = [
        require_browser("a picture"), "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
        "--disable-extensions", "--disable-background-networking", "--force-prefers-reduced-motion",
        f"--user-data-dir={folder / 'profile'}", f"--window-size={size[0]},{size[1]}",
        f"--screenshot={picture}", file.as_uri() + address,
    ]  # fmt: skip
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # Chromium has no sandbox for root
        command.insert(1, "--no-sandbox")
    try:
        ended = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoBrowser(f"Chromium has drawn nothing: {error}") from None
    if not picture.exists():
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        raise NoBrowser(f"Chromium has drawn nothing: {said[-1] if said else ended.returncode}")
    return picture.read_bytes()
