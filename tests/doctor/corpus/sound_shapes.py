"""Gradients that are 0 by construction, inputs that are learned, broadcasts and skips that are meant."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import batches, classes, images, perceptron, regression, waves


@sound("shapes")
def bias_before_a_batch_norm(torch: Any):
    """A batch norm takes the mean away, so the bias before it has a gradient of rounding alone."""
    nn, F = torch.nn, torch.nn.functional
    x, y = images(torch)

    def loop():
        model = nn.Sequential(
            *(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()),
            *(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU()),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)),
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
        for _ in range(12):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    return loop


@sound("shapes")
def bias_of_the_keys(torch: Any):
    """softmax does not change when all its inputs move: the keys' bias has no gradient but rounding."""
    nn, F = torch.nn, torch.nn.functional
    x, y = waves(torch, n=6, length=8)

    def loop():
        embed, query, key = nn.Linear(1, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        head = nn.Linear(8, 1)
        model = nn.ModuleList([embed, query, key, head])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            hidden = embed(x)
            weights = (query(hidden) @ key(hidden).transpose(1, 2) / 8**0.5).softmax(dim=-1)
            optimizer.zero_grad()
            F.mse_loss(head(hidden + weights @ hidden), y).backward()
            optimizer.step()

    return loop


@sound("shapes")
def a_module_that_is_never_run(torch: Any):
    """A spare head for later: in the model and in the optimizer, and without gradients."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.head, self.spare = nn.Linear(4, 1), nn.Linear(4, 1)

        def forward(self, x):
            return self.head(x)

    def loop():
        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()

    return loop


@sound("shapes")
def the_input_is_learned(torch: Any):
    """Feature visualisation: a trained net is not frozen and fills up with gradients nobody wants."""

    def loop():
        model = perceptron(torch, 4, 8, 1)
        image = torch.zeros(1, 4, requires_grad=True)
        optimizer = torch.optim.Adam([image], lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            (model(image) - 3).pow(2).sum().backward()
            optimizer.step()

    return loop


@sound("shapes")
def several_quantiles_of_one_target(torch: Any):
    """Three outputs against one target column: (N, 3) and (N, 1) are meant to broadcast."""
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        quantiles = torch.tensor([0.1, 0.5, 0.9])
        for _ in range(12):
            error = y - model(x)
            optimizer.zero_grad()
            torch.maximum(quantiles * error, (quantiles - 1) * error).mean().backward()
            optimizer.step()

    return loop


@sound("shapes")
def some_batches_are_skipped(torch: Any):
    """Batches whose loss or whose gradients are out of bounds are left out, on purpose."""
    F = torch.nn.functional
    x, y = regression(torch, n=112)
    y = y.clone()
    y[40:48] += 50
    y[72:80] += 8

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            loss = F.mse_loss(model(inputs), targets)
            if loss.item() > 1000:
                continue
            loss.backward()
            norm = sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt()
            if norm > 20:
                optimizer.zero_grad()
                continue
            optimizer.step()

    return loop


@sound("shapes")
def folds_trained_one_after_another(torch: Any):
    """Cross-validation: the models and optimizers of past folds are gone, or lie about."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        kept = []
        for fold in range(3):
            model = perceptron(torch, 4, 8, 3)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
            inside = torch.arange(48) % 3 != fold
            for _ in range(5):
                optimizer.zero_grad()
                F.cross_entropy(model(x[inside]), y[inside]).backward()
                optimizer.step()
            kept.append((model, optimizer) if fold else None)

    return loop


@sound("shapes")
def weights_that_are_parametrised(torch: Any):
    """Weight norm and spectral norm: the weight is a result, and its parameters have other names."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def loop():
        forms = nn.utils.parametrizations
        first, second = forms.weight_norm(nn.Linear(4, 8)), forms.spectral_norm(nn.Linear(8, 1))
        model = nn.Sequential(first, nn.ReLU(), second)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()

    return loop
