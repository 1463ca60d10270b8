"""Results that are thrown away: a missing underscore, or a change of a copy."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, perceptron, regression


@pair("TG205")
def gradients_clamped_without_underscore(torch: Any):
    """`p.grad.clamp(...)` gives a new tensor, which nobody keeps."""
    F = torch.nn.functional
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            for p in model.parameters():
                p.grad.clamp(-0.1, 0.1)  # bug: here
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            for p in model.parameters():
                p.grad.clamp_(-0.1, 0.1)
            optimizer.step()

    return bug, fix


@pair("TG205")
def a_copy_of_the_gradient_scaled(torch: Any):
    """The gradient of one layer is scaled down in a clone, by a trainer that is a class."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Trainer:
        def __init__(self):
            self.model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)

    class Careless(Trainer):
        def fit(self):
            for inputs, targets in batches(4, x, y):
                self.optimizer.zero_grad()
                F.mse_loss(self.model(inputs), targets).backward()
                self.model[0].weight.grad.clone().mul_(0.1)  # bug: here
                self.optimizer.step()

    class Careful(Trainer):
        def fit(self):
            for inputs, targets in batches(4, x, y):
                self.optimizer.zero_grad()
                F.mse_loss(self.model(inputs), targets).backward()
                self.model[0].weight.grad.mul_(0.1)
                self.optimizer.step()

    return (lambda: Careless().fit()), (lambda: Careful().fit())


@pair("TG702")
def weights_clipped_without_underscore(torch: Any):
    """A critic whose weights should stay in a box: `torch.clamp` of them is not kept."""
    x, _ = regression(torch)

    def bug():
        critic = torch.nn.Linear(4, 1)
        optimizer = torch.optim.RMSprop(critic.parameters(), lr=0.01)
        for (real,) in batches(4, x):
            optimizer.zero_grad()
            (critic(torch.randn(4, 4)).mean() - critic(real).mean()).backward()
            optimizer.step()
            with torch.no_grad():
                for p in critic.parameters():
                    torch.clamp(p, -0.01, 0.01)  # bug: here

    def fix():
        critic = torch.nn.Linear(4, 1)
        optimizer = torch.optim.RMSprop(critic.parameters(), lr=0.01)
        for (real,) in batches(4, x):
            optimizer.zero_grad()
            (critic(torch.randn(4, 4)).mean() - critic(real).mean()).backward()
            optimizer.step()
            with torch.no_grad():
                for p in critic.parameters():
                    torch.clamp(p, -0.01, 0.01, out=p)

    return bug, fix


@pair("TG702")
def a_teacher_that_never_moves(torch: Any):
    """The mean of past weights: `mul` without underscore begins a copy, and `add_` fills it."""
    F = torch.nn.functional
    x, y = regression(torch)

    def bug():
        model, teacher = perceptron(torch, 4, 6, 1), perceptron(torch, 4, 6, 1)
        teacher.requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            for t, p in zip(teacher.parameters(), model.parameters(), strict=True):
                t.data.mul(0.99).add_(p.data, alpha=0.01)  # bug: here

    def fix():
        model, teacher = perceptron(torch, 4, 6, 1), perceptron(torch, 4, 6, 1)
        teacher.requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            for t, p in zip(teacher.parameters(), model.parameters(), strict=True):
                t.data.mul_(0.99).add_(p.data, alpha=0.01)

    return bug, fix
