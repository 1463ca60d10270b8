"""Several results with a history: each goes backward as in the plain function, and reaches only its leaves."""

from __future__ import annotations

from typing import Any

import pytest

import tautograd as torch
from tautograd import nn, optim

from .compare import assert_same, bits, seen_of


class Heads(nn.Module):
    """Two heads on a trunk that saves values, and a third that has nothing in common with them."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk, self.first, self.second, self.alone = (nn.Linear(3, 3) for _ in range(4))

    def forward(self, x: Any) -> Any:
        shared = self.trunk(x).tanh()
        return self.first(shared), {"second": self.second(shared)}, self.alone(x)


def both(backend: str) -> Any:
    """The same model twice, plain and compiled."""
    for compiled in (False, True):
        torch.manual_seed(0)
        model = Heads()
        yield model, torch.compile(model, backend=backend) if compiled else model


def trained(model: Any, step: Any, used: tuple[int, ...], apart: bool) -> Any:
    """A few steps in which only some results are used, together or one after the other."""
    optimizer = optim.AdamW(model.parameters(), lr=0.1)
    found = []
    for call in range(5):
        torch.manual_seed(call)
        first, named, alone = step(torch.randn(2, 3))
        losses = [loss.pow(2).sum() for loss in (first, named["second"], alone)]
        optimizer.zero_grad()
        if apart:
            for number in used:
                losses[number].backward()
        else:
            sum(losses[number] for number in used).backward()  # type: ignore[union-attr]
        optimizer.step()
        found.append(bits([losses, seen_of(model, optimizer)]))
    return found


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize(
    ("used", "apart"),
    [((0,), False), ((1,), False), ((2,), False), ((0, 2), False), ((0, 2), True), ((2, 1), True)],
)
def test_results_that_are_not_used(used: tuple[int, ...], apart: bool, backend: str) -> None:
    """A parameter that is not reached has no gradient, and the optimizer leaves it alone."""
    plain, found = (trained(*pair, used, apart) for pair in both(backend))
    assert_same(found, plain, 0.0 if backend == "numpy" else 64.0)


def test_results_that_share_saved_values_go_backward_once() -> None:
    _, (_, step) = both("numpy")
    for _ in range(3):
        first, named, _ = step(torch.ones(2, 3))
        first.sum().backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            named["second"].sum().backward()


def test_an_infinite_slope_of_a_result_that_is_not_used() -> None:
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    compiled = torch.compile(
        lambda x: ((weight * x).sum(), (weight * 0).log().sum()), backend="numpy"
    )
    for _ in range(4):
        weight.grad = None
        compiled(torch.tensor([3.0, 4.0]))[0].backward()
        assert weight.grad is not None
        assert weight.grad.tolist() == [3.0, 4.0]


def test_some_of_several_results_to_second_order() -> None:
    compiled = torch.compile(lambda x: ((x**3).sum(), x.exp(), (x**2).sin()), backend="numpy")
    for _ in range(4):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (slope,) = torch.autograd.grad(compiled(x)[0], x, create_graph=True)
        slope.sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [6.0, 12.0]


def test_a_function_that_changes_a_buffer_does_not_run_again_for_second_order() -> None:
    model = nn.BatchNorm1d(3)
    compiled = torch.compile(model, backend="numpy")
    x = torch.randn(4, 3, requires_grad=True)
    for _ in range(2):
        compiled(x)
    counted = int(model.num_batches_tracked)
    with pytest.raises(RuntimeError, match="has side effects"):
        torch.autograd.grad(compiled(x).sum(), x, create_graph=True)
    assert int(model.num_batches_tracked) == counted + 1
