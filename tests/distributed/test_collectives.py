"""Every collective, dtype and reduction on several ranks: the same results and errors as PyTorch's gloo."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import on_ranks


def alike(found, expected):
    """Whether two outcomes are the same: numbers exactly, errors by class and first words."""
    if isinstance(expected, list) and len(expected) == 2 and str(expected[0]).endswith("Error"):
        return found[0] == expected[0] and found[1].split()[:2] == expected[1].split()[:2]
    return found == expected


@pytest.mark.parametrize(
    "size", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 4, 8))]
)
def test_same_as_gloo(size):
    expected = on_ranks("torch", size, "collectives")
    found = on_ranks("tautograd", size, "collectives")
    for rank in range(size):
        assert expected[rank].keys() == found[rank].keys()
        different = {
            name: (found[rank][name], value)
            for name, value in expected[rank].items()
            if not alike(found[rank][name], value)
        }
        assert not different, f"rank {rank}: {different}"
    assert len(expected[0]) > 300
