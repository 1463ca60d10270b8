"""What a dtype cannot hold becomes infinite, or some integer, as in PyTorch: without a warning of NumPy's."""

import warnings

import numpy as np
import pytest

import tautograd as torch

INF, NAN = float("inf"), float("nan")
CASTS = {
    "copy_": lambda: torch.ones(2, dtype=torch.float16).copy_(torch.tensor([3e38, -3e38])),
    "copy_ of NaN": lambda: torch.ones(2, dtype=torch.int64).copy_(torch.tensor(NAN)),
    "fill_": lambda: torch.ones(2, dtype=torch.int64).fill_(torch.tensor(NAN)),
    "an item": lambda: torch.ones(2, dtype=torch.int64).__setitem__(0, torch.tensor(NAN)),
    "real": lambda: setattr(torch.ones(2, dtype=torch.int64), "real", torch.tensor(NAN)),
    "out": lambda: torch.add(torch.tensor([3e38]), 1.0, out=torch.ones(1, dtype=torch.float16)),
    "in place": lambda: torch.ones(1, dtype=torch.float16).add_(torch.tensor([3e38])),
    "a half's result": lambda: torch.full((1,), 6e4, dtype=torch.float16) * 2,
    "a number": lambda: torch.ones(2, dtype=torch.float16) <= -(2**31),
    "promotion": lambda: torch.ldexp(torch.ones(1, dtype=torch.float16), torch.tensor([1000])),
    "a dtype of a sum": lambda: torch.sum(torch.tensor([NAN, 1.0]), dtype=torch.int8),
    "new_tensor": lambda: torch.ones(1, dtype=torch.int8).new_tensor(np.array(NAN)),
    "tensor of a number": lambda: torch.tensor(1e30, dtype=torch.float16),
    "tensor of an array": lambda: torch.tensor(np.array([1e300]), dtype=torch.float32),
    "a draw": lambda: torch.ones(99, dtype=torch.float16).geometric_(1e-9),
    "log-normal": lambda: torch.ones(99, dtype=torch.float16).log_normal_(50, 9),
    "running statistics": lambda: torch.nn.functional.batch_norm(
        torch.tensor([[3e38], [-3e38]]), torch.zeros(1), torch.ones(1), training=True, momentum=9.0
    ),
    "rows scaled down": lambda: torch.embedding_renorm_(
        torch.full((3, 3), INF), torch.tensor(1), -INF, -1.5
    ),
    "rrelu": lambda: torch.rrelu_(torch.tensor(NAN, dtype=torch.bfloat16), training=True),
}


@pytest.mark.parametrize("case", CASTS)
def test_nothing_is_said(case):
    with warnings.catch_warnings(), np.errstate(over="warn", invalid="warn", divide="warn"):
        warnings.simplefilter("error")
        CASTS[case]()
