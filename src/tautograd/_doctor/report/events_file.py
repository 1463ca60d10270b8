"""A run's history as event files, for those who look at theirs in TensorBoard.

The files are written by tensorboardX (the extra `tensorboard`): the format is a record of protocol buffers
with checksums, and TensorBoard's own.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

from .report import Plain
from .series import findings_of, series_of

NEEDED = "event files need tensorboardX: pip install 'tautograd[tensorboard]'"


class NoWriter(RuntimeError):
    """The package that writes event files is not installed."""


def writer_class() -> Any:
    """tensorboardX's writer; an error that says how to get it."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        raise NoWriter(NEEDED) from error
    return SummaryWriter


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Before a long run: an error for event files that could not be written after it."""
    if (
        find_spec("tensorboardX") is None
    ):  # not imported yet: it takes PyTorch with it, if it is there
        raise NoWriter(NEEDED)
    name = os.fspath(folder)
    place = os.path.abspath(name)
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if not name or not os.path.isdir(place) or not os.access(place, os.W_OK | os.X_OK):
        raise OSError(f"cannot write event files to '{name}'")


def write_events(report: Plain, folder: str | os.PathLike[str], root: str | None = None) -> None:
    """Loss, gradient norms and updates at every step that was measured, and the findings as text."""
    with writer_class()(logdir=os.fspath(folder)) as writer:
        for name, values in series_of(report):
            for step, value in values:
                writer.add_scalar(name, value, step)  # NaN and infinity too: TensorBoard marks them
        for step, text in findings_of(report, root):
            writer.add_text("findings", text, step)
