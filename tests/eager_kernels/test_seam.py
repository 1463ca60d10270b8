"""Where kernels are not to be had, NumPy computes; and none is loaded before it is needed."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tautograd as torch
import tautograd._kernels as made
from tautograd._arrays import kernels
from tests.eager_kernels.ways import numbers

_ALONE = """
import sys
{before}
import tautograd as torch
assert "llvmlite" not in sys.modules or sys.modules["llvmlite"] is None
assert "tautograd._kernels" not in sys.modules
from tautograd._arrays import kernels
x = torch.linspace(-3, 3, 5000)
y = torch.relu(x)
assert y[0] == 0 and y[-1] == 3
assert kernels.kernel("relu", x.numpy()) is None
"""


@pytest.mark.parametrize(
    ("before", "environment"),
    [("sys.modules['llvmlite'] = None", {}), ("", {"TAUT_KERNELS": "0"})],
)
def test_without_a_compiler(before, environment):
    command = [sys.executable, "-c", _ALONE.format(before=before)]
    subprocess.run(command, check=True, env={**os.environ, **environment})


def test_a_kernel_that_cannot_be_made(monkeypatch):
    def fails(*_):
        raise RuntimeError("LLVM says no")

    monkeypatch.setattr(made, "load", fails)
    with pytest.warns(UserWarning, match="no machine code for the kernel 'erf'.*LLVM says no"):
        assert made.make("erf", np.dtype(np.float32)) is None


def test_every_kernel_can_be_made():
    for name in made.TABLE:
        for dtype in (np.float32, np.float64):
            assert kernels.kernel_of(name, np.dtype(dtype)) is not None


def test_unaligned_and_read_only_arrays():
    room = np.zeros(4 * 3000 + 1, np.uint8)
    x = room[1:].view(np.float32)
    x[:] = numbers(3000, np.float32)
    found = kernels.elementwise("gelu", x)
    assert np.array_equal(found, kernels.elementwise("gelu", x.copy()))
    swapped = x.astype(">f4")
    assert kernels.elementwise("gelu", swapped) is None


def test_other_kinds_of_arrays_go_by():
    """Recorded, batched and lifted arrays: the same numbers, by the record's own text."""
    x = torch.from_numpy(numbers((40, 50), np.float64)).requires_grad_()

    def function(x):
        return torch.softmax(torch.nn.functional.gelu(x), -1).square().sum()

    first = torch.func.grad(function)(x.detach())
    (again,) = torch.autograd.grad(function(x), x, create_graph=True)
    mapped = torch.func.vmap(torch.func.grad(function))(torch.stack([x.detach(), 2 * x.detach()]))
    step = torch.compile(function)
    for _ in range(3):
        assert torch.allclose(step(x.detach()), function(x.detach()), rtol=1e-12)
    assert torch.allclose(first, again, rtol=1e-10, atol=1e-14)
    assert torch.allclose(first, mapped[0], rtol=1e-10, atol=1e-14)


_FORKED = """
import os
import tautograd as torch
x = torch.linspace(-3, 3, 200_000)
expected = torch.nn.functional.gelu(x)
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(torch.nn.functional.gelu(x), expected) else 1)
assert os.waitpid(child, 0)[1] == 0
"""


def test_in_a_child_process():
    """The pool's threads have stayed behind; fork warns of them, from Python 3.12 on."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", _FORKED], check=True)


@pytest.mark.parametrize("wrong", ["x", None, 1.5, 2**70, np.float32(1)])
def test_what_is_no_number_runs_no_kernel(wrong):
    """Nor does its error wait for whatever Python does next."""
    run = kernels.kernel_of("gelu", np.dtype(np.float32))
    x, out = numbers(3000, np.float32), np.zeros(3000, np.float32)
    for given in ((wrong, 0, x, out, 3000), (1, wrong, x, out, 3000), (1, 0, x, out, wrong)):
        with pytest.raises((TypeError, OverflowError)):
            run(*given)
        assert not out.any()
    assert run(np.int64(1), np.uint8(0), x, out, np.int64(3000)) == 0
    assert np.array_equal(out, torch.nn.functional.gelu(torch.from_numpy(x)).numpy())
