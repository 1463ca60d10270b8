"""Random programs of views and in-place changes: both engines must agree on every trace of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from .both_engines import agree, attempt, seen

VIEWS = (
    "{}[1:]", "{}[:, :2]", "{}.reshape(-1)[1:]", "{}.view(-1)", "{}[0]", "{}.unsqueeze(0)",
    "{}.diagonal()", "{}.transpose(0, 1)", "{}.squeeze()", "{}[::2]",
    "{}.permute(*range({}.dim() - 1, -1, -1))", "{}.narrow(0, 0, 1)", "{}.select(-1, 0)",
    "{}.flatten()", "{}.as_strided((2,), (1,))", "{}.unbind()[0]",
    "{}.split(2)[0]", "{}.detach()", "{}.movedim(0, -1)",
)  # fmt: skip
WRITES = (
    "{}.mul_(2)", "{}.add_(a.view(-1)[0])", "{}.zero_()", "{}.fill_(3)", "{}.neg_()", "{}.mul_({})",
    "{}.copy_({} * 2)", "{}.sub_({}.detach())", "{}[0].mul_(3)", "{}[-1:].add_(1)", "{}.t_()",
    "{}.unsqueeze_(0)", "{}.squeeze_()", "{}.masked_fill_({} > 4, 1.0)", "{}.__setitem__(0, 2.0)",
    "{}.add_({}, alpha=2)", "{}.clamp_(max=9)", "{}.mul_(a.sum() * 0 + 2)",
)  # fmt: skip


def random_steps(seed: int) -> list[tuple[str, str, bool]]:
    """(what to do, to which tensor, whether without recording): views and writes in turn."""
    draw = random.Random(seed)
    steps = []
    for _ in range(draw.randint(4, 9)):
        table = VIEWS if draw.random() < 0.5 else WRITES
        text, which = draw.choice(table), str(draw.randint(0, 99))
        steps.append((text, which, draw.random() < 0.1 and text[-3:] != "_()"))
    return steps


def run(torch: Any, steps: list[tuple[str, str, bool]]) -> Any:
    a = torch.arange(1.0, 13.0).reshape(4, 3).clone().requires_grad_()
    tensors = [a * 1]
    traces: list[Any] = []
    for text, which, silent in steps:
        x = tensors[int(which) % len(tensors)]

        def step(text: str = text, x: Any = x, silent: bool = silent) -> Any:
            code = text.replace("{}", "x")
            _ = x.grad_fn  # a history that is lost is said before anything else
            with torch.set_grad_enabled(not silent):
                return eval(code, {"torch": torch, "a": a, "x": x})

        result = attempt(step)
        traces.append(attempt(lambda result=result: seen(result)))
        if text in VIEWS and not isinstance(result, list):
            tensors.append(result)
    traces += [attempt(lambda x=x: seen(x)) for x in tensors]
    for x in tensors:
        traces.append(attempt(lambda x=x: gradient(torch, a, x)))
    return traces


def gradient(torch: Any, a: Any, x: Any) -> Any:
    if not x.requires_grad or x.grad_fn is None or not x.numel():
        return None
    weight = torch.arange(1.0, x.numel() + 1).reshape(x.shape)
    (found,) = torch.autograd.grad((x * weight).sum(), a, retain_graph=True, allow_unused=True)
    return None if found is None else found.tolist()


@pytest.mark.parametrize("hundred", range(6))
def test_random_programs(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        steps = random_steps(seed)
        agree(lambda torch, steps=steps: run(torch, steps))
