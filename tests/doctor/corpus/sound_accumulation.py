"""Windows of several backwards that are right: divided, summed, short at the end, with two losses."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import batches, classes, loader, perceptron, regression, sentences


@sound("accumulation")
def divided_window_with_a_correct_short_end(torch: Any):
    """Windows of four, the last of two, each divided by its own length."""
    nn = torch.nn
    x, y = classes(torch, n=48)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        data = list(batches(8, x, y))
        for _epoch in range(6):
            for start in range(0, len(data), 4):
                window = data[start : start + 4]
                for inputs, targets in window:
                    loss = nn.functional.cross_entropy(model(inputs), targets)
                    (loss / len(window)).backward()
                optimizer.step()
                optimizer.zero_grad()

    return loop


@sound("accumulation")
def sums_divided_by_all_labels(torch: Any):
    """Unequal batches with padding: sums of losses over the count of labels of the window."""
    nn = torch.nn
    x, y = sentences(torch, n=24)
    y = y.clone()
    y[::3, 2:] = -100

    def loop():
        model = nn.Sequential(nn.Embedding(11, 8), nn.Tanh(), nn.Linear(8, 11))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _epoch in range(4):
            for words, following in batches(10, x, y):
                optimizer.zero_grad()
                labels = (following != -100).sum()
                for part, wanted in batches(4, words, following):
                    logits = model(part).transpose(1, 2)
                    loss = nn.functional.cross_entropy(logits, wanted, reduction="sum")
                    (loss / labels).backward()
                optimizer.step()

    return loop


@sound("accumulation")
def gradients_divided_after_the_window(torch: Any):
    """The losses are not divided; the summed gradients are, before the step."""
    nn = torch.nn
    x, y = regression(torch, n=96)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            nn.functional.mse_loss(model(inputs), targets).backward()
            if (i + 1) % 2 == 0:
                for p in model.parameters():
                    p.grad /= 2
                optimizer.step()
                optimizer.zero_grad()

    return loop


@sound("accumulation")
def two_losses_one_step(torch: Any):
    """Two losses of one graph go backward one after the other, with retain_graph, before one step."""
    nn = torch.nn
    x, y = regression(torch)

    def loop():
        trunk, left, right = perceptron(torch, 4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
        model = nn.ModuleList([trunk, left, right])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            hidden = torch.tanh(trunk(x))
            nn.functional.mse_loss(left(hidden), y).backward(retain_graph=True)
            nn.functional.l1_loss(right(hidden), y).backward()
            optimizer.step()

    return loop


@sound("accumulation")
def cleared_through_data(torch: Any):
    """`p.grad.data.zero_()` clears and leaves no trace in the version."""
    nn = torch.nn
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            for p in model.parameters():
                if p.grad is not None:
                    p.grad.data.zero_()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    return loop


@sound("accumulation")
def cleared_by_multiplying_with_zero(torch: Any):
    """`p.grad *= 0` is a way to clear as well."""
    nn = torch.nn
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            nn.functional.smooth_l1_loss(model(x), y).backward()
            optimizer.step()
            for p in model.parameters():
                p.grad *= 0

    return loop


@sound("accumulation")
def summed_losses_of_a_window(torch: Any):
    """reduction="sum": nothing is to be divided, and norms are in the thousands."""
    nn = torch.nn
    x, y = regression(torch, n=96)
    x, y = 30 * x, 100 * y

    def loop():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=2e-6)
        for _epoch in range(10):
            for inputs, targets in batches(24, x, y):
                nn.functional.mse_loss(model(inputs), targets, reduction="sum").backward()
            optimizer.step()
            optimizer.zero_grad()

    return loop


@sound("accumulation")
def window_that_skips_synchronisation(torch: Any):
    """As with no_sync: all but the last backward of a window run inside a context."""
    import contextlib

    nn = torch.nn
    x, y = classes(torch, n=96)

    def loop():
        class Replica:
            synchronised = True

            @contextlib.contextmanager
            def no_sync(self):
                self.synchronised = False
                yield
                self.synchronised = True

        model, replica = perceptron(torch, 4, 8, 3), Replica()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            last = (i + 1) % 2 == 0
            with contextlib.nullcontext() if last else replica.no_sync():
                (nn.functional.cross_entropy(model(inputs), targets) / 2).backward()
            if last:
                optimizer.step()
                optimizer.zero_grad()

    return loop


@sound("accumulation")
def last_batch_is_empty_or_short(torch: Any):
    """A filter leaves some batches short and one empty; the empty one is passed over."""
    nn = torch.nn
    x, y = classes(torch, n=50)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _epoch in range(2):
            for inputs, targets in loader(torch, x, y, batch_size=8):
                kept = targets != (0 if len(targets) < 3 else 5)
                if not kept.any():
                    continue
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs[kept]), targets[kept]).backward()
                optimizer.step()

    return loop
