"""Everyday workloads beside the five models of `steps`: other layers, losses and loops.

Each entry of `WORK` takes an engine and returns a function without arguments, the same program on both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.steps import Work


def _trained(torch: Any, model: Any, loss_of: Callable[[], Any], name: str = "Adam") -> Work:
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=1e-3)

    def step() -> object:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return step


# ---- sequences -----------------------------------------------------------------------------------


def _recurrent(kind: str) -> Callable[[Any], Work]:
    """32 → 64 features, 50 steps, batch 32, with a class at the end."""

    def make(torch: Any) -> Work:
        torch.manual_seed(0)
        nn = torch.nn
        layer, head = getattr(nn, kind)(32, 64, batch_first=True), nn.Linear(64, 10)
        x, y = torch.randn(32, 50, 32), torch.randint(0, 10, (32,))
        model, criterion = nn.ModuleList([layer, head]), nn.CrossEntropyLoss()
        return _trained(torch, model, lambda: criterion(head(layer(x)[0][:, -1]), y))

    return make


def _transformer(torch: Any) -> Work:
    torch.manual_seed(0)
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.1, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    x, y = torch.randn(16, 32, 64), torch.randn(16, 32, 64)
    criterion = nn.MSELoss()
    return _trained(torch, model, lambda: criterion(model(x), y), "AdamW")


def _embedding_bag(torch: Any) -> Work:
    torch.manual_seed(0)
    nn = torch.nn
    bag, head = nn.EmbeddingBag(1000, 64, mode="mean"), nn.Linear(64, 10)
    ids, y = torch.randint(0, 1000, (128, 20)), torch.randint(0, 10, (128,))
    criterion = nn.CrossEntropyLoss()
    return _trained(torch, nn.ModuleList([bag, head]), lambda: criterion(head(bag(ids)), y))


# ---- images and signals --------------------------------------------------------------------------


def _residual(torch: Any) -> Work:
    torch.manual_seed(0)
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, width: int) -> None:
            super().__init__()
            self.c1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
            self.c2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
            self.n1, self.n2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

        def forward(self, x: Any) -> Any:
            y = torch.relu(self.n1(self.c1(x)))
            return torch.relu(x + self.n2(self.c2(y)))

    stem = (nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    model = nn.Sequential(*stem, Block(16), Block(16), Block(16), *head)
    x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
    criterion = nn.CrossEntropyLoss()
    return _trained(torch, model, lambda: criterion(model(x), y), "SGD")


def _depthwise(torch: Any) -> Work:
    torch.manual_seed(0)
    nn = torch.nn

    def separable(width: int, out: int) -> tuple[Any, ...]:
        depthwise = nn.Conv2d(width, width, 3, padding=1, groups=width)
        return depthwise, nn.ReLU(), nn.Conv2d(width, out, 1), nn.ReLU()

    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    model = nn.Sequential(*separable(32, 64), *separable(64, 64), *head)
    x, y = torch.randn(16, 32, 28, 28), torch.randint(0, 10, (16,))
    criterion = nn.CrossEntropyLoss()
    return _trained(torch, model, lambda: criterion(model(x), y))


def _signals(torch: Any) -> Work:
    torch.manual_seed(0)
    nn = torch.nn
    layers = (
        *(nn.Conv1d(8, 32, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2)),
        *(nn.Conv1d(32, 64, 5, padding=2), nn.ReLU()),
    )
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, 10))
    x, y = torch.randn(32, 8, 256), torch.randint(0, 10, (32,))
    criterion = nn.CrossEntropyLoss()
    return _trained(torch, model, lambda: criterion(model(x), y))


# ---- other loops ---------------------------------------------------------------------------------


def _gan(torch: Any) -> Work:
    torch.manual_seed(0)
    nn = torch.nn
    makes = nn.Sequential(nn.Linear(32, 128), nn.LeakyReLU(0.2), nn.Linear(128, 784), nn.Tanh())
    judges = nn.Sequential(nn.Linear(784, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
    first = torch.optim.Adam(makes.parameters(), lr=2e-4, betas=(0.5, 0.999))
    second = torch.optim.Adam(judges.parameters(), lr=2e-4, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    real, yes, no = torch.randn(64, 784), torch.ones(64, 1), torch.zeros(64, 1)

    def step() -> object:
        made = makes(torch.randn(64, 32))
        second.zero_grad()
        (criterion(judges(real), yes) + criterion(judges(made.detach()), no)).backward()
        second.step()
        first.zero_grad()
        loss = criterion(judges(made), yes)
        loss.backward()
        first.step()
        return loss

    return step


def _maml(torch: Any) -> Work:
    """Second order: the loss after an inner step, four tasks."""
    torch.manual_seed(0)
    w1 = (torch.randn(1, 40) * 0.5).requires_grad_()
    b1 = torch.zeros(40, requires_grad=True)
    w2 = (torch.randn(40, 1) * 0.2).requires_grad_()
    b2 = torch.zeros(1, requires_grad=True)
    parameters = [w1, b1, w2, b2]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    tasks = [(torch.randn(10, 1), torch.randn(10, 1)) for _ in range(4)]

    def loss_of(p: list[Any], x: Any, y: Any) -> Any:
        return ((torch.tanh(x @ p[0] + p[1]) @ p[2] + p[3] - y) ** 2).mean()

    def step() -> object:
        optimizer.zero_grad()
        total = 0.0
        for x, y in tasks:
            gradients = torch.autograd.grad(
                loss_of(parameters, x, y), parameters, create_graph=True
            )
            moved = [p - 0.01 * g for p, g in zip(parameters, gradients, strict=True)]
            total = total + loss_of(moved, y, x)
        total.backward()
        optimizer.step()
        return total

    return step


def _policy(torch: Any) -> Work:
    """Reinforcement learning: one action, one update."""
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    state = torch.randn(1, 4)

    def step() -> object:
        chances = torch.distributions.Categorical(logits=model(state))
        action = chances.sample()
        loss = -(chances.log_prob(action) * 0.7).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def _inference(torch: Any) -> Work:
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(
        *(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)),
        nn.Softmax(-1),
    )
    model.eval()
    x = torch.randn(64, 784)

    def run() -> object:
        with torch.no_grad():
            return model(x)

    return run


def _scalars(torch: Any) -> Work:
    """300 operations on single numbers, forward and backward."""

    def run() -> object:
        x = torch.tensor(0.5, requires_grad=True)
        y = x
        for _ in range(100):
            y = (y * 1.01 + 0.1) - x
        y.backward()
        return x.grad

    return run


WORK: dict[str, tuple[str, Callable[[Any], Work]]] = {
    "lstm": ("LSTM 32→64, 50 steps, batch 32", _recurrent("LSTM")),
    "gru": ("GRU 32→64, 50 steps, batch 32", _recurrent("GRU")),
    "transformer": ("TransformerEncoder 2×64, 32 tokens, batch 16", _transformer),
    "residual": ("ResNet blocks, 16 channels, 32×32, batch 16", _residual),
    "depthwise": ("depthwise convolutions, 28×28, batch 16", _depthwise),
    "signals": ("1-D convolutions, 256 samples, batch 32", _signals),
    "bag": ("embedding bag, 128×20 of 1,000", _embedding_bag),
    "gan": ("GAN step, batch 64", _gan),
    "maml": ("MAML step, second order, 4 tasks", _maml),
    "policy": ("reinforcement step, batch 1", _policy),
    "inference": ("inference, MLP 784-256-128-10, batch 64", _inference),
    "scalars": ("300 scalar operations, backward", _scalars),
}
"""Name -> the row's title, and how the work is made."""
