"""Training steps whose time on 4 and 8 ranks is predicted from 2, one program per name in PROGRAMS.

python -m bench.simulated_steps NAME STEPS

FOUND are those on which the model of shared cores was developed. COUNTED are the others: no choice was based on them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tautograd as torch
from tautograd import distributed, nn

Step = Callable[[], Any]


def plain(width: int, layers: int, shards: bool = False) -> Step:
    """Linear layers of one width, SGD."""
    pairs = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(layers)]
    model: Any = nn.Sequential(*pairs)
    model = sharded(model, model) if shards else wrapped(model)
    x = torch.randn(128, width)
    return trained(model, torch.optim.SGD(model.parameters(), lr=0.01), lambda: model(x))


def sharded(model: Any, layers: Any) -> Any:
    """A model, fully sharded by layers."""
    from tautograd.distributed.fsdp import fully_shard

    for layer in [*layers, model]:
        fully_shard(layer)
    return model


def wrapped(model: Any, **options: Any) -> Any:
    """A model in DDP."""
    return nn.parallel.DistributedDataParallel(model, **options)


def trained(model: Any, optimizer: Any, output: Callable[[], Any], clip: float = 0.0) -> Step:
    """A whole step."""

    def step() -> None:
        optimizer.zero_grad()
        output().pow(2).mean().backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()

    return step


def mlp() -> Step:
    """784-256-128-10, Adam."""
    layers = [nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)]
    model, x = wrapped(nn.Sequential(*layers)), torch.randn(64, 784)
    return trained(model, torch.optim.Adam(model.parameters()), lambda: model(x))


def convolutions() -> Step:
    """Two convolutions, SGD with momentum."""
    first = [nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 49, 10)]
    model, x = wrapped(nn.Sequential(*first, *second)), torch.randn(16, 1, 14, 14)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return trained(model, optimizer, lambda: model(x))


def transformer() -> Step:
    """Two layers of a transformer on tokens, AdamW."""
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    layers = [nn.Embedding(100, 64), nn.TransformerEncoder(layer, 2), nn.Linear(64, 100)]
    model, x = wrapped(nn.Sequential(*layers)), torch.randint(100, (8, 16))
    return trained(model, torch.optim.AdamW(model.parameters()), lambda: model(x))


class Patches(nn.Module):
    """Four layers of a vision transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.cut, self.head = nn.Conv2d(3, 48, 4, 4), nn.Linear(48, 10)
        self.place = nn.Parameter(torch.zeros(1, 64, 48))
        make = lambda: nn.TransformerEncoderLayer(48, 3, 96, batch_first=True, norm_first=True)  # noqa: E731
        self.blocks = nn.Sequential(*(make() for _ in range(4)))

    def forward(self, x: Any) -> Any:
        """Class scores of images."""
        x = self.cut(x).flatten(2).transpose(1, 2) + self.place
        return self.head(self.blocks(x).mean(1))


def patches() -> Step:
    """A vision transformer, AdamW."""
    model, x = wrapped(Patches()), torch.randn(4, 3, 32, 32)
    return trained(model, torch.optim.AdamW(model.parameters()), lambda: model(x))


class Recurrent(nn.Module):
    """A recurrent layer and its readout."""

    def __init__(self, layer: Any, words: int = 0) -> None:
        super().__init__()
        self.words = nn.Embedding(words, 32) if words else nn.Identity()
        self.layer, self.head = layer, nn.Linear(64, 32)

    def forward(self, x: Any) -> Any:
        """Logits at every position."""
        return self.head(self.layer(self.words(x))[0])


def gru() -> Step:
    """Two layers of a GRU, Adam."""
    model = wrapped(Recurrent(nn.GRU(32, 64, 2, batch_first=True)))
    x = torch.randn(16, 20, 32)
    return trained(model, torch.optim.Adam(model.parameters()), lambda: model(x))


def lstm() -> Step:
    """An LSTM on words with clipped gradients, RMSprop."""
    model = wrapped(Recurrent(nn.LSTM(32, 64, batch_first=True), words=1000))
    x = torch.randint(1000, (16, 30))
    return trained(model, torch.optim.RMSprop(model.parameters()), lambda: model(x), clip=1.0)


