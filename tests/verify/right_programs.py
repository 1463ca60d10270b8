"""Programs with right gradients that are easy to accuse: kinks, cancellation, saturation, state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.verify.programs import function, leaf

Program = Callable[[Any], tuple[Callable[[], Any], dict[str, Any]]]

RIGHT: dict[str, Program] = {}


def program(fn: Program) -> Program:
    RIGHT[fn.__name__] = fn
    return fn


def doubles(torch: Any, *values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


@program
def network(torch):
    torch.manual_seed(0)
    nn = torch.nn
    net = nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3)
    )
    x, y = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
    return lambda: nn.functional.cross_entropy(net(x), y), dict(net.named_parameters())


@program
def relu_of_zeros(torch):
    x = doubles(torch, 0, 0, 0, -1, 2, 0)
    return lambda: torch.relu(torch.relu(x) - 0.5 * x.abs()), {"x": x}


@program
def ties_in_max(torch):
    x = doubles(torch, 1, 1, 1, 0)
    return lambda: x.max() + x.amax() + x.sort().values.sum(), {"x": x}


@program
def clamp_at_its_bounds(torch):
    x = doubles(torch, -1, 0, 1, 2)
    return lambda: x.clamp(-1, 1) * 3, {"x": x}


@program
def many_zeros(torch):
    torch.manual_seed(0)
    x = (torch.randn(3000, dtype=torch.float64).clamp(min=0)).requires_grad_()
    return lambda: torch.relu(x).sum(), {"x": x}


@program
def stable_softmax(torch):
    x = leaf(torch, 3, 4)

    def run():
        shifted = x - x.detach().max(1, keepdim=True).values
        e = shifted.exp()
        return e / e.sum(1, keepdim=True)

    return run, {"x": x}


@program
def printed_loss(torch):
    x = leaf(torch, 4)
    seen = []

    def run():
        loss = (x * x).sum()
        seen.append(loss.item())
        seen.append(x.detach().numpy().copy())
        with torch.no_grad():
            seen.append((x * 2).sum())
        return loss

    return run, {"x": x}


@program
def running_statistics(torch):
    x = leaf(torch, 5, 3)
    norm = torch.nn.BatchNorm1d(3).double()
    mean = torch.zeros(3, dtype=torch.float64)

    def run():
        with torch.no_grad():
            mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return norm(x)

    return run, {"x": x, **dict(norm.named_parameters())}


@program
def saturated(torch):
    x = doubles(torch, 40, -40, 800, 0)
    return lambda: x.sigmoid() + x.tanh() + torch.nn.functional.softplus(x), {"x": x}


@program
def saturated_in_float32(torch):
    x = torch.tensor([[30.0, 0.0, -5.0]], requires_grad=True)
    y = torch.tensor([0])
    return lambda: torch.nn.functional.cross_entropy(x, y), {"x": x}


@program
def large_and_tiny(torch):
    x = doubles(torch, 1e-12, 1e12, 1.0, -1e6)
    return lambda: x * x + x.exp2().clamp(max=1e3), {"x": x}


@program
def near_the_edge_of_its_domain(torch):
    x = doubles(torch, 1e-9, 1e-3, 1.0)
    return lambda: x.log() + x.sqrt(), {"x": x}


@program
def ill_conditioned(torch):
    n = 6
    a = torch.tensor(
        [[1.0 / (i + j + 1) for j in range(n)] for i in range(n)],
        dtype=torch.float64,
        requires_grad=True,
    )
    b = leaf(torch, n, 1)
    return lambda: torch.linalg.solve(a, b), {"a": a, "b": b}


@program
def high_curvature(torch):
    x = leaf(torch, 4)
    return lambda: (300 * x).sin() + (x * 40).cos().exp(), {"x": x}


@program
def complex_numbers(torch):
    x = leaf(torch, 3, dtype="complex128")
    return lambda: (x * x.conj()).real + (x.exp() / (2 + x)).abs(), {"x": x}


@program
def in_half_precision(torch):
    x, w = leaf(torch, 4, 8, dtype="bfloat16"), leaf(torch, 8, 3, dtype="bfloat16", seed=2)
    return lambda: torch.softmax(x @ w, 1), {"x": x, "w": w}


@program
def in_float16(torch):
    x = leaf(torch, 10, dtype="float16")
    return lambda: (x * 2).tanh().exp().mean(), {"x": x}


@program
def under_autocast(torch):
    x, w = leaf(torch, 4, 8, dtype="float32"), leaf(torch, 8, 3, dtype="float32", seed=2)

    def run():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = x @ w
        return h.float().tanh().sum()

    return run, {"x": x, "w": w}


@program
def writes_and_views(torch):
    x = leaf(torch, 3, 4)

    def run():
        y = x.clone()
        y[0] *= 2
        y[1:].add_(y[:-1].clone())
        z = y.view(-1)
        z[::2].sin_()
        y.t()[0].mul_(3)
        return y.sum(0).cumsum(0)

    return run, {"x": x}


@program
def out_argument(torch):
    x = leaf(torch, 3)

    def run():
        with torch.no_grad():
            held = torch.empty(3, dtype=torch.float64)
            torch.mul(torch.ones(3, dtype=torch.float64), 2.0, out=held)
        return held * x

    return run, {"x": x}


@program
def checkpointed(torch):
    from importlib import import_module

    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    x = leaf(torch, 4)
    part = lambda h: torch.nn.functional.dropout((h * 2).sin(), 0.5)  # noqa: E731

    def run():
        a = checkpoint(part, x, use_reentrant=False)
        return a + checkpoint(part, x, use_reentrant=True)

    return run, {"x": x}


@program
def parametrized(torch):
    from importlib import import_module

    parametrize = import_module(f"{torch.__name__}.nn.utils.parametrize")

    class Symmetric(torch.nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).t()

    torch.manual_seed(0)
    net = torch.nn.Linear(3, 3).double()
    parametrize.register_parametrization(net, "weight", Symmetric())
    x = torch.randn(2, 3, dtype=torch.float64)
    return lambda: net(x), dict(net.named_parameters())


@program
def right_function_with_state(torch):
    x = leaf(torch, 3)
    calls = []

    def forward(x):
        calls.append(1)
        return x.sin()

    f = function(torch, "Sine", forward, lambda g, x: g * x.cos())
    return lambda: f.apply(x) + len(calls) * 0, {"x": x}


@program
def recurrent(torch):
    torch.manual_seed(0)
    net = torch.nn.LSTM(3, 4)
    x = torch.randn(5, 2, 3)
    return lambda: net(x)[0], dict(net.named_parameters())


@program
def attention(torch):
    torch.manual_seed(0)
    net = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    x = torch.randn(2, 3, 4, requires_grad=True)
    return lambda: net(x, x, x)[0], {"x": x, **dict(net.named_parameters())}


@program
def convolution(torch):
    torch.manual_seed(0)
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2))
    x = torch.randn(2, 1, 6, 6)
    return lambda: net(x), dict(net.named_parameters())


@program
def embedding_and_index(torch):
    torch.manual_seed(0)
    net = torch.nn.Embedding(5, 3)
    rows = torch.tensor([0, 1, 1, 4])
    return lambda: (net(rows) * net.weight[2]).sum(1)[rows % 2], dict(net.named_parameters())


@program
def gradient_penalty(torch):
    x = leaf(torch, 4)

    def run():
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return (g * g).sum() + y

    return run, {"x": x}


@program
def not_finite_inputs(torch):
    x = doubles(torch, float("inf"), float("nan"), 1.0, 2.0)
    return lambda: x * 2 + x.clamp(max=3), {"x": x}


@program
def hook_that_only_looks(torch):
    x = leaf(torch, 3)
    seen = []

    def run():
        y = x * 2
        y.register_hook(seen.append)
        return y.exp()

    return run, {"x": x}
