"""Gradients of reductions, scans, sorting and distances at places of interest, on both engines."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

import tautograd

from .rows import alike, described, environment, rows


def _gradients(engine: Any, row: str) -> Any:
    """The gradients of a row's (first) result, weighted unevenly, and of those gradients."""
    made = environment(engine)
    leaves = [made[name].requires_grad_() for name in ("d", "y", "v", "m", "o")]
    run: Callable[..., Any] = eval(f"lambda {', '.join(made)}: {row}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = run(**made)
        while isinstance(out, tuple):
            out = out[0]
        weights = engine.arange(1, out.numel() + 1).to(out.dtype).reshape(out.shape).cos()
        firsts = engine.autograd.grad(
            (out * weights).sum(), leaves, create_graph=True, allow_unused=True
        )
        squares = [(g * g).sum() for g in firsts if g is not None and g.requires_grad]
        seconds = (
            engine.autograd.grad(sum(squares), leaves, allow_unused=True)
            if squares
            else [None] * len(leaves)
        )
    # No gradient and a gradient of zeros mean the same.
    return [
        None if g is None or not bool((g != 0).any()) else described(g, engine)
        for g in (*firsts, *seconds)
    ]


@rows(
    """
    d.sum((0, 1)) * d.mean(1)
    d.sum((), True) * 2
    torch.tensor([[0.0, 1.0]], dtype=torch.float64).expand(2, 2).prod() * o.prod()
    o.prod()
    o.prod(0)
    (o * d).prod(1)
    d.std()
    d.std(0, False)
    d.var((0, 1), correction=3)
    torch.var_mean(d, 1)
    torch.std_mean(d, 1)[1]
    o.std(0)
    m.max()
    m.min()
    m.amax()
    m.amax(0)
    m.amin((0, 1), True)
    m.max(1)
    m.min(0)
    m.aminmax()
    m.aminmax(dim=1)
    torch.max(m, m.flip(0))
    m.median()
    m.median(1)
    m.nanmedian(0)
    m.mode(0)
    m.sort(0)
    m.topk(2)
    m.kthvalue(1)
    m.cummax(1)
    m.cummin(0)
    o.cumprod(0)
    o.cumprod(1)
    d.cumsum(1) ** 2
    d.logcumsumexp(0)
    d.logsumexp((0, 1))
    y.logsumexp(1, True)
    d.quantile(0.3)
    d.quantile(torch.tensor([0.1, 0.6], dtype=torch.float64), 1, True)
    d.quantile(0.5, 0, interpolation="midpoint")
    d.quantile(0.5, 0, interpolation="higher")
    d.nanquantile(0.7, 1)
    d.nansum(0) * d.nanmean(1, True).sum()
    torch.cov(d)
    torch.cov(d, aweights=torch.tensor([0.5, 2.0, 1.0]).double())
    torch.corrcoef(d)
    d.diff()
    d.diff(2, prepend=d)
    torch.gradient(y)[1]
    torch.gradient(d, spacing=(2.0, 0.5), edge_order=1)
    torch.gradient(v, spacing=(v * v,), edge_order=2)
    torch.trapezoid(d)
    torch.trapezoid(y, d[1, 0] * torch.arange(4), dim=2)
    torch.cumulative_trapezoid(d, dx=2.0, dim=0)
    d.norm()
    o.norm()
    o.norm(2, 0)
    o.norm(1)
    o.norm(3, 1)
    (o * 0).norm()
    (o * 0).norm(3)
    (o * 0).norm(0.5)
    m.norm(inf)
    m.norm(-inf, 1)
    d.norm(1.5, 1)
    d.norm(0)
    torch.dist(d, o)
    torch.dist(d, d)
    torch.dist(d, o, 3)
    torch.dist(d, o, inf)
    d.renorm(2, 0, 1.0)
    d.renorm(1, 1, 2.0)
    torch.cosine_similarity(d, o)
    torch.cosine_similarity(d, d * 0)
    torch.pairwise_distance(d, o)
    torch.pairwise_distance(d, d, 1)
    """
)
def test_gradients(row: str) -> None:
    """First and second gradients, at ties, zeros and other places of interest."""
    want, have = _gradients(torch, row), _gradients(tautograd, row)
    assert alike(have, want), f"{have}\n is not {want}"


@rows(
    """
    torch.cdist(d, o)
    torch.cdist(d, d)
    torch.cdist(d, o, 1)
    torch.cdist(d, o, 3)
    torch.cdist(d, o, inf)
    torch.cdist(d, o, 0)
    torch.cdist(d.repeat(20, 1), o)
    torch.pdist(d)
    torch.pdist(o.repeat(2, 1))
    torch.pdist(o.repeat(2, 1), 1)
    torch.pdist(d, 3)
    """
)
def test_first_gradients(row: str) -> None:
    """What PyTorch can differentiate only once."""

    def gradients(engine: Any) -> Any:
        made = environment(engine)
        leaves = [made[name].requires_grad_() for name in ("d", "o")]
        run: Callable[..., Any] = eval(f"lambda {', '.join(made)}: {row}")
        out = run(**made)
        weights = engine.arange(1, out.numel() + 1).to(out.dtype).reshape(out.shape).cos()
        found = engine.autograd.grad((out * weights).sum(), leaves, allow_unused=True)
        return [None if g is None else described(g, engine) for g in found]

    want, have = gradients(torch), gradients(tautograd)
    assert alike(have, want), f"{have}\n is not {want}"
