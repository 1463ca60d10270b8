"""Rates that climb, are undone or are written where no step reads them."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression


@pair("TG912")
def cosine_climbs_again(torch: Any):
    """The cosine is over in the middle of the run, which ends at the top of it."""
    F, schedules = torch.nn.functional, torch.optim.lr_scheduler
    x, y = regression(torch)

    def train(scheduled):
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scheduler = scheduled(optimizer)
        for _ in range(8):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            scheduler.step()

    def bug():
        train(lambda optimizer: schedules.CosineAnnealingLR(optimizer, T_max=4))  # bug: here

    def fix():
        train(lambda optimizer: schedules.CosineAnnealingLR(optimizer, T_max=8))

    return bug, fix


@pair("TG912")
def stairs_that_go_up(torch: Any):
    """The factor of a staircase is written as its inverse."""
    F, schedules = torch.nn.functional, torch.optim.lr_scheduler
    x, y = classes(torch)

    def train(scheduled):
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
        scheduler = scheduled(optimizer)
        for _ in range(9):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            scheduler.step()

    def bug():
        train(lambda optimizer: schedules.MultiStepLR(optimizer, [2, 4, 6], gamma=5))  # bug: here

    def fix():
        train(lambda optimizer: schedules.MultiStepLR(optimizer, [2, 4, 6], gamma=0.2))

    return bug, fix


@pair("TG913")
def warm_up_lost_to_a_second_schedule(torch: Any):
    """Both functions compute the rate from its start: the one that is stepped last decides."""
    F, schedules = torch.nn.functional, torch.optim.lr_scheduler
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        first = schedules.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))
        second = schedules.LambdaLR(optimizer, lambda step: 0.9**step)
        for _ in range(9):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            first.step()  # bug: here
            second.step()  # bug: or here

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        both = schedules.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4) * 0.9**step)
        for _ in range(9):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            both.step()

    return bug, fix


@pair("TG913")
def warm_up_of_every_epoch(torch: Any):
    """The warm-up is made in the loop over epochs."""
    F, schedules = torch.nn.functional, torch.optim.lr_scheduler
    x, y = regression(torch, n=32)

    def epoch(model, optimizer, scheduler):
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(5):
            scheduler = schedules.LinearLR(optimizer, 0.5, total_iters=2)  # bug: here
            epoch(model, optimizer, scheduler)

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scheduler = schedules.LinearLR(optimizer, 0.5, total_iters=2)
        for _ in range(5):
            epoch(model, optimizer, scheduler)

    return bug, fix


@pair("TG914")
def rate_of_the_optimizer_as_an_attribute(torch: Any):
    """An optimizer has no rate of its own: its groups have."""
    F = torch.nn.functional
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(9):
            optimizer.lr = 0.05 / (1 + step)  # bug: here
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(9):
            optimizer.param_groups[0]["lr"] = 0.05 / (1 + step)
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()

    return bug, fix


@pair("TG914")
def rate_of_one_group_of_two(torch: Any):
    """Two groups, for a decay of weights and none of biases; only the first one's rate falls."""
    F = torch.nn.functional
    x, y = classes(torch)

    def made():
        model = perceptron(torch, 4, 8, 3)
        flat = [p for p in model.parameters() if p.dim() == 1]
        deep = [p for p in model.parameters() if p.dim() == 2]
        groups = [{"params": deep}, {"params": flat, "weight_decay": 0.0}]
        return model, torch.optim.AdamW(groups, lr=0.02)

    def bug():
        model, optimizer = made()
        for step in range(9):
            optimizer.param_groups[0]["lr"] = 0.02 * 0.8**step  # bug: here
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()  # bug: or here

    def fix():
        model, optimizer = made()
        for step in range(9):
            for group in optimizer.param_groups:
                group["lr"] = 0.02 * 0.8**step
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    return bug, fix
