"""Every collective, dtype and reduction on several ranks: the same results and errors as PyTorch's gloo.

python -m tests.distributed.test_collectives RANKS SEED SEEDS CALLS

draws calls at random, for as long as you like.
"""

from __future__ import annotations

import sys

import pytest

from tests.distributed.ranks import on_ranks

LIMIT = 300  # seconds, on a machine with other things to do


def is_error(outcome):
    return isinstance(outcome, list) and len(outcome) == 2 and str(outcome[0]).endswith("Error")


def alike(found, expected):
    """Whether two outcomes are the same: numbers exactly, errors by class and first words."""
    if is_error(expected) and is_error(found):
        # Assertions inside of gloo come with file and line; the leaf is a view's where gloo makes one.
        if expected[1].startswith("[") or all("place" in one[1] for one in (found, expected)):
            return found[0] == expected[0]
        return found[0] == expected[0] and found[1].split()[:2] == expected[1].split()[:2]
    return found == expected


def differences(size, program, *arguments):
    """What came out otherwise than on gloo, by the case's name; and how many there were."""
    expected = on_ranks("torch", size, program, *arguments, timeout=LIMIT)
    found = on_ranks("tautograd", size, program, *arguments, timeout=LIMIT)
    different, count = {}, 0
    for rank in range(size):
        ours, theirs = dict(found[rank]), dict(expected[rank])
        assert ours.keys() == theirs.keys(), (list(ours.items())[-1], list(theirs.items())[-1])
        count += len(theirs)
        for name, value in theirs.items():
            if not alike(ours[name], value):
                different[f"rank {rank}: {name}"] = ours[name], value
    return different, count


@pytest.mark.parametrize(
    "size", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 4, 8))]
)
def test_same_as_gloo(size):
    different, count = differences(size, "collectives")
    assert not different
    assert count > 300 * size


@pytest.mark.parametrize(
    ("size", "seed"),
    [(2, 1), *(pytest.param(n, 10 + n, marks=pytest.mark.slow) for n in (1, 3, 4, 8))],
)
def test_random_calls_same_as_gloo(size, seed):
    different, count = differences(size, "random_collectives", seed, 150)
    assert not different
    assert count == 150 * size


@pytest.mark.parametrize("size", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 4, 8))])
def test_ranks_hold_the_same_bits(size):
    """After a reduction. A NaN of any rank is in the result of all, and of two zeros all take the same."""
    found = on_ranks("tautograd", size, "alike", timeout=LIMIT)
    for case, (bits, nans, _) in found[0].items():
        assert all(own[case][:2] == (bits, nans) for own in found), case
        assert all(own[case][2] for own in found), case
        _, _, what, count = case
        missing = [i for i in range(count) if i % (size + 1) < size and not nans[i]]
        if what == "NaN":
            assert not missing, case


def main(arguments):
    """Ranks, first seed, how many seeds, how many calls to a seed."""
    size, first, seeds, calls = map(int, arguments)
    failed = 0
    for seed in range(first, first + seeds):
        different, count = differences(size, "random_collectives", seed, calls)
        failed += len(different)
        print(
            f"{size} ranks, seed {seed}: {count} outcomes, {len(different)} different", flush=True
        )
        for name, (ours, theirs) in different.items():
            print(f"  {name}\n    gloo {str(theirs)[:300]}\n    ours {str(ours)[:300]}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
