"""What a tensor prints as while `vmap` maps a function."""

from __future__ import annotations

from typing import Any

from tests.both import same


@same
def test_a_batch_prints_as_a_batch(torch: Any) -> Any:
    said: list[str] = []

    def function(x: Any) -> Any:
        said.append(repr(x))
        return x * 2

    torch.func.vmap(function)(torch.arange(6.0).reshape(3, 2))
    torch.func.vmap(torch.func.vmap(function))(torch.arange(4.0).reshape(2, 2))
    return said
