"""Splitting a batch into microbatches, and joining their results."""

from __future__ import annotations

from typing import Any

import tautograd as torch

from ..._trees.nests import Nests

_NESTS = Nests()


def cut(value: Any, count: int) -> list[Any]:
    """Split nested tensors in `count` parts along the first dimension; other leaves are in every part."""
    leaves = _NESTS.leaves(value)
    pieces = []
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            pieces.append([leaf] * count)
            continue
        parts = leaf.tensor_split(count)
        if leaf.size(0) < count:
            raise RuntimeError(f"a batch of {leaf.size(0)} cannot be cut into {count} microbatches")
        pieces.append(list(parts))
    return [_NESTS.filled(value, [piece[i] for piece in pieces]) for i in range(count)]


def joined(parts: list[Any]) -> Any:
    """Join the results of all microbatches into those of the batch."""
    leaves = [_NESTS.leaves(part) for part in parts]
    together = [
        torch.cat(column) if isinstance(column[0], torch.Tensor) else column[0]
        for column in zip(*leaves, strict=True)
    ]
    return _NESTS.filled(parts[0], together)
