"""Wrong backwards of custom functions, and graphs that are kept alive by a running total."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression


@pair("TG901")
def backward_ignores_what_comes_in(torch: Any):
    """The local slope is returned without the incoming gradient."""
    nn = torch.nn
    x, y = regression(torch)

    def train(activation):
        first, second = nn.Linear(4, 8), nn.Linear(8, 1)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(second(activation(first(x))), y).backward()
            optimizer.step()

    def bug():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):  # bug: or here
                (x,) = ctx.saved_tensors
                return 2 * x  # bug: here

        train(Square.apply)  # bug: or here

    def fix():
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * 2 * x

        train(Square.apply)

    return bug, fix


@pair("TG901")
def swish_without_its_second_term(torch: Any):
    """d(x σ(x)) = σ + x σ (1 - σ); only the first term is there."""
    nn = torch.nn
    x, y = classes(torch)

    def network(function):
        class Swish(nn.Module):
            def forward(self, x):
                return function.apply(x)

        return nn.Sequential(nn.Linear(4, 8), Swish(), nn.Linear(8, 3))

    def train(model):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    def bug():
        class SwishFunction(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * torch.sigmoid(x)

            @staticmethod
            def backward(ctx, g):  # bug: or here
                (x,) = ctx.saved_tensors
                return g * torch.sigmoid(x)  # bug: here

        train(network(SwishFunction))

    def fix():
        class SwishFunction(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * torch.sigmoid(x)

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                s = torch.sigmoid(x)
                return g * (s + x * s * (1 - s))

        train(network(SwishFunction))

    return bug, fix


@pair("TG901")
def gradients_in_the_wrong_order(torch: Any):
    """A gated product returns the gradient of each input in the place of the other."""
    nn = torch.nn
    x, y = regression(torch)

    def train(product):
        value, gate, head = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(8, 1)
        model = nn.ModuleList([value, gate, head])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            hidden = product.apply(value(x), gate(x).sigmoid())
            nn.functional.mse_loss(head(hidden), y).backward()
            optimizer.step()

    def bug():
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                return a * b

            @staticmethod
            def backward(ctx, g):  # bug: or here
                a, b = ctx.saved_tensors
                return g * a, g * b  # bug: here

        train(Product)

    def fix():
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                return a * b

            @staticmethod
            def backward(ctx, g):
                a, b = ctx.saved_tensors
                return g * b, g * a

        train(Product)

    return bug, fix


@pair("TG902")
def running_total_of_losses(torch: Any):
    """total += loss keeps the graph of every batch of the epoch."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        total = 0
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss  # bug: here
        return total / 12

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        total = 0
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        return total / 12

    return bug, fix


@pair("TG902")
def list_of_losses(torch: Any):
    """A history of losses for a plot, each with its graph."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        history = []
        for _ in range(14):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)  # bug: or here
            loss.backward()  # bug: or here
            optimizer.step()
            history.append(loss)  # bug: here
        return history

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        history = []
        for _ in range(14):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            history.append(loss.detach())
        return history

    return bug, fix


@pair("TG902")
def smoothed_loss_with_its_past(torch: Any):
    """0.9 * smooth + 0.1 * loss is a graph one step longer each time."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        class Meter:
            smooth = None

            def update(self, loss):
                old = loss if self.smooth is None else self.smooth
                self.smooth = 0.9 * old + 0.1 * loss  # bug: here

        model, meter = perceptron(torch, 4, 8, 3), Meter()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            meter.update(loss)  # bug: or here

    def fix():
        class Meter:
            smooth = None

            def update(self, loss):
                old = loss if self.smooth is None else self.smooth
                self.smooth = 0.9 * old + 0.1 * loss

        model, meter = perceptron(torch, 4, 8, 3), Meter()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            meter.update(loss.detach())

    return bug, fix


@pair("TG902")
def losses_in_a_log(torch: Any):
    """A dictionary for every step, with the loss in it."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        log = {}
        for step in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)  # bug: or here
            loss.backward()  # bug: or here
            optimizer.step()
            log[step] = {"loss": loss, "rate": 0.05}  # bug: here

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        log = {}
        for step in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            log[step] = {"loss": loss.item(), "rate": 0.05}

    return bug, fix
