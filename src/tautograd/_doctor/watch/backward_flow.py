"""What flows through a graph in backward, looked at node by node, in the first steps only.

Hooks on the nodes see the gradients that arrive and those that leave. They change nothing and are
removed after the backward.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..._user_code.owners import foreign
from ..._user_code.sites import Site
from ..state.step_measures import largest
from .graph_walk import is_leaf_node, nodes

if TYPE_CHECKING:
    from ..doctor import Doctor
    from .events import Backward

MANY = 3000  # nodes of one graph that are looked at


class Passage:
    """A node that ran in backward, with the largest magnitude of what came and what left."""

    def __init__(self, engine: Any, node: Any, number: int, left: Any, came: Any) -> None:
        self.engine, self.node, self.number = engine, node, number
        self.left, self.came = left, came  # the gradients, or None

    @cached_property
    def arrived(self) -> list[float]:
        return [largest(self.engine, g) for g in self.came if _is_number(g)]

    @cached_property
    def leaving(self) -> list[float]:
        return [largest(self.engine, g) for g in self.left if _is_number(g)]

    @property
    def name(self) -> str:
        return str(self.node.name()).rpartition("::")[2]


def _is_number(grad: Any) -> bool:
    return grad is not None and grad.is_floating_point() and not grad.is_sparse


class Flow:
    """Hooks on all nodes of a graph, for the rules that have `on_passage`."""

    def __init__(self, doctor: Doctor) -> None:
        self.doctor = doctor
        self._handles: list[Any] = []

    def before_backward(self, event: Backward) -> None:
        self.remove()
        rules = self.doctor.listeners["on_passage"]
        if not rules:
            return
        for number, node in enumerate(nodes(event.roots, MANY)):
            if not is_leaf_node(node):
                self._handles.append(node.register_hook(self._hook(event, node, number, rules)))

    def _hook(self, event: Backward, node: Any, number: int, rules: list[Any]) -> Any:
        doctor = self.doctor

        def seen(left: Any, came: Any) -> None:
            with doctor.quietly():
                passage = Passage(event.engine, node, number, left, came)
                for rule in rules:
                    rule.on_passage(event, passage)

        return seen

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []


class Lines:
    """Where a node was recorded. An engine that does not note that is asked to, for the next
    iteration: the same place of the next graph has the same line."""

    def __init__(self) -> None:
        self._asking: set[str] = set()
        self._before: tuple[Any, bool, bool] | None = None

    def ask(self, engine: Any, who: str) -> None:
        """From now on, until all who asked say `stop()`."""
        if self._before is None:
            anomaly = engine.is_anomaly_enabled(), engine.is_anomaly_check_nan_enabled()
            self._before = (engine, *anomaly)
            engine.autograd.set_detect_anomaly(True, check_nan=False)
        self._asking.add(who)

    def ask_while(self, wanted: bool, engine: Any, who: str) -> None:
        """Ask where it is wanted, else stop asking."""
        if wanted:
            self.ask(engine, who)
        else:
            self.stop(who)

    def end(self) -> None:
        """Nobody asks any more."""
        for who in tuple(self._asking):
            self.stop(who)

    def stop(self, who: str) -> None:
        self._asking.discard(who)
        if self._before is not None and not self._asking:
            engine, on, check = self._before
            self._before = None
            engine.autograd.set_detect_anomaly(on, check_nan=check)


def line_of(node: Any) -> Site | None:
    """The line of user code that recorded a node, if it is known."""
    place: Site | None = getattr(node, "created_at", None)
    if place is not None:
        return place
    for text in reversed(node.metadata.get("traceback_", ())):
        # File "train.py", line 12, in forward
        head, _, rest = text.strip().partition("\n")[0].partition('", line ')
        file = head.partition('File "')[2]
        line, _, function = rest.partition(", in ")
        if file and line.isdigit() and not foreign[file]:
            return Site(file, int(line), function.strip())
    return None


def is_finite(values: list[float]) -> bool:
    return all(math.isfinite(v) for v in values)
