"""Checkpoint: training that is stopped and resumed goes on as if nothing had happened.

A checkpoint holds the model, the optimizer, the schedule and the state of the random numbers, which
order the batches and choose what dropout drops. Losses are printed to the last bit:

  python checkpoint.py --steps 60                            one run of 60 steps
  python checkpoint.py --steps 30 --save half.pt             its first half
  python checkpoint.py --steps 60 --resume half.pt           its second half, bit for bit
"""

from __future__ import annotations

from pathlib import Path

import torch
from shared import digits, options, progress
from torch import nn


def build() -> tuple[nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    model = nn.Sequential(
        nn.Flatten(),
        nn.Linear(64, 48),
        nn.BatchNorm1d(48),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(48, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.99)
    return model, optimizer, schedule


def main() -> None:
    parser = options(__doc__, steps=200, every=10)
    parser.add_argument("--save", type=Path, help="file to write at the end")
    parser.add_argument("--resume", type=Path, help="file to go on from")
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)

    images, labels, test_images, test_labels = digits()
    model, optimizer, schedule = build()
    done = 0
    if chosen.resume:
        checkpoint = torch.load(chosen.resume, weights_only=True)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        schedule.load_state_dict(checkpoint["schedule"])
        torch.set_rng_state(checkpoint["random"])
        done = checkpoint["done"]

    for step in progress(done + 1, chosen.steps):
        batch = torch.randint(len(images), (64,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % chosen.every == 0:
            print(f"step {step:5d}  loss {loss.item()!r}", flush=True)

    if chosen.save:
        checkpoint = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "schedule": schedule.state_dict(),
            "random": torch.get_rng_state(),
            "done": chosen.steps,
        }
        torch.save(checkpoint, chosen.save)
    model.eval()
    with torch.no_grad():
        right = (model(test_images).argmax(dim=1) == test_labels).float().mean().item()
    print(f"test accuracy {right:.3f}")


if __name__ == "__main__":
    main()
