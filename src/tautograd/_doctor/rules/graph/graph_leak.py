"""Graphs that are kept alive from step to step: TG902."""

from __future__ import annotations

import gc
import re
import weakref
from collections import deque
from types import CodeType
from typing import Any

from ...._user_code.sites import Site
from ...._user_code.source_lines import lines_of
from ...._user_code.stack import user_frames
from ...watch.backward_flow import line_of
from ...watch.events import Backward, Step
from ...watch.graph_walk import is_leaf_node, leaves, nodes
from ...watch.living import instances_of
from ..base import Rule
from ..training_loop import training

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
    example = training("""
  total = 0.0
  for _ in range(12):
      optimizer.zero_grad()
      loss = torch.nn.functional.mse_loss(model(x), y)
      loss.backward()
      optimizer.step()
-     total += loss  # here
+     total += loss.item()
""")
    many = 7  # graphs of past steps that are too many, if none was freed
    looks = (3, 9)  # steps after which lists of graphs that never go backward are looked for

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.graphs: deque[tuple[Any, int, Site | None]] = deque(maxlen=30)  # token, step, line
        self.asked = self.said = False
        self.lists: dict[int, set[int]] = {}  # container -> the tensors with a graph that it held

    def before_backward(self, event: Backward) -> None:
        asked, self.asked = self.asked, False
        self.doctor.lines.stop(self.code)
        if self.said or not self.doctor.pulse.is_thorough:
            return
        if asked:
            self._say(event)
        first = min(
            (node for node in nodes(event.roots, 4000) if not is_leaf_node(node)),
            key=lambda node: node._sequence_nr(),
            default=None,
        )
        if first is None or _MARK in first.metadata:
            return
        token = first.metadata[_MARK] = _Token()
        self.graphs.append((weakref.ref(token), self.doctor.steps, event.site))

    def after_step(self, event: Step) -> None:
        if not self.said and self.doctor.pulse.is_thorough and self._growing():
            self.asked = True
            self.doctor.lines.ask(event.engine, self.code)
        if not self.said and self.doctor.steps in self.looks:
            self._look_for_lists(event)

    def _look_for_lists(self, event: Step) -> None:
        """Values that nobody takes the gradient of hold on to their graphs as well."""
        held = self.doctor.held()
        tensors = [t for t in instances_of(event.engine.Tensor) if t.grad_fn is not None]
        wanted = {id(t): t for t in tensors}
        lists, self.lists = self.lists, {}
        for holder in gc.get_referrers(*tensors) if tensors else ():
            if not isinstance(holder, list) or holder is tensors:
                continue
            inside = {id(thing) for thing in holder} & wanted.keys()
            before = lists.get(id(holder))
            self.lists[id(holder)] = inside
            since = self.looks[1] - self.looks[0]
            # What was there is there still, and every step has put something to it.
            if not before or len(before) < self.looks[0] - 1 or not before < inside:
                continue
            if len(inside) - len(before) < since:
                continue
            newest = holder[-1] if id(holder[-1]) in wanted else wanted[max(inside)]
            site = _line_of_keeping(holder)
            if site is None or not any(id(leaf) in held for leaf in leaves([newest], 4000)):
                continue
            self.said = True
            self.report(
                f"Values of past steps are kept with their graphs: {len(inside)} of them are in one list.",
                site, figures={"graphs alive": len(inside)},
            )  # fmt: skip
            return

    def _growing(self) -> set[int]:
        """The tokens of past steps' graphs, if there are many and all of them are alive."""
        if not self.graphs:
            return set()
        site = self.graphs[-1][2]
        past = [g for g in self.graphs if g[1] < self.doctor.steps and g[2] == site]
        recent = past[-self.many - 1 :][: self.many]  # the last one may still have a name
        tokens = {id(token) for reference, *_ in recent if (token := reference()) is not None}
        steps = {step for _, step, _ in recent}
        return tokens if len(tokens) == len(steps) == self.many else set()

    def _say(self, event: Backward) -> None:
        tokens = self._growing()
        if not tokens:
            return
        holders = _holders(event.engine, tokens)
        most = max(holders, key=lambda pair: len(pair[1]), default=None)
        if most is None:
            return
        keeping: Site | None = None
        if len(most[1]) >= self.many - 1:
            node, how = most[0].grad_fn, "A sum over steps keeps the graph of every one"
        else:
            found = _in_one_container([tensor for tensor, _ in holders], self.many - 1)
            if found is None:
                return
            kept, container = found
            newest = kept if line_of(kept.grad_fn) is not None else event.roots[0]
            node, how = newest.grad_fn, "Tensors of past steps are kept with their graphs"
            keeping = _line_of_keeping(container)
        self.said = True
        self.report(
            f"{how}: those of {len(tokens)} past steps are all still alive.",
            keeping or line_of(node) or event.site, figures={"graphs alive": len(tokens)},
        )  # fmt: skip


def _holders(engine: Any, tokens: set[int]) -> list[tuple[Any, set[int]]]:
    """Living tensors, with the past steps' graphs that each reaches."""
    found = []
    for thing in instances_of(engine.Tensor):
        if thing.grad_fn is not None:
            reached = {
                mark
                for node in nodes([thing], 4000)
                if (mark := id(node.metadata.get(_MARK))) in tokens
            }
            if reached:
                found.append((thing, reached))
    return found


def _in_one_container(tensors: list[Any], many: int) -> tuple[Any, Any] | None:
    """The newest tensor of a list or a dictionary that holds many of them, or many records with one
    of them each (a queue forgets), and that container."""
    records = [
        holder
        for holder in gc.get_referrers(*tensors)
        if holder is not tensors and isinstance(holder, (list, dict, tuple))
    ]
    for things in (tensors, records):
        wanted = {id(thing) for thing in things}
        for holder in gc.get_referrers(*things) if things else ():
            if holder is things or holder is tensors or not isinstance(holder, (list, dict)):
                continue
            inside = list(holder if isinstance(holder, list) else holder.values())
            if sum(id(thing) in wanted for thing in inside) >= many:
                return (inside[-1] if hasattr(inside[-1], "grad_fn") else tensors[-1]), holder
    return None


def _line_of_keeping(container: Any) -> Site | None:
    """The one line that puts something into a list or dictionary, found by its name."""
    for frame in user_frames():
        places = {**frame.f_locals, **frame.f_globals}
        attributes = [
            vars(owner) for owner in frame.f_locals.values() if hasattr(owner, "__dict__")
        ]
        names = {
            name for place in (places, *attributes) for name, held in list(place.items())
            if held is container
        }  # fmt: skip
        if not names:
            continue
        name = "|".join(map(re.escape, names))
        keeps = re.compile(
            rf"\b({name})\b(\.(append|insert|extend|add)\(|\[[^\]]*\]\s*=[^=]|\s*\+=)"
        )
        file = frame.f_code.co_filename
        found = [i for i, line in enumerate(lines_of(file), 1) if keeps.search(line)]
        return Site(file, found[0]) if len(found) == 1 else _in(frame.f_code, found)
    return None


def _in(code: CodeType, lines: list[int]) -> Site | None:
    """The one of these lines that is of this function."""
    own = {line for *_, line in code.co_lines()}
    found = [line for line in lines if line in own]
    return Site(code.co_filename, found[0], code.co_name) if len(found) == 1 else None
