"""Parameters that the loss reaches and that no optimizer holds."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression, sentences


@pair("TG301")
def layers_in_a_plain_list(torch: Any):
    """Layers kept in a Python list are not the module's, and `parameters()` does not give them."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [nn.Linear(4, 8), nn.Linear(8, 8)]  # bug: or here
                self.head = nn.Linear(8, 3)

            def forward(self, x):
                for layer in self.layers:
                    x = torch.relu(layer(x))  # bug: or here
                return self.head(x)

        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # bug: here
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()

    def fix():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 8)])
                self.head = nn.Linear(8, 3)

            def forward(self, x):
                for layer in self.layers:
                    x = torch.relu(layer(x))
                return self.head(x)

        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG301")
def decoder_forgotten(torch: Any):
    """An autoencoder in two parts; the optimizer was given one of them."""
    nn = torch.nn
    x, _ = classes(torch)

    def bug():
        encoder, decoder = perceptron(torch, 4, 6, 2), perceptron(torch, 2, 6, 4)
        optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)  # bug: here
        for _ in range(12):
            encoder.zero_grad()
            decoder.zero_grad()
            nn.functional.mse_loss(decoder(encoder(x)), x).backward()
            optimizer.step()

    def fix():
        encoder, decoder = perceptron(torch, 4, 6, 2), perceptron(torch, 2, 6, 4)
        optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
        for _ in range(12):
            encoder.zero_grad()
            decoder.zero_grad()
            nn.functional.mse_loss(decoder(encoder(x)), x).backward()
            optimizer.step()

    return bug, fix


@pair("TG301", "TG302")
def new_head_after_the_optimizer(torch: Any):
    """Fine-tuning: the head is exchanged when the optimizer already holds the old one."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # bug: or here
        model[2] = nn.Linear(8, 3)  # bug: here
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    def fix():
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 10))
        model[2] = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    return bug, fix


@pair("TG301")
def weights_of_the_loss_forgotten(torch: Any):
    """Uncertainty weighting: the loss has parameters of its own, which nobody trains."""
    nn = torch.nn
    x, y = regression(torch)

    class Weighted(nn.Module):
        def __init__(self):
            super().__init__()
            self.log_variance = nn.Parameter(torch.zeros(2))

        def forward(self, *losses):
            each = torch.stack(losses)
            return (each * torch.exp(-self.log_variance) + self.log_variance).sum()

    def bug():
        trunk, first, second = perceptron(torch, 4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
        criterion = Weighted()
        model = nn.ModuleList([trunk, first, second])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # bug: here
        for _ in range(12):
            optimizer.zero_grad()
            hidden = torch.tanh(trunk(x))
            mse = nn.functional.mse_loss(first(hidden), y)
            mae = nn.functional.l1_loss(second(hidden), -y)
            criterion(mse, mae).backward()
            criterion.zero_grad()
            optimizer.step()

    def fix():
        trunk, first, second = perceptron(torch, 4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
        criterion = Weighted()
        model = nn.ModuleList([trunk, first, second, criterion])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            hidden = torch.tanh(trunk(x))
            mse = nn.functional.mse_loss(first(hidden), y)
            mae = nn.functional.l1_loss(second(hidden), -y)
            criterion(mse, mae).backward()
            optimizer.step()

    return bug, fix


@pair("TG301")
def embedding_outside_the_model(torch: Any):
    """Word vectors live beside the model and are not among what is trained."""
    nn = torch.nn
    x, y = sentences(torch)

    def bug():
        embedding = nn.Embedding(11, 8)
        body = nn.GRU(8, 12, batch_first=True)
        head = nn.Linear(12, 11)
        parameters = [*body.parameters(), *head.parameters()]
        optimizer = torch.optim.Adam(parameters, lr=0.01)  # bug: here
        for _ in range(10):
            for p in [*parameters, embedding.weight]:
                p.grad = None
            logits = head(body(embedding(x))[0])
            nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten()).backward()
            optimizer.step()

    def fix():
        embedding = nn.Embedding(11, 8)
        body = nn.GRU(8, 12, batch_first=True)
        head = nn.Linear(12, 11)
        parameters = [*embedding.parameters(), *body.parameters(), *head.parameters()]
        optimizer = torch.optim.Adam(parameters, lr=0.01)
        for _ in range(10):
            for p in parameters:
                p.grad = None
            logits = head(body(embedding(x))[0])
            nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten()).backward()
            optimizer.step()

    return bug, fix


@pair("TG301")
def groups_that_miss_the_biases(torch: Any):
    """Two groups by name: weights with decay, layer norms without; biases are in neither."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))
        norms = [*model[1].parameters()]
        weights = [p for p in model.parameters() if p.ndim == 2]
        groups = [{"params": weights, "weight_decay": 0.01}, {"params": norms, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, lr=0.01)  # bug: here
        for inputs, targets in batches(4, x, y):
            model.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    def fix():
        model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))
        others = [p for p in model.parameters() if p.ndim != 2]
        weights = [p for p in model.parameters() if p.ndim == 2]
        groups = [
            {"params": weights, "weight_decay": 0.01},
            {"params": others, "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=0.01)
        for inputs, targets in batches(4, x, y):
            model.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    return bug, fix


@pair("TG301")
def prompt_made_in_the_first_forward(torch: Any):
    """A parameter that is made when the model first runs comes after the optimizer."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.scale = nn.Linear(4, 1), None

            def forward(self, x):
                if self.scale is None:
                    self.scale = nn.Parameter(torch.ones(x.shape[1]))  # bug: or here
                return self.layer(x * self.scale)  # bug: or here

        model = Scaled()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)  # bug: here
        for _ in range(12):
            model.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    def fix():
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.scale = nn.Linear(4, 1), nn.Parameter(torch.ones(4))

            def forward(self, x):
                return self.layer(x * self.scale)

        model = Scaled()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            model.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    return bug, fix
