"""Strides are seen by the function that is recorded, too: those of dimensions of size one are eager's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tautograd as torch

OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "clone": lambda x: x.clone(),
    "another dtype": lambda x: x.double(),
    "product": lambda x: x * 2,
    "sum": lambda x: x.sum(0, keepdim=True),
    "zeros": torch.zeros_like,
}
STRIDES = [((3, 1, 1), (1, 1, 0)), ((1, 4), (100, 1)), ((4, 1), (1, 7)), ((2, 1, 3), (1, 50, 2))]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(("shape", "strides"), STRIDES)
def test_strides_of_single_elements(name: str, shape: Any, strides: Any) -> None:
    x = torch.arange(200.0).as_strided(shape, strides)

    def run(x: Any) -> Any:
        result = OPERATIONS[name](x)
        return result, result.stride()

    compiled = torch.compile(run)
    expected = OPERATIONS[name](x).stride()
    for _ in range(3):
        result, seen = compiled(x)
        assert result.stride() == seen == expected
