"""Data and models that many loops share: small, and the same on both engines for the same seed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any


def regression(torch: Any, n: int = 32, features: int = 4) -> tuple[Any, Any]:
    """Points and a noisy linear function of them, as a column."""
    x = torch.randn(n, features)
    y = x @ torch.linspace(-1, 1, features) + 0.5 + 0.1 * torch.randn(n)
    return x, y.unsqueeze(1)


def classes(torch: Any, n: int = 48, features: int = 4, k: int = 3) -> tuple[Any, Any]:
    """Points of k clusters, and which one each is of."""
    y = torch.arange(n) % k
    return 2 * torch.randn(k, features)[y] + 0.5 * torch.randn(n, features), y


def binary(torch: Any, n: int = 32, features: int = 4) -> tuple[Any, Any]:
    """Points, and on which side of a plane each lies: a column of 0 and 1."""
    x = torch.randn(n, features)
    return x, (x.sum(1, keepdim=True) > 0).float()


def images(torch: Any, n: int = 16, size: int = 6, k: int = 3) -> tuple[Any, Any]:
    """Images of one channel with a bright row, and which row it is."""
    y = torch.arange(n) % k
    x = 0.3 * torch.randn(n, 1, size, size)
    x[torch.arange(n), 0, y] += 1.0
    return x, y


def sentences(torch: Any, n: int = 16, length: int = 6, words: int = 11) -> tuple[Any, Any]:
    """Sentences in which each word follows from the one before, and the same one word later."""
    made = [torch.randint(words, (n,))]
    for _ in range(length):
        made.append((3 * made[-1] + 1) % words)
    text = torch.stack(made, dim=1)
    return text[:, :-1], text[:, 1:]


def waves(torch: Any, n: int = 8, length: int = 24) -> tuple[Any, Any]:
    """Sines of different phase as (n, length, 1), and the same one moment later."""
    time = torch.arange(length + 1) * 0.4
    wave = torch.sin(time + torch.linspace(0, 3, n).unsqueeze(1)).unsqueeze(2)
    return wave[:, :-1], wave[:, 1:]


def batches(size: int, *tensors: Any) -> Iterator[tuple[Any, ...]]:
    """Consecutive parts of the tensors; the last may be shorter."""
    for start in range(0, len(tensors[0]), size):
        yield tuple(tensor[start : start + size] for tensor in tensors)


def perceptron(torch: Any, *sizes: int) -> Any:
    """Linear layers of these sizes with tanh between them."""
    nn = torch.nn
    layers: list[Any] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def loader(torch: Any, *tensors: Any, batch_size: int = 8, shuffle: bool = True) -> Any:
    """A DataLoader over the tensors."""
    data = torch.utils.data
    return data.DataLoader(data.TensorDataset(*tensors), batch_size=batch_size, shuffle=shuffle)
