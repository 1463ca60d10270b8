"""While a function is recorded, every function that starts is seen, apart from those by which the tape works."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd._compile.guards.strangers import Strangers
from tautograd._compile.record.tape import Tape


class Place:
    """An index whose number comes from code that nobody has read."""

    def __index__(self) -> int:
        return 1


def test_what_an_array_function_comes_to_is_seen() -> None:
    tape = Tape()
    array: Any = tape.external(np.arange(3.0))
    strangers = Strangers([], tape.unwatched)
    with strangers:
        array = array * 2
        assert strangers.found is None
        assert array[Place() :].shape == (2,)
    assert strangers.found is not None
    assert "__index__" in strangers.found
    assert sys.getprofile() is None


def test_a_function_after_an_array_function_is_seen() -> None:
    def unread() -> None:
        pass

    tape = Tape()
    array: Any = tape.external(np.arange(3.0))
    strangers = Strangers([], tape.unwatched)
    with strangers:
        array + 1
        unread()
    assert strangers.found is not None
    assert "unread" in strangers.found


def test_what_the_tape_does_by_itself_is_not_told(monkeypatch: Any) -> None:
    """And a profiler that somebody else had there before is told all of it."""
    told: Counter[str] = Counter()
    looking = Strangers._looking

    def counted(self: Strangers) -> Any:
        look = looking(self)

        def both(frame: Any, event: str, argument: Any) -> None:
            told[frame.f_code.co_name] += 1
            look(frame, event, argument)

        return both

    monkeypatch.setattr(Strangers, "_looking", counted)
    for before in (None, lambda *event: None):
        told.clear()
        tape = Tape()
        array: Any = tape.external(np.arange(3.0))
        sys.setprofile(before)
        try:
            with Strangers([], tape.unwatched):
                array + 1
        finally:
            after = sys.getprofile()
            sys.setprofile(None)
        assert after is before
        assert told["run"]
        assert bool(told["instructions_for"]) == (before is not None)


def test_what_the_recorder_does_by_itself_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event costs as much as a small function: of an optimizer's formulas and of noting there are thousands."""
    told: set[str] = set()
    looking = Strangers._looking

    def noticing(self: Any) -> Any:
        look = looking(self)

        def both(frame: Any, event: str, argument: Any) -> None:
            told.add(frame.f_code.co_name)
            look(frame, event, argument)

        return both

    monkeypatch.setattr(Strangers, "_looking", noticing)
    model = torch.nn.Linear(256, 2)
    optimizer = torch.optim.Adam(model.parameters())

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(step, backend="numpy")
    for _ in range(2):
        compiled(torch.ones(64, 256))  # large enough for its calls to be noted
    assert compiled.records == 1
    assert {"step", "zero_grad", "_pass_on", "write_out"} <= told
    assert not told & {"placed", "_note_result", "_new_number"}
