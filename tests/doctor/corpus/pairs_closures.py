"""Closures and gradients of gradients: the usual mistakes where the loop is not the usual one."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression


@pair("TG101")
def closure_that_never_clears(torch: Any):
    """LBFGS calls the closure several times a step, and each call adds to the last."""
    F = torch.nn.functional
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 4, 1)
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)

        def closure():
            loss = F.mse_loss(model(x), y)
            loss.backward()  # bug: here
            return loss

        for _ in range(10):
            optimizer.step(closure)  # bug: or here

    def fix():
        model = perceptron(torch, 4, 4, 1)
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss

        for _ in range(10):
            optimizer.step(closure)

    return bug, fix


@pair("TG101")
def closure_of_adam_that_never_clears(torch: Any):
    """The same with an optimizer that calls it once."""
    F = torch.nn.functional
    x, y = classes(torch)

    def bug():
        def training_step(model, optimizer, inputs, targets):
            def closure():
                loss = F.cross_entropy(model(inputs), targets)
                loss.backward()  # bug: here
                return loss

            return optimizer.step(closure).item()  # bug: or here

        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for inputs, targets in batches(4, x, y):
            training_step(model, optimizer, inputs, targets)

    def fix():
        def training_step(model, optimizer, inputs, targets):
            def closure():
                optimizer.zero_grad()
                loss = F.cross_entropy(model(inputs), targets)
                loss.backward()
                return loss

            return optimizer.step(closure).item()

        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for inputs, targets in batches(4, x, y):
            training_step(model, optimizer, inputs, targets)

    return bug, fix


@pair("TG401")
def inner_loop_starts_from_data(torch: Any):
    """MAML: the inner weights begin as `.data`, so that the outer loss never reaches the model."""
    F, func = torch.nn.functional, torch.func
    x, y = regression(torch, n=16)

    def bug():
        model, scale = perceptron(torch, 4, 8, 1), torch.nn.Parameter(torch.ones(1))
        optimizer = torch.optim.Adam([*model.parameters(), scale], lr=0.01)
        for _ in range(10):
            weights = {n: p.data.requires_grad_() for n, p in model.named_parameters()}  # bug: here
            inner = F.mse_loss(func.functional_call(model, weights, (x[:8],)), y[:8])
            slopes = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
            moved = {n: w - 0.1 * g for (n, w), g in zip(weights.items(), slopes, strict=True)}
            output = scale * func.functional_call(model, moved, (x[8:],))
            optimizer.zero_grad()
            F.mse_loss(output, y[8:]).backward()
            optimizer.step()

    def fix():
        model, scale = perceptron(torch, 4, 8, 1), torch.nn.Parameter(torch.ones(1))
        optimizer = torch.optim.Adam([*model.parameters(), scale], lr=0.01)
        for _ in range(10):
            weights = dict(model.named_parameters())
            inner = F.mse_loss(func.functional_call(model, weights, (x[:8],)), y[:8])
            slopes = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
            moved = {n: w - 0.1 * g for (n, w), g in zip(weights.items(), slopes, strict=True)}
            output = scale * func.functional_call(model, moved, (x[8:],))
            optimizer.zero_grad()
            F.mse_loss(output, y[8:]).backward()
            optimizer.step()

    return bug, fix


@pair("TG401")
def one_tower_of_two_detached(torch: Any):
    """Contrastive search with two towers in one optimizer: the documents' vectors are detached."""
    F = torch.nn.functional
    x, _ = classes(torch, n=32)

    def bug():
        queries, documents = perceptron(torch, 4, 8, 4), perceptron(torch, 4, 8, 4)
        optimizer = torch.optim.Adam([*queries.parameters(), *documents.parameters()], lr=0.02)
        for (batch,) in [*batches(8, x)] * 3:
            asked = F.normalize(queries(batch + 0.1 * torch.randn_like(batch)), dim=1)
            found = F.normalize(documents(batch), dim=1)
            scores = 5 * asked @ found.detach().t()  # bug: here
            optimizer.zero_grad()
            F.cross_entropy(scores, torch.arange(len(batch))).backward()
            optimizer.step()

    def fix():
        queries, documents = perceptron(torch, 4, 8, 4), perceptron(torch, 4, 8, 4)
        optimizer = torch.optim.Adam([*queries.parameters(), *documents.parameters()], lr=0.02)
        for (batch,) in [*batches(8, x)] * 3:
            asked = F.normalize(queries(batch + 0.1 * torch.randn_like(batch)), dim=1)
            found = F.normalize(documents(batch), dim=1)
            scores = 5 * asked @ found.t()
            optimizer.zero_grad()
            F.cross_entropy(scores, torch.arange(len(batch))).backward()
            optimizer.step()

    return bug, fix


