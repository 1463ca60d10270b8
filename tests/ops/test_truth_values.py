"""Where PyTorch's parser asks for True or False, nothing else that is true will do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.both import same

VALUES = {
    "int": 1,
    "float": 0.5,
    "str": "no",
    "list": [0],
    "None": None,
    "NumPy's": np.True_,
    "True": True,
    "False": False,
}
CALLS = [
    "x.sum(0, keepdim={})",
    "torch.sum(x, 0, {})",
    "x.mean([0], {})",
    "torch.argmax(x, keepdim={})",
    "x.mode(keepdim={})",
    "torch.logsumexp(x, 0, {})",
    "torch.dropout(x, 0.0, {})",
    "torch.nn.functional.dropout(x, 0.0, {})",
    "torch.nn.functional.poisson_nll_loss(x, x, log_input={})",
    "torch.nn.functional.kl_div(x, x, reduction='sum', log_target={})",
    "torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal={})",
    "torch.nn.functional.avg_pool1d(x, 1, ceil_mode={})",
    "torch.nn.AvgPool1d(1, count_include_pad={})(x)",
    "torch.linalg.svd(x, {})",
    "torch.linalg.solve_triangular(x, x, upper={})",
    "torch.allclose(x, x, equal_nan={})",
    "torch.vander(x[0], increasing={})",
    "torch.zeros(2, requires_grad={})",
    "x.clone().put_(torch.tensor([0]), torch.ones(1), {})",
    "x.unique(return_inverse={})",
    "x.sort(0, {})",
    "x.sort(stable={})",
    "x.numpy(force={})",
    "torch.ops.aten.amax(x, [0], {})",
    "torch.ops.aten.vander(x[0], 2, {})",
]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("call", CALLS)
@same
def test_a_truth_value_of_another_kind(torch: Any, call: str, value: str) -> Any:
    known = {"torch": torch, "x": torch.arange(1.0, 5.0).reshape(2, 2).tril(), "v": VALUES[value]}
    try:
        found = eval(call.format("v"), known)
    except Exception as error:
        if "aten" in call:  # which has words of its own
            return type(error).__name__
        return type(error).__name__, "must be bool" in str(error) or "combination" in str(error)
    return type(found).__name__


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "ASGD"])
@pytest.mark.parametrize("value", VALUES)
@same
def test_differentiable_steps(torch: Any, name: str, value: str) -> Any:
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = getattr(torch.optim, name)([parameter], differentiable=VALUES[value])
    parameter.grad = torch.zeros(2)
    if VALUES[value] is True:
        return None  # a leaf would be changed
    try:
        optimizer.step()
    except TypeError as error:
        return str(error)[:60]
    return parameter.tolist()
