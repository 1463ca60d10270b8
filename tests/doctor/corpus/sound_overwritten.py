"""Loops that come near to overwritten values, optimizers made anew and frozen norms, and are sound."""

from __future__ import annotations

from typing import Any

from .case import sound
from .pairs_overwritten import trained
from .parts import regression


@sound("look-alikes")
def heads_of_all_levels_of_which_the_last_is_trained(torch: Any):
    """Each level has a head; all are kept, and the loss takes the last one's."""
    nn = torch.nn
    x, y = regression(torch)

    class Levels(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
            self.heads = nn.ModuleList([nn.Linear(4, 1) for _ in range(3)])

        def forward(self, x):
            found = []
            for layer, head in zip(self.layers, self.heads, strict=True):
                x = torch.tanh(layer(x))
                out = head(x)
                found.append(out)
            return found[-1]

    return lambda: trained(torch, Levels(), x, y)


@sound("look-alikes")
def doubled_on_purpose(torch: Any):
    """The value is doubled before it meets the skip, and the skip is there."""
    nn = torch.nn
    x, y = regression(torch)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def forward(self, x):
            twice = self.inner(x)
            twice = twice + twice
            return x + torch.tanh(twice)

    return lambda: trained(torch, nn.Sequential(Block(), nn.Linear(4, 1)), x, y)


@sound("look-alikes")
def client_that_begins_anew_with_each_round(torch: Any):
    """Federated averaging: a client's optimizer is new in every round, on weights that came from the server."""
    nn = torch.nn
    x, y = regression(torch)

    def run() -> None:
        server, client = nn.Linear(4, 1), nn.Linear(4, 1)
        for _ in range(6):
            client.load_state_dict(server.state_dict())
            optimizer = torch.optim.Adam(client.parameters(), lr=0.01)
            for _ in range(3):
                optimizer.zero_grad()
                nn.functional.mse_loss(client(x), y).backward()
                optimizer.step()
            with torch.no_grad():
                for mine, theirs in zip(server.parameters(), client.parameters(), strict=True):
                    mine.lerp_(theirs, 0.5)

    return run


@sound("look-alikes")
def one_task_after_the_other(torch: Any):
    """Continual learning: a task has its own data and its own optimizer, on the same weights."""
    nn = torch.nn

    def run() -> None:
        model = nn.Linear(4, 1)
        for _ in range(6):
            x, y = regression(torch)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            for _ in range(3):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()

    return run


@sound("look-alikes")
def residual_learned_in_stages(torch: Any):
    """A second predictor is fitted to what the first leaves over, which is detached."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def run() -> None:
        first, second = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
        for _ in range(9):
            guess = first(x)
            left = (y - guess).detach()
            optimizer.zero_grad()
            (F.mse_loss(guess, y) + F.mse_loss(second(x), left)).backward()
            optimizer.step()

    return run


@sound("look-alikes")
def backbone_thawed_after_a_while(torch: Any):
    """The frozen part is in eval mode for the first steps; then it is trained, and its norms count."""
    nn = torch.nn
    x, y = regression(torch)

    def run() -> None:
        body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
        head = nn.Linear(8, 1)
        model = nn.Sequential(body, head)
        body.requires_grad_(False)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
        for step in range(24):
            model.train()
            if step < 4:
                body.eval()
            if step == 4:
                body.requires_grad_(True)
                optimizer.add_param_group({"params": list(body.parameters())})
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    return run


@sound("look-alikes")
def warm_up_of_a_run_that_ends_early(torch: Any):
    """The decay waits for a step that comes after this run; the warm-up still climbs."""
    x, y = regression(torch)
    schedules = torch.optim.lr_scheduler

    def run() -> None:
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        warm_up = schedules.LinearLR(optimizer, 0.1, 1.0, total_iters=20)
        decay = schedules.StepLR(optimizer, 5, 0.5)
        for step in range(15):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            if step < 20:
                warm_up.step()
            else:
                decay.step()

    return run
