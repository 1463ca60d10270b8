"""Optimizers that never step, and steps of size 0, with what looks like them and is sound."""

from __future__ import annotations

from typing import Any

from .case import pair, sound
from .parts import perceptron, regression


@pair("TG405")
def no_step_at_all(torch: Any):
    """The loop computes gradients and clears them again."""
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()  # bug: here

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG405")
def a_step_without_parentheses(torch: Any):
    """`optimizer.step` is a name; it does nothing until it is called."""
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step  # bug: here

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    return bug, fix


@pair("TG702")
def a_learning_rate_of_zero(torch: Any):
    """A learning rate of 0 moves nothing."""
    x, y = regression(torch)

    def train(rate):
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)  # bug: or here
        for _ in range(50):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()  # bug: here

    def bug():
        train(0.0)

    def fix():
        train(0.01)

    return bug, fix


@sound("updates")
def gradients_that_are_studied(torch: Any):
    """An optimizer is there to clear gradients; their norms are what is wanted."""
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        norms = []
        for _ in range(8):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            norms.append([float(p.grad.norm()) for p in model.parameters()])
        return norms

    return loop


@sound("updates")
def weights_moved_beside_an_optimizer(torch: Any):
    """The update is a function of its own; the optimizer only clears."""
    x, y = regression(torch)

    def descend(model):
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.01 * p.grad

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(8):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            descend(model)

    return loop


@sound("updates")
def a_window_longer_than_the_run(torch: Any):
    """The step comes after sixteen backwards; the run has ten."""
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for i in range(10):
            (torch.nn.functional.mse_loss(model(x), y) / 16).backward()
            if (i + 1) % 16 == 0:
                optimizer.step()
                optimizer.zero_grad()

    return loop


@sound("updates")
def a_closure_makes_the_backwards(torch: Any):
    """LBFGS runs several backwards inside of its first step."""
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=6)

        def closure():
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            return loss

        optimizer.step(closure)

    return loop


@sound("updates")
def a_warm_up_whose_first_epoch_is_at_zero(torch: Any):
    """The scheduler steps once per epoch, and begins with 0."""
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: min(epoch / 3, 1.0))
        for _ in range(2):
            for _ in range(12):
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
            scheduler.step()

    return loop


@sound("updates")
def a_rate_set_by_hand_after_a_while(torch: Any):
    """The learning rate is 0 until the statistics have settled."""
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        for i in range(24):
            optimizer.param_groups[0]["lr"] = 0.01 if i >= 12 else 0.0
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    return loop


@sound("updates")
def a_group_that_rests(torch: Any):
    """A learning rate of 0 freezes the first layer's group."""
    x, y = regression(torch)

    def loop():
        first, last = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
        optimizer = torch.optim.SGD(
            [{"params": first.parameters(), "lr": 0.0}, {"params": last.parameters()}], lr=0.01
        )
        for _ in range(12):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(last(torch.tanh(first(x))), y).backward()
            optimizer.step()

    return loop
