"""Sums, means, products, spread, argument form by argument form, on both engines (see rows.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tautograd

from .rows import check, rows


@rows(
    """
    x.sum()
    x.sum(0)
    x.sum(-1)
    x.sum(1, True)
    x.sum((0, 1))
    x.sum([0, 1], keepdim=True)
    x.sum(())
    x.sum([])
    x.sum((), True)
    x.sum(None)
    x.sum(None, True)
    x.sum(dim=None, keepdim=True)
    x.sum(axis=0)
    x.sum(axis=(0, 1), keepdims=True)
    torch.sum(x, 1)
    torch.sum(input=x, dim=1)
    torch.sum(x, dim=(0,))
    x.sum(dtype=torch.float64)
    x.sum(0, dtype=torch.int64)
    i.sum()
    i.sum(0)
    u.sum()
    u.sum(dtype=torch.uint8)
    t.sum()
    t.sum(1)
    t.sum(dtype=torch.bool)
    t.sum(1, dtype=torch.float32)
    c.sum(0)
    h.sum()
    h.sum(dtype=torch.float32)
    b.sum(1)
    s.sum()
    s.sum(0)
    s.sum(-1)
    s.sum(0, True)
    s.sum(())
    e.sum()
    z.sum(0)
    z.sum(1)
    z.sum()
    x.sum(2)
    x.sum(-3)
    s.sum(1)
    x.sum((0, 0))
    x.sum((0, -2))
    x.sum("a")
    x.sum(1.0)
    x.sum(True)
    x.sum((0, 1.5))
    torch.sum(3)
    torch.sum(x, 0, out=torch.empty(3))
    torch.sum(x, 0, out=torch.empty(3, dtype=torch.float64))
    torch.sum(x, 0, out=torch.empty(3, dtype=torch.int64))
    torch.sum(x, 0, dtype=torch.float64, out=torch.empty(3))
    torch.sum(x, 0, True, out=torch.empty(0))
    torch.nansum(x, 0, out=torch.empty(3, dtype=torch.float64))
    torch.nansum(x, 0, out=torch.empty(3, dtype=torch.int64))
    torch.nansum(x, 0, dtype=torch.float64, out=torch.empty(3))
    n.nansum()
    n.nansum(0)
    n.nansum((0, 1), True)
    n.nansum(1, dtype=torch.float64)
    i.nansum()
    i.nansum(0, dtype=torch.float32)
    t.nansum()
    c.nansum()
    y.sum((0, 2))
    y.sum((-1, 0), True)
    """
)
def test_sums(row: str) -> None:
    check(row)


@rows(
    """
    x.mean()
    x.mean(0)
    x.mean((0, 1), True)
    x.mean(dim=-1, keepdim=True)
    x.mean(axis=1, keepdims=True)
    x.mean(())
    x.mean(dtype=torch.float64)
    x.mean(0, dtype=torch.float16)
    i.mean()
    t.mean()
    i.mean(0)
    i.mean(dtype=torch.float32)
    x.mean(dtype=torch.int64)
    i.mean(dtype=torch.int32)
    t.mean(1, dtype=torch.float64)
    c.mean(0)
    h.mean()
    b.mean(1)
    s.mean(0)
    e.mean()
    z.mean(1)
    z.mean(0)
    x.mean(2)
    x.mean((1, 1))
    torch.mean(x, 0, out=torch.empty(3))
    torch.mean(x, (0, 1), True, out=torch.empty(1, 1))
    torch.mean(x, 0, dtype=torch.float64, out=torch.empty(3))
    torch.mean(x, 0, out=torch.empty(3, dtype=torch.int64))
    n.nanmean()
    n.nanmean(0)
    n.nanmean(1, True)
    n.nanmean((0, 1), keepdim=True, dtype=torch.float64)
    i.nanmean()
    torch.tensor([nan]).nanmean()
    c.nanmean()
    x.prod()
    x.prod(0)
    x.prod(-1, True)
    x.prod((0, 1))
    i.prod()
    i.prod(0)
    u.prod()
    t.prod(1)
    x.prod(dtype=torch.float64)
    i.prod(0, dtype=torch.float32)
    x.prod(2)
    h.prod()
    e.prod()
    z.prod(1)
    s.prod(0)
    s.prod(0, True)
    x.prod(dim=None)
    x.prod(keepdim=True)
    torch.prod(x, 0, out=torch.empty(3))
    """
)
def test_means_and_products(row: str) -> None:
    check(row)


@rows(
    """
    x.std()
    x.std(0)
    x.std(0, False)
    x.std(False)
    x.std(True)
    x.std(unbiased=False)
    x.std(0, True, True)
    x.std(0, unbiased=False, keepdim=True)
    x.std((0, 1), correction=0)
    x.std(correction=2)
    x.std(dim=0, keepdim=True)
    x.std(0, keepdim=True)
    x.std(())
    x.std(dim=())
    x.std(dim=None, correction=0)
    x.std(None)
    x.std(0, correction=None)
    x.std(0, correction=1.5)
    x.std(axis=0)
    x.std(2)
    x.std((0, 0))
    x.std("a")
    x.std(0, True, correction=1)
    i.std()
    t.var()
    c.std(0)
    c.var()
    h.std(1)
    b.var(1)
    s.var()
    s.var(correction=0)
    s.std(0)
    e.var()
    z.var(1)
    z.var(0)
    x.var()
    x.var(1, False)
    x.var(1, False, True)
    x.var(correction=10)
    torch.var(x, 1, out=torch.empty(2))
    torch.var(x, 1, correction=0, out=torch.empty(2))
    torch.var(x, 0, out=torch.empty(3, dtype=torch.float64))
    torch.var(x, 0, out=torch.empty(3, dtype=torch.int64))
    torch.std(x, dim=[0], unbiased=True, keepdim=False)
    torch.var_mean(x)
    torch.var_mean(x, 0)
    torch.var_mean(x, (0, 1), False)
    torch.var_mean(x, False)
    torch.var_mean(x, unbiased=False)
    torch.var_mean(x, dim=1, correction=0, keepdim=True)
    torch.std_mean(x)
    torch.std_mean(x, 1, True, True)
    torch.std_mean(i)
    torch.var_mean(i)
    torch.std_mean(c, 0)
    x.var_mean()
    x.std_mean()
    torch.cov(x)
    torch.cov(x, correction=0)
    x.cov()
    torch.cov(x, fweights=torch.tensor([1, 2, 1]))
    torch.cov(x, aweights=torch.tensor([0.5, 2.0, 1.0]))
    torch.cov(x, fweights=torch.tensor([1, 2, 1]), aweights=torch.tensor([0.5, 2.0, 1.0]))
    torch.cov(i)
    torch.cov(s)
    torch.cov(c)
    torch.cov(t)
    torch.cov(y)
    torch.cov(x, fweights=torch.tensor([1.0, 2, 1]))
    torch.cov(x, aweights=torch.tensor([1, 2, 1]))
    torch.cov(x, fweights=torch.tensor([1, 2]))
    torch.cov(x, fweights=torch.tensor([1, -2, 1]))
    torch.cov(x, correction=5)
    torch.corrcoef(x)
    torch.corrcoef(c)
    torch.corrcoef(s)
    torch.corrcoef(v)
    torch.corrcoef(i)
    torch.corrcoef(y)
    """
)
def test_spread(row: str) -> None:
    check(row)


@rows(
    """
    repr(x.max(0))
    repr(x.sort(1, True))
    repr(i.topk(1))
    repr(x.aminmax())
    torch.return_types.max((x, i)).values
    torch.return_types.max((x,))
    torch.return_types.max(x)
    x.max(0)[0]
    x.max(0).indices.dtype
    x.max(0) + (1,)
    len(x.kthvalue(1))
    isinstance(x.max(0), tuple)
    isinstance(x.max(0), torch.return_types.max)
    type(x.sort()).__name__
    type(torch.std_mean(x)).__name__
    x.mode().n_fields
    x.cummax(0).n_sequence_fields
    hash(torch.return_types.sort) == hash(torch.return_types.sort)
    """
)
def test_named_results(row: str) -> None:
    check(row)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("reduction", ["sum", "mean", "std", "logsumexp", "norm"])
def test_large_float32_reductions_are_as_accurate_as_pytorch(reduction: str, axis: Any) -> None:
    """Rounding does not pile up, whichever way the reduced dimension lies in memory."""
    values = np.full((1_000_000, 2) if axis != 1 else (2, 1_000_000), 0.1, np.float32)
    values.reshape(-1)[::3] *= 3
    exact = _reduced(torch, values.astype(np.float64), reduction, axis)
    theirs = _reduced(torch, values, reduction, axis)
    ours = _reduced(tautograd, values, reduction, axis)
    scale = np.abs(exact)
    bound = 4 * np.max(np.abs(theirs - exact) / scale) + 4 * np.finfo(np.float32).eps
    assert np.max(np.abs(ours - exact) / scale) <= bound


def _reduced(engine: Any, values: Any, reduction: str, axis: Any) -> Any:
    x = engine.from_numpy(values)
    if reduction == "logsumexp":
        out = x.logsumexp((0, 1) if axis is None else axis)
    elif reduction == "norm":
        out = x.norm(2, axis) if axis is not None else x.norm()
    else:
        out = getattr(x, reduction)() if axis is None else getattr(x, reduction)(axis)
    return np.array(out.tolist(), np.float64)
