"""`testing.make_tensor` draws what PyTorch's draws, for the same seed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same

DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "int64",
    "uint8",
    "int8",
    "bool",
)
ASKED: dict[str, dict[str, Any]] = {
    "plain": {},
    "spread": {"noncontiguous": True},
    "range": {"low": 0, "high": 2},
    "wide": {"low": -1e300, "high": 1e300},
    "no-zero": {"exclude_zero": True, "low": 0, "high": 2},
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("dtype", DTYPES)
@same
def test_values(torch: Any, dtype: str, asked: str) -> Any:
    make = torch.testing.make_tensor
    found = make((3, 4), dtype=getattr(torch, dtype), device="cpu", **ASKED[asked])
    return found, found.stride(), make(2, 2, dtype=torch.float32, device="cpu", requires_grad=True)


REFUSED: dict[str, dict[str, Any]] = {
    "empty range": {"low": 3, "high": 1},
    "nan": {"low": float("nan")},
    "beyond the dtype": {"low": 300, "high": 400},
    "gradient of integers": {"requires_grad": True},
}


@pytest.mark.parametrize("asked", REFUSED)
@same
def test_refusals(torch: Any, asked: str) -> str:
    with pytest.raises(ValueError) as found:
        torch.testing.make_tensor(2, dtype=torch.uint8, device="cpu", **REFUSED[asked])
    return str(found.value)
