"""Whether what a function gave back at a size is made as a template says: the same containers, tensors and views.

Numbers alone do not say that. Where a function gives back one of its arguments, or a view of one, at some sizes and
something else at others, no operation tells them apart: `return x if len(x) > 32 else weight`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from ..record.results import Given, Made, Passed, Seen, seen_again
from ..record.trees import NESTS
from ..sound.arguments import same_value


def unlike(described: Any, returned: Any, tensors: Sequence[Tensor], call: Any) -> str | None:
    """In what a result differs from its description, apart from numbers in memory; `tensors` are the arguments'."""
    return _Comparison(tensors, call).difference(described, returned, "the result")


class _Comparison:
    def __init__(self, tensors: Sequence[Tensor], call: Any) -> None:
        self.tensors = tensors
        self.call = call
        self.found: dict[int, Any] = {}  # by a description, the tensor in its place

    def difference(self, mine: Any, theirs: Any, name: str) -> str | None:
        if isinstance(mine, Passed):
            return None if mine.look(self.call) is theirs else f"{name} is another one"
        if NESTS.is_container(mine):
            if type(mine) is not type(theirs):
                return f"{name} is of another type"
            parts, others = NESTS.parts(mine), NESTS.parts(theirs)
            if [key for key, _ in parts] != [key for key, _ in others]:
                return f"{name} has other parts"
            for (key, part), (_, other) in zip(parts, others, strict=True):
                found = self.difference(part, other, f"{name}[{key!r}]")
                if found is not None:
                    return found
            return None
        alike = self._is_as_described(mine, theirs)
        return None if alike else f"{name} is another one"

    def _is_as_described(self, mine: Any, theirs: Any) -> bool:
        if not isinstance(mine, (Made, Given, Seen)):
            return same_value(mine, theirs)
        if not isinstance(theirs, Tensor) or self.found.setdefault(id(mine), theirs) is not theirs:
            return False
        if isinstance(mine, Given):
            return theirs is self._given(mine)
        others = [tensor for key, tensor in self.found.items() if key != id(mine)]
        if any(theirs is tensor for tensor in (*others, *self.tensors)):
            return False
        if theirs.requires_grad is not mine.requires_grad:
            return False
        return isinstance(mine, Made) or self._is_view(mine, theirs)

    def _given(self, place: Given) -> Any:
        return place.tensor if place.argument is None else self.tensors[place.argument]

    def _is_view(self, mine: Seen, theirs: Tensor) -> bool:
        """Whether it lies where the view would: in memory that the caller has."""
        base = self._again(mine.base)
        if base is None:  # that is made besides, and nobody else has it
            return True
        again, found = seen_again(base, mine)._data, theirs._data
        places = [
            (a.__array_interface__["data"][0], a.shape, a.strides, a.dtype) for a in (again, found)
        ]
        return bool(places[0] == places[1])

    def _again(self, place: Any) -> Any:
        if isinstance(place, Given):
            return self._given(place)
        if isinstance(place, Seen):
            base = self._again(place.base)
            with no_grad():
                return None if base is None else seen_again(base, place)
        return self.found.get(id(place))
