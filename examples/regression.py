"""Regression: a small network learns a noisy curve.

The smallest complete program: data, a model, a loss, an optimizer, a schedule, and a look at how
well the result does on points it has not seen.
"""

from __future__ import annotations

import torch
from shared import options, progress, report
from torch import nn


def curve(x: torch.Tensor) -> torch.Tensor:
    """The function to learn."""
    return torch.sin(3 * x) + 0.5 * x


def sample(count: int, noise: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Points of the curve, with noise on their heights."""
    x = torch.rand(count, 1) * 4 - 2
    return x, curve(x) + noise * torch.randn(count, 1)


def main() -> None:
    parser = options(__doc__, steps=1000, every=100)
    parser.add_argument("--noise", type=float, default=0.1, help="default: 0.1")
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)

    inputs, targets = sample(256, chosen.noise)
    unseen, answers = sample(256, 0.0)
    model = nn.Sequential(
        nn.Linear(1, 64),
        nn.Tanh(),
        nn.Linear(64, 64),
        nn.Tanh(),
        nn.Linear(64, 1),
    )
    print(model)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=400, gamma=0.3)

    for step in progress(1, chosen.steps):
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % chosen.every == 0:
            report(step, loss=loss.item())

    model.eval()
    with torch.no_grad():
        error = criterion(model(unseen), answers)
        print(f"mean squared error on unseen points: {error.item():.6f}")
        grid = torch.linspace(-2, 2, 5).unsqueeze(1)
        for x, true, found in zip(grid, curve(grid), model(grid), strict=True):
            print(f"f({x.item():5.2f}) = {true.item():7.4f}, learnt {found.item():7.3f}")


if __name__ == "__main__":
    main()
