"""Gamma and Dirichlet numbers: PyTorch's, and how they move with their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special
import torch

import tautograd
from tests.both import same

from .comparing import array, seed

_rng = np.random.default_rng(9)


def _exact_gamma(alpha: Any, x: Any) -> Any:
    """dx/dα at a fixed quantile, by differences of SciPy's inverse."""
    step = 1e-5 * alpha
    rank = scipy.special.gammainc(alpha, x)
    up, down = (scipy.special.gammaincinv(alpha + s, rank) for s in (step, -step))
    return (up - down) / (2 * step)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma(dtype: str) -> None:
    alpha = np.exp(_rng.uniform(-5, 6, 4000)).astype(dtype)
    found = {}
    for engine in (torch, tautograd):
        seed(1)
        given = engine.tensor(alpha, requires_grad=True)
        drawn = engine._standard_gamma(given)
        (slope,) = engine.autograd.grad(drawn.sum(), given)
        found[engine] = array(drawn), array(slope)
    np.testing.assert_array_equal(found[tautograd][0], found[torch][0])
    np.testing.assert_allclose(found[tautograd][1], found[torch][1], rtol=64 * np.finfo(dtype).eps)
    if dtype == "float64":
        x, slope = found[tautograd]
        sure = (alpha > 0.05) & (np.abs(scipy.special.gammainc(alpha, x) - 0.5) < 0.49)
        exact = _exact_gamma(alpha[sure], x[sure])
        np.testing.assert_allclose(slope[sure], exact, rtol=5e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dirichlet(dtype: str) -> None:
    alpha = np.exp(_rng.uniform(-4, 4, (1500, 4))).astype(dtype)
    total = alpha.sum(-1, keepdims=True) * np.ones_like(alpha)
    seed(1)
    theirs = array(torch._sample_dirichlet(torch.tensor(alpha)))
    np.testing.assert_array_equal(
        array(tautograd._sample_dirichlet(tautograd.tensor(alpha))), theirs
    )
    slopes = [
        array(engine._dirichlet_grad(*(engine.tensor(v) for v in (theirs, alpha, total))))
        for engine in (torch, tautograd)
    ]
    # A series in the array's own precision whose terms cancel: three digits of seven.
    rtol = 1000 * np.finfo(dtype).eps if dtype == "float32" else 1e-10
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=rtol, atol=1e-30)


def test_beta_slopes_are_right() -> None:
    a, b = _rng.uniform(0.3, 20, (2, 500))
    x = scipy.special.betaincinv(a, b, _rng.uniform(0.05, 0.95, 500))
    rank, step = scipy.special.betainc(a, b, x), 1e-5
    up, down = (scipy.special.betaincinv(a + s, b, rank) for s in (step, -step))
    tensors = (tautograd.tensor(v) for v in (x, a, a + b))
    found = array(tautograd._dirichlet_grad(*tensors)) * (1 - x)
    np.testing.assert_allclose(found, (up - down) / (2 * step), rtol=5e-3)


@same
def test_edges(torch: Any) -> Any:
    """Concentrations of zero, of next to nothing, infinite, wrong; none at all."""
    torch.manual_seed(2)
    small = torch.tensor([0.0, 1e-6, 1e-3, 1e6])
    with pytest.raises(NotImplementedError, match='"gamma_cpu" not implemented'):
        torch._standard_gamma(torch.ones(1, dtype=torch.int64))
    with pytest.raises(NotImplementedError, match='"dirichlet" not implemented'):
        torch._sample_dirichlet(torch.ones(1, dtype=torch.float16))
    return (
        torch._standard_gamma(small),
        torch._sample_dirichlet(small),
        torch._standard_gamma(torch.zeros(0)),
        torch._sample_dirichlet(torch.zeros(2, 0)),
    )


@same
def test_what_has_no_derivative_says_so(torch: Any) -> Any:
    alpha = torch.tensor([2.0, 3.0], requires_grad=True)
    torch.manual_seed(0)
    drawn = torch._standard_gamma(alpha)
    (slope,) = torch.autograd.grad(drawn.sum(), alpha, create_graph=True)
    with pytest.raises(NotImplementedError, match="'_standard_gamma_grad' is not implemented"):
        slope.sum().backward()
    with pytest.raises(RuntimeError, match="_sample_dirichlet is not implemented"):
        torch._sample_dirichlet(alpha).sum().backward()
    twice = torch.distributions.Dirichlet(alpha).rsample()
    (first,) = torch.autograd.grad((twice**2).sum(), alpha, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()
    return repr(drawn), repr(twice)


@same
def test_draws_under_vmap(torch: Any) -> Any:
    def draw(alpha: Any) -> Any:
        return torch.distributions.Uniform(alpha, alpha + 1, validate_args=False).rsample()

    torch.manual_seed(0)
    return torch.vmap(draw, randomness="different")(torch.arange(4.0))


@pytest.mark.parametrize("concentration", [float("nan"), 0.0, 1e17, 1e300, float("inf")])
def test_von_mises_ends_where_no_try_can_succeed(concentration: float) -> None:
    """PyTorch's goes on for ever there."""
    kappa = tautograd.tensor(concentration, dtype=tautograd.float64)
    drawn = tautograd.distributions.VonMises(
        tautograd.full_like(kappa, 0.5), kappa, validate_args=False
    )
    found = drawn.sample((400,))
    if concentration > 0:  # NaN is not
        assert (found - 0.5).std().item() <= 2 * concentration**-0.5
        assert (found - 0.5).abs().max().item() <= 6 * concentration**-0.5
    else:
        assert found.isnan().all()
