"""Numbers that are drawn twice from one distribution: once to act on, and once for their likelihood."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ...._user_code.owners import Owner, owners
from ...._user_code.sites import Site
from ...._user_code.stack import user_stack
from .base import Known

_HANDS_ON = frozenset(
    (
        "view", "reshape", "squeeze", "unsqueeze", "flatten", "expand", "detach", "clone", "to", "contiguous", "long",
        "__getitem__", "select", "float", "double", "broadcast_to", "stack", "cat", "type_as", "T", "t", "transpose", "permute",
    )
)  # fmt: skip


@dataclass(eq=False)
class Sample:
    """What was drawn, and what was done with it."""

    by: tuple[Any, ...]  # the numbers of the values it was drawn by
    stack: list[Site]
    is_acted_on: bool = False  # by the user's own code, without a gradient
    is_judged: bool = False  # its likelihood is taken, with a gradient


class DrawsAgain:
    """Follows what is drawn to what is done with it."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._known = Known()

    def see_draw(
        self, name: str, given: list[Any], made: list[Any], by: tuple[Any, ...]
    ) -> None:
        if by and len(made) == 1:
            sample = Sample(by, user_stack())
            self.samples.append(sample)
            self._known.put(made[0], sample)
            return
        of = {id(t): s for t in given if (s := self._known.get(t)) is not None}
        if not of:
            return
        if name == "broadcast_tensors" and len(given) == len(made):
            for one, other in zip(given, made, strict=True):
                if id(one) in of:
                    self._known.put(other, of[id(one)])
        elif name in _HANDS_ON and made:
            self._known.put(made[0], next(iter(of.values())))
        else:
            is_judged = any(t.requires_grad for t in given)
            for sample in of.values():
                sample.is_judged |= is_judged
                sample.is_acted_on |= not is_judged and not _is_of_a_distribution()

    def pairs(self) -> list[tuple[Sample, Sample]]:
        """Samples that were acted on and not judged, with those of the same that were judged alone."""
        acted = {s.by: s for s in self.samples if s.is_acted_on and not s.is_judged}
        return [
            (acted[s.by], s)
            for s in self.samples
            if s.is_judged and not s.is_acted_on and s.by in acted
        ]


def _is_of_a_distribution() -> bool:
    """Whether a distribution of the engine makes a call, as it does to see what it was given."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and owners[frame.f_code.co_filename] is not Owner.USERS:
        if "distributions" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False
