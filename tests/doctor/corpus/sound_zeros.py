"""Gradients that are exactly 0 for many steps, as their author meant it: what comes close to TG409."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import perceptron, regression


@sound("losses")
def one_of_two_losses_waits_for_its_turn(torch: Any):
    """A penalty has the weight 0 for 30 steps; the error moves the same parameters from the start."""
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        for step in range(40):
            optimizer.zero_grad()
            out = model(x)
            weight = 0.0 if step < 30 else 0.1
            (torch.nn.functional.mse_loss(out, y) + weight * out.square().mean()).backward()
            optimizer.step()

    return loop


@sound("losses")
def a_head_with_its_own_optimizer_waits_for_its_turn(torch: Any):
    """All that the second optimizer holds gets a gradient of 0 for 25 steps; the first one learns."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        body, head = perceptron(torch, 4, 8, 1), torch.nn.Linear(4, 1)
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.02) for m in (body, head)]
        for step in range(40):
            for optimizer in optimizers:
                optimizer.zero_grad()
            (F.mse_loss(body(x), y) + float(step >= 25) * F.mse_loss(head(x), y)).backward()
            for optimizer in optimizers:
                optimizer.step()

    return loop


@sound("losses")
def a_weight_of_nothing_beside_an_update_by_hand(torch: Any):
    """An offset is fitted by hand first; the optimizer's part waits for it with the weight 0."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model, offset = perceptron(torch, 4, 8, 1), torch.zeros(1, requires_grad=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        for step in range(30):
            optimizer.zero_grad()
            F.mse_loss(float(step >= 25) * model(x) + offset, y).backward()
            optimizer.step()
            with torch.no_grad():
                offset -= 0.1 * offset.grad
                offset.grad = None

    return loop


@sound("losses")
def a_hinge_that_is_met_from_the_start(torch: Any):
    """All margins are kept already: the loss is 0, and so are its gradients."""
    x, y = regression(torch)
    sign = y.sign()

    def loop():
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        for _ in range(24):
            optimizer.zero_grad()
            out = model(x) + 100 * sign
            torch.relu(1 - out * sign).mean().backward()
            optimizer.step()

    return loop


@sound("losses")
def a_floor_under_the_loss(torch: Any):
    """Free bits: below the floor the term is a number without slope, and meant to be."""
    x, _ = regression(torch)

    def loop():
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        for _ in range(24):
            optimizer.zero_grad()
            (0.01 * model(x)).square().mean().clamp(min=0.5).backward()
            optimizer.step()

    return loop


@sound("agents")
def no_reward_for_many_episodes(torch: Any):
    """The reward is 0 until the goal is found, so the policy's gradient is as well."""
    x, _ = regression(torch)

    def loop():
        policy = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.02)
        for episode in range(30):
            choices = torch.distributions.Categorical(logits=policy(x))
            action = choices.sample()
            reward = (action == 0).float() * float(episode >= 25)
            optimizer.zero_grad()
            (-(choices.log_prob(action) * reward).mean()).backward()
            optimizer.step()

    return loop


@sound("frozen")
def gradients_taken_away_by_hand_at_first(torch: Any):
    """The first 25 steps only fill the optimizer's state: their gradients are set to 0 by hand."""
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        for step in range(30):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            if step < 25:
                for p in model.parameters():
                    p.grad.zero_()
            optimizer.step()

    return loop
