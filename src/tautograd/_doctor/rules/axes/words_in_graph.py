"""What the score at a token depends on, read from the graph: which embedded tokens get a gradient from it.

It does not matter what computes the scores, a module, a function or the model's own loss: a token that the
score at another place depends on has a gradient there, and one that is masked has exactly none.
"""

from __future__ import annotations

from typing import Any

from ...watch.events import Loss, ModuleCall
from .next_in_sequence import relation

BY_GRADIENT = "Certain: the gradient of the scores at one token, at each token that was embedded."
_SHORTEST, _LARGEST = 3, 4_000_000


class Words:
    """Tokens that were embedded since the last backward, and what the loss asks of them."""

    def __init__(self, doctor: Any) -> None:
        self.doctor = doctor
        self.embedded: list[tuple[Any, Any]] = []
        self.is_over = False  # asked once, or answered elsewhere
        self.hooked = False  # by somebody who would hear of a gradient
        self.fix = ""

    def forget(self) -> None:
        self.embedded = []

    def on_module(self, event: ModuleCall) -> None:
        if self.is_over or not event.grad_mode or not event.args:
            return
        tokens, output = event.args[0], event.output
        if not isinstance(event.module, event.engine.nn.Embedding) or not output.requires_grad:
            return
        if tokens.dim() == 2 and tokens.shape[1] >= _SHORTEST:
            self.embedded = [*self.embedded[-3:], (tokens, output)]

    def asked(self, event: Loss) -> str | None:
        """What is wrong with what a loss asks for, if the graph proves it."""
        if self.is_over or self.hooked or len({id(t) for t, _ in self.embedded}) != 1:
            return None
        tokens, output = self.embedded[-1]
        kind = relation(tokens.detach(), event.target)
        scores = event.input
        if not kind or not scores.requires_grad or scores.numel() > _LARGEST:
            return None
        rows = int(tokens.shape[0])
        count = event.target.numel() // rows
        at = count // 2
        row = _scores_at(scores, rows, count, at)
        if row is None:
            return None
        self.is_over = True
        weights = event.engine.linspace(0.5, 1.5, row.numel(), dtype=row.dtype, device=row.device)
        (slope,) = event.engine.autograd.grad(
            (row * weights).sum(), output, retain_graph=True, allow_unused=True
        )
        if slope is None:
            return None
        reached = [bool(float(part) != 0) for part in slope[0].detach().abs().sum(-1)]
        if kind == "next" and any(reached[at + 1 :]):
            self.fix = "scores = scores.masked_fill(later, float('-inf'))  # before the softmax"
            return (
                f"The scores at token {at} depend on the tokens after it, and the next of them is their "
                "target."
            )
        if kind == "same" and reached[at] and any(reached[:at]) and not any(reached[at + 1 :]):
            self.fix = (
                "loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())"
            )
            return (
                "Each token is asked for itself, by scores that depend on it and on those before it: input "
                "and target are the same."
            )
        return None


def _scores_at(scores: Any, rows: int, count: int, at: int) -> Any:
    """The scores of the first row at a place, whatever their layout."""
    if scores.dim() == 2 and scores.shape[0] == rows * count:
        return scores[at]
    if scores.dim() == 3 and scores.shape[0] == rows and scores.shape[2] == count:
        return scores[0, :, at]
    return None
