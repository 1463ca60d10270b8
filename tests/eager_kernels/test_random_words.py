"""The Mersenne Twister by a kernel: the same words, and the same state afterwards, wherever a draw begins and ends."""

from __future__ import annotations

import numpy as np
import pytest

import tautograd as torch
from tests.eager_kernels.ways import using_kernels


def _drawn(draw):
    torch.manual_seed(7)
    torch.rand(3)
    found = [draw().numpy(), torch.rand(5).numpy(), draw().numpy()]
    return [*found, torch.get_rng_state().numpy()]


@pytest.mark.parametrize("count", [1024, 1025, 1247, 1248, 1249, 1872, 5000, 100_003])
@pytest.mark.parametrize(
    "draw",
    [
        torch.rand,
        lambda n: torch.rand(n, dtype=torch.float64),
        lambda n: torch.randint(0, 1000, (n,)),
        lambda n: torch.nn.functional.dropout(torch.ones(n), 0.3),
        lambda n: torch.nn.functional.dropout(torch.ones(n, dtype=torch.float64), 0.3),
        lambda n: torch.empty(n, dtype=torch.int32).bernoulli_(0.7),
    ],
)
def test_same_words(draw, count):
    with using_kernels(False):
        expected = _drawn(lambda: draw(count))
    for found, other in zip(_drawn(lambda: draw(count)), expected, strict=True):
        assert np.array_equal(found, other)
