"""Scaled, tiny and huge numbers: steps skipped on purpose, rates of 0, norms of any size."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import batches, classes, perceptron, regression


@sound("precision")
def scaler_skips_its_first_steps(torch: Any):
    """The first scale overflows; the scaler halves it until it fits, and no step was wrong."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**18)
        for _ in range(14):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                output = model(x)
            scaler.scale(F.mse_loss(output.float(), y)).backward()
            scaler.step(optimizer)
            scaler.update()

    return loop


@sound("precision")
def clipped_after_unscaling(torch: Any):
    """The documented order: scale, unscale_, clip, step, update; with accumulation."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch, n=96)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
        scaler = torch.amp.GradScaler("cpu")
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(inputs), targets) / 2
            scaler.scale(loss).backward()
            if i % 2 == 1:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad(set_to_none=True)

    return loop


@sound("precision")
def scaler_switched_off(torch: Any):
    """GradScaler(enabled=False) in a script for every machine: clipping needs no unscaling."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        scaler = torch.amp.GradScaler("cpu", enabled=False)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()

    return loop


@sound("precision")
def one_scaler_and_two_optimizers(torch: Any):
    """Two losses, both scaled; two optimizers, both stepped; one update."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        one, two = perceptron(torch, 4, 8, 1), perceptron(torch, 4, 4, 1)
        first = torch.optim.Adam(one.parameters(), lr=0.02)
        second = torch.optim.Adam(two.parameters(), lr=0.02)
        scaler = torch.amp.GradScaler("cpu", init_scale=512.0)
        for _ in range(10):
            first.zero_grad()
            second.zero_grad()
            scaler.scale(F.mse_loss(one(x), y)).backward()
            scaler.scale(F.l1_loss(two(x), y)).backward()
            scaler.step(first)
            scaler.step(second)
            scaler.update()

    return loop


@sound("precision")
def bfloat16_weights_with_a_master_copy(torch: Any):
    """The model is bfloat16; steps are taken on float32 copies and copied back, so nothing is lost."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1).bfloat16()
        masters = [p.detach().float().requires_grad_() for p in model.parameters()]
        optimizer = torch.optim.SGD(masters, lr=1e-4)
        for _ in range(12):
            model.zero_grad()
            F.mse_loss(model(x.bfloat16()).float(), y).backward()
            for master, p in zip(masters, model.parameters(), strict=True):
                master.grad = p.grad.float()
            optimizer.step()
            with torch.no_grad():
                for master, p in zip(masters, model.parameters(), strict=True):
                    p.copy_(master)

    return loop


@sound("precision")
def warm_up_from_a_rate_of_zero(torch: Any):
    """The first step has learning rate 0: nothing moves, and nothing should."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 6))
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            schedule.step()

    return loop


@sound("precision")
def sums_with_norms_of_ten_thousand(torch: Any):
    """A loss summed over everything has large gradients and a small rate."""
    F = torch.nn.functional
    x, y = regression(torch, n=256)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
        for _ in range(12):
            optimizer.zero_grad()
            F.mse_loss(model(10 * x), 100 * y, reduction="sum").backward()
            optimizer.step()

    return loop


@sound("precision")
def norms_below_a_millionth(torch: Any):
    """A regression in metres of what is measured in nanometres: tiny gradients that work."""
    x, y = regression(torch)

    def loop():
        w = torch.nn.Parameter(torch.zeros(4, 1))
        optimizer = torch.optim.SGD([w], lr=2e5)
        for _ in range(12):
            optimizer.zero_grad()
            (((1e-3 * x) @ w - 1e-3 * y) ** 2).mean().backward()
            optimizer.step()

    return loop


@sound("precision")
def one_batch_is_an_outlier(torch: Any):
    """One mislabelled batch gives a gradient a hundred times as large; it is clipped and passes."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch, n=96)
    y = y.clone()
    y[40:48] += 100

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    return loop


@sound("precision")
def infinite_slope_behind_a_relu(torch: Any):
    """x ** 0.45 at 0 has an infinite slope, but relu lets none of it through: gradients are finite."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.ReLU())
        nn.init.constant_(model[2].bias, 0.3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
        for _ in range(10):
            optimizer.zero_grad()
            F.l1_loss(model(x) ** 0.45, y.sigmoid()).backward()
            optimizer.step()

    return loop


@sound("precision")
def batch_without_labels(torch: Any):
    """All labels of one batch are ignored: its mean loss is NaN and its gradients are zeros."""
    F = torch.nn.functional
    x, y = classes(torch)
    y = y.clone()
    y[8:12] = -100

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        assert all(p.isfinite().all() for p in model.parameters())

    return loop


@sound("non-finite")
def steps_skipped_while_the_norm_is_not_finite(torch: Any):
    """A bad batch now and then gives NaN gradients; the norm is looked at, and no step uses them."""
    nn = torch.nn
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(30):
            inputs = x.clone()
            if step % 7 == 6:
                inputs[0] = float("nan")
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), y).backward()
            if torch.isfinite(nn.utils.clip_grad_norm_(model.parameters(), 1.0)):
                optimizer.step()

    return loop
