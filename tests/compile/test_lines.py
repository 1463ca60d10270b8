"""An error about something that is seen when the function has run names the line that did it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from random import gauss
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd import nn
from tautograd._compile.messages.errors import CompileError

COUNT = 0
TOTALS: dict[str, Any] = {"seen": 0}
LAST: deque[Any] = deque(maxlen=3)
TABLE = np.ones(10_000, np.float32)
generator = np.random.default_rng(0)
numbers = iter(range(1000))


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Any) -> Any:
        y = x * 2
        self.calls += 1  # here
        return y


class Meter:
    def __init__(self) -> None:
        self.value = 0.0
        self.history: list[Any] = []

    def update(self, value: Any) -> None:
        size = len(value)
        self.value += size  # here


counting, meter, kept = Counting(), Meter(), Meter()


def of_a_global(x: Any) -> Any:
    global COUNT
    y = x * 2
    COUNT += 1  # here
    return y


def closure() -> Any:
    seen = 0

    def fn(x: Any) -> Any:
        nonlocal seen
        y = x * 2
        seen += 1  # here
        return y

    return fn


def of_a_dictionary(x: Any) -> Any:
    y = x * TOTALS["seen"]
    TOTALS["seen"] += 1  # here
    return y


def of_a_deque(x: Any) -> Any:
    y = x * len(LAST)
    LAST.append(1)  # here
    return y


def of_an_object(x: Any) -> Any:
    y = x * 2
    meter.update(y)
    return y


def of_a_tensor_kept(x: Any) -> Any:
    y = x * 2
    kept.history.append(y.detach())  # here
    return y


def of_random(x: Any) -> Any:
    y = x * 2
    return y * random.random()  # here


def of_a_function_of_random(x: Any) -> Any:
    y = x * 2
    return y * gauss(0, 1)  # here


def of_numpy(x: Any) -> Any:
    y = x * 2
    return y + float(np.random.rand())  # noqa: NPY002  # here


def of_a_generator(x: Any) -> Any:
    y = x * 2
    return y + generator.random()  # here


def of_an_iterator(x: Any) -> Any:
    y = x * 2
    return y * next(numbers)  # here


def of_an_array(x: Any) -> Any:
    y = x * 2
    return y * TABLE[0]  # here


def of_a_mode(x: Any) -> Any:
    y = x * 2
    torch.set_grad_enabled(not torch.is_grad_enabled())  # here
    return y


def of_a_hook(x: Any) -> Any:
    y = x * counting.weight
    counting.weight.register_hook(lambda g: g * 2)  # here
    return y


def of_an_argument(x: Any, found: dict[str, Any]) -> Any:
    y = x * len(found)
    found["last"] = 1  # here
    return y


ROWS: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
    "module": (counting, tuple),
    "global": (of_a_global, tuple),
    "closure": (closure(), tuple),
    "dictionary": (of_a_dictionary, tuple),
    "deque": (of_a_deque, tuple),
    "object": (of_an_object, tuple),
    "tensor kept": (of_a_tensor_kept, tuple),
    "random": (of_random, tuple),
    "from random": (of_a_function_of_random, tuple),
    "numpy.random": (of_numpy, tuple),
    "generator": (of_a_generator, tuple),
    "iterator": (of_an_iterator, tuple),
    "array": (of_an_array, tuple),
    "mode": (of_a_mode, tuple),
    "hook": (of_a_hook, tuple),
    "argument": (of_an_argument, lambda: ({},)),
}


@pytest.fixture(autouse=True)
def as_before() -> Any:
    yield
    torch.set_grad_enabled(True)
    counting.weight._hooks = None


@pytest.mark.parametrize("name", ROWS)
def test_the_line_is_the_one_that_did_it(name: str) -> None:
    fn, more = ROWS[name]
    compiled = torch.compile(fn, backend="numpy")
    found = None
    for _ in range(4):  # a mode that is turned is another form of arguments
        try:
            compiled(torch.ones(3), *more())
        except CompileError as error:
            found = str(error)
            break
    assert found is not None
    assert "# here" in found, found


def test_what_no_line_is_known_of_is_the_functions_own() -> None:
    """Not the line that calls it."""

    def fn(x: Any) -> Any:
        return iter([x * 2])

    compiled = torch.compile(fn, backend="numpy")
    compiled(torch.ones(3))
    with pytest.raises(CompileError, match=r"an iterator as a result(.|\n)*in fn\n"):
        compiled(torch.ones(3))


def test_what_a_backward_function_asks_for_is_its_own_line() -> None:
    class Asking(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * g.sum().item()  # here

    compiled = torch.compile(lambda x: Asking.apply(x) + 1, backend="numpy")
    compiled(torch.ones(3, requires_grad=True))
    with pytest.raises(CompileError, match="# here"):
        compiled(torch.ones(3, requires_grad=True))
