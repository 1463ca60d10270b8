"""Numbers in a loss, differences and arguments that look like mistakes and are none."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import perceptron, regression


@sound("terms")
def a_term_shown_and_not_trained(torch: Any):
    """The second loss is detached as a whole: it is in the sum to be shown."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            out = model(x)
            shown = F.l1_loss(out[:, 1:], y).detach()
            (F.mse_loss(out, y.expand(-1, 2)) + shown).backward()
            optimizer.step()

    return loop


@sound("terms")
def a_log_sum_by_hand(torch: Any):
    """The largest exponent is taken out as a number, and added again."""
    x, _ = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            energy = model(x)
            top = energy.max().item()
            (top + (energy - top).exp().sum().log()).backward()
            optimizer.step()

    return loop


@sound("terms")
def the_value_of_one_loss_and_the_gradient_of_another(torch: Any):
    """The loss shows one number and follows a surrogate."""
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            out = model(x)
            shown = (out - y).abs().mean().detach()
            surrogate = (out - y).square().mean()
            (shown + surrogate - surrogate.detach()).backward()
            optimizer.step()

    return loop


@sound("terms")
def a_number_from_another_model(torch: Any):
    """What is added depends on a network that this step does not move."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model, judge = perceptron(torch, 4, 6, 1), perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            with torch.no_grad():
                floor = F.mse_loss(judge(x), y)
            (F.mse_loss(model(x), y) - floor).backward()
            optimizer.step()

    return loop


@sound("terms")
def positions_as_targets(torch: Any):
    """Every batch has the same targets, and a sample comes in another place of it."""
    F = torch.nn.functional
    x = torch.randn(32, 4)

    def loop():
        model = torch.nn.Linear(4, 4)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        places = torch.linspace(-1, 1, 32).view(32, 1)
        for _ in range(8):
            rows = x[torch.randperm(32)]
            optimizer.zero_grad()
            F.mse_loss(model(rows).mean(1, keepdim=True).cumsum(0), places).backward()
            optimizer.step()

    return loop


@sound("terms")
def targets_that_an_agent_revises(torch: Any):
    """The same states come again, each time with a better estimate."""
    F = torch.nn.functional
    states, rewards = torch.randn(32, 4), torch.randn(32, 1)

    def loop():
        value = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(value.parameters(), lr=0.05)
        for _ in range(8):
            rows = torch.randperm(32)
            with torch.no_grad():
                wanted = rewards[rows] + 0.9 * value(states[rows].roll(1, 0))
            optimizer.zero_grad()
            F.mse_loss(value(states[rows]), wanted).backward()
            optimizer.step()

    return loop


@sound("terms")
def a_control_branch_that_starts_at_zero(torch: Any):
    """The condition has no effect at first, because its last layer is zero; then it has."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    hint = torch.randn(len(x), 4)

    class Controlled(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.control = nn.Linear(4, 1), nn.Linear(4, 1)
            nn.init.zeros_(self.control.weight)
            nn.init.zeros_(self.control.bias)

        def forward(self, x, hint):
            return self.body(x) + self.control(hint)

    def loop():
        model = Controlled()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            F.mse_loss(model(x, hint), y).backward()
            optimizer.step()

    return loop


@sound("terms")
def a_hint_that_only_training_uses(torch: Any):
    """The right answer is fed in while training, and not in eval mode."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Forced(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 1), nn.Linear(1, 1)

        def forward(self, x, answer):
            guess = self.first(x)
            fed = answer if self.training else guess
            return guess + self.second(fed.roll(1, 0))

    def loop():
        model = Forced()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            F.mse_loss(model(x, y), y).backward()
            optimizer.step()

    return loop


@sound("terms")
def one_cycle_counted_in_epochs(torch: Any):
    """The cycle is as long as there are epochs, and is stepped once in each."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=6)
        for _ in range(5):
            for i in range(0, len(x), 8):
                optimizer.zero_grad()
                F.mse_loss(model(x[i : i + 8]), y[i : i + 8]).backward()
                optimizer.step()
            scheduler.step()

    return loop


@sound("terms")
def a_perturbation_that_is_moved_by_hand(torch: Any):
    """A tensor of zeros is added to the input and climbs; no optimizer holds it, and none should."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        shift = torch.zeros(1, 4, requires_grad=True)
        for _ in range(10):
            optimizer.zero_grad()
            F.mse_loss(model(x + shift), y).backward()
            optimizer.step()
            with torch.no_grad():
                shift += 0.01 * shift.grad.sign()
                shift.grad.zero_()

    return loop


@sound("terms")
def another_seed_for_every_step(torch: Any):
    """Each step can be repeated by itself: its seed is its number."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(10):
            torch.manual_seed(step)
            optimizer.zero_grad()
            F.mse_loss(model(x + 0.1 * torch.randn_like(x)), y).backward()
            optimizer.step()

    return loop


@sound("terms")
def a_seed_that_nothing_is_drawn_after(torch: Any):
    """The seed is set in the loop of a program that draws nothing."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(10):
            torch.manual_seed(0)
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()

    return loop
