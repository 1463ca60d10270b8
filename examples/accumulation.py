"""Accumulation: many small batches give the gradient of one large batch.

A batch that does not fit is split; each part's loss is weighted by its share, and backward() adds
its gradients to those before. Two copies of a model are trained, one each way, and compared.
"""

from __future__ import annotations

import copy

import torch
from shared import digits, options, progress, report
from torch import nn


def network() -> nn.Module:
    """Layers that treat each image independently: batch normalisation would see the split."""
    return nn.Sequential(
        nn.Conv2d(1, 8, kernel_size=3, padding=1),
        nn.GroupNorm(2, 8),
        nn.ELU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 4 * 4, 10),
    )


def whole(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """Leave in .grad the gradient over all the images at once; the loss."""
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    return loss.item()


def in_parts(model: nn.Module, images: torch.Tensor, labels: torch.Tensor, parts: int) -> float:
    """Leave in .grad the sum over parts of the images, each weighted by its share; the loss."""
    total = 0.0
    for some, theirs in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        share = len(some) / len(images)
        loss = share * nn.functional.cross_entropy(model(some), theirs)
        loss.backward()
        total += loss.item()
    return total


def largest_difference(first: nn.Module, second: nn.Module) -> float:
    """Of the gradients, relative to the largest gradient."""
    ours = nn.utils.parameters_to_vector([p.grad for p in first.parameters()])
    theirs = nn.utils.parameters_to_vector([p.grad for p in second.parameters()])
    return ((ours - theirs).abs().max() / ours.abs().max()).item()


def main() -> None:
    parser = options(__doc__, steps=100, every=10)
    parser.add_argument("--batch", type=int, default=240, help="the large batch; default: 240")
    parser.add_argument("--parts", type=int, default=7, help="small batches in it; default: 7")
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)

    images, labels, test_images, test_labels = digits()
    large = network()
    small = copy.deepcopy(large)
    models = (large, small)
    optimizers = [torch.optim.Adagrad(model.parameters(), lr=0.03) for model in models]
    worst = 0.0
    for step in progress(1, chosen.steps):
        batch = torch.randint(len(images), (chosen.batch,))
        for optimizer in optimizers:
            optimizer.zero_grad()
        one = whole(large, images[batch], labels[batch])
        many = in_parts(small, images[batch], labels[batch], chosen.parts)
        worst = max(worst, largest_difference(large, small))
        for optimizer in optimizers:
            optimizer.step()
        if step % chosen.every == 0:
            report(step, whole=one, parts=many)

    print("the gradients are the same" if worst < 1e-3 else f"the gradients differ: {worst:.2g}")
    with torch.no_grad():
        for name, model in zip(("whole batches", "parts"), models, strict=True):
            right = (model(test_images).argmax(dim=1) == test_labels).float().mean().item()
            print(f"test accuracy of the model trained on {name}: {right:.3f}")


if __name__ == "__main__":
    main()
