"""Convolutions of many small images in one product: what the way for all other images gives."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tautograd as torch
from tautograd._ops.nn.convolution import conv_kernels, small_images
from tautograd._ops.nn.convolution.windows import steps
from tests.eager_kernels.ways import UNIT, is_within, numbers

# batch, channels, size, outputs, kernel, stride, padding, dilation, groups
CASES = [
    (9, 3, (2, 2), 4, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    (9, 3, (1, 1), 4, (3, 3), (1, 1), (1, 1), (1, 1), 1),  # only the middle place meets the image
    (8, 4, (5, 4), 6, (3, 2), (2, 1), (1, 0), (1, 2), 2),
    (8, 6, (4, 4), 6, (3, 3), (1, 1), (1, 1), (1, 1), 6),
    (10, 3, (4, 6), 5, (1, 1), (2, 3), (0, 0), (1, 1), 1),  # elements that no window meets
    (10, 3, (4, 3), 5, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    (8, 2, (3,), 5, (3,), (1,), (1,), (2,), 1),  # the first place that counts lies inside
    (8, 2, (1, 2), 3, (5, 5), (1, 1), (4, 3), (1, 1), 1),  # padded by more than the image is long
    (8, 2, (2, 2, 3), 3, (2, 2, 3), (1, 1, 2), (1, 0, 1), (1, 1, 1), 1),
    (8, 2, (2, 2), 3, (1, 1), (1, 1), (2, 2), (1, 1), 1),  # padded although the kernel is a point
]


@pytest.mark.parametrize("images_at_once", [1000, 3])
@pytest.mark.parametrize("case", CASES)
def test_all_three_sides(case, images_at_once, monkeypatch):
    batch, channels, size, outputs, kernel, stride, padding, dilation, groups = case
    count = steps(size, kernel, stride, padding, dilation)
    monkeypatch.setattr(small_images, "_FEWEST_COLUMNS", images_at_once * math.prod(count))
    monkeypatch.setattr(small_images, "_BUFFER", 0)
    x = numbers((batch, channels, *size), np.float64)
    w = numbers((outputs, channels // groups, *kernel), np.float64, 1)
    b = numbers(outputs, np.float64, 2)
    g = numbers((batch, outputs, *count), np.float64, 3)
    rest = stride, padding, dilation, groups

    def check(name, terms, *arguments):
        """|error| ≤ γ Σ|products| with γ = (n + 2)u for n terms in any order, on both sides."""
        found = getattr(small_images, name)(*arguments)
        with monkeypatch.context() as other_way:
            other_way.setattr(small_images, "apply", lambda *given: False)
            expected = getattr(conv_kernels, name)(*arguments)
            positive = [np.abs(a) if isinstance(a, np.ndarray) else a for a in arguments]
            sizes = getattr(conv_kernels, name)(*positive)
        assert found.shape == expected.shape
        assert is_within(found, expected, 2 * (terms + 2) * UNIT[np.dtype(np.float64)] * sizes)

    places = math.prod(kernel)
    check("convolved", channels // groups * places + 1, x, w, b, count, *rest)
    check("spread_back", outputs // groups * places, g, w, size, *rest)
    check("correlated", batch * math.prod(count), x, g, kernel, *rest)


def test_it_is_the_way_of_deep_layers(monkeypatch):
    """Of one pixel under three by three, only the middle of the kernel has a gradient."""
    names = []
    for name in ("convolved", "spread_back", "correlated"):
        real = getattr(small_images, name)
        monkeypatch.setattr(
            small_images, name, lambda *given, n=name, f=real: (names.append(n), f(*given))[1]
        )
    x, w = torch.randn(16, 64, 1, 1, requires_grad=True), torch.randn(64, 64, 3, 3)
    w.requires_grad_()
    torch.nn.functional.conv2d(x, w, padding=1).square().sum().backward()
    assert names == ["convolved", "spread_back", "correlated"]
    assert w.grad[:, :, 1, 1].all()
    w.grad[:, :, 1, 1] = 0
    assert not w.grad.any()
