"""Training steps to measure: the same program on tautograd and on PyTorch.

Each is a model, a batch, a loss and an optimizer; a step is `zero_grad`, forward, `backward` and
the optimizer's `step`. The `tiny` sizes trigger a process's one-time costs (a first matrix product,
loading a module), so that the memory of a step is the step's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Work = Callable[[], object]
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Step:
    """A training step; `build` returns model, inputs, targets and loss on an engine."""

    build: Callable[..., tuple[Any, Any, Any, Callable[[Any, Any], Any]]]
    sizes: Sizes
    tiny: Sizes
    optimizer: str = "Adam"

    def on(self, torch: Any, *, tiny: bool = False, compiled: bool = False, **options: Any) -> Work:
        """The step, ready to run; options are the optimizer's."""
        torch.manual_seed(0)
        model, inputs, targets, criterion = self.build(torch, **(self.tiny if tiny else self.sizes))
        optimizer = getattr(torch.optim, self.optimizer)(model.parameters(), lr=1e-3, **options)

        def loss_of(inputs: Any, targets: Any) -> Any:
            return criterion(model(inputs), targets)

        if compiled:
            loss_of = torch.compile(loss_of)

        def step() -> object:
            optimizer.zero_grad()
            loss = loss_of(inputs, targets)
            loss.backward()
            optimizer.step()
            return loss

        return step


# ---- models --------------------------------------------------------------------------------------


def _linear(torch: Any, batch: int) -> tuple[Any, ...]:
    nn = torch.nn
    return nn.Linear(10, 1), torch.randn(batch, 10), torch.randn(batch, 1), nn.MSELoss()


def _classifier(torch: Any, batch: int, hidden: int, hidden2: int) -> tuple[Any, ...]:
    nn = torch.nn
    model = nn.Sequential(
        *(nn.Linear(784, hidden), nn.ReLU()),
        *(nn.Linear(hidden, hidden2), nn.ReLU()),
        nn.Linear(hidden2, 10),
    )
    labels = torch.randint(0, 10, (batch,))
    return model, torch.randn(batch, 784), labels, nn.CrossEntropyLoss()


def _square_layers(torch: Any, batch: int, width: int) -> tuple[Any, ...]:
    nn = torch.nn
    layers = [layer for _ in range(4) for layer in (nn.Linear(width, width), nn.ReLU())]
    model = nn.Sequential(*layers[:-1])
    return model, torch.randn(batch, width), torch.randn(batch, width), nn.MSELoss()


def _images(torch: Any, batch: int, channels: int) -> tuple[Any, ...]:
    nn = torch.nn
    model = nn.Sequential(
        *(nn.Conv2d(1, channels, 3), nn.ReLU()),
        *(nn.Conv2d(channels, 2 * channels, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(2 * channels * 12 * 12, 128), nn.ReLU()),
        nn.Linear(128, 10),
    )
    labels = torch.randint(0, 10, (batch,))
    return model, torch.randn(batch, 1, 28, 28), labels, nn.CrossEntropyLoss()


def gpt(torch: Any, words: int, tokens: int, width: int, layers: int, heads: int) -> Any:
    """A small GPT on an engine."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            batch, time, _ = x.shape
            qkv = self.qkv(self.norm1(x)).view(batch, time, 3, heads, width // heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(batch, time, width))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.word = nn.Embedding(words, width)
            self.place = nn.Embedding(tokens, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, words, bias=False)

        def forward(self, ids: Any) -> Any:
            x = self.word(ids) + self.place(torch.arange(ids.size(1), device=ids.device))
            return self.head(self.norm(self.blocks(x)))

    return Model()


def _language(torch: Any, batch: int, tokens: int, width: int, layers: int) -> tuple[Any, ...]:
    letters = 65

    def criterion(scores: Any, targets: Any) -> Any:
        return torch.nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())

    model = gpt(torch, letters, tokens, width, layers, heads=4)
    ids = torch.randint(0, letters, (batch, tokens))
    return model, ids, torch.randint(0, letters, (batch, tokens)), criterion


STEPS = {
    "linear": Step(_linear, {"batch": 32}, {"batch": 2}),
    "mlp": Step(
        _classifier,
        {"batch": 64, "hidden": 256, "hidden2": 128},
        {"batch": 2, "hidden": 4, "hidden2": 4},
    ),
    "wide": Step(_square_layers, {"batch": 256, "width": 1024}, {"batch": 2, "width": 4}),
    "gpt": Step(
        _language,
        {"batch": 12, "tokens": 64, "width": 128, "layers": 4},
        {"batch": 2, "tokens": 4, "width": 8, "layers": 1},
        optimizer="AdamW",
    ),
    "cnn": Step(_images, {"batch": 64, "channels": 32}, {"batch": 2, "channels": 2}),
}
