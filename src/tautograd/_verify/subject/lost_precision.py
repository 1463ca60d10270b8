"""Where a computation loses precision: the calls whose results are coarser than its inputs.

One run is watched. A loss is a result of lower precision on the way from the leaves to the outputs, by a cast
or by autocast; inside of a custom Function, which records nothing of its own, any such result counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import FrameType
from typing import Any

from ..._trees.nests import WITH_DATACLASSES as NESTS
from ..._user_code.sites import Site
from ..._user_code.stack import own_site


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


class PrecisionWatch:
    """Looks at every result of a run that is watched, between `boundary` and the call."""

    def __init__(self, engine: Any, epsilon: float, boundary: FrameType) -> None:
        self._engine, self._epsilon, self._boundary = engine, epsilon, boundary
        self._apply = engine.autograd.Function.apply.__func__.__code__
        self._found: dict[Any, Loss] = {}
        self._spacing: dict[Any, float] = {}  # of each dtype

    @property
    def losses(self) -> list[Loss]:
        """Every place where precision was lost, the coarsest first."""
        return sorted(self._found.values(), key=lambda loss: -loss.epsilon)

    def look(self, result: Any, frame: FrameType) -> None:
        """What a call gave, and the frame that made it."""
        for value in NESTS.leaves(result):
            if not isinstance(value, self._engine.Tensor):
                continue
            if not value.is_floating_point() and not value.is_complex():
                continue
            dtype = value.dtype
            epsilon = self._spacing.get(dtype)
            if epsilon is None:
                epsilon = self._spacing[dtype] = float(self._engine.finfo(dtype).eps)
            if epsilon <= self._epsilon:
                continue
            if value.requires_grad or _inside(frame, self._apply, self._boundary):
                site = own_site(frame, self._boundary)
                name = str(dtype).rpartition(".")[2]
                self._found.setdefault((name, site), Loss(name, epsilon, site))


def _inside(frame: FrameType | None, apply: Any, boundary: FrameType) -> bool:
    """Whether a frame is within a custom Function's `apply`."""
    while frame is not None and frame is not boundary:
        if frame.f_code is apply:
            return True
        frame = frame.f_back
    return False
