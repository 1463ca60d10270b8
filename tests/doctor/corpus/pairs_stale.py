"""Order of events: a loss that is a leaf, steps without new gradients, graphs of weights long gone."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression, waves


@pair("TG402")
def loss_made_to_require_grad(torch: Any):
    """backward complained, requires_grad_() silenced it, and nothing is trained."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x).detach(), y)  # bug: or here
            loss.requires_grad_()  # bug: here
            loss.backward()  # bug: or here
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG402")
def loss_rebuilt_from_its_value(torch: Any):
    """torch.tensor(loss.item(), requires_grad=True) runs backward into itself."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            total = nn.functional.cross_entropy(model(inputs), targets).item()  # bug: or here
            loss = torch.tensor(total, requires_grad=True)  # bug: here
            loss.backward()  # bug: or here
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG402")
def accuracy_as_a_loss(torch: Any):
    """The error rate is a number of comparisons; Variable-style code makes it a leaf."""
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            wrong = (model(inputs).argmax(1) != targets).float().mean()  # bug: or here
            loss = wrong.clone().detach().requires_grad_(True)  # bug: here
            loss.backward()  # bug: or here
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            wrong = 1 - model(inputs).softmax(1).gather(1, targets[:, None])
            loss = wrong.mean()
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG403")
def two_steps_on_one_backward(torch: Any):
    """step() in the helper and again in the loop."""
    nn = torch.nn
    x, y = regression(torch)

    def train_step(model, optimizer, inputs, targets):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _epoch in range(2):
            for inputs, targets in batches(8, x, y):
                train_step(model, optimizer, inputs, targets)
                optimizer.step()  # bug: here

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _epoch in range(3):
            for inputs, targets in batches(8, x, y):
                train_step(model, optimizer, inputs, targets)

    return bug, fix


@pair("TG403", "TG103")
def step_before_backward(torch: Any):
    """zero_grad, step, backward: each step finds the gradients just cleared."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for inputs, targets in batches(4, x, y):
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()  # bug: or here
            optimizer.step()  # bug: here
            loss.backward()

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for inputs, targets in batches(4, x, y):
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG403")
def step_outside_the_window(torch: Any):
    """Backward on every second batch, step on every one: half of them repeat the last gradient."""
    nn = torch.nn
    x, y = regression(torch, n=48)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        held = []
        for inputs, targets in batches(4, x, y):
            held.append((inputs, targets))
            if len(held) == 2:
                optimizer.zero_grad()
                many, wanted = (torch.cat(part) for part in zip(*held, strict=True))
                nn.functional.mse_loss(model(many), wanted).backward()
                held = []
            optimizer.step()  # bug: here

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        held = []
        for inputs, targets in [*batches(4, x, y), *batches(4, x, y)]:
            held.append((inputs, targets))
            if len(held) == 2:
                optimizer.zero_grad()
                many, wanted = (torch.cat(part) for part in zip(*held, strict=True))
                nn.functional.mse_loss(model(many), wanted).backward()
                held = []
                optimizer.step()

    return bug, fix


@pair("TG403")
def scalers_step_and_the_optimizers_own(torch: Any):
    """scaler.step(optimizer) has stepped already; optimizer.step() does it again."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu")
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.step()  # bug: here

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu")
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

    return bug, fix


@pair("TG404")
def loss_computed_once(torch: Any):
    """The prediction stands before the loop, and retain_graph=True makes the error go away."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        loss = nn.functional.mse_loss(model(x), y)  # bug: or here
        for _ in range(12):
            optimizer.zero_grad()
            loss.backward(retain_graph=True)  # bug: here
            optimizer.step()

    def fix():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG404")
def hidden_state_not_detached(torch: Any):
    """Truncated BPTT that is not truncated: retain_graph, and updates through .data that hide it."""
    nn = torch.nn
    x, y = waves(torch, n=4, length=24)

    def bug():
        rnn, head = nn.RNN(1, 6, batch_first=True), nn.Linear(6, 1)
        state = torch.zeros(1, 4, 6)
        for t in range(0, 24, 2):
            output, state = rnn(x[:, t : t + 2], state)  # bug: or here
            loss = nn.functional.mse_loss(head(output), y[:, t : t + 2])
            loss.backward(retain_graph=True)  # bug: here
            for p in [*rnn.parameters(), *head.parameters()]:
                p.data -= 0.1 * p.grad
                p.grad = None

    def fix():
        rnn, head = nn.RNN(1, 6, batch_first=True), nn.Linear(6, 1)
        state = torch.zeros(1, 4, 6)
        for t in range(0, 24, 2):
            output, state = rnn(x[:, t : t + 2], state.detach())
            loss = nn.functional.mse_loss(head(output), y[:, t : t + 2])
            loss.backward()
            for p in [*rnn.parameters(), *head.parameters()]:
                p.data -= 0.1 * p.grad
                p.grad = None

    return bug, fix
