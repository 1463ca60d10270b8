"""`GradScaler`: the state machine, its errors, and training loops in mixed precision."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from tests.both import same


def made(torch: Any, **options: Any) -> tuple[Any, Any, Any]:
    """A parameter, its optimizer and a scaler that soon grows."""
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    settings = {"init_scale": 8.0, "growth_interval": 2, **options}
    return weight, torch.optim.SGD([weight], lr=0.1), torch.amp.GradScaler("cpu", **settings)


def backward(torch: Any, weight: Any, scaler: Any, factor: float = 1.0) -> None:
    weight.grad = None
    scaler.scale((weight * factor).sum()).backward()


@same
def test_growth_and_backoff(torch: Any) -> Any:
    weight, optimizer, scaler = made(torch)
    seen = [scaler.get_scale(), scaler.state_dict()]
    for factor in (1.0, 1.0, float("inf"), 1.0, float("nan"), 1.0, 1.0, 1.0):
        backward(torch, weight, scaler, factor)
        seen.append(scaler.step(optimizer))
        scaler.update()
        seen += [weight.detach().clone(), scaler.get_scale(), scaler.state_dict()]
    return seen


@same
def test_a_scale_does_not_grow_past_the_largest_number(torch: Any) -> Any:
    weight, optimizer, scaler = made(torch, init_scale=2.0**127, growth_interval=1)
    weight.grad = torch.zeros(2)
    scaler.scale(torch.zeros(()))
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale()


@same
def test_unscaling_to_clip(torch: Any) -> Any:
    weight, optimizer, scaler = made(torch)
    backward(torch, weight, scaler, 5.0)
    seen = [weight.grad.clone()]
    scaler.unscale_(optimizer)
    seen.append(weight.grad.clone())
    seen.append(torch.nn.utils.clip_grad_norm_([weight], 1.0))
    with pytest.raises(
        RuntimeError, match=r"unscale_\(\) has already been called on this optimizer"
    ):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called since the last"):
        scaler.step(optimizer)
    scaler.update()
    return [*seen, weight]


@same
def test_several_losses_and_optimizers(torch: Any) -> Any:
    weight, optimizer, scaler = made(torch)
    other = torch.nn.Parameter(torch.ones(1))
    second = torch.optim.SGD([other], lr=0.1)
    one, rest = scaler.scale([weight.sum(), (other.sum(), other.prod())])
    (one + rest[0] + rest[1] * float("inf")).backward()
    for each in (optimizer, second):
        scaler.step(each)
    scaler.update()
    lazily = scaler.scale(iter([weight.sum()]))
    return weight, other, scaler.get_scale(), [x.item() for x in lazily], type(rest)


@same
def test_a_new_scale(torch: Any) -> Any:
    weight, optimizer, scaler = made(torch)
    backward(torch, weight, scaler)
    scaler.step(optimizer)
    scaler.update(4.0)
    seen = [scaler.get_scale()]
    scaler.update(torch.tensor(3.0))
    with pytest.raises(AssertionError, match="new_scale should be a float or a 1-element"):
        scaler.update(torch.ones(2))
    return [*seen, scaler.get_scale()]


@same
def test_wrong_order(torch: Any) -> None:
    weight, optimizer, scaler = made(torch)
    for method in (scaler.step, scaler.unscale_, lambda _: scaler.update()):
        with pytest.raises(AssertionError, match="but _scale is None"):
            method(optimizer)
    scaler.scale(torch.ones(1))
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    weight.grad = None
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: None)
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable"):
        scaler.scale(3)


@same
def test_wrong_factors_and_gradients(torch: Any) -> None:
    with pytest.raises(AssertionError, match="growth factor must be > 1"):
        torch.amp.GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match="backoff factor must be < 1"):
        torch.amp.GradScaler("cpu", backoff_factor=1.0)
    weight, scaler = torch.nn.Parameter(torch.ones(1).half()), torch.amp.GradScaler("cpu")
    scaler.scale(weight.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.step(torch.optim.SGD([weight], lr=0.1))


@same
def test_disabled(torch: Any) -> Any:
    weight, optimizer, scaler = made(torch, enabled=False)
    loss = weight.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    scaler.load_state_dict({})
    with pytest.warns(UserWarning, match=r"CUDA is not available.  Disabling"):
        off = torch.amp.GradScaler()
    return weight, scaler.state_dict(), scaler.get_scale(), scaler.is_enabled(), off.is_enabled()


@same
def test_state_goes_on_elsewhere(torch: Any) -> Any:
    """Loaded by the other engine's scaler, copied and pickled."""
    import importlib

    weight, optimizer, scaler = made(torch)
    backward(torch, weight, scaler)
    scaler.step(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning"):
        pickle.dumps(scaler)
    scaler.update()
    other = importlib.import_module("torch" if torch.__name__ == "tautograd" else "tautograd")
    twin = other.amp.GradScaler("cpu")
    twin.load_state_dict(scaler.state_dict())
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        twin.load_state_dict({})
    copies = [copy.deepcopy(scaler), pickle.loads(pickle.dumps(scaler)), scaler]
    for one in copies:
        backward(torch, weight, one)
        one.step(optimizer)
        one.update()
    return twin.state_dict(), [one.state_dict() for one in copies], weight


@pytest.mark.parametrize("fused", [False, True])
@same
def test_fused_optimizers_unscale_by_themselves(torch: Any, fused: bool) -> Any:
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = torch.optim.Adam([weight], lr=0.1, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    seen = []
    for factor in (1.0, float("inf"), 3.0):
        weight.grad = None
        scaler.scale((weight.square() * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        seen += [weight.detach().clone(), scaler.get_scale()]
    return seen


def _losses(torch: Any, lower: str, scaled: bool, bad: tuple[int, ...] = ()) -> list[Any]:
    """A small classifier, trained in mixed precision."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=5, enabled=scaled)
    x, target = torch.randn(32, 8), torch.randint(0, 3, (32,))
    seen = []
    for step in range(20):
        optimizer.zero_grad()
        with torch.autocast("cpu", getattr(torch, lower)):
            loss = nn.functional.cross_entropy(model(x), target)
        scaler.scale(loss).backward()
        if step in bad:
            model[0].weight.grad[0, 0] = float("inf")
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        seen.append((loss.dtype, loss.detach().bfloat16(), scaler.get_scale()))
    assert all(p.dtype == p.grad.dtype == torch.float32 for p in model.parameters())
    assert seen[-1][1] < 0.7 * seen[0][1]
    return seen


@same
def test_training_in_bfloat16(torch: Any) -> Any:
    return _losses(torch, "bfloat16", scaled=False)


@same
def test_training_in_float16_with_infinite_gradients(torch: Any) -> Any:
    return _losses(torch, "float16", scaled=True, bad=(3, 4, 11))
