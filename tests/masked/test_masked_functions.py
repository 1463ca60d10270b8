"""`torch.masked`: each function on both engines, with masks that let through some, all or no elements."""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same

REDUCTIONS = ["sum", "prod", "amax", "amin", "mean", "var", "std", "logsumexp", "argmax", "argmin"]


def _given(torch: Any) -> tuple[Any, Any]:
    x = torch.tensor([[0.5, -2.0, 3.0], [1.5, 4.0, -1.0]], dtype=torch.float64)
    return x, torch.tensor([[True, False, True], [False, False, False]])


@pytest.mark.parametrize("name", REDUCTIONS)
@same
def test_reductions(torch: Any, name: str) -> Any:
    x, mask = _given(torch)
    function = getattr(torch.masked, name)
    results = [function(x, 1, mask=mask), function(x, 0, keepdim=True, mask=mask), function(x, 1)]
    results.append(function(x, 1, mask=mask[0]))
    if not name.startswith("arg"):
        results += [function(x, mask=mask), function(x, (0, 1), mask=mask, dtype=torch.float32)]
    if name not in ("mean", "logsumexp"):
        results.append(function(x.to(torch.int64), 1, mask=mask))
    return results


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin", "cumsum", "cumprod"])
@same
def test_results_of_the_inputs_shape(torch: Any, name: str) -> Any:
    x, mask = _given(torch)
    function = getattr(torch.masked, name)
    return [function(x, 0, mask=mask), function(x, 1, mask=mask), function(x, -1)]


@same
def test_norms_medians_and_two_operands(torch: Any) -> Any:
    x, mask = _given(torch)
    masked = torch.masked
    norms = [
        masked.norm(x, ord, 1, mask=mask) for ord in (2.0, 1.0, -1.0, float("inf"), float("-inf"))
    ]
    return [
        *norms, masked.normalize(x, 2.0, 1, mask=mask), masked.median(x, 1, mask=mask),
        masked.logaddexp(x, 2 * x, input_mask=mask), masked.var(x, 1, correction=0, mask=mask),
        masked.var(x, 1, False, mask=mask),
    ]  # fmt: skip


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("dtype", ["int64", "float32", "bfloat16", "complex64", None])
@pytest.mark.parametrize("name", ["var", "std", "median", "prod", "cumsum", "cumprod"])
@same
def test_dtypes_that_are_asked_for(torch: Any, name: str, dtype: Any, masked: bool) -> Any:
    x = torch.tensor([[1, -2, 3], [3, 0, 7]])
    mask = torch.tensor([[True, False, True], [True, True, False]]) if masked else None
    wanted = dtype and getattr(torch, dtype)
    function = getattr(torch.masked, name)
    return [
        function(given, 0, dtype=wanted, mask=mask)
        for given in (x, x.to(torch.float64), x.to(torch.uint8))
    ]


@same
def test_no_dimension_and_odd_switches(torch: Any) -> Any:
    one = torch.tensor(0.5)
    x = torch.tensor([1.0, 2.0, 4.0])
    masked = torch.masked
    return [
        masked.prod(one, 0, dtype=torch.bool),
        masked.prod(one, dtype=torch.bool),
        masked.std(torch.tensor(3, dtype=torch.int32), 0, dtype=torch.int64),
        masked.var(x, 0, "any text is true"),
        masked.var(x, 0, {}),
        masked.var(x, 0, correction=0.5),
        masked.var(x, 0, correction=5),
    ]


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "mean", "std", "logsumexp", "softmax"])
@same
def test_gradients(torch: Any, name: str) -> Any:
    x, mask = _given(torch)
    x.requires_grad_()
    result = getattr(torch.masked, name)(x, 1, mask=mask)
    (
        result[0] * torch.arange(1.0, 1 + result[0].numel(), dtype=x.dtype).reshape(result[0].shape)
    ).sum().backward()
    return x.grad[0]


@pytest.mark.filterwarnings("ignore:Sparse")
@same
def test_sparse_inputs_give_sparse_results(torch: Any) -> Any:
    x, mask = _given(torch)
    mask[1, 0] = True  # PyTorch's CSR result with an empty row cannot be read
    sparse = torch.where(mask, x, 0).to_sparse()
    found = [torch.masked.sum(sparse, 1), torch.masked.sum(sparse, 1, mask=mask.to_sparse())]
    found.append(
        torch.masked.amax(sparse.to_sparse_csr(), 1, keepdim=True, mask=mask.to_sparse_csr())
    )
    assert [str(each.layout) for each in found] == ["torch.sparse_coo"] * 2 + ["torch.sparse_csr"]
    return [each.to_dense() for each in found]


@same
def test_what_is_refused(torch: Any) -> None:
    x, mask = _given(torch)
    masked = torch.masked
    with pytest.raises(IndexError, match="got mask dimensionality higher than of the input"):
        masked.sum(x, mask=mask[None])
    with pytest.raises(ValueError, match="Could not infer output dtype"):
        masked.mean(x.to(torch.int64), mask=mask)
    with pytest.raises(ValueError, match="no fully masked out rows if dtype is not floating point"):
        masked.median(x.to(torch.int64), 1, mask=mask)
    with pytest.raises(RuntimeError, match="appears multiple times"):
        masked.sum(x, (0, 0), mask=mask)
