"""Parts of a model that are given the same for every sample, and copies that are meant to stay."""

from __future__ import annotations

import copy
from typing import Any

from .case import sound
from .parts import classes, perceptron, regression


@sound("inputs")
def positions_repeated_for_each_sample(torch: Any):
    """The table of positions gets the same rows for all samples; the model does not."""
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(12, 5, 6), torch.arange(12) % 3

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.places, self.body, self.head = nn.Embedding(5, 6), nn.Linear(6, 6), nn.Linear(6, 3)

        def forward(self, x):
            places = self.places(torch.arange(5).expand(len(x), 5))
            return self.head(torch.tanh(self.body(x + places)).mean(1))

    def loop():
        model = Model()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    return loop


@sound("copies")
def a_reference_that_stays_as_it_was(torch: Any):
    """A frozen copy of the first weights keeps the model near them: it never changes, as it should."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        reference = copy.deepcopy(model).requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            out = model(x)
            (F.mse_loss(out, y) + 0.1 * F.mse_loss(out, reference(x))).backward()
            optimizer.step()
        model.load_state_dict(reference.state_dict())

    return loop


@sound("shapes")
def all_pairs_on_purpose(torch: Any):
    """A ranking loss compares each with every other: the axis is put in where the two meet."""
    x, y = regression(torch)
    y = y.squeeze(1)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            score = model(x).squeeze(1)
            gap, wanted = score.unsqueeze(1) - score, (y.unsqueeze(1) - y).sign()
            torch.nn.functional.softplus(-gap * wanted).mean().backward()
            optimizer.step()

    return loop


@sound("schedules")
def a_cosine_to_nothing_at_the_end(torch: Any):
    """The rate is next to nothing in the last steps, which is where the run ends."""
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)
        for _ in range(40):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            scheduler.step()

    return loop


@sound("adversaries")
def an_input_that_climbs_an_error(torch: Any):
    """An attack: the picture is moved up the error of a frozen model, by hand."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3).requires_grad_(False)
        moved = x.clone().requires_grad_()
        for _ in range(12):
            F.cross_entropy(model(moved), y).backward()
            with torch.no_grad():
                moved += 0.1 * moved.grad
                moved.grad.zero_()

    return loop
