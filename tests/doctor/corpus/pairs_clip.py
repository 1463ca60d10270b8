"""Clipping and scaling in the wrong order: of scaled gradients, of nothing, of others, or in vain."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression, sentences, waves


@pair("TG201")
def clipped_while_scaled(torch: Any):
    """clip_grad_norm_ sees gradients that are 65,536 times too large."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        scaler = torch.amp.GradScaler("cpu")
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # bug: here
            scaler.step(optimizer)
            scaler.update()

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        scaler = torch.amp.GradScaler("cpu")
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()

    return bug, fix


@pair("TG201")
def clipped_before_unscaling(torch: Any):
    """unscale_ is called, one line too late."""
    nn = torch.nn
    x, y = sentences(torch)

    def bug():
        model = nn.Sequential(nn.Embedding(11, 8), nn.Tanh(), nn.Linear(8, 11))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)  # bug: here
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()

    def fix():
        model = nn.Sequential(nn.Embedding(11, 8), nn.Tanh(), nn.Linear(8, 11))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()

    return bug, fix


@pair("TG201")
def values_clipped_while_scaled(torch: Any):
    """clip_grad_value_ makes every entry of a scaled gradient ±0.1, in a Trainer's own method."""
    nn = torch.nn
    x, y = regression(torch)

    class Trainer:
        def __init__(self):
            self.model = perceptron(torch, 4, 8, 1)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
            self.scaler = torch.amp.GradScaler("cpu")

        def fit(self):
            for _ in range(12):
                loss = nn.functional.mse_loss(self.model(x), y)
                self.scaler.scale(loss).backward()
                self.clip()
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.optimizer.zero_grad()

    def bug():
        class Broken(Trainer):
            def clip(self):
                nn.utils.clip_grad_value_(self.model.parameters(), 0.1)  # bug: here

        Broken().fit()

    def fix():
        class Fixed(Trainer):
            def clip(self):
                self.scaler.unscale_(self.optimizer)
                nn.utils.clip_grad_value_(self.model.parameters(), 0.1)

        Fixed().fit()

    return bug, fix


@pair("TG202")
def scaled_loss_and_plain_step(torch: Any):
    """The loss is scaled and the optimizer steps by itself: Adam hides it, weight decay does not."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu")
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()  # bug: or here
            optimizer.step()  # bug: here

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu")
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

    return bug, fix


@pair("TG202")
def second_loss_never_scaled(torch: Any):
    """Two backwards; the second forgets the scaler and vanishes when all is unscaled."""
    F = torch.nn.functional
    x, y = regression(torch)

    def bug():
        trunk, left, right = perceptron(torch, 4, 8), torch.nn.Linear(8, 1), torch.nn.Linear(8, 1)
        parameters = [*trunk.parameters(), *left.parameters(), *right.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
        for _ in range(12):
            optimizer.zero_grad()
            scaler.scale(F.mse_loss(left(trunk(x)), y)).backward()
            F.mse_loss(right(trunk(x)), -y).backward()  # bug: here
            scaler.unscale_(optimizer)  # bug: or here
            scaler.step(optimizer)  # bug: or here
            scaler.update()

    def fix():
        trunk, left, right = perceptron(torch, 4, 8), torch.nn.Linear(8, 1), torch.nn.Linear(8, 1)
        parameters = [*trunk.parameters(), *left.parameters(), *right.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
        for _ in range(12):
            optimizer.zero_grad()
            scaler.scale(F.mse_loss(left(trunk(x)), y)).backward()
            scaler.scale(F.mse_loss(right(trunk(x)), -y)).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()

    return bug, fix


@pair("TG202")
def scaled_value_logged_and_plain_loss_backed(torch: Any):
    """scaler.scale(loss) is only printed; what is unscaled was never scaled."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu")
        log = []
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            log.append(scaler.scale(loss).item())
            loss.backward()  # bug: here
            scaler.step(optimizer)  # bug: or here
            scaler.update()

    def fix():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu")
        log = []
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            log.append(loss.item())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

    return bug, fix


@pair("TG203")
def generator_of_parameters_used_up(torch: Any):
    """The parameters were counted first; nothing is left to clip."""
    nn = torch.nn
    x, y = waves(torch)

    def bug():
        lstm = nn.LSTM(1, 6, batch_first=True, proj_size=1)
        optimizer = torch.optim.SGD(lstm.parameters(), lr=0.5)
        parameters = lstm.parameters()
        count = sum(p.numel() for p in parameters)
        for _ in range(10):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(lstm(x)[0], y)
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 0.1)  # bug: here
            optimizer.step()
        return count

    def fix():
        lstm = nn.LSTM(1, 6, batch_first=True, proj_size=1)
        optimizer = torch.optim.SGD(lstm.parameters(), lr=0.5)
        parameters = list(lstm.parameters())
        count = sum(p.numel() for p in parameters)
        for _ in range(10):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(lstm(x)[0], y)
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 0.1)
            optimizer.step()
        return count

    return bug, fix


@pair("TG203")
def clipped_by_a_name_that_matches_nothing(torch: Any):
    """The layers to clip are chosen by a name that none of them has."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = nn.Sequential()
        model.add_module("features", nn.Linear(4, 8))
        model.add_module("act", nn.ReLU())
        model.add_module("output", nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        to_clip = [p for name, p in model.named_parameters() if name.startswith("backbone")]
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            nn.utils.clip_grad_norm_(to_clip, 1.0)  # bug: here
            optimizer.step()

    def fix():
        model = nn.Sequential()
        model.add_module("features", nn.Linear(4, 8))
        model.add_module("act", nn.ReLU())
        model.add_module("output", nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        to_clip = [p for name, p in model.named_parameters() if name.startswith("features")]
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            nn.utils.clip_grad_norm_(to_clip, 1.0)
            optimizer.step()

    return bug, fix


@pair("TG203", "TG204")
def frozen_part_is_clipped(torch: Any):
    """The backbone is frozen and clipped; the head is trained and not clipped."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        backbone, head = perceptron(torch, 4, 8).requires_grad_(False), nn.Linear(8, 3)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.2)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            nn.functional.cross_entropy(head(backbone(inputs)), targets).backward()
            nn.utils.clip_grad_norm_(backbone.parameters(), 1.0)  # bug: here
            optimizer.step()

    def fix():
        backbone, head = perceptron(torch, 4, 8).requires_grad_(False), nn.Linear(8, 3)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.2)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            nn.functional.cross_entropy(head(backbone(inputs)), targets).backward()
            nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimizer.step()

    return bug, fix


@pair("TG203", "TG205")
def data_of_the_parameters_is_clipped(torch: Any):
    """`.data` of a parameter carries no gradient: there is nothing to clip."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            nn.utils.clip_grad_norm_([p.data for p in model.parameters()], 0.1)  # bug: here
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()

    return bug, fix
