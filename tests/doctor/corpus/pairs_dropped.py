"""Losses that are computed and dropped, parameters that live for one step, mixtures loaded the wrong way."""

from __future__ import annotations

import copy
from typing import Any

from .case import pair
from .parts import classes, perceptron, regression


@pair("TG412")
def second_loss_assigned(torch: Any):
    """The trainer's loss is assigned twice, and only the second survives."""
    F = torch.nn.functional
    x, y = classes(torch)
    model = perceptron(torch, 4, 8, 3)

    class Trainer:
        def __init__(self, add):
            self.add, self.optimizer = add, torch.optim.SGD(model.parameters(), lr=0.05)

        def criterion(self, scores):
            total = F.cross_entropy(scores, y)  # bug: here
            spread = scores.square().mean()
            total = 0.1 * spread
            float(total)
            return total

        def both(self, scores):
            total = F.cross_entropy(scores, y)
            return total + 0.1 * scores.square().mean()

        def fit(self):
            for _ in range(8):
                self.optimizer.zero_grad()
                (self.both if self.add else self.criterion)(model(x)).backward()
                self.optimizer.step()

    return lambda: Trainer(False).fit(), lambda: Trainer(True).fit()


@pair("TG412")
def sum_that_is_only_logged(torch: Any):
    """The sum of both terms is logged, and backward begins from the first."""
    F = torch.nn.functional
    x, y = regression(torch)

    def wrong():
        model = perceptron(torch, 4, 8, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        log = []
        for _ in range(8):
            mean, spread = model(x).chunk(2, 1)
            fit = F.mse_loss(mean, y)
            calibration = (spread.exp() - (mean.detach() - y).square()).abs().mean()
            objective = fit + 0.3 * calibration  # bug: here
            log.append(objective.item())
            optimizer.zero_grad()
            fit.backward()
            optimizer.step()

    def right():
        model = perceptron(torch, 4, 8, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(8):
            mean, spread = model(x).chunk(2, 1)
            fit = F.mse_loss(mean, y)
            objective = fit + 0.3 * (spread.exp() - (mean.detach() - y).square()).abs().mean()
            optimizer.zero_grad()
            objective.backward()
            optimizer.step()

    return wrong, right


@pair("TG316")
def projection_of_a_function(torch: Any):
    """A function makes the projection that it uses."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    body = nn.Linear(4, 8)
    kept = nn.Linear(8, 3)

    def run(scores, params):
        optimizer = torch.optim.SGD(params, lr=0.05)
        for _ in range(8):
            optimizer.zero_grad()
            F.cross_entropy(scores(body(x).tanh()), y).backward()  # bug: here
            optimizer.step()

    def anew(hidden):
        return nn.Linear(8, 3)(hidden)

    params = [*body.parameters(), *kept.parameters()]
    return lambda: run(anew, list(body.parameters())), lambda: run(kept, params)


@pair("TG316")
def scale_made_in_forward(torch: Any):
    """forward makes a parameter of ones, multiplies with it, and forgets it."""
    nn = torch.nn
    x, y = regression(torch)

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(4, 1)

        def forward(self, x):
            scale = nn.Parameter(torch.ones(4))  # bug: here
            return self.inner(x * scale)

    class Kept(Scaled):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(4))

        def forward(self, x):
            return self.inner(x * self.scale)

    def run(model):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(8):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()

    return lambda: run(Scaled()), lambda: run(Kept())


def _follow(torch: Any, mix: Any):
    x, y = regression(torch)
    online = perceptron(torch, 4, 8, 1)
    target = copy.deepcopy(online)
    optimizer = torch.optim.Adam(online.parameters(), lr=0.01)
    for _ in range(9):
        with torch.no_grad():
            aim = y + 0.9 * target(x)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(online(x), aim).backward()
        optimizer.step()
        mix(online, target)


@pair("TG317")
def mixture_of_states_goes_home(torch: Any):
    """The mixture of both state dicts is loaded into the network that is trained."""

    def wrong(online, target):
        mine, theirs = online.state_dict(), target.state_dict()
        mixed = {k: 0.05 * mine[k] + 0.95 * theirs[k] for k in mine}
        online.load_state_dict(mixed)  # bug: here

    def right(online, target):
        mine, theirs = online.state_dict(), target.state_dict()
        target.load_state_dict({k: 0.05 * mine[k] + 0.95 * theirs[k] for k in mine})

    return lambda: _follow(torch, wrong), lambda: _follow(torch, right)


@pair("TG317")
def lerp_of_states_goes_home(torch: Any):
    """The same with lerp, and tensors that were cloned."""

    def wrong(online, target):
        state = {k: v.clone() for k, v in target.state_dict().items()}
        for key, value in online.state_dict().items():
            state[key] = state[key].lerp(value, 0.2)
        online.load_state_dict(state)  # bug: here

    def right(online, target):
        state = {k: v.clone() for k, v in target.state_dict().items()}
        for key, value in online.state_dict().items():
            state[key] = state[key].lerp(value, 0.2)
        target.load_state_dict(state)

    return lambda: _follow(torch, wrong), lambda: _follow(torch, right)
