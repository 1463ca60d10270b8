"""Rates that climb, are set by hand, begin again or part, and are meant to."""

from __future__ import annotations

import copy
from typing import Any

from .case import sound
from .parts import batches, classes, perceptron, regression


@sound("rates")
def cosine_cycles_that_end_at_the_bottom(torch: Any):
    """Three half periods of a cosine: down, up, and down to the end of the run."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8, eta_min=1e-3)
        for _ in range(24):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            scheduler.step()

    return loop


@sound("rates")
def cosine_stepped_twice_too_often(torch: Any):
    """The last batches come after the end of the cosine, whose rate is still as good as nothing."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
        for _ in range(22):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            scheduler.step()

    return loop


@sound("rates")
def rate_that_is_looked_for(torch: Any):
    """A range test: the rate grows by the same factor from batch to batch."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        start = copy.deepcopy(model.state_dict())
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=1.5)
        for _ in range(20):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            scheduler.step()
        model.load_state_dict(start)

    return loop


@sound("rates")
def warm_up_by_hand_before_a_schedule(torch: Any):
    """The first steps scale the rate by hand; then the schedule alone sets it."""
    F = torch.nn.functional
    x, y = classes(torch, n=64)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        step = 0
        for _ in range(8):
            for inputs, targets in batches(16, x, y):
                if step < 6:
                    for group in optimizer.param_groups:
                        group["lr"] = 0.02 * (step + 1) / 6
                step += 1
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
            scheduler.step()

    return loop


@sound("rates")
def rate_in_proportion_to_the_schedule(torch: Any):
    """Each batch's rate is the schedule's, times the share of the batch that is there."""
    F = torch.nn.functional
    x, y = regression(torch, n=64)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
        for _ in range(6):
            rate = scheduler.get_last_lr()[0]
            for inputs, targets in batches(16, x, y):
                for group in optimizer.param_groups:
                    group["lr"] = 0.5 * rate
                optimizer.zero_grad()
                F.mse_loss(model(inputs), targets).backward()
                optimizer.step()
            for group in optimizer.param_groups:
                group["lr"] = rate
            scheduler.step()

    return loop


@sound("rates")
def two_schedules_that_multiply(torch: Any):
    """A linear warm-up and an exponential decay work together: both multiply."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        schedulers = torch.optim.lr_scheduler
        warm_up = schedulers.LinearLR(optimizer, 0.1, total_iters=5)
        decay = schedulers.ExponentialLR(optimizer, 0.95)
        for _ in range(20):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            warm_up.step()
            decay.step()

    return loop


@sound("rates")
def cycles_made_anew_by_hand(torch: Any):
    """Every cycle sets the rate back and makes its own cosine, which goes to its end."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for cycle in range(4):
            for group in optimizer.param_groups:
                group["lr"] = 0.05 * 0.8**cycle
            scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)
            for _ in range(8):
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
                scheduler.step()

    return loop


@sound("rates")
def folds_with_a_schedule_each(torch: Any):
    """Cross-validation: every fold has its own model, optimizer and schedule, made in the same lines."""
    F = torch.nn.functional
    x, y = regression(torch, n=40)

    def loop():
        for fold in range(5):
            model = perceptron(torch, 4, 8, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
            scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.2, total_iters=3)
            kept = [i for i in range(40) if i % 5 != fold]
            for _ in range(5):
                optimizer.zero_grad()
                F.mse_loss(model(x[kept]), y[kept]).backward()
                optimizer.step()
                scheduler.step()

    return loop


@sound("rates")
def head_and_body_with_rates_of_their_own(torch: Any):
    """Only the head's rate decays; the body's, which is smaller, is meant to stay."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch, n=48)

    def loop():
        body, head = nn.Linear(4, 8), nn.Linear(8, 3)
        groups = [
            {"params": head.parameters(), "lr": 0.05},
            {"params": body.parameters(), "lr": 1e-3},
        ]
        optimizer = torch.optim.SGD(groups)
        for epoch in range(8):
            optimizer.param_groups[0]["lr"] = 0.05 * 0.7**epoch
            for inputs, targets in batches(16, x, y):
                optimizer.zero_grad()
                F.cross_entropy(head(torch.tanh(body(inputs))), targets).backward()
                optimizer.step()

    return loop


@sound("rates")
def resumed_with_its_schedule(torch: Any):
    """Model, optimizer and schedule are loaded, and go on where they were."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        def made():
            model = perceptron(torch, 4, 8, 1)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
            return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.5)

        def train(model, optimizer, scheduler):
            for _ in range(10):
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
                scheduler.step()

        first = made()
        train(*first)
        states = [copy.deepcopy(part.state_dict()) for part in first]
        second = made()
        for part, state in zip(second, states, strict=True):
            part.load_state_dict(state)
        train(*second)

    return loop


@sound("rates")
def plateau_of_a_full_batch(torch: Any):
    """One batch is all there is: its loss is given to the schedule after every step, until it converges."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = torch.nn.Linear(4, 1).double()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3, factor=0.1)
        for _ in range(60):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x.double()), y.double())
            loss.backward()
            optimizer.step()
            scheduler.step(loss.item())

    return loop


@sound("rates")
def stairs_of_batches(torch: Any):
    """Milestones that count batches, spread over all epochs."""
    F = torch.nn.functional
    x, y = regression(torch, n=64)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        stairs = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[12, 24, 36])
        for _ in range(12):
            for inputs, targets in batches(16, x, y):
                optimizer.zero_grad()
                F.mse_loss(model(inputs), targets).backward()
                optimizer.step()
                stairs.step()

    return loop


@sound("rates")
def stairs_in_every_trial(torch: Any):
    """Several trials of a run whose stairs come once per epoch: the trials are as many as the first stair."""
    F = torch.nn.functional
    x, y = regression(torch)

    def train():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        stairs = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
        for _ in range(12):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            stairs.step()

    def loop():
        for _ in range(4):
            train()

    return loop


@sound("rates")
def hook_that_keeps_some_rows(torch: Any):
    """A hook masks the rows of the embedding that were loaded, and lets the new ones learn."""
    nn, F = torch.nn, torch.nn.functional
    y = classes(torch)[1]

    def loop():
        table, head = nn.Embedding(6, 8), nn.Linear(8, 3)
        mask = (torch.arange(6) >= 3).float().unsqueeze(1)
        table.weight.register_hook(lambda g: g * mask)
        optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)
        words = torch.arange(48) % 6
        for _ in range(16):
            optimizer.zero_grad()
            F.cross_entropy(head(table(words)), y).backward()
            optimizer.step()

    return loop


@sound("rates")
def function_that_leaves_out_what_is_not_trained(torch: Any):
    """A Function's backward gives None for a table that is not trained, and for a number."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, table, factor):
            ctx.save_for_backward(table)
            ctx.factor = factor
            return x * table * factor

        @staticmethod
        def backward(ctx, g):
            (table,) = ctx.saved_tensors
            return g * table * ctx.factor, None, None

    def loop():
        table = torch.linspace(0.5, 1.5, 4)
        body, head = nn.Linear(4, 4), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
        for _ in range(16):
            optimizer.zero_grad()
            F.mse_loss(head(Scaled.apply(body(x), table, 0.5)), y).backward()
            optimizer.step()

    return loop
