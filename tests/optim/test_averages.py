"""Averaged weights (SWA and EMA), and the schedule that goes with them."""

from __future__ import annotations

import pytest

from tests.both import same
from tests.optim.runs import parameters

AVERAGES = {
    "default": lambda u: {},
    "ema": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9)},
    "swa": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "single ema": lambda u: {"avg_fn": u.get_ema_avg_fn(0.9)},
    "single swa": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "own": lambda u: {"avg_fn": lambda a, p, n: a * 0.5 + p * 0.5 + n},
}


@pytest.mark.parametrize("buffers", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("how", AVERAGES)
@same
def test_averaged_model(torch, how, dtype, buffers):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for i, p in enumerate(parameters(torch, dtype)):
                self.register_parameter(f"p{i}", torch.nn.Parameter(p.detach()))
            self.register_buffer("b", torch.ones(3, dtype=getattr(torch, dtype)))

        def forward(self, x):
            return x * self.b

    model = Model()
    averaged = torch.optim.swa_utils.AveragedModel(
        model, use_buffers=buffers, **AVERAGES[how](torch.optim.swa_utils)
    )
    for _ in range(5):
        with torch.no_grad():
            for p in [*model.parameters(), *model.buffers()]:
                p.mul_(1.1).add_(0.25)
        averaged.update_parameters(model)
    state = averaged.state_dict()
    result = averaged(torch.ones(3, dtype=getattr(torch, dtype)))
    return list(state), state, result, averaged.n_averaged


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 5, 20])
@same
def test_swalr(torch, strategy, epochs):
    params = [torch.ones(1, requires_grad=True) for _ in range(2)]
    groups = [{"params": [p]} for p in params]
    owner = torch.optim.SGD(groups, lr=0.5)
    decay = torch.optim.lr_scheduler.ExponentialLR(owner, 0.99)
    scheduler = torch.optim.swa_utils.SWALR(owner, [0.05, 0.9], epochs, strategy)
    seen = []
    for i in range(100):
        owner.step()
        (decay if i < 10 else scheduler).step()
        seen.append([group["lr"] for group in owner.param_groups])
    state = scheduler.state_dict()
    fresh = torch.optim.swa_utils.SWALR(torch.optim.SGD(groups), 0.1)
    fresh.load_state_dict(state)
    return seen, list(state), fresh.state_dict()


@same
def test_errors(torch):
    utils = torch.optim.swa_utils
    owner = torch.optim.SGD([torch.ones(1)])
    with pytest.raises(ValueError, match=r"Invalid decay value 2 provided"):
        utils.get_ema_avg_fn(2)
    with pytest.raises(ValueError, match=r"Invalid decay value -1 provided"):
        utils.get_ema_multi_avg_fn(-1)
    with pytest.raises(ValueError, match="anneal_strategy must be one of"):
        utils.SWALR(owner, 0.1, anneal_strategy="no")
    with pytest.raises(ValueError, match="anneal_epochs must be equal or greater than 0"):
        utils.SWALR(owner, 0.1, anneal_epochs=-1)
    with pytest.raises(ValueError, match="swa_lr must have the same length"):
        utils.SWALR(owner, [0.1, 0.2])
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        utils.AveragedModel(torch.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max)
    return True


@same
def test_update_bn(torch):
    """Running statistics over all the data, with the momentum put back and the mode kept."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4, momentum=0.3))
    model.eval()
    batches = [torch.arange(12.0).reshape(4, 3) * k for k in (1, -2, 3)]
    torch.optim.swa_utils.update_bn([batches[0], [batches[1], 0], (batches[2],)], model)
    norm = model[1]
    return (
        norm.running_mean,
        norm.running_var,
        norm.num_batches_tracked,
        norm.momentum,
        model.training,
    )
