"""What hooks give in place of gradients and saved tensors has their form, or is refused: kernels go by it."""

from __future__ import annotations

from typing import Any

import pytest

import tautograd
from tests.both import same

CHANGES: dict[str, Any] = {
    "smaller": lambda torch, g: torch.ones(1, dtype=g.dtype),
    "larger": lambda torch, g: torch.ones(5, 5, dtype=g.dtype),
    "empty": lambda torch, g: torch.ones(0, 2, dtype=g.dtype),
    "wide": lambda torch, g: g.double(),
    "whole": lambda torch, g: g.int(),
    "a number": lambda torch, g: 3,
    "the same": lambda torch, g: g * 2,
}


def outcome(torch: Any, hang: Any) -> Any:
    """The gradient, or the error, where `hang` puts a hook on a node."""
    x = torch.full((2, 2), 0.5, requires_grad=True)
    y = (x * x).exp()
    hang(y)
    try:
        y.sum().backward()
    except (RuntimeError, TypeError) as error:
        return type(error).__name__, str(error)
    return x.grad


@pytest.mark.parametrize("change", CHANGES)
@same
def test_hooks_of_nodes(torch: Any, change: str) -> Any:
    def changed(grads: Any, *_: Any) -> Any:
        return tuple(CHANGES[change](torch, g) for g in grads)

    return [
        outcome(torch, lambda y: y.grad_fn.register_prehook(changed)),
        outcome(torch, lambda y: y.grad_fn.register_hook(changed)),
        outcome(torch, lambda y: y.register_hook(lambda g: CHANGES[change](torch, g))),
    ]


@pytest.mark.parametrize("given", ["more", "fewer", "a tensor", "a list", "none"])
@same
def test_as_many_as_came(torch: Any, given: str) -> Any:
    results = {
        "more": lambda grads: grads + grads,
        "fewer": lambda grads: (),
        "a tensor": lambda grads: grads[0],
        "a list": list,
        "none": lambda grads: None,
    }
    return [
        outcome(torch, lambda y: y.grad_fn.register_prehook(results[given])),
        outcome(torch, lambda y: y.grad_fn.register_hook(lambda grads, _: results[given](grads))),
    ]


@same
def test_hooks_of_accumulation(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    accumulate = y.grad_fn.next_functions[0][0]
    accumulate.register_prehook(lambda grads: (grads[0] * 3,))
    y.sum().backward(retain_graph=True)
    accumulate.register_prehook(lambda grads: (torch.ones(2),))
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        y.sum().backward()
    return x.grad


LAYERS: dict[str, Any] = {
    "linear": lambda F, p: F.linear(p(64, 96), p(128, 96)),
    "convolution": lambda F, p: F.conv2d(p(2, 3, 12, 12), p(4, 3, 3, 3)),
    "layer norm": lambda F, p: F.layer_norm(p(64, 256), (256,), p(256), p(256)),
    "gelu": lambda F, p: F.gelu(p(64, 500)),
    "softmax": lambda F, p: F.softmax(p(64, 500), -1),
    "pool": lambda F, p: F.max_pool2d(p(2, 3, 12, 12), 2),
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("times", [0.5, 2])
def test_saved_tensors_come_back_in_their_shape(layer: str, times: float) -> None:
    torch: Any = tautograd

    def unpacked(packed: Any) -> Any:
        return torch.ones([max(1, int(n * times)) for n in packed.shape], dtype=packed.dtype)

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpacked):
        out = LAYERS[layer](torch.nn.functional, lambda *s: torch.randn(s, requires_grad=True))
    with pytest.raises(RuntimeError, match="unpack_hook has another size"):
        out.sum().backward()


def test_a_single_saved_tensor_comes_back_in_its_shape() -> None:
    x: Any = tautograd.ones(3, requires_grad=True)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: tautograd.ones(5))
    with pytest.raises(RuntimeError, match="unpack_hook has another size"):
        y.sum().backward()


@pytest.mark.parametrize("place", [-1, 100, 1 << 40])
def test_indices_that_were_changed_without_a_trace(place: int) -> None:
    torch: Any = tautograd
    weight = torch.randn(100, 64, requires_grad=True)
    index = torch.zeros(64, 20, dtype=torch.int64)
    out = torch.nn.functional.embedding(index, weight)
    index.data[0, 0] = place  # no version counts it
    with pytest.raises(IndexError, match="index out of range"):
        out.sum().backward()
