"""`torch._foreach_*`: every one of PyTorch's names, on lists of tensors of different shapes."""

from __future__ import annotations

import pytest
import torch as pytorch

import tautograd
from tests.both import same

NAMES = [name for name in dir(pytorch) if name.startswith("_foreach_")]
CALLS = [
    "add(x, 1)",
    "add(x, [1, 2.5])",
    "add(x, y, alpha=2)",
    "add(x, torch.tensor(3.0))",
    "add(x, torch.tensor(3.0), alpha=2)",
    "add_(x, y)",
    "sub(x, y, alpha=3)",
    "mul(x, torch.tensor(2.0))",
    "mul_(x, [2, 3])",
    "div(x, y)",
    "div_(x, 4)",
    "addcmul(x, y, y, value=2)",
    "addcmul(x, y, y, [1, 2])",
    "addcdiv_(x, y, y, torch.tensor([1.0, 2.0]))",
    "addcdiv(x, y, y)",
    "lerp(x, y, 0.5)",
    "lerp(x, y, y)",
    "lerp_(x, y, 0.25)",
    "pow(x, 2)",
    "pow(2, x)",
    "pow(x, y)",
    "pow(x, [1, 2])",
    "clamp_min(x, 1.5)",
    "clamp_max_(x, [1, 0.5])",
    "maximum(x, y)",
    "maximum(x, 1)",
    "minimum_(x, y)",
    "norm(x)",
    "norm(x, 1)",
    "norm(x, float('inf'), dtype=torch.float64)",
    "powsum(x, 3)",
    "max(x)",
    "clone(x)",
    "copy_(x, y)",
    "zero_(x)",
    "mm([x[1]], [y[1].t()])",
]
WRONG = [
    "add([], 1)",
    "add(x, y[:1])",
    "add(x, [1])",
    "mul(x, torch.ones(2))",
    "abs(3)",
    "addcmul(x, y, y, torch.ones(3))",
    "addcdiv_(x, y, y[:1], 1)",
    "norm([torch.ones(2).long()])",
]


def _lists(torch):
    x = [torch.tensor([0.5, 2.0, 0.75]), torch.arange(1.0, 5.0).view(2, 2) / 4]
    return x, [t * 0.5 + 0.25 for t in x]


@pytest.mark.parametrize(
    "name", [n for n in NAMES if any(n == f"_foreach_{c.split('(')[0]}" for c in CALLS) is False]
)
@same
def test_of_each_alone(torch, name):
    """All the functions of one list."""
    x, y = _lists(torch)
    args = (
        ()
        if name.removeprefix("_foreach_").rstrip("_")
        not in ("sub", "maximum", "minimum", "lerp", "clamp_max", "clamp_min", "pow", "addcmul")
        else (y,)
    )
    if "lerp" in name or "addcmul" in name:
        args = (y, y)
    found = getattr(torch, name)(x, *args)
    return [found, x, type(found).__name__, found is x]


@pytest.mark.parametrize("call", CALLS)
@same
def test_with_arguments(torch, call):
    x, y = _lists(torch)
    found = eval(f"torch._foreach_{call}", {"torch": torch, "x": x, "y": y})
    return [found, x, type(found).__name__]


@pytest.mark.parametrize("call", WRONG)
@same
def test_wrong_arguments(torch, call):
    x, y = _lists(torch)
    with pytest.raises((RuntimeError, TypeError)) as error:
        eval(f"torch._foreach_{call}", {"torch": torch, "x": x, "y": y})
    return [type(error.value).__name__, str(error.value)]


@same
def test_gradients(torch):
    x = [torch.ones(2, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)]
    y = torch._foreach_mul(torch._foreach_exp(x), [1.0, 2.0])
    sum(t.sum() for t in y).backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        torch._foreach_add_(x, 1)
    return [[t.grad for t in x], y]


def test_every_name_is_here():
    assert [name for name in NAMES if not hasattr(tautograd, name)] == []
    with pytest.raises(AttributeError):
        tautograd._foreach_unheard_of


@same
def test_what_norms_and_packed_numbers_refuse(torch):
    with pytest.raises(RuntimeError, match="cannot compute the infinity norm on an empty tensor"):
        torch._foreach_norm([torch.ones(0)], float("inf"))
    ones = [torch.ones(2)] * 2
    with pytest.raises(RuntimeError, match=r"packed scalar Tensor to be of dimension 1. Got 0"):
        torch._foreach_addcmul(ones, ones, ones, torch.tensor(1.0))
    with pytest.raises(RuntimeError, match="Expected scalars to be contiguous"):
        torch._foreach_addcmul(ones, ones, ones, torch.ones(4)[::2])


@same
def test_no_normal_numbers_are_of_any_dtype(torch):
    none = torch.zeros(0, 2, dtype=torch.int64)
    return (
        torch.randn(0, dtype=torch.int32),
        none.normal_(),
        torch.randn_like(none),
        none.log_normal_(),
    )
