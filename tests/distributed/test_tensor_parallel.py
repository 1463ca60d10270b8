"""Tensor parallel layers give PyTorch's losses, gradients and weights."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import on_ranks
from tests.distributed.test_ddp import differences


@pytest.mark.parametrize("size", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4))])
def test_same_as_pytorch(size):
    expected = on_ranks("torch", size, "tensor_parallel")
    found = on_ranks("tautograd", size, "tensor_parallel")
    for rank in range(size):
        assert found[rank].keys() == expected[rank].keys()
        for name, value in expected[rank].items():
            differences(found[rank][name], value, 2e-5, f"rank {rank}, {name}")
