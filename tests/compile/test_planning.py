"""Where scratch memory lies: buffers that are in use at one time are apart, and others share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd._compile.program.ir import Buffer, Kind, Program
from tautograd._compile.program.memory_planning import Use, planned

from .compare import lockstep


def program(*sizes: int) -> Program:
    return Program([Buffer(i, size, Kind.SCRATCH) for i, size in enumerate(sizes)])


def test_what_is_never_in_use_together_shares() -> None:
    offsets, total = planned(program(640, 640), [Use({0}), Use({0}), Use({1})], frozenset())
    assert offsets == {0: 0, 1: 0}
    assert total == 640


def test_memory_is_free_until_it_is_written_anew() -> None:
    """Buffer 0 is read in step 1 and filled again in step 3: buffer 1 fits in between."""
    first = Use({0}, filled=frozenset({0}))
    steps = [first, Use({0}), Use({1}, filled=frozenset({1})), first, Use({0})]
    assert planned(program(640, 640), steps, frozenset())[1] == 640
    steps[3] = Use({0})  # only a part is written: what was there is needed
    assert planned(program(640, 640), steps, frozenset())[1] == 1280


def test_a_result_takes_the_place_of_its_operand() -> None:
    last = Use({0, 1}, filled=frozenset({1}), in_place=((0, 1),))
    assert planned(program(640, 640), [Use({0}), last, Use({1})], frozenset())[1] == 640
    later = [Use({0}), last, Use({0, 1})]  # the operand is read once more
    assert planned(program(640, 640), later, frozenset())[1] == 1280


@pytest.mark.parametrize("seed", range(20))
def test_no_two_overlap_while_both_are_in_use(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [int(n) for n in rng.integers(1, 4000, 30)]
    steps = [Use({int(n) for n in rng.integers(0, 30, 3)}) for _ in range(60)]
    offsets, total = planned(program(*sizes), steps, frozenset())
    times = {n: [i for i, use in enumerate(steps) if n in use.buffers] for n in offsets}
    for one, at in offsets.items():
        assert at % 64 == 0
        assert at + sizes[one] <= total
        for other, place in offsets.items():
            together = times[one][0] <= times[other][-1] and times[other][0] <= times[one][-1]
            if one < other and together:
                assert at + sizes[one] <= place or place + sizes[other] <= at


def test_what_is_cleared_first_does_not_take_the_place_of_what_it_is_made_from() -> None:
    """A slice's gradient is zeros, and then the gradient: it cannot lie where that is read from."""
    where = torch.tensor([0, 2, 1, 1, 0])

    def make() -> Any:
        weight = torch.linspace(-1.0, 1.0, 15).reshape(5, 3).requires_grad_()

        def step() -> Any:
            weight.grad = None
            loss = weight.sin().gather(1, where[:, None])[:, 0].exp().mean()
            loss.backward()
            return loss

        return step, lambda: [weight, weight.grad]

    lockstep(make, 4, backend="llvm", bound=16.0)