@pair("TG301")
def position_that_is_no_parameter(torch: Any):
    """A transformer's positions are a tensor with requires_grad, which `parameters()` does not give."""
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(8, 5, 4), torch.randn(8, 5, 4)

    def bug():
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.position = torch.zeros(5, 4, requires_grad=True)  # bug: or here
                self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

            def forward(self, x):
                x = x + self.position  # bug: or here
                return x + self.attention(x, x, x)[0]

        model = Block()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)  # bug: here
        for _ in range(10):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            model.position.grad = None
            optimizer.step()

    def fix():
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.position = nn.Parameter(torch.zeros(5, 4))
                self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

            def forward(self, x):
                x = x + self.position
                return x + self.attention(x, x, x)[0]

        model = Block()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()

    return bug, fix


@pair("TG302", "TG301")
def optimizer_of_the_average(torch: Any):
    """The optimizer was given the averaged copy, which never gets a gradient, and not the model."""
    F = torch.nn.functional
    x, y = regression(torch)

    def bug():
        model, average = perceptron(torch, 4, 8, 1), perceptron(torch, 4, 8, 1)
        average.load_state_dict(model.state_dict())
        optimizer = torch.optim.Adam(average.parameters(), lr=0.02)  # bug: here
        for _ in range(12):
            model.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()  # bug: or here
            with torch.no_grad():
                for kept, p in zip(average.parameters(), model.parameters(), strict=True):
                    kept.lerp_(p, 0.1)

    def fix():
        model, average = perceptron(torch, 4, 8, 1), perceptron(torch, 4, 8, 1)
        average.load_state_dict(model.state_dict())
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            model.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            with torch.no_grad():
                for kept, p in zip(average.parameters(), model.parameters(), strict=True):
                    kept.lerp_(p, 0.1)

    return bug, fix


@pair("TG404")
def second_loss_after_the_first_step(torch: Any):
    """Two losses share a trunk; the second goes backward when the first one's step has moved it."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def bug():
        trunk, left, right = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
        first = torch.optim.SGD([*trunk.parameters(), *left.parameters()], lr=0.05)
        second = torch.optim.SGD([*trunk.parameters(), *right.parameters()], lr=0.05)
        for _ in range(10):
            hidden = torch.relu(trunk(x))  # bug: or here
            first.zero_grad()
            F.mse_loss(left(hidden), y).backward(retain_graph=True)  # bug: or here
            first.step()
            second.zero_grad()
            F.mse_loss(right(hidden), -y).backward()  # bug: here
            second.step()

    def fix():
        trunk, left, right = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
        first = torch.optim.SGD([*trunk.parameters(), *left.parameters()], lr=0.05)
        second = torch.optim.SGD([*trunk.parameters(), *right.parameters()], lr=0.05)
        for _ in range(10):
            hidden = torch.relu(trunk(x))
            first.zero_grad()
            F.mse_loss(left(hidden), y).backward()
            first.step()
            hidden = torch.relu(trunk(x))
            second.zero_grad()
            F.mse_loss(right(hidden), -y).backward()
            second.step()

    return bug, fix


@pair("TG701")
def entropy_of_certain_chances(torch: Any):
    """p log p with a where for p = 0: the value is right, and the slope is 0 times minus infinity."""
    F = torch.nn.functional
    x, y = classes(torch)

    def bug():
        def entropy(p):
            return -torch.where(p > 0, p * p.log(), torch.zeros_like(p)).sum(dim=1)  # bug: here

        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
        for inputs, targets in batches(4, x, y):
            logits = 300 * model(inputs)
            optimizer.zero_grad()
            (F.cross_entropy(logits, targets) - 0.1 * entropy(logits.softmax(1)).mean()).backward()
            optimizer.step()

    def fix():
        def entropy(p):
            return -(p * p.clamp(min=1e-12).log()).sum(dim=1)

        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
        for inputs, targets in batches(4, x, y):
            logits = 300 * model(inputs)
            optimizer.zero_grad()
            (F.cross_entropy(logits, targets) - 0.1 * entropy(logits.softmax(1)).mean()).backward()
            optimizer.step()

    return bug, fix


@pair("TG902")
def outputs_of_an_epoch_kept(torch: Any):
    """A Trainer collects every output for a metric at the end, each with its graph."""
    F = torch.nn.functional
    x, y = classes(torch)

    class Trainer:
        def __init__(self):
            self.model, self.outputs = perceptron(torch, 4, 8, 3), []
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def fit(self):
            for inputs, targets in batches(4, x, y):
                self.optimizer.zero_grad()
                self.training_step(inputs, targets).backward()
                self.optimizer.step()
            return (torch.cat(self.outputs).argmax(1) == y).float().mean().item()

    def bug():
        class Broken(Trainer):
            def training_step(self, inputs, targets):
                logits = self.model(inputs)  # bug: or here
                self.outputs.append(logits)  # bug: here
                return F.cross_entropy(logits, targets)

        Broken().fit()

    def fix():
        class Fixed(Trainer):
            def training_step(self, inputs, targets):
                logits = self.model(inputs)
                self.outputs.append(logits.detach())
                return F.cross_entropy(logits, targets)

        Fixed().fit()

    return bug, fix
