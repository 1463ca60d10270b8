"""Every sample of every record under `autocast`: the dtypes of the results, and their values."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tests.ops.cases import RECORDS, TAUTOGRAD, TORCH, Call, cases_of, record

# PyTorch multiplies the parts of a float32 decomposition in lower precision; here it is one operation.
IN_FLOAT32 = {"linalg_pinv"}
# PyTorch's vendor library has no LSTM in float16 on most machines, and with projections it keeps c in
# float32 though h is in lower precision.
OWN_LSTM = {"lstm_layer"}
# How closely results of the lower precision agree: a few units in its last place.
CLOSE = {"bfloat16": 3e-2, "float16": 4e-3}


def outcome(call: Call, lower: str) -> Any:
    torch = call.engine.module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.autocast("cpu", getattr(torch, lower)):
                return call.run()
        except Exception as error:
            return error


def kinds(result: Any) -> Any:
    """The dtypes of what came out."""
    if isinstance(result, Exception):
        return "error"
    if isinstance(result, (tuple, list)):
        return [kinds(one) for one in result]
    return str(result.dtype) if hasattr(result, "dtype") else type(result).__name__


def arrays(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [array for one in result for array in arrays(one)]
    if not hasattr(result, "dtype") or isinstance(result, Exception):
        return []
    return [np.asarray(result.detach().tolist())]


@pytest.mark.parametrize("name", sorted({*RECORDS} - IN_FLOAT32 - OWN_LSTM))
def test_dtypes_are_those_of_pytorch(name: str) -> None:
    op = record(name)
    for _, sample in list(cases_of(name))[:8]:
        for given, lower in (("float32", "bfloat16"), ("bfloat16", "bfloat16"), ("float16",) * 2):
            calls = [Call(engine, op, sample, given, False) for engine in (TORCH, TAUTOGRAD)]
            expected, found = (kinds(outcome(call, lower)) for call in calls)
            assert found == expected, f"{sample} of {given} in {lower}"


# Records of the functions that cast, and whose values do not depend on the order of rounding.
PRODUCTS = """
    addbmm addmm baddbmm bmm mm mv dot convolution prelu scaled_dot_product_attention cat stack
    cross_entropy mse_loss l1_loss huber_loss smooth_l1_loss kl_div cdist prod trace index_copy
"""


@pytest.mark.parametrize("name", [n for n in RECORDS if n in PRODUCTS.split()])
@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
def test_values_and_gradients(name: str, lower: str) -> None:
    op = record(name)
    for _, sample in list(cases_of(name))[:6]:
        seen = []
        for engine in (TORCH, TAUTOGRAD):
            call = Call(engine, op, sample, "float32", True)
            result = outcome(call, lower)
            parts = result if isinstance(result, (tuple, list)) else [result]
            total = sum(p.float().sum() for p in parts if getattr(p, "requires_grad", False))
            gradients = []
            if hasattr(total, "backward"):
                gradients = engine.grad(total, call.leaves, allow_unused=True)
            seen.append((kinds(result), arrays(result), [g for g in gradients if g is not None]))
        (kind, expected, slopes), (own_kind, found, own_slopes) = seen
        assert own_kind == kind
        assert [str(g.dtype) for g in own_slopes] == [str(g.dtype) for g in slopes]
        pairs = zip(found + arrays(own_slopes), expected + arrays(slopes), strict=True)
        for one, other in pairs:
            room = CLOSE[lower] * np.max(np.abs(other), initial=0.0, where=np.isfinite(other))
            np.testing.assert_allclose(
                one, other, rtol=CLOSE[lower], atol=room, err_msg=str(sample)
            )
