"""One observed run before anything is compared: what a computation consists of.

It answers in one run what would otherwise need several: which custom Functions are called,
where precision is lost, and whether any stated gradient differs from the derivative by intent.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._stand_ins.function_mode import FunctionMode
from ..._user_code.stack import own_site
from ..subject.agreed import by_agreement
from ..subject.engines import as_reals
from ..subject.intent import Meant, during, word_at
from ..subject.lost_precision import Loss, PrecisionWatch
from ..subject.subject import Subject
from .leaving import nodes_behind
from .suspects import runnable
from .tape import Call
from .trace import custom_calls


@dataclass(frozen=True)
class Survey:
    """What one run of a computation showed."""

    calls: list[Call]  # calls of custom Functions
    losses: list[Loss]  # losses of precision, the coarsest first
    states_intent: bool  # by a comment, a decorated function, or the engine's documentation
    values: Any  # the result, as one row


class _Notes:
    """Stands in for an `Intent` for decorated functions: records that there is one."""

    met = False

    def called(self, key: Any, meant: Meant, args: Any, kwargs: Any, function: Any) -> Any:
        self.met = True
        return function(*args, **kwargs)


def survey(subject: Subject) -> Survey:
    """Run a computation once and record what it consists of."""
    engine = subject.engine
    tensors = [t.detach().requires_grad_() for t in subject.own_tensors()]
    notes = _Notes()
    boundary = sys._getframe()
    watch = PrecisionWatch(engine, subject.epsilon, boundary)

    def see(function: Any, args: Any, kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        frame = sys._getframe(1)
        watch.look(result, args, frame)
        if not notes.met:
            notes.met = by_agreement(function, args, kwargs) is not None
        if not notes.met:
            site = own_site(frame, boundary)
            notes.met = site is not None and bool(word_at(site.file, site.line))
        return result

    with engine.enable_grad(), during(notes), FunctionMode(engine, see, writes=False):
        outputs = [t for _, t in subject.named_outputs(subject.call(tensors))]
    values = np.concatenate([as_reals(t) for t in outputs])
    calls: list[Call] = []
    if any(map(_may_be_custom, nodes_behind(outputs))):
        calls = custom_calls(engine, runnable(subject)[0])
    return Survey(calls, watch.losses, notes.met, values)


def _may_be_custom(node: Any) -> bool:
    """Whether a node is that of a custom Function, or may hide one: a write into a view does."""
    return hasattr(node, "_forward_cls") or node.name() == "CopySlices"


__all__ = ["Survey", "survey"]
