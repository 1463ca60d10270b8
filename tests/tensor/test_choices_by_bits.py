"""Functions that choose between two values at each element, over more elements than are left to NumPy's own way."""

from __future__ import annotations

import math

import pytest

from tests.both import same

CALLS = {
    "prelu": lambda torch, x: torch.nn.functional.prelu(x, torch.tensor([0.25, -1.0], dtype=x.dtype)),
    "prelu, one slope": lambda torch, x: torch.nn.functional.prelu(x, torch.full((1,), 0.1, dtype=x.dtype)),
    "softshrink": lambda torch, x: torch.nn.functional.softshrink(x, 0.4),
    "threshold": lambda torch, x: torch.nn.functional.threshold(x, 0.1, -7.5),
    "maximum": lambda torch, x: torch.maximum(x, torch.zeros_like(x)),
    "minimum": lambda torch, x: torch.minimum(x, x.detach()),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(CALLS))
@same
def test_values_and_gradients(torch, name, dtype):
    x = torch.randn(30, 2, 50, dtype=getattr(torch, dtype))
    x[0, 0, :4] = torch.tensor([0.0, -0.0, math.inf, -math.inf])
    x.requires_grad_()
    out = CALLS[name](torch, x)
    out.backward(torch.linspace(-1, 1, out.numel(), dtype=x.dtype).reshape(out.shape))
    return [out, x.grad]


@same
def test_nan_stays(torch):
    x = torch.full((2000,), math.nan)
    return [CALLS[name](torch, x.view(500, 2, 2)) for name in sorted(CALLS)]


@same
def test_gradient_of_the_slope(torch):
    x, slope = torch.randn(40, 3, 20), torch.tensor([0.5, 0.0, -2.0], requires_grad=True)
    torch.nn.functional.prelu(x, slope).sum().backward()
    return slope.grad
