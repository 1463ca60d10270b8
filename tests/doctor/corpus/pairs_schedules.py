"""Schedulers stepped at the wrong time or never, and samples of a batch that leak into each other."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, loader, perceptron, regression, waves


@pair("TG903")
def scheduler_before_the_optimizer(torch: Any):
    """The first value of the schedule is skipped."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
        for _ in range(12):
            scheduler.step()  # bug: here
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            scheduler.step()

    return bug, fix


@pair("TG903")
def scheduler_on_every_micro_batch(torch: Any):
    """Accumulation over four batches; the schedule runs four times too fast."""
    nn = torch.nn
    x, y = classes(torch, n=96)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=48)
        for i, (inputs, targets) in enumerate(batches(2, x, y)):
            (nn.functional.cross_entropy(model(inputs), targets) / 4).backward()
            if (i + 1) % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
            scheduler.step()  # bug: here

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
        for i, (inputs, targets) in enumerate(batches(2, x, y)):
            (nn.functional.cross_entropy(model(inputs), targets) / 4).backward()
            if (i + 1) % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()

    return bug, fix


@pair("TG903")
def scheduler_never_stepped(torch: Any):
    """A warm-up is made, and the learning rate stays at its first value."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=5)  # bug: here
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        return scheduler.get_last_lr()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=5)
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            scheduler.step()
        return scheduler.get_last_lr()

    return bug, fix


@pair("TG903")
def scheduler_of_an_epoch_before_its_batches(torch: Any):
    """Old habit: scheduler.step() opens the epoch."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        for _epoch in range(3):
            scheduler.step()  # bug: here
            for inputs, targets in loader(torch, x, y, batch_size=12):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs), targets).backward()
                optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        for _epoch in range(3):
            for inputs, targets in loader(torch, x, y, batch_size=12):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
            scheduler.step()

    return bug, fix


@pair("TG904")
def view_for_permute(torch: Any):
    """(T, B, D) is made (B, T, D) with view: the numbers stay in place and samples are mixed."""
    nn = torch.nn
    x, y = waves(torch, n=6, length=8)
    steps = x.transpose(0, 1).contiguous()
    target = y[:, -1]

    def bug():
        body, head = nn.Linear(1, 6), nn.Linear(48, 1)
        optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            hidden = torch.tanh(body(steps)).view(6, 8, 6)  # bug: here
            nn.functional.mse_loss(head(hidden.flatten(1)), target).backward()
            optimizer.step()

    def fix():
        body, head = nn.Linear(1, 6), nn.Linear(48, 1)
        optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            hidden = torch.tanh(body(steps)).permute(1, 0, 2)
            nn.functional.mse_loss(head(hidden.flatten(1)), target).backward()
            optimizer.step()

    return bug, fix


@pair("TG904")
def softmax_over_the_batch(torch: Any):
    """log_softmax(dim=0): the classes of a sample do not compete, the samples do."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            chances = F.log_softmax(model(inputs), dim=0)  # bug: here
            nn.functional.nll_loss(chances, targets).backward()
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            chances = F.log_softmax(model(inputs), dim=1)
            nn.functional.nll_loss(chances, targets).backward()
            optimizer.step()

    return bug, fix


@pair("TG904")
def normalised_over_the_batch(torch: Any):
    """Embeddings are divided by their norm over the batch instead of over the features."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def bug():
        encoder, head = perceptron(torch, 4, 8), nn.Linear(8, 3)
        optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.05)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            embedded = F.normalize(encoder(inputs), dim=0)  # bug: here
            F.cross_entropy(head(embedded), targets).backward()
            optimizer.step()

    def fix():
        encoder, head = perceptron(torch, 4, 8), nn.Linear(8, 3)
        optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.05)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            embedded = F.normalize(encoder(inputs), dim=1)
            F.cross_entropy(head(embedded), targets).backward()
            optimizer.step()

    return bug, fix
