"""Kernels for softmax and norms: against float64, also for rows of a million numbers far from zero."""

from __future__ import annotations

import numpy as np
import pytest

import tautograd as torch
from tests.eager_kernels.ways import DTYPES, UNIT, is_within, numbers, using_kernels

F = torch.nn.functional
SHAPES = [(5, 300), (300, 5), (64, 16), (1, 2000), (2000, 1), (3, 7, 65)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(shape, dtype):
    """e^d is off by 4u and d = x - max by u|d|; their sum by as much, and the quotient by u."""
    x = numbers(shape, dtype, scale=4.0)
    wide = x.astype(np.float64)
    off = wide - wide.max(-1, keepdims=True)
    shares = np.exp(off) / np.exp(off).sum(-1, keepdims=True)
    unit = UNIT[np.dtype(dtype)] + UNIT[np.dtype(np.float64)] * shape[-1]
    most = np.abs(off).max()
    found = torch.softmax(torch.from_numpy(x), -1).numpy()
    assert is_within(found, shares, (10 + 2 * most) * unit * shares)
    logs = off - np.log(np.exp(off).sum(-1, keepdims=True))
    found = torch.log_softmax(torch.from_numpy(x), -1).numpy()
    assert is_within(found, logs, (8 + 2 * most) * unit * (1 + np.abs(logs)))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_what_is_not_finite(name):
    x = numbers((20, 100), np.float32)
    x[0, 3], x[1, 4], x[2, 5], x[3] = np.nan, np.inf, -np.inf, -np.inf
    x[4, :50], x[5] = -np.inf, 3e38
    seen = []
    for on in (True, False):
        with using_kernels(on):
            y = torch.from_numpy(x.copy()).requires_grad_()
            out = getattr(torch, name)(y, -1)
            out[:, ::3].sum().backward()
            seen.append((out.detach().numpy(), y.grad.numpy()))
    for found, other in zip(*seen, strict=True):
        assert np.array_equal(np.isnan(found), np.isnan(other))
        assert np.array_equal(np.isinf(found), np.isinf(other))


def _both_ways(run):
    with using_kernels(False):
        expected = run(torch.float64)
    return run(torch.float32), expected


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_layer_norm(shape, affine):
    """Values are off by a few roundings; gradients by those of sums of as many terms as they have, all of order 1."""

    def run(dtype):
        x = torch.from_numpy(numbers(shape, np.float32)).to(dtype).requires_grad_()
        w, b = (
            torch.from_numpy(numbers(shape[-1], np.float32, s)).to(dtype).requires_grad_()
            for s in (1, 2)
        )
        out = F.layer_norm(x, shape[-1:], w if affine else None, b if affine else None, 0.1)
        g = torch.from_numpy(numbers(shape, np.float32, 3)).to(dtype)
        out.backward(g)
        return [t.detach().numpy() for t in (out, x.grad, *((w.grad, b.grad) if affine else ()))]

    for found, expected in zip(*_both_ways(run), strict=True):
        scale = np.abs(expected).max() + 1
        assert is_within(found, expected, 32 * 2.0**-24 * scale)


@pytest.mark.parametrize("shape", [(4, 3, 9, 11), (2, 5, 200), (6, 2, 8, 8, 8), (1, 3, 40, 40)])
def test_batch_norm(shape):
    def run(dtype):
        x = (torch.from_numpy(numbers(shape, np.float32)) + 3).to(dtype).requires_grad_()
        norm = torch.nn.BatchNorm2d(shape[1])
        norm._check_input_dim = lambda x: None
        norm.to(dtype)
        with torch.no_grad():
            norm.weight.copy_(torch.linspace(0.5, 2, shape[1]))
        out = norm(x)
        out.backward(torch.from_numpy(numbers(shape, np.float32, 3)).to(dtype))
        seen = (out, x.grad, norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var)
        return [t.detach().numpy() for t in seen]

    for found, expected in zip(*_both_ways(run), strict=True):
        scale = np.abs(expected).max() + 4  # what the mean is taken from
        assert is_within(found, expected, 32 * 2.0**-24 * scale)


@pytest.mark.parametrize("length", [1000, 1_000_003])
@pytest.mark.parametrize("middle", [0.0, 100.0])
def test_long_rows_stay_accurate(length, middle):
    """1e-5 for layer, group and batch norm; a mean of 100 costs the inputs themselves nothing here."""
    x = numbers((2, length), np.float32) + np.float32(middle)
    wide = x.astype(np.float64)
    off = wide - wide.mean(-1, keepdims=True)
    expected = off / np.sqrt((off * off).mean(-1, keepdims=True) + 1e-5)
    t = torch.from_numpy(x)
    assert is_within(F.layer_norm(t, (length,)).numpy(), expected, 1e-5)
    assert is_within(F.group_norm(t[None], 2).numpy()[0], expected, 1e-5)
    assert is_within(F.batch_norm(t[None], None, None, training=True).numpy()[0], expected, 1e-5)
