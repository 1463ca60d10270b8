"""Values at the edges that PyTorch's own tests look at: tiny, NaN, the origin, kept dimensions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same

INF, NAN = float("inf"), float("nan")


@same
def test_log1p_of_tiny_complex_numbers(torch: Any) -> Any:
    values = [1e-8 + 1e-8j, 1e-20, 1e-200 + 1e-200j, -1, 2 + 1e-17j, complex(INF, 1)]
    found = torch.log1p(torch.tensor(values, dtype=torch.complex128))
    return (found.real * 1e20).tolist()[1], found, found.real[0] / 1e-8, found.real[2] / 1e-200


@same
def test_logcumsumexp_of_complex_nan(torch: Any) -> Any:
    values = [complex(-INF, 0), complex(INF, 0), complex(NAN, 0), 2]
    return torch.logcumsumexp(torch.tensor(values, dtype=torch.complex128), 0).isnan()


@same
def test_atan2_has_no_slope_at_the_origin(torch: Any) -> Any:
    x, y = (torch.tensor([0.0, 1.0], requires_grad=True) for _ in range(2))
    torch.atan2(x, y).sum().backward()
    return x.grad, y.grad


@same
def test_nansum_into_integers(torch: Any) -> Any:
    x = torch.tensor([[1.7, NAN, 2.6], [NAN, NAN, 3.5]])
    return torch.nansum(x, dtype=torch.int32), torch.nansum(x, dim=1, dtype=torch.int64)


@same
def test_hardshrink_rounds_its_limit(torch: Any) -> Any:
    return torch.tensor([1, 0.5, 0.3, 0.6], dtype=torch.bfloat16).hardshrink(0.3)


@pytest.mark.parametrize("dim", [0, 1, 2])
@same
def test_quantiles_keep_their_dimension(torch: Any, dim: int) -> Any:
    x = torch.arange(24.0).reshape(2, 3, 4)
    q = torch.tensor([0.1, 0.5])
    return [
        torch.quantile(x, q, dim=dim, keepdim=True),
        torch.nanquantile(x, 0.3, dim=dim, keepdim=True),
        torch.quantile(x, q, dim=dim),
    ]


@same
def test_negative_bases_of_complex_powers(torch: Any) -> Any:
    base = torch.tensor([-2.0, -1.5, 0.5], dtype=torch.float64, requires_grad=True)
    exponent = torch.tensor([1 + 1j, 0.5 - 2j, 3j], dtype=torch.complex128, requires_grad=True)
    power, whole = base**exponent, (-1) ** exponent
    (power.real.sum() + 2 * power.imag.sum() + whole.abs().sum()).backward()
    return base.grad, exponent.grad
