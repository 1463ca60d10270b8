"""Values at the edges that PyTorch's own tests look at: tiny, NaN, the origin, kept dimensions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same, same_as_a_kernel

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


# Where numerical differences say nothing: ties, zeros, infinities. What PyTorch gives is the rule.
_ROWS = {
    "ties": [[2.0, -2.0, 1.0], [1.0, -1.0, 1.0], [0.5, 3.0, -3.0]],
    "zeros": [[0.0, 0.0, 0.0], [0.0, 2.0, -1.0], [-0.0, 0.0, 3.0]],
    "infinities": [[1.0, INF, 2.0], [-INF, 1.0, INF], [INF, INF, -INF]],
    "NaN": [[1.0, NAN, 2.0], [NAN, NAN, NAN], [INF, NAN, 0.0]],
    "one": [[-3.0], [0.0], [NAN]],
}
_DTYPES = ["float32", "float64", "bfloat16", "complex128"]


@pytest.mark.filterwarnings("ignore:Casting complex values")  # PyTorch does that itself
@pytest.mark.parametrize("ord", [0, 0.5, 1, 1.5, 2, 2.5, 3, -0.5, -1, -2, INF, -INF, NAN])
@pytest.mark.parametrize("rows", _ROWS)
@same
def test_norms_at_the_edges(torch: Any, rows: str, ord: float) -> Any:
    found = []
    for dtype in _DTYPES:
        for dim in (None, 1):
            x = torch.tensor(_ROWS[rows], dtype=getattr(torch, dtype), requires_grad=True)
            norm = torch.linalg.vector_norm(x, ord, dim)
            found += [norm, *torch.autograd.grad(norm.sum(), x, allow_unused=True)]
    return found


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("ord", [INF, -INF, -1])
@same
def test_the_norm_of_nothing(torch: Any, ord: float, dim: int) -> Any:
    with pytest.raises(RuntimeError) as caught:
        torch.linalg.vector_norm(torch.zeros(0), ord, dim)
    return str(caught.value)


@pytest.mark.parametrize("rows", [r for r in _ROWS if r != "one"])
@same
def test_logcumsumexp_at_the_edges(torch: Any, rows: str) -> Any:
    found = []
    for dtype in ("float32", "float64", "bfloat16"):
        for dim in (0, 1):
            x = torch.tensor(_ROWS[rows], dtype=getattr(torch, dtype), requires_grad=True)
            sums = torch.logcumsumexp(x, dim)
            found += [sums, *torch.autograd.grad(sums.sum(), x)]
    return found


@pytest.mark.parametrize("alpha", [1.0, -1.5, 0.25, 2.0**-40, 1e5])
@pytest.mark.parametrize("name", ["elu", "celu"])
@same_as_a_kernel([0.0, -0.0, 1e-300, 1.0, 800.0, INF, NAN, -1e-300, -1.0, -800.0, -INF])
def test_elu_far_from_zero_twice_differentiated(
    torch: Any, values: list[float], name: str, alpha: float
) -> Any:
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    out = getattr(torch.nn.functional, name)(x, alpha)
    (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    return out.signbit(), out, slope, torch.autograd.grad(slope.sum(), x)


@pytest.mark.parametrize(
    ("name", "number"),
    [("celu", 0.0), ("celu", 1e-40), ("celu", 1e40), ("celu", -1.0), ("elu", -1.0), ("elu", NAN),
     ("leaky_relu", -1.0)],
)  # fmt: skip
@same
def test_what_activations_refuse(torch: Any, name: str, number: float) -> Any:
    function = getattr(torch.nn.functional, name)
    said = []
    for inplace in (False, True):
        x = torch.tensor([1.0, -1.0, 0.0], requires_grad=True)
        try:
            function(x.clone(), number, inplace=inplace).sum().backward()
            said.append(x.grad)
        except RuntimeError as error:
            said.append(str(error).partition(" File an issue")[0])
    return said
