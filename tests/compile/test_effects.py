"""What a step does besides its result: random numbers, gradients, buffers, versions, what it returns."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import tautograd as torch
from tautograd import nn
from tautograd.utils.checkpoint import checkpoint

from .compare import assert_same, bits, lockstep


def nothing() -> Any:
    return None


DRAWS: dict[str, Any] = {
    "rand": lambda x: torch.rand(3),
    "randn": lambda x: torch.randn(3, dtype=torch.float64) + x.double(),
    "randint": lambda x: torch.randint(0, 10, (4,)),
    "randperm": lambda x: torch.randperm(6),
    "bernoulli": lambda x: torch.bernoulli(torch.full((3,), 0.5)),
    "multinomial": lambda x: torch.multinomial(torch.ones(5), 3),
    "dropout": lambda x: nn.functional.dropout(x, 0.5),
    "rand_like": torch.rand_like,
    "normal": lambda x: torch.normal(x, 1.0),
    "in place": lambda x: torch.empty(4).uniform_() + torch.empty(3, 2).t().normal_().sum(),
    "initialisation": lambda x: nn.init.kaiming_uniform_(torch.empty(3, 3)),
    "a seed inside": lambda x: (torch.manual_seed(3), torch.randn(3))[1],
    "a fork": lambda x: _forked(x) + 0,
}


def _forked(x: Any) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        inside = torch.randn(3)
    return inside + torch.randn(3)


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_and_the_state_they_leave(name: str) -> None:
    x = torch.ones(3)
    draw = DRAWS[name]
    assert lockstep(lambda: (lambda: draw(x), nothing), 5).records == 1


def test_a_generator_of_its_own() -> None:
    def make() -> Any:
        generator = torch.Generator().manual_seed(5)
        return (lambda: torch.randn(3, generator=generator)), generator.get_state

    lockstep(make, 5)


def test_checkpointing_draws_the_same_numbers_again() -> None:
    def make() -> Any:
        model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Tanh())
        x = torch.ones(2, 3, requires_grad=True)

        def step() -> Any:
            model.zero_grad()
            checkpoint(model, x, use_reentrant=False).sum().backward()

        return step, lambda: [p.grad for p in model.parameters()]

    assert lockstep(make, 5).records == 1


def test_views_are_views_and_results_are_fresh() -> None:
    weight = torch.ones(3, 2)

    def run(x: Any) -> Any:
        made = x * 2
        return weight.t(), x.t(), x[0], made, made.view(-1), weight, x, x.detach()

    compiled = torch.compile(run, backend="numpy")
    for _ in range(4):
        x = torch.ones(3, 2)
        results = compiled(x)
        assert_same(bits(results), bits(run(x)))
    assert results[5] is weight
    assert results[6] is x
    results[0].mul_(3)
    results[1].add_(1)
    results[3].zero_()
    assert weight[0, 0] == 3
    assert results[4].sum() == 0
    assert x[0, 0] == 2 == results[2][0] == results[7][0, 0]
    assert x._version == results[2]._version == 1
    again = compiled(torch.ones(3, 2))
    assert again[3][0, 0] == 2
    assert results[3][0, 0] == 0


def test_a_view_of_a_weight_outlives_the_program() -> None:
    weight = torch.ones(300, 2)
    compiled = torch.compile(weight.t, backend="numpy")
    for _ in range(4):
        view = compiled()
    del compiled, weight
    gc.collect()
    assert view.sum() == 600


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_the_loss_that_is_returned(backend: str) -> None:
    """As eager's: it requires a gradient, and a second backward pass is an error."""
    weight = torch.ones(3, requires_grad=True)

    def step() -> Any:
        weight.grad = None
        loss = weight.square().sum()
        loss.backward()
        return loss

    compiled = torch.compile(step, backend=backend)
    for fn in (step, compiled, compiled, compiled):
        loss = fn()
        assert loss.requires_grad
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()


def test_a_graph_that_is_kept_inside_goes_backward_again() -> None:
    weight = torch.ones(3, requires_grad=True)

    def step() -> Any:
        weight.grad = None
        loss = weight.pow(3).sum()
        loss.backward(retain_graph=True)
        return loss

    compiled = torch.compile(step, backend="numpy")
    for fn in (step, compiled, compiled, compiled):
        fn().backward()
        assert weight.grad.tolist() == [6.0] * 3


