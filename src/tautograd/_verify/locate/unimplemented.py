"""Finds the operation without a derivative in a function that runs but has no gradient."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from ..subject.subject import Subject
from .suspects import runnable
from .trace import trace

_SAID = re.compile("derivative .* not implemented")
_NODE = "NotImplemented"  # the last part of such a node's name, in both engines


class GradientMissing(RuntimeError):
    """The function runs; the gradient of an operation in it is not implemented."""


def raise_with_line(error: RuntimeError, subject: Subject) -> NoReturn:
    """Re-raise the error from backward; with the line, if the cause is a missing derivative."""
    if not _SAID.search(str(error)):
        raise error
    site = _first_without(subject)
    at = "" if site is None else f" ({site.in_a_line})"
    raise GradientMissing(
        f"the function runs, but its gradient is not implemented: {error}{at}"
    ) from error


def _first_without(subject: Subject) -> Any:
    """The line that calls the first operation without a derivative."""
    try:
        calls = trace(subject.engine, runnable(subject)[0]).calls
    except Exception:  # it ran before; finding a line is not worth another error
        return None
    return next((call.site for call in calls if call.node_name.endswith(_NODE)), None)
