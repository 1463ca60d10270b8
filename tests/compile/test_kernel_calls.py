"""A program calls the kernels of eager mode where loops made of a formula do not come near, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd._arrays import kernels
from tautograd._compile.program.ir import Call

nn = torch.nn

pytestmark = pytest.mark.skipif(
    kernels.kernel_of("convolution", np.dtype(np.float32)) is None, reason="no kernels here"
)


def _step(make: Callable[[], Any], *shape: int) -> tuple[Any, list[Any]]:
    torch.manual_seed(0)
    module, x = make(), torch.randn(*shape, requires_grad=True)
    leaves = [x, *module.parameters()]

    def step() -> Any:
        for leaf in leaves:
            leaf.grad = None
        y = module(x)
        (y * y).sum().backward()
        return y

    return step, leaves


def _called(compiled: Any) -> list[str]:
    return [i.name for i in compiled._last.program.instructions if isinstance(i, Call)]


def _compared(make: Callable[[], Any], *shape: int) -> list[str]:
    """Compiled and as written, bit for bit but for sums (of a bias); what the program calls from Python."""
    for audit in ("never", "always"):
        plain, leaves = _step(make, *shape)
        step, others = _step(make, *shape)
        step = torch.compile(step, dynamic=False, audit=audit)
        for _ in range(4):
            assert torch.equal(plain(), step())
            for a, b in zip(leaves, others, strict=True):
                summed = a.ndim == 1
                same = torch.allclose(a.grad, b.grad) if summed else torch.equal(a.grad, b.grad)
                assert same
    return _called(step)


class _Doubled(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.double()


CONVOLUTIONS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "2d": (lambda: nn.Conv2d(8, 8, 3, padding=1), (8, 8, 20, 20)),
    "1d": (lambda: nn.Conv1d(8, 16, 5, padding=2), (8, 8, 512)),
    "depthwise": (lambda: nn.Conv2d(16, 16, 3, padding=1, groups=16, bias=False), (8, 16, 16, 16)),
    "dilated": (lambda: nn.Conv2d(8, 8, 3, padding=2, dilation=2), (8, 8, 20, 20)),
    "float64": (lambda: nn.Sequential(_Doubled(), nn.Conv2d(8, 8, 3).double()), (8, 8, 20, 20)),
    "small images": (lambda: nn.Conv2d(64, 64, 3, padding=1), (16, 64, 4, 4)),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_is_what_eager_mode_calls_forward_and_back(name: str) -> None:
    make, shape = CONVOLUTIONS[name]
    assert sorted(_compared(make, *shape)) == ["convolved", "correlated", "spread_back"]


def test_results_are_written_where_memory_was_planned() -> None:
    step, _ = _step(lambda: nn.Conv2d(8, 8, 3, padding=1), 8, 8, 20, 20)
    step = torch.compile(step, dynamic=False)
    for _ in range(3):
        step()
    calls = [i for i in step._last.program.instructions if isinstance(i, Call)]
    assert len(calls) == 3
    assert all(i.takes_out for i in calls)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.Conv2d(3, 4, 3), (2, 3, 8, 8)),
        (lambda: nn.Conv2d(16, 16, 3, stride=2), (8, 16, 32, 32)),
        (lambda: nn.Conv2d(16, 16, 1), (8, 16, 32, 32)),
    ],
)
def test_a_small_or_strided_one_stays_a_loop_and_a_product(make: Any, shape: Any) -> None:
    step, _ = _step(make, *shape)
    step = torch.compile(step, dynamic=False, audit="always")
    for _ in range(4):
        step()
    assert _called(step) == []


def test_a_program_goes_on_where_kernels_are_switched_off() -> None:
    make = lambda: nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.MaxPool2d(2))  # noqa: E731
    step, leaves = _step(make, 8, 8, 20, 20)
    step = torch.compile(step, dynamic=False, audit="never")
    for _ in range(3):
        step()
    before = [leaf.grad.clone() for leaf in leaves]
    was = kernels.switch(False)
    try:
        step()
    finally:
        kernels.switch(was)
    for leaf, grad in zip(leaves, before, strict=True):
        assert torch.allclose(leaf.grad, grad, rtol=1e-4, atol=1e-4)


def test_an_audit_counts_once_what_is_added_by_a_product_whose_operand_is_laid_out_first() -> None:
    """Two kernels for one instruction: the audit took the sum for overwritten, though it was right."""
    step, leaves = _step(lambda: nn.Conv3d(4, 8, 3), 4, 4, 12, 12, 12)
    step = torch.compile(step, dynamic=False, audit="always")
    step()
    plain = [leaf.grad.clone() for leaf in leaves]
    for _ in range(3):
        step()
    for leaf, grad in zip(leaves, plain, strict=True):
        assert torch.allclose(leaf.grad, grad, rtol=1e-4, atol=1e-2)
