"""Gradients that explode by their own history, and gradients that are nothing in layers that ran."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import classes, regression, waves


@pair("TG801")
def learning_rate_too_high(torch: Any):
    """Each step overshoots more than the last."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=3.0)  # bug: or here
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()  # bug: here
            optimizer.step()  # bug: or here

    def fix():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    return bug, fix


@pair("TG801")
def loss_with_the_wrong_sign(torch: Any):
    """A regression that maximises its error: gradients grow from step to step."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)  # bug: or here
        for _ in range(14):
            optimizer.zero_grad()
            loss = -nn.functional.mse_loss(model(x), y)  # bug: or here
            loss.backward()  # bug: here
            optimizer.step()  # bug: or here

    def fix():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for _ in range(14):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG801", "TG802")
def recurrence_without_clipping(torch: Any):
    """A relu RNN whose recurrent weight is above 1 and is trained on long sequences, unclipped."""
    nn = torch.nn
    x, y = waves(torch, n=4, length=16)

    def bug():
        rnn, head = nn.RNN(1, 8, nonlinearity="relu", batch_first=True), nn.Linear(8, 1)
        nn.init.eye_(rnn.weight_hh_l0)
        parameters = [*rnn.parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.05)  # bug: or here
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(head(rnn(x)[0]), y).backward()  # bug: here
            optimizer.step()  # bug: or here

    def fix():
        rnn, head = nn.RNN(1, 8, nonlinearity="relu", batch_first=True), nn.Linear(8, 1)
        nn.init.eye_(rnn.weight_hh_l0)
        parameters = [*rnn.parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(head(rnn(x)[0]), y).backward()
            nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()

    return bug, fix


@pair("TG802")
def units_born_dead(torch: Any):
    """All biases start at -30: no relu ever fires, and the first layer's gradient is exactly 0."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        first, second = nn.Linear(4, 8), nn.Linear(8, 3)
        nn.init.constant_(first.bias, -30.0)  # bug: here
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            hidden = torch.relu(first(x))  # bug: or here
            nn.functional.cross_entropy(second(hidden), y).backward()  # bug: or here
            optimizer.step()  # bug: or here

    def fix():
        first, second = nn.Linear(4, 8), nn.Linear(8, 3)
        nn.init.constant_(first.bias, 0.1)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            hidden = torch.relu(first(x))
            nn.functional.cross_entropy(second(hidden), y).backward()
            optimizer.step()

    return bug, fix


@pair("TG802")
def everything_starts_at_zero(torch: Any):
    """Weights of both layers are 0: each makes the other's gradient 0, for ever."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        for p in model.parameters():
            nn.init.zeros_(p)  # bug: here
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()  # bug: or here
            optimizer.step()  # bug: or here

    def fix():
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        for p in model.parameters():
            nn.init.normal_(p, std=0.3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    return bug, fix


@pair("TG802")
def inputs_not_normalised(torch: Any):
    """Prices in cents go into tanh: it is exactly ±1 and its gradient exactly 0."""
    nn = torch.nn
    x, y = regression(torch)
    prices = 1e5 * (x + 10)

    def bug():
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(prices), y)  # bug: here
            loss.backward()  # bug: or here
            optimizer.step()  # bug: or here

    def fix():
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        mean, std = prices.mean(0), prices.std(0)
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model((prices - mean) / std), y)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG802")
def thirty_sigmoids(torch: Any):
    """Thirty layers with sigmoids: the first ones' gradients are nothing beside the last one's."""
    nn = torch.nn
    x, y = classes(torch, n=24)

    def bug():
        layers = []
        for _ in range(30):
            layers += [nn.Linear(4, 4), nn.Sigmoid()]
        model = nn.Sequential(*layers, nn.Linear(4, 3))  # bug: or here
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()  # bug: here
            optimizer.step()  # bug: or here

    def fix():
        layers = []
        for _ in range(30):
            layers += [nn.Linear(4, 4), nn.LayerNorm(4), nn.Tanh()]
        model = nn.Sequential(*layers, nn.Linear(4, 3))
        for layer in model[:-1:3]:
            nn.init.orthogonal_(layer.weight, gain=1.2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()

    return bug, fix


@pair("TG802", "TG801")
def killed_by_the_first_step(torch: Any):
    """One step with a rate of 50 pushes every relu below 0, and none comes back."""
    nn = torch.nn
    x = torch.rand(32, 4)
    y = -x.sum(1, keepdim=True)

    def bug():
        body, head = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 1)
        nn.init.constant_(head.weight, 0.3)
        optimizer = torch.optim.SGD(
            [*body.parameters(), *head.parameters()], lr=50.0
        )  # bug: or here
        for _ in range(14):
            optimizer.zero_grad()
            loss = nn.functional.smooth_l1_loss(head(body(x)), y)  # bug: or here
            loss.backward()  # bug: here
            optimizer.step()  # bug: or here

    def fix():
        body, head = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 1)
        nn.init.constant_(head.weight, 0.3)
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
        for _ in range(14):
            optimizer.zero_grad()
            loss = nn.functional.smooth_l1_loss(head(body(x)), y)
            loss.backward()
            optimizer.step()

    return bug, fix
