"""What a replay would not do again, or would do otherwise, is an error that names it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd import optim
from tautograd._compile.messages.errors import CompileError


class Slots:
    __slots__ = ("value",)


def counted(holder: Any, name: str) -> Any:
    def run(x: Any) -> Any:
        setattr(holder, name, getattr(holder, name) + 1)
        return x * 2

    return run


def count_in(holder: Any) -> None:
    holder.value += 1


def counted_by_a_helper() -> Any:
    found = SimpleNamespace(value=0)

    def run(x: Any) -> Any:
        count_in(found)
        return x * 2

    return run


def counted_in_slots() -> Any:
    found = Slots()
    found.value = 0

    def run(x: Any) -> Any:
        found.value += 1
        return x * 2

    return run


def kept_in_a_deque() -> Any:
    found: deque[int] = deque(maxlen=9)

    def run(x: Any) -> Any:
        found.append(1)
        return x * 2

    return run


def drawn(generator: Any) -> Any:
    def run(x: Any) -> Any:
        return x * float(generator.random())

    return run


class Flip:
    """A transformation with a generator of its own."""

    def __init__(self) -> None:
        self.generator = random.Random(0)

    def __call__(self, x: Any) -> Any:
        return x.flip(0) if self.generator.random() < 0.5 else x


def flipped() -> Any:
    flip = Flip()
    return lambda x: flip(x) * 2


def left_without_gradients(x: Any) -> Any:
    torch.set_grad_enabled(False)
    return x * 2


def left_with_doubles(x: Any) -> Any:
    torch.set_default_dtype(torch.float64)
    return x * 2


def rate_set_inside() -> Any:
    optimizer = optim.SGD([torch.ones(3, requires_grad=True)], lr=0.1)

    def run(x: Any) -> Any:
        for group in optimizer.param_groups:
            group["lr"] *= 0.9
        return x * 2

    return run


def rate_shown() -> Any:
    optimizer = optim.SGD([torch.ones(3, requires_grad=True)], lr=0.1)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def run(x: Any) -> Any:
        optimizer.step()
        schedule.step()
        return x * 2, schedule.get_last_lr()

    return run


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a count in a namespace": (lambda: counted(SimpleNamespace(n=0), "n"), "attribute `n`"),
    "a count by a function": (counted_by_a_helper, "attribute `value`"),
    "a count in slots": (counted_in_slots, "`value`"),
    "a deque": (kept_in_a_deque, "the content of `found`"),
    "Python's generator": (lambda: drawn(random.Random(0)), "a random number"),
    "NumPy's generator": (lambda: drawn(np.random.default_rng(0)), "a random number"),
    "NumPy's old generator": (lambda: drawn(np.random.RandomState(0)), "a random number"),
    "a generator in an object": (flipped, "a random number"),
    "gradients switched off": (lambda: left_without_gradients, "a mode that is left on"),
    "another default dtype": (lambda: left_with_doubles, "a mode that is left on"),
    "a rate that is set": (rate_set_inside, "attribute `lr`"),
    "a rate that is shown": (rate_shown, "attribute `_last_lr`"),
}


@pytest.fixture(autouse=True)
def modes_stay() -> Iterator[None]:
    yield
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_replay_would_not_do_is_refused(name: str) -> None:
    make, what = REFUSED[name]
    compiled = torch.compile(make(), backend="numpy")
    compiled(torch.ones(3))
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    with pytest.raises(CompileError, match=what) as caught:
        compiled(torch.ones(3))
    assert "test_not_done_again.py" in str(caught.value)


def test_a_list_or_dictionary_among_the_arguments_that_is_changed() -> None:
    def count(x: Any, state: Any) -> Any:
        state["calls"] += 1
        return x * 2

    compiled = torch.compile(count, backend="numpy")
    compiled(torch.ones(3), {"calls": 0})
    with pytest.raises(CompileError, match="among the arguments"):
        compiled(torch.ones(3), {"calls": 0})
