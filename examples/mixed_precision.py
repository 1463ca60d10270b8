"""Mixed precision: bfloat16 where it is safe, float32 where it is not, and scaled gradients.

Inside `autocast`, matrix products and convolutions run in bfloat16, losses in float32; weights stay
float32. A GradScaler keeps small gradients from vanishing, and skips a step whose gradients are not
finite: here one is spoilt on purpose to show it.
"""

from __future__ import annotations

import torch
from shared import digits, options, progress, report
from torch import nn


def network(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, width, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(width * 4 * 4, 64),
        nn.LayerNorm(64),
        nn.GELU(),
        nn.Linear(64, 10),
    )


def show_dtypes(model: nn.Sequential, images: torch.Tensor) -> None:
    """Print the dtype that each layer gives under autocast."""
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        x = images
        for layer in model:
            x = layer(x)
            print(f"  {type(layer).__name__:10s} {x.dtype}")
        print(f"  {'loss':10s} {nn.functional.cross_entropy(x, torch.zeros(len(x)).long()).dtype}")


def main() -> None:
    parser = options(__doc__, steps=300, every=25)
    parser.add_argument("--spoil", type=int, default=5, help="step to spoil; default: 5")
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)

    images, labels, test_images, test_labels = digits()
    model = network(width=16)
    show_dtypes(model, images[:4])
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=50)
    for step in progress(1, chosen.steps):
        batch = torch.randint(len(images), (64,))
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = model(images[batch])
            loss = nn.functional.cross_entropy(scores, labels[batch])
        scaler.scale(loss * torch.inf if step == chosen.spoil else loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < before:
            print(f"step {step:5d}  skipped: gradients were not finite; scale {before:g} halved")
        if step % chosen.every == 0:
            report(step, loss=loss.item(), scale=scaler.get_scale())

    model.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        found = model(test_images).argmax(dim=1)
    print(f"test accuracy {(found == test_labels).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
