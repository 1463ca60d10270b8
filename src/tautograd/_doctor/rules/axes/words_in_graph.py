"""What the score at a token depends on, read from the graph: which embedded tokens get a gradient from it.

It does not matter what computes the scores, a module, a function or the model's own loss: a token that the
score at another place depends on has a gradient there, and one that is masked has exactly none.
"""

from __future__ import annotations

from typing import Any

from ...watch.events import Loss
from ...watch.graph_walk import is_leaf_node, node_name, nodes
from .next_in_sequence import relation

BY_GRADIENT = "Certain: the gradient of the scores at one token, at each token that was embedded."
_SHORTEST, _LARGEST = 3, 4_000_000
_MANY = 8  # losses of which none had such tokens


class Words:
    """What a loss asks of tokens that the graph of its scores has embedded."""

    def __init__(self) -> None:
        self.is_over = False  # asked once, or answered elsewhere
        self.hooked = False  # by somebody who would hear of a gradient
        self.fix = ""
        self.losses = 0  # that were looked at

    def asked(self, event: Loss) -> str | None:
        """What is wrong with what a loss asks for, if the graph proves it."""
        if self.is_over or self.hooked or event.input.grad_fn is None:
            return None
        self.losses += 1
        self.is_over = self.losses >= _MANY
        found = [n for n in nodes([event.input], 4000) if node_name(n) == "Embedding"]
        if len(found) != 1:
            return None  # a source as well: what may be seen is its author's business
        tokens = _tokens_of(found[0])
        if tokens is None or tokens.dim() != 2 or tokens.shape[1] < _SHORTEST:
            return None
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
        slope = _slope_at(event.engine, found[0], (row * weights).sum())
        if slope is None or slope.dim() != 3:
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


def _tokens_of(node: Any) -> Any:
    """The indices of an embedding; engines call them by one of two names."""
    found = getattr(node, "_saved_indices", None)
    return found if found is not None else getattr(node, "_saved_index", None)


def _slope_at(engine: Any, node: Any, root: Any) -> Any:
    """The gradient that arrives at a node."""
    came: list[Any] = []
    handle = node.register_prehook(lambda grads: came.append(grads[0]))
    leaf = next(
        (n.variable for n, _ in node.next_functions if n is not None and is_leaf_node(n)), None
    )
    try:
        if leaf is not None:
            engine.autograd.grad(root, leaf, retain_graph=True, allow_unused=True)
    finally:
        handle.remove()
    return came[-1] if came else None


def _scores_at(scores: Any, rows: int, count: int, at: int) -> Any:
    """The scores of the first row at a place, whatever their layout."""
    if scores.dim() == 2 and scores.shape[0] == rows * count:
        return scores[at]
    if scores.dim() == 3 and scores.shape[0] == rows and scores.shape[2] == count:
        return scores[0, :, at]
    return None
