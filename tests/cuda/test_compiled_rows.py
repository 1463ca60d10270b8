"""Kernels that reduce rows, on a stand-in for a GPU: a thread has several neighbours at once where it can."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd.nn import functional as F

from .emulated import EmulatedDevice, needs_compiler
from .test_compiled import gpu

__all__ = ["gpu"]
pytestmark = needs_compiler


def normed(x: Any, w: Any) -> Any:
    """Two passes over each row, sums over rows going back."""
    return F.layer_norm(x * 2, (x.shape[-1],), w, w) + x


def shared(x: Any, w: Any) -> Any:
    """Exponentials over their sum, written over what is read."""
    return (x * w).softmax(-1) * x


def turned(x: Any, w: Any) -> Any:
    """Rows whose elements are apart."""
    return (x.transpose(-1, -2).exp() * w[0]).sum(-1)


def outcome(run: Any, shape: tuple[int, ...], dtype: str) -> list[Any]:
    rng, kind = np.random.default_rng(0), getattr(torch, dtype)
    given = [rng.standard_normal(s) for s in (shape, shape[-1:])]
    leaves = [torch.tensor(a).to(kind).to("cuda").requires_grad_() for a in given]
    result = run(*leaves)
    result.square().sum().backward()
    tensors = [result.detach(), *[leaf.grad for leaf in leaves]]
    return [t.to(torch.float32).cpu().numpy() for t in tensors]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
# Rows of 160 elements would leave a part of 64 threads without any, those of 33 do not begin at even places.
@pytest.mark.parametrize(
    ("shape", "even"), [((5, 64), True), ((2, 3, 128), True), ((4, 160), False), ((3, 33), False)]
)
@pytest.mark.parametrize("run", [normed, shared, turned])
def test_rows(
    gpu: EmulatedDevice, run: Any, shape: tuple[int, ...], even: bool, dtype: str
) -> None:
    compiled = torch.compile(run)
    for _ in range(2):
        compiled(*[torch.ones(s, device="cuda") for s in (shape, shape[-1:])])
    before = len(gpu.sources)
    for _ in range(3):
        found, wanted = (outcome(f, shape, dtype) for f in (compiled, run))
        for a, b in zip(found, wanted, strict=True):
            bound = 1e-5 if dtype == "float32" else 2e-2
            np.testing.assert_allclose(a, b, rtol=bound, atol=bound * np.abs(b).max())
    text = "".join(gpu.sources[before:])
    assert "for (int e = " in text
    in_packs = re.search(r"for \(int e = .*t \* [48];", text) is not None
    assert in_packs == (even and run is not turned)
