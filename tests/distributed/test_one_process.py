"""Training on several ranks is training on one, to rounding."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import on_ranks


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
def test_fifty_steps(size):
    """Both runs in float32 round in an order of their own, so their distances from float64 are of one size.

    Each is a sum of many roundings that are independent: it varies by a small factor between orders, never by
    ten, while a wrong gradient is off by the weights' own size.
    """
    for name, (shared, alone, norm) in on_ranks("tautograd", size, "fifty_steps", timeout=280)[
        0
    ].items():
        assert shared <= 10 * alone, (name, shared, alone)
        assert alone < 1e-3 * norm, name
