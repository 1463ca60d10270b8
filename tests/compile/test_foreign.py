"""PyTorch's tensors and modules given to our `compile`: said at once, never a program that does nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch as pytorch

import tautograd
from tautograd._compile.messages.errors import CompileError

module = pytorch.nn.Linear(2, 2)
optimizer = pytorch.optim.SGD(module.parameters(), 0.1)
x = pytorch.ones(1, 2)


def training() -> Any:
    optimizer.zero_grad()
    loss = module(x).sum()
    loss.backward()
    optimizer.step()
    return loss


@pytest.mark.parametrize("model", [module, module.forward, optimizer.step])
def test_a_model_of_pytorchs(model: Any) -> None:
    with pytest.raises(TypeError, match=r"Use `torch\.compile`"):
        tautograd.compile(model)


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize(
    "args", [(x,), ([x],), ({"x": x},), (tautograd.ones(2), module), (tautograd.ones(2), (1, [x]))]
)
def test_arguments_of_pytorchs(args: Any, fallback: bool) -> None:
    ran = []
    compiled = tautograd.compile(lambda *args: ran.append(args), fallback=fallback)
    with pytest.raises(
        TypeError, match=r"an argument is a \w+ of PyTorch's\. Use `torch\.compile`"
    ):
        compiled(*args)
    assert not ran


@pytest.mark.parametrize(
    "body",
    [
        training,
        lambda: training().item(),
        lambda: [module.weight.detach().add_(1), None][1],
        lambda: tautograd.ones(1, 2) + tautograd.tensor(x.numpy()),
        lambda: pytorch.zeros(2).sum().item() * tautograd.ones(2),
    ],
)
def test_what_pytorch_computes_inside(body: Any) -> None:
    compiled = tautograd.compile(body, backend="numpy")
    compiled()
    with pytest.raises(CompileError, match=r"torch\.compile.*\n  File .*test_foreign\.py"):
        compiled()


def test_it_goes_on_where_it_may_fall_back() -> None:
    before = module.weight.detach().clone()
    compiled = tautograd.compile(training, fallback=True)
    compiled()
    with pytest.warns(UserWarning, match=r"torch\.compile"):
        compiled()
    compiled()
    compiled()
    with pytorch.no_grad():
        assert pytorch.allclose(module.weight, before - 4 * 0.1)


def test_what_pytorch_does_beside_it_is_nobodys_business() -> None:
    compiled = tautograd.compile(lambda x: x * 2, backend="numpy")
    for _ in range(3):
        found = compiled(tautograd.from_numpy(pytorch.ones(2).numpy()))
    assert compiled.records == 1
    assert found.tolist() == [2, 2]
