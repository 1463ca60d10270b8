"""What a tensor shows while a function is followed: arrays that are not there yet, and a history that is not."""

from __future__ import annotations

from typing import Any

from ..._autograd.modes import modes
from ..._stand_ins.slots import WhileAnybody
from ..._tensor.tensor import Tensor


class _LazyNode:
    """The history of a tensor that is not there yet."""

    __slots__ = ()


LAZY_NODE = _LazyNode()


def _shown_data(below: Any) -> Any:
    def get(self: Tensor) -> Any:
        run = modes.deferred
        return below.__get__(self) if run is None or not run.follows else run.get_data(self)

    def put(self: Tensor, value: Any) -> None:
        run = modes.deferred
        if run is None or not run.follows:
            below.__set__(self, value)
        else:
            run.set_data(self, value)

    return property(get, put)


def _shown_grad(below: Any) -> Any:
    def put(self: Tensor, value: Any) -> None:
        run = modes.deferred
        if run is None or not run.follows:
            below.__set__(self, value)
        else:
            run.set_grad(self, value)

    return property(below.__get__, put)


def _shown_node(below: Any) -> Any:
    def get(self: Tensor) -> Any:
        value = below.__get__(self)
        run = modes.deferred
        if value is LAZY_NODE and run is not None:
            run.force("a tensor's history is asked for")
            value = below.__get__(self)
        return value

    return property(get, below.__set__)


_SHOWN = (
    (Tensor, "_data", _shown_data),
    (Tensor, "_grad", _shown_grad),
    (Tensor, "_node", _shown_node),
)
showing = WhileAnybody(lambda: _SHOWN)
