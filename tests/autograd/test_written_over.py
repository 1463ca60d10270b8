"""In-place changes that PyTorch goes backward through: after pools, on views, to second order."""

from __future__ import annotations

import numpy as np
import pytest

from tests.both import same


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", ["", "adaptive_"])
@same
def test_the_output_of_a_max_pool_may_be_written_over(torch, rank, kind):
    torch.manual_seed(0)
    x = torch.randn(2, 3, *[6] * rank, requires_grad=True)
    pooled = getattr(torch.nn.functional, f"{kind}max_pool{rank}d")(x * 1, 2)
    pooled.mul_(2)
    pooled.sum().backward()
    return x.grad


@same
def test_indices_of_a_max_pool_may_not(torch):
    x = torch.randn(1, 1, 4, 4, requires_grad=True)
    pooled, indices = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    indices.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        pooled.sum().backward()


@same
def test_the_output_of_erfinv_may_be_written_over(torch):
    x = torch.tensor([0.1, -0.5, 0.9], requires_grad=True)
    y = torch.erfinv(x)
    y.mul_(2)
    y.sum().backward()
    return x.grad


@pytest.mark.parametrize(
    "name", ["tanh_", "exp_", "sigmoid_", "sqrt_", "rsqrt_", "reciprocal_", "tan_", "expm1_"]
)
@same
def test_second_order_through_an_operation_on_a_view(torch, name):
    x = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)
    y = x * 1
    getattr(y[:2], name)()
    (first,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    return torch.autograd.grad(first.sum(), x)[0]


@same
def test_second_order_through_a_gradient_that_was_turned_round(torch):
    x = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)
    y = torch.slice_scatter(x, torch.ones(2) * x[0], 0, 0, 2).cumsum(0)
    (first,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    return torch.autograd.grad(first.sum(), x)[0]


@same
def test_matrices_and_masked_arrays_give_their_data(torch):
    matrix = np.array([[1, 2], [3, 4]]).view(np.matrix)
    masked = np.ma.masked_array([1, 2, 3], [0, 1, 0])
    return (
        torch.from_numpy(matrix) * torch.as_tensor(matrix),
        torch.from_numpy(masked) + 1,
        torch.tensor(matrix),
    )


@same
def test_a_tangent_of_another_dtype_stays_one(torch):
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        dual = forward.make_dual(torch.ones(2), torch.ones(2, dtype=torch.float64))
        text = repr(dual)
        with pytest.raises(RuntimeError, match="forward gradient at the same level"):
            forward.make_dual(torch.ones(2), dual)
        with pytest.raises(NotImplementedError, match="out= function"):
            torch.add(dual, 1, out=torch.ones(2))
        return text, forward.unpack_dual(dual * 2).tangent


@same
def test_checkpoints_in_a_group_run_again_once(torch):
    runs = []

    def body(x):
        runs.append(1)
        y = x.sin().cos()
        return y, y.sin().cos()

    x = torch.ones(3, requires_grad=True)
    y, z = torch.utils.checkpoint.checkpoint(body, x, use_reentrant=False)
    with torch.utils.checkpoint.GraphExecGroup():
        (of_y,) = torch.autograd.grad(z, (y,), torch.ones(3))
        (of_x,) = torch.autograd.grad(y, (x,), of_y)
    return len(runs), of_x
