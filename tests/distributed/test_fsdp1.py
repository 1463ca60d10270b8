"""`FullyShardedDataParallel` beside PyTorch's with gloo, and beside itself where PyTorch's needs a GPU.

Losses, gradients, norms and states after two or three steps. What runs in float64 is compared to 1e-10: three steps of
these models hardly amplify roundings of 1e-16. What runs in float32 to 1e-4, and what rounds to bfloat16 to 2^-6.
"""

from __future__ import annotations

import math

import pytest

from tests.distributed.ranks import on_ranks

# PyTorch's fails without a GPU ("offloaded", "states from rank 0"), says the module's path, or (states of several
# parameters with `use_orig_params`) hands out memory that it has filled again: its `exp_avg` is `exp_avg_sq`.
ITS_OWN = {"offloaded": "FULL_SHARD", "states from rank 0": "states alike"}
ALIASED = [
    *(f"whole state, {name}, True" for name in ("FULL_SHARD", "SHARD_GRAD_OP")),
    *(f"resumed, {kind}, True" for kind in ("whole", "sharded")),
]


def bound(name):
    if "own precision" in name:
        return 2.0**-6
    return 1e-4 if any(word in name for word in ("float32", "clipped", "largest")) else 1e-10


def difference(ours, theirs, near, path=""):
    """Where two results differ, or None."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if set(ours) != set(theirs):
            return f"{path}: names {sorted(set(ours) ^ set(theirs))}"
        pairs = [(key, ours[key], theirs[key]) for key in theirs]
    elif isinstance(theirs, (list, tuple)) and isinstance(ours, (list, tuple)):
        if len(ours) != len(theirs):
            return f"{path}: {len(ours)} and {len(theirs)}"
        pairs = [(i, *pair) for i, pair in enumerate(zip(ours, theirs, strict=True))]
    elif isinstance(theirs, float) and isinstance(ours, float):
        same = math.isclose(ours, theirs, rel_tol=near, abs_tol=near) or math.isnan(ours + theirs)
        return None if same else f"{path}: {ours} and {theirs}"
    else:
        return None if ours == theirs else f"{path}: {ours!r} and {theirs!r}"
    return next(
        filter(None, (difference(a, b, near, f"{path}/{key}") for key, a, b in pairs)), None
    )


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_beside_torch(size):
    ours = on_ranks("tautograd", size, "fsdp1", timeout=300)
    theirs = on_ranks("torch", size, "fsdp1", timeout=300)
    wrong = []
    for rank, (own, other) in enumerate(zip(ours, theirs, strict=True)):
        assert set(own) == set(other)
        for name, expected in other.items():
            found = own[name]
            if name in ITS_OWN:
                expected = own[ITS_OWN[name]]
            elif name in ALIASED and name.startswith("whole"):
                expected = own[name.replace("True", "False")]
                found = [found[0], {"state": found[1]["state"]}]
                expected = [expected[0], {"state": expected[1]["state"]}]
            elif name in ALIASED:
                expected = [expected[0], *[expected[1]] * 2]
            if name.startswith("resumed"):
                told = difference(found[1], found[2], 1e-10, f"[{rank}] {name}, again")
                wrong += [told] if told else []
            if isinstance(found, str):
                found = found.replace("tautograd.", "torch.")
            told = difference(found, expected, bound(name), f"[{rank}] {name}")
            wrong += [told] if told else []
    assert not wrong, "\n".join(wrong)


def test_an_evaluation_before_a_step_leaves_nothing_behind():
    """PyTorch's computes with the parameters from before the step here."""
    for found in on_ranks("tautograd", 2, "evaluated"):
        assert found == pytest.approx(dict.fromkeys(found, found["alone"]), rel=1e-6)
