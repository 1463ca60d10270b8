"""Kernels for convolutions: against float64, off by at most the roundings of a sum of as many terms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tautograd as torch
from tautograd._ops.nn.convolution import conv_kernels, direct
from tautograd._ops.nn.convolution.windows import steps
from tests.eager_kernels.ways import DTYPES, UNIT, is_within, numbers, using_kernels

# batch, channels, size, outputs, kernel, padding, dilation, groups, stride
CASES = [
    (2, 3, (9, 16), 4, (3, 3), (1, 1), (1, 1), 1, (1, 1)),
    (3, 4, (9, 7), 8, (3, 2), (0, 1), (2, 1), 2, (1, 1)),
    (2, 6, (20, 11), 6, (3, 3), (1, 1), (1, 1), 6, (1, 1)),
    (2, 6, (12, 12), 12, (3, 3), (2, 2), (1, 1), 6, (1, 1)),
    (2, 3, (200,), 7, (5,), (2,), (1,), 1, (1,)),
    (5, 13, (8, 33), 19, (2, 7), (1, 3), (1, 1), 1, (1, 1)),
    (1, 2, (16, 16), 2, (4, 4), (3, 3), (1, 1), 1, (1, 1)),
    (7, 1, (28, 1), 3, (3, 1), (1, 0), (2, 1), 1, (1, 1)),
    (2, 2, (40, 40), 1, (1, 3), (0, 4), (1, 3), 1, (1, 1)),
    (
        2,
        2,
        (10, 10),
        3,
        (3, 3),
        (4, 3),
        (1, 1),
        1,
        (1, 1),
    ),  # padded by more than the kernel reaches
    (
        1,
        4,
        (90, 100),
        10,
        (3, 3),
        (1, 1),
        (1, 1),
        2,
        (1, 1),
    ),  # more positions than are summed over at once
    (2, 5, (17, 18), 9, (3, 3), (1, 1), (1, 1), 1, (2, 2)),
    (3, 3, (30, 31), 16, (7, 7), (3, 3), (1, 1), 1, (2, 2)),
    (
        2,
        4,
        (15, 40),
        6,
        (3, 5),
        (0, 2),
        (2, 3),
        2,
        (1, 3),
    ),  # a step that a dilation is a multiple of
    (2, 4, (21, 20), 4, (3, 3), (2, 0), (2, 2), 4, (2, 2)),  # phases that no place reaches
    (2, 2, (130,), 3, (16,), (5,), (1,), 1, (7,)),
    (1, 2, (12, 13), 3, (4, 1), (1, 0), (1, 1), 1, (3, 5)),  # elements that no window sees
    (2, 2, (9, 9), 3, (3, 3), (4, 4), (1, 1), 1, (2, 2)),  # windows of padding alone
]


def _by_kernel(call):
    """What a function of `direct` gives, which must apply."""
    found = call()
    assert found is not None
    return found


@pytest.mark.parametrize("at_once", [1, 300, 1 << 17])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_against_float64(case, dtype, at_once, monkeypatch):
    monkeypatch.setattr(direct, "_WORTH_IT", 0)
    monkeypatch.setattr(direct, "_AT_ONCE", at_once)
    batch, channels, size, outputs, kernel, padding, dilation, groups, stride = case
    x, w = (
        numbers((batch, channels, *size), dtype),
        numbers((outputs, channels // groups, *kernel), dtype, 1),
    )
    b = numbers(outputs, dtype, 2)
    count = steps(size, kernel, stride, padding, dilation)
    g = numbers((batch, outputs, *count), dtype, 3)
    rest = stride, padding, dilation, groups
    unit = UNIT[np.dtype(dtype)]

    def check(found, reference, terms, *arrays):
        """|error| ≤ γ Σ|products|, γ = (n + 2)u for n terms in any order; the reference has such an error too."""
        wide = [a.astype(np.float64) for a in arrays]
        with using_kernels(False):
            expected, sizes = reference(*wide), reference(*(np.abs(a) for a in wide))
        own = 0.0 if dtype is np.float32 else UNIT[np.dtype(np.float64)]
        assert found.shape == expected.shape
        assert is_within(found, expected, (terms + 2) * (unit + own) * sizes)

    inner = channels // groups * math.prod(kernel)
    found = _by_kernel(lambda: direct.convolved(x, w, b, count, *rest))
    check(found, lambda x, w, b: conv_kernels.convolved(x, w, b, count, *rest), inner + 1, x, w, b)
    found = _by_kernel(lambda: direct.spread_back(g, w, size, *rest))
    outer = outputs // groups * math.prod(kernel)
    check(found, lambda g, w: conv_kernels.spread_back(g, w, size, *rest), outer, g, w)
    found = _by_kernel(lambda: direct.correlated(x, g, kernel, *rest))
    terms = batch * math.prod(count)
    check(found, lambda x, g: conv_kernels.correlated(x, g, kernel, *rest), terms, x, g)


@pytest.mark.parametrize("stride", [1, 2])
def test_nan_and_infinity_stay_where_they_are(stride):
    """What is computed beside the outputs, and thrown away, does not touch them."""
    x, w = numbers((2, 4, 12, 13), np.float32), numbers((8, 4, 3, 3), np.float32, 1)
    x[0, 1, 5, 12], x[1, 2, 0, 0], x[1, 3, 11, 12] = np.nan, np.inf, -np.inf
    seen = []
    for on in (True, False):
        with using_kernels(on):
            y = torch.conv2d(torch.from_numpy(x), torch.from_numpy(w), stride=stride, padding=1)
            seen.append(y.numpy())
    assert np.array_equal(np.isnan(seen[0]), np.isnan(seen[1]))
    assert np.array_equal(np.isinf(seen[0]), np.isinf(seen[1]))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("where", [(0, 0), (11, 12), (5, 0), (0, 12)])
def test_an_infinite_number_reaches_only_its_own_weights(value, where):
    """At the border of an image some places of the kernel never meet it."""
    x, g = numbers((2, 3, 12, 13), np.float32), numbers((2, 4, 12, 13), np.float32, 1)
    x[1, 1, *where] = value
    seen = []
    for on in (True, False):
        with using_kernels(on):
            seen.append(conv_kernels.correlated(x, g, (3, 3), (1, 1), (1, 1), (1, 1), 1))
    assert np.array_equal(np.isfinite(seen[0]), np.isfinite(seen[1]))
    assert np.isfinite(seen[0][:, 0]).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_threads(threads):
    x, w = (
        torch.from_numpy(numbers((5, 4, 30, 30), np.float32)),
        numbers((8, 4, 3, 3), np.float32, 1),
    )
    before = torch.get_num_threads()
    expected = torch.conv2d(x, torch.from_numpy(w)).numpy()
    try:
        torch.set_num_threads(threads)
        assert np.array_equal(torch.conv2d(x, torch.from_numpy(w)).numpy(), expected)
    finally:
        torch.set_num_threads(before)


def test_other_ways_agree():
    """Channels last, steps of two and empty batches."""
    x, w = (
        torch.from_numpy(numbers((3, 4, 12, 12), np.float32)),
        torch.from_numpy(numbers((8, 4, 3, 3), np.float32)),
    )
    dense = torch.conv2d(x, w, padding=1)
    last = torch.conv2d(x.contiguous(memory_format=torch.channels_last), w, padding=1)
    assert torch.allclose(dense, last, atol=1e-5)
    assert torch.allclose(dense[..., ::2, ::2], torch.conv2d(x, w, stride=2, padding=1), atol=1e-5)
    assert torch.conv2d(x[:0], w).shape == (0, 8, 10, 10)
