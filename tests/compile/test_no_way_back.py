"""Results whose history cannot go backward: the function gives them all the same, and backward raises the error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tautograd as torch

from .compare import assert_same, bits

WEIGHT = torch.ones(3, requires_grad=True)


class Refusing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise ValueError("no way back")


def written_over(x: Any) -> Any:
    y = (x * WEIGHT).exp()
    doubled = y * 2
    y.mul_(2)
    return doubled, y


def by_an_alias(x: Any) -> Any:
    y = (x * WEIGHT).tanh()
    y.detach().add_(1)
    return y


def one_of_two(x: Any) -> Any:
    y = x * WEIGHT
    z = y.exp()
    total = z.sum()
    z.add_(1)
    return total, y * 3


def an_argument(x: Any) -> Any:
    y = WEIGHT * x
    x.add_(1)
    return y


def of_its_own(x: Any) -> Any:
    return Refusing.apply(x * WEIGHT)


def changed_after_a_step(x: Any) -> Any:
    """What was done is done once, whatever becomes of the recording."""
    COUNT.add_(1)
    return one_of_two(x)


COUNT = torch.zeros(1)
ROWS: dict[str, Callable[[Any], Any]] = {
    f.__name__: f
    for f in (
        written_over,
        by_an_alias,
        one_of_two,
        of_its_own,
        changed_after_a_step,
        an_argument,  # one with a history is refused
    )
}


def outcome(fn: Any, history: bool) -> Any:
    WEIGHT.grad = None
    leaf = torch.arange(3.0, requires_grad=history)
    x = leaf * 1
    before = COUNT.clone()
    result = fn(x)
    found = [bits(result), bits(x), bits(COUNT - before)]
    for part in result if isinstance(result, tuple) else (result,):
        try:
            part.sum().backward(retain_graph=True)
            found.append("gone backward")
        except (RuntimeError, ValueError) as error:
            found.append((type(error).__name__, str(error)))
        found.append(bits([WEIGHT.grad, leaf.grad]))
    return found


@pytest.mark.filterwarnings("ignore:.*is not compiled")
@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize(
    ("name", "history"),
    [(name, history) for name in ROWS for history in (False, True)][:-1],
)
def test_backward_raises_the_error_that_it_always_raises(
    name: str, history: bool, fallback: bool
) -> None:
    fn = ROWS[name]
    compiled = torch.compile(fn, backend="numpy", fallback=fallback)
    for i in range(5):
        found, expected = outcome(compiled, history), outcome(fn, history)
        assert_same(found, expected, where=f"call {i}")


def test_the_reason_is_said_once() -> None:
    compiled = torch.compile(by_an_alias, backend="numpy")
    compiled(torch.ones(3))
    with pytest.warns(UserWarning, match=r"is not compiled(.|\n)*cannot go backward") as found:
        compiled(torch.ones(3))
    assert "y = (x * WEIGHT).tanh()" in str(found[0].message)
    compiled(torch.ones(3))
    assert "cannot go backward" in str(compiled.explain())
