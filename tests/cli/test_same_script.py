"""A script written for PyTorch prints the same text under `taut run --as-torch`."""

from __future__ import annotations

import importlib.util
import re

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)

SCRIPTS = {
    "names that libraries import": """
        import warnings

        warnings.simplefilter("ignore")
        import torch
        from functorch import make_functional, vmap
        from torch.autograd.functional import _as_tuple, _grad_postprocess
        from torch.distributed._tensor import Shard
        from torch.distributed._tensor.device_mesh import init_device_mesh
        from torch.fx import replace_pattern, symbolic_trace
        from torch.optim.lbfgs import _strong_wolfe

        torch.manual_seed(0)
        f, params = make_functional(torch.nn.Linear(2, 1))
        print(f(params, torch.ones(2)), vmap(torch.sin)(torch.arange(3.0)))
        print(Shard(0), callable(init_device_mesh), callable(_strong_wolfe))
        traced = symbolic_trace(lambda x: torch.relu(x) + torch.relu(-x))
        replace_pattern(traced, lambda y: torch.relu(y), lambda y: y.abs() / 2)
        print(traced.code)
        print(_grad_postprocess(_as_tuple(torch.ones(1)), create_graph=False))
    """,
    "gradient descent": """
        import torch
        from torch import autograd

        torch.manual_seed(0)
        inputs = torch.randn(64, 3)
        targets = inputs @ torch.tensor([1.0, -2.0, 0.5]) + 0.1 * torch.randn(64)
        weights = torch.zeros(3, requires_grad=True)
        for step in range(20):
            loss = ((inputs @ weights - targets) ** 2).mean()
            (gradient,) = autograd.grad(loss, weights)
            with torch.no_grad():
                weights -= 0.1 * gradient
            if step % 5 == 0:
                print(f"{step:3d} {loss.item():.5f}")
        print(weights)
    """,
    "the graph": """
        import torch

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x.exp() * x).sum()
        print(x, y, y.grad_fn, [type(n).__name__ for n, _ in y.grad_fn.next_functions])
        y.backward()
        print(x.grad)
        try:
            y.backward()
        except RuntimeError as error:
            print(str(error)[:55])
    """,
    "a function of one's own": """
        import torch
        from torch.autograd import Function, gradcheck

        class Clip(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clamp(-1, 1)

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * (x.abs() < 1)

        x = torch.tensor([-2.0, 0.3, 0.9, 4.0], dtype=torch.float64, requires_grad=True)
        print(Clip.apply(x), gradcheck(Clip.apply, x))
    """,
    "printing": """
        import torch

        print(torch.arange(12.0).reshape(3, 4) / 7)
        print(torch.tensor([1e-8, 1.0, 1e8]), torch.tensor([True, False]), torch.empty(0, 3))
        print(torch.ones(2, dtype=torch.float16), torch.tensor([1 + 2j]), torch.zeros(2000))
        print(torch.float32, torch.Size([2, 3]), torch.device("cpu"))
    """,
}


@pytest.mark.parametrize("what", SCRIPTS)
def test_it_prints_the_same(workshop, what):
    workshop.write("script.py", SCRIPTS[what])
    expected = workshop.program("script.py")
    got = workshop.taut("run", "--as-torch", "script.py")
    assert expected.returncode == 0, expected.stderr
    assert (_unplaced(got.stdout), got.stderr) == (_unplaced(expected.stdout), expected.stderr)


def _unplaced(text: str) -> str:
    """Without the addresses of objects, which differ from run to run."""
    return re.sub(r"0x[0-9a-f]+", "0x…", text)


def test_a_name_the_engine_lacks_is_named(workshop):
    workshop.write("script.py", "import torch\ntorch.tensr(1.0)\n")
    got = workshop.taut("run", "--as-torch", "script.py")
    assert got.returncode == 1
    assert got.stderr.splitlines()[-1] == (
        "AttributeError: tautograd has no 'torch.tensr'; did you mean 'torch.tensor'?"
    )
