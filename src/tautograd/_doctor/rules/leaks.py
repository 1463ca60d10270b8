"""Graphs that are kept alive from step to step: TG902."""

from __future__ import annotations

import gc
import weakref
from collections import deque
from typing import Any

from ..events import Backward, Step
from ..flow import Lines, line_of
from ..graph import nodes
from ..sites import Site
from .base import Rule

_MARK = "tautograd doctor"


class _Token:
    """Lives as long as the node it is attached to."""

    __slots__ = ("__weakref__",)


class GraphLeak(Rule):
    """The graphs of past steps are still alive, more of them with every step."""

    code = "TG902"
    name = "graph-leak"
    severity = "warning"
    why = (
        "A loss holds on to the graph that made it. Adding losses up, or keeping them in a list, "
        "keeps the graph of every step, and memory grows until it ends."
    )
    quiet = (
        "Losses that are detached or turned into numbers, and graphs that are freed after a while."
    )
    fix = "total += loss.item()  # or loss.detach()"
    bug = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
total = 0.0
for _ in range(12):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss  # here
"""
    fixed = """
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
total = 0.0
for _ in range(12):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss.item()
"""
    many = 7  # graphs of past steps that are too many, if none was freed

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.graphs: deque[tuple[Any, Any, int, Site | None]] = deque(maxlen=30)
        self.lines = Lines()
        self.asked = self.said = False

    def before_backward(self, event: Backward) -> None:
        asked, self.asked = self.asked, False
        self.lines.stop()
        if self.said or not self.doctor.pulse.is_thorough:
            return
        if asked and self._growing(event) is not None:
            self._say(event)
        root = event.roots[0]
        node = root.grad_fn
        if node is None or _MARK in node.metadata:
            return
        token = node.metadata[_MARK] = _Token()
        self.graphs.append(
            (weakref.ref(token), weakref.ref(root), self.doctor.steps, event.site)
        )  # fmt: skip

    def after_step(self, event: Step) -> None:
        if self.said or not self.graphs or not self.doctor.pulse.is_thorough:
            return
        if self._growing(event) is not None:
            self.asked = True
            self.lines.ask(event.engine)

    def _growing(self, event: Any) -> list[tuple[Any, Any, int, Site | None]] | None:
        """The graphs of past steps, if there are many and all of them are alive."""
        site = self.graphs[-1][3] if self.graphs else None
        past = [g for g in self.graphs if g[2] < self.doctor.steps and g[3] == site]
        recent = past[-self.many - 1 :][: self.many]  # the last one may still have a name
        steps = {step for _, _, step, _ in recent}
        if len(steps) < self.many or any(token() is None for token, *_ in recent):
            return None
        return recent

    def _say(self, event: Backward) -> None:
        found = self._growing(event)
        if found is None:
            return
        tokens = {id(token()) for token, *_ in found}
        kept = [root() for _, root, _, _ in found]
        listed = [r for r in kept if r is not None]
        if len(listed) == len(kept):
            if not _in_one_container(listed):
                return
            site, how = line_of(listed[-1].grad_fn), "Past losses are kept with their graphs"
            newest = self.graphs[-1][1]()
            if newest is not None and newest.grad_fn is not None:
                site = line_of(newest.grad_fn) or site
        elif listed:
            return  # some are freed in time
        else:
            holder = self._holder(event.engine, tokens)
            if holder is None:
                return
            site, how = line_of(holder.grad_fn), "A sum over steps keeps the graph of every one"
        self.said = True
        self.report(
            f"{how}: the graphs of {len(tokens)} past steps are all still alive.",
            site or event.site, figures={"graphs alive": len(tokens)},
        )  # fmt: skip

    def _holder(self, engine: Any, tokens: set[int]) -> Any:
        """The tensor whose graph reaches most of the past steps' ones."""
        best, most = None, 0
        for thing in gc.get_objects():
            if engine.Tensor not in type(thing).__mro__ or thing.grad_fn is None:
                continue
            reached = sum(
                id(node.metadata.get(_MARK)) in tokens
                for node in nodes([thing], 4000)
                if node.metadata
            )
            if reached > most:
                best, most = thing, reached
        return best if most >= self.many - 1 else None


def _in_one_container(tensors: list[Any]) -> bool:
    """Whether a list or a dictionary holds them all (a queue that forgets is none)."""
    return any(
        isinstance(holder, (list, dict)) and holder is not tensors and len(holder) >= len(tensors)
        for holder in gc.get_referrers(tensors[0])
        if holder is not tensors and _holds(holder, tensors)
    )


def _holds(holder: Any, tensors: list[Any]) -> bool:
    if not isinstance(holder, (list, dict)):
        return False
    inside = {id(v) for v in (holder if isinstance(holder, list) else holder.values())}
    return all(id(t) in inside for t in tensors)
