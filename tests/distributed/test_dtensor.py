"""Tensors spread over ranks compute what PyTorch's do, and what one process does."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import on_ranks
from tests.distributed.test_ddp import differences


@pytest.mark.parametrize("size", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4))])
def test_same_as_pytorch(size):
    expected = on_ranks("torch", size, "dtensors")
    found = on_ranks("tautograd", size, "dtensors")
    for rank in range(size):
        for name, value in expected[rank].items():
            differences(found[rank][name], value, 2e-5, f"rank {rank}, {name}")


def test_elementwise_functions_ask_other_ranks_for_nothing():
    found = on_ranks("tautograd", 2, "quiet_dtensors")
    assert found == [([0, 0], True, (2, 3))] * 2


@pytest.mark.parametrize(
    ("size", "seed", "trials", "first"),
    [(2, 0, 1, 1), *(pytest.param(n, n, 2, 0, marks=pytest.mark.slow) for n in (2, 3, 4))],
)
def test_every_operation(size, seed, trials, first):
    for compared, wrong in on_ranks(
        "tautograd", size, "dtensor_operations", seed, trials, first, timeout=570
    ):
        assert compared > 300
        assert not wrong, "\n".join(wrong)
