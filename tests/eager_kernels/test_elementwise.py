"""Elementwise kernels: against float64 within a derived bound, and where NumPy's way gives NaN or infinity.

`u` is half the distance between neighbouring floats at 1. A function of `vector_math` is off by two units in the
last place, 4u of its value.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf

import tautograd as torch
from tautograd._arrays import kernels
from tests.eager_kernels.ways import DTYPES, UNIT, is_within, numbers, using_kernels, with_specials

F = torch.nn.functional


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _normal_share(x):
    return 0.5 * (1 + erf(x * 0.5**0.5))


def _cubic(x):
    return np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)


# function, the same in float64, and the bound in units of u from x and the result:
# the share of GELU is off by 4u of an erf that is at most 1, u from its argument, and roundings.
FUNCTIONS = {
    "relu": (torch.relu, lambda x: np.maximum(x, 0), lambda x, y: 0.0),
    "gelu": (F.gelu, lambda x: x * _normal_share(x), lambda x, y: 6 * np.abs(x) + 2 * np.abs(y)),
    "gelu_tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(_cubic(x))),
        # the argument is off by 6u of itself, and the slope of tanh times its argument is below 1/2
        lambda x, y: 8 * np.abs(x) + 4 * np.abs(y),
    ),
    "silu": (F.silu, lambda x: x * _sigmoid(x), lambda x, y: 6 * np.abs(y)),
    "sigmoid": (torch.sigmoid, _sigmoid, lambda x, y: 5 * np.abs(y)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, dtype):
    function, exact, bound = FUNCTIONS[name]
    x = with_specials(dtype)
    with np.errstate(all="ignore"):
        expected = exact(x.astype(np.float64))
        tiny = float(np.finfo(dtype).tiny)
        most = UNIT[np.dtype(dtype)] * bound(x.astype(np.float64), expected) + tiny
        if dtype is np.float64:  # the reference itself is off by as much
            most = 2 * most + 8 * UNIT[np.dtype(dtype)] * np.abs(x)
    found = function(torch.from_numpy(x)).numpy()
    assert is_within(found, expected, np.nan_to_num(most, posinf=0.0))
    with using_kernels(False):
        by_numpy = function(torch.from_numpy(x)).numpy()
    assert np.array_equal(np.isnan(found), np.isnan(by_numpy))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name, dtype):
    """The slope is below 1.2 everywhere; both ways differ by roundings of numbers below 2 + |x|."""
    function = FUNCTIONS[name][0]
    values, seen = numbers(2500, dtype, scale=2.0), []
    for on in (True, False):
        with using_kernels(on):
            x = torch.from_numpy(values.copy()).requires_grad_()
            g = torch.from_numpy(numbers(2500, dtype, seed=1))
            function(x).backward(g)
            seen.append(x.grad.numpy())
    bound = 24 * UNIT[np.dtype(dtype)] * np.abs(g.numpy()) * (2 + np.abs(values)) ** 2
    assert is_within(seen[0], seen[1], bound)


@pytest.mark.parametrize("size", [1024, 1025, 1039, 4096, 4097, 3 * 4096 + 5])
def test_an_element_does_not_depend_on_its_place(size):
    """The last elements, which fill no vector, and those of another thread's part have the same bits."""
    x = numbers(40_000, np.float32)
    whole = F.gelu(torch.from_numpy(x)).numpy()
    for start in (0, 1, 7):
        part = F.gelu(torch.from_numpy(x[start : start + size].copy())).numpy()
        assert np.array_equal(part, whole[start : start + size])


def test_layouts_and_sizes():
    """What does not lie in rows, has other dtypes or nothing in it goes the other way."""
    x = numbers((64, 48), np.float32)
    expected = np.maximum(x, 0)
    assert np.array_equal(torch.relu(torch.from_numpy(x).t()).numpy(), expected.T)
    assert np.array_equal(torch.relu(torch.from_numpy(x)[:, ::2]).numpy(), expected[:, ::2])
    assert torch.relu(torch.zeros(0, 5)).shape == (0, 5)
    assert torch.relu(torch.arange(-2000, 2000)).sum() == 1999 * 2000 // 2
    assert kernels.kernel("relu", x.astype(np.float16)) is None
    assert kernels.kernel("relu", x.T) is None
    assert kernels.kernel("relu", x, x.astype(np.float64)) is None
    assert kernels.kernel("relu", np.ma.array(x)) is None


def test_there_are_kernels():
    """Where llvmlite is installed, as here, the tests above test something."""
    assert kernels.kernel("gelu", numbers(3, np.float32)) is not None
    with using_kernels(False):
        assert kernels.kernel("gelu", numbers(3, np.float32)) is None
