"""Which groups are unfolded when a page is opened: as many as can be read at a glance."""

from __future__ import annotations

from .graph import Graph, Group

OPEN = 40  # at most this many boxes initially,
TALL = 12  # this many of them stacked vertically,
TALL_MODEL = 26  # more for the outermost module's own parts, so that the model is not just one box
FEW = 10  # graphs up to this size show layers from inside


def open_at_first(graph: Graph, layers: list[list[list[str]]], most: int = OPEN) -> list[int]:
    """Groups that are initially unfolded: all of a small graph, else as deep as stays readable."""
    small = len(graph.nodes) <= FEW
    opened, front = {0}, [0]

    def folded(group: Group) -> bool:
        """Whether to keep one operation of its user as one box: yes, unless there is little else to see."""
        return group.is_one_call and not (small and group.kind == "module")

    while True:
        inner = [g.number for g in graph.groups if g.parent in front and not folded(g)]
        wider = opened | set(inner)
        tallest = TALL_MODEL if opened == {0} else TALL
        if not inner or _boxes(wider, layers) > most or _height(0, wider, layers) > tallest:
            return sorted(opened)
        opened, front = wider, inner


def _boxes(opened: set[int], layers: list[list[list[str]]]) -> int:
    names = (name for group in opened for layer in layers[group] for name in layer)
    return sum(name[0] == "n" or (name[0] == "g" and int(name[1:]) not in opened) for name in names)


def _height(group: int, opened: set[int], layers: list[list[list[str]]]) -> int:
    """How many boxes are stacked vertically."""
    total = 0
    for layer in layers[group]:
        inner = [int(name[1:]) for name in layer if name[0] == "g" and int(name[1:]) in opened]
        total += max((_height(i, opened, layers) for i in inner), default=0) or any(
            name[0] in "ng" for name in layer
        )
    return total
