"""Arguments that get a gradient inside a compiled function, and leaves that it makes itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tautograd as torch
from tautograd import func, nn
from tautograd._compile.messages.errors import CompileError
from tautograd.nn import functional as F

from .compare import assert_same, bits

MODEL = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def attack(x: Any) -> Any:
    """A step along the sign of the argument's gradient."""
    F.cross_entropy(MODEL(x), torch.zeros(2, dtype=torch.int64)).backward()
    return (x + 0.1 * x.grad.sign()).detach()


def given_back(x: Any) -> Any:
    (x**2).sum().backward()
    return x.grad


def switched_on(x: Any) -> Any:
    x.requires_grad_()
    (x**3).sum().backward()
    return x.grad.sum()


def set_by_hand(x: Any) -> Any:
    x.grad = x.detach() * 2
    return x.sum()


def penalty(x: Any) -> Any:
    """A leaf that the function makes gets a gradient too, and only the graph of the result holds it."""
    mixed = (x.detach() * torch.rand(2, 1)).requires_grad_()
    (slope,) = torch.autograd.grad(MODEL(mixed).sum(), mixed, create_graph=True)
    loss = ((slope.norm(dim=1) - 1) ** 2).mean()
    loss.backward()
    return loss


def with_history(x: Any) -> Any:
    leaf = x.detach().clone().requires_grad_()
    (slope,) = torch.autograd.grad(MODEL(leaf).sum(), leaf, create_graph=True)
    return slope


def of_each_example(x: Any) -> Any:
    return func.vmap(func.grad(lambda row: (row**3).sum()))(x.detach())


def second_order(x: Any) -> Any:
    return func.hessian(lambda row: (row**3).sum())(x.detach()[0])


ROWS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "a step along it": (attack, True),
    "given back": (given_back, True),
    "switched on inside": (switched_on, False),
    "set by hand": (set_by_hand, True),
    "a leaf made inside": (penalty, False),
    "a leaf behind the result": (with_history, False),
    "of each example": (of_each_example, False),
    "of second order": (second_order, False),
}


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("name", ROWS)
def test_a_gradient_of_an_argument(name: str, backend: str) -> None:
    """Each argument has a gradient of its own, which a later call does not touch."""
    fn, wants = ROWS[name]
    outcomes, compiled = [], torch.compile(fn, backend=backend)
    for step in (fn, compiled):
        torch.manual_seed(0)
        MODEL.zero_grad()
        arguments, found = [], []
        for _ in range(6):
            arguments.append(torch.randn(2, 3, requires_grad=wants))
            found.append([step(arguments[-1]), arguments[-1].requires_grad])
            found.append([p.grad if p.grad is None else p.grad.clone() for p in MODEL.parameters()])
        outcomes.append(bits([found, [x.grad for x in arguments]]))
    assert_same(outcomes[1], outcomes[0], 0.0 if backend == "numpy" else 32.0)
    assert compiled.records == 1
    assert compiled.explain().to_dict()["replays"] == 4


def test_a_gradient_that_is_there_already_grows() -> None:
    compiled = torch.compile(given_back, backend="numpy")
    x = torch.ones(3, requires_grad=True)
    for call in range(6):
        compiled(x)
        assert x.grad is not None
        assert x.grad.tolist() == [2.0 * (call + 1)] * 3


@pytest.mark.parametrize("of", ["argument", "outside"])
def test_a_hook_that_is_left_on_a_tensor_is_refused(of: str) -> None:
    weight = torch.ones(3, requires_grad=True)

    def run(x: Any) -> Any:
        (x if of == "argument" else weight).register_hook(lambda g: g * 2)
        return (x * weight).sum()

    compiled = torch.compile(run, backend="numpy")
    compiled(torch.ones(3, requires_grad=True))
    with pytest.raises(CompileError, match="a hook that is left"):
        compiled(torch.ones(3, requires_grad=True))


def test_a_gradient_that_comes_anew_has_the_version_of_a_new_one() -> None:
    weight = torch.ones(3, requires_grad=True)

    def run(x: Any) -> Any:
        (weight * x).sum().backward()

    compiled = torch.compile(run, backend="numpy")
    for call in range(12):
        if call % 3 == 0:
            weight.grad = None
        compiled(torch.ones(3))
        assert weight.grad is not None
        assert weight.grad._version == call % 3
    assert compiled.explain().to_dict()["replays"]
