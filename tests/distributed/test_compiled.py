"""Compiled steps with collectives inside: replayed with the same results, collectives as calls between stretches."""

from __future__ import annotations

import re

import pytest

from tests.distributed.ranks import on_ranks


@pytest.mark.parametrize("size", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3))])
def test_collectives_inside(size):
    ranks = on_ranks("tautograd", size, "compiled")
    for rank, found in enumerate(ranks):
        said = found.pop("refused")
        replays, error, is_averaged = found.pop("watched")
        assert replays >= 6
        assert "Target 7 is out of bounds" in error
        assert is_averaged == (size == 1)  # inside of no_sync() gradients stay on their rank
        for name, (same, distance, replays, text, _) in found.items():
            where = f"rank {rank} of {size}, {name}"
            assert same, where  # NumPy's calls give the bits of the step itself
            # Fused loops round in another order, in numbers of about 1: some hundred roundings of 8 steps of Adam.
            assert distance < 1e-11, where
            assert replays >= 6, f"{where}:\n{text}"
        assert "nobody waits for inside of the function" in said["nobody_waits"]
        assert "`Future.then`" in said["a_callback"]
        assert "whether a collective is over" in said["is_it_over"]
    for name in ("averaged", "overlapped"):  # gradients and weights are those of all ranks
        assert all(found[name][4][8:] == ranks[0][name][4][8:] for found in ranks)


def test_overlap_is_kept():
    """Buckets of DDP leave while backward still computes, and all of them before the first is waited for."""
    text = on_ranks("tautograd", 2, "compiled")[0]["ddp"][3]
    words = re.findall(r"all_reduce|wait|native code, \d+ instructions", text)
    first, wait = words.index("all_reduce"), words.index("wait")
    assert words.count("all_reduce") == words.count("wait") > 1
    assert any(word.startswith("native") for word in words[first:wait])
    assert "all_reduce" not in words[wait:]
