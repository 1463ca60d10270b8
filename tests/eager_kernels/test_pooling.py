"""The kernel for a max pool's gradient: to the last bit NumPy's way, where a window's share is added once."""

from __future__ import annotations

import numpy as np
import pytest

import tautograd as torch
from tests.eager_kernels.ways import DTYPES, UNIT, is_within, numbers, using_kernels

F = torch.nn.functional
# kernel, stride, padding, dilation, ceil_mode
WINDOWS = [
    (2, 2, 0, 1, False),
    ((3, 2), (2, 3), 1, 1, True),
    (3, 1, 1, 1, False),
    (3, 2, 1, 2, False),
    ((1, 4), 4, 0, 1, True),
    (2, 2, 0, 1, True),
    (3, 2, 1, 1, False),
    ((2, 5), (1, 2), (1, 2), 1, False),
    ((3, 3), (2, 1), (1, 1), (1, 3), True),
    (5, 2, 2, 2, True),
]
SIZES = [(14, 15), (13, 70), (5, 33)]  # several vectors of windows, one, and part of one


def _both(values, window):
    x = torch.from_numpy(values.copy()).requires_grad_()
    out = F.max_pool2d(x, *window)
    out.backward(torch.from_numpy(numbers(out.shape, values.dtype, 1)))
    return out.detach().numpy(), x.grad.numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_both_ways(window, size, dtype):
    """Ties, NaN and infinities; sums of at most 25 shares in another order differ by 25u of their sizes."""
    x = np.round(numbers((2, 3, *size), dtype) * 2)  # many ties
    x[0, 0, 3, 4], x[0, 0, 3, 5], x[1, 2, :4, :4], x[1, 1, 0, 0] = np.nan, np.nan, -np.inf, np.inf
    pooled, found = _both(x, window)
    with using_kernels(False):
        as_numpy, expected = _both(x, window)
    assert np.array_equal(pooled, as_numpy, equal_nan=True)
    assert is_within(found, expected, 25 * 25 * 4 * UNIT[np.dtype(dtype)])
    assert np.array_equal(found != 0, expected != 0)


def test_one_dimension_and_other_layouts():
    x = numbers((4, 6, 60), np.float32)
    seen = []
    for on in (True, False):
        with using_kernels(on):
            y = torch.from_numpy(x.copy()).requires_grad_()
            F.max_pool1d(y, 3).square().sum().backward()
            z = torch.from_numpy(x.copy()).reshape(4, 6, 6, 10).transpose(2, 3).requires_grad_()
            F.max_pool2d(z, 2).square().sum().backward()
            seen.append((y.grad.numpy(), z.grad.numpy()))
    for found, other in zip(*seen, strict=True):
        assert np.array_equal(found, other)
