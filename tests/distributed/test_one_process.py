"""Training on several ranks is training on one, and training on PyTorch: fifty steps, to a bound on rounding.

The bound: to first order, what a run's roundings do to its weights after fifty steps is a linear function of them,
the same one for every run of the same computation. A run in float32 has roundings 2^29 times as large as one in
float64 has, so its distance from float64 over 2^29 is how far two runs in float64 come apart that round in an order of
their own. Which way single roundings fall is luck; 2^5 is for that (of two normal numbers of equal variance, one is
more than 32 times the other with a chance of 2 %, where one direction takes all; where more take part, hardly ever).
What is wrong is not near it: fifty steps move the weights by millions of bounds.
"""

from __future__ import annotations

import math
import os
import runpy

import pytest

from tests.distributed.ranks import HERE, on_ranks

LUCK = 2**5
FINER = 2.0**-29  # a rounding of float64, in those of float32
PROGRAM = runpy.run_path(str(HERE / "programs" / "fifty_steps.py"))
KINDS, ways = PROGRAM["WAYS"], PROGRAM["ways"]


def of(found, way, name, what):
    """What the ranks saw: losses of all shares in the order of the batch, weights as one process has them."""
    ranks = [one[f"{way}, {name}"][what] for one in found]
    if way == "pipeline":
        return ranks[-1] if what == "losses" else [n for rank in ranks for n in rank]
    if what == "losses" and way != "tensor":
        return [n for step in zip(*ranks, strict=True) for n in step]
    if what == "weights":
        assert all(rank == ranks[0] for rank in ranks), f"{way}: ranks differ"
    return ranks[0]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["mlp", "cnn", "gpt"])
@pytest.mark.parametrize("size", [2, 4, 8])
def test_fifty_steps(size, model):
    ours = on_ranks("tautograd", size, "fifty_steps", model, timeout=900)
    theirs = on_ranks("torch", size, "fifty_steps", model, "no", timeout=900)
    one = {key: value for rank in ours for key, value in rank.items() if key.startswith("one ")}
    compared, wrong = [], []
    for way in ways("tautograd", model):
        exact, rough = (
            one[f"one process, {KINDS[way]}, {model}, {bits}"] for bits in ("float64", "float32")
        )
        for what in ("losses", "weights", "buffers"):
            amplified = math.dist(rough[what], exact[what])
            assert amplified <= 1e-3 * math.hypot(*exact[what]), f"{way}, {what}: not first order"
            bound = LUCK * FINER * amplified
            found = of(ours, way, model, what)
            if (
                what == "losses" and way == "synchronised"
            ):  # each rank's own; one process has their mean
                found = [sum(found[i : i + size]) / size for i in range(0, len(found), size)]
            apart = {"one process": math.dist(found, exact[what])}
            if way in ways("torch", model):
                apart["PyTorch"] = math.dist(found, of(theirs, way, model, what))
            for other, far in apart.items():
                compared.append(f"{way}, {what}, {other}: {far:.1e}, bound {bound:.1e}")
                if far > bound:
                    wrong.append(compared[-1])
            if what == "weights":
                assert math.dist(exact["before"], exact["weights"]) > 1e6 * bound, way
    if os.environ.get("TAUT_TEST_FIGURES"):
        print(f"\n{model} on {size} ranks", *compared, sep="\n  ")
    assert not wrong, wrong
