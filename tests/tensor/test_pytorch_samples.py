"""What `python -m tools.pytorch_samples` has shown, held on both engines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same


@same
def test_complex_weights_of_lerp_have_gradients(torch: Any) -> Any:
    start = torch.tensor([1 + 2j], requires_grad=True)
    end = torch.tensor([2 + 1j], requires_grad=True)
    mixed = torch.lerp(start, end, 0.3 + 1j)
    return mixed.detach(), torch.autograd.grad(mixed.sum().real, [start, end])


@same
def test_logsumexp_of_one_complex_number_has_an_angle(torch: Any) -> Any:
    return torch.logsumexp(torch.tensor(10.0 + 1401.9j, dtype=torch.complex128), 0)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float32"])
@same
def test_an_empty_index_may_be_of_any_dtype(torch: Any, dtype: str) -> Any:
    none, x = torch.zeros(0, dtype=getattr(torch, dtype)), torch.arange(5.0)
    return x.gather(0, none), x.scatter(0, none, 1.0), x.scatter_add(0, none, torch.ones(0))
