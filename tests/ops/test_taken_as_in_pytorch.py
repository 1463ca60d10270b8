"""Calls that PyTorch takes and that were refused, and calls that it refuses and that were taken."""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same

TAKEN = [
    "torch.addcmul(i, i, i, value=0.6)",
    "torch.add(x, x, alpha=torch.tensor(2.0))",
    "torch.addcmul(x, x, x, value=torch.tensor(2.0))",
    "torch.nan_to_num(x, torch.tensor(2.0))",
    "torch.take_along_dim(x, torch.tensor([-1, 5, 2**62]), 0)",
    "torch.take_along_dim(x, torch.tensor([1, 0]))",
    "torch.addcmul(i, i, i, value=1.5)",
    "torch.addcmul(i, i, i, value=1 + 0j)",
    "i.clone().addcmul_(i, i, value=-0.0)",
    "torch.pairwise_distance(i, i + 1, eps=3)",
    "torch.nn.functional.hardtanh_(x.clone(), max_val=-1.5)",
    "torch.ops.aten.hardtanh(x, 1.0, 0.0)",
    "torch.ops.aten.unfold(torch.arange(6.0), 0, 2, 3)",
    "torch.ops.aten.add(self=x, other=1)",
    "torch.ops.aten.polygamma(n=1, self=x.abs())",
    "torch.ops.aten.elu(x, 2.0, 3)",
    "torch.ops.aten.elu(x, alpha=2.0, input_scale=0.5)",
    *(
        f"torch.ops.aten.{loss}, {reduction})"
        for reduction in (0, 1, 2)
        for loss in (
            "mse_loss(x, x + 2",
            "l1_loss(x, x + 2",
            "smooth_l1_loss(x, x + 2",
            "huber_loss(x, x + 2",
            "soft_margin_loss(x, x.sign()",
            "binary_cross_entropy(x.sigmoid(), x.abs() / 2, x.abs()",
            "binary_cross_entropy_with_logits(x, x.abs(), x.abs(), None",
            "nll_loss(x[None] * torch.ones(3, 1), torch.tensor([0, 1, 1]), None",
            "multi_margin_loss(x[None], torch.tensor([1]), 2, 1.5, None",
            "multilabel_margin_loss(x[None], torch.tensor([[1, -1]])",
        )
    ),
    "torch.ops.aten.nll_loss(x[None], torch.tensor([1]), None, 1, 1)",
    "torch.ops.aten.huber_loss(x, x + 2, 1, 0.5)",
    "torch.ops.aten.smooth_l1_loss(x, x + 2, beta=0.5)",
    "torch.eye(2).to_sparse().any(keepdim=True)",
    "torch.eye(2).to_sparse().any(dim=()).to_dense()",
    "torch.eye(2).to_sparse().sum([]).to_dense()",
    "torch.eye(2).to_sparse().sum((), dtype=torch.float64).to_dense()",
    "torch.eye(2, dtype=torch.int32).to_sparse().sum([]).to_dense()",
    "torch.sparse.sum(torch.eye(2).to_sparse(), dim=()).to_dense()",
    "torch.div(i[:0], 0, rounding_mode='trunc')",
    "torch.fmod(i[:0], torch.tensor(0))",
    "i[:0] % torch.tensor([0])",
    "torch.cholesky(torch.zeros(2, 0))",
    "torch.cholesky(torch.zeros(0, dtype=torch.int64))",
    "torch.ones(2, requires_grad=True).logical_not_()",
    "torch.ones(2, requires_grad=True).logical_and_(x)",
    "(torch.ones(2, requires_grad=True) * 2).logical_or_(x).grad_fn",
]
REFUSED = [
    "torch.add(x, x, alpha=None)",
    "x.clone().add_(x, alpha=None)",
    "torch.addcmul(x, x, x, value=None)",
    "torch.addcdiv(x, x, x, value=None)",
    "torch.add(x, x, alpha='1.5')",
    "torch.nn.functional.threshold(x, 1, None)",
    "torch.nn.functional.hardtanh(x, max_val=-1.5)",
    "torch.nn.functional.hardtanh(x.clone(), max_val=-1.5, inplace=True)",
    "torch.addcmul(i, i, i, value=1e30)",
    "torch.addcmul(i, i, i, value=1 + 2j)",
    *(
        f"torch.ops.aten.{call}{wrong})"
        for wrong in ("['x']", "[1, 2]", "[]", "{}", "'x'")
        for call in (
            "hardtanh(x, -1, ",
            "leaky_relu(x, ",
            "softplus(x, ",
            "elu(x, ",
            "threshold(x, 1, ",
            "add(x, x, alpha=",
            "celu(x, ",
            "hardshrink(x, ",
        )
    ),
    *(
        f"torch.nn.functional.{call}{wrong})"
        for wrong in ("[1, 2]", "(0.5,)")
        for call in (
            "leaky_relu(x, ",
            "softplus(x, ",
            "hardshrink(x, ",
            "threshold(x, 1, ",
        )
    ),
    *(
        f"torch.{call}, out=torch.ones(2, requires_grad=True))"
        for call in (
            "zeros(3",
            "ones(3",
            "full((3,), 2.0",
            "empty(3",
            "eye(3",
            "arange(2",
            "linspace(0, 1, 3",
            "rand(3",
            "randn(3",
            "randint(0, 5, (3,)",
            "randperm(3",
            "normal(0.0, 1.0, (3,)",
        )
    ),
    "torch.eye(2).to_sparse().any(dim=0)",
    "torch.eye(2).to_sparse().any(dim=(0, 1))",
    "torch.add(x, x, alpha=[1, 2])",
    "torch.ops.aten.mse_loss(x, x, None)",
    "torch.ops.aten.mse_loss(x, x, 'mean')",
    "torch.ops.aten.mse_loss(x, x, size_average=False)",
    "torch.fmod(i, torch.tensor(0))",
    "torch.add(x, x, alpha=x)",
    "x.clone().sub_(x, alpha=x)",
    "torch.addcmul(x, x, x, value=x)",
    "torch.rsub(x, x, alpha=x)",
    "torch.nan_to_num(x, x)",
    "torch.nan_to_num(i, posinf='x')",
    "torch.take_along_dim(x, torch.tensor([2]))",
    "torch.take_along_dim(x, torch.tensor([-1]))",
    "torch.addcmul(torch.ones(1, 3), torch.ones(1, 1, 1), x)",
    "torch.addcdiv(x, torch.ones(1), torch.ones(3))",
    "torch.lerp(torch.ones(1, 3), torch.ones(1), x)",
    "torch.nn.utils.rnn.pack_padded_sequence(torch.ones(2, 2, 2), torch.ones(2, 2))",
    "torch.nn.utils.rnn.pack_padded_sequence(torch.ones(2, 2, 2), torch.tensor(1))",
    "torch.nn.functional.ctc_loss(torch.ones(2, 2, 2, 2), i[None], i[:1], i[:1])",
    "torch.ones(2, 2).sparse_mask(torch.ones(2, 2))",
]


def known(torch: Any) -> dict[str, Any]:
    return {"torch": torch, "x": torch.tensor([1.0, -2.0]), "i": torch.tensor([3, 4])}


@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated")
@pytest.mark.parametrize("call", TAKEN)
@same
def test_taken(torch: Any, call: str) -> Any:
    return eval(call, known(torch))


@pytest.mark.parametrize("call", REFUSED)
@same
def test_refused(torch: Any, call: str) -> Any:
    with pytest.raises((TypeError, RuntimeError, ValueError)) as error:
        eval(call, known(torch))
    return error.type.__name__, "arguments it cannot take" in str(error.value)
