"""The gradients of one backward: those that arrive at each node, and those it passes to its inputs.

Nodes are watched by hooks, which both engines have. What a node passes on may still have the shape of
its result: the engine sums over broadcast dimensions afterwards, and so does this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .node_history import Edges
from .values import Memory, Value


class Flow:
    """The gradients of one backward over these nodes."""

    def __init__(self, nodes: Iterable[Any], inputs: Edges, memory: Memory) -> None:
        self.order: list[Any] = []  # nodes, in the order they ran
        self.arrived: dict[tuple[int, int], Value] = {}  # (id of the node, output number)
        self.given: dict[tuple[int, int], Value] = {}  # (id of the node, position of the input)
        self.changed: set[int] = set()  # ids of nodes behind a hook
        self._memory = memory
        self._waiting: dict[tuple[int, int], list[tuple[tuple[int, int], Any]]] = {}
        self._handles = [self._watch(node, inputs[id(node)]) for node in nodes if inputs[id(node)]]

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()
        for waiting in self._waiting.values():  # nothing ran there: shapes are final
            for key, gradient in waiting:
                self.given[key] = self._memory.look(gradient)
        self._waiting.clear()

    def _watch(self, node: Any, edges: tuple[tuple[Any, int], ...]) -> Any:
        def note(grad_inputs: Any, grad_outputs: Any) -> None:
            self.order.append(node)
            for number, gradient in enumerate(grad_outputs):
                if gradient is not None:
                    self._arrives(node, number, gradient)
            for place, (following, number) in enumerate(edges):
                gradient = grad_inputs[place] if place < len(grad_inputs) else None
                if following is not None and gradient is not None:
                    self._gives((id(node), place), following, number, gradient.detach())

        return node.register_hook(note)

    def _arrives(self, node: Any, number: int, gradient: Any) -> None:
        shape = tuple(gradient.shape)
        arrived = self.arrived[id(node), number] = self._memory.look(gradient)
        for key, waiting in self._waiting.pop((id(node), number), []):
            is_all = _is_same_memory(waiting, gradient)  # the only one to arrive: nothing was added
            self.given[key] = arrived if is_all else self._memory.look(summed(waiting, shape))

    def _gives(self, key: tuple[int, int], following: Any, number: int, gradient: Any) -> None:
        leaf = getattr(following, "variable", None)
        if leaf is not None:
            self.given[key] = self._memory.look(summed(gradient, tuple(leaf.shape)))
        else:
            waiting = self._waiting.setdefault((id(following), number), [])
            waiting.append((key, gradient))


def _is_same_memory(one: Any, other: Any) -> bool:
    """Whether two tensors are the same numbers because they share memory."""
    try:
        return bool(
            one.data_ptr() == other.data_ptr()
            and one.data_ptr()
            and one.dtype == other.dtype
            and tuple(one.shape) == tuple(other.shape)
            and one.stride() == other.stride()
        )
    except (RuntimeError, NotImplementedError):  # sparse, batched: they have no data pointer
        return False


def summed(gradient: Any, shape: tuple[int, ...]) -> Any:
    """A gradient as its owner gets it: summed over broadcast dimensions."""
    if tuple(gradient.shape) == shape:
        return gradient
    extra = gradient.dim() - len(shape)
    if extra > 0:
        gradient = gradient.sum(dim=tuple(range(extra)))
    if extra < 0:
        return gradient
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and gradient.shape[i] != 1)
    return gradient.sum(dim=axes, keepdim=True) if axes else gradient
