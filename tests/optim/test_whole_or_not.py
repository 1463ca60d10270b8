"""A step that fails changes nothing: neither parameters nor what is remembered of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tautograd

NAMES = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "RAdam",
    "RMSprop", "Rprop", "SGD",
]  # fmt: skip


def pair(m: Any, dtype: str) -> tuple[Any, Any]:
    """A parameter that can be updated, and one of this dtype, with gradients."""
    good, other = m.ones(2, 2), m.ones(2, 2).to(getattr(m, dtype))
    for p in (good, other):
        p.grad = m.full((2, 2), 0.5).to(p.dtype)
    return good, other


def remembered(optimizer: Any, p: Any) -> list[tuple[str, Any]]:
    return [(name, value.tolist()) for name, value in optimizer.state.get(p, {}).items()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "int64"])
@pytest.mark.parametrize("apart", [False, True], ids=["one group", "two groups"])
def test_what_cannot_be_updated_is_refused_first(name: str, dtype: str, apart: bool) -> None:
    for m in (torch, tautograd):
        good, other = pair(m, dtype)
        groups = [{"params": [good]}, {"params": [other]}] if apart else [good, other]
        optimizer = getattr(m.optim, name)(groups, lr=0.1)
        before = remembered(optimizer, good)
        error = NotImplementedError if dtype.startswith("float8") else RuntimeError
        with pytest.raises((error, TypeError) if m is torch else error) as caught:
            optimizer.step()
    assert "arguments it cannot take" not in str(caught.value)
    assert name in str(caught.value)
    assert good.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert remembered(optimizer, good) == before


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_complex_parameters_are_refused_first(name: str) -> None:
    good, other = pair(tautograd, "complex64")
    optimizer = getattr(tautograd.optim, name)([good, other], lr=0.1)
    with pytest.raises(RuntimeError, match="does not support complex parameters"):
        optimizer.step()
    assert good.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_asgd_counts_no_step_that_failed() -> None:
    p = tautograd.ones(2)
    p.grad = tautograd.ones(2)
    optimizer = tautograd.optim.ASGD([p], lr=1.0, lambd=-1.0, foreach=False)
    with pytest.raises(ZeroDivisionError):
        optimizer.step()  # eta is divided by 1 + lambd * lr * step, which is nothing
    assert optimizer.state[p]["step"].item() == 0
    assert p.tolist() == [1.0, 1.0]


def test_lbfgs_goes_back_if_the_closure_fails_at_a_point_it_tries() -> None:
    p = tautograd.full((2,), 3.0, requires_grad=True)
    optimizer = tautograd.optim.LBFGS([p], line_search_fn="strong_wolfe")
    calls = 0

    def closure() -> Any:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise ArithmeticError("here")
        optimizer.zero_grad()
        loss = (p**2).sum()
        loss.backward()
        return loss

    with pytest.raises(ArithmeticError):
        optimizer.step(closure)
    assert p.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("order", [0, 1])
def test_lbfgs_moves_all_parameters_or_none(order: int) -> None:
    p = tautograd.ones(2, requires_grad=True)
    whole = tautograd.ones(2, dtype=tautograd.int64)
    optimizer = tautograd.optim.LBFGS([p, whole] if order else [whole, p])

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p**2).sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="can't be cast"):
        optimizer.step(closure)
    assert p.tolist() == [1.0, 1.0]
