"""Parameters, gradients and states that do not fit each other are refused before anything is written.

Machine code goes by one size for all of them, so this also keeps it within its memory.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

import tautograd
from tests.optim.test_whole_or_not import NAMES

ELEMENTWISE = [name for name in NAMES if name not in ("Adafactor", "Muon")]
SIZES = [(20000, 40000), (40000, 20000), (10, 20), (20, 10), (7, 1), (20000, 1)]


def made(m: Any, name: str, size: int) -> tuple[Any, Any]:
    """A parameter that has made a step."""
    p = m.full((size,), 0.5, requires_grad=True)
    options = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(m.optim, name)([p], lr=0.1, **options)
    (p * p).sum().backward()
    optimizer.step()
    return p, optimizer


def content(p: Any, optimizer: Any) -> list[Any]:
    states = [v.clone() for v in optimizer.state[p].values() if hasattr(v, "clone")]
    return [p.detach().clone(), *states]


def refused(p: Any, optimizer: Any) -> None:
    before = content(p, optimizer)
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        optimizer.step()
    for a, b in zip(before, content(p, optimizer), strict=True):
        tautograd.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize(("size", "other"), SIZES)
def test_memory_of_another_size(name: str, size: int, other: int) -> None:
    for m in (torch, tautograd):
        p, optimizer = made(m, name, size)
        p.data = m.ones(other)
        if 1 not in (size, other) and m is torch:
            with pytest.raises(RuntimeError, match="The size of tensor a"):
                optimizer.step()
        if m is tautograd:
            refused(p, optimizer)  # the gradient is of the old size
            p.grad = None
            p.sum().backward()
            refused(p, optimizer)  # the states are


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize(("size", "other"), [(20000, 40000), (40000, 20000), (10, 20)])
def test_states_of_another_model(name: str, size: int, other: int) -> None:
    """As from a file: the groups agree, the shapes do not."""
    for m in (torch, tautograd):
        _, old = made(m, name, size)
        p, optimizer = made(m, name, other)
        optimizer.load_state_dict(old.state_dict())
        if m is torch:
            with pytest.raises(RuntimeError, match="The size of tensor a"):
                optimizer.step()
        else:
            refused(p, optimizer)


@pytest.mark.parametrize("size", [10, 20000])
def test_sizes_that_cancel(size: int) -> None:
    """Two parameters laid end to end: the sum of their sizes says nothing."""
    p, q = (tautograd.zeros(n, requires_grad=True) for n in (size, 2 * size))
    optimizer = tautograd.optim.SGD([p, q], lr=1.0)
    p.grad, q.grad = tautograd.ones(size), tautograd.ones(2 * size)
    p.data, q.data = tautograd.zeros(2 * size), tautograd.zeros(size)
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        optimizer.step()
    assert not p.any()
    assert not q.any()


@pytest.mark.parametrize("size", [10, 20000])
@pytest.mark.parametrize("other", ["float64", "float16", "bfloat16"])
def test_states_of_another_dtype(size: int, other: str) -> None:
    p, optimizer = made(tautograd, "Adam", size)
    p.data = p.data.to(getattr(tautograd, other))
    p.grad = None
    p.sum().backward()
    before = p.detach().clone()
    with pytest.raises(RuntimeError, match="expected dtype"):
        optimizer.step()
    tautograd.testing.assert_close(p.detach(), before, rtol=0, atol=0)


@pytest.mark.parametrize("size", [10, 20000])
@pytest.mark.parametrize(("own", "other"), [("bfloat16", "float16"), ("bfloat16", "float32")])
def test_a_gradient_of_another_dtype_is_converted(size: int, own: str, other: str) -> None:
    """And never read as if it were of the parameter's."""
    m: Any = tautograd
    p = m.zeros(size, dtype=getattr(m, own), requires_grad=True)
    p.grad_dtype = None
    p.grad = m.full((size,), 0.5, dtype=getattr(m, other))
    m.optim.SGD([p], lr=1.0).step()
    assert p.dtype is getattr(m, own)
    assert set(p.tolist()) == {-0.5}


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_memory_that_another_thread_gives_meanwhile(name: str) -> None:
    """Steps may be refused; none goes beyond what it was given."""
    m: Any = tautograd
    p = m.ones(30000, requires_grad=True)
    optimizer = getattr(m.optim, name)([p], lr=1e-3)
    stop = threading.Event()

    def other() -> None:
        size = 30000
        while not stop.is_set():
            size = 90000 - size  # 60,000 and 30,000 by turns
            p.data = m.ones(size)
            p.grad = None

    thread = threading.Thread(target=other)
    thread.start()
    try:
        for _ in range(300):
            try:
                p.sum().backward()
                optimizer.step()
            except (RuntimeError, TypeError):
                optimizer.state.clear()
    finally:
        stop.set()
        thread.join()
    assert set(p.detach().clone().ge(-1).tolist()) == {True}
