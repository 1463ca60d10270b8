"""Graphs cut in passing: a value goes on where a gradient should have come back."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, images, perceptron, regression, sentences


@pair("TG401")
def features_detached(torch: Any):
    """The head trains and the backbone, which should as well, is cut off by detach."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        backbone, head = perceptron(torch, 4, 8), nn.Linear(8, 3)
        optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            features = torch.tanh(backbone(inputs)).detach()  # bug: here
            nn.functional.cross_entropy(head(features), targets).backward()
            optimizer.step()

    def fix():
        backbone, head = perceptron(torch, 4, 8), nn.Linear(8, 3)
        optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            features = torch.tanh(backbone(inputs))
            nn.functional.cross_entropy(head(features), targets).backward()
            optimizer.step()

    return bug, fix


@pair("TG401")
def hidden_layer_through_data(torch: Any):
    """`.data` in the middle of forward, to `save memory`."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 1)

            def forward(self, x):
                hidden = torch.relu(self.first(x))
                return self.second(hidden.data)  # bug: here

        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    def fix():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 1)

            def forward(self, x):
                hidden = torch.relu(self.first(x))
                return self.second(hidden)

        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    return bug, fix


@pair("TG401")
def gate_read_with_item(torch: Any):
    """A learned temperature is read as a number: it never learns."""
    nn = torch.nn
    x, y = classes(torch)

    class Temperature(nn.Module):
        def __init__(self):
            super().__init__()
            self.log_scale = nn.Parameter(torch.zeros(1))

        def forward(self):
            return self.log_scale.exp()

    def bug():
        model, temperature = perceptron(torch, 4, 8, 3), Temperature()
        parameters = [*model.parameters(), *temperature.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            logits = model(inputs) * temperature().item()  # bug: here
            nn.functional.cross_entropy(logits, targets).backward()
            optimizer.step()

    def fix():
        model, temperature = perceptron(torch, 4, 8, 3), Temperature()
        parameters = [*model.parameters(), *temperature.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            logits = model(inputs) * temperature()
            nn.functional.cross_entropy(logits, targets).backward()
            optimizer.step()

    return bug, fix


@pair("TG401")
def auxiliary_loss_as_float(torch: Any):
    """A learned energy of the code is added to the loss as a Python number, and so never learns."""
    nn = torch.nn
    x, _ = classes(torch)

    def bug():
        to_mean, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
        prior = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        model = nn.ModuleList([to_mean, decoder, prior])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            code = to_mean(x)
            energy = float(prior(code).pow(2).mean())  # bug: here
            loss = nn.functional.mse_loss(decoder(code), x) + 0.1 * energy
            loss.backward()
            optimizer.step()

    def fix():
        to_mean, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
        prior = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        model = nn.ModuleList([to_mean, decoder, prior])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            code = to_mean(x)
            energy = prior(code).pow(2).mean()
            loss = nn.functional.mse_loss(decoder(code), x) + 0.1 * energy
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG401")
def features_through_numpy(torch: Any):
    """A pooling step written in NumPy stands between convolution and head."""
    nn = torch.nn
    x, y = images(torch)

    def bug():
        conv, head = nn.Conv2d(1, 4, 3), nn.Linear(16, 3)
        optimizer = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            maps = torch.relu(conv(x))
            pooled = maps.detach().numpy().max(axis=3)  # bug: here
            logits = head(torch.from_numpy(pooled).flatten(1))  # bug: or here
            nn.functional.cross_entropy(logits, y).backward()
            optimizer.step()

    def fix():
        conv, head = nn.Conv2d(1, 4, 3), nn.Linear(16, 3)
        optimizer = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            maps = torch.relu(conv(x))
            pooled = maps.amax(dim=3)
            logits = head(pooled.flatten(1))
            nn.functional.cross_entropy(logits, y).backward()
            optimizer.step()

    return bug, fix


@pair("TG401")
def losses_collected_in_a_new_tensor(torch: Any):
    """Two losses put into torch.tensor to weigh them; a regulariser keeps backward from failing."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    weights = torch.tensor([0.7, 0.3])

    def bug():
        model, gate = perceptron(torch, 4, 8, 1), nn.Parameter(torch.ones(1))
        optimizer = torch.optim.SGD([*model.parameters(), gate], lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            pred = model(x)
            parts = [F.mse_loss(pred, y), F.l1_loss(pred, y)]
            losses = torch.tensor(parts)  # bug: here
            ((losses * weights).sum() * gate + 0.1 * gate**2).sum().backward()
            optimizer.step()

    def fix():
        model, gate = perceptron(torch, 4, 8, 1), nn.Parameter(torch.ones(1))
        optimizer = torch.optim.SGD([*model.parameters(), gate], lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            pred = model(x)
            parts = [F.mse_loss(pred, y), F.l1_loss(pred, y)]
            losses = torch.stack(parts)
            ((losses * weights).sum() * gate + 0.1 * gate**2).sum().backward()
            optimizer.step()

    return bug, fix


@pair("TG401")
def encoder_under_no_grad(torch: Any):
    """no_grad was put around the encoder for evaluation, and stayed for training."""
    nn = torch.nn
    x, y = sentences(torch)

    def bug():
        encoder = nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 8), nn.ReLU())
        head = nn.Linear(8, 11)
        optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            with torch.no_grad():  # bug: or here
                features = encoder(x)  # bug: here
            logits = head(features)
            nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten()).backward()
            optimizer.step()

    def fix():
        encoder = nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 8), nn.ReLU())
        head = nn.Linear(8, 11)
        optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            features = encoder(x)
            logits = head(features)
            nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten()).backward()
            optimizer.step()

    return bug, fix


@pair("TG401")
def argmax_in_the_loss(torch: Any):
    """A consistency loss between two heads uses the hard prediction of one of them."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def bug():
        first, second = perceptron(torch, 4, 8, 3), perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            guess = second(inputs).argmax(dim=1)  # bug: here
            agree = F.cross_entropy(first(inputs), guess)
            loss = nn.functional.cross_entropy(first(inputs), targets) + 0.1 * agree
            loss.backward()
            optimizer.step()

    def fix():
        first, second = perceptron(torch, 4, 8, 3), perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            guess = second(inputs).softmax(dim=1)
            agree = F.cross_entropy(first(inputs), guess)
            loss = nn.functional.cross_entropy(first(inputs), targets) + 0.1 * agree
            loss.backward()
            optimizer.step()

    return bug, fix
