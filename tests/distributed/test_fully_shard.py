"""Fully sharded models: PyTorch's losses, weights and states; the same as one process has."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import on_ranks
from tests.distributed.test_ddp import differences


@pytest.mark.parametrize("size", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4))])
def test_same_as_pytorch(size):
    expected = on_ranks("torch", size, "fully_sharded")
    found = on_ranks("tautograd", size, "fully_sharded")
    for rank in range(size):
        assert found[rank].keys() == expected[rank].keys()
        for name, value in expected[rank].items():
            # Adam divides by the root of a gradient's square: what rounds to bfloat16 may move by a step of 0.01.
            bound = 2e-2 if name.startswith("bfloat16") else 2e-5
            differences(found[rank][name], value, bound, f"rank {rank}, {name}")