class Residual(nn.Module):
    """Convolutions with batch norm, and a skip connection."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x: Any) -> Any:
        """Added to its input."""
        inner = nn.functional.relu(self.norm1(self.first(x)))
        return nn.functional.relu(x + self.norm2(self.second(inner)))


def residual() -> Step:
    """Three residual blocks, SGD with momentum; buckets of 25 kB."""
    ends = nn.Conv2d(3, 16, 3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)
    model = nn.Sequential(ends[0], *(Residual(16) for _ in range(3)), *ends[1:])
    model, x = wrapped(model, bucket_cap_mb=0.025), torch.randn(8, 3, 16, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return trained(model, optimizer, lambda: model(x))


class Recommender(nn.Module):
    """Two embedding tables and layers on a user's and an article's rows."""

    def __init__(self) -> None:
        super().__init__()
        self.users, self.articles = nn.Embedding(4000, 32), nn.Embedding(6000, 32)
        self.rest = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, users: Any, articles: Any) -> Any:
        """A score for each pair."""
        return self.rest(torch.cat([self.users(users), self.articles(articles)], 1))


def recommender() -> Step:
    """Two tables, Adagrad: much memory, little computing."""
    model = wrapped(Recommender())
    pairs = torch.randint(4000, (256,)), torch.randint(6000, (256,))
    return trained(model, torch.optim.Adagrad(model.parameters()), lambda: model(*pairs))


def autoencoder() -> Step:
    """Convolutions down and up again, Adam."""
    down = nn.Conv2d(1, 8, 4, 2, 1), nn.SiLU(), nn.Conv2d(8, 16, 4, 2, 1), nn.SiLU()
    up = nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.SiLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1)
    model, x = wrapped(nn.Sequential(*down, *up)), torch.randn(16, 1, 16, 16)
    return trained(model, torch.optim.Adam(model.parameters()), lambda: model(x))


def sharded_transformer() -> Step:
    """Three layers of a transformer, each sharded, AdamW."""
    layers = [nn.TransformerEncoderLayer(96, 4, 192, batch_first=True) for _ in range(3)]
    model = sharded(nn.Sequential(nn.Linear(20, 96), *layers, nn.Linear(96, 20)), layers)
    x = torch.randn(8, 12, 20)
    return trained(model, torch.optim.AdamW(model.parameters()), lambda: model(x))


def sharded_uneven() -> Step:
    """Wide and narrow layers, sharded in pairs, Adam."""
    widths = (40, 600, 90, 350, 350, 30, 500, 10)
    pairs = [
        nn.Sequential(nn.Linear(a, b), nn.Tanh(), nn.Linear(b, c), nn.SiLU())
        for a, b, c in zip(widths[:-2:2], widths[1:-1:2], widths[2::2], strict=True)
    ]
    model = nn.Sequential(*pairs)
    model, x = sharded(model, list(model)), torch.randn(96, 40)
    return trained(model, torch.optim.Adam(model.parameters()), lambda: model(x))


def sharded_convolutions() -> Step:
    """Convolutions with group norm, each stage sharded, SGD."""
    stages = [
        nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.GroupNorm(4, b), nn.ReLU())
        for a, b in ((3, 16), (16, 32), (32, 64))
    ]
    model = nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    model, x = sharded(model, stages), torch.randn(12, 3, 32, 32)
    return trained(model, torch.optim.SGD(model.parameters(), lr=0.01), lambda: model(x))


def shared_states() -> Step:
    """Five layers of 192 whose optimizer's states are sharded (ZeRO), Adam."""
    from tautograd.distributed.optim import ZeroRedundancyOptimizer

    model = wrapped(
        nn.Sequential(*(nn.Sequential(nn.Linear(192, 192), nn.GELU()) for _ in range(5)))
    )
    x = torch.randn(64, 192)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-3)
    return trained(model, optimizer, lambda: model(x))


def by_hand() -> Step:
    """Ten layers of 96 whose gradients are averaged one by one, after backward, SGD."""
    pairs = (nn.Sequential(nn.Linear(96, 96), nn.LayerNorm(96), nn.ReLU()) for _ in range(10))
    model, x = nn.Sequential(*pairs), torch.randn(64, 96)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        for parameter in model.parameters():
            distributed.all_reduce(parameter.grad)
            parameter.grad /= distributed.get_world_size()
        optimizer.step()

    return step


def small_buckets() -> Step:
    """Six layers of 320 in buckets of 300 kB, AdamW."""
    layers = (nn.Sequential(nn.Linear(320, 320), nn.Tanh()) for _ in range(6))
    model, x = wrapped(nn.Sequential(*layers), bucket_cap_mb=0.3), torch.randn(48, 320)
    return trained(model, torch.optim.AdamW(model.parameters()), lambda: model(x))


FOUND: dict[str, Callable[[], Step]] = {
    "8 layers of 128, SGD": lambda: plain(128, 8),
    "6 layers of 256, SGD": lambda: plain(256, 6),
    "MLP 784-256-128-10, Adam": mlp,
    "two convolutions, SGD with momentum": convolutions,
    "two layers of a transformer, AdamW": transformer,
    "four layers of a vision transformer, AdamW": patches,
    "two layers of a GRU, Adam": gru,
    "6 layers of 256, fully sharded": lambda: plain(256, 6, shards=True),
    "residual blocks, small buckets, SGD": residual,
}
COUNTED: dict[str, Callable[[], Step]] = {
    "4 layers of 512, SGD": lambda: plain(512, 4),
    "two tables of embeddings, Adagrad": recommender,
    "LSTM, clipped gradients, RMSprop": lstm,
    "convolutions down and up, Adam": autoencoder,
    "three layers of a transformer, fully sharded": sharded_transformer,
    "wide and narrow layers, fully sharded": sharded_uneven,
    "convolutions, fully sharded": sharded_convolutions,
    "5 layers of 192, ZeRO": shared_states,
    "10 layers of 96, averaged by hand": by_hand,
    "6 layers of 320, small buckets, AdamW": small_buckets,
}
PROGRAMS = {**FOUND, **COUNTED}


def main(name: str, steps: str) -> None:
    """Run as one rank."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    torch.manual_seed(0)
    step = PROGRAMS[name]()
    for _ in range(int(steps)):
        step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
