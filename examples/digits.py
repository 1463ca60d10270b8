"""Digits: a multilayer perceptron reads handwritten digits.

1,797 images of 8×8 pixels (see data/README.md), in shuffled batches from a DataLoader; stochastic
gradient descent with momentum; accuracy on images kept apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from shared import digits, options, progress, report
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Perceptron(nn.Module):
    """Two hidden layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.Sequential(
            nn.Linear(64, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 10),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layers(self.flatten(images))


def batches(loader: DataLoader) -> Iterator[list[torch.Tensor]]:
    """Batch after batch, epoch after epoch."""
    while True:
        yield from loader


def evaluate(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    """The mean loss and the accuracy over a data set."""
    model.eval()
    loss, right, count = 0.0, 0, 0
    with torch.no_grad():
        for images, labels in loader:
            scores = model(images)
            loss += nn.functional.cross_entropy(scores, labels, reduction="sum").item()
            right += int((scores.argmax(dim=1) == labels).sum())
            count += len(labels)
    model.train()
    return loss / count, right / count


def main() -> None:
    parser = options(__doc__, steps=600, every=50)
    parser.add_argument("--width", type=int, default=64, help="of the hidden layers; default: 64")
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)

    images, labels, test_images, test_labels = digits()
    train = DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True)
    test = DataLoader(TensorDataset(test_images, test_labels), batch_size=256)

    model = Perceptron(chosen.width)
    print(model)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4
    )
    criterion = nn.CrossEntropyLoss()
    source = batches(train)
    for step in progress(1, chosen.steps):
        images, labels = next(source)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        if step % chosen.every == 0:
            report(step, loss=loss.item())

    loss, accuracy = evaluate(model, test)
    print(f"test loss {loss:.4f}, test accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
