"""Anomaly detection: NaN in backward is an error that shows where the forward was recorded."""

from __future__ import annotations

import contextlib
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ..._user_code.owners import internal
from ..modes import change, modes
from ..node import Node


class detect_anomaly:
    """Inside, backward fails at the first NaN and shows the forward call that made the node."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = modes.anomaly, modes.anomaly_check_nan
        change(anomaly=True, anomaly_check_nan=self.check_nan)

    def __exit__(self, *exc: object) -> None:
        _put_back(self._before)


def _put_back(before: tuple[bool, bool]) -> None:
    change(anomaly=before[0], anomaly_check_nan=before[1])


class set_detect_anomaly:
    """Anomaly detection on or off: at once when called, and until the end of a `with` block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = modes.anomaly, modes.anomaly_check_nan
        change(anomaly=mode, anomaly_check_nan=check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _put_back(self._before)


def is_anomaly_enabled() -> bool:
    return modes.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    return modes.anomaly_check_nan


def remember_stack(node: Node) -> None:
    """Keep the user's part of the stack that recorded a node."""
    frames = traceback.walk_stack(sys._getframe(1))
    # Lines of source are read only if they are shown.
    summary = traceback.StackSummary.extract(
        ((f, n) for f, n in frames if not internal[f.f_code.co_filename]), lookup_lines=False
    )
    summary.reverse()
    node.traceback = summary
    node.induced_by = getattr(_running, "node", None)


_running = threading.local()  # the node whose rule runs in a thread, under anomaly detection


@contextlib.contextmanager
def running(node: Node) -> Iterator[None]:
    """While a node's rule runs; what it records is induced by it."""
    before, _running.node = getattr(_running, "node", None), node
    try:
        yield
    finally:
        _running.node = before


def show_forward(node: Node) -> None:
    """Warn where the forward was that led to an error in backward, and what that was induced by."""
    _warn(f"Error detected in {node.name()}", node, "call that caused the error")
    while node.induced_by is not None:
        node = node.induced_by
        what = "call that induced the previous calculation"
        _warn(f"\n\nPrevious calculation was induced by {node.name()}", node, what)


def _warn(head: str, node: Node, what: str) -> None:
    if node.traceback:
        text = f". Traceback of forward {what}:\n" + "".join(node.traceback.format())
    else:
        text = (
            ". No forward pass information available. Enable detect anomaly during forward pass "
            "for more information."
        )
    message = head + text
    try:
        warnings.warn(message, UserWarning, stacklevel=2)
    except UserWarning:  # warnings are errors, and the error that is on its way must not be lost
        print(message, file=sys.stderr)  # noqa: T201 (as PyTorch does)


def check_finite(node: Node, grads: Any) -> None:
    """Raise at the first gradient that holds NaN."""
    if not modes.anomaly_check_nan:
        return
    for i, grad in enumerate(grads):
        data = grad._data if isinstance(grad, Tensor) else grad
        if data is not None and data.dtype.kind in "fcV" and bool(np.isnan(data).any()):
            where = f"\nIt was recorded at\n  {node.created_at}" if node.created_at else ""
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {i}th output.{where}"
            )
