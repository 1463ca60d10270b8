"""What a compiled function gives back is what the plain one gives: views, versions, modes, shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd import nn
from tautograd._compile.messages.errors import CompileError
from tautograd._compile.record.trees import tensors_in

from .compare import assert_same, bits

OUTSIDE = torch.arange(12.0).view(3, 4)
MODEL = nn.Linear(3, 2)


def changed(x: Any) -> Any:
    y = x * 2
    y[0] = 5.0
    y += 1
    return y


def detached(x: Any) -> Any:
    y = x * 2
    return y.detach(), y, y.detach()[1:]


def pieces(x: Any) -> Any:
    y = x.detach() * 2
    return y[:2], y[1:], y.view(3, 1)


def inference(x: Any) -> Any:
    with torch.inference_mode():
        return MODEL(x.detach())


ROWS: dict[str, Callable[[Any], Any]] = {
    "changed after it was made": changed,
    "detached": detached,
    "parts that overlap": pieces,
    "chunks": lambda x: (x.detach() * 2).chunk(3),
    "views of a view from outside": lambda x: (OUTSIDE[1], OUTSIDE.t(), x * 1),
    "views of an argument": lambda x: (x.view(3, 1), x[1:], x),
    "in inference mode": inference,
    "drawn in place": lambda x: torch.empty(4).uniform_(),
    "parts of nothing": lambda x: torch.complex(x[:0], x[:0]),
}


def looks(value: Any) -> Any:
    """What can be seen of each tensor, and which of them share memory."""
    found = list(tensors_in(value))
    arrays = [t.detach().numpy() for t in found]
    return [
        (
            None if t.is_inference() else t._version,
            t.is_inference(),
            t._is_view(),
            t.requires_grad,
            t.grad_fn is not None,
            [bool(np.shares_memory(arrays[i], other)) for other in arrays],
        )
        for i, t in enumerate(found)
    ]


@pytest.mark.parametrize("view", [False, True], ids=["argument", "view as argument"])
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("name", ROWS)
def test_results_look_the_same(name: str, backend: str, view: bool) -> None:
    fn = ROWS[name]
    compiled = torch.compile(fn, backend=backend)
    for call in range(4):
        both = []
        for step in (fn, compiled):
            torch.manual_seed(call)
            x = torch.randn(3, 5, requires_grad=True)
            x = x[:, 1] if view else x[:, 1].detach().clone().requires_grad_()
            before = OUTSIDE._version
            result = step(x)
            seen = [looks([result, x]), OUTSIDE._version - before]
            with torch.no_grad():
                first = next(iter(tensors_in(result)))
                if not first.is_inference() and not first._is_view():
                    first.fill_(7.0)
            both.append(bits([seen, result, x, OUTSIDE]))
        assert_same(both[1], both[0], 0.0 if backend == "numpy" else 32.0, f"call {call}")


def test_a_result_that_keeps_its_gradient_is_refused() -> None:
    def run(x: Any) -> Any:
        y = x * 2
        y.retain_grad()
        y.sum().backward()
        return y

    compiled = torch.compile(run, backend="numpy")
    compiled(torch.ones(3, requires_grad=True))
    with pytest.raises(CompileError, match="retain_grad"):
        compiled(torch.ones(3, requires_grad=True))


@pytest.mark.filterwarnings("ignore:.*is not compiled")
def test_with_fallback_such_a_result_has_its_gradient_once() -> None:
    def run(x: Any) -> Any:
        y = x * 2
        y.retain_grad()
        return y

    compiled = torch.compile(run, backend="numpy", fallback=True)
    for _ in range(4):
        result = compiled(torch.ones(3, requires_grad=True))
        result.sum().backward()
        assert result.grad.tolist() == [1.0] * 3


def test_what_a_caller_changes_of_a_result_does_not_come_back() -> None:
    outside = {1, 2}

    def run(x: Any) -> Any:
        return x + 1, {1, 2}, np.zeros(2), outside

    compiled = torch.compile(run, backend="numpy")
    for _ in range(4):
        _, numbers, array, given = compiled(torch.ones(2))
        assert numbers == {1, 2}
        assert array.tolist() == [0.0, 0.0]
        assert given is outside
        numbers.add(3)
        array[0] = 5.0
