"""`nn.grad`: the gradients of convolutions by themselves; and `conv_tbc`."""

from __future__ import annotations

import itertools

import pytest
import torch.nn.grad  # noqa: F401  (PyTorch does not load it by itself)

import tautograd
from tests.both import same

# rank, input size, weight size, and the convolution's arguments
CASES = [
    (1, (2, 4, 7), (6, 4, 3), {}),
    (1, (2, 4, 7), (6, 2, 3), {"stride": 2, "padding": (1,), "dilation": 2, "groups": 2}),
    (2, (1, 2, 5, 6), (3, 2, 3, 2), {"padding": 1}),
    (2, (2, 4, 6, 5), (4, 1, 2, 3), {"stride": (2, 1), "padding": (0, 2), "groups": 4}),
    (2, (1, 1, 8, 8), (1, 1, 3, 3), {"stride": 3}),
    (2, (0, 2, 5, 5), (3, 2, 3, 3), {}),
    (3, (1, 2, 4, 3, 4), (2, 2, 2, 2, 2), {"stride": (1, 2, 1), "dilation": (2, 1, 1)}),
]


@pytest.mark.parametrize(("rank", "size", "kernel", "options"), CASES)
@same
def test_is_what_autograd_gives(torch, rank, size, kernel, options):
    x = torch.randn(size, dtype=torch.float64, requires_grad=True)
    w = torch.randn(kernel, dtype=torch.float64, requires_grad=True)
    out = getattr(torch.nn.functional, f"conv{rank}d")(x, w, **options)
    g = torch.randn_like(out, requires_grad=True)
    for_input = getattr(torch.nn.grad, f"conv{rank}d_input")(size, w, g, **options)
    for_weight = getattr(torch.nn.grad, f"conv{rank}d_weight")(x, kernel, g, **options)
    expected = torch.autograd.grad(out, (x, w), g, create_graph=True)
    assert torch.allclose(for_input, expected[0])
    assert torch.allclose(for_weight, expected[1])
    if not size[0]:  # PyTorch records nothing for an empty batch
        return [for_input.detach(), for_weight.detach()]
    loss = for_input.square().sum() + (for_weight**3).sum()
    return [for_input, for_weight, torch.autograd.grad(loss, (x, w, g), allow_unused=True)]


WRONG = [
    "conv2d_input((1, 2, 5, 5), r(3, 2, 3, 3), r(1, 3, 4, 4))",
    "conv2d_input((1, 2, 5), r(3, 2, 3, 3), r(1, 3, 4, 4))",
    "conv2d_weight(r(1, 2, 5, 5), (3, 2, 3, 3), r(1, 3, 4, 4))",
    "conv2d_input((1, 2, 5, 5), r(3, 2, 3, 3), r(1, 3, 3, 3), groups=2)",
    "conv2d_input((1, 2, 5, 5), r(3, 2, 3, 3), r(1, 3, 3, 3), stride=0)",
    "conv2d_input((1, 4, 5, 5), r(3, 2, 3, 3), r(1, 3, 3, 3))",
    "conv1d_input((2, 5), r(3, 2, 3), r(3, 3))",
    "conv2d_input((1, 2, 5, 5), r(3, 2, 3, 3).double(), r(1, 3, 3, 3))",
]


@pytest.mark.parametrize("call", WRONG)
@same
def test_wrong_sizes(torch, call):
    with pytest.raises(RuntimeError) as error:
        eval(f"torch.nn.grad.{call}", {"torch": torch, "r": torch.randn})
    return str(error.value)


def test_the_same_module_by_two_names():
    assert tautograd.nn.functional.grad is tautograd.nn.grad


@pytest.mark.parametrize("pad", [0, 1, 3])
@same
def test_conv_tbc(torch, pad):
    """Also second derivatives, and as a function of time-last data."""
    x, w, b = (
        torch.randn(*size, dtype=torch.float64, requires_grad=True)
        for size in ((5, 2, 3), (3, 3, 4), (4,))
    )
    out = torch.nn.functional.conv_tbc(x, w, b, pad)
    last = torch.nn.functional.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), b, padding=pad)
    assert torch.allclose(out, last.permute(2, 0, 1))
    grads = torch.autograd.grad(out.square().sum(), (x, w, b), create_graph=True)
    seconds = torch.autograd.grad(sum(g.square().sum() for g in grads), (x, w, b))
    return [out, out.stride(), out.grad_fn, grads, seconds, torch.conv_tbc(x, w, b)]


TBC_ERRORS = [
    "r(3, 2), r(2, 2, 3), r(3)",
    "r(3, 2, 4), r(2, 3), r(3)",
    "r(3, 2, 4), r(2, 4, 3), r(3, 1)",
    "r(3, 2, 4), r(2, 5, 3), r(3)",
    "r(3, 2, 4), r(2, 4, 3), r(4)",
    "r(3, 2, 4), r(2, 4, 3).double(), r(3)",
    "r(3, 2, 4), r(2, 4, 3)",
]


@pytest.mark.parametrize("given", TBC_ERRORS)
@same
def test_conv_tbc_refuses(torch, given):
    with pytest.raises((RuntimeError, TypeError)) as error:
        eval(f"torch.conv_tbc({given})", {"torch": torch, "r": torch.randn})
    return str(error.value).split("\n")[0]


@pytest.mark.parametrize("pad", [-1, 0, 1, 2])
@pytest.mark.parametrize("width", [0, 1, 2])
@same
def test_conv_tbc_of_nothing(torch, width, pad):
    found = []
    for time, batch, channels, out in itertools.product((0, 1, 2), (0, 1), (0, 2), (0, 2)):
        x = torch.ones(time, batch, channels, requires_grad=True)
        w = torch.ones(width, channels, out, requires_grad=True)
        try:
            result = torch.nn.functional.conv_tbc(x, w, torch.ones(out), pad)
            result.sum().backward()
            found += [result, x.grad, w.grad]
        except RuntimeError as error:
            found.append(str(error))
    return found
