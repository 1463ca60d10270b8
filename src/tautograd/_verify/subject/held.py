"""State that a computation keeps between calls besides buffers: a module's attributes, a closure's lists.

A cell that remembers its hidden state gives another result each time, and cannot be checked by running
it unless each run starts from the same state. That state is restored only where results do change:
otherwise a rule that goes wrong at its second call would never have one.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

from .engines import is_tensor
from .places import Attribute, Container, Memo, Variable
from .restore import Untouched

_LARGE = 1 << 20  # numbers: a larger tensor is not hidden state written in place


class Held(Untouched):
    """Saves attributes, lists and small tensors that a computation holds; `restore()` restores them."""

    def __init__(self, target: Any) -> None:
        self.places = []
        self._seen = {}
        self._as_found: list[Callable[[], None]] = []
        self._remember(target)

    def restore(self) -> None:
        """Restore what is held; random streams and modes are handled elsewhere."""
        for place in self.places:
            place.restore()

    def moved(self) -> bool:
        """Whether a call has changed any of it."""
        return any(place.moved() for place in self.places)

    def codes(self) -> Iterator[types.CodeType]:
        """The code of the functions that make up the computation."""
        for value in self._seen.values():
            if isinstance(value, types.FunctionType):
                yield from _with_inner(value.__code__)

    def starts_without(self, place: Any) -> None:
        """From now on `restore()` leaves this place empty."""
        if isinstance(place, Attribute):
            container = next(
                p for p in self.places if isinstance(p, Container) and p.held is place.owner
            )
            before = container.before
            container.before = [(k, None if k == place.name else v) for k, v in before]
            self._as_found.append(lambda: setattr(container, "before", before))
        elif isinstance(place, Variable):
            held = place.held
            place.held = None
            self._as_found.append(lambda: setattr(place, "held", held))
        elif isinstance(place, Container):
            items = place.before
            place.before = []
            self._as_found.append(lambda: setattr(place, "before", items))
        elif isinstance(place, Memo):
            place.size = 0

    def leave_as_found(self) -> None:
        """Restore what was held at first, caches included."""
        for again in self._as_found:
            again()
        self.restore()

    def _remember(self, value: Any, depth: int = 0, label: str = "") -> None:
        if is_tensor(value) and (value.requires_grad or value.numel() > _LARGE):
            return  # parameters are replaced in each run
        super()._remember(value, depth, label)


def _with_inner(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _with_inner(constant)
