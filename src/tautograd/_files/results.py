"""The final check of what was read: only data, and not nested deeper than Python can traverse."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from .allowance import Allowance
from .pickle_machine import NESTING, too_deep
from .refusals import UnsafeFile
from .storages import Storage

_TABLES = frozenset((dict, OrderedDict, Counter))
_CONTAINERS = frozenset((list, tuple, set, frozenset, *_TABLES))
_FEW = 8  # parts that are cheaper to check again than to remember
_REMEMBERED = 120  # bytes


@dataclass(slots=True)
class _Visit:
    """A container being traversed, and the known nesting depth inside it."""

    key: int
    parts: Iterator[Any]
    height: int = 1


class ResultCheck:
    """`leaves` are the types of values that hold nothing, unless tensors have attributes."""

    def __init__(self, leaves: frozenset[type], attributed: bool, allowance: Allowance) -> None:
        self._leaves = leaves
        self._attributed = attributed
        self._allowance = allowance
        self._heights: dict[int, int] = {}  # 0 for a container being traversed: it holds itself

    def check(self, found: Any, pickled: int) -> None:
        """Check what was read from a pickle of so many bytes."""
        if self._attributed or not self._is_plain(found, pickled):
            self._walk(found)

    def _is_plain(self, found: Any, most: int) -> bool:
        """Whether it certainly is data, checked one level at a time and as fast as possible.

        Without sharing there are no more parts than the pickle has bytes; if there are
        more, this gives up.
        """
        level = [found]
        for _ in range(NESTING + 1):
            if self._leaves.issuperset(map(type, level)):
                return True
            containers = [part for part in level if type(part) in _CONTAINERS and _holds(part)]
            leaves = [part for part in level if type(part) not in _CONTAINERS]
            most -= len(containers) + sum(map(len, containers))
            if most < 0 or not self._leaves.issuperset(map(type, leaves)):
                return False
            level = []
            for container in containers:
                if type(container) in _TABLES:
                    level.extend(container.values())
                    if type(container) is OrderedDict and container.__dict__:
                        level.extend(container.__dict__.values())
                else:
                    level.extend(container)
        return False

    def _walk(self, found: Any) -> None:
        """Visit every container once."""
        path = [_Visit(0, iter((found,)), 0)]
        while path:
            visit = path[-1]
            below = self._next(visit)
            if below is not None:
                path.append(below)
                if len(path) > NESTING + 1:
                    raise too_deep()
                continue
            path.pop()
            self._heights[visit.key] = visit.height
            if path:
                self._note(path[-1], visit.height)

    def _next(self, visit: _Visit) -> _Visit | None:
        """The next of a container's parts that must be visited."""
        for part in visit.parts:
            inside = self._inside(part)
            if not inside:
                continue
            known = self._heights.get(id(part))
            if known is None:
                flat = not self._attributed and self._leaves.issuperset(map(type, inside))
                if not (flat and len(inside) <= _FEW):
                    self._allowance.take(_REMEMBERED)
                    self._heights[id(part)] = 0
                if not flat:
                    return _Visit(id(part), iter(inside))
                known = 1
                if len(inside) > _FEW:
                    self._heights[id(part)] = known
            self._note(visit, known)
        return None

    def _note(self, visit: _Visit, height: int) -> None:
        visit.height = max(visit.height, height + 1)
        if visit.height > NESTING + 1:
            raise too_deep()

    def _inside(self, value: Any) -> Collection[Any] | None:
        """The contents of a value."""
        kind = type(value)
        if kind in _CONTAINERS:
            if kind is OrderedDict and vars(value):
                return [*value.values(), *vars(value).values()]
            return value.values() if kind in _TABLES else value  # type: ignore[no-any-return]
        if kind not in self._leaves:
            if kind is Storage:
                raise UnsafeFile(
                    "the file holds a storage without a tensor as a value, which tautograd does not have. "
                    "Convert it with PyTorch before it is saved."
                )
            what = getattr(value, "name", kind.__name__)
            raise UnsafeFile(f"the file holds {what} as a value, which is no data")
        if not self._attributed or kind is type:
            return None
        attributes = getattr(value, "__dict__", None)
        return attributes.values() if attributes else None


def _holds(container: Any) -> bool:
    """Whether a container has contents: an ordered dictionary without items may still have attributes."""
    return bool(container) or (type(container) is OrderedDict and bool(vars(container)))
