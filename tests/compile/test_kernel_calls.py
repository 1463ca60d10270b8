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


def _compared(make: Callable[[], Any], *shape: int, summed: bool = False) -> list[str]:
    """Compiled and as written, bit for bit but for sums (of a bias); what the program calls from Python.

    Where gradients are `summed` by products of the program's own, those are in another order, too.
    """
    for audit in ("never", "always"):
        plain, leaves = _step(make, *shape)
        step, others = _step(make, *shape)
        step = torch.compile(step, dynamic=False, audit=audit)
        for _ in range(4):
            assert torch.equal(plain(), step())
            for a, b in zip(leaves, others, strict=True):
                close = torch.allclose if summed or a.ndim == 1 else torch.equal
                assert close(a.grad, b.grad)
    return _called(step)


class _Layer(nn.Module):
    """A recurrent layer without its states."""

    def __init__(self, kind: Any, *sizes: int, **options: Any) -> None:
        super().__init__()
        self.layer = kind(*sizes, **options)

    def forward(self, x: Any) -> Any:
        out, states = self.layer(x)
        return torch.cat([out.flatten(), torch.stack(list(states)).flatten()])


class _Doubled(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.double()


CONVOLUTIONS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "2d": (lambda: nn.Conv2d(8, 8, 3, padding=1), (8, 8, 20, 20)),
    "1d": (lambda: nn.Conv1d(8, 16, 5, padding=2), (8, 8, 512)),
    "depthwise": (lambda: nn.Conv2d(16, 16, 3, padding=1, groups=16, bias=False), (8, 16, 16, 16)),
    "dilated": (lambda: nn.Conv2d(8, 8, 3, padding=2, dilation=2), (8, 8, 20, 20)),
    "float64": (lambda: nn.Sequential(_Doubled(), nn.Conv2d(8, 8, 3).double()), (8, 8, 20, 20)),
    "steps of two": (lambda: nn.Conv2d(8, 16, 3, stride=2, padding=1), (8, 8, 24, 24)),
    "1d, steps": (lambda: nn.Conv1d(8, 16, 8, stride=4, padding=2), (8, 8, 512)),
    "transposed": (lambda: nn.ConvTranspose2d(16, 8, 4, 2, 1), (8, 16, 14, 14)),
    "small images": (lambda: nn.Conv2d(64, 64, 3, padding=1), (16, 64, 4, 4)),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_is_what_eager_mode_calls_forward_and_back(name: str) -> None:
    make, shape = CONVOLUTIONS[name]
    assert sorted(_compared(make, *shape)) == ["convolved", "correlated", "spread_back"]


POOLS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "2d": (lambda: nn.MaxPool2d(2), (4, 8, 24, 24)),
    "1d": (lambda: nn.MaxPool1d(2), (4, 16, 256)),
    "overlapping": (lambda: nn.MaxPool2d(3, 2, 1), (4, 8, 24, 24)),
    "float64": (lambda: nn.Sequential(_Doubled(), nn.MaxPool2d(3, 1)), (4, 8, 24, 24)),
}


@pytest.mark.parametrize("name", POOLS)
def test_a_max_pool_is_what_eager_mode_calls_forward_and_back(name: str) -> None:
    make, shape = POOLS[name]
    assert sorted(_compared(make, *shape)) == ["pooled", "spread_back"]


def test_a_small_max_pool_stays_a_loop() -> None:
    assert _compared(lambda: nn.MaxPool2d(2), 2, 4, 12, 12) == []


def _layer(*given: Any, **options: Any) -> Callable[[], Any]:
    return lambda: nn.Sequential(_Doubled(), _Layer(*given, **options).double())


RECURRENT: dict[str, Callable[[], Any]] = {
    "LSTM": _layer(nn.LSTM, 6, 32),
    "GRU": _layer(nn.GRU, 6, 32),
    "LSTM without biases": _layer(nn.LSTM, 6, 32, bias=False),
    "GRU from both ends": _layer(nn.GRU, 6, 32, bidirectional=True),
    "two layers": _layer(nn.LSTM, 6, 32, num_layers=2),
    "float32": lambda: _Layer(nn.GRU, 6, 32),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_a_recurrent_layer_is_what_eager_mode_calls_however_many_steps(name: str) -> None:
    sizes = set()
    for length in (17, 40):
        names = _compared(RECURRENT[name], length, 8, 6, summed=True)
        assert set(names) == {"all_steps", "back"}
        step, _ = _step(RECURRENT[name], length, 8, 6)
        step = torch.compile(step, dynamic=False, audit="never")
        for _ in range(2):
            step()
        sizes.add(step._last.recorded_size)
    assert len(sizes) == 1


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_few_steps_stay_a_loop(kind: Any) -> None:
    step, _ = _step(_layer(kind, 3, 4), 5, 2, 3)
    step = torch.compile(step, dynamic=False, audit="always")
    for _ in range(4):
        step()
    assert _called(step) == []


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (CONVOLUTIONS["2d"][0], CONVOLUTIONS["2d"][1]),
        (RECURRENT["LSTM"], (17, 8, 6)),
        (RECURRENT["GRU"], (17, 8, 6)),
    ],
)
def test_results_are_written_where_memory_was_planned(make: Any, shape: Any) -> None:
    step, _ = _step(make, *shape)
    step = torch.compile(step, dynamic=False)
    for _ in range(3):
        step()
    calls = [i for i in step._last.program.instructions if isinstance(i, Call)]
    assert calls
    assert all(i.takes_out for i in calls)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.Conv2d(3, 4, 3), (2, 3, 8, 8)),
        (lambda: nn.Conv2d(16, 16, 1), (8, 16, 32, 32)),
    ],
)
def test_a_small_one_stays_a_loop_and_a_product(make: Any, shape: Any) -> None:
    step, _ = _step(make, *shape)
    step = torch.compile(step, dynamic=False, audit="always")
    for _ in range(4):
        step()
    assert _called(step) == []


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.MaxPool2d(2)), (8, 8, 20, 20)),
        (RECURRENT["LSTM"], (17, 8, 6)),
        (RECURRENT["LSTM without biases"], (17, 8, 6)),
        (RECURRENT["GRU from both ends"], (17, 8, 6)),
    ],
)
def test_a_program_goes_on_where_kernels_are_switched_off(make: Any, shape: Any) -> None:
    step, leaves = _step(make, *shape)
    step = torch.compile(step, dynamic=False, audit="never")
    for _ in range(3):
        step()
    before = [leaf.grad.clone() for leaf in leaves]
    for leaf in leaves:
        leaf.data = torch.full_like(leaf, 0.125) + leaf.detach()  # so that nothing old is right
    step()
    for leaf in leaves:
        leaf.data = leaf.detach() - 0.125
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
