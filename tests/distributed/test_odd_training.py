"""Unusual training loops give the gradients that they should, on every rank, or an error; never others."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import on_ranks
from tests.distributed.test_ddp import differences

# PyTorch's `fully_shard` goes on with parameters from before a step, computes gradients of an old graph with new ones,
# adds those of a backward that failed, and loses parts of reentrant checkpoints.
WRONG_THERE = ("evaluated", "an old graph", "failed", "two checkpoints", "checkpoint and call")


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_gradient_or_an_error(size):
    expected = on_ranks("torch", size, "odd_training")
    found = on_ranks("tautograd", size, "odd_training")
    for rank in range(size):
        for (name, wrapper), value in expected[rank].items():
            if wrapper not in ("replicated", "static") and name.startswith(WRONG_THERE):
                reference = found[rank][name, "replicated"]
                if isinstance(reference, str) and name != "an old graph":
                    reference = found[rank][name, "static"]
                value = reference
            ours = found[rank][name, wrapper]
            assert type(ours) is type(value), (name, wrapper, ours, value)
            if isinstance(value, str):
                assert ours == value, (name, wrapper)
            else:
                differences(ours, value, 1e-9, f"rank {rank}, {name}, {wrapper}")
