"""cuDNN's front end, without it: a graph is run by the addresses of its tensors, or as the front end documents it."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from tautograd._arrays.cuda.cudnn import Graph


class _Plan:
    cpp_index = 3


class _Lowered:
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def _execute_with_raw_ptrs(
        self, at: int, count: int, room: int, handle: int, index: int
    ) -> None:
        given = (ctypes.c_int64 * count).from_address(at)
        self.calls.append((list(given), room, handle, index))


class _Front:
    """What the front end's graph has that is asked for here."""

    selected_engine: Any = None
    _plan_index = 0

    def __init__(self, lowered: Any) -> None:
        self._lowered_graph = lowered
        self.calls: list[Any] = []

    def get_workspace_size(self) -> int:
        return 7

    def _variant_pack_uids(self) -> list[int]:
        return [1, 2, 5]

    def _materialize_backend_plan(self, index: int) -> Any:
        return _Plan

    def execute(self, where: dict[int, int], room: int, handle: Any) -> None:
        self.calls.append((where, room))


class _Handle:
    backend_handle = 11


WHERE = {5: 50, 1: 10, 2: 20}


def test_addresses_are_handed_over_in_the_graphs_order() -> None:
    front = _Front(_Lowered())
    graph = Graph(front)
    for _ in range(2):
        graph.run(WHERE, 99, _Handle)
    assert front._lowered_graph.calls == [([10, 20, 50], 99, 11, 3)] * 2
    assert front.calls == []
    assert graph.work == 7


class _Otherwise(_Lowered):
    def _execute_with_raw_ptrs(self, places: Any) -> None:  # type: ignore[override]
        raise AssertionError


class _InPython(_Front):
    selected_engine = "an engine"


class _Nameless:
    """An older front end, whose graphs are its own."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    get_workspace_size, execute = _Front.get_workspace_size, _Front.execute


@pytest.mark.parametrize(
    "make", [lambda: _Front(_Otherwise()), lambda: _InPython(_Lowered()), _Nameless]
)
def test_what_is_written_otherwise_is_executed(make: Any) -> None:
    front = make()
    graph = Graph(front)
    for _ in range(2):
        graph.run(WHERE, 99, _Handle)
    assert front.calls == [(WHERE, 99)] * 2
