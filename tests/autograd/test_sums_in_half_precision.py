"""A gradient that adds up many terms is rounded once: in bfloat16, 1,000 ones added one by one are 256."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tautograd as torch

MANY = 1000
FIRST = torch.zeros(MANY, dtype=torch.int64)


def _written(x: Any) -> Any:
    rows = torch.zeros(MANY, 3, dtype=x.dtype)
    rows[:] = x
    return rows


USES: dict[str, Callable[[Any], Any]] = {
    "expand": lambda x: x.expand(MANY, 3),
    "expand, leading and stretched": lambda x: x.reshape(3, 1).expand(10, 3, 100),
    "a number": lambda x: x[0].expand(MANY),
    "broadcast_tensors": lambda x: torch.broadcast_tensors(x, torch.zeros(MANY, 3))[0],
    "meshgrid": lambda x: torch.meshgrid(x, torch.zeros(MANY, dtype=x.dtype), indexing="ij")[0],
    "where": lambda x: torch.where(torch.ones(MANY, 3, dtype=torch.bool), x, x * 0),
    "masked_fill": lambda x: x.masked_fill(torch.zeros(MANY, 3, dtype=torch.bool), 0),
    "copy_": lambda x: torch.zeros(MANY, 3, dtype=x.dtype).copy_(x),
    "written to": _written,
    "clone": lambda x: x.expand(MANY, 3).clone(),
    "cast": lambda x: x.expand(MANY, 3).float(),
    "repeat": lambda x: x.repeat(MANY, 1),
    "repeat_interleave": lambda x: x.repeat_interleave(MANY),
    "as_strided": lambda x: x.as_strided((MANY, 3), (0, 1)),
    "gather": lambda x: x.gather(0, FIRST),
    "take_along_dim": lambda x: torch.take_along_dim(x, FIRST, 0),
    "index_select": lambda x: x.index_select(0, FIRST),
    "embedding": lambda x: torch.nn.functional.embedding(FIRST, x.unsqueeze(1)),
    "add": lambda x: x + torch.ones(MANY, 3, dtype=x.dtype),
    "mul": lambda x: x * torch.ones(MANY, 3, dtype=x.dtype),
    "outer": lambda x: torch.outer(torch.ones(MANY, dtype=x.dtype), x),
}


def _gradient(use: Callable[[Any], Any], dtype: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)
    (use(x).sum() * 1.5).backward()
    return x.grad


@pytest.mark.parametrize("half", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", USES)
def test_a_gradient_of_many_terms_is_rounded_once(name: str, half: str) -> None:
    dtype = getattr(torch, half)
    exact = _gradient(USES[name], torch.float64)
    assert _gradient(USES[name], dtype).tolist() == exact.to(dtype).tolist()


@pytest.mark.parametrize("name", ["expand", "gather", "add", "where", "embedding"])
def test_so_it_is_in_a_compiled_step(name: str) -> None:
    step = torch.compile(lambda x: torch.autograd.grad(USES[name](x).sum() * 1.5, x)[0])
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.bfloat16, requires_grad=True)
    exact = _gradient(USES[name], torch.float64).to(torch.bfloat16).tolist()
    assert [step(x).tolist() for _ in range(4)] == [exact] * 4


@pytest.mark.parametrize("half", ["bfloat16", "float16"])
def test_additions_to_one_place(half: str) -> None:
    dtype = getattr(torch, half)
    ones, nothing = torch.ones(5000, dtype=dtype), torch.zeros(3, dtype=dtype)
    index = torch.zeros(5000, dtype=torch.int64)
    exact = torch.tensor(5000.0).to(dtype).item()
    assert nothing.scatter_add(0, index, ones)[0].item() == exact
    assert nothing.index_add(0, index, ones)[0].item() == exact
