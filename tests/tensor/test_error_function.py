"""Large float32 arrays have an error function of their own: as accurate as a rounded exact one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import tautograd
from tautograd._arrays import error_function
from tests.both import same


@pytest.mark.parametrize("count", [1024, 40_000, 200_001])
def test_off_by_little_more_than_rounding(count):
    x = np.linspace(-6, 6, count, dtype=np.float32)
    assert error_function.can_erf(x)
    exact = scipy.special.erf(x.astype(np.float64))
    found = tautograd.erf(tautograd.from_numpy(x)).numpy()
    units = np.spacing(np.abs(exact).astype(np.float32))
    assert np.max(np.abs(found - exact) / units) < 0.54


def test_special_values():
    x = np.zeros(2048, np.float32)
    x[:7] = [np.inf, -np.inf, np.nan, -0.0, 1e-40, 5.0, -5.0]
    found = error_function.erf(x)
    np.testing.assert_array_equal(found[:7], scipy.special.erf(x[:7]))
    assert np.signbit(found[3])


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@same
def test_gelu_of_many(torch, approximate):
    x = torch.linspace(-8, 8, 70_000, requires_grad=True)
    out = torch.nn.functional.gelu(x, approximate=approximate)
    out.sum().backward()
    return [out, x.grad]
