"""Wrapped models on several ranks: PyTorch's losses and weights, and the same weights on every rank."""

from __future__ import annotations

import math

import pytest

from tests.distributed.ranks import on_ranks

# Units in the last place that a float32 sum of a few dozen terms may differ by, in another order; a
# 16-bit hook rounds each gradient, so that a tie may fall either way.
BOUND = {"fp16": 2e-3, "bf16": 1.6e-2}


def differences(found, expected, bound, where):
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), where
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            differences(a, b, bound, f"{where}[{i}]")
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            differences(found[key], value, bound, f"{where}[{key!r}]")
    elif isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=bound, abs_tol=bound), (where, found, expected)
    else:
        assert found == expected, where


@pytest.mark.parametrize("size", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4))])
def test_same_as_pytorch(size):
    expected = on_ranks("torch", size, "ddp")
    found = on_ranks("tautograd", size, "ddp")
    for rank in range(size):
        for name, value in expected[rank].items():
            bound = BOUND.get(name, 2e-5)
            differences(found[rank][name], value, bound, f"rank {rank}, {name}")
    for name in ("plain", "bucket views", "small buckets", "fp16", "join", "ZeRO"):
        weights = [result[name] if name == "join" else result[name][1] for result in found]
        assert all(one == weights[0] for one in weights), f"{name}: ranks differ"
