"""Attributes that a program gives to tensors are read afresh; calls on subclasses are for their classes to answer."""

from __future__ import annotations

from typing import Any

import pytest

import tautograd as torch


def _values(compiled: Any, x: Any, changes: dict[int, float], of: Any) -> list[float]:
    found = []
    for call in range(12):
        if call in changes:
            of.scale = changes[call]
        found.append(compiled(x).sum().item())
    return found


@pytest.mark.parametrize("where", ["argument", "global", "parameter", "set late"])
def test_what_is_read_is_what_it_is_now(where: str) -> None:
    x, other = torch.ones(3), torch.ones(3)
    layer = torch.nn.Linear(3, 1, bias=False)
    torch.nn.init.ones_(layer.weight)
    of: Any = {"global": other, "parameter": layer.weight}.get(where, x)
    if where != "set late":
        of.scale = 2.0

    def function(x: Any) -> Any:
        return layer(x) * getattr(x if of is x else of, "scale", 1.0)

    first = 1.0 if where == "set late" else 2.0
    found = _values(torch.compile(function), x, {5: 5.0, 9: 7.0}, of)
    assert found == [3 * first] * 5 + [15.0] * 4 + [21.0] * 3


def test_subclasses_stay_what_they_are() -> None:
    kind = type("Kind", (torch.Tensor,), {})
    x: Any = torch.ones(3).as_subclass(kind)
    compiled = torch.compile(lambda x: x * 2 + 1)
    assert [type(compiled(x)) for _ in range(6)] == [kind] * 6
    assert [type(compiled(torch.ones(3))) for _ in range(6)] == [torch.Tensor] * 6
    assert type(compiled(x)) is kind
