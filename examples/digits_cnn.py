"""Digits: a convolutional network reads handwritten digits.

Convolutions, batch normalisation, max pooling and dropout; label smoothing, AdamW and a one-cycle
schedule; small random shifts of the images, which the network must learn to ignore.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from shared import digits, options, progress, report
from torch import nn


class Block(nn.Module):
    """Convolution, normalisation, activation."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(
            channels_in, channels_out, kernel_size=3, padding=1, bias=False
        )
        self.normalisation = nn.BatchNorm2d(channels_out)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.normalisation(self.convolution(x)))


class Network(nn.Module):
    """8×8 images, halved twice."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            Block(1, width),
            Block(width, width),
            nn.MaxPool2d(2),
            Block(width, 2 * width),
            nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(0.25),
            nn.Linear(2 * width * 2 * 2, 10),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(images))


def shifted(images: torch.Tensor) -> torch.Tensor:
    """The images, all moved by the same random step of at most one pixel each way."""
    down, right = torch.randint(-1, 2, (2,)).tolist()
    padded = F.pad(images, (1, 1, 1, 1))
    return padded[:, :, 1 + down : 9 + down, 1 + right : 9 + right]


@torch.no_grad()
def evaluate(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> tuple[float, float]:
    """The mean loss and the accuracy."""
    model.eval()
    scores = model(images)
    model.train()
    accuracy = (scores.argmax(dim=1) == labels).float().mean()
    return F.cross_entropy(scores, labels).item(), accuracy.item()


def main() -> None:
    parser = options(__doc__, steps=600, every=50)
    parser.add_argument("--width", type=int, default=16, help="channels; default: 16")
    parser.add_argument("--batch", type=int, default=64, help="images in a step; default: 64")
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)

    images, labels, test_images, test_labels = digits()
    model = Network(chosen.width)
    print(model)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=0.01, total_steps=max(chosen.steps, 600)
    )
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    order = torch.randperm(len(images))
    for step in progress(1, chosen.steps):
        if len(order) < chosen.batch:
            order = torch.randperm(len(images))
        batch, order = order[: chosen.batch], order[chosen.batch :]

        optimizer.zero_grad()
        loss = criterion(model(shifted(images[batch])), labels[batch])
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % chosen.every == 0:
            report(step, loss=loss.item())

    loss, accuracy = evaluate(model, test_images, test_labels)
    print(f"test loss {loss:.4f}, test accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
