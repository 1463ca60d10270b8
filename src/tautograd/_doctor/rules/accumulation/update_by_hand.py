"""Loops without an optimizer, `w -= lr * w.grad`: TG106."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ...state.step_measures import part
from ...watch.events import Backward
from ...watch.graph_walk import leaves
from ..base import Rule

LOOKED = 24  # first backwards that are looked at


class _Leaf:
    """A tensor that is trained by hand, as it was after a backward."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = weakref.ref(tensor)
        self.value: Any = _numbers(tensor)
        self.grad: Any = None
        self.moves = self.climbs = self.kept = self.still = 0


class ByHand(Rule):
    """A loop that updates tensors itself: it does not clear them all, it climbs, or it leaves one out."""

    code = "TG106"
    name = "update-by-hand"
    why = (
        "Without an optimizer the loop does everything itself: each leaf is moved against its gradient, in "
        "place, and its gradient is cleared, for backward() adds to what is there."
    )
    quiet = (
        "Loops that have an optimizer, gradients that are changed between two backwards (momentum by hand), "
        "and, of what climbs or stands still, all loops in which a module runs."
    )
    sure = "Certain: values and gradients were compared from one backward to the next."
    refute = (
        "A tensor that stands still is not meant to be trained: then it needs no requires_grad."
    )
    fix = "w.grad.zero_()  # after the update"
    example = """
  torch.manual_seed(0)
  x, y = torch.randn(16, 3), torch.randn(16, 1)
  w = torch.zeros(3, 1, requires_grad=True)
  for _ in range(8):
      loss = ((x @ w - y) ** 2).mean()
-     loss.backward()  # here
+     loss.backward()
      with torch.no_grad():
          w -= 0.02 * w.grad
+         w.grad.zero_()
"""
    enough = 3  # rounds that go the same way,
    patience = 8  # and for what stands still

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.known: dict[int, _Leaf] = {}
        self.rounds = 0
        self.losses: list[float] = []

    def before_backward(self, event: Backward) -> None:
        if self.doctor.steps or self.rounds >= LOOKED:
            return
        held = self.doctor.held()
        self.rounds += 1
        self.losses.append(self.doctor.numbers.loss)
        for leaf in leaves(event.roots, 2000):
            if id(leaf) in held:
                continue
            known = self.known.get(id(leaf))
            if known is None or known.tensor() is not leaf:
                self.known[id(leaf)] = _Leaf(leaf)
            elif known.grad is not None:
                _compare(known, leaf)

    def after_backward(self, event: Backward) -> None:
        if self.doctor.steps or self.rounds >= LOOKED:
            return
        for key, known in list(self.known.items()):
            leaf = known.tensor()
            if leaf is None:
                del self.known[key]
                continue
            known.value = _numbers(leaf)
            known.grad = None if leaf.grad is None else _numbers(leaf.grad)
        self._judge(event)

    def _judge(self, event: Backward) -> None:
        alive = [(k, t) for k in self.known.values() if (t := k.tensor()) is not None]
        moved = [(k, t) for k, t in alive if k.moves >= self.enough]
        if not moved:
            return
        kept = [(k, t) for k, t in moved if k.kept >= self.enough]
        if kept:
            is_one = len(kept) == 1
            message = (
                f"{len(kept)} {'gradient' if is_one else 'gradients'} that the update has used "
                f"{'is' if is_one else 'are'} still there when backward adds to {'it' if is_one else 'them'}: "
                "each update follows the sum of all so far."
            )
            if len(kept) < len(moved):
                message += f" Of the other {len(moved) - len(kept)} they are cleared."
            self._say(event, kept, message)
        elif not self.doctor.models:
            rises = all(b > a for a, b in zip(self.losses[-5:], self.losses[-4:], strict=False))
            if all(k.climbs >= self.enough for k, _ in moved) and len(self.losses) > 5 and rises:
                self._say(
                    event, moved,
                    "The update goes along the gradient, not against it: the loss grows with every step.",
                    fix="w -= lr * w.grad  # minus",
                )  # fmt: skip
            still = [(k, t) for k, t in alive if not k.moves and k.still >= self.patience]
            if still:
                self._say(
                    event, still,
                    f"{len(still)} tensors get a gradient in every backward and are never moved, while "
                    "others are.",
                    fix="b -= lr * b.grad  # in place, under torch.no_grad(), as the others",
                )  # fmt: skip

    def _say(self, event: Backward, found: list[Any], message: str, **details: Any) -> None:
        names = self.doctor.names(t for _, t in found)
        self.report(message, event.site, parameters=names, key=(self.code, message[:30]), **details)


def _numbers(tensor: Any) -> Any:
    rows = part(tensor.detach())[:256]
    return (rows.float() if rows.element_size() < 4 else rows.clone()).cpu().numpy()


def _compare(known: _Leaf, leaf: Any) -> None:
    """What became of a leaf and its gradient since the last backward."""
    delta = _numbers(leaf) - known.value
    grad = known.grad
    if not grad.any():
        return
    if not delta.any():
        known.still += 1
        known.moves = 0
        return
    known.moves += 1
    is_kept = leaf.grad is not None and np.array_equal(_numbers(leaf.grad), grad)
    known.kept = known.kept + 1 if is_kept else 0
    along = float(np.dot(delta.ravel(), grad.ravel()))
    size = float(np.linalg.norm(delta) * np.linalg.norm(grad))
    known.climbs = known.climbs + 1 if along > 0.99 * size > 0 else 0
