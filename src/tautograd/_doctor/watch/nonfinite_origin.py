"""Where a loss that is not finite comes from: read in its graph, while that still holds its tensors.

A node keeps some of its inputs or its result. A kept tensor knows the node that made it, so for many
nodes it is known whether what they gave was finite. From the loss down, what is not finite leads to the
first operation that made it of finite numbers, or to a parameter or to data that were not finite before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..state.step_measures import largest
from .graph_walk import is_leaf_node, node_name, nodes

_LOGARITHMS = frozenset(("Log", "Log2", "Log10"))
_DIVISORS = ("_saved_other", "_saved_y")


@dataclass
class Origin:
    """The operation; or what it was given that was not finite: a `parameter`, or data."""

    node: Any
    number: int  # among the graph's nodes
    parameter: Any = None
    is_data: bool = False
    is_certain: bool = True


def origin_in_forward(engine: Any, roots: Iterable[Any]) -> Origin | None:
    """The first of the operations that made these tensors to give something that is not finite."""
    roots = list(roots)
    found = _Search(engine, roots).run(roots)
    if found is not None:
        for number, node in enumerate(nodes(roots)):
            if node is found.node:
                found.number = number
                return found
    return None


class _Search:
    def __init__(self, engine: Any, roots: list[Any]) -> None:
        self.engine = engine
        self.kept: dict[Any, Any] = {}  # node -> what it gave
        self.data: dict[Any, list[Any]] = {}  # node -> what it was given that no node made
        for node in nodes(roots):
            for tensor in saved_tensors(engine, node):
                if tensor.grad_fn is not None:
                    self.kept[tensor.grad_fn] = tensor
                elif not tensor.requires_grad:
                    self.data.setdefault(node, []).append(tensor)
        self._finite: dict[int, bool] = {}

    def run(self, roots: list[Any]) -> Origin | None:
        at = next((r.grad_fn for r in roots if r.grad_fn and not self._is_finite(r)), None)
        while at is not None:
            region = self._unknown_below(at)
            given = [n for node in region for n, _ in node.next_functions if n is not None]
            bad = [n for n in given if self._gave_finite(n) is False]
            if bad:
                if is_leaf_node(bad[0]):
                    return Origin(at, 0, parameter=bad[0].variable)
                at = bad[0]
                continue
            for node in region:
                if not all(map(self._is_finite, self.data.get(node, ()))):
                    return Origin(node, 0, is_data=True)
            singular = [node for node in region if self._is_singular(node)]
            if singular:
                return Origin(singular[-1], 0)
            return Origin(at, 0, is_certain=len(region) == 1)
        return None

    def _unknown_below(self, top: Any) -> list[Any]:
        """A node and those that led to it of which nothing is known."""
        region, waiting, seen = [], [top], {top}
        while waiting:
            node = waiting.pop()
            region.append(node)
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    if self._gave_finite(following) is None:
                        waiting.append(following)
        return region

    def _gave_finite(self, node: Any) -> bool | None:
        if is_leaf_node(node):
            return self._is_finite(node.variable)
        kept = self.kept.get(node)
        return None if kept is None else self._is_finite(kept)

    def _is_finite(self, tensor: Any) -> bool:
        if id(tensor) not in self._finite:
            is_number = tensor.is_floating_point() or tensor.is_complex()
            self._finite[id(tensor)] = not is_number or math.isfinite(largest(self.engine, tensor))
        return self._finite[id(tensor)]

    def _is_singular(self, node: Any) -> bool:
        """Whether what an operation was given has no finite result, where the result was not kept."""
        name = node_name(node)
        if name in _LOGARITHMS:
            return any(bool((t.detach() <= 0).any()) for t in saved_tensors(self.engine, node))
        if name == "Div":
            divisors = (getattr(node, attribute, None) for attribute in _DIVISORS)
            return any(
                bool((t.detach() == 0).any()) for t in divisors if isinstance(t, self.engine.Tensor)
            )
        return False


def saved_tensors(engine: Any, node: Any) -> Iterator[Any]:
    """What a node keeps for its backward."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    for name in names or ["saved_tensors"]:
        try:
            value = getattr(node, name, None)
        except RuntimeError:  # freed, or changed in place since
            continue
        for tensor in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(tensor, engine.Tensor):
                yield tensor
