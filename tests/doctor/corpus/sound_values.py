"""Sound loops with losses that nobody reads at first sight, equal terms, and draws."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import classes, perceptron, regression


@sound("values")
def best_of_several(torch: Any):
    """The smallest of some losses is taken: the others are compared."""
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(6):
            optimizer.zero_grad()
            best = None
            for i in range(3):
                loss = (model(x)[:, i : i + 1] - y).square().mean()
                if best is None or loss < best:
                    best = loss
            best.backward()
            optimizer.step()

    return loop


@sound("values")
def measured_with_gradients(torch: Any):
    """Validation without no_grad, by the function that training uses; its losses are summed as numbers."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 6, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def run(train):
            total = 0.0
            for i in range(0, 8, 4):
                loss = F.cross_entropy(model(x[i : i + 4]), y[i : i + 4])
                if train:
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                total += loss.item()
            return total

        for _ in range(4):
            run(True)
            run(False)

    return loop


@sound("values")
def shown_now_and_then(torch: Any):
    """A second loss is made in every step and printed in the last."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

        def losses():
            out = model(x)
            loss = F.l1_loss(out, y)
            shown = loss
            loss = F.mse_loss(out, y)
            return loss, shown

        for step in range(6):
            loss, shown = losses()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step == 5:
                shown.item()

    return loop


@sound("values")
def two_passes_of_dropout(torch: Any):
    """R-Drop: the same batch goes through the model twice, and dropout makes two of it."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 3)
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(6):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y) + F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()

    return loop


@sound("values")
def gradient_steps_inside_of_a_step(torch: Any):
    """MAML: inner losses get one name, and each has been differentiated."""
    x, y = regression(torch)

    def loop():
        w = torch.nn.Parameter(torch.zeros(4, 1))
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(6):
            optimizer.zero_grad()
            fast = w
            for _ in range(3):
                loss = (x @ fast - y).square().mean()
                (slope,) = torch.autograd.grad(loss, fast, create_graph=True)
                fast = fast - 0.1 * slope
            loss = (x @ fast - y).square().mean()
            loss.backward()
            optimizer.step()

    return loop


@sound("values")
def policy_of_one_number(torch: Any):
    """A Gaussian policy of a single action: the draw meets its mean in log_prob."""
    Normal = torch.distributions.Normal

    def loop():
        policy, value = perceptron(torch, 3, 6, 1), perceptron(torch, 3, 6, 1)
        optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=0.01)
        for _ in range(6):
            state = torch.randn(1, 3)
            belief = Normal(policy(state), torch.ones(1, 1))
            action = belief.sample()
            reward = -(action - state[:, :1]).square()
            advantage = reward - value(state).detach()
            chance = belief.log_prob(action)
            loss = -(chance * advantage).mean() + (value(state) - reward).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return loop


@sound("values")
def noise_on_the_generated(torch: Any):
    """The judge's step on images with noise, which are drawn around what the generator makes."""
    F = torch.nn.functional
    real = torch.randn(8, 2) + 2

    def loop():
        generator, judge = perceptron(torch, 3, 6, 2), perceptron(torch, 2, 6, 1)
        g = torch.optim.SGD(generator.parameters(), lr=0.01)
        d = torch.optim.SGD(judge.parameters(), lr=0.01)
        for _ in range(6):
            fake = generator(torch.randn(8, 3))
            noisy = torch.normal(fake, 0.1 * torch.ones_like(fake))
            d.zero_grad()
            (F.softplus(judge(noisy)).mean() + F.softplus(-judge(real)).mean()).backward()
            d.step()
            g.zero_grad()
            fake = generator(torch.randn(8, 3))
            F.softplus(-judge(fake + 0.1 * torch.randn_like(fake))).mean().backward()
            g.step()

    return loop
