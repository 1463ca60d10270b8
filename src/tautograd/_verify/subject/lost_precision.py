"""Where a computation loses precision: the calls whose results are coarser than its inputs.

One run is observed. A loss is a result of lower precision on the way from the leaves to the outputs, by
a cast or by autocast, or written into a coarser tensor; inside a custom Function, which records nothing
of its own, any such result counts, unless the values show that none of them is on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from ..._trees.nests import WITH_DATACLASSES as NESTS
from ..._user_code.sites import Site
from ..._user_code.stack import own_site

_BESIDE = 2.0**-7  # relative to each number: those at the point may happen to have few digits


@dataclass(frozen=True)
class Loss:
    """A call whose result has fewer digits than its inputs."""

    dtype: str
    epsilon: float
    site: Site | None
    is_recorded: bool = (
        True  # false inside a custom Function, whose results need not come from there
    )

    @property
    def bits(self) -> int:
        """The binary digits that remain."""
        digits, spacing = 1, 1.0
        while spacing > self.epsilon:
            digits, spacing = digits + 1, spacing / 2
        return digits

    def sentence(self) -> str:
        """What it means for a gradient."""
        where = f" in line {self.site.line}" if self.site is not None else ""
        return f"right to {self.bits} bits: the cast to {self.dtype}{where} loses the rest"


class PrecisionWatch:
    """Inspects every result of an observed run, between `boundary` and the call."""

    def __init__(self, engine: Any, epsilon: float, boundary: FrameType) -> None:
        self._engine, self._epsilon, self._boundary = engine, epsilon, boundary
        self._apply = engine.autograd.Function.apply.__func__.__code__
        self._found: dict[Any, Loss] = {}
        self._spacing: dict[Any, float] = {}  # of each dtype

    @property
    def losses(self) -> list[Loss]:
        """Every place where precision was lost, the coarsest first."""
        return sorted(self._found.values(), key=lambda loss: -loss.epsilon)

    def look(self, result: Any, args: tuple[Any, ...], frame: FrameType) -> None:
        """Inspect a call's result, its arguments (which it may have written to), and the calling frame."""
        if result is None:
            result = args[:1]  # an assignment returns nothing, and writes to its first argument
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
            recorded = bool(value.requires_grad)
            if recorded or _inside(frame, self._apply, self._boundary):
                site = own_site(frame, self._boundary)
                name = str(dtype).rpartition(".")[2]
                self._found.setdefault((name, site), Loss(name, epsilon, site, recorded))


def on_the_way(subject: Any, losses: list[Loss]) -> list[Loss]:
    """The losses that the values confirm, here and beside the point.

    A Function may cast only what it keeps for its backward (activations stored in half precision): its
    values then keep full precision, and so should its gradient.
    """
    if not losses or any(loss.is_recorded for loss in losses):
        return losses
    try:
        plain, wide = subject.in_double(), subject.in_double(wide=True)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], subject.row.size)
        for row in (subject.row, subject.row * (1 + _BESIDE * signs)):
            if not np.array_equal(plain.values(row), wide.values(row), equal_nan=True):
                return losses
    except Exception:  # it does not run in float64
        return losses
    return []


def _inside(frame: FrameType | None, apply: Any, boundary: FrameType) -> bool:
    """Whether a frame is within a custom Function's `apply`."""
    while frame is not None and frame is not boundary:
        if frame.f_code is apply:
            return True
        frame = frame.f_back
    return False
