"""Optimizers' formulas as machine code: the bits that NumPy's functions give, for every optimizer."""

from __future__ import annotations

import numpy as np
import pytest

import tautograd as torch
from tautograd._arrays import kernels
from tautograd.optim import _program
from tests.eager_kernels.ways import using_kernels

OPTIMIZERS = {
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True}],
    "AdamW": [{}, {"amsgrad": True}],
    "SGD": [{}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, {"momentum": 0.5}],
    "RMSprop": [{}, {"centered": True, "momentum": 0.9}],
    "Adagrad": [{}],
    "Adadelta": [{}],
    "Adamax": [{}],
    "NAdam": [{}],
    "RAdam": [{}],
    "ASGD": [{}],
    "Rprop": [{}],
}
CASES = [(name, options) for name, each in OPTIMIZERS.items() for options in each]


def trained(name, options, dtype):
    """Parameters of several sizes after a few steps, with zeros, NaN and infinities among the gradients."""
    rng = np.random.default_rng(0)
    shapes = [(3,), (), (41, 5), (80, 90), (130, 140)]
    parameters = [
        torch.nn.Parameter(torch.tensor(rng.standard_normal(s), dtype=dtype)) for s in shapes
    ]
    optimizer = getattr(torch.optim, name)(parameters, lr=0.05, **options)
    for _ in range(4):
        for p in parameters:
            gradient = np.asarray(rng.standard_normal(p.shape))
            if gradient.size > 100:
                gradient.flat[:6] = (0.0, -0.0, np.nan, np.inf, -np.inf, 1e-42)
            p.grad = torch.tensor(gradient, dtype=dtype)
        optimizer.step()
    return [p.detach().numpy().copy() for p in parameters]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64], ids=str)
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_the_same_bits(name, options, dtype, monkeypatch):
    if dtype.is_complex and name not in ("Adam", "SGD"):
        dtype = torch.float32
    monkeypatch.setattr(kernels, "WORTH_A_COMPILER", 0)
    found = []
    for on in (True, False):
        monkeypatch.setattr(_program, "_programs", {})
        with using_kernels(on):
            found.append(trained(name, options, dtype))
        used = [program._kernel for program in _program._programs.values()]
        assert used
        assert any(used) == on
    for fast, plain in zip(*found, strict=True):
        assert bits(fast) == bits(plain)


def bits(x):
    """Those of all numbers; one NaN is as good as another."""
    real = np.atleast_1d(x).view(x.real.dtype)
    return np.where(np.isnan(real), real.dtype.type(np.nan), real).tobytes()


def test_a_small_program_does_not_load_the_compiler_at_once(monkeypatch):
    monkeypatch.setattr(kernels, "_found", {})
    monkeypatch.setattr(_program, "_programs", {})
    p = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([p], lr=0.1)
    p.grad = torch.ones(3)
    optimizer.step()
    assert [program._kernel for program in _program._programs.values()] == [False]


def test_memory_that_cannot_be_written_is_an_error():
    data = np.ones(20000, "float32")
    p = torch.nn.Parameter(torch.from_numpy(data))
    optimizer = torch.optim.SGD([p], lr=0.1)
    p.grad = torch.ones(20000)
    optimizer.step()
    p._data.flags.writeable = False
    with pytest.raises(ValueError, match=r"SGD\.step"):
        optimizer.step()
    p._data.flags.writeable = True
