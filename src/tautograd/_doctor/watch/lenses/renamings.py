"""Classes that are renamed one after another in the tensor that is still asked which they were."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_stack
from .base import Lens


class Renamings(Lens):
    """`labels[labels == a] = b`, and later `labels[labels == b] = c`: what was `a` is renamed twice."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[list[Site], int]] = []  # the line, entries renamed again
        self._written: dict[tuple[int, int], Any] = {}  # memory -> which entries were written so far

    def see(self, name: str, args: Any, kwargs: Any, given: list[Any], made: list[Any]) -> None:
        if name in ("eq", "__eq__") and len(made) == 1 and len(given) == 1:
            first = given[0]
            if not first.is_floating_point() and first.dim() and str(first.device) == "cpu":
                self.known.put(made[0], _memory(first))
        elif name in ("__setitem__", "masked_fill_") and len(args) == 3 and given:
            target, mask = args[0], args[1]
            mask = getattr(mask, "arrays", mask)
            if not hasattr(mask, "numel") or self.known.get(mask) != _memory(target):
                return
            hit = mask.detach().clone()
            before = self._written.get(_memory(target))
            if before is not None and bool((before & hit).any()):
                self.found.append((user_stack(), int((before & hit).sum())))
            self._written[_memory(target)] = hit if before is None else before | hit


def _memory(tensor: Any) -> tuple[int, int]:
    return int(tensor.data_ptr()), int(tensor.numel())
