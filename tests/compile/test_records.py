"""Every operation, compiled: what it gives and its gradients are those of the plain call."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd._autograd.apply import apply
from tautograd._compile.messages.errors import CompileError
from tautograd._tensor.tensor import make
from tests.ops.cases import RECORDS, samples_of
from tests.ops.rules import calls_of

from .compare import assert_same, bits, steps

DTYPES = ("float64", "float32", "int64", "bool", "complex128")
# A result whose shape depends on values, or a count of values: refused, with the line and advice.
REFUSED = {
    *("bincount", "histogram", "histogramdd", "masked_select", "nonzero", "unique2"),
    *("unique_consecutive", "unique_dim"),
}
# The plain call takes one fused function, or one call of a library, where the recording computes with array
# functions: sums of at most 16 numbers in another order, each a unit in the last place.
SHORT_CUTS = {
    *("batch_norm", "convolution", "group_norm", "layer_norm", "linalg_vector_norm", "rms_norm"),
    *("rsqrt", "scaled_dot_product_attention", "silu", "tan", "transposed_convolution"),
    *("weight_correlation",),
}
SUM = 16
# Results that lie in memory in C order, where the plain call keeps the order of its input.
OTHER_LAYOUT = {"index", "diag_embed", "diagonal_backward", "kthvalue", "topk"}
PARTS = 12


def tensors_of(call: Any) -> list[Any]:
    slots = set(call.slots()) if call.op.differentiable and not call.refuses() else set()
    inputs = [make(x.copy()) if isinstance(x, np.ndarray) else x for x in call.inputs]
    for i, x in enumerate(inputs):
        if isinstance(x, torch.Tensor) and i in slots and x._data.dtype.kind in "fc":
            x.requires_grad_()
    return inputs


def _weights(x: Any) -> Any:
    """Of all sizes, so that nothing cancels that is not zero."""
    return make(np.cos(np.arange(x.numel())).reshape(tuple(x.shape)).astype(x._data.dtype))


def check(name: str, call: Any, backend: str, bound: float) -> None:
    op, inputs, parameters = call.op, tensors_of(call), call.parameters
    tensors = [x for x in inputs if isinstance(x, torch.Tensor)]

    places = [i for i, x in enumerate(inputs) if isinstance(x, torch.Tensor)]

    def run(*given: Any) -> Any:
        args = list(inputs)
        for i, x in zip(places, given, strict=True):  # which guards can see
            args[i] = x
        return apply(op, tuple(args), parameters)

    try:
        expected = run(*tensors)
    except Exception:
        return  # the record refuses this dtype
    compiled = torch.compile(run, backend=backend)
    compiled(*tensors)
    compiled(*tensors)
    found = compiled(*tensors)
    assert compiled.records == 1, (name, compiled.explain())
    where = f"{name} {call.label}"
    assert_same(bits(found), bits(expected), bound, where)
    both = [x if isinstance(x, tuple) else (x,) for x in (expected, found)]
    if name not in OTHER_LAYOUT:
        assert [steps(x) for x in both[1]] == [steps(x) for x in both[0]], where
    leaves = [t for t in tensors if t.requires_grad]
    roots = [[x for x in one if x.grad_fn is not None] for one in both]
    if not leaves or not roots[0]:
        return
    weights = [_weights(x) for x in roots[0]]
    try:
        wanted = torch.autograd.grad(roots[0], leaves, weights, allow_unused=True)
    except RuntimeError:
        return  # has no derivative there
    gradients = torch.autograd.grad(roots[1], leaves, weights, allow_unused=True)
    assert_same(bits(gradients), bits(wanted), bound, f"{where}, gradients")


def check_record(
    name: str, dtype: str, backend: str, bound: float, some: int | None = None
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            calls = calls_of(name, dtype)
        except Exception:
            return  # has no sample of this dtype
        for call in calls[:some]:
            check(name, call, backend, bound)


@pytest.mark.parametrize("part", range(PARTS))
def test_records(part: int) -> None:
    """One dtype each in turn, and one sample; records that only rules use have to be overheard, which takes
    long, and so have their turn below."""
    for number, name in list(enumerate(RECORDS))[part::PARTS]:
        if name not in REFUSED and samples_of(name):
            for dtype in dict.fromkeys((DTYPES[number % 2], DTYPES[number % len(DTYPES)])):
                check_record(name, dtype, "numpy", SUM if name in SHORT_CUTS else 0, some=1)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_value_shaped_records_are_refused(name: str) -> None:
    with pytest.raises(CompileError, match="cannot be recorded"):
        check_record(name, "float64", "numpy", 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RECORDS if name not in REFUSED])
def test_every_sample_of_a_record(name: str) -> None:
    for dtype in DTYPES:
        check_record(name, dtype, "numpy", SUM if name in SHORT_CUTS else 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RECORDS if name not in REFUSED])
def test_records_natively(name: str) -> None:
    """Functions of 2 units in the last place each, and sums of some ten numbers in another order."""
    for dtype in ("float32", "float64", "int64"):
        check_record(name, dtype, "llvm", 64, some=2)
