"""GAN: two networks compete until one of them makes points like those of a ring of clusters.

The generator turns noise into points of the plane, the discriminator tells them from real ones, and
each learns from the other's mistakes. At the end: how many of the eight clusters are reached.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from shared import options, progress, report
from torch import nn

CLUSTERS = 8
SPREAD = 0.05


def centres() -> torch.Tensor:
    """The centres of the clusters, on the unit circle."""
    angles = torch.arange(CLUSTERS) * (2 * math.pi / CLUSTERS)
    return torch.stack([angles.cos(), angles.sin()], dim=1)


def real_points(count: int) -> torch.Tensor:
    """Points of clusters chosen at random."""
    return centres()[torch.randint(CLUSTERS, (count,))] + SPREAD * torch.randn(count, 2)


def network(inputs: int, outputs: int, hidden: int = 64) -> nn.Sequential:
    """A perceptron with orthogonal weights."""
    model = nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, outputs),
    )

    def initialise(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.orthogonal_(module.weight, gain=math.sqrt(2))
            nn.init.zeros_(module.bias)

    return model.apply(initialise)


def main() -> None:
    parser = options(__doc__, steps=2000, every=200)
    parser.add_argument("--noise", type=int, default=8, help="numbers per point; default: 8")
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)

    generator, discriminator = network(chosen.noise, 2), network(2, 1)
    print(generator)
    to_fool = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    to_tell = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    batch = 128
    yes, no = torch.ones(batch, 1), torch.zeros(batch, 1)
    for step in progress(1, chosen.steps):
        made = generator(torch.randn(batch, chosen.noise))

        to_tell.zero_grad()
        on_real = F.binary_cross_entropy_with_logits(discriminator(real_points(batch)), yes)
        on_made = F.binary_cross_entropy_with_logits(discriminator(made.detach()), no)
        telling = on_real + on_made
        telling.backward()
        to_tell.step()

        to_fool.zero_grad()
        discriminator.requires_grad_(False)
        fooling = F.binary_cross_entropy_with_logits(discriminator(made), yes)
        fooling.backward()
        discriminator.requires_grad_(True)
        to_fool.step()
        if step % chosen.every == 0:
            report(step, discriminator=telling.item(), generator=fooling.item())

    with torch.no_grad():
        points = generator(torch.randn(1000, chosen.noise))
        distance, nearest = torch.cdist(points, centres()).min(dim=1)
        close = distance < 4 * SPREAD
        reached = nearest[close].unique().numel()
    print(f"{close.float().mean().item():.0%} of points lie in a cluster, {reached} reached")


if __name__ == "__main__":
    main()
