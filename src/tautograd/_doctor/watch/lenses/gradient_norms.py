"""Norms of gradients that a penalty draws to 1: over the whole of a sample, or a part of it."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_stack
from .base import Known, Lens

_NORMS = frozenset(("norm", "linalg_norm", "vector_norm", "linalg_vector_norm"))


class GradientNorms(Lens):
    """A norm of what `autograd.grad` gave with a history, minus 1."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[list[Site], tuple[int, ...], tuple[int, ...]]] = []
        self._gradients = Known()

    def see(self, name: str, args: Any, kwargs: Any, given: list[Any], made: list[Any]) -> None:
        if name == "grad" and "create_graph" in kwargs:
            for tensor in made:
                self._gradients.put(tensor, True)
        elif len(made) == 1 and given:
            first, result = given[0], made[0]
            if name in _NORMS and self._gradients.get(first) and first.requires_grad:
                before, after = tuple(first.shape), tuple(result.shape)
                sizes = [n for n in after[1:] if n > 1]
                if len(before) > 2 and len(after) > 1 and after[0] == before[0] and sizes:
                    self.known.put(result, (user_stack(), before, after))
            elif name in ("sub", "__sub__", "rsub", "__rsub__", "add"):
                met = self.known.get(first)
                numbers = [*args[1:], *kwargs.values()]
                if met is not None and any(_is_one(n) for n in numbers):
                    self.found.append(met)


def _is_one(value: Any) -> bool:
    try:
        return abs(float(value)) == 1.0
    except (TypeError, ValueError, RuntimeError):
        return False
