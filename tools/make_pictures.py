"""Draws the pictures of README and documentation from the pages as they are now: `make pictures`.

Chromium is needed. Each picture carries a fingerprint of what draws the page, by which a test detects
outdated pictures.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import tautograd as torch
from tautograd import view
from tautograd._report import shell
from tautograd._view.page import browser
from tautograd._view.page.moving_picture import noted_png

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
DRAWING = [
    shell._FOLDER / "base.css",
    *sorted((ROOT / "src/tautograd/_view/page").glob("*.js")),
    *sorted((ROOT / "src/tautograd/_view/page").glob("*.css")),
    *sorted((ROOT / "src/tautograd/_view/page").glob("*.html")),
]


def fingerprint() -> bytes:
    """The fingerprint of everything that determines how a page looks."""
    text = b"".join(path.read_bytes() for path in DRAWING)
    return b"page " + hashlib.sha256(text).hexdigest()[:16].encode()


def model_view() -> view:
    """A small network: a layer, an activation, a layer, a loss."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    x, target = torch.randn(4, 2), torch.randn(4, 1)

    def program():
        out = model(x)
        loss = torch.nn.functional.mse_loss(out, target)
        return loss  # noqa: RET504  (the line names it)

    return view(program)


def square_view() -> view:
    """The smallest example: x times itself."""

    def program():
        x = torch.tensor(2.0, requires_grad=True)
        y = x * x
        return y  # noqa: RET504  (the line names it)

    return view(program)


def main() -> None:
    """Draw all of them."""
    made = model_view()
    page = made.page()
    picture = browser.as_png(page, "#step=3", size=(1280, 800))
    (IMAGES / "view.png").write_bytes(noted_png(picture, fingerprint()))
    picture = browser.as_png(page, "#step=3", size=(1280, 800), dark=True)
    (IMAGES / "view-dark.png").write_bytes(noted_png(picture, fingerprint()))
    (IMAGES / "backward.gif").write_bytes(
        browser.as_gif(page, len(made.graph.steps), size=(1280, 800), note=fingerprint())
    )
    (IMAGES / "square.svg").write_text(square_view().svg(), encoding="utf-8")
    for path in sorted(IMAGES.iterdir()):
        sys.stderr.write(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
