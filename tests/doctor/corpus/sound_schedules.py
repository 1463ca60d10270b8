"""Schedules, groups, logging and evaluation between steps, in the many ways people write them."""

from __future__ import annotations

import copy
from typing import Any

from .case import sound
from .parts import batches, classes, loader, perceptron, regression


@sound("schedules")
def schedule_of_every_step(torch: Any):
    """OneCycleLR is stepped after every optimizer step."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=12)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            schedule.step()

    return loop


@sound("schedules")
def schedule_of_every_epoch(torch: Any):
    """Warm-up and cosine chained, stepped once per epoch."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
        schedulers = torch.optim.lr_scheduler
        warm_up = schedulers.LinearLR(optimizer, 0.1, total_iters=2)
        cosine = schedulers.CosineAnnealingLR(optimizer, T_max=2)
        schedule = schedulers.SequentialLR(optimizer, [warm_up, cosine], milestones=[2])
        for _epoch in range(4):
            for inputs, targets in loader(torch, x, y, batch_size=16):
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
            schedule.step()

    return loop


@sound("schedules")
def schedule_of_the_validation_loss(torch: Any):
    """ReduceLROnPlateau after a validation in eval mode, with early stopping and the best kept."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        best, kept, waited = float("inf"), None, 0
        for _epoch in range(6):
            model.train()
            for inputs, targets in batches(8, x[:24], y[:24]):
                optimizer.zero_grad()
                F.mse_loss(model(inputs), targets).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                validation = F.mse_loss(model(x[24:]), y[24:]).item()
            schedule.step(validation)
            if validation < best:
                best, kept, waited = validation, copy.deepcopy(model.state_dict()), 0
            elif (waited := waited + 1) == 3:
                break
        model.load_state_dict(kept)

    return loop


@sound("schedules")
def rate_set_by_hand(torch: Any):
    """The learning rate is written into the groups, with decay only for the matrices."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        groups = [
            {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.1},
            {"params": [p for p in model.parameters() if p.ndim == 1], "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=0.02)
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            for group in optimizer.param_groups:
                group["lr"] = 0.02 * min(1.0, (i + 1) / 4)
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    return loop


@sound("schedules")
def losses_logged_in_many_ways(torch: Any):
    """item(), float(), detach() and a moving average: none of them keeps a graph."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        total, history, smooth, last = 0.0, [], None, None
        for _ in range(14):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
            history.append(float(loss.detach()))
            smooth = loss.detach() if smooth is None else 0.9 * smooth + 0.1 * loss.detach()
            last = loss
        return total, history, smooth, last

    return loop


@sound("schedules")
def evaluation_between_steps(torch: Any):
    """Every few steps: eval, no_grad, accuracy, a prediction in inference_mode, and train again."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            model.train()
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            if i % 3 == 2:
                model.eval()
                with torch.no_grad():
                    (model(x).argmax(dim=1) == y).float().mean().item()
                with torch.inference_mode():
                    model(x[:1])

    return loop


@sound("schedules")
def evaluation_without_no_grad(torch: Any):
    """Validation builds a graph and drops it; wasteful, and harmless."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _epoch in range(3):
            model.train()
            for inputs, targets in batches(8, x, y):
                optimizer.zero_grad()
                F.mse_loss(model(inputs), targets).backward()
                optimizer.step()
            model.eval()
            F.mse_loss(model(x), y).item()

    return loop


@sound("schedules")
def trained_in_eval_throughout(torch: Any):
    """Fine-tuning with dropout and batch norm off from the first step on: a decision, not a slip."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
        model.eval()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    return loop


@sound("schedules")
def uncertainty_from_dropout(torch: Any):
    """Monte Carlo dropout: in evaluation, the dropout layers alone are set to train."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _epoch in range(3):
            model.train()
            for inputs, targets in batches(8, x, y):
                optimizer.zero_grad()
                F.mse_loss(model(inputs), targets).backward()
                optimizer.step()
            model.eval()
            for module in model.modules():
                if isinstance(module, nn.Dropout):
                    module.train()
            with torch.no_grad():
                torch.stack([model(x) for _ in range(4)]).std(dim=0)

    return loop


@sound("schedules")
def resumed_from_a_checkpoint(torch: Any):
    """After half of the steps, model, optimizer and schedule are rebuilt from their saved states."""
    F = torch.nn.functional
    x, y = regression(torch)

    def build():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        return model, optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)

    def loop():
        parts = build()
        for step in range(14):
            if step == 7:
                states = [copy.deepcopy(part.state_dict()) for part in parts]
                parts = build()
                for part, state in zip(parts, states, strict=True):
                    part.load_state_dict(state)
            model, optimizer, schedule = parts
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            schedule.step()

    return loop


@sound("schedules")
def tied_word_vectors_and_two_views(torch: Any):
    """Weights tied on purpose, used twice in one graph, with a view of them in the loss."""
    nn, F = torch.nn, torch.nn.functional
    words = torch.randint(7, (12, 4))

    def loop():
        embedding, head = nn.Embedding(7, 6), nn.Linear(6, 7, bias=False)
        head.weight = embedding.weight
        model = nn.Sequential(embedding, nn.LayerNorm(6), head)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            logits = model(words).flatten(0, 1)
            loss = F.cross_entropy(logits, words.roll(-1, 1).flatten())
            (loss + 1e-3 * embedding.weight.view(-1).pow(2).sum()).backward()
            optimizer.step()

    return loop
