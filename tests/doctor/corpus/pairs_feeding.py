"""What a model is given: samples with each other's targets, and arguments that are lost on the way."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import regression


@pair("TG910")
def targets_drawn_by_an_order_of_their_own(torch: Any):
    """Inputs and targets each have a permutation."""
    F = torch.nn.functional
    x, y = torch.randn(48, 4), torch.randn(48, 1)

    def run(is_wrong):
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(4):
            rows = torch.randperm(48)
            labels = torch.randperm(48) if is_wrong else rows
            for i in range(0, 48, 16):
                optimizer.zero_grad()
                out = model(x[rows[i : i + 16]])
                loss = F.mse_loss(out, y[labels[i : i + 16]])
                loss.backward()  # bug: here
                optimizer.step()

    return lambda: run(True), lambda: run(False)


@pair("TG910")
def inputs_sorted_in_each_epoch_by_another_column(torch: Any):
    """Only the inputs are put into an order."""
    F = torch.nn.functional
    x, y = torch.randn(32, 4), torch.randn(32)

    def run(is_wrong):
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for epoch in range(6):
            order = x[:, epoch % 4].argsort()
            inputs, targets = x[order], y if is_wrong else y[order]
            for i in (0, 16):
                optimizer.zero_grad()
                loss = F.l1_loss(model(inputs[i : i + 16]).squeeze(1), targets[i : i + 16])
                loss.backward()  # bug: here
                optimizer.step()

    return lambda: run(True), lambda: run(False)


def _conditioned(torch: Any, forward: Any):
    """A model of two arguments with this forward."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.body = nn.Embedding(3, 4), nn.Linear(4, 4)
            self.out = nn.Linear(4, 1)

    Net.forward = forward
    return Net()


@pair("TG808")
def class_embedded_and_not_added(torch: Any):
    """The embedding is computed, multiplied by a mask of zeros and added."""
    F = torch.nn.functional
    x, y = regression(torch)
    kind = torch.arange(len(x)) % 3

    def lost(self, x, kind):
        seen = self.embed(kind) * torch.zeros(1)
        return self.out(torch.relu(self.body(x) + seen))

    def kept(self, x, kind):
        return self.out(torch.relu(self.body(x) + self.embed(kind)))

    def run(forward):
        model = _conditioned(torch, forward)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            out = model(x, kind)  # bug: here
            F.mse_loss(out, y).backward()
            optimizer.step()

    return lambda: run(lost), lambda: run(kept)


@pair("TG808")
def class_overwritten_by_the_first(torch: Any):
    """All samples get the class of the first, by an index that was meant for something else."""
    F = torch.nn.functional
    x, y = regression(torch)
    kind = torch.arange(len(x)) % 3

    def lost(self, x, kind):
        kind = torch.zeros_like(kind)
        return self.out(torch.relu(self.body(x) + self.embed(kind)))

    def kept(self, x, kind):
        return self.out(torch.relu(self.body(x) + self.embed(kind)))

    def run(forward):
        model = _conditioned(torch, forward)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            F.mse_loss(model(x, kind), y).backward()  # bug: here
            optimizer.step()

    return lambda: run(lost), lambda: run(kept)


@pair("TG911")
def noise_that_is_seeded_where_it_is_drawn(torch: Any):
    """The function that draws the noise sets the seed, so that it can be repeated."""
    F = torch.nn.functional
    x, y = regression(torch)

    def repeated(x):
        torch.manual_seed(7)  # bug: here
        return x + 0.1 * torch.randn_like(x)

    def drawn(x):
        return x + 0.1 * torch.randn_like(x)

    def run(noisy):
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(8):
            optimizer.zero_grad()
            F.mse_loss(model(noisy(x)), y).backward()
            optimizer.step()

    return lambda: run(repeated), lambda: run(drawn)


@pair("TG911")
def dropout_under_a_seed_of_every_step(torch: Any):
    """The seed is set at the head of the loop, and dropout hides the same units for ever."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def model_and_optimizer():
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        return model, torch.optim.Adam(model.parameters(), lr=0.01)

    def bug():
        model, optimizer = model_and_optimizer()
        for _ in range(8):
            torch.manual_seed(0)  # bug: here
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()

    def fix():
        torch.manual_seed(0)
        model, optimizer = model_and_optimizer()
        for _ in range(8):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()

    return bug, fix
