"""Where a computation loses precision: the calls whose results are coarser than its inputs.

One run is watched. A loss is a result of lower precision on the way from the leaves to the outputs, by a cast
or by autocast; inside of a custom Function, which records nothing of its own, any such result counts.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ..._stand_ins.function_mode import FunctionMode
from ..._trees.nests import ANY_MAPPING as NESTS
from ..._user_code.sites import Site
from ..._user_code.stack import own_site
from .subject import Subject


@dataclass(frozen=True)
class Loss:
    """A call whose result has fewer digits than what it was given."""

    dtype: str
    epsilon: float
    site: Site | None

    @property
    def bits(self) -> int:
        """The binary digits that are left."""
        digits, spacing = 1, 1.0
        while spacing > self.epsilon:
            digits, spacing = digits + 1, spacing / 2
        return digits

    def sentence(self) -> str:
        """What it means for a gradient."""
        where = f" in line {self.site.line}" if self.site is not None else ""
        return f"right to {self.bits} bits: the cast to {self.dtype}{where} loses the rest"


def losses_of(subject: Subject) -> list[Loss]:
    """Every place where precision is lost, the coarsest first; none where nothing is."""
    engine = subject.engine
    found: dict[Any, Loss] = {}
    boundary = sys._getframe(0)
    apply = engine.autograd.Function.apply.__func__.__code__

    def see(function: Any, args: Any, kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        for value in NESTS.leaves(result):
            if not isinstance(value, engine.Tensor) or not value.is_floating_point():
                continue
            epsilon = float(engine.finfo(value.dtype).eps)
            if epsilon <= subject.epsilon:
                continue
            frame = sys._getframe(1)
            if value.requires_grad or _inside(frame, apply, boundary):
                site = own_site(frame, boundary)
                name = str(value.dtype).rpartition(".")[2]
                found.setdefault((name, site), Loss(name, epsilon, site))
        return result

    with FunctionMode(engine, see):
        subject.recorded(subject.row)
    return sorted(found.values(), key=lambda loss: -loss.epsilon)


def _inside(frame: FrameType | None, apply: Any, boundary: FrameType) -> bool:
    """Whether a frame is within a custom Function's `apply`."""
    while frame is not None and frame is not boundary:
        if frame.f_code is apply:
            return True
        frame = frame.f_back
    return False
