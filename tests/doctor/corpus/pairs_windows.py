"""Windows of several backwards: cleared before a step has read them, or summed to the wrong scale."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression, sentences


@pair("TG103")
def cleared_on_every_micro_batch(torch: Any):
    """Accumulation over four batches, with zero_grad on each: only the last one counts."""
    nn = torch.nn
    x, y = classes(torch, n=96)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for _epoch in range(2):
            for i, (inputs, targets) in enumerate(batches(4, x, y)):
                optimizer.zero_grad()  # bug: here
                loss = nn.functional.cross_entropy(model(inputs), targets) / 4
                loss.backward()
                if (i + 1) % 4 == 0:
                    optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for _epoch in range(2):
            for i, (inputs, targets) in enumerate(batches(4, x, y)):
                loss = nn.functional.cross_entropy(model(inputs), targets) / 4
                loss.backward()
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()

    return bug, fix


@pair("TG103", "TG403")
def cleared_between_backward_and_step(torch: Any):
    """zero_grad slipped in between: the step moves nothing."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            loss = nn.functional.l1_loss(model(x), y)
            loss.backward()
            optimizer.zero_grad()  # bug: here
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            loss = nn.functional.l1_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG103")
def cleared_between_two_losses(torch: Any):
    """An autoencoder with a penalty: the reconstruction's gradients are cleared before the penalty's."""
    nn = torch.nn
    x, _ = classes(torch)

    def bug():
        encoder, decoder = perceptron(torch, 4, 6, 2), perceptron(torch, 2, 6, 4)
        optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(decoder(encoder(x)), x).backward()
            optimizer.zero_grad()  # bug: here
            (0.01 * encoder(x).pow(2).mean()).backward()
            optimizer.step()

    def fix():
        encoder, decoder = perceptron(torch, 4, 6, 2), perceptron(torch, 2, 6, 4)
        optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(decoder(encoder(x)), x).backward()
            (0.01 * encoder(x).pow(2).mean()).backward()
            optimizer.step()

    return bug, fix


