"""Terms of a loss that are numbers to the gradient, and differences of a value and itself."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import perceptron, regression


@pair("TG410")
def penalty_computed_in_numpy(torch: Any):
    """The smoothness of the output is measured in NumPy, weighted and added."""
    F = torch.nn.functional
    x, y = regression(torch)

    def run(roughness):
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(8):
            optimizer.zero_grad()
            out = model(x)
            loss = F.mse_loss(out, y) + 0.1 * roughness(out)
            loss.backward()
            optimizer.step()

    def smooth(out):
        return (out[1:] - out[:-1]).square().mean()

    def rough(out):
        values = out.detach().numpy()  # bug: here
        return float(((values[1:] - values[:-1]) ** 2).mean())

    return lambda: run(rough), lambda: run(smooth)


@pair("TG410")
def penalty_on_a_gradient_without_a_graph(torch: Any):
    """The gradient with respect to the input is asked for without create_graph."""
    F = torch.nn.functional
    x, y = regression(torch)

    def run(slope_of):
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(8):
            optimizer.zero_grad()
            given = x.clone().requires_grad_()
            out = model(given)
            (F.mse_loss(out, y) + slope_of(out, given).square().mean()).backward()
            optimizer.step()

    def number(out, given):
        return torch.autograd.grad(out.sum(), given, retain_graph=True)[0]  # bug: here

    def recorded(out, given):
        return torch.autograd.grad(out.sum(), given, create_graph=True)[0]

    return lambda: run(number), lambda: run(recorded)


@pair("TG411")
def advantage_over_itself(torch: Any):
    """The ratio of the new probabilities to the new ones, with their history."""
    x, _ = regression(torch)

    def run(is_wrong):
        policy = perceptron(torch, 4, 6, 2)
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
        gain = torch.linspace(-1, 2, len(x))
        for _ in range(10):
            optimizer.zero_grad()
            new = policy(x).log_softmax(1)[:, 0]
            old = new if is_wrong else new.detach()
            ratio = torch.exp(new - old)  # bug: here
            (-(ratio * gain).mean()).backward()
            optimizer.step()

    return lambda: run(True), lambda: run(False)


@pair("TG411")
def pair_of_the_same_item(torch: Any):
    """A ranking loss whose two items are one."""
    F = torch.nn.functional
    good, bad = torch.randn(16, 4), torch.randn(16, 4)

    def run(is_wrong):
        score = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.Adam(score.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            better, worse = score(good), score(good if is_wrong else bad)
            margin = better - worse  # bug: here
            F.softplus(-margin).mean().backward()
            optimizer.step()

    return lambda: run(True), lambda: run(False)
