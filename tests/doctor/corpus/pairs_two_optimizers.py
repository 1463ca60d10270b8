"""What two optimizers share, and what none of them has; steps in an unlucky place."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression


@pair("TG403")
def a_body_that_two_optimizers_hold(torch: Any):
    """One optimizer per head, and each was given the body as well: it moves twice per batch."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def train(one, other, model):
        body, left, right = model
        for inputs, targets in batches(3, x, y):
            hidden = torch.tanh(body(inputs))
            loss = F.mse_loss(left(hidden), targets) + F.l1_loss(right(hidden), targets)
            one.zero_grad()
            other.zero_grad()
            loss.backward()
            one.step()  # bug: or here
            other.step()  # bug: here

    def bug():
        model = body, left, right = nn.Linear(4, 5), nn.Linear(5, 1), nn.Linear(5, 1)
        one = torch.optim.SGD([*body.parameters(), *left.parameters()], lr=0.05)
        other = torch.optim.Adam([*body.parameters(), *right.parameters()], lr=0.01)
        train(one, other, model)

    def fix():
        model = body, left, right = nn.Linear(4, 5), nn.Linear(5, 1), nn.Linear(5, 1)
        one = torch.optim.SGD([*body.parameters(), *left.parameters()], lr=0.05)
        other = torch.optim.Adam(right.parameters(), lr=0.01)
        train(one, other, model)

    return bug, fix


@pair("TG903")
def a_scheduler_of_the_optimizer_before(torch: Any):
    """The optimizer was changed later, below its scheduler, which goes on with the old one."""
    F = torch.nn.functional
    x, y = regression(torch)

    def train(model, optimizer, scheduler):
        for inputs, targets in batches(3, x, y):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()  # bug: here

    def bug():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        train(model, optimizer, scheduler)

    def fix():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
        train(model, optimizer, scheduler)

    return bug, fix


@pair("TG301")
def a_temperature_that_nobody_holds(torch: Any):
    """Contrastive learning with a temperature that is learned, but is in no optimizer."""
    nn, F = torch.nn, torch.nn.functional
    x, _ = classes(torch)

    def train(encoder, temperature, optimizer):
        for (batch,) in batches(6, x):
            noisy = batch + 0.1 * torch.randn_like(batch)
            one, other = F.normalize(encoder(batch), dim=1), F.normalize(encoder(noisy), dim=1)
            optimizer.zero_grad()
            scores = one @ other.T * temperature.exp()
            F.cross_entropy(scores, torch.arange(len(batch))).backward()
            optimizer.step()

    def bug():
        encoder = nn.Linear(4, 5)
        temperature = torch.zeros((), requires_grad=True)
        optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)  # bug: here
        train(encoder, temperature, optimizer)

    def fix():
        encoder = nn.Linear(4, 5)
        temperature = torch.zeros((), requires_grad=True)
        optimizer = torch.optim.Adam([*encoder.parameters(), temperature], lr=0.01)
        train(encoder, temperature, optimizer)

    return bug, fix


@pair("TG103")
def zeros_right_before_the_step(torch: Any):
    """`zero_grad(set_to_none=False)` between backward and step: the step follows zeros."""
    F = torch.nn.functional
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for inputs, targets in batches(4, x, y):
            F.mse_loss(model(inputs), targets).backward()
            optimizer.zero_grad(set_to_none=False)  # bug: here
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad(set_to_none=False)
            F.mse_loss(model(inputs), targets).backward()
            optimizer.step()

    return bug, fix


@pair("TG601")
def a_new_batch_norm_in_eval_mode(torch: Any):
    """A function that builds a model returns it in eval mode; its batch norm never sees a batch."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def build():
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
        return model.eval()  # bug: here

    def train(model):
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        for inputs, targets in batches(6, x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    return (lambda: train(build())), (lambda: train(build().train()))


@pair("TG701")
def a_root_for_which_every_step_is_skipped(torch: Any):
    """The slope of a root is infinite at 0, whatever the scale: the scaler skips every step."""
    F = torch.nn.functional
    x, y = regression(torch)

    def train(penalty):
        model = torch.nn.Linear(4, 1)
        start = model.weight.detach().clone()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for inputs, targets in batches(3, x, y):
            optimizer.zero_grad()
            away = penalty(model.weight - start)
            scaler.scale(F.mse_loss(model(inputs), targets) + 0.01 * away).backward()
            scaler.step(optimizer)
            scaler.update()

    def bug():
        def penalty(difference):
            return difference.pow(2).sum().sqrt()  # bug: here

        train(penalty)

    return bug, (lambda: train(lambda difference: (difference.pow(2).sum() + 1e-8).sqrt()))


@pair("TG405")
def one_of_two_optimizers_never_stepped(torch: Any):
    """A joint loss fills the gradients of both networks; one optimizer's step was forgotten."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def bug():
        model, critic = nn.Linear(4, 3), nn.Linear(4, 1)
        for_model = torch.optim.SGD(model.parameters(), lr=0.1)
        for_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
        for inputs, targets in batches(6, x, y):
            for_model.zero_grad()
            for_critic.zero_grad()
            loss = F.cross_entropy(model(inputs), targets) + critic(inputs).pow(2).mean()
            loss.backward()  # bug: here
            for_critic.step()

    def fix():
        model, critic = nn.Linear(4, 3), nn.Linear(4, 1)
        for_model = torch.optim.SGD(model.parameters(), lr=0.1)
        for_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
        for inputs, targets in batches(6, x, y):
            for_model.zero_grad()
            for_critic.zero_grad()
            loss = F.cross_entropy(model(inputs), targets) + critic(inputs).pow(2).mean()
            loss.backward()
            for_critic.step()
            for_model.step()

    return bug, fix