@pair("TG103")
def cleared_for_every_task(torch: Any):
    """Three tasks and one step for all: a helper clears before each, so that the last task wins."""
    F = torch.nn.functional
    x, _ = regression(torch)
    tasks = [x[:, i : i + 1] * (i + 1) for i in range(3)]

    def bug():
        def learn(trunk, head, target):
            for p in [*trunk.parameters(), *head.parameters()]:
                p.grad = None  # bug: here
            (F.mse_loss(head(trunk(x)), target) / 3).backward()

        trunk = perceptron(torch, 4, 8)
        heads = [torch.nn.Linear(8, 1) for _ in range(3)]
        parameters = [*trunk.parameters(), *(p for head in heads for p in head.parameters())]
        optimizer = torch.optim.SGD(parameters, lr=0.05)
        for _ in range(12):
            for head, target in zip(heads, tasks, strict=True):
                learn(trunk, head, target)  # bug: or here
            optimizer.step()

    def fix():
        def learn(trunk, head, target):
            (F.mse_loss(head(trunk(x)), target) / 3).backward()

        trunk = perceptron(torch, 4, 8)
        heads = [torch.nn.Linear(8, 1) for _ in range(3)]
        parameters = [*trunk.parameters(), *(p for head in heads for p in head.parameters())]
        optimizer = torch.optim.SGD(parameters, lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            for head, target in zip(heads, tasks, strict=True):
                learn(trunk, head, target)
            optimizer.step()

    return bug, fix


@pair("TG103")
def cleared_in_a_trainer_with_a_scaler(torch: Any):
    """A Trainer accumulates under AMP, but its training_step begins with model.zero_grad()."""
    nn = torch.nn
    x, y = regression(torch, n=96)

    class Trainer:
        def __init__(self, every):
            self.model, self.every = perceptron(torch, 4, 8, 1), every
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
            self.scaler = torch.amp.GradScaler("cpu")

        def fit(self):
            for _epoch in range(2):
                for i, (inputs, targets) in enumerate(batches(8, x, y)):
                    self.training_step(inputs, targets)
                    if (i + 1) % self.every == 0:
                        self.scaler.step(self.optimizer)
                        self.scaler.update()
                        self.after_step()

        def after_step(self):
            pass

    def bug():
        class Broken(Trainer):
            def training_step(self, inputs, targets):
                self.model.zero_grad()  # bug: here
                loss = nn.functional.mse_loss(self.model(inputs), targets) / self.every
                self.scaler.scale(loss).backward()

        Broken(every=2).fit()

    def fix():
        class Fixed(Trainer):
            def training_step(self, inputs, targets):
                loss = nn.functional.mse_loss(self.model(inputs), targets) / self.every
                self.scaler.scale(loss).backward()

            def after_step(self):
                self.model.zero_grad()

        Fixed(every=2).fit()

    return bug, fix


@pair("TG104")
def window_not_divided(torch: Any):
    """Four means are added up, and the step is four times too long."""
    nn = torch.nn
    x, y = regression(torch, n=96)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _epoch in range(2):
            for i, (inputs, targets) in enumerate(batches(4, x, y)):
                loss = nn.functional.mse_loss(model(inputs), targets)  # bug: or here
                loss.backward()  # bug: here
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _epoch in range(2):
            for i, (inputs, targets) in enumerate(batches(4, x, y)):
                loss = nn.functional.mse_loss(model(inputs), targets)
                (loss / 4).backward()
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()

    return bug, fix


@pair("TG104")
def short_last_window_divided_by_all(torch: Any):
    """Six batches in windows of four: the last two are divided by four as well."""
    nn = torch.nn
    x, y = classes(torch, n=48)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = list(batches(8, x, y))
        for _epoch in range(6):
            for i, (inputs, targets) in enumerate(data):
                loss = nn.functional.cross_entropy(model(inputs), targets) / 4  # bug: here
                loss.backward()  # bug: or here
                if (i + 1) % 4 == 0 or i + 1 == len(data):
                    optimizer.step()  # bug: or here
                    optimizer.zero_grad()

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = list(batches(8, x, y))
        for _epoch in range(6):
            for i, (inputs, targets) in enumerate(data):
                window = 4 if i < len(data) // 4 * 4 else len(data) % 4
                loss = nn.functional.cross_entropy(model(inputs), targets) / window
                loss.backward()
                if (i + 1) % 4 == 0 or i + 1 == len(data):
                    optimizer.step()
                    optimizer.zero_grad()

    return bug, fix


@pair("TG104")
def means_over_unequal_numbers_of_words(torch: Any):
    """A language model: batches with much padding count as much as those with little."""
    nn = torch.nn
    x, y = sentences(torch, n=32)
    y = y.clone()
    for i in range(32):
        y[i, 1 + i % 8 // 2 :] = -100  # shorter sentences first in every eight

    def bug():
        model = nn.Sequential(nn.Embedding(11, 8), nn.Tanh(), nn.Linear(8, 11))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for _epoch in range(3):
            for i, (words, following) in enumerate(batches(4, x, y)):
                logits = model(words).flatten(0, 1)
                loss = nn.functional.cross_entropy(logits, following.flatten()) / 2  # bug: here
                loss.backward()  # bug: or here
                if i % 2 == 1:
                    optimizer.step()
                    optimizer.zero_grad()

    def fix():
        model = nn.Sequential(nn.Embedding(11, 8), nn.Tanh(), nn.Linear(8, 11))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for _epoch in range(3):
            window = []
            for words, following in batches(4, x, y):
                window.append((words, following))
                if len(window) < 2:
                    continue
                count = sum((labels != -100).sum() for _, labels in window)
                for part, labels in window:
                    logits = model(part).flatten(0, 1)
                    loss = nn.functional.cross_entropy(logits, labels.flatten(), reduction="sum")
                    (loss / count).backward()
                window = []
                optimizer.step()
                optimizer.zero_grad()

    return bug, fix


@pair("TG104")
def means_over_batches_of_unequal_size(torch: Any):
    """Batches of 10, 10, 10 and 2: each of the last two points weighs as much as five others."""
    F = torch.nn.functional
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _epoch in range(10):
            optimizer.zero_grad()
            for inputs, targets in batches(10, x, y):
                loss = F.mse_loss(model(inputs), targets) / 4  # bug: here
                loss.backward()  # bug: or here
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _epoch in range(10):
            optimizer.zero_grad()
            for inputs, targets in batches(10, x, y):
                loss = F.mse_loss(model(inputs), targets, reduction="sum") / len(x)
                loss.backward()
            optimizer.step()

    return bug, fix
