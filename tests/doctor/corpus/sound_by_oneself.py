"""Zeros, copies, draws and orders that come close to a mistake and are none."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import binary, classes, perceptron, regression


def _steps(torch: Any, model: Any, loss_of: Any, steps: int = 8, **options: Any) -> Any:
    def loop():
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, **options)
        for _ in range(steps):
            optimizer.zero_grad()
            loss_of(model).backward()
            optimizer.step()

    return loop


@sound("by oneself")
def dead_units_clipped_and_decayed(torch: Any):
    """Gradients that are 0 by themselves, changed in place by a clip, under weight decay."""
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        with torch.no_grad():
            model[0].bias[:2] = -100.0
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=0.1)
        for _ in range(8):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(torch.relu(model(x)), y).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()

    return loop


@sound("by oneself")
def labels_with_noise_around_them(torch: Any):
    """A binary cross entropy of labels that lie a little beside 0 and 1."""
    x, y = binary(torch)

    def loss_of(model):
        noisy = y + 0.05 * torch.rand(len(y), 1)
        return torch.nn.functional.binary_cross_entropy_with_logits(model(x), noisy)

    return _steps(torch, perceptron(torch, 4, 6, 1), loss_of)


@sound("by oneself")
def ties_beside_orders(torch: Any):
    """A ranking with 1, -1 and 0 for a tie."""
    x, y = binary(torch)
    order = (y - y.flip(0)).squeeze(1)

    def loss_of(model):
        one, other = model(x).squeeze(1), model(x.flip(0)).squeeze(1)
        return torch.nn.functional.margin_ranking_loss(one, other, order, margin=0.1)

    return _steps(torch, perceptron(torch, 4, 6, 1), loss_of)


@sound("by oneself")
def a_mixture_with_one_order(torch: Any):
    """Inputs and targets are mixed with one shuffle of the batch."""
    x, y = regression(torch)

    def loss_of(model):
        order = torch.randperm(len(x))
        out = model(0.7 * x + 0.3 * x[order])
        return torch.nn.functional.l1_loss(out, 0.7 * y + 0.3 * y[order])

    return _steps(torch, perceptron(torch, 4, 6, 1), loss_of)


@sound("by oneself")
def a_ratio_that_begins_at_one(torch: Any):
    """The log-probabilities of before and now are equal, and their ratio has a gradient."""
    x, y = classes(torch)

    def loss_of(model):
        log_p = torch.log_softmax(model(x), 1).gather(1, y.unsqueeze(1))
        return -torch.exp(log_p - log_p.detach()).mean()

    return _steps(torch, perceptron(torch, 4, 6, 3), loss_of)


@sound("by oneself")
def a_penalty_of_one_number_for_a_sample(torch: Any):
    """The gradient has one axis beside the samples."""
    x, _ = regression(torch)

    def loss_of(model):
        given = x.clone().requires_grad_()
        (slopes,) = torch.autograd.grad(model(given).sum(), given, create_graph=True)
        return (slopes.norm(2, dim=1) - 1).square().mean()

    return _steps(torch, perceptron(torch, 4, 6, 1), loss_of)


@sound("by oneself")
def rows_that_come_once(torch: Any):
    """Some rows are added to, each of them once."""
    x, y = regression(torch)
    some = torch.arange(0, 32, 2)

    def loss_of(model):
        out = torch.zeros(32, 1)
        out[some] += model(x)[some]
        return torch.nn.functional.mse_loss(out, y)

    return _steps(torch, perceptron(torch, 4, 6, 1), loss_of)


@sound("by oneself")
def an_action_and_its_likelihood(torch: Any):
    """One draw is acted on and judged; a second one only looks ahead."""
    x, _ = regression(torch)

    def loss_of(policy):
        distribution = torch.distributions.Categorical(logits=policy(x))
        action, glance = distribution.sample(), distribution.sample()
        reward = (action == 1).float() - 0.1 * (glance == 1).float()
        return -(distribution.log_prob(action) * reward).mean()

    return _steps(torch, perceptron(torch, 4, 6, 3), loss_of)
