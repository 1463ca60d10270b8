"""Operations of a known loop that can make NaN of finite numbers in backward: watched in every step.

Most graphs have none of them, and those that have have few: the way to each is remembered with the
place in the loop's cycle, and a hook on it sees what came and what left. Nothing else is looked at until
one of them makes something that is not finite.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._user_code.sites import Site
from .backward_flow import Passage, is_finite, line_of
from .events import Backward, RiskyBackward
from .graph_walk import is_leaf_node, node_name

if TYPE_CHECKING:
    from ..doctor import Doctor

MOST = 6  # operations of one graph that are watched,
HOPS = 60  # and steps from node to node that lead to all of them
_RISKY = frozenset(
    ("Sqrt", "Rsqrt", "Pow", "Log", "Log2", "Log10", "Log1p", "Div", "Norm", "LinalgVectorNorm", "Acos",
     "Asin", "Acosh", "Atanh", "Atan2", "Reciprocal", "Std", "Cdist", "Exp", "Prod")
)  # fmt: skip


class Way(NamedTuple):
    """From the root to a node, by the numbers of inputs; what it is called, and where it is written."""

    inputs: tuple[int, ...]
    name: str
    site: Site | None

    def follow(self, root: Any) -> Any:
        """The node, if it is there in the graph of this root."""
        node = root.grad_fn
        for i in self.inputs:
            inputs = node.next_functions if node is not None else ()
            node = inputs[i][0] if i < len(inputs) else None
        return node if node is not None and node.name() == self.name else None


def risky_ways(engine: Any, root: Any) -> list[Way]:
    """The ways to the operations that can, the nearest first."""
    first = root.grad_fn
    ways: dict[Any, tuple[int, ...]] = {first: ()}
    waiting = deque([first] if first is not None else [])
    found: list[Any] = []
    hops = 0
    while waiting and len(found) < MOST:
        node = waiting.popleft()
        way = ways[node]
        if len(way) + hops > HOPS:
            break
        if node_name(node) in _RISKY and not _is_harmless(engine, node):
            found.append(node)
            hops += len(way)
        for i, (following, _) in enumerate(node.next_functions):
            if following is not None and following not in ways and not is_leaf_node(following):
                ways[following] = (*way, i)
                waiting.append(following)
    return [Way(ways[node], node.name(), line_of(node)) for node in found]


def _is_harmless(engine: Any, node: Any) -> bool:
    """A division by a number, and a power of 1 or more."""
    name = node_name(node)
    if name == "Div":
        inputs = node.next_functions
        if len(inputs) > 1 and inputs[1][0] is not None:
            return False
        divisor = getattr(node, "_saved_other", None)
        divisor = getattr(node, "_saved_y", None) if divisor is None else divisor
        return not isinstance(divisor, engine.Tensor) or divisor.numel() == 1
    if name == "Pow":
        power = getattr(node, "_saved_exponent", None)
        if isinstance(power, engine.Tensor) and power.numel() == 1:
            power = power.item()
        return isinstance(power, (int, float)) and power >= 1
    return False


class Watch:
    """Hooks on these operations, for one backward."""

    def __init__(self, engine: Any, root: Any, ways: list[Way]) -> None:
        self.engine = engine
        self._seen: list[tuple[Any, Way, Any, Any]] = []
        self._handles = []
        for way in ways:
            node = way.follow(root)
            if node is not None:
                self._handles.append(node.register_hook(self._hook(node, way)))

    def _hook(self, node: Any, way: Way) -> Any:
        seen = self._seen

        def passed(left: Any, came: Any) -> None:
            seen.append((node, way, left, came))

        return passed

    def judge(self) -> tuple[Passage, Site | None] | None:
        """The first that made something that is not finite of what is, and its line."""
        for handle in self._handles:
            handle.remove()
        for node, way, left, came in self._seen:
            passage = Passage(self.engine, node, -1, left, came)
            if not is_finite(passage.leaving) and is_finite(passage.arrived):
                return passage, line_of(node) or way.site
        return None


class Risks:
    """What is known of them in a doctor's loops."""

    def __init__(self, doctor: Doctor) -> None:
        self.doctor = doctor
        self._asked: set[int] = set()  # places whose lines have been asked for
        self._kept: list[Way] = []

    def learn(self, event: Backward) -> None:
        """A backward that is looked at closely: the ways for the time when none is."""
        doctor = self.doctor
        place = doctor.pulse.at
        if place is None or len(event.roots) != 1:
            return
        known = {way[:2]: way.site for way in place.risks}
        found = risky_ways(event.engine, event.roots[0])
        place.risks = [way._replace(site=way.site or known.get(way[:2])) for way in found]
        if any(way.site is None for way in place.risks) and id(place) not in self._asked:
            self._asked.add(id(place))
            doctor.lines.ask(event.engine, "risks")

    def line(self, root: Any, node: Any) -> Site | None:
        """The line of a node, if it is one of those that were known."""
        return next((way.site for way in self._kept if way.follow(root) is node), None)

    def keep(self) -> None:
        """What is known here, for a moment: the doctor wakes up and begins anew."""
        place = self.doctor.pulse.at
        self._kept = place.risks if place is not None else []

    def watch(self, root: Any, ways: list[Way], engine: Any) -> Watch | None:
        """Before a backward while asleep."""
        with self.doctor.quietly():
            return Watch(engine, root, ways)
        return None

    def judge(self, watch: Watch, site: Site | None) -> None:
        """After it: one that has is told, and after the step everything is looked at."""
        doctor = self.doctor
        with doctor.quietly():
            found = watch.judge()
            if found is not None:
                doctor.pulse.at = None
                event = RiskyBackward(
                    *doctor.now(site, watch.engine), passage=found[0], line=found[1]
                )
                doctor.tell("on_risk", event)
