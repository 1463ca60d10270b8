"""Norms of half-precision inputs with float32 weights keep their statistics in float32."""

from __future__ import annotations

import numpy as np
import pytest

import tautograd

torch = pytest.importorskip("torch")

NORMS = {
    "layer": lambda engine: engine.nn.LayerNorm(64),
    "group": lambda engine: engine.nn.GroupNorm(4, 64),
    "batch": lambda engine: engine.nn.BatchNorm1d(64),
}


@pytest.mark.parametrize("norm", NORMS)
def test_the_gradient_is_that_of_exact_statistics(norm):
    """In float64, from the same rounded inputs; bfloat16 has 8 bits, the weights' sums 24."""
    values = np.random.default_rng(0).normal(0.4, 1.3, (32, 64)).astype(np.float32)
    incoming = np.random.default_rng(1).normal(0, 1, (32, 64)).astype(np.float32)

    def gradients(engine, dtype):
        layer = NORMS[norm](engine)
        x = engine.tensor(values).bfloat16()
        g = engine.tensor(incoming).bfloat16()
        if dtype is not engine.bfloat16:
            layer, x, g = layer.to(dtype), x.to(dtype), g.to(dtype)
        x.requires_grad_()
        layer(x).backward(g)
        return x.grad.double().numpy(), layer.weight.grad.double().numpy()

    exact_x, exact_weight = gradients(torch, torch.float64)
    x, weight = gradients(tautograd, tautograd.bfloat16)
    assert np.all(np.abs(x - exact_x) <= 2.0**-8 * np.abs(exact_x) + 1e-6)
    np.testing.assert_allclose(weight, exact_weight, rtol=1e-4, atol=1e-5)
