"""Hooks are recorded or refused, never dropped; who watches a loop sees it as it is written."""

from __future__ import annotations

from typing import Any

import pytest

import tautograd as torch
from tautograd import nn
from tautograd._compile.messages.errors import CompileError

from .compare import lockstep

SEEN: list[int] = []


def with_hook(hang: Any) -> Any:
    def make() -> Any:
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.randn(5, 3)
        hang(model, optimizer)

        def step() -> Any:
            optimizer.zero_grad()
            loss = model(x).square().sum()
            loss.backward()
            optimizer.step()
            return loss

        return step, lambda: list(model.parameters())

    return make


def halved(p: Any) -> None:
    p.grad.mul_(0.5)


def clipped(optimizer: Any, args: Any, kwargs: Any) -> None:
    nn.utils.clip_grad_value_(optimizer.param_groups[0]["params"], 0.1)


RECORDED: dict[str, Any] = {
    "gradient": lambda m, o: m[0].weight.register_hook(lambda g: g * 2),
    "accumulated": lambda m, o: m[0].weight.register_post_accumulate_grad_hook(halved),
    "forward": lambda m, o: m[0].register_forward_hook(lambda m, i, out: out * 2),
    "before forward": lambda m, o: m[0].register_forward_pre_hook(lambda m, i: (i[0] * 2,)),
    "backward": lambda m, o: m[2].register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,)),
    "before backward": lambda m, o: m[2].register_full_backward_pre_hook(
        lambda m, go: (go[0] * 2,)
    ),
    "before a step": lambda m, o: o.register_step_pre_hook(clipped),
}


def looks_on(*args: Any) -> None:
    SEEN.append(1)


REFUSED: dict[str, Any] = {
    "gradient": lambda m, o: m[0].weight.register_hook(looks_on),
    "accumulated": lambda m, o: m[0].weight.register_post_accumulate_grad_hook(looks_on),
    "forward": lambda m, o: m[0].register_forward_hook(looks_on),
    "before forward": lambda m, o: m[0].register_forward_pre_hook(looks_on),
    "backward": lambda m, o: m[2].register_full_backward_hook(looks_on),
    "before backward": lambda m, o: m[2].register_full_backward_pre_hook(looks_on),
    "before a step": lambda m, o: o.register_step_pre_hook(looks_on),
    "after a step": lambda m, o: o.register_step_post_hook(looks_on),
}


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_hook_does_with_tensors_is_recorded(name: str) -> None:
    assert lockstep(with_hook(RECORDED[name]), 6).records == 1


@pytest.mark.parametrize("name", REFUSED)
def test_a_hook_that_only_looks_on_is_refused(name: str) -> None:
    with pytest.raises(CompileError, match=r"`looks_on` \(.*test_hooks.py:\d+\)"):
        lockstep(with_hook(REFUSED[name]), 2)


@pytest.mark.parametrize("name", REFUSED)
def test_with_fallback_a_hook_is_called_at_each_step(name: str) -> None:
    SEEN.clear()
    with pytest.warns(UserWarning, match="looks_on"):
        lockstep(with_hook(REFUSED[name]), 5, fallback=True)
    assert len(SEEN) == 10  # five steps as written, five compiled


def test_hooks_of_leaves_are_called_when_backward_is_outside() -> None:
    weight = torch.ones(3, requires_grad=True)
    weight.register_hook(lambda g: g * 2)
    weight.register_post_accumulate_grad_hook(looks_on)
    compiled = torch.compile(lambda x: (x * weight).sum(), backend="numpy")
    SEEN.clear()
    for _ in range(4):
        weight.grad = None
        compiled(torch.ones(3)).backward()
        assert weight.grad.tolist() == [2.0] * 3
    assert len(SEEN) == 4
    weight.register_hook(lambda g: g + 1)
    compiled(torch.ones(3)).backward()
    assert weight.grad.tolist() == [5.0] * 3


def test_who_watches_all_optimizers_or_modules_sees_every_step() -> None:
    make = with_hook(lambda m, o: None)
    step, _ = make()
    compiled = torch.compile(step, backend="numpy")
    for _ in range(3):
        compiled()
    SEEN.clear()
    for register in (
        torch.optim.optimizer.register_optimizer_step_post_hook,
        nn.modules.module.register_module_forward_hook,
    ):
        handle = register(looks_on)
        for _ in range(3):
            compiled()
        handle.remove()
        before = len(SEEN)
        compiled()
        assert len(SEEN) == before
    assert len(SEEN) == 3 + 3 * 4
    assert compiled.records == 1
