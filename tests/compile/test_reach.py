"""How far a recording looks for what a function reads: not beyond a refusal, and not without end."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import tautograd as torch
from tautograd._compile.guards import reachable
from tautograd._compile.guards.outside_variables import Variables


class Part:
    """One of very many objects that know each other."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.parts: list[Any] = []
        self.factor = 1.0

    def weight(self) -> float:
        return self.factor + len(self.parts) + self.number


def library(count: int) -> list[Part]:
    parts = [Part(i) for i in range(count)]
    for i, part in enumerate(parts):
        part.parts = parts[3 * i % count :][:10]
    return parts


PARTS = library(1000)
ENDLESS = itertools.count()
SETTING = {"scale": 2.0}


def last(parts: list[Part]) -> Part:
    return parts[-1]


def from_many(x: Any) -> Any:
    return x * last(PARTS).factor * PARTS[0].weight()


def after_an_iterator(x: Any) -> Any:
    next(ENDLESS)
    return x * last(PARTS).factor * PARTS[0].weight()


@pytest.fixture(autouse=True)
def _less(monkeypatch: pytest.MonkeyPatch) -> None:
    """As much less as there are fewer objects here than in a large library."""
    monkeypatch.setattr(reachable, "_MOST", 1 << 13)


def looked_at(variables: Variables) -> int:
    return reachable._MOST - variables._left


def test_many_objects_are_not_all_looked_at() -> None:
    found = Variables(from_many)
    assert not found.is_whole
    assert looked_at(found) < 1.1 * reachable._MOST
    assert any("can be compared" in what for _, what in found.unseen)


def test_a_refusal_ends_the_walk() -> None:
    found = Variables(after_an_iterator)
    assert [advice for _, _, advice in found.refused] == ["iterator"]
    assert looked_at(found) < 20


def test_what_is_followed_is_not_refused() -> None:
    found = Variables(after_an_iterator, guarded=False)
    assert found.refused
    assert any("can be compared" in what for _, what in found.unseen)


def test_each_part_of_a_nest_of_shared_tuples_is_looked_at_once() -> None:
    nest: Any = (1.0, [2.0])
    for _ in range(50):  # 2 ** 50 ways to its leaf
        nest = (nest, nest)
    found = Variables(lambda x: x * len(nest))
    assert found.is_whole
    assert looked_at(found) < 200


def test_a_container_is_counted_before_it_is_compared() -> None:
    wide: Any = [0]
    for _ in range(3):
        wide = [wide] * 10_000  # 10 ** 12 comparisons, and no more than 10 ** 5 entries
    assert not Variables(lambda x: x * len(wide)).is_whole


@pytest.mark.parametrize("sound", [None, True])
def test_what_is_out_of_reach_counts_at_each_call(sound: bool | None) -> None:
    compiled = torch.compile(from_many, sound=sound)
    x = torch.arange(3.0)
    for factor in (1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 0.5, 0.5, 0.5, 2.0):
        last(PARTS).factor = factor
        assert compiled(x).tolist() == from_many(x).tolist()


def test_what_is_out_of_reach_is_refused_where_guards_are_asked_for() -> None:
    compiled = torch.compile(from_many, sound=False)
    with pytest.raises(RuntimeError, match=r"too deep|than can be compared"):
        for _ in range(3):
            compiled(torch.ones(2))


def by_kind(x: Any, factor: Any) -> Any:
    last(PARTS).weight()
    return x * factor if kind_of(factor) is float else x


def kind_of(value: Any) -> Any:
    return type(value)


def test_a_number_stays_a_number_where_not_all_functions_were_read() -> None:
    compiled = torch.compile(by_kind)
    x = torch.ones(2)
    for i in range(12):
        assert compiled(x, 0.5 + i).tolist() == [0.5 + i] * 2
