"""`taut doctor --live`: the page of a run, on this machine, while the script trains."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tautograd._cli.delivery import say_on
from tautograd._cli.local_page import LocalPage
from tautograd._doctor.report.page import as_page
from tautograd._doctor.report.report import plain

if TYPE_CHECKING:
    from tautograd._doctor.doctor import Doctor

TRIES = 50
PAUSE = 0.02  # seconds


@contextlib.contextmanager
def serving(doctor: Doctor, root: str) -> Iterator[LocalPage]:
    """Inside, a page shows the run so far; on exit, wait until its reader has seen the end."""
    ended: list[bool] = []

    def state() -> dict[str, Any]:
        count = len(doctor.findings)
        found = f"{count} {'finding' if count == 1 else 'findings'}"
        said = f"step {doctor.steps:,}, {found}" + (", ended" if ended else "")
        return {
            "version": f"{doctor.steps}.{count}.{len(ended)}",
            "said": said,
            "ended": bool(ended),
        }

    page = LocalPage(lambda: as_page(_so_far(doctor), root, "taut doctor --live"), state)
    page.start()
    say_on(f"taut doctor: live at {page.url}")
    try:
        yield page
    finally:
        ended.append(True)
        page.last_look()
        page.stop()


def _so_far(doctor: Doctor) -> dict[str, Any]:
    """The report while the run still adds to its data; retried on a concurrent change."""
    for _ in range(TRIES):
        try:
            return plain(doctor)
        except (RuntimeError, ValueError):  # a dictionary that grew, lists of different lengths
            time.sleep(PAUSE)
    return plain(doctor)
