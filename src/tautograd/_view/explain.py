"""`explain(x, loss)`: shows in plain text, path by path, where the gradient of `x` came from.

A path's contribution is the gradient that a backward sends to `x` if every operation on the path passes
on only what goes along the path: hooks replace the rest by zeros.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._user_code.sites import Site
from .._verify.locate.leaving import edge_of
from .._verify.subject.engines import engine_of, is_tensor
from .explanation import Contribution, Explanation
from .page.graph import operation_of
from .record.assigned_lines import assigned_lines
from .record.backward_flow import summed
from .record.collect import Collector
from .record.names import Names
from .record.node_history import site_of_node, walk
from .record.values import Value
from .view import flow_of

_Step = tuple[Any, int]  # a node, and the position of the input by which it is entered

MOST_PATHS = 12  # above this, only the uses of `x` are shown, with the number of paths through each


def explain(x: Any, loss: Any = None, gradient: Any = None) -> Explanation:
    """Where the gradient of `x` comes from: the paths from the loss, their contributions, and the sum.

    Call it before `backward()`, or after `backward(retain_graph=True)`: the graph must still exist. No
    `.grad` is modified. `loss` defaults to the caller's variable that depends on `x` and that
    nothing else depends on; if there are several, the error names them. A loss with several
    elements needs `gradient`, the gradient to start from, as `backward()` does.
    """
    frame = sys._getframe(1)
    if not is_tensor(x):
        raise TypeError(f"explain: x must be a tensor, not {type(x).__name__}")
    if not x.requires_grad:
        raise ValueError("explain: x has requires_grad=False, so it gets no gradient")
    engine = engine_of([x])
    names = Names()
    names.see_frames(frame)
    loss = _found(x, names) if loss is None else loss
    _refuse_other_order(x, loss, names)
    if not is_tensor(loss) or not loss.requires_grad:
        raise ValueError("explain: loss must be a tensor with a history (a grad_fn)")
    if gradient is not None and not is_tensor(gradient):
        raise TypeError(f"explain: gradient must be a tensor, not {type(gradient).__name__}")
    if gradient is None and loss.numel() != 1:
        raise ValueError(
            f"explain: a result of shape {tuple(loss.shape)} is no single number; say with gradient= what to "
            "start from, as backward() asks for too, or explain by its sum or mean"
        )
    made = _Explainer(engine, x, loss, names, gradient)
    made.lines = assigned_lines(frame, made.collector.backward_order)
    return made.explanation()


def _refuse_other_order(x: Any, loss: Any, names: Names) -> None:
    """Reject `explain(loss, w)`: the first argument depends on the second."""
    if not is_tensor(loss) or loss is x or not (edge := edge_of(loss)) or x.grad_fn is None:
        return
    if not any(node is edge[0] or getattr(node, "variable", None) is edge[0] for node in walk([x])):
        return
    if edge[0] is edge_of(x)[0]:
        return  # two results of one operation
    first, second = names.of(x) or "the first", names.of(loss) or "the second"
    raise ValueError(
        f"explain: the other way round: {first} was computed from {second}, so {second} has a gradient of "
        f"{first}. The tensor comes first, then the loss: explain({names.of(loss) or 'x'}, "
        f"{names.of(x) or 'loss'})"
    )


def _found(x: Any, names: Names) -> Any:
    """The only variable that depends on `x` and that no other depends on."""
    wanted = edge_of(x)[0]
    ends: dict[int, tuple[str, Any]] = {}
    inner: set[int] = set()
    for tensor, name in list(names.tensors.values()):
        edge = edge_of(tensor)
        if edge is None or edge[0] is tensor or tensor is x:
            continue
        nodes = walk([tensor])
        if any(n is wanted or getattr(n, "variable", None) is wanted for n in nodes):
            ends[id(edge[0])] = name, tensor
            inner |= {id(node) for node in nodes if node is not edge[0]}
    left = [(name, tensor) for key, (name, tensor) in ends.items() if key not in inner]
    if len(left) == 1:
        return left[0][1]
    if not left:
        raise ValueError(
            "explain: which loss? None of your variables depends on x; say explain(x, loss)"
        )
    listed = ", ".join(sorted(name for name, _ in left))
    raise ValueError(f"explain: which loss? x is used by several ({listed}); say explain(x, loss)")


class _Explainer:
    def __init__(self, engine: Any, x: Any, loss: Any, names: Names, gradient: Any) -> None:
        self.engine, self.x, self.loss, self.names = engine, x, loss, names
        self.start = gradient
        self.lines: dict[int, Site] = {}  # for nodes that do not know their own
        with engine.no_grad():
            self.collector = Collector(engine, [loss], names=names)
        self.memory = self.collector.memory
        flow, trouble = flow_of(engine, self.collector, loss, gradient)
        if trouble:
            raise RuntimeError(f"explain: {trouble}")
        self.given = flow.given
        self.users: dict[tuple[int, int], list[_Step]] = {}  # of (node or leaf, output)
        for node in self.collector.backward_order:
            for place, (following, output) in enumerate(node.next_functions):
                if following is not None and (id(node), place) in flow.given:
                    leaf = getattr(following, "variable", None)
                    key = id(following if leaf is None else leaf), output
                    self.users.setdefault(key, []).append((node, place))
        self._outputs: dict[int, list[int]] = {}
        for owner, output in self.users:
            self._outputs.setdefault(owner, []).append(output)
        self.end = edge_of(loss)
        self._counts: dict[int, int] = {}

    def explanation(self) -> Explanation:
        x, loss = self.x, self.loss
        made = Explanation(
            self.names.of(x) or "the tensor",
            self.names.of(loss) or "the result",
            self.memory.look(x),
            self.memory.look(loss),
            is_leaf=x.grad_fn is None,
            held=None if x.grad_fn is not None or x.grad is None else self.memory.look(x.grad),
            start=None if self.start is None else self.memory.look(self.start),
        )
        key = _key(edge_of(x))
        uses = self.users.get(key, [])
        made.paths = sum(self._count(node) for node, _ in uses)
        if not uses:
            return made
        if made.paths <= MOST_PATHS:
            made.contributions = [self._along(path) for path in self._paths(uses)]
        else:
            made.contributions = [self._through(use) for use in uses]
        made.total = self._total([c.value for c in made.contributions])
        for part in made.contributions:
            part.through = [made.loss, *part.through, made.name]
        return made

    def _total(self, values: list[Value]) -> Value:
        """The sum of the contributions; for a tensor too large to be kept, the gradient itself."""
        if any(value.array is None for value in values):
            return self.memory.look(self._backward([self.x])[0])
        total = sum(value.array for value in values)
        return self.memory.of_array(np.array(total), values[0].dtype)

    def _count(self, node: Any) -> int:
        """The number of paths from the end to this node; a node precedes those it uses."""
        if not self._counts:
            self._counts = {id(self.end[0]): 1}
            for one in self.collector.backward_order:
                found = sum(self._counts.get(id(user), 0) for user, _ in self._users_of(one))
                self._counts[id(one)] = self._counts.get(id(one), 0) + found
        return self._counts.get(id(node), 0)

    def _users_of(self, node: Any) -> list[_Step]:
        """The users of any of its outputs."""
        return [
            step
            for output in self._outputs.get(id(node), ())
            for step in self.users[id(node), output]
        ]

    def _paths(self, uses: list[_Step]) -> Iterator[list[_Step]]:
        """Every path from `x` to the end, as steps: a node and the input position at which it is entered."""
        pending = [[use] for use in reversed(uses)]
        while pending:
            path = pending.pop()
            node = path[-1][0]
            if node is self.end[0]:
                yield path
            following = [
                u for key, users in self.users.items() if key[0] == id(node) for u in users
            ]
            pending += [[*path, step] for step in reversed(following)]

    def _along(self, path: list[_Step]) -> Contribution:
        """One path alone: each of its nodes passes on only what goes along it."""
        numbers: dict[int, float] = {}
        brought: list[Any] = []
        handles = []
        for i, (node, place) in enumerate(path):
            handles.append(node.register_hook(self._only(i, place, numbers, brought)))
        try:
            wanted = self.collector.leaves if self.x.grad_fn is None else [self.x]
            self._backward(wanted)
        finally:
            for handle in handles:
                handle.remove()
        value = self.memory.look(summed(brought[-1], tuple(self.x.shape)))
        chain = (
            [numbers[i] for i in range(len(path) - 1, -1, -1)] if len(numbers) == len(path) else []
        )
        start = self._first_number()
        factors = _factors([start, *chain]) if chain and value.is_single else []
        through = [operation_of(str(node.name())) for node, _ in reversed(path)]
        return Contribution(through, value, self._line(path[0][0]), factors)

    def _line(self, node: Any) -> Site | None:
        return site_of_node(node) or self.lines.get(id(node))

    def _backward(self, wanted: list[Any]) -> Any:
        """The gradients of these, with backward started from `gradient`."""
        start = None if self.start is None else [self.start]
        return self.engine.autograd.grad(
            [self.loss], wanted, start, retain_graph=True, allow_unused=True
        )

    def _first_number(self) -> float:
        """The starting value for a path of scalars; 0 if backward starts with several numbers."""
        if self.start is None:
            return 1.0
        return float(self.start.item().real) if self.start.numel() == 1 else 0.0

    def _only(self, i: int, place: int, numbers: dict[int, float], brought: list[Any]) -> Any:
        def keep(grad_inputs: Any, grad_outputs: Any) -> Any:
            passed = grad_inputs[place]
            if i == 0:
                brought.append(passed.detach())
            if passed.numel() == 1:
                numbers[i] = float(passed.detach().reshape(()).item().real)
            others = (
                g if k == place or g is None else self.engine.zeros_like(g)
                for k, g in enumerate(grad_inputs)
            )
            return tuple(others)

        return keep

    def _through(self, use: _Step) -> Contribution:
        node, place = use
        value = self.given[id(node), place]
        return Contribution(
            ["…", operation_of(str(node.name()))],
            value,
            self._line(node),
            paths=self._count(node),
        )


def _factors(numbers: list[float]) -> list[float]:
    """The factor of each step; empty if it cannot be determined."""
    found = [numbers[0]]
    for before, after in itertools.pairwise(numbers):
        if before == 0:
            return []
        found.append(after / before)
    return found


def _key(edge: Any) -> tuple[int, int]:
    return id(edge[0]), edge[1]
