"""One watched run before anything is compared: what a computation is made of.

It answers, at one go, what would otherwise each need a run of its own: which custom Functions are called,
where precision is lost, and whether any gradient is stated to be meant otherwise than the derivative.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..._stand_ins.function_mode import FunctionMode
from ..._user_code.stack import own_site
from ..subject.intent import Meant, during, word_at
from ..subject.lost_precision import Loss, PrecisionWatch
from ..subject.subject import Subject
from .tape import Call
from .trace import Recorder


@dataclass(frozen=True)
class Survey:
    """What one run of a computation showed."""

    calls: list[Call]  # of custom Functions
    losses: list[Loss]  # of precision, the coarsest first
    states_intent: bool  # by a comment on a line, or by a decorated function


class _Notes:
    """Takes the place of an `Intent` for decorated functions: notes that there is one."""

    met = False

    def called(self, key: Any, meant: Meant, args: Any, kwargs: Any, function: Any) -> Any:
        self.met = True
        return function(*args, **kwargs)


def survey(subject: Subject) -> Survey:
    """Run a computation once, and see what it is made of."""
    recorder = Recorder(subject.engine)
    recorder.functions_only = True
    notes = _Notes()
    with _watched(subject, notes) as watch, recorder.recording(), during(notes):
        subject.recorded(subject.row)
    calls = [call for call in recorder.calls if call.custom]
    return Survey(calls, watch.losses, notes.met)


@contextmanager
def _watched(subject: Subject, notes: _Notes) -> Iterator[PrecisionWatch]:
    boundary = sys._getframe(2)
    watch = PrecisionWatch(subject.engine, subject.epsilon, boundary)

    def see(function: Any, args: Any, kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        frame = sys._getframe(1)
        watch.look(result, frame)
        if not notes.met:
            site = own_site(frame, boundary)
            notes.met = site is not None and bool(word_at(site.file, site.line))
        return result

    with FunctionMode(subject.engine, see):
        yield watch


__all__ = ["Survey", "survey"]
