"""Numbers that a dtype cannot hold: an operand of another dtype is rounded to half precision before it
is computed with, and a parameter (a bound, a factor, a value to write) that does not fit is refused.

Both engines must give the same numbers exactly: every operation here rounds once, or not at all.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same

HALVES = ("bfloat16", "float16")
# 257 and 1003 are not among the numbers of bfloat16; 70001 is infinite in float16.
WHOLE = [257, -1003, 3, 5, 70001]
FRACTIONS = [258.0, 1003.0, 3.14, 0.3333, -70000.0]

BINARY = {
    "add": lambda torch, x, y: x + y,
    "sub": lambda torch, x, y: x - y,
    "mul": lambda torch, x, y: x * y,
    "div": lambda torch, x, y: x / y,
    "floor_divide": lambda torch, x, y: x // y,
    "div floor": lambda torch, x, y: torch.div(x, y, rounding_mode="floor"),
    "fmod": lambda torch, x, y: torch.fmod(x, y),
    "remainder": lambda torch, x, y: x % y,
    "maximum": lambda torch, x, y: torch.maximum(x, y),
    "lt": lambda torch, x, y: x < y,
    "where": lambda torch, x, y: torch.where(torch.tensor([True, False, True, False, True]), x, y),
    "addcmul": lambda torch, x, y: torch.addcmul(x, y, y),
}
OTHERS: dict[str, Any] = {
    "int64": lambda torch: torch.tensor(WHOLE),
    "int32": lambda torch: torch.tensor(WHOLE, dtype=torch.int32),
    "0-dim int64": lambda torch: torch.tensor(257),
    "0-dim float32": lambda torch: torch.tensor(1000.7),
    "0-dim float64": lambda torch: torch.tensor(1000.7, dtype=torch.float64),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", BINARY)
@same
def test_operands_are_rounded_before_they_are_used(
    torch: Any, name: str, half: str, other: str
) -> Any:
    x = torch.tensor(FRACTIONS, dtype=getattr(torch, half))
    y = OTHERS[other](torch)
    return [BINARY[name](torch, *pair).tolist() for pair in ((x, y), (y, x))]


@pytest.mark.parametrize("number", [257, 1000.7])
@pytest.mark.parametrize("half", HALVES)
@same
def test_numbers_are_rounded_unless_they_come_second(torch: Any, half: str, number: float) -> Any:
    x = torch.tensor(FRACTIONS, dtype=getattr(torch, half))
    found = [torch.mul(number, x), torch.mul(x, number), number * x, number / x, x / number]
    return [y.tolist() for y in (*found, number + x, number - x, x - number, number // x)]


@pytest.mark.parametrize("half", HALVES)
@same
def test_gradients_see_the_rounded_operand(torch: Any, half: str) -> Any:
    found = []
    for run in (
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: torch.nn.functional.mse_loss(x, y, reduction="sum"),
    ):
        x = torch.tensor(FRACTIONS[:4], dtype=getattr(torch, half)).requires_grad_()
        run(x, torch.tensor(WHOLE[:4])).sum().backward()
        found.append(x.grad.tolist())
    return found


INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
WRITES = {
    "clamp(max)": lambda torch, x, v: x.clamp(max=v),
    "clamp(min)": lambda torch, x, v: x.clamp(min=v),
    "clamp_max": lambda torch, x, v: torch.clamp_max(x, v),
    "clamp_": lambda torch, x, v: x.clamp_(max=v),
    "where": lambda torch, x, v: torch.where(x > 0, x, v),
    "hardtanh": lambda torch, x, v: torch.nn.functional.hardtanh(x, -abs(v), abs(v)),
    "threshold": lambda torch, x, v: torch.nn.functional.threshold(x, v, v),
    "threshold value": lambda torch, x, v: torch.nn.functional.threshold(x, 1, v),
    "alpha": lambda torch, x, v: torch.add(x, x, alpha=v),
    "alpha of sub": lambda torch, x, v: torch.sub(x, x, alpha=v),
    "addcmul": lambda torch, x, v: torch.addcmul(x, x, x, value=v),
    "pad": lambda torch, x, v: torch.nn.functional.pad(x, (1, 1), value=v),
    "full": lambda torch, x, v: torch.full((2,), v, dtype=x.dtype),
    "fill_": lambda torch, x, v: x.fill_(v),
    "masked_fill": lambda torch, x, v: x.masked_fill(x > 0, v),
}


def _outcome(run: Any) -> Any:
    try:
        return run().tolist()
    except (RuntimeError, NotImplementedError, ValueError) as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
@same
def test_a_parameter_that_does_not_fit_is_refused(torch: Any, dtype: str, name: str) -> Any:
    numbers = [0, 127, 128, 255, 256, 300, -1, -129, 2**15, 2**31, -(2**31), 2**62]
    if dtype in FLOATS:
        numbers = [0.5, 65504.0, 1e6, 3e38, 1e39, 1e300, float("inf"), float("-inf")]
    kind = getattr(torch, dtype)
    return [
        _outcome(lambda v=v: WRITES[name](torch, torch.tensor([1, 3], dtype=kind), v))
        for v in numbers
    ]


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
@same
def test_unsigned_numbers_keep_all_of_their_bits(torch: Any, dtype: str) -> Any:
    kind = getattr(torch, dtype)
    return [
        _outcome(lambda v=v: torch.full((2,), v, dtype=kind))
        for v in (0, 255, 256, 300, 65535, 65536, 2**32 - 1, 2**32, -1, -3, 1.5, -1.5)
    ]


@same
def test_large_whole_numbers_pass_a_threshold_unharmed(torch: Any) -> Any:
    x = torch.tensor([2**53 + 1, 2**63 - 1, -5])
    threshold = torch.nn.functional.threshold
    return [threshold(x, -1.5, -1.5).tolist(), threshold(x, 0, 2**53 + 1).tolist()]


@same
def test_bounds_in_the_wrong_order(torch: Any) -> Any:
    x = torch.tensor([0.0, 1.0, 0.5, -2.0, 0.7])
    return [torch.logit(x, eps).tolist() for eps in (1.0, 0.6, 0.2, float("nan"))]


@same
def test_a_factor_of_zero_meets_an_overflow(torch: Any) -> Any:
    large = torch.tensor([1e38, 1.0])
    return torch.addr(torch.ones(2, 2), large, large, alpha=0.0).tolist()


@pytest.mark.parametrize("dtype", INTEGERS)
@same
def test_the_median_of_nothing(torch: Any, dtype: str) -> Any:
    nothing = torch.empty(0, dtype=getattr(torch, dtype))
    return [torch.median(nothing).item(), torch.nanmedian(nothing).item()]
