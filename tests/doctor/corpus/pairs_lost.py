"""Updates that are lost: below the weights' own rounding, skipped for ever, or written nowhere."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression


@pair("TG702")
def bfloat16_weights_and_a_small_rate(torch: Any):
    """bfloat16 has 8 bits: a weight of 0.4 does not move by 0.0001."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1).to(torch.bfloat16)  # bug: or here
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)  # bug: or here
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.bfloat16()), y.bfloat16())
            loss.backward()
            optimizer.step()  # bug: here

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
        for _ in range(12):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG702")
def bfloat16_fine_tuning_with_adam(torch: Any):
    """Adam's step is the learning rate, 1e-5, whatever the gradient: too little for bfloat16."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3).bfloat16()  # bug: or here
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.0)  # bug: or here
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs.bfloat16()), targets).backward()
            optimizer.step()  # bug: here

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.0)
        for _epoch in range(2):
            for inputs, targets in batches(8, x, y):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs), targets).backward()
                optimizer.step()

    return bug, fix


@pair("TG702")
def float16_averaged_weights(torch: Any):
    """Momentum-free SGD on float16 weights near 1: steps of 1e-4 round away."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        scale = nn.Parameter(torch.full((4,), 1.5, dtype=torch.float16))  # bug: or here
        optimizer = torch.optim.SGD([scale], lr=1e-5)  # bug: or here
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss((x * scale.float()).sum(1, keepdim=True), y)
            loss.backward()
            optimizer.step()  # bug: here

    def fix():
        scale = nn.Parameter(torch.full((4,), 1.5))
        optimizer = torch.optim.SGD([scale], lr=1e-5)
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss((x * scale).sum(1, keepdim=True), y)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG702")
def scaler_skips_every_step(torch: Any):
    """The scale is set back to the same large number after every step that overflowed."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24)  # bug: or here
        for _ in range(12):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                output = model(x)
            loss = nn.functional.mse_loss(output.float(), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)  # bug: here
            scaler.update(new_scale=2.0**24)  # bug: or here

    def fix():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**17)
        for _ in range(12):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                output = model(x)
            loss = nn.functional.mse_loss(output.float(), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

    return bug, fix


@pair("TG702")
def update_by_hand_rebinds_a_name(torch: Any):
    """`p = p - lr * p.grad` makes a new tensor; the parameter stays where it was."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = nn.Linear(4, 1)
        for _ in range(12):
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()  # bug: or here
            with torch.no_grad():
                for p in model.parameters():
                    p = p - 0.05 * p.grad  # bug: here
            model.zero_grad()  # bug: or here

    def fix():
        model = nn.Linear(4, 1)
        for _ in range(12):
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p.sub_(0.05 * p.grad)
            model.zero_grad()

    return bug, fix


@pair("TG702")
def update_of_a_flat_copy(torch: Any):
    """All weights in one vector are updated; the vector is a copy and is never put back."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        for inputs, targets in batches(4, x, y):
            model.zero_grad()  # bug: or here
            nn.functional.cross_entropy(model(inputs), targets).backward()  # bug: or here
            with torch.no_grad():
                flat = nn.utils.parameters_to_vector(model.parameters())
                flat -= 0.2 * torch.cat([p.grad.flatten() for p in model.parameters()])  # bug: here

    def fix():
        model = perceptron(torch, 4, 8, 3)
        for inputs, targets in batches(4, x, y):
            model.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            with torch.no_grad():
                flat = nn.utils.parameters_to_vector(model.parameters())
                flat -= 0.2 * torch.cat([p.grad.flatten() for p in model.parameters()])
                nn.utils.vector_to_parameters(flat, model.parameters())

    return bug, fix


@pair("TG702")
def a_rate_too_small_for_far_weights(torch: Any):
    """No weight of float32 moves; that the bias's gradient is 0 now and then does not hide it."""
    F = torch.nn.functional

    def train(rate):
        model = torch.nn.Linear(4, 4)
        with torch.no_grad():
            model.weight.add_(100.0)
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        for _ in range(12):
            x = torch.randn(4, 4)
            optimizer.zero_grad()
            F.l1_loss(model(x), x).backward()
            optimizer.step()  # bug: here

    return (lambda: train(1e-9)), (lambda: train(1e-2))
