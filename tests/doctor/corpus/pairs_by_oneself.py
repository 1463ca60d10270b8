"""What a user keeps by hand: counts of an optimizer, masks, statistics of a copy."""

from __future__ import annotations

import copy
from typing import Any

from .case import pair
from .parts import perceptron, regression


def _own_optimizer(torch: Any, counted: Any) -> Any:
    """Descent by a corrected mean of the gradients; `counted` gives the step's number."""

    class Own(torch.optim.Optimizer):
        def __init__(self, params, lr=0.01):
            super().__init__(params, {"lr": lr, "step": 0})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state["step"], state["mean"] = torch.tensor(0.0), torch.zeros_like(p)
                    state["mean"].lerp_(p.grad, 0.1)
                    step = counted(group, state)
                    p.sub_(group["lr"] * state["mean"] / (1 - 0.9 ** float(step)))

    return Own


def _count(torch: Any, counted: Any, stepped: Any) -> Any:
    x, y = regression(torch)
    kind = _own_optimizer(torch, counted)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        optimizer = kind(model.parameters())
        for _ in range(6):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            stepped(optimizer)

    return loop


@pair("TG318")
def a_count_that_is_read_and_not_kept(torch: Any):
    """The count of a parameter's steps stays at zero."""

    def read(group, state):
        return state["step"] + 1

    def kept(group, state):
        return state["step"].add_(1)

    def stepped(optimizer):
        optimizer.step()  # bug: here

    return _count(torch, read, stepped), _count(torch, kept, stepped)


@pair("TG318")
def a_count_of_the_group_moved_by_each_parameter(torch: Any):
    """The group's count grows with every parameter, four times in a step."""

    def of_the_group(group, state):
        group["step"] += 1
        state["step"].add_(1)
        return group["step"]

    def of_each(group, state):
        return state["step"].add_(1)

    def stepped(optimizer):
        optimizer.step()  # bug: here

    return _count(torch, of_the_group, stepped), _count(torch, of_each, stepped)


@pair("TG319")
def kept_rows_that_fade(torch: Any):
    """The rows of old words have no gradient, and decay."""
    F = torch.nn.functional
    words = torch.randint(0, 9, (16,))

    def run(decay):
        def loop():
            embed, head = torch.nn.Embedding(9, 4), torch.nn.Linear(4, 2)
            parameters = [*embed.parameters(), *head.parameters()]
            optimizer = torch.optim.AdamW(parameters, lr=0.01, weight_decay=decay)
            for _ in range(8):
                optimizer.zero_grad()
                F.cross_entropy(head(embed(words)), words % 2).backward()
                embed.weight.grad[:6] = 0
                optimizer.step()  # bug: here

        return loop

    return run(0.1), run(0.0)


@pair("TG319")
def masked_in_place_and_decayed(torch: Any):
    """A mask is multiplied onto the gradient, and the optimizer decays what is masked."""
    x, y = regression(torch)

    def run(restored):
        def loop():
            model = torch.nn.Linear(4, 1)
            mask = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
            kept = model.weight.detach().clone()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=0.1)
            for _ in range(8):
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(model(x), y).backward()
                model.weight.grad *= mask
                optimizer.step()  # bug: here
                if restored:
                    with torch.no_grad():
                        model.weight.copy_(torch.where(mask > 0, model.weight, kept))

        return loop

    return run(False), run(True)


def _plain(torch: Any, objective: Any, noise: Any = None) -> None:
    x, y = regression(torch)
    model = perceptron(torch, 4, 6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(6):
        optimizer.zero_grad()
        objective(model(x if noise is None else noise(x)), y).backward()
        optimizer.step()


def _follows(torch: Any, buffers: bool, whole: bool, asked: Any) -> Any:
    x, y = regression(torch)

    def loop():
        nn = torch.nn
        model = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 1))
        teacher = copy.deepcopy(model).eval().requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        for _ in range(10):
            with torch.no_grad():
                goal = asked(teacher, x + 3)
            out = model(x + 3)
            loss = nn.functional.mse_loss(out, y) + nn.functional.mse_loss(out, goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for own, other in zip(teacher.parameters(), model.parameters(), strict=True):
                    own.copy_(other) if whole else own.lerp_(other, 0.05)
                if buffers:
                    for own, other in zip(teacher.buffers(), model.buffers(), strict=True):
                        own.copy_(other)

    return loop


@pair("TG609")
def a_teacher_that_follows_by_weights_alone(torch: Any):
    """An average of the weights keeps the statistics of the first day."""

    def asked(teacher, x):
        return teacher(x)  # bug: here

    return _follows(torch, False, False, asked), _follows(torch, True, False, asked)


@pair("TG609")
def a_target_that_is_copied_without_buffers(torch: Any):
    """A target network gets the weights of the other as they are, and no statistics."""

    def asked(teacher, x):
        return teacher(x)  # bug: here

    return _follows(torch, False, True, asked), _follows(torch, True, True, asked)