def test_results_that_go_backward_outside() -> None:
    weight = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)

    def run(x: Any) -> Any:
        out = (x * weight).tanh()
        return out.sum(), out[0]

    compiled = torch.compile(run, backend="numpy")
    inputs = [torch.full((3,), float(n), requires_grad=True) for n in range(6)]
    for _ in range(3):
        losses = [compiled(x)[0] for x in inputs]  # all forward, then all backward, last one first
        for x, loss in reversed(list(zip(inputs, losses, strict=True))):
            found = torch.autograd.grad(loss, (x, weight), retain_graph=True)
            again = torch.autograd.grad(loss, (x, weight))
            expected = torch.autograd.grad(run(x)[0], (x, weight))
            assert_same(bits(found), bits(expected))
            assert_same(bits(again), bits(expected))
            with pytest.raises(RuntimeError, match="second time"):
                loss.backward()


def test_a_result_that_backward_needs() -> None:
    """`tanh` saves what it gives: a later call must not change it, nor may the caller."""
    compiled = torch.compile(lambda x: x.tanh(), backend="numpy")
    inputs = [torch.full((2,), n / 4, requires_grad=True) for n in range(5)]
    for _ in range(3):
        outs = [compiled(x) for x in inputs]
        for x, out in zip(inputs, outs, strict=True):
            (found,) = torch.autograd.grad(out, x, torch.ones(2))
            assert_same(bits(found), bits(torch.autograd.grad(x.tanh(), x, torch.ones(2))[0]))


def test_the_gradient_itself_as_a_result() -> None:
    weight = torch.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        weight.grad = None
        (weight * x).sum().backward()
        return weight.grad

    compiled = torch.compile(step, backend="numpy")
    for n in range(4):
        assert compiled(torch.full((3,), float(n))) is weight.grad
        assert weight.grad.tolist() == [float(n)] * 3


def test_what_was_changed_before_backward_is_noticed() -> None:
    weight = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x: (x * weight * weight).sum(), backend="numpy")
    for _ in range(3):
        loss = compiled(torch.ones(3))
    with torch.no_grad():
        weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_derivatives_of_any_order_and_transforms() -> None:
    def run(x: Any) -> Any:
        return x.pow(3).sum()

    compiled = torch.compile(run, backend="numpy")
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for _ in range(4):
        (first,) = torch.autograd.grad(compiled(x), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        assert second.tolist() == [6.0, 12.0, 18.0]
        for transform in (torch.func.grad, torch.func.hessian, torch.func.vmap):
            given = x.detach()[:, None] if transform is torch.func.vmap else x.detach()
            assert torch.equal(transform(compiled)(given), transform(run)(given))


def test_a_derivative_inside() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def run() -> Any:
        (slope,) = torch.autograd.grad(x.pow(3).sum(), x, create_graph=True)
        return slope.square().sum()

    compiled = torch.compile(run, backend="numpy")
    for _ in range(4):
        assert_same(bits(torch.autograd.grad(compiled(), x)), bits(torch.autograd.grad(run(), x)))


def test_a_custom_function_inside() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * g

    def make() -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)

        def step() -> Any:
            x.grad = None
            Cube.apply(x).sum().backward()

        return step, lambda: x.grad

    assert lockstep(make, 5).records == 1


def test_mixed_precision() -> None:
    def make() -> Any:
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.randn(5, 4)

        def step() -> Any:
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = model(x).float().square().mean()
            loss.backward()
            optimizer.step()
            return loss

        return step, lambda: [list(model.parameters()), [p.grad for p in model.parameters()]]

    # Mean of ten squares, in another order than its fused function takes.
    assert lockstep(make, 10, bound=10 * 10).records == 1


def test_a_gradient_scaler_looks_at_values() -> None:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")

    def step() -> Any:
        optimizer.zero_grad()
        scaler.scale(model(torch.ones(1, 2)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    compiled = torch.compile(step, backend="numpy")
    compiled()
    with pytest.raises(RuntimeError, match="cannot be recorded"):
        compiled()
